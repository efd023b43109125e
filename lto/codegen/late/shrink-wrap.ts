/**
 * Shrink-wrapping: which blocks of a function have its frame.
 *
 * Every block either has the whole frame or none of it, so the stack depth, and with it each slot's address and
 * the unwind information, follows from the block. Blocks that need the frame have it: calls, slots, saved
 * registers written or holding a value (unless it is also elsewhere: available-copies.ts). For the others it is
 * a choice, and the best one is a minimum cut: an edge from a block without to a block with frame costs its
 * frequency times the prologue, an edge back or an exit with frame the same times the epilogue. Costs of the form
 * "u and v differ" make the sum submodular, so the minimum is exact. (Chow, "Minimizing register usage penalty at
 * procedure calls", PLDI 1988, solves data-flow equations for a placement that is never worse than the entry;
 * Lupo & Wilken, "Post register allocation spill code optimization", CGO 2006, weigh regions by frequency.)
 * A loop is one node of the cut: no prologue runs more often than the function is entered.
 *
 * Proof obligations:
 *   - a saved register or a spill slot holds a value of the function only in blocks with frame, or a copy of what
 *     another register is known to hold;
 *   - between two accesses of other slots no block is without frame, and after any instruction that makes the
 *     address of a slot, or grows the stack, none is;
 *   - edges of indirect jumps are never split: their ends agree unless the target has no other way in.
 * Cost: linear but for the cut, which only functions pay whose first block can do without a frame.
 */

import { loopNest } from "../../analysis/loop-nest.js";
import { type RegisterLiveness, registerLiveness } from "../ipra/collect.js";
import { FlowNetwork, infinite } from "../ipra/max-flow.js";
import { CopyOp, type MBlock, type MFunction, type MInst } from "../mir.js";
import { hasRegister, overlaps, type RegisterSet } from "../register-set.js";
import { type FramePlan, leavesFunction, OpFact } from "../target.js";
import { AvailableCopies } from "./available-copies.js";
import { blockPositions } from "./block-frequency.js";
import { edgeBounds, edgeFrequencies } from "./edge-frequency.js";

/** The choice for one function; a function without one has its frame from entry to exit. */
export interface ShrinkWrapRegion {
  /** 1: the block has the frame; by block id. */
  readonly framed: Uint8Array;
  /** By block id. */
  readonly positions: Int32Array;
  readonly copies: AvailableCopies;
  readonly liveness: RegisterLiveness;
}

/** Frequencies are flow capacities in units of 2^-20 executions. */
const unit = 2 ** 20;
/** Functions with more blocks keep their frame at the entry: the cut, or finishing twice, would cost too much. */
const blockLimit = { speed: 600, size: 100, minsize: 100, none: 0 } as const;
/** Where a frame comes and goes at several places is more code: it has to save a share of what frames cost. */
const worthwhile = 15 / 16;
/** What a jump to a block in an edge costs, in instructions. */
const splitCost = 0.5;

/** A slot of the frame, not of the caller's. */
function namesSlot(mf: MFunction, inst: MInst): boolean {
  const { mem, extra } = inst;
  if (mem !== null && mem.slot >= 0) return mf.slots[mem.slot]!.kind !== "incoming";
  if (extra === null || extra.kind !== "asm") return false;
  return extra.operands.some((o) => o.kind === "mem" && o.mem.slot >= 0);
}

/** A slot of the frame whose value is not followed. */
function namesObject(mf: MFunction, inst: MInst, copies: AvailableCopies): boolean {
  if (!namesSlot(mf, inst)) return false;
  return inst.mem === null || inst.mem.slot < 0 || !copies.follows(inst.mem.slot);
}

/** After the instruction something in the frame, or the size of the frame, is known to more than slot operands. */
function exposesFrame(mf: MFunction, inst: MInst): boolean {
  const fact = mf.target.instructions.facts[inst.op]!;
  return (fact & OpFact.ExposesFrame) !== 0 || ((fact & OpFact.TakesAddress) !== 0 && namesSlot(mf, inst));
}

/** The instruction can only run where the frame is, whatever its registers and the slots that are followed. */
function needsFrame(mf: MFunction, inst: MInst, copies: AvailableCopies): boolean {
  return (mf.target.instructions.facts[inst.op]! & OpFact.NeedsFrame) !== 0 || namesObject(mf, inst, copies);
}

/** Whether wrapping is possible at all. */
function isEligible(mf: MFunction, plan: FramePlan): boolean {
  if (mf.blocks.length < 2 || mf.blocks.length > blockLimit[mf.goal]) return false;
  // A frame pointer asked for by attribute is asked for everywhere.
  if (plan.isEmpty || mf.returnsTwice || mf.needsFramePointer || !plan.isMovable) return false;
  return !mf.blocks.some((b) => b.landingPad);
}

/**
 * A way out that may need no frame, by what its last block does. Where there is none, every execution makes and
 * takes away the frame wherever that happens.
 */
function leavesFreely(block: MBlock, saved: RegisterSet, facts: Uint32Array): boolean {
  const { insts } = block;
  if (insts.length === 0 || (facts[insts[insts.length - 1]!.op]! & leavesFunction) === 0) return false;
  for (const inst of insts) {
    if (inst.extra !== null && (facts[inst.op]! & leavesFunction) === 0) return false;
    if (overlaps(inst.clobbers, saved)) return false;
    if (inst.op === CopyOp) continue;
    for (const def of inst.defs) if (def.loc >= 0 && hasRegister(saved, def.loc)) return false;
  }
  return true;
}

/** Blocks between two that `marked` names, or after one of `sticky`, get 1 in `forced`. */
function closeBetween(
  blocks: readonly MBlock[],
  positions: Int32Array,
  marked: readonly number[],
  sticky: readonly number[],
  forced: Uint8Array,
): void {
  const reach = (from: readonly number[], next: (block: MBlock) => readonly MBlock[]): Uint8Array => {
    const seen = new Uint8Array(blocks.length);
    const work = [...from];
    for (const b of from) seen[b] = 1;
    for (let b = work.pop(); b !== undefined; b = work.pop())
      for (const n of next(blocks[b]!)) {
        const k = positions[n.id]!;
        if (seen[k] === 1) continue;
        seen[k] = 1;
        work.push(k);
      }
    return seen;
  };
  if (marked.length > 0) {
    const after = reach(marked, (block) => block.succs);
    const before = reach(marked, (block) => block.preds);
    for (let b = 0; b < blocks.length; b++) if (after[b] === 1 && before[b] === 1) forced[b] = 1;
  }
  if (sticky.length > 0) {
    const after = reach(sticky, (block) => block.succs);
    for (let b = 0; b < blocks.length; b++) if (after[b] === 1) forced[b] = 1;
  }
}

/** Nodes of the cut: a loop is one, other blocks are one each. By block position. */
function cutNodes(
  blocks: readonly MBlock[],
  positions: Int32Array,
): { node: Int32Array; order: readonly number[] } {
  const successors = blocks.map((block) => block.succs.map((s) => positions[s.id]!));
  const starts = [0];
  for (let b = 1; b < blocks.length; b++) if (blocks[b]!.addressTaken) starts.push(b);
  const { header, outer, reversePostOrder } = loopNest(successors, starts);
  const node = new Int32Array(blocks.length);
  for (let b = 0; b < blocks.length; b++) {
    let top = b;
    for (let h = header[b]!; h >= 0; h = outer[h]!) top = h;
    node[b] = top;
  }
  return { node, order: reversePostOrder };
}

/** For size every place counts, however often it runs; cold ones count for less than what they cost others. */
const placesCounted = (blocks: readonly MBlock[]): Float64Array =>
  Float64Array.from(blocks, (block) => 1 / 4 + Math.min(block.frequency, 64) / 64);

/** An edge whose ends must agree, because nothing can be put between them. */
function isRigid(from: MBlock, to: MBlock, facts: Uint32Array): boolean {
  if (to.preds.length === 1 && !to.addressTaken) return false;
  if (to.addressTaken) return true;
  return from.insts.some(
    ({ op, targets }) =>
      (facts[op]! & OpFact.IndirectJump) !== 0 || ((facts[op]! & OpFact.Asm) !== 0 && targets.length > 0),
  );
}

/**
 * Chooses where the frame is. Edges must be up to date, slot operands memory operands.
 * @param frequencies executions of each block, by position; asked for only where there is a choice
 * @returns null if the frame had best be there from the entry on
 */
export function chooseWrapping(
  mf: MFunction,
  plan: FramePlan,
  frequencies: () => Float64Array,
): ShrinkWrapRegion | null {
  if (!isEligible(mf, plan)) return null;
  const { blocks } = mf;
  const { saved } = plan;
  const { facts } = mf.target.instructions;
  const positions = blockPositions(blocks);
  const copies = new AvailableCopies(mf, saved, positions, (inst) => needsFrame(mf, inst, copies));
  if (!copies.entryIsFree() || !blocks.some((block) => leavesFreely(block, saved, facts))) return null;
  const forced = new Uint8Array(blocks.length);
  const marked: number[] = [];
  const sticky: number[] = [];
  const { node, order } = cutNodes(blocks, positions);
  const liveness = registerLiveness(mf);
  copies.solve(order);
  if (mf.slots.length > 0 || mf.hasDynamicAlloca) {
    for (let b = 0; b < blocks.length; b++) {
      let object = false;
      let exposed = false;
      for (const inst of blocks[b]!.insts) {
        object ||= namesObject(mf, inst, copies);
        exposed ||= exposesFrame(mf, inst);
      }
      if (object) marked.push(b);
      if (exposed) sticky.push(b);
    }
    closeBetween(blocks, positions, marked, sticky, forced);
  }
  for (let b = 0; b < blocks.length; b++) if (forced[b] === 0 && !copies.isFree(b, liveness)) forced[b] = 1;
  if (forced[0] === 1) return null;
  const executions = mf.goal === "speed" ? frequencies() : placesCounted(blocks);
  const framed = cut(mf, positions, node, forced, executions, plan);
  if (framed === null || (mf.goal !== "speed" && extraBytes(mf, framed, plan) > 0)) return null;
  return { framed, positions, copies, liveness };
}

/** Estimated bytes that the choice adds: code where frames come and go, and ways out. */
function extraBytes(mf: MFunction, framed: Uint8Array, plan: FramePlan): number {
  const { costs, instructions } = mf.target;
  const { facts } = instructions;
  const [shortBranch, returnBytes] = [costs.branches.short, costs.frames.return];
  const { enterBytes: enter, leaveBytes: leave } = plan;
  // Ways out with the same epilogue share it, by a jump or because it is no longer.
  const shared = Math.min(leave + returnBytes, shortBranch);
  const waysOut = (n: number): number => (n === 0 ? 0 : leave + returnBytes + (n - 1) * shared);
  let bytes = -enter;
  let withFrame = 0;
  let without = 0;
  mf.blocks.forEach((block, b) => {
    const last = block.insts[block.insts.length - 1];
    const here = framed[block.id]!;
    if (last !== undefined && (facts[last.op]! & leavesFunction) !== 0) {
      if (here === 1) withFrame++;
      else without++;
    }
    let changing = 0;
    for (const pred of block.preds) if (framed[pred.id] !== here) changing++;
    if (changing === 0) return;
    const code = here === 1 ? enter : leave;
    if (changing === block.preds.length && b > 0) bytes += code;
    else
      for (const pred of block.preds)
        if (framed[pred.id] !== here) bytes += code + (pred.succs.length > 1 ? shortBranch : 0);
  });
  return bytes + waysOut(withFrame) + without * returnBytes - waysOut(withFrame + without);
}

/** The cheapest set of blocks with frame, by block id; null if that is no cheaper than all of them. */
function cut(
  mf: MFunction,
  positions: Int32Array,
  node: Int32Array,
  forced: Uint8Array,
  frequencies: Float64Array,
  { prologue, epilogue }: FramePlan,
): Uint8Array | null {
  const { blocks } = mf;
  const { facts } = mf.target.instructions;
  const network = new FlowNetwork();
  // Source: without frame; sink: with frame.
  const source = network.addNode();
  const sink = network.addNode();
  for (let b = 0; b < blocks.length; b++) network.addNode();
  const capacity = (executions: number): number => Math.round(Math.min(executions * unit, infinite / 2));
  const ofEdges = (mf.goal === "speed" ? edgeFrequencies : edgeBounds)(blocks, positions, frequencies);
  let plain = capacity(prologue);
  network.addEdge(source, 2 + node[0]!, capacity(prologue));
  blocks.forEach((block, b) => {
    const here = 2 + node[b]!;
    const last = block.insts[block.insts.length - 1];
    if (forced[b] === 1) network.addEdge(here, sink, infinite);
    if (last !== undefined && (facts[last.op]! & leavesFunction) !== 0) {
      const cost = capacity(frequencies[b]! * epilogue);
      network.addEdge(source, here, cost);
      plain += cost;
    }
    block.succs.forEach((succ, k) => {
      const s = positions[succ.id]!;
      const there = 2 + node[s]!;
      if (here === there) return;
      if (isRigid(block, succ, facts)) {
        network.addEdge(here, there, infinite);
        network.addEdge(there, here, infinite);
        return;
      }
      const executions = ofEdges[b]![k]!;
      const split = block.succs.length > 1 && succ.preds.length > 1 ? splitCost : 0;
      network.addEdge(here, there, capacity(executions * (prologue + split)));
      network.addEdge(there, here, capacity(executions * (epilogue + split)));
    });
  });
  const total = network.maximize(source, sink);
  if (total >= plain * (mf.goal === "speed" ? worthwhile : 1)) return null;
  const withFrame = network.reaches(sink);
  const framed = new Uint8Array(positions.length);
  for (let b = 0; b < blocks.length; b++) framed[blocks[b]!.id] = withFrame[2 + node[b]!]!;
  return framed[blocks[0]!.id] === 1 ? null : framed;
}
