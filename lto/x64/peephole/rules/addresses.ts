/** Addresses in fewer bytes, and address arithmetic that copies and additions do. */

import { withMemory } from "../../../codegen/clone.js";
import type { MInst } from "../../../codegen/mir.js";
import { aluImm, aluReg, copy, physical } from "../../isa/build.js";
import {
  hasSegment,
  isRipRelative,
  memory,
  type Scale,
  scaleOf,
  segmentOf,
} from "../../isa/memory-operand.js";
import { X } from "../../isa/ops.js";
import { RBP, RSP } from "../../isa/registers.js";
import type { Match } from "../match.js";
import { Gain, Needs, type Rule, type RuleGroup } from "../rule.js";

/** The instruction at the same displacement and symbol from other registers. */
function withRegisters(inst: MInst, base: number, index: number, scale: Scale): MInst {
  const { disp, symbol, slot } = inst.mem!;
  const other = index < 0 ? null : physical(index);
  const mem = memory(physical(base), other, scale, disp, symbol, false, slot, segmentOf(inst.mem!));
  return withMemory(inst, mem);
}

// Any address with an index.

export const indexAsBase: Rule = {
  name: "index-as-base",
  description: "op n(, a) → op n(a); op n(, a, 2) → op n(a, a)",
  opcodes: [],
  needs: Needs.Memory,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const mem = m.inst.mem!;
    if (mem.index === null || mem.base !== null || mem.slot >= 0 || isRipRelative(mem) || scaleOf(mem) > 2)
      return;
    const index = mem.index!.loc;
    m.replace(withRegisters(m.inst, index, scaleOf(mem) === 1 ? -1 : index, 1));
  },
};

/** rbp and r13 as base need a displacement. */
export const exchangeBaseAndIndex: Rule = {
  name: "exchange-base-and-index",
  description: "op (%rbp, a) → op (a, %rbp), and likewise for r13",
  opcodes: [],
  needs: Needs.Memory,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const mem = m.inst.mem!;
    const { base, index } = mem;
    if (base === null || index === null || isRipRelative(mem)) return;
    if (scaleOf(mem) !== 1 || mem.disp !== 0 || mem.symbol !== null) return;
    if ((base.loc & 7) !== 5 || (index.loc & 7) === 5) return;
    m.replace(withRegisters(m.inst, index.loc, base.loc, 1));
  },
};

// Lea.

/** Whether it is of registers and a number alone, and no business of the frame's. */
function isSum({ inst }: Match): boolean {
  const mem = inst.mem!;
  return mem.symbol === null && !hasSegment(mem) && mem.slot < 0 && mem.base !== null;
}
const sizeOf = ({ size }: MInst): number => (size === 2 ? 4 : size);

/** rbp = rsp is left to the frame. */
const leaByCopy: Rule = {
  name: "lea-by-copy",
  description: "lea (a), d → mov a, d; nothing, where d is a",
  opcodes: [X.Lea],
  needs: Needs.Memory,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const mem = m.inst.mem!;
    if (mem.index !== null || mem.disp !== 0 || !isSum(m)) return;
    const to = m.inst.defs[0]!.loc;
    const base = mem.base!.loc;
    const size = sizeOf(m.inst);
    if (to === RSP || (base === RSP && (size !== 8 || to === RBP))) return;
    if (base === to && size === 8) m.drop();
    else m.replace(copy(size, to, base));
  },
};

/** The addition of the number, of which other rules make what is shorter still. */
const leaByAdd: Rule = {
  name: "lea-by-add",
  description: "lea n(d), d → add $n, d; lea (d, a), d → add a, d",
  opcodes: [X.Lea],
  needs: Needs.Memory | Needs.DeadFlags,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst } = m;
    const mem = inst.mem!;
    const to = inst.defs[0]!.loc;
    if (!isSum(m) || to === RSP || mem.base!.loc === RSP) return;
    const base = mem.base!.loc;
    const size = sizeOf(inst);
    if (mem.index === null) {
      if (mem.disp !== 0 && base === to) m.replace(aluImm(X.Add, size, to, mem.disp));
      return;
    }
    const index = mem.index.loc;
    if (mem.disp !== 0 || scaleOf(mem) !== 1) return;
    if (base === to) m.replace(aluReg(X.Add, size, to, index));
    else if (index === to) m.replace(aluReg(X.Add, size, to, base));
  },
};

export const addressRules: RuleGroup = {
  backward: [leaByCopy, leaByAdd],
};
