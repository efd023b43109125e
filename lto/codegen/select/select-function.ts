/**
 * Instruction selection: a legal IR function to machine SSA.
 *
 * The lowering passes have prepared control flow and addresses. Order of work: uses are counted and memory epochs numbered;
 * blocks are lowered in reverse of reverse postorder, each from its terminator upwards; the entry's arguments come
 * last, when it is known which of them are wanted.
 */

import { estimatedFrequencies } from "../../analysis/branch-probability.js";
import { loopNest } from "../../analysis/loop-nest.js";
import { isProfiled } from "../../analysis/profile.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { type Block, type Inst, isPlainAccess, type MemoryData, Op, opNames } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Type } from "../../ir/types.js";
import { withMarks } from "../debug/function-debug.js";
import type { LegalFunction } from "../legalize/index.js";
import { type MBlock, MFunction } from "../mir.js";
import type { SelectOptions, Target } from "../target.js";
import { selectBr, selectCondBr, selectIndirectBr } from "./branches.js";
import { constantHomes } from "./constant-homes.js";
import { roomForConstants } from "./constant-room.js";
import { countUses } from "./count-uses.js";
import { forgetUndefined } from "./debug.js";
import { intrinsicHasEffect, isPureAssembly } from "./effects.js";
import { numberTypes, placeReturns, selectLandingPad, selectResume } from "./exceptions.js";
import { describeFunction } from "./function-attributes.js";
import type { FunctionSelection, SelectionInput } from "./function-selection.js";
import { makeParameters, selectPhi } from "./phis.js";
import { selectSwitch } from "./switch.js";
import { findTailCall } from "./tail-calls.js";
import { dropUnreachableBlocks } from "./unreachable.js";

/**
 * @param order the blocks that may be entered, in the order they should be laid out
 * @param begin makes the target's selection of the function
 * @throws UnsupportedError naming the construct and the function.
 */
export function selectFunction<S extends FunctionSelection>(
  target: Target,
  legal: LegalFunction,
  order: readonly Block[],
  layout: DataLayout,
  goal: MFunction["goal"],
  options: SelectOptions,
  begin: (input: SelectionInput) => S,
): S {
  const { fn, body } = legal;
  const mf = new MFunction(fn, fn.name, goal, target);
  if (fn.kind === "function" && fn.personality !== null) numberTypes(mf, body);
  if (body.hasDebug) {
    forgetUndefined(body);
    mf.debug = withMarks();
  }
  const instructionCount = body.renumber();
  const successors = body.blocks.map((b) => b.successors.map((next) => next.id));
  const loops = loopNest(successors, [0, ...body.blocks.filter((b) => b.addressTaken).map((b) => b.id)]);
  const s = begin({ mf, legal, layout, options, instructionCount, loops });
  s.blocks.make(order, loops);
  // For size, what authors expect is no reason for longer code.
  mf.profiled = goal !== "none" && isProfiled(fn, body.blocks);
  if (goal === "speed" || mf.profiled) {
    const frequencies = estimatedFrequencies(body.blocks, successors, loops);
    for (const block of order) s.blocks.head(block).frequency = frequencies[block.id]!;
  }
  const args = describeFunction(s, legal);
  countUses(s, order);
  s.prepareFrame();
  makeParameters(s, order);
  const rank = new Int32Array(body.blocks.length).fill(-1);
  loops.reversePostOrder.forEach((b, i) => {
    rank[b] = i;
  });
  const sequence = [...order].sort((a, b) => rank[b.id]! - rank[a.id]!);
  const homes = goal === "speed" ? constantHomes(body.blocks, loops) : null;
  const { constantRoom } = s;
  const room =
    homes !== null && constantRoom !== null ? roomForConstants(body.blocks, homes, constantRoom) : null;
  const extra = new Map<MBlock, MBlock[]>();
  for (const block of sequence) {
    const head = s.blocks.head(block);
    if (homes !== null) s.code.constants.enterBlock(block.id, homes[block.id]!, room?.[block.id] === 1);
    extra.set(head, selectBlock(s, block, head));
    if (block === body.blocks[0]) {
      s.at = block.insts[0]!;
      s.code.origin = 0;
      s.selectEntry(legal, args);
      s.code.flush();
      s.code.finishEntry(head);
    } else s.code.finishBlock(head);
  }
  placeReturns(s);
  mf.blocks = order.flatMap((block) => [s.blocks.head(block), ...extra.get(s.blocks.head(block))!]);
  s.debug?.finish(mf.blocks[0]!.insts[0]);
  dropUnreachableBlocks(mf, () => s.trap());
  return s;
}

/** Lowers a block from its end. @returns machine blocks that follow its head */
function selectBlock(s: FunctionSelection, { insts, terminator }: Block, head: MBlock): MBlock[] {
  s.at = terminator;
  s.code.origin = terminator.origin;
  s.abi.tailCall = terminator.op === Op.Ret ? findTailCall(s, terminator) : null;
  const extra = s.abi.tailCall === null ? selectTerminator(s, terminator, head) : [];
  s.code.flush();
  if (terminator.debug !== null) s.debug?.place(terminator.debug, s.code.first);
  for (let i = insts.length - 2; i >= 0; i--) {
    const inst = insts[i]!;
    s.at = inst;
    s.code.origin = inst.origin;
    selectInst(s, inst, head);
    s.code.flush();
    if (inst.debug !== null) s.debug?.place(inst.debug, s.code.first);
  }
  return extra;
}

const noBlocks: MBlock[] = [];

function selectTerminator(s: FunctionSelection, inst: Inst, head: MBlock): MBlock[] {
  switch (inst.op) {
    case Op.Ret:
      s.selectReturn(inst);
      return noBlocks;
    case Op.Br:
      selectBr(s, inst, head);
      return noBlocks;
    case Op.CondBr:
      return selectCondBr(s, inst, head);
    case Op.Switch:
      return selectSwitch(s, inst, head);
    case Op.IndirectBr:
      selectIndirectBr(s, inst, head);
      return noBlocks;
    case Op.Unreachable:
      return noBlocks;
    case Op.Invoke:
      s.selectCall(inst, head);
      return noBlocks;
    case Op.CallBr:
      if (inst.operands[0]!.valueKind !== "asm") return s.unsupported("callbr of a function");
      s.selectCall(inst, head);
      return noBlocks;
    case Op.Resume:
      selectResume(s, inst);
      return noBlocks;
    default:
      throw new Error(`selection: block of '${s.mf.name}' ends in ${opNames[inst.op]}`);
  }
}

/** Lowers one instruction that is not a terminator, if something wants it. */
function selectInst(s: FunctionSelection, inst: Inst, head: MBlock): void {
  switch (inst.op) {
    case Op.Store:
      refuseMisaligned(s, inst.operands[0]!.type, inst.data);
      return s.selectInst(inst);
    case Op.Fence:
      return s.selectInst(inst);
    case Op.CmpXchg:
    case Op.AtomicRMW:
      refuseMisaligned(s, inst.operands[1]!.type, inst.data);
      return s.selectInst(inst);
    case Op.Call:
      return selectAnyCall(s, inst, head);
    case Op.Load:
      if (!isPlainAccess(inst)) {
        refuseMisaligned(s, inst.type, inst.data);
        demandResult(s, inst);
        return s.selectInst(inst);
      }
      break;
    case Op.Alloca:
      if (s.slots.slots[inst.id]! >= 0) return;
      break;
    case Op.Phi:
      return selectPhi(s, inst);
    case Op.LandingPad:
      return selectLandingPad(s, inst);
    default:
      break;
  }
  if (isWanted(s, inst)) s.selectInst(inst);
}

/** Across a boundary of its size no access is sure to be atomic, and some are refused. */
function refuseMisaligned(s: FunctionSelection, type: Type, { align, ordering }: MemoryData): void {
  if (ordering === "not_atomic" || align >= s.layout.storeSize(type)) return;
  s.unsupported(`atomic access of ${type} aligned to ${align} only`);
}

/** Whether some user demanded the result. */
function isWanted(s: FunctionSelection, inst: Inst): boolean {
  return s.values.vregs[inst.id]! >= 0 || (s.slots.slots[inst.id]! >= 0 && s.livesInMemory(inst.type));
}

/** A register for the result of what is made whether somebody wants it or not. */
function demandResult(s: FunctionSelection, inst: Inst): void {
  if (!s.livesInMemory(inst.type)) s.values.demand(inst);
}

function selectAnyCall(s: FunctionSelection, inst: Extract<Inst, { op: Op.Call }>, head: MBlock): void {
  const intrinsic = intrinsicOf(inst.operands[0]!);
  if (intrinsic === null) {
    const isIdle = s.optimize && !isWanted(s, inst) && !s.values.hasParts(inst) && isPureAssembly(inst);
    return isIdle ? undefined : s.selectCall(inst, head);
  }
  const { type } = inst;
  if (type.kind === "void" || intrinsicHasEffect(intrinsic)) {
    if (type.kind !== "void" && !type.isAggregate && !s.values.sunk.has(inst.id)) demandResult(s, inst);
    s.selectIntrinsic(inst, intrinsic);
  } else if (isWanted(s, inst) || s.values.hasParts(inst)) s.selectIntrinsic(inst, intrinsic);
}
