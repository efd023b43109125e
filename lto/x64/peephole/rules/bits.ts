/**
 * Single bits by number, which takes one byte where a mask takes four:
 *
 *   test $mask, r   6 (eax: 5)      bt $n, r    4
 *   or $mask, r     6 (eax: 5)      bts $n, r   4
 */
import { signedImmediate } from "../../isa/lengths.js";
import { Cc, X } from "../../isa/ops.js";
import { canRename, isCarryAdded, type Renaming } from "../flags.js";
import { like } from "../match.js";
import { Gain, Needs, type Rule, type RuleGroup } from "../rule.js";

/** The number of the only bit of a number below 2^32; -1 if it has another number of them. */
function onlyBit(mask: number): number {
  const number = 31 - Math.clz32(mask);
  return mask > 0 && 2 ** number === mask ? number : -1;
}

/** What the readers of `test` must read instead: the bit is in CF, and nothing is said of the rest. */
const asCarry: Renaming = new Map([
  [Cc.E, Cc.AE],
  [Cc.NE, Cc.B],
]);

const testByNumber: Rule = {
  name: "test-by-number",
  description: "test $2^n, a; je → bt $n, a; jae",
  opcodes: [X.Test],
  needs: Needs.Immediate | Needs.NoMemory | Needs.Minsize,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const { inst } = m;
    const value = signedImmediate(inst.imm!, inst.size);
    const number = onlyBit(value < 0 && inst.size < 8 ? value + 2 ** (8 * inst.size) : value);
    if (number < 0 || !canRename(m.readers(), asCarry) || isCarryAdded(m.insts, m.index)) return;
    const test = like(inst, X.Bt, 4);
    test.imm = number;
    m.replace(test);
    m.rename(asCarry);
  },
};

const byNumber: Partial<Record<X, X>> = { [X.Or]: X.Bts, [X.And]: X.Btr, [X.Xor]: X.Btc };

/** All other bits stay; the upper half of a register is zeroed, or stays, as before. */
const changeByNumber: Rule = {
  name: "change-by-number",
  description: "or $2^n, a → bts $n, a; likewise and $~2^n by btr, xor by btc",
  opcodes: [X.Or, X.And, X.Xor],
  needs: Needs.Immediate | Needs.NoMemory | Needs.DeadFlags | Needs.Minsize,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const { inst } = m;
    if (inst.size < 4) return;
    const value = signedImmediate(inst.imm!, inst.size);
    const bits = inst.op === X.And ? -1 - value : value;
    // Of 8 bytes the sign is 33 bits.
    const number = onlyBit(bits < 0 && inst.size === 4 ? bits + 2 ** 32 : bits);
    if (number < 0) return;
    const change = like(inst, byNumber[inst.op as X]!);
    change.imm = number;
    m.replace(change);
  },
};

export const bitRules: RuleGroup = { backward: [testByNumber, changeByNumber] };
