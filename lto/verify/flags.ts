/** Which flags each operation may have (LLVM Language Reference, the sections of the instructions). */
import { Flag, fastMathMask, Op } from "../ir/instructions.js";

const wrap = Flag.Nuw | Flag.Nsw;

const table = new Int32Array(Op.Freeze + 1);
for (const [op, flags] of [
  [Op.Add, wrap],
  [Op.Sub, wrap],
  [Op.Mul, wrap],
  [Op.Shl, wrap],
  [Op.Trunc, wrap],
  [Op.UDiv, Flag.Exact],
  [Op.SDiv, Flag.Exact],
  [Op.LShr, Flag.Exact],
  [Op.AShr, Flag.Exact],
  [Op.Or, Flag.Disjoint],
  [Op.ZExt, Flag.NonNeg],
  [Op.UIToFP, Flag.NonNeg | fastMathMask],
  [Op.SIToFP, fastMathMask],
  [Op.ICmp, Flag.SameSign],
  [Op.GetElementPtr, Flag.InBounds | Flag.Nusw | Flag.Nuw],
  [Op.Load, Flag.Volatile],
  [Op.Store, Flag.Volatile],
  [Op.CmpXchg, Flag.Volatile],
  [Op.AtomicRMW, Flag.Volatile],
  [Op.FNeg, fastMathMask],
  [Op.FAdd, fastMathMask],
  [Op.FSub, fastMathMask],
  [Op.FMul, fastMathMask],
  [Op.FDiv, fastMathMask],
  [Op.FRem, fastMathMask],
  [Op.FCmp, fastMathMask],
  [Op.Phi, fastMathMask],
  [Op.Select, fastMathMask],
  [Op.Call, fastMathMask],
  [Op.FPTrunc, fastMathMask],
  [Op.FPExt, fastMathMask],
] as const)
  table[op] = flags;

/** Mask of the flags that `op` may have. */
export const legalFlags = (op: Op): number => table[op] ?? 0;
