/**
 * divide-by-constants: divisions by constants become multiplications by reciprocals, signed ones by powers of two shifts; for
 * speed.
 *
 *     %q = udiv i32 %x, 10       %w = zext i32 %x to i64;  %p = mul i64 %w, 3435973837;  %s = lshr i64 %p, 35;  trunc
 *     %r = urem i32 %x, 10  →    %q · 10 subtracted from %x, with the quotient of the same block
 *
 * Why here: after legalisation, so that all types are registers'. A division takes 10 to 90 cycles, a multiplication 3 or 4;
 * for size it is shorter. Of 64 bits the quotient is in the upper half of the product.
 *
 * Right by the theorems in reciprocal.ts, which hold for every dividend of the width. Reciprocals of 33 bits take
 *   t = (x · (m - 2^32)) >> 32;  q = (t + ((x - t) >> 1)) >> (shift - 33)
 * where no sum leaves 32 bits, since t <= x; those of 65 bits likewise. The upper half of a signed product is that of the unsigned
 * one, less the multiplier where the dividend is negative, which counts as 2^64 more there. Signed, the product is negative
 * just where the dividend is (it is not zero there), and the quotient by -d is that by d with the other sign. Signed powers of
 * two: adding d - 1 to what is negative makes rounding down rounding towards zero.
 * Breaks if: the divisor is 0 or 1 or -1, or the least number (left alone), or the dividend is read as undef, another value at
 * each use: here it is a register by then, and constants are left alone.
 * Linear in instructions.
 */
import { type Block, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { i64, type Type } from "../../ir/types.js";
import { constInt, isConstant, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { callDataOf } from "../legalize/emitter.js";
import { umulWide } from "../legalize/internal.js";
import type { LoweringContext } from "./context.js";
import { longReciprocal, reciprocal, signedReciprocal, wideReciprocal } from "./reciprocal.js";

type BinaryOp = Op.Add | Op.And | Op.Sub | Op.Mul | Op.LShr | Op.AShr | Op.Shl;

const isPowerOfTwo = (n: bigint): boolean => (n & (n - 1n)) === 0n;

/** The divisor, if the pass divides by it; 0 otherwise. */
function divisorOf({ op, type, operands }: Inst): bigint {
  if (op !== Op.UDiv && op !== Op.SDiv && op !== Op.URem && op !== Op.SRem) return 0n;
  const [a, b] = operands as readonly [Value, Value];
  if (type.kind !== "int" || type.bits < 8 || b.valueKind !== "int" || isConstant(a)) return 0n;
  const isSigned = op === Op.SDiv || op === Op.SRem;
  const divisor = isSigned ? b.value : BigInt.asUintN(type.bits, b.value);
  const magnitude = divisor < 0n ? -divisor : divisor;
  if (magnitude < 2n || magnitude >> BigInt(type.bits - 1) !== 0n) return 0n;
  if (isPowerOfTwo(magnitude)) return isSigned ? divisor : 0n;
  return type.bits <= 64 ? divisor : 0n;
}

/** What a block becomes. */
class Rewriter {
  readonly out: Inst[] = [];
  /** Quotients that the block has computed, by dividend. */
  private readonly quotients = new Map<Value, { divisor: bigint; isSigned: boolean; value: Value }[]>();
  constructor(private readonly block: Block) {}

  private emit(inst: Inst): Value {
    inst.parent = this.block;
    this.out.push(inst);
    return inst;
  }
  private bin(op: BinaryOp, a: Value, b: Value | bigint): Value {
    const other = typeof b === "bigint" ? constInt(a.type, b) : b;
    return this.emit(makeInst(op, a.type, [a, other], null) as Inst);
  }
  private shift(op: Op.LShr | Op.AShr, a: Value, by: number): Value {
    return by === 0 ? a : this.bin(op, a, BigInt(by));
  }
  private cast(op: Op.ZExt | Op.SExt | Op.Trunc, a: Value, type: Type): Value {
    return a.type === type ? a : this.emit(makeInst(op, type, [a], null) as Inst);
  }

  /** The upper half of the product of two unsigned numbers: of 64 bits, or of 32 or less in 64. */
  private upper(a: Value, multiplier: bigint): Value {
    if (a.type.bits !== 64) {
      const product = this.bin(Op.Mul, this.cast(Op.ZExt, a, i64), multiplier);
      return this.cast(Op.Trunc, this.shift(Op.LShr, product, 32), a.type);
    }
    const operands = [umulWide, a, constInt(i64, BigInt.asIntN(64, multiplier))];
    const data = callDataOf(umulWide, 2);
    const product = this.emit(makeInst(Op.Call, umulWide.valueType.result, operands, data));
    return this.emit(makeInst(Op.ExtractValue, i64, [product], [1]));
  }

  /** What the division gives. */
  divide(inst: Inst, divisor: bigint): Value {
    const a = inst.operands[0]!;
    const isSigned = inst.op === Op.SDiv || inst.op === Op.SRem;
    let known = this.quotients.get(a);
    if (known === undefined) this.quotients.set(a, (known = []));
    let quotient = known.find((q) => q.divisor === divisor && q.isSigned === isSigned)?.value;
    if (quotient === undefined) {
      quotient = isSigned ? this.signed(a, divisor) : this.unsigned(a, divisor);
      known.push({ divisor, isSigned, value: quotient });
    }
    if (inst.op === Op.UDiv || inst.op === Op.SDiv) return quotient;
    return this.bin(Op.Sub, a, this.bin(Op.Mul, quotient, divisor));
  }

  private unsigned(a: Value, divisor: bigint): Value {
    const { type } = a;
    const isWide = type.bits === 64;
    const find = isWide ? wideReciprocal : reciprocal;
    let found = find(divisor, type.bits);
    let dividend = a;
    if (found === null && (divisor & 1n) === 0n) {
      // A dividend of fewer bits has a shorter one.
      let zeros = 1;
      while (((divisor >> BigInt(zeros)) & 1n) === 0n) zeros++;
      found = find(divisor >> BigInt(zeros), type.bits - zeros);
      if (found !== null) dividend = this.shift(Op.LShr, a, zeros);
    }
    if (found !== null && isWide)
      return this.shift(Op.LShr, this.upper(dividend, found.multiplier), found.shift - 64);
    if (found !== null) {
      const product = this.bin(Op.Mul, this.cast(Op.ZExt, dividend, i64), found.multiplier);
      return this.cast(Op.Trunc, this.shift(Op.LShr, product, found.shift), type);
    }
    const bits = isWide ? 64 : 32;
    const { multiplier, shift } = longReciprocal(divisor, bits);
    const upper = this.upper(a, multiplier - (1n << BigInt(bits)));
    const half = this.shift(Op.LShr, this.bin(Op.Sub, a, upper), 1);
    return this.shift(Op.LShr, this.bin(Op.Add, upper, half), shift - bits - 1);
  }

  private signed(a: Value, divisor: bigint): Value {
    const { type } = a;
    const magnitude = divisor < 0n ? -divisor : divisor;
    let quotient: Value;
    if (isPowerOfTwo(magnitude)) {
      const log = magnitude.toString(2).length - 1;
      const sign = log === 1 ? a : this.shift(Op.AShr, a, type.bits - 1);
      const bias = this.shift(Op.LShr, sign, type.bits - log);
      quotient = this.shift(Op.AShr, this.bin(Op.Add, a, bias), log);
    } else if (type.bits === 64) {
      const { multiplier, shift } = signedReciprocal(magnitude, 64);
      const sign = this.shift(Op.AShr, a, 63);
      const more = this.bin(Op.And, sign, BigInt.asIntN(64, multiplier));
      const upper = this.bin(Op.Sub, this.upper(a, multiplier), more);
      quotient = this.bin(Op.Sub, this.shift(Op.AShr, upper, shift - 64), sign);
    } else {
      const { multiplier, shift } = signedReciprocal(magnitude, 32);
      const product = this.bin(Op.Mul, this.cast(Op.SExt, a, i64), multiplier);
      const below = this.cast(Op.Trunc, this.shift(Op.AShr, product, shift), type);
      const sign = this.cast(Op.Trunc, this.shift(Op.LShr, product, 63), type);
      quotient = this.bin(Op.Add, below, sign);
    }
    return divisor < 0n ? this.bin(Op.Sub, constInt(type, 0), quotient) : quotient;
  }
}

export const divideByConstants: FunctionPass<LoweringContext> = {
  name: "divide-by-constants",
  level: "function",
  description: "divisions by constants become multiplications, for speed",
  counters: { divisions: "divisions replaced" },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    if (context.goal !== "speed") return false;
    const { blocks } = context.view();
    if (!blocks.some(({ insts }) => insts.some((inst) => divisorOf(inst) !== 0n))) return false;
    const body = context.rewrite();
    const values = new Map<Value, Value>();
    for (const block of body.blocks) {
      if (!block.insts.some((inst) => divisorOf(inst) !== 0n)) continue;
      const rewriter = new Rewriter(block);
      for (const inst of block.insts) {
        // Dividends may be quotients of this block, or of ones before it.
        for (let i = 0; i < inst.operands.length; i++) {
          const to = values.get(inst.operands[i]!);
          if (to !== undefined) raw(inst).operands[i] = to;
        }
        const divisor = divisorOf(inst);
        if (divisor === 0n) rewriter.out.push(inst);
        else values.set(inst, rewriter.divide(inst, divisor));
      }
      raw(block).insts = rewriter.out;
    }
    for (const block of body.blocks)
      for (const inst of block.insts)
        for (let i = 0; i < inst.operands.length; i++) {
          const to = values.get(inst.operands[i]!);
          if (to !== undefined) raw(inst).operands[i] = to;
        }
    context.count("divisions", values.size);
    return true;
  },
};
