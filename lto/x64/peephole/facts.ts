/**
 * What is known of register contents inside a block, from its start on.
 *
 * Of each general register: its value if it is a constant, an upper bound of its width (bits above are zero), and another
 * register that holds the same 64 bits.
 * Linear in the block, times 16 registers at a definition of a copied one.
 * Proof obligations: a fact holds for the full 64-bit register, but for constants of which only the low half is
 * known; any definition or clobber of it ends the facts; what is above a definition is what `upperBits` says.
 */
import type { MInst, RegOperand } from "../../codegen/mir.js";
import { isEmptySet, lowWord } from "../../codegen/register-set.js";
import { isZeroIdiom, writtenRegisters } from "../isa/effects.js";
import { signedImmediate } from "../isa/lengths.js";
import { resultSize } from "../isa/op-info.js";
import { X } from "../isa/ops.js";
import { RSP } from "../isa/registers.js";
import { isByteMove, UpperBits, upperBits } from "../isa/upper-bits.js";

/** General registers: facts are of these. */
export const generalRegisters = 16;
export const unknownWidth = 64;

/** Number of significant bits of an unsigned 32-bit value. */
export const widthOf = (value: number): number => 32 - Math.clz32(value);

export class Facts {
  /** Constant value as a signed number of up to 53 bits; NaN if unknown. */
  readonly constant = new Float64Array(generalRegisters).fill(Number.NaN);
  /** Registers of whose constant only the low 32 bits are known: a set of bits. */
  private low = 0;
  readonly width = new Uint8Array(generalRegisters).fill(unknownWidth);
  /** A register with the same contents, or -1. Symmetric only through a common original. */
  private readonly same = new Int8Array(generalRegisters).fill(-1);
  /** Vector registers that hold zero. */
  zeroVectors = 0;

  reset(): void {
    this.constant.fill(Number.NaN);
    this.width.fill(unknownWidth);
    this.same.fill(-1);
    this.low = 0;
    this.zeroVectors = 0;
  }

  private forget(register: number): void {
    this.constant[register] = Number.NaN;
    this.width[register] = unknownWidth;
    this.same[register] = -1;
    this.low &= ~(1 << register);
    for (let r = 0; r < generalRegisters; r++) if (this.same[r] === register) this.same[r] = -1;
  }

  private forgetMask(mask: number): void {
    for (let r = 0; r < generalRegisters; r++) if ((mask & (1 << r)) !== 0) this.forget(r);
  }

  /** Whether all 64 bits are those of `constant`, where that is known. */
  isWhole(register: number): boolean {
    return (this.low & (1 << register)) === 0;
  }

  /** @param whole all 64 bits are the value's; else the low 32, and those above are undefined */
  private setConstant(register: number, value: number, whole: boolean): void {
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

  /** Notes what is known after `inst`. @param shortPushes small constants may become push and pop */
  learn(inst: MInst, shortPushes: boolean): void {
    const all = lowWord(writtenRegisters(inst));
    const written = all & 0xffff;
    this.zeroVectors &= ~all;
    if (inst.op === X.XorpsZero) this.zeroVectors |= all;
    if (
      inst.op === X.Xchg ||
      inst.defs.length !== 1 ||
      inst.defs[0]!.loc >= generalRegisters ||
      !isEmptySet(inst.clobbers)
    ) {
      if (written !== 0) this.forgetMask(written);
      return;
    }
    const register = inst.defs[0]!.loc;
    const value = constantOf(inst);
    const upper = upperBits(inst, shortPushes);
    const width = inst.size >= 4 && upper !== UpperBits.Undefined ? resultWidth(inst, this) : unknownWidth;
    const from = inst.op === X.Copy ? inst.uses[0]!.loc : -1;
    const isGeneral = from >= 0 && from < generalRegisters;
    // Nothing says when rsp changes: no fact may involve it.
    const copied = isGeneral && from !== RSP && (inst.size === 8 || this.width[from]! <= 32);
    // A copy of 32 bits makes the whole of a constant known.
    const whole = copied ? this.isWhole(from) : true;
    const copiedConstant =
      copied || (isGeneral && from !== RSP && inst.size === 4 && !this.isWhole(from))
        ? this.constant[from]!
        : Number.NaN;
    const original = copied ? (this.same[from] === -1 ? from : this.same[from]!) : -1;
    this.forget(register);
    if (!Number.isNaN(value)) this.setConstant(register, value, upper !== UpperBits.Undefined);
    else {
      if (!Number.isNaN(copiedConstant)) this.setConstant(register, copiedConstant, whole);
      this.width[register] = Math.min(width, this.width[register]!);
      if (original !== register) this.same[register] = original;
    }
  }
}

/** Value that a constant move leaves in the register, seen as 64 bits; NaN if it is none or too wide. */
export function constantOf(inst: MInst): number {
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
  return operand === undefined || operand.loc >= generalRegisters ? unknownWidth : facts.width[operand.loc]!;
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
