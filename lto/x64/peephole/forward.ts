/**
 * What is known about register contents inside a block, used to shorten or drop instructions.
 *
 * Facts about each general register, from the block's start on: its value if it is a constant, an upper bound
 * of its width (bits above are zero), and another register that holds the same 64 bits. They drop copies and
 * extensions that change nothing, take constants from registers that have them, and turn 64-bit operations
 * into 32-bit ones (no REX prefix) where the upper halves are zero.
 * Linear in the block, times 16 registers at a definition of a copied one.
 * Proof obligations: a fact holds for the full 64-bit register, but for constants of which only the low half is
 * known; any definition or clobber of it ends the facts; what is above a definition is what `upperBits` says.
 */

import type { PostLiveness } from "../../codegen/late/liveness.js";
import { type MFunction, MInst, type RegOperand } from "../../codegen/mir.js";
import { hasRegister, isEmptySet, lowWord } from "../../codegen/register-set.js";
import { baseDisp, byteImm, copy, lea, physical } from "../isa/build.js";
import { flagsRegister, isZeroIdiom, writtenRegisters } from "../isa/effects.js";
import { instructionLength, signedImmediate } from "../isa/lengths.js";
import { resultSize } from "../isa/op-info.js";
import { AccessMark, X } from "../isa/ops.js";
import { RSP } from "../isa/registers.js";
import { isByteMove, UpperBits, upperBits } from "../isa/upper-bits.js";
import { flagsConstantForm, formBytes } from "./constant-forms.js";
import { type CcSet, readersAfter, unsignedConditions, zeroConditions } from "./flags.js";

const registers = 16;
const unknownWidth = 64;

/** Number of significant bits of an unsigned 32-bit value. */
const widthOf = (value: number): number => 32 - Math.clz32(value);

class Facts {
  /** Constant value as a signed number of up to 53 bits; NaN if unknown. */
  readonly constant = new Float64Array(registers).fill(Number.NaN);
  /** Registers of whose constant only the low 32 bits are known: a set of bits. */
  private low = 0;
  readonly width = new Uint8Array(registers).fill(unknownWidth);
  /** A register with the same contents, or -1. Symmetric only through a common original. */
  readonly same = new Int8Array(registers).fill(-1);
  /** Vector registers that hold zero. */
  zeroVectors = 0;

  reset(): void {
    this.constant.fill(Number.NaN);
    this.width.fill(unknownWidth);
    this.same.fill(-1);
    this.low = 0;
    this.zeroVectors = 0;
  }

  forget(register: number): void {
    this.constant[register] = Number.NaN;
    this.width[register] = unknownWidth;
    this.same[register] = -1;
    this.low &= ~(1 << register);
    for (let r = 0; r < registers; r++) if (this.same[r] === register) this.same[r] = -1;
  }

  forgetMask(mask: number): void {
    for (let r = 0; r < registers; r++) if ((mask & (1 << r)) !== 0) this.forget(r);
  }

  /** Whether all 64 bits are those of `constant`, where that is known. */
  isWhole(register: number): boolean {
    return (this.low & (1 << register)) === 0;
  }

  /** @param whole all 64 bits are the value's; else the low 32, and those above are undefined */
  setConstant(register: number, value: number, whole: boolean): void {
    this.constant[register] = value;
    if (whole) this.low &= ~(1 << register);
    else this.low |= 1 << register;
    if (!whole) this.width[register] = unknownWidth;
    else this.width[register] = value >= 0 && value <= 0xffffffff ? widthOf(value) : unknownWidth;
  }

  /** Both registers are known to hold the same 64 bits. */
  equal(a: number, b: number): boolean {
    return (
      a === b ||
      this.same[a] === b ||
      this.same[b] === a ||
      (this.same[a] !== -1 && this.same[a] === this.same[b])
    );
  }
}

/** Value that a constant move leaves in the register, seen as 64 bits; NaN if it is none or too wide. */
function constantOf(inst: MInst): number {
  // A byte is moved only over registers that have no other bits.
  if (isByteMove(inst)) return Number(inst.imm) & 0xff;
  if (isZeroIdiom(inst) && inst.op === X.Xor && inst.size >= 4) return 0;
  if (inst.op !== X.Mov || inst.imm === null || inst.symbol !== null || inst.size < 4) return Number.NaN;
  if (inst.size === 4) return signedImmediate(inst.imm, 4) >>> 0;
  const value = Number(inst.imm);
  return Number.isSafeInteger(value) ? value : Number.NaN;
}

/** Of an operand. */
function sourceWidth(operand: RegOperand | undefined, facts: Facts): number {
  return operand === undefined || operand.loc >= registers ? unknownWidth : facts.width[operand.loc]!;
}

/** Upper bound of the width of the result after `inst`, by its operation and what is known of its sources. */
function resultWidth(inst: MInst, facts: Facts): number {
  const full = inst.size === 4 ? 32 : unknownWidth;
  switch (inst.op) {
    case X.Movzx8:
      return 8;
    case X.Movzx16:
      return 16;
    case X.Copy:
      return Math.min(full, sourceWidth(inst.uses[0], facts));
    case X.And:
      return andWidth(inst, facts, full);
    case X.Or:
    case X.Xor:
      if (inst.uses.length < 2) return full;
      return inst.size < 4
        ? unknownWidth
        : Math.min(full, Math.max(sourceWidth(inst.uses[0], facts), sourceWidth(inst.uses[1], facts)));
    case X.Shr:
      if (inst.imm === null || inst.size < 4) return full;
      return Math.max(0, Math.min(full, sourceWidth(inst.uses[0], facts)) - Number(inst.imm));
    default:
      return resultSize(inst.op, inst.size) === 4 ? 32 : full;
  }
}

function andWidth(inst: MInst, facts: Facts, full: number): number {
  if (inst.size < 4) return unknownWidth;
  const own = facts.width[inst.uses[0]!.loc]!;
  if (inst.uses.length > 1) return Math.min(full, own, facts.width[inst.uses[1]!.loc]!);
  if (inst.imm === null || inst.symbol !== null || inst.mem !== null) return Math.min(full, own);
  const imm = Number(inst.imm);
  return Math.min(full, own, imm >= 0 ? widthOf(imm) : unknownWidth);
}

/** Notes what is known after `inst`. */
function learn(inst: MInst, facts: Facts, shortPushes: boolean): void {
  const all = lowWord(writtenRegisters(inst));
  const written = all & 0xffff;
  facts.zeroVectors &= ~all;
  if (inst.op === X.XorpsZero) facts.zeroVectors |= all;
  if (
    inst.op === X.Xchg ||
    inst.defs.length !== 1 ||
    inst.defs[0]!.loc >= registers ||
    !isEmptySet(inst.clobbers)
  ) {
    if (written !== 0) facts.forgetMask(written);
    return;
  }
  const register = inst.defs[0]!.loc;
  const value = constantOf(inst);
  const upper = upperBits(inst, shortPushes);
  const width = inst.size >= 4 && upper !== UpperBits.Undefined ? resultWidth(inst, facts) : unknownWidth;
  const from = inst.op === X.Copy ? inst.uses[0]!.loc : -1;
  // Nothing says when rsp changes: no fact may involve it.
  const copied =
    from >= 0 && from < registers && from !== RSP && (inst.size === 8 || facts.width[from]! <= 32);
  // A copy of 32 bits makes the whole of a constant known.
  const whole = copied ? facts.isWhole(from) : true;
  const copiedConstant =
    copied || (from >= 0 && from < registers && from !== RSP && inst.size === 4 && !facts.isWhole(from))
      ? facts.constant[from]!
      : Number.NaN;
  const original = copied ? (facts.same[from] === -1 ? from : facts.same[from]!) : -1;
  facts.forget(register);
  if (!Number.isNaN(value)) facts.setConstant(register, value, upper !== UpperBits.Undefined);
  else {
    if (!Number.isNaN(copiedConstant)) facts.setConstant(register, copiedConstant, whole);
    facts.width[register] = Math.min(width, facts.width[register]!);
    if (original !== register) facts.same[register] = original;
  }
}

/** A copy or extension that leaves its register as it is, or one that a shorter copy replaces. */
function shortenCopy(inst: MInst, facts: Facts): MInst | null {
  const to = inst.defs[0]!.loc;
  const from = inst.uses[0]!.loc;
  if (to >= registers || from >= registers) return to === from ? null : inst;
  if (to === RSP || from === RSP) return inst;
  const full = inst.size === 8 || facts.width[from]! <= 32;
  if (full && facts.equal(to, from)) return null;
  if (inst.size === 8 && facts.width[from]! <= 32) inst.size = 4;
  return inst;
}

function shortenExtension(inst: MInst, facts: Facts, bits: number): MInst | null {
  if (inst.uses.length === 0) return inst;
  const to = inst.defs[0]!.loc;
  const from = inst.uses[0]!.loc;
  if (facts.width[from]! > bits) return inst;
  if (facts.equal(to, from)) return null;
  return copy(4, to, from);
}

/** movslq of a number below 2^31 is a 32-bit copy. */
function shortenSignExtension(inst: MInst, facts: Facts): MInst | null {
  if (inst.uses.length === 0) return inst;
  const from = inst.uses[0]!.loc;
  if (facts.width[from]! > 31) return inst;
  return facts.equal(inst.defs[0]!.loc, from) ? null : copy(4, inst.defs[0]!.loc, from);
}

/** Bytes of a constant move as it will be: see shrink.ts. */
function constantCost(inst: MInst, value: number, { flagsFree, pushes }: Block): number {
  const to = inst.defs[0]!.loc;
  const extended = to >= 8 ? 1 : 0;
  const signed = inst.size === 4 ? value | 0 : value;
  const length = instructionLength(inst);
  if (pushes && signed >= -128 && signed <= 127 && signed !== 0) return Math.min(3 + extended, length);
  if (!flagsFree()) return length;
  if (value === 0) return 2 + extended;
  return Math.min(length, formBytes(flagsConstantForm(signed, to), to, inst.size === 8));
}

/** Takes a constant from a register that holds it or one near, or changes the low byte, if that is shorter. */
function shortenConstant(inst: MInst, facts: Facts, block: Block): MInst | null {
  const value = constantOf(inst);
  if (Number.isNaN(value)) return inst;
  const to = inst.defs[0]!.loc;
  // Where bits above are undefined, those that are there do.
  const loose = upperBits(inst, block.shortPushes) === UpperBits.Undefined;
  if (facts.constant[to] === value && (loose || facts.isWhole(to))) return null;
  if (!block.minsize) return inst;
  let best = inst;
  let cost = constantCost(inst, value, block);
  const consider = (candidate: MInst): void => {
    const length = instructionLength(candidate);
    if (length >= cost) return;
    best = candidate;
    cost = length;
  };
  if (value >= 0 && value <= 255 && facts.width[to]! <= 8) consider(byteImm(to, value));
  const wide = value < 0 || value > 0xffffffff;
  for (let r = 0; r < registers; r++) {
    const known = facts.constant[r]!;
    if (Number.isNaN(known) || (wide && !facts.isWhole(r))) continue;
    if (known === value) consider(copy(wide ? 8 : 4, to, r));
    else {
      const distance = wide ? value - known : (value - known) | 0;
      if (distance >= -128 && distance <= 127) consider(lea(wide ? 8 : 4, to, baseDisp(r, distance)));
    }
  }
  return best;
}

/** Stores a constant from a register that holds it, if that is shorter. */
function shortenStore(inst: MInst, facts: Facts): MInst {
  const { imm, size } = inst;
  if (imm === null || inst.symbol !== null) return inst;
  const value = signedImmediate(imm, size === 8 ? 4 : size);
  // Stores of 0 and -1 have a shorter form of their own: see peephole-shrink.ts.
  const short = inst.marks === AccessMark.Plain && size > 1 && (value === 0 || value === -1);
  const cost = instructionLength(inst) - (short ? Math.min(size, 4) - 1 : 0);
  for (let r = 0; r < registers; r++) {
    const known = facts.constant[r]!;
    if (Number.isNaN(known)) continue;
    const equal = size === 8 ? known === value && facts.isWhole(r) : signedImmediate(known, size) === value;
    if (!equal) continue;
    const candidate = new MInst(X.MovM, size);
    candidate.uses = [physical(r)];
    candidate.mem = inst.mem;
    if (instructionLength(candidate) < cost) return candidate;
  }
  return inst;
}

/** 64-bit operations whose result a 32-bit one gives as well. */
function narrow(inst: MInst, facts: Facts, readers: () => CcSet): void {
  if (inst.size !== 8 || inst.mem !== null || inst.symbol !== null) return;
  const width = (i: number): number => {
    const operand = inst.uses[i];
    if (operand !== undefined) return operand.loc < registers ? facts.width[operand.loc]! : unknownWidth;
    return inst.imm !== null && inst.imm >= 0 ? widthOf(Number(inst.imm)) : unknownWidth;
  };
  switch (inst.op) {
    case X.And:
      // One short operand bounds the result; the flags differ in the sign unless bit 31 is clear.
      if (Math.min(width(0), width(1)) <= 31) inst.size = 4;
      return;
    case X.Or:
    case X.Xor:
      if (Math.max(width(0), width(1)) <= 31) inst.size = 4;
      return;
    case X.Test: {
      const least = Math.min(width(0), width(1));
      if (least <= 31 || (least <= 32 && (readers() & ~zeroConditions) === 0)) inst.size = 4;
      return;
    }
    case X.Cmp: {
      const most = Math.max(width(0), width(1));
      // An immediate must not change its meaning: 32-bit ones are sign-extended.
      if (most <= 31 || (most <= 32 && inst.uses.length > 1 && (readers() & ~unsignedConditions) === 0))
        inst.size = 4;
      return;
    }
  }
}

function rewrite(inst: MInst, facts: Facts, block: Block): MInst | null {
  switch (inst.op) {
    case X.Copy:
      return shortenCopy(inst, facts);
    case X.Movzx8:
      return shortenExtension(inst, facts, 8);
    case X.Movzx16:
      return shortenExtension(inst, facts, 16);
    case X.Movsxd:
      return shortenSignExtension(inst, facts);
    case X.Mov:
      if (inst.imm !== null && inst.symbol === null) return shortenConstant(inst, facts, block);
      return inst;
    case X.MovM:
      return block.minsize ? shortenStore(inst, facts) : inst;
    case X.XorpsZero:
      return (lowWord(writtenRegisters(inst)) & ~facts.zeroVectors) === 0 ? null : inst;
    case X.And:
    case X.Or:
    case X.Xor:
    case X.Test:
    case X.Cmp:
      narrow(inst, facts, block.readers);
      return inst;
    default:
      return inst;
  }
}

/** The block that is rewritten, and how far that has come. */
class Block {
  private insts: MInst[] = [];
  private at = 0;
  private flagsOut = false;
  constructor(
    readonly minsize: boolean,
    /** Something may be pushed and popped again. */
    readonly pushes: boolean,
  ) {
    this.shortPushes = minsize && pushes;
  }

  /** Small constants become push and pop: see shrink.ts. */
  readonly shortPushes: boolean;

  /** Of the current instruction. */
  readonly flagsFree = (): boolean => this.readers() === 0;
  readonly readers = (): CcSet => readersAfter(this.insts, this.at, this.flagsOut);

  rewrite(insts: MInst[], facts: Facts, flagsOut: boolean): void {
    this.insts = insts;
    this.flagsOut = flagsOut;
    let kept = 0;
    for (this.at = 0; this.at < insts.length; this.at++) {
      const inst = rewrite(insts[this.at]!, facts, this);
      if (inst === null) continue;
      learn(inst, facts, this.shortPushes);
      // Readers look at what lies after `at` only, so the front may be overwritten.
      insts[kept++] = inst;
    }
    insts.length = kept;
  }
}

/** Rewrites the instructions of every block with what is known inside it. Liveness stays a safe bound. */
export function forwardPeepholes(mf: MFunction, liveness: PostLiveness, pushes: boolean): void {
  const facts = new Facts();
  const block = new Block(mf.goal === "minsize", pushes);
  for (const { id, insts } of mf.blocks) {
    facts.reset();
    block.rewrite(insts, facts, hasRegister(liveness.liveOut[id]!, flagsRegister));
  }
}
