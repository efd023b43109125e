/** Copies that change nothing, or that shorter ones replace. Source of lengths: Intel SDM, volume 2, chapter 2. */
import { MInst } from "../../../codegen/mir.js";
import { hasRegister, lowWord } from "../../../codegen/register-set.js";
import { commutes, exchanged } from "../../frame/slot-marks.js";
import { physical, pop, push } from "../../isa/build.js";
import { writtenRegisters } from "../../isa/effects.js";
import { X } from "../../isa/ops.js";
import { RAX, RBP, RSP } from "../../isa/registers.js";
import { generalRegisters } from "../facts.js";
import { like } from "../match.js";
import { Gain, Needs, type Rule, type RuleGroup } from "../rule.js";

const dropKnownCopy: Rule = {
  name: "drop-known-copy",
  description: "mov a, d → nothing, where d holds what a does",
  opcodes: [X.Copy],
  needs: Needs.Nothing,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const to = m.inst.defs[0]!.loc;
    const from = m.inst.uses[0]!.loc;
    if (to >= generalRegisters || from >= generalRegisters) {
      if (to === from) m.drop();
      return;
    }
    if (to === RSP || from === RSP) return;
    // A copy of 32 bits zeroes those above.
    if (m.inst.size !== 8 && m.facts.width[from]! > 32) return;
    if (m.facts.equal(to, from)) m.drop();
  },
};

const narrowCopy: Rule = {
  name: "narrow-copy",
  description: "movq a, d → movl a, d, where the upper half of a is zero",
  opcodes: [X.Copy],
  needs: Needs.Nothing,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const { inst } = m;
    const to = inst.defs[0]!.loc;
    const from = inst.uses[0]!.loc;
    if (inst.size !== 8 || to >= generalRegisters || from >= generalRegisters || to === RSP || from === RSP)
      return;
    if (m.facts.width[from]! <= 32) m.replace(like(inst, X.Copy, 4));
  },
};

const dropZeroedVector: Rule = {
  name: "drop-zeroed-vector",
  description: "xorps x, x → nothing, where x is zero",
  opcodes: [X.XorpsZero],
  needs: Needs.Nothing,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    if ((lowWord(writtenRegisters(m.inst)) & ~m.facts.zeroVectors) === 0) m.drop();
  },
};

function exchange(size: number, a: number, b: number): MInst {
  const inst = new MInst(X.Xchg, size);
  inst.defs = [physical(a), physical(b)];
  inst.uses = [physical(b), physical(a)];
  return inst;
}

/** Neither register may be touched between, nor `d` needed afterwards. The flags are the same. */
const computeInPlace: Rule = {
  name: "compute-in-place",
  description: "op a, d … mov d, a → op d, a, where op commutes and d is dead afterwards",
  opcodes: [X.Copy],
  needs: Needs.Nothing,
  window: 4,
  gain: Gain.Shorter,
  apply(m) {
    const { inst, insts } = m;
    const to = inst.defs[0]!.loc;
    const from = inst.uses[0]!.loc;
    if (to >= generalRegisters || from >= generalRegisters || to === from || to === RSP || from === RSP)
      return;
    if (hasRegister(m.live, from)) return;
    const at = m.visibleWriterOf(from);
    if (at < 0) return;
    const sum = insts[at]!;
    // A copy of 32 bits zeroes those above; so does an operation of 32 bits.
    if (sum.size < 4 || inst.size < sum.size || !commutes(sum) || sum.defs[0]!.loc !== from) return;
    if (sum.uses[0]!.loc !== from || sum.uses[1]!.loc !== to || m.isTouchedSince(at, to)) return;
    const other = like(sum, sum.op);
    const result = physical(to);
    result.tiedTo = 0;
    other.defs = [result];
    other.uses = [physical(to), physical(from)];
    exchanged(other);
    m.drop();
    m.replaceAt(at, other);
  },
};

/** The register that receives garbage must be dead. */
const copyByExchange: Rule = {
  name: "copy-by-exchange",
  description: "mov r, %rax → xchg r, %rax, and the other way, where r is dead afterwards",
  opcodes: [X.Copy],
  needs: Needs.Minsize,
  window: 0,
  gain: Gain.ShorterSlower,
  apply(m) {
    const { inst } = m;
    const to = inst.defs[0]!.loc;
    const from = inst.uses[0]!.loc;
    if (to >= generalRegisters || from >= generalRegisters) return;
    if (to === from || to === RSP || from === RSP || (to !== RAX && from !== RAX)) return;
    // An unwinder looks for the frame where rbp points until it is popped.
    if (hasRegister(m.live, from) || (m.framePointer && from === RBP)) return;
    m.replaceWithGarbage(exchange(inst.size < 8 ? 4 : 8, to, from));
  },
};

/** Between low registers. Push of rsp pushes its old value; rbp = rsp is the frame's. */
const copyByPush: Rule = {
  name: "copy-by-push",
  description: "movq a, d → push a; pop d",
  opcodes: [X.Copy],
  needs: Needs.Minsize | Needs.Pushes,
  window: 0,
  gain: Gain.ShorterSlower,
  apply(m) {
    const to = m.inst.defs[0]!.loc;
    const from = m.inst.uses[0]!.loc;
    if (m.inst.size !== 8 || to >= 8 || from >= 8 || to === RSP || to === from) return;
    if (from === RSP && to === RBP) return;
    m.replaceByTwo(push(from), pop(to));
  },
};

export const copyRules: RuleGroup = {
  forward: [dropKnownCopy, narrowCopy, dropZeroedVector],
  // An exchange is no copy for others.
  backward: [computeInPlace, copyByExchange, copyByPush],
};
