/**
 * The natural loops of a body: a header that dominates all blocks of the loop, so that control enters there alone.
 *
 * Cycles that control enters at several places, and those with a block whose address is taken, are no loops here.
 * Linear in the blocks times the nesting depth. Bodies without an edge against the layout have no cycle: `mayLoop` says
 * so in a walk over the blocks.
 */
import type { DominatorTree } from "../../analysis/dominators.js";
import type { LoopNest } from "../../analysis/loop-nest.js";
import { incomingEdges, redirectEdge, splitEdge } from "../../ir/cfg-edit.js";
import type { Editor } from "../../ir/editor.js";
import { Block, type BodyView, makeInst, Op } from "../../ir/instructions.js";
import { voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";

export class Loop {
  /** Those of inner loops too, in reverse postorder; the header first. Kept current while blocks are added. */
  readonly blocks: Block[] = [];
  /** As `preheaderOf` found or made it. */
  preheader: Block | null = null;
  /** Of how many loops it is one in the other, itself counted. */
  readonly depth: number;

  constructor(
    readonly header: Block,
    /** The innermost natural loop around it. */
    readonly outer: Loop | null,
  ) {
    this.depth = outer === null ? 1 : outer.depth + 1;
  }

  /** Puts a block that is new into the loop, and into those around it. */
  adopt(block: Block): void {
    for (let loop: Loop | null = this; loop !== null; loop = loop.outer) loop.blocks.push(block);
  }
}

/**
 * Whether some edge leads to a block that does not lie after it: without one there is no cycle. Numbers the blocks.
 * @param counts which of these edges do
 */
export function mayLoop(
  { blocks }: BodyView,
  counts: (from: Block, to: Block) => boolean = () => true,
): boolean {
  for (let b = 0; b < blocks.length; b++) blocks[b]!.id = b;
  for (let b = 0; b < blocks.length; b++) {
    const next = blocks[b]!.terminator.blocks;
    for (let i = 0; i < next.length; i++) if (next[i]!.id <= b && counts(blocks[b]!, next[i]!)) return true;
  }
  return false;
}

/** The loops of a body, and of each block the innermost one. */
export class Loops {
  /** Outer loops before those in them. */
  readonly all: Loop[] = [];
  /** By block number. */
  readonly of: (Loop | null)[];
  readonly blocks: readonly Block[];

  constructor({ blocks }: BodyView, nest: LoopNest, tree: DominatorTree) {
    this.blocks = blocks;
    const order = nest.reversePostOrder;
    const isNatural = new Uint8Array(blocks.length);
    for (let i = 0; i < order.length; i++) {
      const block = order[i]!;
      if (nest.header[block] === block && !blocks[block]!.addressTaken) isNatural[block] = 1;
    }
    for (let i = 0; i < order.length; i++) {
      const block = order[i]!;
      for (let h = nest.header[block]!; h >= 0; h = nest.outer[h]!)
        if (!tree.dominates(h, block) || blocks[block]!.addressTaken) isNatural[h] = 0;
    }
    this.of = new Array<Loop | null>(blocks.length).fill(null);
    // Headers come before the other blocks of their loops.
    for (let i = 0; i < order.length; i++) {
      const block = order[i]!;
      let h = nest.header[block]!;
      while (h >= 0 && (isNatural[h] === 0 || h === block)) h = nest.outer[h]!;
      let loop = h < 0 ? null : this.of[h]!;
      if (isNatural[block] === 1) {
        loop = new Loop(blocks[block]!, loop);
        this.all.push(loop);
      }
      this.of[block] = loop;
      for (let around = loop; around !== null; around = around.outer) around.blocks.push(blocks[block]!);
    }
  }

  /** Whether a block, by its number of when the loops were found, lies in a loop. Blocks made since have none: they do not. */
  contains(loop: Loop, block: number): boolean {
    if (block < 0) return false;
    for (let at = this.of[block] ?? null; at !== null; at = at.outer) if (at === loop) return true;
    return false;
  }
}

/** Whether control enters a loop, and a block of its own can be put before it. @param predecessors by block number */
export function canHavePreheader(
  loop: Loop,
  loops: Loops,
  predecessors: readonly (readonly number[])[],
): boolean {
  const { header } = loop;
  const first = header.insts.find((inst) => inst.op !== Op.Phi)!;
  if (first.op === Op.LandingPad) return false;
  const entries = predecessors[header.id]!.filter((block) => !loops.contains(loop, block));
  return (
    entries.length > 0 &&
    entries.every((block) => {
      const { op } = loops.blocks[block]!.terminator;
      return op !== Op.IndirectBr && op !== Op.CallBr;
    })
  );
}

/** The block from which alone control enters a loop, and which does nothing else at its end; it is made where there is none. */
export function preheaderOf(editor: Editor, loop: Loop): Block {
  loop.preheader ??= findPreheader(editor, loop);
  return loop.preheader;
}
function findPreheader(editor: Editor, loop: Loop): Block {
  const { header } = loop;
  const inside = new Set(loop.blocks);
  const edges = incomingEdges(editor, header).filter((block) => !inside.has(block));
  const [first] = edges;
  if (first === undefined) throw new Error(`@${editor.fn.name}: a loop that control never enters`);
  if (edges.length === 1) {
    if (first.terminator.op === Op.Br) return first;
    const made = splitEdge(editor, first, first.terminator.blocks.indexOf(header));
    loop.outer?.adopt(made);
    return made;
  }
  const made = joinEdges(editor, header, edges);
  loop.outer?.adopt(made);
  return made;
}

/** Lets some of the edges to a block go through a new one. */
function joinEdges(editor: Editor, to: Block, edges: readonly Block[]): Block {
  const joined = new Set(edges);
  const made = editor.addBlock(new Block(), edges[edges.length - 1]!);
  const phis = to.insts.filter((inst) => inst.op === Op.Phi && inst.parent === to);
  for (const phi of phis) {
    const values: Value[] = [];
    const from: Block[] = [];
    const keptValues: Value[] = [];
    const keptFrom: Block[] = [];
    for (let i = 0; i < phi.operands.length; i++) {
      const isJoined = joined.has(phi.blocks[i]!);
      (isJoined ? values : keptValues).push(phi.operands[i]!);
      (isJoined ? from : keptFrom).push(phi.blocks[i]!);
    }
    const isOne = values.every((value) => value === values[0]);
    const value: Value = isOne
      ? values[0]!
      : editor.append(makeInst(Op.Phi, phi.type, values, null, from, phi.flags), made);
    editor.setLists(phi, [...keptValues, value], [...keptFrom, made]);
  }
  editor.append(makeInst(Op.Br, voidType, [], null, [to]), made);
  for (const block of joined)
    for (let i = 0; i < block.terminator.blocks.length; i++)
      if (block.terminator.blocks[i] === to) redirectEdge(editor, block, i, made);
  return made;
}

/** An edge out of a loop: successor `index` of the terminator of `from`. */
export interface ExitEdge {
  readonly from: Block;
  readonly index: number;
  readonly to: Block;
}
export function exitEdges(loop: Loop): ExitEdge[] {
  const inside = new Set(loop.blocks);
  const edges: ExitEdge[] = [];
  for (const from of loop.blocks) {
    const { blocks } = from.terminator;
    for (let index = 0; index < blocks.length; index++)
      if (!inside.has(blocks[index]!)) edges.push({ from, index, to: blocks[index]! });
  }
  return edges;
}
