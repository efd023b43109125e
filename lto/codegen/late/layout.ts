/**
 * Block order, jumps that follow from it, and exact branch sizes.
 *
 * Order: chains of blocks are grown by linking the end of one to the start of another along control-flow
 * edges, best edge first (Pettis & Hansen, "Profile guided code positioning", PLDI 1990, bottom-up). For size, an edge
 * out of a block without alternative comes before one whose block may as well fall into its other successor; then
 * nearness in the old order decides, and ends of loops fall into conditions at their start where no jump is more. For
 * speed, an edge is worth the jumps that are not executed when it falls through: all of them without an alternative,
 * otherwise those of the rarer one, since the other can be branched to; what a branch not taken is worth besides is
 * added. So loops whose ends jump back to a condition are rotated. Chains then follow in the order of their first
 * blocks, rare ones last when optimising for speed.
 * Jumps to the next block disappear, and a conditional jump over a jump is inverted.
 *
 * Sizes are branch-sizes.ts's. O(edges log edges) for the order.
 */

import type { MBlock, MFunction, MInst } from "../mir.js";
import { type InstructionFacts, OpFact } from "../target.js";
import { BranchSizes } from "./branch-sizes.js";
import { Chains } from "./chains.js";
import { copyDispatches, copyExits } from "./duplicate-tails.js";
import { fallsOn, shortenBranches } from "./shorten-branches.js";
import { tailJumpTarget } from "./tail-jumps.js";

interface Edge {
  readonly from: number;
  readonly to: number;
  readonly weight: number;
  readonly sole: boolean;
}

/** Targets that a block could fall into: of its final jump, and of its last conditional one. */
function fallThroughCandidates(block: MBlock, facts: Uint32Array): MBlock[] {
  const { insts } = block;
  const last = insts[insts.length - 1];
  if (last === undefined || (facts[last.op]! & OpFact.Jump) === 0) return [];
  const previous = insts.length > 1 ? insts[insts.length - 2]! : null;
  if (previous !== null && (facts[previous.op]! & OpFact.Branch) !== 0 && previous.symbol === null)
    return [last.targets[0]!, previous.targets[0]!];
  return [last.targets[0]!];
}

/** Executions of the block that do not leave it for blocks which it alone leads to, but for `target`. */
function remaining({ frequency, succs }: MBlock, target: MBlock): number {
  let rest = frequency;
  for (const other of succs) if (other !== target && other.preds.length === 1) rest -= other.frequency;
  return Math.max(rest, 0);
}

/** Executions of the edge, as far as those of blocks tell. */
const edgeFrequency = (from: MBlock, to: MBlock): number => Math.min(remaining(from, to), to.frequency);

/** What a branch that is not taken is worth, in jumps. */
const notTaken = 1 / 4;

/**
 * What it is worth, in executed jumps, that `block` falls into `target`, one of `candidates`.
 * @param isAhead in the old order; what closes a loop may as well branch
 */
function savedJumps(block: MBlock, target: MBlock, candidates: readonly MBlock[], isAhead: boolean): number {
  const own = edgeFrequency(block, target);
  if (candidates.length === 1) return own;
  const other = edgeFrequency(block, candidates[0] === target ? candidates[1]! : candidates[0]!);
  return Math.min(own, other) + (isAhead ? notTaken * Math.max(0, own - other) : 0);
}

/** New order of the blocks, the entry first. */
function orderBlocks(mf: MFunction): MBlock[] {
  const edges = layoutEdges(mf);
  if (mf.goal === "speed" || mf.goal === "none") return orderBy(mf, edges.sort(compareForSpeed));
  return rotateLoops(mf, edges.sort(compareForSize));
}

/** So many edges are looked at for the ends of loops one by one; where there are more, for all together. */
const rotationWork = 20_000;

/**
 * For size: ends of loops fall into the conditions at their start, where that leaves no jump more. It runs a jump less in each
 * round, and one more when the loop is entered.
 */
function rotateLoops(mf: MFunction, edges: readonly Edge[]): MBlock[] {
  const { facts } = mf.target.instructions;
  const closing = edges.filter(({ sole, from, to }) => sole && to < from).sort((a, b) => b.weight - a.weight);
  let order = orderBy(mf, edges);
  if (closing.length === 0) return order;
  let fewest = countJumps(order, facts);
  let first: Edge[] = [];
  const isEach = closing.length * edges.length <= rotationWork;
  for (const group of isEach ? closing.map((edge) => [edge]) : [closing]) {
    const rotated = orderBy(mf, [...first, ...group, ...edges]);
    const jumps = countJumps(rotated, facts);
    if (jumps > fewest) continue;
    order = rotated;
    fewest = jumps;
    first = [...first, ...group];
  }
  return order;
}

/** All edges that may become fall-throughs. */
function layoutEdges(mf: MFunction): Edge[] {
  const { blocks } = mf;
  const index = new Map<MBlock, number>();
  for (let i = 0; i < blocks.length; i++) index.set(blocks[i]!, i);
  const edges: Edge[] = [];
  const speed = mf.goal === "speed" || mf.goal === "none";
  for (let i = 0; i < blocks.length; i++) {
    const block = blocks[i]!;
    const candidates = fallThroughCandidates(block, mf.target.instructions.facts);
    for (const target of candidates) {
      const to = index.get(target);
      if (to === undefined || to === 0 || to === i) continue;
      const weight = speed
        ? savedJumps(block, target, candidates, to > i)
        : mf.profiled
          ? edgeFrequency(block, target)
          : Math.min(block.frequency, target.frequency);
      edges.push({ from: i, to, weight, sole: candidates.length === 1 });
    }
  }
  return edges;
}

/** @param edges the best first */
function orderBy({ blocks, goal }: MFunction, edges: readonly Edge[]): MBlock[] {
  const chains = new Chains(blocks.length);
  for (const { from, to } of edges) chains.link(from, to);
  const { next, previous } = chains;
  const heads: number[] = [];
  for (let i = 0; i < blocks.length; i++) if (previous[i] === -1) heads.push(i);
  if (goal === "speed" || goal === "none") sortColdLast(heads, next, blocks);
  const order: MBlock[] = [];
  for (const head of heads) for (let i = head; i !== -1; i = next[i]!) order.push(blocks[i]!);
  return order;
}

/** The jumps that an order leaves. */
function countJumps(order: readonly MBlock[], facts: Uint32Array): number {
  let jumps = 0;
  for (const [i, block] of order.entries()) {
    const candidates = fallThroughCandidates(block, facts);
    if (candidates.length > 0 && !candidates.includes(order[i + 1]!)) jumps++;
  }
  return jumps;
}

function compareForSpeed(a: Edge, b: Edge): number {
  return b.weight - a.weight || Number(b.sole) - Number(a.sole) || a.from - b.from || a.to - b.to;
}

function compareForSize(a: Edge, b: Edge): number {
  if (a.sole !== b.sole) return a.sole ? -1 : 1;
  // Forward neighbours first: they keep distances short. Then the hotter edge.
  const adjacentA = a.to === a.from + 1 ? 0 : 1;
  const adjacentB = b.to === b.from + 1 ? 0 : 1;
  return adjacentA - adjacentB || b.weight - a.weight || a.from - b.from || a.to - b.to;
}

/** Moves chains that hardly run to the end; the entry's chain stays first. */
function sortColdLast(heads: number[], next: Int32Array, blocks: readonly MBlock[]): void {
  const heat = new Map<number, number>();
  for (const head of heads) {
    let most = 0;
    for (let i = head; i !== -1; i = next[i]!) most = Math.max(most, blocks[i]!.frequency);
    heat.set(head, most);
  }
  const cold = (head: number): number => (head !== 0 && heat.get(head)! < 1 / 8 ? 1 : 0);
  heads.sort((a, b) => cold(a) - cold(b) || a - b);
}

/** Removes the jumps that the order makes superfluous. @param speed what runs oftener is branched to, not jumped */
function dropJumps(blocks: readonly MBlock[], { facts, invert }: InstructionFacts, speed: boolean): void {
  for (let i = 0; i + 1 < blocks.length; i++) {
    const { insts } = blocks[i]!;
    const following = blocks[i + 1]!;
    const last = insts[insts.length - 1];
    if (last === undefined || (facts[last.op]! & OpFact.Jump) === 0) continue;
    if (last.targets[0] === following) {
      insts.pop();
      continue;
    }
    const previous = insts.length > 1 ? insts[insts.length - 2]! : null;
    if (previous === null || (facts[previous.op]! & OpFact.Branch) === 0 || previous.symbol !== null)
      continue;
    const [branched, jumped] = [previous.targets[0]!, last.targets[0]!];
    if (branched !== following) {
      const block = blocks[i]!;
      if (!speed || branchesTwice(insts, facts)) continue;
      if (edgeFrequency(block, jumped) <= edgeFrequency(block, branched)) continue;
      previous.condition = invert(previous.condition);
      previous.targets = [jumped];
      last.targets = [branched];
      continue;
    }
    previous.condition = invert(previous.condition);
    previous.targets = [last.targets[0]!];
    insts.pop();
  }
}

/** Two conditions lead away from the end of the block, as where numbers may be unordered. */
function branchesTwice(insts: readonly MInst[], facts: Uint32Array): boolean {
  const before = insts[insts.length - 3];
  return before !== undefined && (facts[before.op]! & OpFact.Branch) !== 0;
}

/**
 * Orders the blocks and makes them fall through where they can. Edges must be up to date, and stay so: an edge
 * may then be a fall-through that no instruction shows.
 */
export function layOut(mf: MFunction): void {
  copyDispatches(mf);
  if (mf.goal !== "none") mf.blocks = orderBlocks(mf);
  dropJumps(mf.blocks, mf.target.instructions, mf.goal === "speed");
  copyExits(mf);
  if (mf.fallsThrough) endInTailCall(mf);
  if (mf.goal === "size" || mf.goal === "minsize")
    shortenBranches(mf, leadsToDefinition(mf.blocks.at(-1)?.insts.at(-1), mf.target.instructions.facts));
}

/**
 * Moves blocks to the end that a jump to a function ends, if it stands elsewhere and that is worth its bytes: with those
 * that fall into them, or alone, where the condition before can be turned round.
 */
function endInTailCall(mf: MFunction): void {
  const { blocks } = mf;
  const { facts, length, invert } = mf.target.instructions;
  const last = blocks.findLastIndex(({ insts }) => leadsToDefinition(insts.at(-1), facts));
  if (last < 0 || last === blocks.length - 1) return;
  const gain = length(blocks[last]!.insts.at(-1)!);
  const size = relaxedSize(mf);
  const moved = (first: number): MBlock[] => [
    ...blocks.slice(0, first),
    ...blocks.slice(last + 1),
    ...blocks.slice(first, last + 1),
  ];
  const isSmaller = (): boolean => relaxedSize(mf) - gain < size;
  let first = last;
  while (first > 0 && fallsOn(blocks[first - 1]!, facts)) first--;
  if (first > 0) {
    mf.blocks = moved(first);
    if (isSmaller()) return;
  }
  mf.blocks = blocks;
  const branch = last > 0 ? blocks[last - 1]!.insts.at(-1) : undefined;
  if (branch === undefined || (facts[branch.op]! & OpFact.Branch) === 0 || branch.symbol !== null) return;
  if (branch.targets[0] !== blocks[last + 1]) return;
  const turn = (target: MBlock): void => {
    branch.condition = invert(branch.condition);
    branch.targets = [target];
  };
  turn(blocks[last]!);
  mf.blocks = moved(last);
  if (isSmaller()) return;
  turn(blocks[last + 1]!);
  mf.blocks = blocks;
}

/** A jump to a function that is in the program. */
function leadsToDefinition(inst: MInst | undefined, facts: Uint32Array): boolean {
  const to = tailJumpTarget(inst, facts);
  return to !== null && (typeof to === "string" || !to.isDeclaration);
}

/** Exact bytes of a laid-out function, with each branch to a block as short as it can be. */
export function relaxedSize(mf: MFunction): number {
  return new BranchSizes([mf.blocks], mf.target.instructions).relaxed([0]);
}

/** Where each block of a laid-out function starts, in bytes from its entry, and at last where it ends. */
export function relaxedStarts(mf: MFunction): Int32Array {
  const sizes = new BranchSizes([mf.blocks], mf.target.instructions);
  const end = sizes.relaxed([0]);
  const starts = new Int32Array(mf.blocks.length + 1);
  starts.set(sizes.start);
  starts[mf.blocks.length] = end;
  return starts;
}
