/**
 * Puts prologues and epilogues between blocks with and without frame (see `shrink-wrap.ts`).
 *
 * On each edge where the frame comes or goes, the code stands at the start of the target if control always comes
 * in that way, at the end of the source if control always goes out that way, and otherwise in a new block on the
 * edge. With a prologue come the copies into saved registers that blocks without frame did not make.
 * Linear in the edges.
 * Proof obligations: the code between changes no flags that are read after it, and no register that is live.
 */

import type { MBlock, MFunction, MInst } from "../mir.js";
import { minus, type RegisterSet, union } from "../register-set.js";
import { OpFact } from "../target.js";
import type { Facts } from "./available-copies.js";
import type { ShrinkWrapRegion } from "./shrink-wrap.js";

export interface FrameCode {
  /** The prologue, and then `copies`, which name slots. */
  readonly enter: (flagsFree: boolean, copies: readonly MInst[]) => MInst[];
  /** The epilogue without what leaves the function. `dead`: registers that hold nothing. */
  readonly leave: (dead: RegisterSet, flagsFree: boolean) => MInst[];
}

/** Lets the blocks without frame do without the saved registers. */
export function renameUnframed(mf: MFunction, { framed, copies }: ShrinkWrapRegion): void {
  mf.blocks.forEach((block, b) => {
    if (framed[block.id] === 0) copies.rename(b);
  });
}

/** Whether flags may be read at the start of the block before anything writes them. */
function flagsLiveAt(block: MBlock, facts: Uint32Array, seen: Set<MBlock>): boolean {
  if (seen.has(block)) return false;
  seen.add(block);
  for (const { op } of block.insts) {
    if ((facts[op]! & OpFact.ReadsFlags) !== 0) return true;
    if ((facts[op]! & OpFact.WritesFlags) !== 0) return false;
  }
  return block.succs.some((s) => flagsLiveAt(s, facts, seen));
}

class Transitions {
  /** New blocks by the block they stand before. */
  private readonly inserted = new Map<MBlock, MBlock[]>();

  constructor(
    private readonly mf: MFunction,
    private readonly wrapping: ShrinkWrapRegion,
    private readonly code: FrameCode,
  ) {}

  run(): void {
    const { framed } = this.wrapping;
    const blocks = [...this.mf.blocks];
    for (const block of blocks) {
      const into = framed[block.id]!;
      const changing = block.preds.filter((p) => framed[p.id] !== into);
      if (changing.length === 0) continue;
      const everywhere = changing.length === block.preds.length && block !== blocks[0];
      if (everywhere) {
        const code = this.transition(this.startFacts(block), block);
        if (code !== null) {
          block.insts.unshift(...code);
          continue;
        }
      }
      for (const pred of changing) this.onEdge(pred, block);
    }
    if (this.inserted.size === 0) return;
    this.mf.blocks = this.mf.blocks.flatMap((b) => [...(this.inserted.get(b) ?? []), b]);
  }

  private startFacts(block: MBlock): Facts {
    return this.wrapping.copies.startOf(this.wrapping.positions[block.id]!);
  }

  /** The code between a block whose facts about copies are given and `to`; null if the facts do not suffice. */
  private transition(facts: Facts, to: MBlock): MInst[] | null {
    const { framed, copies, liveness, positions } = this.wrapping;
    const live = liveness.liveIn[positions[to.id]!]!;
    const flagsFree = !flagsLiveAt(to, this.mf.target.instructions.facts, new Set());
    if (framed[to.id] === 1) {
      const moves = copies.copiesInto(positions[to.id]!, facts, live);
      return moves === null ? null : this.code.enter(flagsFree, moves);
    }
    const dead = minus(this.mf.target.registers.callClobbers, union(live, copies.sources(facts)));
    return this.code.leave(dead, flagsFree);
  }

  private onEdge(from: MBlock, to: MBlock): void {
    const facts = this.wrapping.copies.endOf(this.wrapping.positions[from.id]!);
    const code = this.transition(facts, to);
    if (code === null) throw new Error(`@${this.mf.name}: a frame is entered without its registers`);
    const last = from.insts[from.insts.length - 1];
    const { instructions } = this.mf.target;
    if (from.succs.length === 1 && last !== undefined && (instructions.facts[last.op]! & OpFact.Jump) !== 0) {
      from.insts.splice(from.insts.length - 1, 0, ...code);
      return;
    }
    this.split(from, to, code);
  }

  private split(from: MBlock, to: MBlock, code: MInst[]): void {
    const between = this.mf.newBlock();
    this.mf.blocks.pop();
    between.frequency = Math.min(from.frequency, to.frequency);
    between.insts = [...code, this.mf.target.instructions.jump(to)];
    between.preds = [from];
    between.succs = [to];
    for (const inst of from.insts)
      if (inst.targets.includes(to)) inst.targets = inst.targets.map((s) => (s === to ? between : s));
    from.succs = from.succs.map((s) => (s === to ? between : s));
    to.preds = to.preds.map((p) => (p === from ? between : p));
    const list = this.inserted.get(to);
    if (list === undefined) this.inserted.set(to, [between]);
    else list.push(between);
  }
}

/** Makes the transitions of a function whose blocks are rewritten for their frames. Edges stay up to date. */
export function placeTransitions(mf: MFunction, wrapping: ShrinkWrapRegion, code: FrameCode): void {
  new Transitions(mf, wrapping, code).run();
}
