/**
 * Numbers of opcodes in stored bodies and constants. They are the format's own, so that the program's enumeration
 * can be put in another order. Append only; below 64, which an instruction's first byte has room for.
 */
import { InputError } from "../../lto/ir/errors.js";
import { Op } from "../../lto/ir/instructions.js";

/** The opcode that each number, from 1 on, stands for. */
const stored: readonly Op[] = [
  Op.Ret,
  Op.Br,
  Op.CondBr,
  Op.Switch,
  Op.IndirectBr,
  Op.Invoke,
  Op.CallBr,
  Op.Resume,
  Op.Unreachable,
  Op.FNeg,
  Op.Add,
  Op.FAdd,
  Op.Sub,
  Op.FSub,
  Op.Mul,
  Op.FMul,
  Op.UDiv,
  Op.SDiv,
  Op.FDiv,
  Op.URem,
  Op.SRem,
  Op.FRem,
  Op.Shl,
  Op.LShr,
  Op.AShr,
  Op.And,
  Op.Or,
  Op.Xor,
  Op.Alloca,
  Op.Load,
  Op.Store,
  Op.Fence,
  Op.CmpXchg,
  Op.AtomicRMW,
  Op.GetElementPtr,
  Op.Trunc,
  Op.ZExt,
  Op.SExt,
  Op.FPTrunc,
  Op.FPExt,
  Op.FPToUI,
  Op.FPToSI,
  Op.UIToFP,
  Op.SIToFP,
  Op.PtrToInt,
  Op.IntToPtr,
  Op.BitCast,
  Op.AddrSpaceCast,
  Op.ICmp,
  Op.FCmp,
  Op.Phi,
  Op.Select,
  Op.Call,
  Op.VAArg,
  Op.ExtractElement,
  Op.InsertElement,
  Op.ShuffleVector,
  Op.ExtractValue,
  Op.InsertValue,
  Op.LandingPad,
  Op.Freeze,
];

/** Largest opcode of the program. */
export const lastOp: number = Math.max(...stored);

const numbers = new Uint8Array(lastOp + 1);
stored.forEach((op, i) => {
  numbers[op] = i + 1;
});

/** The stored number of an opcode. */
export function opNumber(op: Op): number {
  const number = numbers[op];
  if (number === undefined || number === 0) throw new Error(`no object code for opcode ${op}`);
  return number;
}

/** The opcode of a stored number. @throws InputError if there is none */
export function opOfNumber(number: number): Op {
  const op = stored[number - 1];
  if (op === undefined) throw new InputError(`unknown opcode ${number}`);
  return op;
}
