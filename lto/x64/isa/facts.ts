/**
 * What target-neutral passes ask about x86-64 instructions (`InstructionFacts`).
 *
 * Method: bits by opcode come from the table of instructions (`rows/`); questions about operands are functions.
 * Breaks if: an opcode transfers control, moves the stack pointer or takes an address and its row does not say so.
 */
import { type MBlock, MInst } from "../../codegen/mir.js";
import { type BranchForms, type InstructionFacts, OpFact } from "../../codegen/target.js";
import { untoldChanges } from "./assembly-effects.js";
import { killsFlags, usedRegisters, writtenRegisters } from "./effects.js";
import { instructionLength, nearJcc, nearJmp, shortBranch } from "./lengths.js";
import { modeText } from "./memory-operand.js";
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
  killsFlags,
  takenProbability: (insts, index) => takenByComparison(insts[index - 1], insts[index]!.condition),
  canRename,
};
