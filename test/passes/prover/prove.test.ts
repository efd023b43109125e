/** Every kind of composition of two operations is refined by simplify, on all inputs; and the prover finds wrong passes. */
import { describe, expect, it } from "vitest";
import { Flag, type Inst, Op } from "../../../lto/ir/instructions.js";
import { raw } from "../../../lto/ir/raw.js";
import { simplify } from "../../../lto/opt/simplify/index.js";
import type { FunctionPass } from "../../../lto/pass/pass.js";
import { Random } from "../../support/random.js";
import { Compositions } from "./compositions.js";
import { allows } from "./outcomes.js";
import { prove } from "./prove.js";

function texts(bits: number, count: number, seed: number): string[] {
  const compositions = new Compositions(bits);
  return Array.from({ length: count }, (_, n) => compositions.random(new Random(seed + n), `f${n}`));
}

describe("compositions of two operations", () => {
  it.each([
    [2, 6000],
    [3, 3000],
  ])("of %i bits do after simplify what they did before", (bits, count) => {
    const { functions, changed, problems } = prove(bits, texts(bits, count, 1), simplify);
    expect(problems).toEqual([]);
    expect(functions).toBe(count);
    expect(changed).toBeGreaterThan(count / 3);
  });

  it("may come to what some value of undef gives, and never to more", () => {
    const outcome = (values: number, others = {}) => ({ values, poison: false, undefined: false, ...others });
    expect(allows(outcome(0b1111), outcome(0b0100))).toBe(true);
    expect(allows(outcome(0b0101), outcome(0b0111))).toBe(false);
    expect(allows(outcome(0b0001), outcome(0b0001, { poison: true }))).toBe(false);
    expect(allows(outcome(0, { poison: true }), outcome(0b1000))).toBe(true);
    expect(allows(outcome(0, { poison: true }), outcome(0, { undefined: true }))).toBe(false);
    expect(allows(outcome(0, { undefined: true }), outcome(0, { poison: true }))).toBe(true);
  });

  const exchange = (inst: Inst): void => void raw(inst).operands.reverse();
  const isOp = (inst: Inst, op: Op): boolean => inst.op === op;
  it.each<[string, string, (inst: Inst) => boolean, (inst: Inst) => void]>([
    ["a flag that does not hold", "add i2 %x, %y", (i) => isOp(i, Op.Add), (i) => void (i.flags |= Flag.Nuw)],
    ["exchanged operands", "sub i2 %x, %y", (i) => isOp(i, Op.Sub), exchange],
  ])("finds %s", (_, text, matches, change) => {
    const pass: FunctionPass = {
      ...simplify,
      run(fn) {
        const { blocks } = fn.rewrite();
        for (const inst of blocks[0]!.insts) if (matches(inst)) change(inst);
        return true;
      },
    };
    const source = `define i2 @f(i2 %x, i2 %y, i1 %b) {\n  %r = ${text}\n  ret i2 %r\n}\n`;
    expect(prove(2, [source], pass).problems).toHaveLength(1);
  });

  it("holds what is frozen, and reads undef anew", () => {
    const of = (body: string): string => `define i2 @f(i2 %x, i2 %y, i1 %b) {\n${body}\n  ret i2 %s\n}\n`;
    const replace: (op: Op, by: Op) => FunctionPass = (op, by) => ({
      ...simplify,
      run(fn) {
        for (const inst of fn.rewrite().blocks[0]!.insts) if (inst.op === op) (inst as { op: Op }).op = by;
        return true;
      },
    });
    // x − x is zero of what is frozen, so an xor gives as much; of undef it may be all, and a sum is even.
    const frozen = of("  %r = freeze i2 undef\n  %s = sub i2 %r, %r");
    expect(prove(2, [frozen], replace(Op.Sub, Op.Xor)).problems).toEqual([]);
    expect(prove(2, [frozen], replace(Op.Sub, Op.Add)).problems).toHaveLength(1);
    const twice = of("  %r = freeze i2 undef\n  %s = add i2 undef, undef");
    expect(prove(2, [twice], replace(Op.Add, Op.Sub)).problems).toEqual([]);
  });
});
