/**
 * One look at the body before anything is selected: how often values are used and whether as addresses alone, in which
 * epochs of memory instructions are, which constants blocks share, and what lies in the frame. Linear.
 */
import { arrayKind, protectionLevel } from "../../analysis/protected-arrays.js";
import { type Block, type Inst, type InstWith, isCall, isStaticAlloca, Op } from "../../ir/instructions.js";
import { returnsTwice } from "../../ir/returns-twice.js";
import { SlotRank } from "../mir.js";
import { writesMemory } from "./effects.js";
import type { FunctionSelection } from "./function-selection.js";
import { isRecomputed } from "./gep.js";

/** @param order the blocks that may be entered, the function's first one first */
export function countUses(s: FunctionSelection, order: readonly Block[]): void {
  let epoch = 0;
  let expensive: Set<string> | null = null;
  const offsets: Inst[] | null = s.mf.goal === "speed" ? [] : null;
  const indexed: Inst[] = [];
  const { values } = s;
  for (const block of order) {
    epoch++;
    expensive = null;
    for (const inst of block.insts) {
      values.epochs[inst.id] = epoch;
      if (writesMemory(inst)) epoch++;
      const { op, operands } = inst;
      for (let i = 0; i < operands.length; i++) {
        const operand = operands[i]!;
        if (operand.valueKind === "int" && s.optimize && s.isExpensive(operand)) {
          const key = s.sharedConstantKey(operand)!;
          if (expensive === null) expensive = new Set();
          if (!expensive.has(key)) s.code.constants.countBlock(key);
          expensive.add(key);
        }
        if (operand.valueKind !== "inst") continue;
        values.uses[operand.id]!++;
        const isAddress = (op === Op.Load && i === 0) || (op === Op.Store && i === 1);
        if (isAddress) continue;
        if (offsets !== null && i === 0 && isOffset(inst)) offsets.push(inst);
        else values.addressOnly[operand.id] = 0;
        if (op !== Op.GetElementPtr || i === 0) values.indexOnly[operand.id] = 0;
      }
      if (op === Op.GetElementPtr && !isOffset(inst)) indexed.push(inst);
      if (op === Op.Alloca) allocateSlot(s, inst, block === order[0]);
      if (op === Op.Call && inst.data.tail === "musttail") s.abi.hasMustTail = true;
      if (returnsTwice(inst)) s.mf.returnsTwice = true;
      if (isCall(inst) && operands[0]!.valueKind === "asm" && s.writesFramePointer(operands[0]!.constraints))
        s.mf.needsFramePointer = false; // A frame pointer that is merely asked for gives way.
    }
  }
  // What is only the base of such addresses is only for access if they are. Those come after it mostly.
  for (let k = (offsets?.length ?? 0) - 1; k >= 0; k--) {
    const base = offsets![k]!.operands[0] as Inst;
    if (values.addressOnly[offsets![k]!.id] === 0) values.addressOnly[base.id] = 0;
  }
  // What is the index of an address that stays in a register is needed once, there.
  for (const gep of indexed) {
    if (isRecomputed(s, gep)) continue;
    for (const index of gep.operands) if (index.valueKind === "inst") values.indexOnly[index.id] = 0;
  }
}

/** An address at a constant distance from another one: part of each access that goes by it. */
const isOffset = ({ op, operands }: Inst): boolean => {
  if (op !== Op.GetElementPtr) return false;
  for (let i = 1; i < operands.length; i++) if (operands[i]!.valueKind !== "int") return false;
  return true;
};

/** Bytes that no frame has. */
const mostBytes = 0x7fff0000;

function allocateSlot(s: FunctionSelection, inst: InstWith<Op.Alloca>, inEntry: boolean): void {
  const count = inst.operands[0]!;
  if (!isStaticAlloca(inst, inEntry) || count.valueKind !== "int") {
    if (inst.data.inalloca) s.unsupported("inalloca");
    s.mf.hasDynamicAlloca = true;
    return;
  }
  const size = s.layout.allocSize(inst.data.allocatedType) * Number(count.value);
  if (!(size < mostBytes)) s.unsupported("stack object larger than 2 GiB");
  const slot = s.mf.newSlot(Math.max(size, 1), Math.max(1, inst.data.align));
  s.slots.slots[inst.id] = slot;
  s.mf.slots[slot]!.rank = slotRank(s, inst);
}

const ranks = { none: SlotRank.Variable, small: SlotRank.SmallArray, large: SlotRank.LargeArray };

/** Where an allocation lies, should the function have a guard. */
function slotRank({ mf: { fn }, layout }: FunctionSelection, alloca: InstWith<Op.Alloca>): SlotRank {
  const level = fn.kind === "function" ? protectionLevel(fn.attributes.fn) : null;
  return level === null ? SlotRank.Plain : ranks[arrayKind(alloca, layout, level)];
}
