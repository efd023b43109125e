/**
 * What target-neutral passes ask about x86-64 instructions (`InstructionFacts`).
 *
 * Method: one table of bits by opcode, filled from `op-info.ts` and the lists below; questions about operands are
 * functions.
 * Breaks if: a new opcode transfers control, moves the stack pointer or takes an address and is not listed.
 */
import { type MBlock, MInst } from "../../codegen/mir.js";
import { type BranchForms, type InstructionFacts, OpFact } from "../../codegen/target.js";
import { killsFlags, usedRegisters, writtenRegisters } from "./effects.js";
import { instructionLength, nearJcc, nearJmp, shortBranch } from "./lengths.js";
import { modeText } from "./memory-operand.js";
import { opFormat, readsFlags, writesFlags } from "./op-info.js";
import { opcodeNames } from "./op-names.js";
import { Cc, Format, invert, JumpMark, X } from "./ops.js";

const count = X.Emms + 1;
const facts = new Uint32Array(count);
for (let op = 0; op < count; op++)
  facts[op] = (readsFlags(op) ? OpFact.ReadsFlags : 0) | (writesFlags(op) ? OpFact.WritesFlags : 0);

function mark(fact: OpFact, ...ops: X[]): void {
  for (const op of ops) facts[op]! |= fact;
}
mark(OpFact.Jump, X.Jmp);
mark(OpFact.Branch, X.Jcc);
mark(OpFact.IndirectJump, X.JmpIndirect);
mark(OpFact.Return, X.Ret);
mark(OpFact.TailCall, X.TailCall, X.TailCallIndirect);
mark(OpFact.Call, X.Call, X.CallIndirect, X.TlsGetAddr);
mark(OpFact.Trap, X.Ud2);
mark(OpFact.Asm, X.Asm);
mark(OpFact.Entry, X.Entry);
mark(OpFact.NeedsFrame, X.Call, X.CallIndirect, X.TlsGetAddr, X.CallSetup, X.CallCleanup, X.StackAlloc);
mark(OpFact.NeedsFrame, X.Push, X.Pop, X.Asm);
for (const op of [X.DynamicAlloca, X.StackSave, X.StackRestore, X.FrameAddress])
  mark(OpFact.NeedsFrame | OpFact.ExposesFrame, op);
mark(OpFact.TakesAddress, X.Lea, X.Asm);
mark(OpFact.Load, X.Mov);
mark(OpFact.Store, X.MovM);
mark(OpFact.Restores, X.PopSaved);
mark(OpFact.MovesStack, X.Push, X.PushPad, X.Pop);
mark(OpFact.Undefined, X.ImplicitDef);

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
  Format.UnaryM,
]);

function canRename(inst: MInst, index: number, low: boolean): boolean {
  if (inst.op === X.Keep) return true;
  if (inst.op === X.JmpIndirect) return !low && inst.cc < JumpMark.Thunk;
  const format = opFormat[inst.op] as Format;
  if (!renamable.has(format)) return false;
  for (const def of inst.defs) if (def.tiedTo === index) return false;
  // An extension reads 4 bytes at most, whatever it writes.
  return !low || inst.size <= 4 || format === Format.Extend;
}

/** Probability of finding zero, or less than zero. */
const zeroLikely = 3 / 8;

/** Probability that a conditional jump after `compare` is taken, by the comparison; 1/2 if it says nothing. */
function takenByComparison(compare: MInst | undefined, cc: number): number {
  if (compare === undefined) return 1 / 2;
  const withZero =
    compare.op === X.Test
      ? compare.uses.length === 2 && compare.uses[0]!.loc === compare.uses[1]!.loc
      : (compare.op === X.Cmp || compare.op === X.CmpM) && compare.imm === 0 && compare.symbol === null;
  if (!withZero) return 1 / 2;
  switch (cc) {
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
  names: Array.from({ length: count }, (_, op) => opcodeNames[op]!),
  modeText,
  facts,
  invert,
  jump,
  length: instructionLength,
  branchForms: (inst) => (inst.op === X.Jmp ? jmpForms : jccForms),
  shortBranch,
  returnBytes: 1,
  reads: usedRegisters,
  writes: writtenRegisters,
  killsFlags,
  takenProbability: (insts, index) => takenByComparison(insts[index - 1], insts[index]!.cc),
  canRename,
};
