/** When flags make a result poison (LLVM Language Reference, at each instruction). Values are unsigned. */
import { Flag, Op } from "../../../lto/ir/instructions.js";
import { signed } from "./bits.js";

/** @param w width of the operands. @param to width of the result */
export function breaksFlags(op: Op, flags: number, w: number, to: number, a: bigint, b: bigint): boolean {
  const [sa, sb] = [signed(a, w), signed(b, w)];
  const overflows = (exactUnsigned: bigint, exactSigned: bigint): boolean =>
    ((flags & Flag.Nuw) !== 0 && exactUnsigned !== BigInt.asUintN(w, exactUnsigned)) ||
    ((flags & Flag.Nsw) !== 0 && exactSigned !== signed(exactSigned, w));
  switch (op) {
    case Op.Add:
      return overflows(a + b, sa + sb);
    case Op.Sub:
      return overflows(a - b, sa - sb);
    case Op.Mul:
      return overflows(a * b, sa * sb);
    case Op.Shl:
      return b < BigInt(w) && overflows(a << b, sa << b);
    case Op.LShr:
    case Op.AShr:
      return (flags & Flag.Exact) !== 0 && b < BigInt(w) && BigInt.asUintN(Number(b), a) !== 0n;
    case Op.UDiv:
      return (flags & Flag.Exact) !== 0 && a % b !== 0n;
    case Op.SDiv:
      return (flags & Flag.Exact) !== 0 && sa % sb !== 0n;
    case Op.Or:
      return (flags & Flag.Disjoint) !== 0 && (a & b) !== 0n;
    case Op.ZExt:
    case Op.UIToFP:
      return (flags & Flag.NonNeg) !== 0 && sa < 0n;
    case Op.Trunc:
      return (
        ((flags & Flag.Nuw) !== 0 && a !== BigInt.asUintN(to, a)) ||
        ((flags & Flag.Nsw) !== 0 && sa !== BigInt.asIntN(to, sa))
      );
    case Op.ICmp:
      return (flags & Flag.SameSign) !== 0 && sa < 0n !== sb < 0n;
    default:
      return false;
  }
}
