/**
 * Turns register operands that allocation left in stack slots into memory operands.
 *
 * Example: `add v3, v4` with v4 in slot 2 becomes `add v3, [slot 2]`; with v3 (and its tied use) in slot 2 it
 * becomes `addM [slot 2], v4`. Selection marks such operands `mayBeSlot` only where one memory form exists,
 * and allocation puts at most one distinct slot into an instruction that has no memory operand already.
 * Constant time per instruction.
 */
import type { FunctionMarks } from "../../codegen/debug/marks.js";
import {
  type AsmData,
  type AsmOperand,
  isSlot,
  type MFunction,
  type MInst,
  slotOf,
} from "../../codegen/mir.js";
import { slotOperand } from "../isa/build.js";
import { opFormat, opMemory } from "../isa/op-info.js";
import { opcodeNames } from "../isa/op-names.js";
import { Format, X } from "../isa/ops.js";
import { noMemory } from "../isa/row.js";
import { V } from "../isa/vex-ops.js";

function fail(inst: MInst): never {
  throw new Error(`slot operand without memory form: ${opcodeNames[inst.op]}`);
}

/** The operand reads or writes only part of a wider slot at its low end: the slot needs no adjustment. */
function useMemory(inst: MInst, slot: number): void {
  if (inst.mem !== null && inst.mem.slot !== slot) fail(inst);
  inst.mem = slotOperand(slot);
}

function rewriteDefinition(inst: MInst): void {
  const slot = slotOf(inst.defs[0]!.loc);
  if (inst.defs.length !== 1) fail(inst);
  if (inst.op === X.Copy && inst.uses[0]!.loc >= 16) {
    const { size } = inst;
    inst.op = size === 4 ? X.MovssM : size === 8 ? X.MovsdM : size === 16 ? X.MovapsM : V.MovupsM;
  } else {
    const op = opMemory[inst.op]!;
    if (op === noMemory) fail(inst);
    const tied = inst.defs[0]!.tiedTo;
    inst.op = op;
    if (tied >= 0) inst.uses.splice(tied, 1);
  }
  inst.defs = [];
  useMemory(inst, slot);
}

function rewriteCopyFromSlot(inst: MInst): void {
  const vector = inst.defs[0]!.loc >= 16;
  const size = inst.size;
  inst.op = vector
    ? size === 4
      ? X.Movss
      : size === 8
        ? X.Movsd
        : size === 16
          ? X.Movaps
          : V.Movups
    : X.Mov;
}

function rewriteUse(inst: MInst, index: number): void {
  const slot = slotOf(inst.uses[index]!.loc);
  const format = opFormat[inst.op]!;
  if (format === Format.Compare && index === 0) {
    const op = opMemory[inst.op]!;
    if (op === noMemory) fail(inst);
    inst.op = op;
  } else if (inst.op === X.Copy) {
    rewriteCopyFromSlot(inst);
  }
  inst.uses.splice(index, 1);
  useMemory(inst, slot);
}

function rewriteAsm(inst: MInst): void {
  const extra = inst.extra as AsmData;
  let operands: AsmOperand[] | null = null;
  for (let i = 0; i < extra.operands.length; i++) {
    const operand = extra.operands[i]!;
    if (operand.kind !== "def" && operand.kind !== "use") continue;
    const register = operand.kind === "def" ? inst.defs[operand.index]! : inst.uses[operand.index]!;
    if (!isSlot(register.loc)) continue;
    operands ??= [...extra.operands];
    operands[i] = { kind: "mem", mem: slotOperand(slotOf(register.loc)) };
  }
  if (operands !== null) inst.extra = { ...extra, operands };
}

function rewriteInstruction(inst: MInst, marks: FunctionMarks | null): void {
  if (inst.op === X.Asm) {
    rewriteAsm(inst);
    return;
  }
  // Pseudos that print nothing keep their operands wherever they are.
  if (inst.op === X.Keep || inst.op === X.Entry || inst.op === X.ImplicitDef) return;
  if (inst.defs.length > 0 && isSlot(inst.defs[0]!.loc)) {
    if (marks !== null && inst.op !== X.Copy && inst.defs[0]!.vreg >= 0)
      marks.slotDefinitions.set(inst, inst.defs[0]!.vreg);
    rewriteDefinition(inst);
  }
  for (let i = inst.uses.length - 1; i >= 0; i--) if (isSlot(inst.uses[i]!.loc)) rewriteUse(inst, i);
}

/** Rewrites every instruction of an allocated function. */
export function rewriteSlotOperands(mf: MFunction): void {
  const marks = mf.debug?.marks ?? null;
  for (const block of mf.blocks) for (const inst of block.insts) rewriteInstruction(inst, marks);
}
