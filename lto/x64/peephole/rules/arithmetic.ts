/** Arithmetic in shorter forms, and instructions whose results nobody needs. */
import type { MInst } from "../../../codegen/mir.js";
import { hasRegister, overlaps } from "../../../codegen/register-set.js";
import { baseDisp, lea, physical } from "../../isa/build.js";
import { flagsRegister, writtenRegisters } from "../../isa/effects.js";
import { signedImmediate } from "../../isa/lengths.js";
import { opcodeCount, opPure, writesFlags } from "../../isa/op-info.js";
import { X } from "../../isa/ops.js";
import { RSP } from "../../isa/registers.js";
import { Pure } from "../../isa/row.js";
import { generalRegisters } from "../facts.js";
import { carryConditions } from "../flags.js";
import { like, type Match } from "../match.js";
import { reloadedBytes } from "../reloads.js";
import { Gain, Needs, type Rule, type RuleGroup } from "../rule.js";

const pureOpcodes: readonly X[] = Array.from({ length: opcodeCount }, (_, op) => op as X).filter(
  (op) => opPure[op] !== Pure.Never,
);

const dropDead: Rule = {
  name: "drop-dead",
  description:
    "op b, d → nothing, where nothing needs d, nor the flags that op makes; of memory only what was just stored is read",
  opcodes: pureOpcodes,
  needs: Needs.Nothing,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const { op, mem, defs } = m.inst;
    if (overlaps(writtenRegisters(m.inst), m.live)) return;
    if (writesFlags(op) && hasRegister(m.live, flagsRegister)) return;
    const reads = mem !== null && opPure[op] !== Pure.Always;
    if (defs[0]?.loc === RSP || (reads && reloadedBytes(m.inst) === 0)) return;
    m.drop();
  },
};

/** Whether the operation adds, and of which number. */
const isAddition = (op: X): boolean => op === X.Add || op === X.AddM;
const isOnMemory = (op: X): boolean => op === X.AddM || op === X.SubM;

/** The operation has its source as immediate, and its destination where it should be. */
const adds = ({ inst }: Match): boolean => inst.mem === null || isOnMemory(inst.op);

/** The frame's own adjustments are read by the unwinder's steps as add and sub. */
const addByIncrement: Rule = {
  name: "add-by-increment",
  description: "add, sub $1, $-1, d → inc d, dec d, where nothing reads the carry",
  opcodes: [X.Add, X.Sub, X.AddM, X.SubM],
  needs: Needs.Immediate,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst } = m;
    const value = signedImmediate(inst.imm!, inst.size);
    if ((value !== 1 && value !== -1) || !adds(m) || (m.readers() & carryConditions) !== 0) return;
    const memory = isOnMemory(inst.op);
    if (!memory && inst.defs[0]!.loc === RSP) return;
    const up = (value === 1) === isAddition(inst.op);
    const unary = like(inst, memory ? (up ? X.IncM : X.DecM) : up ? X.Inc : X.Dec);
    unary.imm = null;
    m.replace(unary);
  },
};

const addByteNegated: Rule = {
  name: "add-byte-negated",
  description: "add $128, d → sub $-128, d, and the other way, where nothing reads the carry",
  opcodes: [X.Add, X.Sub, X.AddM, X.SubM],
  needs: Needs.Immediate,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst } = m;
    if (inst.size === 1 || signedImmediate(inst.imm!, inst.size) !== 128 || !adds(m)) return;
    if ((m.readers() & carryConditions) !== 0) return;
    const isAdd = isAddition(inst.op);
    const negated = like(inst, isOnMemory(inst.op) ? (isAdd ? X.SubM : X.AddM) : isAdd ? X.Sub : X.Add);
    negated.imm = -128;
    m.replace(negated);
  },
};

/** The lea that adds to `a` what the instruction adds to its register; null if there is none. */
function addressForm(inst: MInst, a: number): MInst | null {
  const to = inst.defs[0]!.loc;
  const size = Math.max(inst.size, 4);
  switch (inst.op) {
    case X.Inc:
      return lea(size, to, baseDisp(a, 1));
    case X.Dec:
      return lea(size, to, baseDisp(a, -1));
    case X.Shl: {
      if (inst.imm !== 1) return null;
      const twice = lea(size, to, baseDisp(a, 0));
      twice.mem!.index = physical(a);
      return twice;
    }
    case X.Add:
    case X.Sub: {
      if (inst.mem !== null || inst.symbol !== null) return null;
      if (inst.uses.length > 1) {
        if (inst.op === X.Sub) return null;
        const other = inst.uses[1]!.loc;
        const sum = lea(size, to, baseDisp(a, 0));
        sum.mem!.index = physical(other === to ? a : other);
        // rbp and r13 as base would need a displacement.
        if ((a & 7) === 5 && (sum.mem!.index.loc & 7) !== 5) {
          sum.mem!.base = sum.mem!.index;
          sum.mem!.index = physical(a);
        }
        return sum;
      }
      const value = signedImmediate(inst.imm!, inst.size);
      const disp = inst.op === X.Add ? value : -value;
      return disp === (disp | 0) ? lea(size, to, baseDisp(a, disp)) : null;
    }
    default:
      return null;
  }
}

const addOfCopy: Rule = {
  name: "add-of-copy",
  description: "mov a, d … add x, d → lea (a, x), d, and likewise for sub, inc, dec and shl $1",
  opcodes: [X.Add, X.Sub, X.Inc, X.Dec, X.Shl],
  needs: Needs.DeadFlags,
  window: 8,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst, insts } = m;
    const to = inst.defs[0]!.loc;
    if (to >= generalRegisters || to === RSP) return;
    const at = m.visibleWriterOf(to);
    if (at < 0) return;
    const copy = insts[at]!;
    if (copy.op !== X.Copy || copy.defs[0]!.loc !== to) return;
    const a = copy.uses[0]!.loc;
    if (a >= generalRegisters || a === RSP || copy.size < Math.min(inst.size, 8) || a === to) return;
    if ((inst.size === 8 && copy.size !== 8) || m.isWrittenSince(at, a)) return;
    const address = addressForm(inst, a);
    if (address === null) return;
    m.replace(address);
    m.dropAt(at);
  },
};

export const arithmeticRules: RuleGroup = {
  backward: [dropDead, addOfCopy, addByIncrement, addByteNegated],
};
