/**
 * Constants in registers, and where they are stored. Forms that change the flags are for where nothing may be pushed:
 * `push $n; pop r` takes 3 bytes, but in asynchronous unwind tables 6 more.
 *
 *   mov $n, r            5
 *   push $n; pop r       3      (−128 … 127)
 *   or $-1, r            3
 *   xor r, r; inc r      4      (registers without REX prefix: with one nothing is gained)
 *   xor r, r; mov $n, r8 4      (those whose low byte needs no prefix either)
 *   lea k(r), d          3 … 4  (r holds a number near it)
 */
import { MInst } from "../../../codegen/mir.js";
import { aluImm, aluReg, baseDisp, byteImm, copy, lea, physical, pop, pushImm } from "../../isa/build.js";
import { instructionLength, signedImmediate } from "../../isa/lengths.js";
import { AccessMark, X } from "../../isa/ops.js";
import { isByteMove, UpperBits, upperBits } from "../../isa/upper-bits.js";
import { constantOf, generalRegisters } from "../facts.js";
import { like, type Match } from "../match.js";
import { Gain, Needs, type Rule, type RuleGroup } from "../rule.js";

const isImm8 = (value: number): boolean => value >= -128 && value <= 127;

// With what registers hold.

const dropKnownConstant: Rule = {
  name: "drop-known-constant",
  description: "mov $n, d → nothing, where d holds n",
  opcodes: [X.Mov],
  needs: Needs.Immediate,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const value = constantOf(m.inst);
    if (Number.isNaN(value)) return;
    const to = m.inst.defs[0]!.loc;
    if (m.facts.constant[to] !== value) return;
    // Where bits above are undefined, those that are there do.
    if (upperBits(m.inst, m.shortPushes) === UpperBits.Undefined || m.facts.isWhole(to)) m.drop();
  },
};

/** What there is besides a move for this value and register, where nothing reads the flags. */
type FlagsForm = "ones" | "increment" | "byte" | null;

/** @param value sign-extended from the size of the move */
function flagsForm(value: number, to: number): FlagsForm {
  if (value === -1) return "ones";
  if (value === 1 && to < 8) return "increment";
  return value > 1 && value <= 255 && to < 4 ? "byte" : null;
}

/** Bytes of the form. @param wide of 64 bits */
const formBytes = (form: FlagsForm, to: number, wide: boolean): number =>
  form === null ? Number.POSITIVE_INFINITY : form === "ones" ? 3 + Number(wide || to >= 8) : 4;

/** Bytes of a constant move as the rules of the backward walk will leave it. */
function finalBytes(inst: MInst, value: number, m: Match): number {
  const to = inst.defs[0]!.loc;
  const extended = to >= 8 ? 1 : 0;
  const signed = inst.size === 4 ? value | 0 : value;
  const length = instructionLength(inst);
  if (m.pushes && signed >= -128 && signed <= 127 && signed !== 0) return Math.min(3 + extended, length);
  if (m.readers() !== 0) return length;
  if (value === 0) return 2 + extended;
  return Math.min(length, formBytes(flagsForm(signed, to), to, inst.size === 8));
}

/** Bytes of a move to the low byte, if the register has no other bits; more than any other form if it has. */
const lowByteBytes = (to: number, value: number, m: Match): number =>
  value >= 0 && value <= 255 && m.facts.width[to]! <= 8
    ? instructionLength(byteImm(to, value))
    : Number.POSITIVE_INFINITY;

const constantInLowByte: Rule = {
  name: "constant-in-low-byte",
  description: "mov $n, d → movb $n, d, where d has no bits but the low eight",
  opcodes: [X.Mov],
  needs: Needs.Immediate | Needs.Minsize,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const { inst } = m;
    const value = constantOf(inst);
    if (Number.isNaN(value) || isByteMove(inst)) return;
    const to = inst.defs[0]!.loc;
    if (lowByteBytes(to, value, m) < finalBytes(inst, value, m)) m.replace(byteImm(to, value));
  },
};

const constantFromRegister: Rule = {
  name: "constant-from-register",
  description: "mov $n, d → mov r, d, or lea k(r), d, where r holds n, or n − k",
  opcodes: [X.Mov],
  needs: Needs.Immediate | Needs.Minsize,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const { inst, facts } = m;
    const value = constantOf(inst);
    if (Number.isNaN(value) || isByteMove(inst)) return;
    const to = inst.defs[0]!.loc;
    const wide = value < 0 || value > 0xffffffff;
    let best: MInst | null = null;
    let cost = -1;
    for (let r = 0; r < generalRegisters; r++) {
      const known = facts.constant[r]!;
      if (Number.isNaN(known) || (wide && !facts.isWhole(r))) continue;
      const distance = wide ? value - known : (value - known) | 0;
      if (!isImm8(distance)) continue;
      if (cost < 0) cost = Math.min(finalBytes(inst, value, m), lowByteBytes(to, value, m));
      const size = wide ? 8 : 4;
      const candidate = known === value ? copy(size, to, r) : lea(size, to, baseDisp(r, distance));
      const length = instructionLength(candidate);
      if (length >= cost) continue;
      best = candidate;
      cost = length;
    }
    if (best !== null) m.replace(best);
  },
};

const storeFromRegister: Rule = {
  name: "store-from-register",
  description: "mov $n, m → mov r, m, where r holds n",
  opcodes: [X.MovM],
  needs: Needs.Immediate | Needs.Minsize,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const { inst, facts } = m;
    const { size } = inst;
    const value = signedImmediate(inst.imm!, size === 8 ? 4 : size);
    // Stores of 0 and −1 have a shorter form of their own: `store-by-mask`.
    const short = inst.marks === AccessMark.Plain && size > 1 && (value === 0 || value === -1);
    const cost = instructionLength(inst) - (short ? Math.min(size, 4) - 1 : 0);
    for (let r = 0; r < generalRegisters; r++) {
      const known = facts.constant[r]!;
      if (Number.isNaN(known)) continue;
      const equal = size === 8 ? known === value && facts.isWhole(r) : signedImmediate(known, size) === value;
      if (!equal) continue;
      const candidate = new MInst(X.MovM, size);
      candidate.uses = [physical(r)];
      candidate.mem = inst.mem;
      if (instructionLength(candidate) < cost) return m.replace(candidate);
    }
  },
};

// Shorter forms.

/** Of a byte it has as many bytes, and waits for nobody. */
const zeroByXor: Rule = {
  name: "zero-by-xor",
  description: "mov $0, d → xor d, d",
  opcodes: [X.Mov],
  needs: Needs.Immediate | Needs.NoMemory | Needs.DeadFlags,
  window: 0,
  gain: Gain.NotLonger,
  apply(m) {
    const { imm, defs } = m.inst;
    if (imm === 0 || imm === 0n) m.replace(aluReg(X.Xor, 4, defs[0]!.loc, defs[0]!.loc));
  },
};

/** Of a 64-bit constant with 32 significant bits, which is moved as such, zero-extended, push would extend the sign. */
const signedConstant = ({ size, imm }: MInst): number =>
  size === 8 ? Number(imm) : signedImmediate(imm!, 4);

/** pop writes 64 bits, and push has extended the sign: see `upperBits`. */
const constantByPush: Rule = {
  name: "constant-by-push",
  description: "mov $n, d → push $n; pop d",
  opcodes: [X.Mov],
  needs: Needs.Immediate | Needs.NoMemory | Needs.Minsize | Needs.Pushes,
  window: 0,
  gain: Gain.ShorterSlower,
  apply(m) {
    const { inst } = m;
    if (inst.size < 4) return;
    const value = signedConstant(inst);
    if (!isImm8(value)) return;
    if (inst.size === 8 || value >= 0 || upperBits(inst, true) === UpperBits.Undefined)
      m.replaceByTwo(pushImm(value), pop(inst.defs[0]!.loc));
  },
};

/** The constant's other form where nothing may be pushed, if it is this. */
function hasForm({ inst, pushes }: Match, form: FlagsForm): boolean {
  return !pushes && inst.size >= 4 && flagsForm(signedConstant(inst), inst.defs[0]!.loc) === form;
}
const flagsNeeds = Needs.Immediate | Needs.NoMemory | Needs.Minsize | Needs.DeadFlags;
const zeroing = (register: number): MInst => aluReg(X.Xor, 4, register, register);

const onesByOr: Rule = {
  name: "ones-by-or",
  description: "mov $-1, d → or $-1, d",
  opcodes: [X.Mov],
  needs: flagsNeeds,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    if (hasForm(m, "ones")) m.replace(aluImm(X.Or, m.inst.size, m.inst.defs[0]!.loc, -1));
  },
};

const oneByIncrement: Rule = {
  name: "one-by-increment",
  description: "mov $1, d → xor d, d; inc d",
  opcodes: [X.Mov],
  needs: flagsNeeds,
  window: 0,
  gain: Gain.ShorterSlower,
  apply(m) {
    if (!hasForm(m, "increment")) return;
    const to = m.inst.defs[0]!.loc;
    const increment = aluImm(X.Inc, 4, to, 0);
    increment.imm = null;
    m.replaceByTwo(zeroing(to), increment);
  },
};

const byteOverZero: Rule = {
  name: "byte-over-zero",
  description: "mov $n, d → xor d, d; movb $n, d",
  opcodes: [X.Mov],
  needs: flagsNeeds,
  window: 0,
  gain: Gain.ShorterSlower,
  apply(m) {
    if (!hasForm(m, "byte")) return;
    const to = m.inst.defs[0]!.loc;
    m.replaceByTwo(zeroing(to), byteImm(to, signedConstant(m.inst)));
  },
};

/** To memory that nobody else watches, with a one-byte immediate. */
const storeByMask: Rule = {
  name: "store-by-mask",
  description: "mov $0, m → and $0, m; mov $-1, m → or $-1, m",
  opcodes: [X.MovM],
  needs: Needs.Immediate | Needs.Minsize | Needs.DeadFlags,
  window: 0,
  gain: Gain.ShorterSlower,
  apply(m) {
    const { inst } = m;
    if (inst.marks !== AccessMark.Plain || inst.size === 1) return;
    const value = signedImmediate(inst.imm!, inst.size);
    if (value !== 0 && value !== -1) return;
    const mask = like(inst, value === 0 ? X.AndM : X.OrM);
    mask.imm = value;
    mask.marks = 0;
    m.replace(mask);
  },
};

export const constantRules: RuleGroup = {
  forward: [dropKnownConstant, constantFromRegister, constantInLowByte, storeFromRegister],
  backward: [zeroByXor, constantByPush, onesByOr, oneByIncrement, byteOverZero, storeByMask],
};
