/**
 * Exact encoded length of a machine instruction, as GNU as assembles the text that `formats/asm` prints.
 *
 * An instruction is prefixes + opcode + ModRM/SIB/displacement + immediate. The opcode bytes come from
 * `op-info.ts`; the assembler's choices (sign-extended imm8, accumulator short forms, shift by one, no
 * displacement) are modelled here. Branches to blocks are counted in the form that is passed in: which one
 * they take is decided by `layout.ts`.
 * Constant time per instruction.
 * Breaks if: the text leaves a choice open that another assembler takes differently, or operands are not
 * yet registers or rsp/rbp-based memory (run it after the frame pass).
 * Source: Intel SDM volume 2, chapter 2 (instruction format).
 */

import { type MemOperand, type MInst, type RegOperand, type SymbolKind, tableOf } from "../../codegen/mir.js";
import { hasSegment, isRipRelative } from "./memory-operand.js";
import {
  argumentSize,
  opBytes,
  opFormat,
  opLength,
  opSourceBytes,
  opUpper,
  opWide,
  resultSize,
} from "./op-info.js";
import { Format, JumpMark, lanesZeroed } from "./ops.js";
import { RAX, XMM16 } from "./registers.js";
import { bytesRead, Length, Upper, Wide } from "./row.js";
import { V } from "./vex-ops.js";

/** Bytes of a branch to a block: short and near forms. */
export const shortBranch = 2;
export const nearJmp = 5;
export const nearJcc = 6;

/** Upper bound of one line of inline assembly, whose length is unknown. */
const asmLineEstimate = 8;

const isImm8 = (value: number): boolean => value >= -128 && value <= 127;

/** An immediate as the signed number that an operand of `size` bytes (1, 2, 4) holds. */
export function signedImmediate(imm: number | bigint, size: number): number {
  if (size === 8) return Number(imm);
  const n = typeof imm === "bigint" ? Number(BigInt.asIntN(32, imm)) : imm | 0;
  return size === 1 ? (n << 24) >> 24 : size === 2 ? (n << 16) >> 16 : n;
}

/** ModRM, SIB and displacement bytes, plus a segment prefix. @param unit of displacements of a byte */
function memoryLength(mem: MemOperand, unit = 1): number {
  const prefix = !hasSegment(mem) ? 0 : 1;
  if (isRipRelative(mem)) return prefix + 5;
  if (mem.base === null) return prefix + 6;
  const base = mem.base.loc & 7;
  const sib = mem.index !== null || base === 4 ? 1 : 0;
  if (mem.symbol !== null) return prefix + 1 + sib + 4;
  if (mem.disp === 0 && base !== 5) return prefix + 1 + sib;
  return prefix + 1 + sib + (mem.disp % unit === 0 && isImm8(mem.disp / unit) ? 1 : 4);
}

const isExtended = (operand: RegOperand | null): boolean => operand !== null && (operand.loc & 8) !== 0;
/** spl, bpl, sil, dil need a REX prefix. */
const isNewByte = (operand: RegOperand): boolean => operand.loc >= 4 && operand.loc < 8;

/** REX prefix (0 or 1) of an instruction that names all its definitions and uses. */
function rex(inst: MInst, wide: boolean, byteUses: boolean, byteDefs: boolean): number {
  if (wide) return 1;
  const { defs, uses, mem } = inst;
  for (let i = 0; i < defs.length; i++)
    if (isExtended(defs[i]!) || (byteDefs && isNewByte(defs[i]!))) return 1;
  for (let i = 0; i < uses.length; i++)
    if (isExtended(uses[i]!) || (byteUses && isNewByte(uses[i]!))) return 1;
  if (mem !== null && (isExtended(mem.base) || isExtended(mem.index))) return 1;
  return 0;
}

/** REX of an instruction with one register operand besides memory. */
function rexOne(inst: MInst, register: RegOperand | null, wide: boolean, byte: boolean): number {
  if (wide || isExtended(register) || (byte && register !== null && isNewByte(register))) return 1;
  const mem = inst.mem;
  return mem !== null && (isExtended(mem.base) || isExtended(mem.index)) ? 1 : 0;
}

/** ModRM of a register form, or the memory operand. */
const operandLength = (inst: MInst): number => (inst.mem === null ? 1 : memoryLength(inst.mem));

/** Bytes of an immediate that has no sign-extended short form. */
const fullImmediate = (size: number): number => Math.min(size, 4);

/** add … cmp with an immediate: the destination is register `register`, or memory when it is null. */
function aluImmediate(inst: MInst, register: RegOperand | null): number {
  const size = inst.size;
  const common = (size === 2 ? 1 : 0) + rexOne(inst, register, size === 8, size === 1) + 1;
  if (size > 1 && inst.symbol === null && isImm8(signedImmediate(inst.imm!, size)))
    return common + operandLength(inst) + 1;
  const accumulator = register !== null && register.loc === RAX;
  return common + (accumulator ? 0 : operandLength(inst)) + fullImmediate(size);
}

function aluLength(inst: MInst): number {
  if (inst.mem === null && inst.uses.length < 2) return aluImmediate(inst, inst.uses[0]!);
  const size = inst.size;
  const byte = size === 1;
  return (size === 2 ? 1 : 0) + rex(inst, size === 8, byte, byte) + opBytes[inst.op]! + operandLength(inst);
}

/** Memory destination: source is uses[0], imm or symbol. */
function aluMemoryLength(inst: MInst): number {
  if (inst.uses.length === 0) return aluImmediate(inst, null);
  const size = inst.size;
  return (size === 2 ? 1 : 0) + rex(inst, size === 8, size === 1, false) + 1 + memoryLength(inst.mem!);
}

function testLength(inst: MInst): number {
  const size = inst.size;
  const register = inst.uses.length > 0 ? inst.uses[0]! : null;
  const hasImmediate = inst.imm !== null || inst.symbol !== null;
  const byte = size === 1;
  const common = (size === 2 ? 1 : 0) + rex(inst, size === 8, byte, false) + 1;
  if (!hasImmediate) return common + operandLength(inst);
  const accumulator = inst.mem === null && register !== null && register.loc === RAX;
  return common + (accumulator ? 0 : operandLength(inst)) + fullImmediate(size);
}

/** How a constant move is encoded: see `moveImmediateForm`. */
export const enum MoveForm {
  /** movl $imm32, %r32 (also for 64-bit values below 2^32), movb, movw. */
  Short,
  /** movq $simm32, %r64. */
  SignExtended,
  /** movabsq $imm64, %r64. */
  Full,
}

const symbolForm: Readonly<Record<SymbolKind, MoveForm>> = {
  direct: MoveForm.Short,
  plt: MoveForm.Short,
  far: MoveForm.Full,
  "far-offset": MoveForm.Full,
  "far-got": MoveForm.Full,
  high: MoveForm.SignExtended,
  got: MoveForm.SignExtended,
  "tls-offset": MoveForm.SignExtended,
  "tls-offset-entry": MoveForm.SignExtended,
  "tls-dynamic": MoveForm.SignExtended,
};

/** Form of `Mov` with an immediate or symbol. Direct symbols lie below 2^31 in the small code model. */
export function moveImmediateForm(inst: MInst): MoveForm {
  if (inst.size !== 8) return MoveForm.Short;
  if (inst.symbol !== null) return symbolForm[inst.symbol.kind];
  const imm = inst.imm!;
  if (imm >= 0 && imm <= 0xffffffff) return MoveForm.Short;
  return imm >= -0x80000000 && imm < 0 ? MoveForm.SignExtended : MoveForm.Full;
}

function movLength(inst: MInst): number {
  const size = inst.size;
  const to = inst.defs[0]!;
  if (inst.imm === null && inst.symbol === null) {
    const byte = size === 1;
    return (size === 2 ? 1 : 0) + rex(inst, size === 8, byte, byte) + 1 + operandLength(inst);
  }
  switch (moveImmediateForm(inst)) {
    case MoveForm.Short:
      return (size === 2 ? 1 : 0) + rexOne(inst, to, false, size === 1) + 1 + fullImmediate(size);
    case MoveForm.SignExtended:
      return 7;
    case MoveForm.Full:
      return 10;
  }
}

function movStoreLength(inst: MInst): number {
  const size = inst.size;
  const register = inst.uses.length > 0 ? inst.uses[0]! : null;
  const common = (size === 2 ? 1 : 0) + rexOne(inst, register, size === 8, size === 1) + 1;
  return common + memoryLength(inst.mem!) + (register === null ? fullImmediate(size) : 0);
}

function copyLength(inst: MInst): number {
  const vector = inst.defs[0]!.loc >= 16;
  return rex(inst, !vector && inst.size === 8, false, false) + (vector ? 2 : 1) + 1;
}

function shiftLength(inst: MInst, memory: boolean): number {
  const size = inst.size;
  const register = memory ? null : inst.defs[0]!;
  const immediate = inst.imm !== null && signedImmediate(inst.imm, 4) !== 1 ? 1 : 0;
  return (
    (size === 2 ? 1 : 0) +
    rexOne(inst, register, size === 8, size === 1) +
    1 +
    operandLength(inst) +
    immediate
  );
}

function doubleShiftLength(inst: MInst): number {
  const size = inst.size;
  return (size === 2 ? 1 : 0) + rex(inst, size === 8, false, false) + 3 + (inst.imm !== null ? 1 : 0);
}

function imulImmediateLength(inst: MInst): number {
  const size = inst.size;
  const immediate = isImm8(signedImmediate(inst.imm!, size)) ? 1 : fullImmediate(size);
  return (size === 2 ? 1 : 0) + rex(inst, size === 8, false, false) + 1 + operandLength(inst) + immediate;
}

/** Unary and one-operand multiply/divide: the explicit register is `register`, or memory. */
function unaryLength(inst: MInst, register: RegOperand | null): number {
  const size = inst.size;
  return (size === 2 ? 1 : 0) + rexOne(inst, register, size === 8, size === 1) + 1 + operandLength(inst);
}

/** `xorps` of the result. */
const zeroVectorLength = (inst: MInst): number => (isExtended(inst.defs[0]!) ? 1 : 0) + 3;

/** Registers only or register and memory, no immediate: the general case. */
function plainLength(inst: MInst): number {
  const op = inst.op;
  const wide = opWide[op] === Wide.Always || (opWide[op] === Wide.Size8 && inst.size === 8);
  const zeroing = inst.marks === lanesZeroed && opUpper[op] === Upper.Lanes ? zeroVectorLength(inst) : 0;
  return zeroing + rex(inst, wide, false, false) + opBytes[op]! + operandLength(inst);
}

/** Bytes of a VEX prefix for what the map 0F has. */
function shortVexLength(inst: MInst): number {
  const { op, defs, uses, mem } = inst;
  const format = opFormat[op] as Format;
  const takesWide = mem === null || format === Format.Merge;
  const isWide =
    opWide[op] === Wide.Always ||
    (opWide[op] === Wide.Size8 && inst.size === 8) ||
    (takesWide &&
      format === Format.Mov &&
      (resultSize(op, inst.size) === 8 || argumentSize(op, inst.size) === 8));
  if (isWide) return 3;
  if (mem !== null) return isExtended(mem.base) || isExtended(mem.index) ? 3 : 2;
  // A register by itself is both.
  if (uses.length === 0) return isExtended(defs[0]!) ? 3 : 2;
  const [def] = defs;
  const last = uses[uses.length - 1]!;
  // Between the register files the vector is never the operand that may be memory.
  if (isCrossMove(op)) return isExtended(def!.loc >= 16 ? last : def!) ? 3 : 2;
  // Moves have a form for each direction.
  if (hasTwoDirections(op)) return isExtended(last) && isExtended(def!) ? 3 : 2;
  return isExtended(last) ? 3 : 2;
}

const isCrossMove = (op: number): boolean => op >= V.MovdTo && op <= V.MovqFrom;
const hasTwoDirections = (op: number): boolean =>
  op === V.Movaps || op === V.Movups || op === V.MovssMerge || op === V.MovsdMerge;

function shortVex(inst: MInst): number {
  const operands = inst.uses.length === 0 && inst.mem === null ? 1 : operandLength(inst);
  return shortVexLength(inst) + 1 + operands + (inst.imm !== null ? 1 : 0);
}

/** Some operand is a register that EVEX encoding alone can name. */
function namesHigh({ defs, uses }: MInst): boolean {
  for (let i = 0; i < defs.length; i++) if (defs[i]!.loc >= XMM16) return true;
  for (let i = 0; i < uses.length; i++) if (uses[i]!.loc >= XMM16) return true;
  return false;
}

function evexLength({ op, size, mem, imm }: MInst): number {
  const operands = mem === null ? 1 : memoryLength(mem, bytesRead(opSourceBytes[op]!, size));
  return 5 + operands + (imm !== null ? 1 : 0);
}

/** The same for integer instructions of 2, 4 or 8 bytes: with operand-size prefix. */
const plainIntegerLength = (inst: MInst): number => (inst.size === 2 ? 1 : 0) + plainLength(inst);

/** The first use is the result, which is no byte. */
function byteSourceLength(inst: MInst): number {
  const { op, size, uses } = inst;
  const newByte = size === 1 && uses.length > 1 && isNewByte(uses[1]!);
  const prefix = (size === 2 ? 1 : 0) + (newByte ? 1 : rex(inst, size === 8, false, false));
  return prefix + opBytes[op]! + operandLength(inst);
}

function xchgLength(inst: MInst): number {
  const [a, b] = inst.defs;
  const byte = inst.size === 1;
  // With the accumulator the other register is part of the opcode.
  const modrm = !byte && (a!.loc === RAX || b!.loc === RAX) ? 0 : 1;
  return (inst.size === 2 ? 1 : 0) + rex(inst, inst.size === 8, byte, byte) + 1 + modrm;
}

function extendLength(inst: MInst): number {
  const op = inst.op;
  const byteSource = argumentSize(op, inst.size) === 1;
  const wide = resultSize(op, inst.size) === 8;
  return (inst.size === 2 ? 1 : 0) + rex(inst, wide, byteSource, false) + opBytes[op]! + operandLength(inst);
}

function pushLength(inst: MInst): number {
  if (inst.mem !== null) return rexOne(inst, null, false, false) + 1 + memoryLength(inst.mem);
  if (inst.uses.length > 0) return isExtended(inst.uses[0]!) ? 2 : 1;
  return inst.symbol === null && isImm8(Number(inst.imm)) ? 2 : 5;
}

function popLength(inst: MInst): number {
  if (inst.mem !== null) return rexOne(inst, null, false, false) + 1 + memoryLength(inst.mem);
  return isExtended(inst.defs[0]!) ? 2 : 1;
}

function indirectLength(inst: MInst): number {
  if (inst.mem !== null) return rexOne(inst, null, false, false) + 1 + memoryLength(inst.mem);
  return (isExtended(inst.uses[0]!) ? 1 : 0) + 2;
}

/** movd and movq between register files. */
function crossMoveLength(inst: MInst): number {
  const wide =
    inst.mem === null && (resultSize(inst.op, inst.size) === 8 || argumentSize(inst.op, inst.size) === 8);
  return rex(inst, wide, false, false) + 3 + operandLength(inst);
}

function atomicExchangeLength(inst: MInst): number {
  const size = inst.size;
  const register = inst.uses[inst.uses.length - 1]!;
  return (
    (size === 2 ? 1 : 0) +
    rexOne(inst, register, size === 8, size === 1) +
    opBytes[inst.op]! +
    memoryLength(inst.mem!)
  );
}

function implicitLength(inst: MInst): number {
  const wide = opWide[inst.op] === Wide.Size8;
  return opBytes[inst.op]! + (wide && (inst.size === 2 || inst.size === 8) ? 1 : 0);
}

function asmLength(inst: MInst): number {
  const extra = inst.extra;
  if (extra === null || extra.kind !== "asm" || extra.template.trim() === "") return 0;
  return extra.template.split(/[\n;]/).length * asmLineEstimate;
}

/**
 * Bytes of `inst`. Branches to blocks count as near; pseudo instructions that print nothing count 0; inline
 * assembly is estimated.
 */
export function instructionLength(inst: MInst): number {
  const { op } = inst;
  if (inst.size === 64 || namesHigh(inst)) return evexLength(inst);
  switch (opLength[op] as Length) {
    case Length.None:
      return 0;
    case Length.Fixed:
      return opBytes[op]!;
    case Length.Plain:
      return plainLength(inst);
    case Length.PlainImmediate:
      return plainLength(inst) + (inst.imm !== null ? 1 : 0);
    case Length.Integer:
      return plainIntegerLength(inst);
    case Length.IntegerImmediate:
      return plainIntegerLength(inst) + (inst.imm !== null ? 1 : 0);
    case Length.ByteSource:
      return byteSourceLength(inst);
    case Length.Vex:
      return (
        opBytes[op]! + operandLength(inst) + (inst.imm !== null || opFormat[op] === Format.Blend ? 1 : 0)
      );
    case Length.ShortVex:
      return shortVex(inst);
    case Length.Evex:
      return evexLength(inst);
    case Length.Copy:
      return copyLength(inst);
    case Length.Mov:
      return movLength(inst);
    case Length.Store:
      return movStoreLength(inst);
    case Length.Extend:
      return extendLength(inst);
    case Length.Alu:
      return aluLength(inst);
    case Length.AluMemory:
      return aluMemoryLength(inst);
    case Length.Test:
      return testLength(inst);
    case Length.MulImmediate:
      return imulImmediateLength(inst);
    case Length.Unary:
      return unaryLength(inst, inst.defs[0]!);
    case Length.UnaryMemory:
      return unaryLength(inst, null);
    case Length.Bswap:
      return rexOne(inst, inst.defs[0]!, inst.size === 8, false) + 2;
    case Length.Shift:
      return shiftLength(inst, false);
    case Length.ShiftMemory:
      return shiftLength(inst, true);
    case Length.DoubleShift:
      return doubleShiftLength(inst);
    case Length.Wide:
      return unaryLength(inst, inst.mem === null ? inst.uses[inst.uses.length - 1]! : null);
    case Length.Implicit:
      return implicitLength(inst);
    case Length.SetCc:
      return rexOne(inst, inst.defs[0]!, false, true) + 3;
    case Length.SetCcMemory:
      return rexOne(inst, null, false, false) + 2 + memoryLength(inst.mem!);
    case Length.Exchange:
      return xchgLength(inst);
    case Length.Jump:
      return nearJmp;
    case Length.Branch:
      return nearJcc;
    case Length.DirectCall:
      return 5;
    case Length.Indirect:
      return (inst.marks & JumpMark.Thunk) !== 0 ? 5 : indirectLength(inst) + markBytes(inst);
    case Length.TableLoad:
      return tableLoadLength(inst);
    case Length.Push:
      return pushLength(inst);
    case Length.Pop:
      return popLength(inst);
    case Length.Return:
      return 1 + markBytes(inst);
    case Length.Nop:
      return Number(inst.imm);
    case Length.Asm:
      return asmLength(inst);
    case Length.Memory:
      return rexOne(inst, null, false, false) + opBytes[op]! + memoryLength(inst.mem!);
    case Length.AtomicAlu:
      return 1 + aluMemoryLength(inst);
    case Length.AtomicUnary:
      return 1 + unaryLength(inst, null);
    case Length.AtomicExchange:
      return atomicExchangeLength(inst);
    case Length.AtomicPair:
      return 4 + memoryLength(inst.mem!);
    case Length.CrossMove:
      return crossMoveLength(inst);
    case Length.ZeroVector:
      return zeroVectorLength(inst);
  }
}

/** See the text of it in `formats/asm/x64/instructions.ts`. */
function tableLoadLength(inst: MInst): number {
  const table = tableOf(inst);
  const [target, base] = inst.defs;
  const index = inst.uses[0]!;
  const narrow = table.entryBytes < 4;
  if (base === undefined) {
    const prefix = isExtended(target!) || isExtended(index) ? 1 : 0;
    // As a base, r12 needs a SIB byte.
    const load = table.entryBytes === 4 ? 7 : table.entryBytes === 2 ? 8 : (index.loc & 7) === 4 ? 8 : 7;
    const add = target!.loc === RAX ? 5 : isExtended(target!) ? 7 : 6;
    return prefix + load + (narrow ? add : 0);
  }
  const sib = (base.loc & 7) === 5 ? 3 : 2;
  const prefix = isExtended(target!) || isExtended(index) || isExtended(base) ? 1 : 0;
  return narrow ? 7 + prefix + 2 + sib + 7 + 3 : 7 + 2 + sib + 3;
}

/** Bytes that marks add: a prefix, a trap. */
const markBytes = ({ marks }: MInst): number =>
  ((marks & JumpMark.Stop) !== 0 ? 1 : 0) + ((marks & JumpMark.NoTrack) !== 0 ? 1 : 0);
