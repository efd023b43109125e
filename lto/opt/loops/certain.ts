/**
 * What is executed whenever control enters a loop: instructions to which all ways from the header lead, before any of
 * them leaves the loop, goes round, or may stop for good.
 *
 * Method: the blocks from which an instruction's block is reached without passing the header, found backwards; none of
 * them may have an edge that leads elsewhere, or back. Each question looks at a bounded number of blocks.
 * Breaks if: a call that may not come back counts as one that does.
 */
import { type Block, type Inst, isCall, isPlainAccess, Op } from "../../ir/instructions.js";
import { callReturns, neverUnwinds } from "../call-effects.js";
import type { Loop, Loops } from "./loop.js";

const mostBlocks = 24;

/** Whether what follows an instruction is executed once it was. Volatile accesses may trap. */
function transfers(inst: Inst): boolean {
  if (isCall(inst)) return inst.op === Op.Call && callReturns(inst) && neverUnwinds(inst);
  switch (inst.op) {
    case Op.Load:
    case Op.Store:
      return isPlainAccess(inst);
    case Op.CmpXchg:
    case Op.AtomicRMW:
    case Op.VAArg:
      return false;
    default:
      return true;
  }
}

export class CertainInstructions {
  /** By block: number of the first instruction that control may not get past; -1: not looked at yet. */
  private readonly firstStop: Int32Array;
  /** By block: position in reverse postorder. */
  private readonly position: Int32Array;
  /** Which question saw a block last. */
  private readonly seen: Int32Array;
  private question = 0;

  constructor(
    private readonly loops: Loops,
    reversePostOrder: readonly number[],
    private readonly predecessors: readonly (readonly number[])[],
    private readonly blocks: readonly Block[],
  ) {
    this.firstStop = new Int32Array(predecessors.length).fill(-1);
    this.seen = new Int32Array(predecessors.length);
    this.position = new Int32Array(predecessors.length);
    for (let i = 0; i < reversePostOrder.length; i++) this.position[reversePostOrder[i]!] = i;
  }

  private stopOf(block: number): number {
    if (this.firstStop[block] === -1) {
      this.firstStop[block] = 0x7fffffff;
      for (const inst of this.blocks[block]!.insts)
        if (!transfers(inst)) {
          this.firstStop[block] = inst.id;
          break;
        }
    }
    return this.firstStop[block]!;
  }

  /** Whether an instruction of a loop, or of one in it, is executed each time that control enters the loop. */
  isCertain(inst: Inst, loop: Loop): boolean {
    let block = inst.parent!.id;
    if (this.stopOf(block) < inst.id) return false;
    let inner: Loop | null = null;
    for (let at = this.loops.of[block] ?? null; at !== null; at = at.outer) {
      if (!this.leads(block, at, inner)) return false;
      if (at === loop) return true;
      // The same asked of the entry of this loop in the next one.
      block = at.header.id;
      inner = at;
    }
    return false;
  }

  /** Whether all ways from a loop's header lead to a block; of one that is the header of an `inner` loop, to its entry. */
  private leads(target: number, loop: Loop, inner: Loop | null): boolean {
    const header = loop.header.id;
    if (target === header) return true;
    const { seen, predecessors, position } = this;
    const question = ++this.question;
    const found: number[] = [target];
    seen[target] = question;
    for (let i = 0; i < found.length; i++) {
      const block = found[i]!;
      if (block === header) continue;
      for (const before of predecessors[block]!) {
        if (seen[before] === question) continue;
        if (i === 0 && inner !== null && this.loops.contains(inner, before)) continue;
        if (found.length === mostBlocks || !this.loops.contains(loop, before)) return false;
        seen[before] = question;
        found.push(before);
      }
    }
    for (let i = 1; i < found.length; i++) {
      const block = found[i]!;
      if (this.stopOf(block) !== 0x7fffffff) return false;
      for (const next of this.blocks[block]!.terminator.blocks)
        if (seen[next.id] !== question || position[next.id]! <= position[block]!) return false;
    }
    return true;
  }
}
