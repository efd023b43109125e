/**
 * What register allocation asks about x86-64: register sets, moves, spill code, costs.
 *
 * rsp is never allocatable. rbp is, unless the function needs it as frame pointer; r15 drops out as well
 * where a realigned frame changes size at run time and needs a third register to find its locals.
 */

import { cloneInst } from "../codegen/clone.js";
import { type MFunction, MInst, type RegClass, RegOperand, unwindTarget } from "../codegen/mir.js";
import { hasRegister, type RegisterSet, setOfWords, withoutRegister } from "../codegen/register-set.js";
import { endsBlock, OpFact, type TargetRegisters } from "../codegen/target.js";
import { needsBasePointer, needsFramePointer } from "./frame/frame-registers.js";
import { commutes, exchanged, permitSlots, storeConstant } from "./frame/slot-marks.js";
import { slotOperand } from "./isa/build.js";
import { encodingForm, formCosts } from "./isa/encoding-cost.js";
import { hasHighRegisters } from "./isa/high-registers.js";
import { opFacts, opLength, opWide } from "./isa/op-info.js";
import { X } from "./isa/ops.js";
import {
  callClobbers,
  calleeSavedMask,
  everyXmmMask,
  GPR,
  gprMask,
  R15,
  RBP,
  RSP,
  registerNames,
  XMM16,
  xmmMask,
} from "./isa/registers.js";
import { Length, Wide } from "./isa/row.js";
import { V } from "./isa/vex-ops.js";

function instruction(op: number, size: number, to: number, from: number): MInst {
  const inst = new MInst(op, size);
  if (to >= 0) inst.defs.push(RegOperand.physical(to));
  if (from >= 0) inst.uses.push(RegOperand.physical(from));
  return inst;
}

/** Slots are aligned to 16 bytes at most. */
function loadOp(cls: RegClass, size: number): number {
  if (cls === GPR) return X.Mov;
  return size === 4 ? X.Movss : size === 8 ? X.Movsd : size === 16 ? X.Movaps : V.Movups;
}

function storeOp(cls: RegClass, size: number): number {
  if (cls === GPR) return X.MovM;
  return size === 4 ? X.MovssM : size === 8 ? X.MovsdM : size === 16 ? X.MovapsM : V.MovupsM;
}

/** Whether the instruction leaves the block, so that moves for outgoing edges belong before it. */
function isTerminator(inst: MInst): boolean {
  return unwindTarget(inst) !== null || inst.targets.length > 0 || (opFacts[inst.op]! & mayLeave) !== 0;
}
const mayLeave = endsBlock | OpFact.Branch;

const dwarfGeneral = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];

export const x64Registers: TargetRegisters = {
  // System V ABI AMD64, figure 3.36.
  dwarfNumber: (register) =>
    register < 16 ? dwarfGeneral[register]! : register + (register < XMM16 ? 1 : 35),
  names: registerNames[8]!,
  classCount: 2,
  count: 48,
  all: setOfWords(-1, 0xffff),
  generalCount: 16,
  stackPointer: RSP,
  framePointer: RBP,
  flags: RSP,
  callClobbers,
  calleeSaved: calleeSavedMask,

  allocatable(fn: MFunction, cls: RegClass): RegisterSet {
    if (cls !== GPR) return hasHighRegisters(fn.fn) ? everyXmmMask : xmmMask;
    let set = withoutRegister(gprMask, RSP);
    if (needsFramePointer(fn)) set = withoutRegister(set, RBP);
    if (needsBasePointer(fn)) set = withoutRegister(set, R15);
    return set;
  },

  mentionCost: (reg) => (reg >= XMM16 ? 2 : (reg & 8) !== 0 ? 1 : 0),
  mentionWeight: (inst) =>
    opLength[inst.op] === Length.Vex ||
    opWide[inst.op] === Wide.Always ||
    (opWide[inst.op] === Wide.Size8 && inst.size === 8)
      ? 0
      : 1,
  encodingForm,
  formCosts,
  bytes: {
    move: (size) => (size >= 8 ? 3 : 2),
    memory: (size) => (size === 4 ? 4 : 5),
    fold: 2,
    remat: 5,
  },
  saveCost: (reg) => (!hasRegister(calleeSavedMask, reg) ? 0 : reg >= 8 ? 4 : 2),

  move: (_cls, size, to, from) => instruction(X.Copy, size, to, from),
  store(cls, size, slot, from) {
    const inst = instruction(storeOp(cls, size), size, -1, from);
    inst.mem = slotOperand(slot);
    return inst;
  },
  load(cls, size, to, slot) {
    const inst = instruction(loadOp(cls, size), size, to, -1);
    inst.mem = slotOperand(slot);
    return inst;
  },
  swap(cls, a, b) {
    if (cls !== GPR) return null;
    const inst = new MInst(X.Xchg, 8);
    inst.defs = [RegOperand.physical(a), RegOperand.physical(b)];
    inst.uses = [RegOperand.physical(b), RegOperand.physical(a)];
    return inst;
  },
  rematerialize(definition, to) {
    const inst = cloneInst(definition);
    inst.defs[0]!.loc = to;
    // It is for whoever uses it.
    inst.origin = -1;
    return inst;
  },
  permitSlots,
  commutes,
  exchanged,
  storeConstant,
  terminatorStart(insts) {
    let start = insts.length;
    while (start > 0 && isTerminator(insts[start - 1]!)) start--;
    return start;
  },
};
