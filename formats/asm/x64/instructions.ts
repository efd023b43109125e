/**
 * One machine instruction as a line of AT&T assembly.
 *
 * `lto/x64/isa/lengths.ts` counts on this text: suffixes are always written, constants are normalised to signed
 * numbers of the operand's width, and 64-bit constants below 2^32 are moved by the 32-bit instruction.
 * Constant time per instruction.
 */

import {
  CfiKind,
  type MInst,
  noLocation,
  type RegOperand,
  secondNumber,
  tableOf,
  unwindDirective,
} from "../../../lto/codegen/mir.js";
import { OpFact } from "../../../lto/codegen/target.js";
import { MoveForm, moveImmediateForm, signedImmediate } from "../../../lto/x64/isa/lengths.js";
import {
  argumentSize,
  opFacts,
  opFormat,
  opName,
  opReads,
  opSuffix,
  opUpper,
  resultSize,
} from "../../../lto/x64/isa/op-info.js";
import { opcodeNames } from "../../../lto/x64/isa/op-names.js";
import { ccNames, Format, JumpMark, lanesZeroed, X } from "../../../lto/x64/isa/ops.js";
import { XMM0, XMM16 } from "../../../lto/x64/isa/registers.js";
import { FlagRead, Suffix, suffixes, Upper } from "../../../lto/x64/isa/row.js";
import { V } from "../../../lto/x64/isa/vex-ops.js";
import type { InstructionPrinter, OperandNames } from "../instruction-printer.js";
import { inlineAsmText } from "./inline-asm.js";
import { memoryText, registerText, symbolText } from "./operands.js";
import { propertyNote } from "./property-note.js";
import { externalThunk, ownThunk, thunkText } from "./thunks.js";
import { typeNumber } from "./type-number.js";

const integerSuffix = suffixes[Suffix.Integer];

function register(operand: RegOperand | undefined, size: number, inst: MInst): string {
  if (operand === undefined || operand.loc === noLocation || operand.loc < 0)
    throw new Error(`operand of ${opcodeNames[inst.op]} has no register`);
  return registerText(operand.loc, size);
}

const result = (inst: MInst): string => register(inst.defs[0], resultSize(inst.op, inst.size), inst);

/** `$imm` or `$symbol+imm`; the value is normalised to `size` bytes. */
function immediate(inst: MInst, size: number, names: OperandNames): string {
  if (inst.symbol !== null) return `$${symbolText(inst.symbol, inst.imm ?? 0, names)}`;
  if (inst.imm === null) throw new Error(`${opcodeNames[inst.op]} without a source`);
  return `$${size < 8 ? signedImmediate(inst.imm, size) : inst.imm}`;
}

/** The source of a two-operand instruction: register number `index`, memory, or immediate. */
function source(inst: MInst, index: number, size: number, names: OperandNames): string {
  if (inst.uses.length > index) return register(inst.uses[index], size, inst);
  if (inst.mem !== null) return memoryText(inst.mem, names);
  return immediate(inst, size, names);
}

/** Mnemonic with its size suffix. */
function mnemonic(inst: MInst): string {
  const { op } = inst;
  const suffix = opSuffix[op]![inst.size] ?? "";
  return opReads[op] === FlagRead.Condition
    ? opName[op]! + ccNames[inst.condition]! + suffix
    : opName[op]! + suffix;
}

function copyText(inst: MInst): string {
  const to = inst.defs[0]!;
  const from = inst.uses[0]!;
  if (to.loc >= 16) return `\tmovaps\t${register(from, 16, inst)}, ${register(to, 16, inst)}`;
  const size = inst.size < 8 ? 4 : 8;
  return `\tmov${integerSuffix[size]}\t${register(from, size, inst)}, ${register(to, size, inst)}`;
}

function movText(inst: MInst, names: OperandNames): string {
  const to = inst.defs[0];
  const size = inst.size;
  if (inst.imm === null && inst.symbol === null)
    return `\tmov${integerSuffix[size]}\t${source(inst, 0, size, names)}, ${register(to, size, inst)}`;
  switch (moveImmediateForm(inst)) {
    case MoveForm.Short: {
      const narrow = Math.min(size, 4);
      // Unsigned here: the upper half of a 64-bit register becomes zero.
      const value = inst.symbol === null && size === 8 ? `$${inst.imm}` : immediate(inst, narrow, names);
      return `\tmov${integerSuffix[narrow]}\t${value}, ${register(to, narrow, inst)}`;
    }
    case MoveForm.SignExtended:
      return `\tmovq\t${immediate(inst, 8, names)}, ${register(to, 8, inst)}`;
    case MoveForm.Full:
      return `\tmovabsq\t${immediate(inst, 8, names)}, ${register(to, 8, inst)}`;
  }
}

/** defs[0] ← register, memory or immediate, across register files. */
function moveLikeText(inst: MInst, names: OperandNames): string {
  if (inst.op === X.Mov) return movText(inst, names);
  const from = argumentSize(inst.op, inst.size);
  if (inst.defs.length === 0)
    return `\t${mnemonic(inst)}\t${register(inst.uses[0], from, inst)}, ${memoryText(inst.mem!, names)}`;
  const text = `\t${mnemonic(inst)}\t${source(inst, 0, from, names)}, ${result(inst)}`;
  if (inst.marks !== lanesZeroed || opUpper[inst.op] !== Upper.Lanes) return text;
  return `\txorps\t${result(inst)}, ${result(inst)}\n${text}`;
}

/** The first of three operands, as wide as the result. */
const firstSource = (inst: MInst): string => register(inst.uses[0], resultSize(inst.op, inst.size), inst);

const lastRegister = (inst: MInst): string =>
  register(inst.uses[inst.uses.length - 1], argumentSize(inst.op, inst.size), inst);

/** The source of an instruction besides its immediate, and besides registers that are fixed. */
const registerOrMemory = (inst: MInst, names: OperandNames): string =>
  inst.mem !== null ? memoryText(inst.mem, names) : lastRegister(inst);

/** The source that is no immediate where uses in fixed registers follow it. */
const secondOrMemory = (inst: MInst, names: OperandNames): string =>
  inst.mem !== null
    ? memoryText(inst.mem, names)
    : register(inst.uses[1], argumentSize(inst.op, inst.size), inst);

/** The count of a shift: an immediate, or %cl. */
const shiftCount = (inst: MInst): string => (inst.imm === null ? "%cl" : `$${inst.imm}`);

function jumpText(inst: MInst, names: OperandNames): string {
  if ((opFacts[inst.op]! & (OpFact.Jump | OpFact.Branch)) === 0)
    return marked(inst, controlTarget(inst, names));
  const to = inst.symbol === null ? names.block(inst.targets[0]!) : symbolText(inst.symbol, 0, names);
  return `\t${mnemonic(inst)}\t${to}`;
}

/** A jump or call with its marks. */
function marked({ op, marks }: MInst, target: string): string {
  const has = (mark: JumpMark): boolean => (marks & mark) !== 0;
  const prefix = has(JumpMark.NoTrack) ? "notrack " : "";
  const thunk = has(JumpMark.ExternalThunk) ? externalThunk : has(JumpMark.Thunk) ? ownThunk : null;
  return `\t${prefix}${opName[op]}\t${thunk ?? target}${has(JumpMark.Stop) ? "\n\tint3" : ""}`;
}

/** Target of a call or jump: a symbol, or indirect through a register or memory. */
function controlTarget(inst: MInst, names: OperandNames): string {
  if (inst.symbol !== null) return symbolText(inst.symbol, inst.imm ?? 0, names);
  if (inst.mem !== null) return `*${memoryText(inst.mem, names)}`;
  return `*${register(inst.uses[0], 8, inst)}`;
}

function pushText(inst: MInst, names: OperandNames): string {
  return `\tpushq\t${source(inst, 0, 8, names)}`;
}

function popText(inst: MInst, names: OperandNames): string {
  return `\tpopq\t${inst.mem !== null ? memoryText(inst.mem, names) : register(inst.defs[0], 8, inst)}`;
}

function tlsText(inst: MInst, names: OperandNames): string {
  return (
    `\t.byte\t0x66\n\tleaq\t${symbolText(inst.symbol!, 0, names)}(%rip), %rdi\n` +
    "\t.value\t0x6666\n\trex64\n\tcall\t__tls_get_addr@PLT"
  );
}

function tableLoadText(inst: MInst, names: OperandNames): string {
  const { entryBytes, origin } = tableOf(inst);
  const table = names.jumpTable(tableOf(inst));
  const to = inst.defs[0];
  const index = register(inst.uses[0], 8, inst);
  const to32 = register(to, 4, inst);
  const start = typeof origin === "string" ? "" : names.block(origin);
  const load = entryBytes === 1 ? "movzbl" : "movzwl";
  if (inst.defs.length === 1) {
    if (entryBytes === 4) return `\tmovl\t${table}(,${index},4), ${to32}`;
    const place = entryBytes === 1 ? `(${index})` : `(,${index},2)`;
    return `\t${load}\t${table}${place}, ${to32}\n\taddl\t$${start}, ${to32}`;
  }
  const base = register(inst.defs[1], 8, inst);
  const to64 = register(to, 8, inst);
  const address = `\tleaq\t${table}(%rip), ${base}\n`;
  const add = `\taddq\t${base}, ${to64}`;
  if (entryBytes === 4) return `${address}\tmovslq\t(${base},${index},4), ${to64}\n${add}`;
  const place = entryBytes === 1 ? `(${base},${index})` : `(${base},${index},2)`;
  return `${address}\t${load}\t${place}, ${to32}\n\tleaq\t${start}(%rip), ${base}\n${add}`;
}

/** ULEB128 as operands of `.cfi_escape`, each after a comma. */
function unsignedBytes(value: number): string {
  let out = "";
  for (; value >= 128; value >>>= 7) out += `, ${128 | (value & 127)}`;
  return `${out}, ${value}`;
}

function cfiText(inst: MInst): string {
  // DWARF numbers differ from encoding numbers; the assembler knows the names.
  const { directive, register, offset } = unwindDirective(inst);
  const name = register >= 0 ? registerText(register, 8) : "";
  switch (directive) {
    case CfiKind.DefCfaOffset:
      return `\t.cfi_def_cfa_offset ${offset}`;
    case CfiKind.DefCfaRegister:
      return `\t.cfi_def_cfa_register ${name}`;
    case CfiKind.DefCfa:
      return `\t.cfi_def_cfa ${name}, ${offset}`;
    case CfiKind.Offset:
      return `\t.cfi_offset ${name}, ${offset}`;
    case CfiKind.Restore:
      return `\t.cfi_restore ${name}`;
    case CfiKind.RememberState:
      return "\t.cfi_remember_state";
    case CfiKind.RestoreState:
      return "\t.cfi_restore_state";
    case CfiKind.Arguments:
      return `\t.cfi_escape 0x2e${unsignedBytes(offset)}`;
  }
}

function pseudoText(inst: MInst, names: OperandNames): string {
  switch (inst.op) {
    case X.Asm:
      return inlineAsmText(inst, names);
    case X.Xchg:
      return `\t${mnemonic(inst)}\t${register(inst.defs[0], inst.size, inst)}, ${register(inst.defs[1], inst.size, inst)}`;
    case X.XorpsZero: {
      const name = register(inst.defs[0], 16, inst);
      return `\txorps\t${name}, ${name}`;
    }
    case V.Zero as number: {
      const name = register(inst.defs[0], inst.size === 64 ? 64 : 16, inst);
      return `\t${inst.defs[0]!.loc < XMM16 ? "vxorps" : "vpxord"}\t${name}, ${name}, ${name}`;
    }
    case X.TlsGetAddr:
      return tlsText(inst, names);
    case X.GotBase: {
      const [base, distance] = [register(inst.defs[0], 8, inst), register(inst.defs[1], 8, inst)];
      const table = `\tmovabsq\t$_GLOBAL_OFFSET_TABLE_-1b, ${distance}\n\taddq\t${distance}, ${base}`;
      return `1:\tleaq\t1b(%rip), ${base}\n${table}`;
    }
    case X.TableLoad:
      return tableLoadText(inst, names);
    case X.ProbeLoop:
      return `1:\n\tsubq\t$${secondNumber(inst)}, %rsp\n\tmovq\t$0, (%rsp)\n\tcmpq\t%rbp, %rsp\n\tjne\t1b\n\tmovq\t%rbp, %rsp`;
    case X.ProbeTo: {
      const to = register(inst.uses[0], 8, inst);
      const loop = `1:\n\txorq\t$0, (%rsp)\n\tsubq\t$${inst.imm}, %rsp\n\tcmpq\t%rsp, ${to}\n\tjl\t1b\n`;
      return `\tcmpq\t%rsp, ${to}\n\tjge\t2f\n${loop}2:\n\tmovq\t${to}, %rsp`;
    }
    case X.KcfiCheck: {
      const [target, scratch] = [register(inst.uses[0], 8, inst), register(inst.defs[1], 4, inst)];
      const check = `\tmovl\t$${inst.imm}, ${scratch}\n\taddl\t-${secondNumber(inst)}(${target}), ${scratch}\n\tje\t2f\n`;
      return `${check}1:\tud2\n${names.trapSection()}\n3:\t.long\t1b-3b\n\t.previous\n2:`;
    }
    case X.Nop:
      return `\t.nops\t${inst.imm}`;
    case X.Entry:
    case X.LandingPad:
    case X.Keep:
    case X.ImplicitDef:
      return "";
    default:
      throw new Error(`cannot print ${opcodeNames[inst.op]}: the frame pass has not run`);
  }
}

/** The line without its newline; empty for an instruction that makes no code. */
export function instructionText(inst: MInst, names: OperandNames): string {
  const { op, size } = inst;
  if (op === X.Copy) return copyText(inst);
  switch (opFormat[op]!) {
    case Format.Mov:
    case Format.Extend:
      return moveLikeText(inst, names);
    case Format.MovM:
    case Format.AluM:
    case Format.CompareM:
    case Format.Atomic:
      return `\t${mnemonic(inst)}\t${inst.uses.length > 0 ? register(inst.uses[0], size, inst) : immediate(inst, size, names)}, ${memoryText(inst.mem!, names)}`;
    case Format.Alu:
      return `\t${mnemonic(inst)}\t${source(inst, 1, size, names)}, ${result(inst)}`;
    case Format.Compare:
      return `\t${mnemonic(inst)}\t${source(inst, 1, size, names)}, ${register(inst.uses[0], size, inst)}`;
    case Format.Unary:
    case Format.SetCc:
      return `\t${mnemonic(inst)}\t${result(inst)}`;
    case Format.UnaryM:
    case Format.Mem:
    case Format.X87M:
    case Format.SetCcM:
    case Format.AtomicUnary:
    case Format.AtomicPair:
      return `\t${mnemonic(inst)}\t${memoryText(inst.mem!, names)}`;
    case Format.Shift:
      return `\t${mnemonic(inst)}\t${shiftCount(inst)}, ${register(inst.defs[0], size, inst)}`;
    case Format.ShiftM:
      return `\t${mnemonic(inst)}\t${shiftCount(inst)}, ${memoryText(inst.mem!, names)}`;
    case Format.DoubleShift:
      return `\t${mnemonic(inst)}\t${shiftCount(inst)}, ${register(inst.uses[1], size, inst)}, ${register(inst.defs[0], size, inst)}`;
    case Format.Lea:
      return `\t${mnemonic(inst)}\t${memoryText(inst.mem!, names)}, ${register(inst.defs[0], size, inst)}`;
    case Format.MulImm:
    case Format.AluImm:
    case Format.MovImm:
      return `\t${mnemonic(inst)}\t$${signedImmediate(inst.imm!, size)}, ${registerOrMemory(inst, names)}, ${result(inst)}`;
    case Format.ByXmm0:
      return `\t${mnemonic(inst)}\t%xmm0, ${secondOrMemory(inst, names)}, ${result(inst)}`;
    case Format.CompareImm:
      return `\t${mnemonic(inst)}\t$${signedImmediate(inst.imm!, 4)}, ${secondOrMemory(inst, names)}, ${register(inst.uses[0], size, inst)}`;
    case Format.Three:
      return `\t${mnemonic(inst)}\t${source(inst, 1, argumentSize(op, size), names)}, ${firstSource(inst)}, ${result(inst)}`;
    case Format.ThreeImm:
      return `\t${mnemonic(inst)}\t$${inst.imm}, ${registerOrMemory(inst, names)}, ${firstSource(inst)}, ${result(inst)}`;
    case Format.Blend:
      return `\t${mnemonic(inst)}\t${lastRegister(inst)}, ${inst.mem !== null ? memoryText(inst.mem, names) : register(inst.uses[1], size, inst)}, ${firstSource(inst)}, ${result(inst)}`;
    case Format.Fused:
      return `\t${mnemonic(inst)}\t${source(inst, 2, size, names)}, ${register(inst.uses[1], size, inst)}, ${result(inst)}`;
    case Format.FusedImm:
      return `\t${mnemonic(inst)}\t$${inst.imm}, ${source(inst, 2, size, names)}, ${register(inst.uses[1], size, inst)}, ${result(inst)}`;
    case Format.Merge: {
      // The lanes that nobody looks at are the source's where it has any: the result's may not be there yet.
      const hasLanes = inst.mem === null && inst.uses[0]!.loc >= 16;
      const lanes = inst.marks > 0 ? registerText(XMM0 + inst.marks - 1, 16) : result(inst);
      return `\t${mnemonic(inst)}\t${source(inst, 0, argumentSize(op, size), names)}, ${hasLanes ? lastRegister(inst) : lanes}, ${result(inst)}`;
    }
    case Format.MaskStore:
      return `\t${mnemonic(inst)}\t${lastRegister(inst)}, ${register(inst.uses[0], size, inst)}, ${memoryText(inst.mem!, names)}`;
    case Format.MovMImm:
      return `\t${mnemonic(inst)}\t$${inst.imm}, ${lastRegister(inst)}, ${memoryText(inst.mem!, names)}`;
    case Format.Counted:
      return `\t${mnemonic(inst)}\t${lastRegister(inst)}, ${inst.mem !== null ? memoryText(inst.mem, names) : register(inst.uses[0], size, inst)}, ${result(inst)}`;
    case Format.Wide:
      return `\t${mnemonic(inst)}\t${registerOrMemory(inst, names)}`;
    case Format.AtomicExchange:
      return `\t${mnemonic(inst)}\t${lastRegister(inst)}, ${memoryText(inst.mem!, names)}`;
    case Format.Push:
      return pushText(inst, names);
    case Format.Pop:
      return popText(inst, names);
    case Format.Implicit:
    case Format.X87:
      return `\t${mnemonic(inst)}${inst.marks !== 0 ? "\n\tint3" : ""}`;
    case Format.Jump:
      return jumpText(inst, names);
    case Format.Call:
      return marked(inst, controlTarget(inst, names));
    case Format.Directive:
      return op === X.Cfi ? cfiText(inst) : `${names.patchLabel()}:`;
    case Format.Pseudo:
      return pseudoText(inst, names);
  }
}

export const x64Printer: InstructionPrinter = {
  text: instructionText,
  typeNumber,
  closing: (module) => thunkText(module) + propertyNote(module),
};
