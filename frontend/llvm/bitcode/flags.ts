/** Flag bits of bitcode records to `Flag` bits of instructions. */
import { Flag, fastMathMask, Op } from "../../../lto/ir/instructions.js";

/** Fast-math flags. Bits 1 to 7 lie in the order of `Flag`; bit 0 is an old word for all of them. */
export function fastMathFlags(bits: number): number {
  return (bits & 1) !== 0 ? fastMathMask : (bits & 0xfe) << 8;
}

/** Flags of a binary operator. */
export function binaryFlags(op: Op, bits: number): number {
  if (bits === 0) return 0;
  switch (op) {
    case Op.Add:
    case Op.Sub:
    case Op.Mul:
    case Op.Shl:
      return ((bits & 1) !== 0 ? Flag.Nuw : 0) | ((bits & 2) !== 0 ? Flag.Nsw : 0);
    case Op.UDiv:
    case Op.SDiv:
    case Op.LShr:
    case Op.AShr:
      return (bits & 1) !== 0 ? Flag.Exact : 0;
    case Op.Or:
      return (bits & 1) !== 0 ? Flag.Disjoint : 0;
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv:
    case Op.FRem:
      return fastMathFlags(bits);
    default:
      return 0;
  }
}

/** Flags of a cast. */
export function castFlags(op: Op, bits: number): number {
  if (bits === 0) return 0;
  switch (op) {
    case Op.ZExt:
      return (bits & 1) !== 0 ? Flag.NonNeg : 0;
    case Op.UIToFP:
      return ((bits & 1) !== 0 ? Flag.NonNeg : 0) | ((bits >> 1) & 0xff ? fastMathFlags(bits >> 1) : 0);
    case Op.Trunc:
      return ((bits & 1) !== 0 ? Flag.Nuw : 0) | ((bits & 2) !== 0 ? Flag.Nsw : 0);
    case Op.FPTrunc:
    case Op.FPExt:
    case Op.SIToFP:
      return fastMathFlags(bits);
    default:
      return 0;
  }
}

/** Flags of a getelementptr: bit 0 inbounds, 1 nusw, 2 nuw. Inbounds says nusw already. */
export function gepFlags(bits: number): number {
  const inBounds = (bits & 1) !== 0;
  return (
    (inBounds ? Flag.InBounds : 0) |
    ((bits & 2) !== 0 && !inBounds ? Flag.Nusw : 0) |
    ((bits & 4) !== 0 ? Flag.Nuw : 0)
  );
}
