/**
 * What target-neutral passes ask about x86-64 instructions (`InstructionFacts`).
 *
 * Method: bits by opcode come from the table of instructions (`rows/`); questions about operands are functions.
 * Breaks if: an opcode transfers control, moves the stack pointer or takes an address and its row does not say so.
 */
import { type MBlock, MInst } from "../../codegen/mir.js";
import { type BranchForms, type InstructionFacts, OpFact, type RegisterSum } from "../../codegen/target.js";
import { untoldChanges } from "./assembly-effects.js";
import { killsFlags, usedRegisters, writtenRegisters } from "./effects.js";
import { instructionLength, nearJcc, nearJmp, shortBranch } from "./lengths.js";
import { hasSegment, modeText } from "./memory-operand.js";
import { opcodeCount, opFacts, opFormat, readsFlags, rowOf, writesFlags } from "./op-info.js";
import { opcodeNames } from "./op-names.js";
import { Cc, Format, invert, wantsR11, X } from "./ops.js";
import { Takes } from "./row.js";

/** What takes memory as a source, and pop, which does not, have the same column. */
const readsMemory = (op: number): boolean =>
  opFormat[op] === Format.CompareM || ((rowOf(op).takes & Takes.Memory) !== 0 && opFormat[op] !== Format.Pop);

const facts = Uint32Array.from(
  opFacts,
  (own, op) =>
    own |
    (readsFlags(op) ? OpFact.ReadsFlags : 0) |
    (writesFlags(op) ? OpFact.WritesFlags : 0) |
    (readsMemory(op) ? OpFact.ReadsMemory : 0),
);

function bytesKept({ op, size, defs, uses, mem }: MInst): number {
  if (defs.length !== 1 || uses.length + (mem === null ? 0 : 1) !== 1) return 0;
  switch (op) {
    case X.Copy:
      return size;
    case X.Movzx8:
    case X.Movsx8:
      return 1;
    case X.Movzx16:
    case X.Movsx16:
      return 2;
    case X.Movsxd:
      return 4;
    default:
      return 0;
  }
}

/** General registers are numbered below this. */
const generals = 16;

function simpleValue(insts: readonly MInst[], index: number): bigint | RegisterSum | null {
  const { op, size, defs, uses, mem, imm, symbol } = insts[index]!;
  if (defs.length !== 1 || defs[0]!.loc >= generals || symbol !== null) return null;
  const isWide = size === 8;
  if (!isWide && size !== 4) return null;
  const number = imm === null ? null : isWide ? BigInt(imm) : BigInt.asUintN(32, BigInt(imm));
  const [use] = uses;
  switch (op) {
    case X.Copy:
      if (mem !== null || use === undefined || use.loc < 0 || use.loc >= generals) return null;
      return { register: use.loc, offset: 0, bytes: isWide ? 8 : 4 };
    case X.Mov:
      return mem === null && uses.length === 0 ? number : null;
    case X.Pop: {
      const before = insts[index - 1];
      const isPair = before?.op === X.Push && before.uses.length === 0 && before.mem === null;
      return isPair && before.symbol === null && before.imm !== null ? BigInt(before.imm) : null;
    }
    case X.Xor:
      return mem === null && uses.length === 2 && use!.loc === uses[1]!.loc ? 0n : null;
    case X.Or:
      return mem === null && imm === -1 ? number : null;
    case X.Lea: {
      if (!isWide || mem === null || mem.base === null || mem.index !== null || mem.slot >= 0) return null;
      if (mem.symbol !== null || hasSegment(mem)) return null;
      return { register: mem.base.loc, offset: mem.disp, bytes: 8 };
    }
    default:
      return null;
  }
}

/** Formats whose uses may be any general register. */
const renamable = new Set<Format>([
  Format.Mov,
  Format.MovM,
  Format.Alu,
  Format.AluM,
  Format.AluImm,
  Format.Compare,
  Format.CompareM,
  Format.Extend,
  Format.Lea,
  Format.Mem,
  Format.MovImm,
  Format.MulImm,
  Format.Three,
  Format.Counted,
  Format.UnaryM,
]);

function canRename(inst: MInst, index: number, low: boolean): boolean {
  if (inst.op === X.Keep) return true;
  if (inst.op === X.JmpIndirect) return !low && !wantsR11(inst.marks);
  const format = opFormat[inst.op] as Format;
  if (!renamable.has(format)) return false;
  for (const def of inst.defs) if (def.tiedTo === index) return false;
  // An extension reads 4 bytes at most, whatever it writes.
  return !low || inst.size <= 4 || format === Format.Extend;
}

/** Probability of finding zero, or less than zero. */
const zeroLikely = 3 / 8;

/** Probability that a conditional jump after `compare` is taken, by the comparison; 1/2 if it says nothing. */
function takenByComparison(compare: MInst | undefined, condition: number): number {
  if (compare === undefined) return 1 / 2;
  const withZero =
    compare.op === X.Test
      ? compare.uses.length === 2 && compare.uses[0]!.loc === compare.uses[1]!.loc
      : (compare.op === X.Cmp || compare.op === X.CmpM) && compare.imm === 0 && compare.symbol === null;
  if (!withZero) return 1 / 2;
  switch (condition) {
    case Cc.E:
    case Cc.S:
    case Cc.L:
    case Cc.LE:
      return zeroLikely;
    case Cc.NE:
    case Cc.NS:
    case Cc.GE:
    case Cc.G:
      return 1 - zeroLikely;
    default:
      return 1 / 2;
  }
}

const jmpForms: BranchForms = { short: shortBranch, back: 128, ahead: 127, near: nearJmp };
const jccForms: BranchForms = { short: shortBranch, back: 128, ahead: 127, near: nearJcc };

/** An unconditional jump. */
export function jump(to: MBlock): MInst {
  const inst = new MInst(X.Jmp, 8);
  inst.targets = [to];
  return inst;
}

export const x64Instructions: InstructionFacts = {
  names: Array.from({ length: opcodeCount }, (_, op) => opcodeNames[op]!),
  modeText,
  facts,
  invert,
  jump,
  length: instructionLength,
  branchForms: (inst) => (inst.op === X.Jmp ? jmpForms : jccForms),
  reads: usedRegisters,
  writes: writtenRegisters,
  untoldChanges,
  bytesKept,
  simpleValue,
  killsFlags,
  takenProbability: (insts, index) => takenByComparison(insts[index - 1], insts[index]!.condition),
  canRename,
};
