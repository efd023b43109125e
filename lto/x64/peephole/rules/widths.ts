/** 64-bit operations whose result 32-bit ones give as well, and extensions of what is extended, by known widths. */
import type { MInst } from "../../../codegen/mir.js";
import { copy } from "../../isa/build.js";
import { X } from "../../isa/ops.js";
import { generalRegisters, unknownWidth, widthOf } from "../facts.js";
import { unsignedConditions, zeroConditions } from "../flags.js";
import { like, type Match } from "../match.js";
import { Gain, Needs, type Rule, type RuleGroup } from "../rule.js";

/** The extension is a copy, or nothing, if the source has no more than so many bits. */
function withoutExtension(m: Match, bits: number): void {
  const { inst, facts } = m;
  if (inst.uses.length === 0) return;
  const to = inst.defs[0]!.loc;
  const from = inst.uses[0]!.loc;
  if (facts.width[from]! > bits) return;
  if (facts.equal(to, from)) m.drop();
  else m.replace(copy(4, to, from));
}

const bitsKept = (op: X): number => (op === X.Movzx8 ? 8 : op === X.Movzx16 ? 16 : 31);

const dropExtension: Rule = {
  name: "drop-extension",
  description: "movz a, d, movslq a, d → movl a, d, where a has no bits above those; nothing, where d is a",
  opcodes: [X.Movzx8, X.Movzx16, X.Movsxd],
  needs: Needs.NoMemory,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    withoutExtension(m, bitsKept(m.inst.op));
  },
};

/** Of a use, or of the immediate in its place. */
function widthOfSource({ inst, facts }: Match, i: number): number {
  const operand = inst.uses[i];
  if (operand !== undefined) return operand.loc < generalRegisters ? facts.width[operand.loc]! : unknownWidth;
  return inst.imm !== null && inst.imm >= 0 ? widthOf(Number(inst.imm)) : unknownWidth;
}

const isWide = (inst: MInst): boolean => inst.size === 8 && inst.symbol === null;
const narrowed = (m: Match): void => m.replace(like(m.inst, m.inst.op, 4));

/** One short operand of and bounds the result; the flags differ in the sign unless bit 31 is clear. */
const narrowLogic: Rule = {
  name: "narrow-logic",
  description: "andq, orq, xorq b, a → andl, orl, xorl b, a, where bits from 31 on are zero",
  opcodes: [X.And, X.Or, X.Xor],
  needs: Needs.NoMemory,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    if (!isWide(m.inst)) return;
    const a = widthOfSource(m, 0);
    const b = widthOfSource(m, 1);
    if ((m.inst.op === X.And ? Math.min(a, b) : Math.max(a, b)) <= 31) narrowed(m);
  },
};

const narrowTest: Rule = {
  name: "narrow-test",
  description:
    "testq b, a → testl b, a, where bits from 31 on are zero; from 32 on, where only zero is asked for",
  opcodes: [X.Test],
  needs: Needs.NoMemory,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    if (!isWide(m.inst)) return;
    const least = Math.min(widthOfSource(m, 0), widthOfSource(m, 1));
    if (least <= 31 || (least <= 32 && (m.readers() & ~zeroConditions) === 0)) narrowed(m);
  },
};

/** An immediate must not change its meaning: 32-bit ones are sign-extended. */
const narrowCompare: Rule = {
  name: "narrow-compare",
  description:
    "cmpq b, a → cmpl b, a, where bits from 31 on are zero; from 32 on, where nothing signed is asked for",
  opcodes: [X.Cmp],
  needs: Needs.NoMemory,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst } = m;
    if (!isWide(inst)) return;
    const most = Math.max(widthOfSource(m, 0), widthOfSource(m, 1));
    if (most <= 31 || (most <= 32 && inst.uses.length > 1 && (m.readers() & ~unsignedConditions) === 0))
      narrowed(m);
  },
};

export const widthRules: RuleGroup = {
  forward: [dropExtension, narrowLogic, narrowTest, narrowCompare],
};
