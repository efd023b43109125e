/**
 * divide-by-constants: divisions by constants become multiplications by reciprocals, signed ones by powers of two shifts; for
 * speed.
 *
 *     %q = udiv i32 %x, 10       %w = zext i32 %x to i64;  %p = mul i64 %w, 3435973837;  %s = lshr i64 %p, 35;  trunc
 *     %r = urem i32 %x, 10  →    %q · 10 subtracted from %x, with the quotient of the same block
 *     icmp eq (urem i32 %x, 7), 0  →  icmp ule (mul i32 %x, -1227133513), 613566756: nothing but whether the rest is that is asked for
 *
 * Why here: after legalisation, so that all types are registers'. A division takes 10 to 90 cycles, a multiplication 3 or 4;
 * for size it is shorter. How each quotient is made is in quotients.ts.
 *
 * Right by what quotients.ts says. Extensions of a narrow quotient or rest are what it was made as, in more bits.
 * Breaks if: the divisor is 0 or 1 or -1, or the least number (left alone), or the dividend is read as undef, another value at
 * each use: here it is a register by then, and constants are left alone.
 * Linear in instructions.
 */
import { type BodyView, Flag, type Inst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { type ConstInt, isConstant, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import type { LoweringContext } from "./context.js";
import { isPowerOfTwo, isRemainder, isSignedDivision, magnitudeOf, Quotients } from "./quotients.js";

/** The divisor, if the pass divides by it; 0 otherwise. */
function divisorOf({ op, type, operands }: Inst): bigint {
  if (op !== Op.UDiv && op !== Op.SDiv && op !== Op.URem && op !== Op.SRem) return 0n;
  const [a, b] = operands as readonly [Value, Value];
  if (type.kind !== "int" || type.bits < 8 || b.valueKind !== "int" || isConstant(a)) return 0n;
  const isSigned = isSignedDivision(op);
  const divisor = isSigned ? b.value : BigInt.asUintN(type.bits, b.value);
  const magnitude = magnitudeOf(divisor);
  if (magnitude < 2n || magnitude >> BigInt(type.bits - 1) !== 0n) return 0n;
  if (isPowerOfTwo(magnitude)) return isSigned ? divisor : 0n;
  return type.bits <= 64 ? divisor : 0n;
}

/** The division whose result an instruction extends, in the way that the division counts. */
function extendedDivision(inst: Inst): Inst | null {
  if (inst.op !== Op.SExt && inst.op !== Op.ZExt) return null;
  const [from] = inst.operands as readonly [Value];
  if (from.valueKind !== "inst" || divisorOf(from) === 0n) return null;
  return isSignedDivision(from.op) === (inst.op === Op.SExt) ? from : null;
}

/** The rest by a constant, of the same block, that an instruction compares with one that it may be, for equality; a signed one, with zero. */
function comparedRest(inst: Inst): Inst | null {
  if (inst.op !== Op.ICmp || (inst.data !== "eq" && inst.data !== "ne")) return null;
  const [rest, to] = inst.operands as readonly [Value, Value];
  if (rest.valueKind !== "inst" || to.valueKind !== "int" || rest.parent !== inst.parent) return null;
  if (!isRemainder(rest.op)) return null;
  const divisor = divisorOf(rest);
  if (divisor === 0n || isPowerOfTwo(magnitudeOf(divisor))) return null;
  if (to.value === 0n) return rest;
  return rest.op === Op.URem && BigInt.asUintN(rest.type.bits, to.value) < divisor ? rest : null;
}

/** How the results of divisions are read. */
class DivisionUses {
  private readonly extended = new Set<Inst>();
  private readonly cut = new Set<Inst>();
  private readonly whole = new Set<Inst>();
  /** Of rests: whether all that has read it so far is one comparison. */
  private readonly compared = new Map<Inst, boolean>();

  constructor({ blocks }: BodyView) {
    for (const { insts } of blocks) for (const inst of insts) this.note(inst);
  }

  private note(inst: Inst): void {
    const division = inst.type.bits === 64 ? extendedDivision(inst) : null;
    if (division !== null) this.extended.add(division);
    const rest = comparedRest(inst);
    const set = inst.op === Op.Trunc && inst.type.bits <= 32 ? this.cut : this.whole;
    for (const operand of inst.operands) {
      if (operand.valueKind !== "inst") continue;
      if ((operand.flags & Flag.Exact) !== 0) set.add(operand);
      if (isRemainder(operand.op))
        this.compared.set(operand, operand === rest && !this.compared.has(operand));
    }
  }

  /** Somebody extends it to 64 bits. */
  isExtended(division: Inst): boolean {
    return this.extended.has(division);
  }
  /** Nobody reads more than the lowest 32 bits. */
  isCut(division: Inst): boolean {
    return this.cut.has(division) && !this.whole.has(division);
  }
  /** All that is asked is whether it is a number, and once. */
  isCompared(division: Inst): boolean {
    return this.compared.get(division) === true;
  }
}

/** Puts what instructions became in the place of their operands. */
function replaceOperands(inst: Inst, values: ReadonlyMap<Value, Value>): void {
  for (let i = 0; i < inst.operands.length; i++) {
    const to = values.get(inst.operands[i]!);
    if (to !== undefined) raw(inst).operands[i] = to;
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
    const { legal } = context;
    // Attributes are those of the arguments before legalisation.
    const declared = legal?.args.every(({ argument }, i) => argument === legal.fn.args[i]) ? legal.fn : null;
    const uses = new DivisionUses(body);
    const values = new Map<Value, Value>();
    /** What a division became, exact in more bits than its own. */
    const results = new Map<Inst, Value>();
    let divisions = 0;
    for (const block of body.blocks) {
      const quotients = new Quotients(block, declared, uses);
      for (const inst of block.insts) {
        // Before operands are replaced: what is extended, or cut, is not a division after that.
        const resized = extendedDivision(inst) ?? (inst.op === Op.Trunc ? (inst.operands[0] as Inst) : null);
        const result = resized === null ? undefined : results.get(resized);
        // Dividends may be quotients of this block, or of ones before it.
        replaceOperands(inst, values);
        const divisor = divisorOf(inst);
        // The comparison does without it.
        if (divisor !== 0n && uses.isCompared(inst)) continue;
        const rest = comparedRest(inst);
        if (rest !== null && uses.isCompared(rest)) {
          divisions++;
          const to = inst.operands[1] as ConstInt;
          const number = BigInt.asUintN(rest.type.bits, to.value);
          values.set(inst, quotients.leaves(rest, divisorOf(rest), number, inst.data === "eq"));
        } else if (divisor !== 0n) {
          divisions++;
          const exact = quotients.divide(inst, divisor);
          results.set(inst, exact);
          values.set(inst, quotients.resize(exact, inst.type, isSignedDivision(inst.op)));
        } else if (result !== undefined)
          values.set(inst, quotients.resize(result, inst.type, inst.op === Op.SExt));
        else quotients.out.push(inst);
      }
      raw(block).insts = quotients.out;
    }
    for (const block of body.blocks) for (const inst of block.insts) replaceOperands(inst, values);
    context.count("divisions", divisions);
    return true;
  },
};
