/** Operations and flags as bitcode numbers them; codes.ts has the tables. */
import { Flag, fastMathMask, Op } from "../../lto/ir/instructions.js";
import { binaryOps, castOps } from "./codes.js";

/** Of a binary operator; -1: it is none. */
export const binaryNumber = (op: Op): number => binaryOps.findIndex((pair) => pair.includes(op));
/** Of a cast; -1: it is none. */
export const castNumber = (op: Op): number => (castOps as readonly Op[]).indexOf(op);

/** Fast-math flags lie in the order of `Flag`, from bit 1 on. */
export const fastMathFlags = (flags: number): number => (flags & fastMathMask) >>> 8;

const bit = (flags: number, flag: number, to: number): number => ((flags & flag) !== 0 ? to : 0);

/** Flags of a binary operator. */
export function binaryFlags(op: Op, flags: number): number {
  switch (op) {
    case Op.Add:
    case Op.Sub:
    case Op.Mul:
    case Op.Shl:
      return bit(flags, Flag.Nuw, 1) | bit(flags, Flag.Nsw, 2);
    case Op.UDiv:
    case Op.SDiv:
    case Op.LShr:
    case Op.AShr:
      return bit(flags, Flag.Exact, 1);
    case Op.Or:
      return bit(flags, Flag.Disjoint, 1);
    default:
      return fastMathFlags(flags);
  }
}

/** Versions from which on casts have flags, and those between floats and of integers fast-math flags. */
const castFlagsVersion = 18;
const integerCastVersion = 19;
const floatCastVersion = 20;
const mixedCastVersion = 22;

/** Flags of a cast, as far as a version of LLVM knows them. */
export function castFlags(op: Op, flags: number, version: number): number {
  if (flags === 0 || version < castFlagsVersion) return 0;
  switch (op) {
    case Op.ZExt:
      return bit(flags, Flag.NonNeg, 1);
    case Op.UIToFP:
      return (
        (version < integerCastVersion ? 0 : bit(flags, Flag.NonNeg, 1)) |
        (version < mixedCastVersion ? 0 : fastMathFlags(flags) << 1)
      );
    case Op.Trunc:
      return version < integerCastVersion ? 0 : bit(flags, Flag.Nuw, 1) | bit(flags, Flag.Nsw, 2);
    case Op.FPTrunc:
    case Op.FPExt:
      return version < floatCastVersion ? 0 : fastMathFlags(flags);
    case Op.SIToFP:
      return version < mixedCastVersion ? 0 : fastMathFlags(flags);
    default:
      return 0;
  }
}

/** Bit 0 inbounds, 1 no unsigned-signed wrap, which inbounds implies, 2 no unsigned wrap. */
export const gepFlags = (flags: number): number =>
  bit(flags, Flag.InBounds, 3) | bit(flags, Flag.Nusw, 2) | bit(flags, Flag.Nuw, 4);
