/** Comparisons and tests: those that find the flags as they would set them, and shorter ones. */
import type { MInst } from "../../../codegen/mir.js";
import { hasRegister, isEmptySet, overlaps } from "../../../codegen/register-set.js";
import { sameInst, sameMem } from "../../../codegen/same-inst.js";
import { physical } from "../../isa/build.js";
import { usedRegisters, writtenRegisters } from "../../isa/effects.js";
import { signedImmediate } from "../../isa/lengths.js";
import { opFlags, opFormat, writesFlags } from "../../isa/op-info.js";
import { Cc, Format, X } from "../../isa/ops.js";
import { FlagEffect } from "../../isa/row.js";
import { canRename, isCarryAdded, type Renaming, resultConditions, zeroConditions } from "../flags.js";
import { like, type Match } from "../match.js";
import { reloadedBytes } from "../reloads.js";
import { Gain, Needs, type Rule, type RuleGroup } from "../rule.js";

// Tests of what made the flags.

/** What the readers of `test r, r` must read instead after an instruction that leaves CF and OF otherwise. */
const withoutCarry: Renaming = new Map([
  [Cc.L, Cc.S],
  [Cc.GE, Cc.NS],
  [Cc.A, Cc.NE],
  [Cc.BE, Cc.E],
]);

/** Whether the flags after `inst` describe its result: not so for a shift whose count may be zero. */
function describesResult(inst: MInst): boolean {
  const format = opFormat[inst.op]!;
  const shift = format === Format.Shift || format === Format.DoubleShift;
  return !shift || (inst.imm !== null && (Number(inst.imm) & (inst.size === 8 ? 63 : 31)) !== 0);
}

/** The mask clears the sign bit of an operand of `size` bytes and all above: flags are the same for any wider one. */
function fitsBelow(inst: MInst, size: number): boolean {
  if (inst.op !== X.And || inst.imm === null || inst.symbol !== null || inst.mem !== null) return false;
  if (inst.size < 4 && inst.size < size) return false;
  const mask = Number(inst.imm);
  return mask >= 0 && mask < 2 ** (Math.min(size, inst.size, 4) * 8 - 1);
}

const isSelfTest = ({ uses }: MInst): boolean => uses.length === 2 && uses[0]!.loc === uses[1]!.loc;

/**
 * Index of the instruction that last wrote the tested register, or the original of which it is a copy, with no other
 * flags made since; −1: there is none.
 */
function sourceOfTested({ insts, index, inst: test }: Match): number {
  let register = test.uses[0]!.loc;
  for (let i = index - 1; i >= 0; i--) {
    const inst = insts[i]!;
    const writes = hasRegister(writtenRegisters(inst), register);
    if (!writes) {
      if (writesFlags(inst.op)) return -1;
      continue;
    }
    if (inst.op !== X.Copy || inst.size < test.size) return i;
    // The flags of the value that the tested register is a copy of.
    register = inst.uses[0]!.loc;
  }
  return -1;
}

/** Drops the test if flags with this effect serve its readers, which are adapted. */
function dropTest(m: Match, from: number, effect: FlagEffect): void {
  if (effect === FlagEffect.None || effect === FlagEffect.Other) return;
  const isSame = effect === FlagEffect.Logic || (m.readers() & ~resultConditions) === 0;
  if (isSame) {
    m.drop();
    return m.keepFlagsFrom(from);
  }
  if (m.flagsLeave() || !canRename(m.readers() & ~resultConditions, withoutCarry)) return;
  if (isCarryAdded(m.insts, m.index)) return;
  m.drop();
  m.keepFlagsFrom(from);
  m.rename(withoutCarry);
}

const dropTestOfResult: Rule = {
  name: "drop-test-of-result",
  description: "op b, a … test a, a → op b, a, whose flags describe a",
  opcodes: [X.Test],
  needs: Needs.NoMemory,
  window: Number.POSITIVE_INFINITY,
  gain: Gain.Shorter,
  apply(m) {
    const { inst: test } = m;
    if (!isSelfTest(test)) return;
    const at = sourceOfTested(m);
    if (at < 0) return;
    const inst = m.insts[at]!;
    if (reloadedBytes(inst) > 0 || inst.defs.length !== 1 || !isEmptySet(inst.clobbers)) return;
    if (inst.size !== test.size && !fitsBelow(inst, test.size)) return;
    if (describesResult(inst)) dropTest(m, at, opFlags[inst.op] as FlagEffect);
  },
};

const dropTestOfMemory: Rule = {
  name: "drop-test-of-memory",
  description:
    "op b, m; mov m, a … test a, a → op b, m; mov m, a, where op's flags describe what is in memory",
  opcodes: [X.Test],
  needs: Needs.NoMemory,
  window: Number.POSITIVE_INFINITY,
  gain: Gain.Shorter,
  apply(m) {
    const { inst: test } = m;
    if (!isSelfTest(test)) return;
    const at = sourceOfTested(m);
    if (at < 1) return;
    const load = m.insts[at]!;
    if (reloadedBytes(load) !== test.size) return;
    const change = m.insts[at - 1]!;
    if (change.mem === null || !sameMem(change.mem, load.mem) || change.size !== test.size) return;
    if (opFormat[change.op] !== Format.CompareM && describesResult(change))
      dropTest(m, at, opFlags[change.op] as FlagEffect);
  },
};

// The same comparison.

/** Copies, and conditional moves and sets of registers: nothing else lies between comparisons that are the same. */
const leavesMemory = ({ op, mem }: MInst): boolean =>
  op === X.Copy || ((op === X.Cmov || op === X.Setcc || op === X.Mov || op === X.Lea) && mem === null);

const dropRepeatedCompare: Rule = {
  name: "drop-repeated-compare",
  description: "cmp b, a … cmp b, a → cmp b, a, where neither they nor flags are written in between",
  opcodes: [X.Cmp, X.Test, X.CmpM, X.TestM, X.Bt, X.Ucomiss, X.Ucomisd],
  needs: Needs.Nothing,
  window: 6,
  gain: Gain.Shorter,
  apply(m) {
    const { inst: compare, insts, index } = m;
    const used = usedRegisters(compare);
    const first = m.first();
    for (let i = index - 1; i >= first; i--) {
      const inst = insts[i]!;
      if (sameInst(inst, compare)) {
        m.drop();
        return m.keepFlagsFrom(i);
      }
      if (writesFlags(inst.op) || overlaps(writtenRegisters(inst), used) || !isEmptySet(inst.clobbers))
        return;
      if (compare.mem !== null && !leavesMemory(inst)) return;
    }
  },
};

// Shorter ones.

const compareByTest: Rule = {
  name: "compare-by-test",
  description: "cmp $0, a → test a, a",
  opcodes: [X.Cmp],
  needs: Needs.Immediate | Needs.NoMemory,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst } = m;
    if (signedImmediate(inst.imm!, inst.size) !== 0) return;
    const test = like(inst, X.Test);
    test.imm = null;
    test.uses = [inst.uses[0]!, physical(inst.uses[0]!.loc)];
    m.replace(test);
  },
};

/** x < 128 is x ≤ 127. */
const below128: Renaming = new Map([
  [Cc.L, Cc.LE],
  [Cc.GE, Cc.G],
  [Cc.B, Cc.BE],
  [Cc.AE, Cc.A],
]);
/** x > −129 is x ≥ −128. */
const above129: Renaming = new Map([
  [Cc.G, Cc.GE],
  [Cc.LE, Cc.L],
  [Cc.A, Cc.AE],
  [Cc.BE, Cc.B],
]);

/** All readers must be in the block; adc and sbb have no condition to rename. */
const compareByteBound: Rule = {
  name: "compare-byte-bound",
  description: "cmp $128, a; jl L → cmp $127, a; jle L, and likewise for −129",
  opcodes: [X.Cmp, X.CmpM],
  needs: Needs.Immediate,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst } = m;
    if (inst.size === 1) return;
    const value = signedImmediate(inst.imm!, inst.size);
    if (value !== 128 && value !== -129) return;
    const renaming = value === 128 ? below128 : above129;
    if (!canRename(m.readers(), renaming) || isCarryAdded(m.insts, m.index)) return;
    const compare = like(inst, inst.op);
    compare.imm = value === 128 ? 127 : -128;
    m.replace(compare);
    m.rename(renaming);
  },
};

const testLowByte: Rule = {
  name: "test-low-byte",
  description: "test $n, a → testb $n, a, where n has no bits above",
  opcodes: [X.Test],
  needs: Needs.Immediate | Needs.NoMemory,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const { inst } = m;
    if (inst.size === 1) return;
    const value = inst.size === 8 ? Number(inst.imm) : signedImmediate(inst.imm!, inst.size);
    if (value < 0 || value > 255) return;
    // The sign is that of the byte.
    if (value <= 127 || (m.readers() & ~zeroConditions) === 0) m.replace(like(inst, X.Test, 1));
  },
};

const testLowHalf: Rule = {
  name: "test-low-half",
  description: "testq $n, a → testl $n, a, where n is positive",
  opcodes: [X.Test],
  needs: Needs.Immediate | Needs.NoMemory,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst } = m;
    if (inst.size === 8 && Number(inst.imm) >= 0) m.replace(like(inst, X.Test, 4));
  },
};

export const comparisonRules: RuleGroup = {
  backward: [
    dropTestOfResult,
    dropTestOfMemory,
    dropRepeatedCompare,
    compareByTest,
    compareByteBound,
    testLowByte,
    testLowHalf,
  ],
};
