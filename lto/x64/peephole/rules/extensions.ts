/** Zero and sign extensions. */
import { MInst } from "../../../codegen/mir.js";
import { hasRegister } from "../../../codegen/register-set.js";
import { aluReg, physical } from "../../isa/build.js";
import { killsFlags } from "../../isa/effects.js";
import { signedImmediate } from "../../isa/lengths.js";
import { readsFlags } from "../../isa/op-info.js";
import { X } from "../../isa/ops.js";
import { RAX, RSP } from "../../isa/registers.js";
import { generalRegisters } from "../facts.js";
import { like, touches } from "../match.js";
import { Gain, Needs, type Rule, type RuleGroup } from "../rule.js";

/** The extension that a shift up and back down by `count` is; −1 if it is none. */
function extensionOf(size: number, count: number, signed: boolean): X | -1 {
  const bits = size * 8 - count;
  if (bits === 8) return signed ? X.Movsx8 : X.Movzx8;
  if (bits === 16) return signed ? X.Movsx16 : X.Movzx16;
  // Of a shift of 32 bits by none, what is above is zero.
  return bits === 32 && signed && size === 8 ? X.Movsxd : -1;
}

const shiftsByExtension: Rule = {
  name: "shifts-by-extension",
  description: "shl $n, d … sar $n, d → movs d, d, and shr: movz",
  opcodes: [X.Sar, X.Shr],
  needs: Needs.DeadFlags | Needs.Immediate,
  window: 8,
  gain: Gain.Shorter,
  apply(m) {
    const { inst: right, insts } = m;
    if (right.size < 4) return;
    const to = right.defs[0]!.loc;
    const at = m.visibleWriterOf(to);
    if (at < 0) return;
    const left = insts[at]!;
    if (left.op !== X.Shl || left.size !== right.size) return;
    if (left.imm === null || Number(left.imm) !== Number(right.imm)) return;
    const op = extensionOf(right.size, Number(right.imm), right.op === X.Sar);
    if (op < 0 || m.areFlagsReadSince(at)) return;
    const zero = op === X.Movzx8 || op === X.Movzx16;
    m.replace(new MInst(op, zero ? 4 : right.size, [physical(to)], [physical(to)]));
    m.dropAt(at);
  },
};

/** Before the flags are made, so that setcc leaves the extended value; with as many bytes, without waiting for it. */
const zeroBeforeSet: Rule = {
  name: "zero-before-set",
  description: "cmp … setcc a … movzb a, d → xor d, d; cmp … setcc d, where nothing touches d in between",
  opcodes: [X.Movzx8],
  needs: Needs.NoMemory,
  window: 8,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst: extend, insts } = m;
    const from = extend.uses[0]!.loc;
    const to = extend.defs[0]!.loc;
    if (from !== to && hasRegister(m.live, from)) return;
    const at = m.writerOf(from);
    if (at < 0 || insts[at]!.op !== X.Setcc || m.isTouchedSince(at, to)) return;
    for (let i = at - 1; i >= 0 && i >= at - m.window; i--) {
      if (touches(insts[i]!, to)) return;
      if (!killsFlags(insts[i]!)) continue;
      if (readsFlags(insts[i]!.op)) return;
      const set = like(insts[at]!, X.Setcc);
      const result = physical(to);
      result.tiedTo = 0;
      set.defs = [result];
      set.uses = [physical(to)];
      m.drop();
      m.replaceAt(at, set);
      return m.insertBefore(i, aluReg(X.Xor, 4, to, to));
    }
  },
};

/** Instructions between which others will be put in are out of sight. */
const extendOriginal: Rule = {
  name: "extend-original",
  description: "mov a, d … movs d, d → movs a, d, and movz",
  opcodes: [X.Movzx8, X.Movzx16, X.Movsx8, X.Movsx16, X.Movsxd],
  needs: Needs.NoMemory,
  window: 8,
  gain: Gain.Shorter,
  apply(m) {
    const { inst, insts } = m;
    const to = inst.defs[0]!.loc;
    if (inst.uses[0]!.loc !== to) return;
    const at = m.visibleWriterOf(to);
    if (at < 0) return;
    const copy = insts[at]!;
    if (copy.op !== X.Copy) return;
    const from = copy.uses[0]!.loc;
    if (from >= generalRegisters || from === RSP || m.isWrittenSince(at, from)) return;
    m.replace(new MInst(inst.op, inst.size, [physical(to)], [physical(from)]));
    m.dropAt(at);
  },
};

const maskByExtension: Rule = {
  name: "mask-by-extension",
  description: "and $0xff, d → movzb d, d, and $0xffff: movzw",
  opcodes: [X.And],
  needs: Needs.Immediate | Needs.NoMemory | Needs.DeadFlags,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const { inst } = m;
    const value = inst.size === 8 ? Number(inst.imm) : signedImmediate(inst.imm!, inst.size);
    if (inst.size < 4 || (value !== 0xff && value !== 0xffff)) return;
    const op = value === 0xff ? X.Movzx8 : X.Movzx16;
    m.replace(new MInst(op, 4, [physical(inst.defs[0]!.loc)], [inst.uses[0]!]));
  },
};

const narrowMask: Rule = {
  name: "narrow-mask",
  description: "andq $n, d → andl $n, d, where n is positive",
  opcodes: [X.And],
  needs: Needs.Immediate | Needs.NoMemory,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst } = m;
    if (inst.size !== 8) return;
    const value = Number(inst.imm);
    if (value >= 0 && value <= 0x7fffffff) m.replace(like(inst, X.And, 4));
  },
};

/** Sign extensions within rax have short forms. */
const extendRax: Rule = {
  name: "extend-rax",
  description: "movswl %ax, %eax → cwtl; movslq %eax, %rax → cltq",
  opcodes: [X.Movsxd, X.Movsx16],
  needs: Needs.NoMemory,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const { inst } = m;
    if (inst.uses.length !== 1 || inst.uses[0]!.loc !== RAX || inst.defs[0]!.loc !== RAX) return;
    if (inst.op === X.Movsx16 && inst.size !== 4) return;
    const result = physical(RAX);
    result.tiedTo = 0;
    m.replace(new MInst(X.ExtendRax, inst.size, [result], inst.uses));
  },
};

export const extensionRules: RuleGroup = {
  backward: [shiftsByExtension, zeroBeforeSet, extendOriginal, maskByExtension, narrowMask, extendRax],
};
