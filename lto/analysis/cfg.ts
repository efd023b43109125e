/**
 * Control-flow graphs as lists of block numbers, the form that the analyses of this folder take.
 *
 * A graph is `successors[b]` = numbers of the blocks that b may go to, with one entry per edge, so a block
 * may occur more than once. The walks here are iterative: no depth of a graph exhausts the stack.
 */
import type { Block, BodyView } from "../ir/instructions.js";

export type Successors = readonly (readonly number[])[];

/** Successor lists of a body whose blocks are numbered (`Body.renumber`). */
export function bodySuccessors(body: BodyView): number[][] {
  return body.blocks.map((block) => block.successors.map((next) => next.id));
}

/** Predecessor lists, in order of the predecessors' numbers, one entry per edge. */
export function predecessorLists(successors: Successors): number[][] {
  const predecessors: number[][] = successors.map(() => []);
  for (let b = 0; b < successors.length; b++) for (const next of successors[b]!) predecessors[next]!.push(b);
  return predecessors;
}

/**
 * Of each block of a numbered body the only one that control comes from, over one edge; null if there is none or more, or
 * who has its address may go there.
 */
export function onlyPredecessors(blocks: readonly Block[]): (Block | null)[] {
  const before: (Block | null)[] = blocks.map(() => null);
  const edges = new Int32Array(blocks.length);
  for (const block of blocks)
    for (const to of block.successors) {
      edges[to.id]!++;
      before[to.id] = block;
    }
  return before.map((block, i) => (edges[i] === 1 && !blocks[i]!.addressTaken && i > 0 ? block : null));
}

/** Blocks reachable from `entry`, each before those of its successors that no cycle puts before it. */
export function reversePostOrderOf(successors: Successors, entry = 0): number[] {
  const visited = new Uint8Array(successors.length);
  const order: number[] = [];
  const stack = [entry];
  const next = [0];
  visited[entry] = 1;
  while (stack.length > 0) {
    const top = stack.length - 1;
    const list = successors[stack[top]!]!;
    const i = next[top]!;
    if (i < list.length) {
      next[top] = i + 1;
      const successor = list[i]!;
      if (visited[successor] === 0) {
        visited[successor] = 1;
        stack.push(successor);
        next.push(0);
      }
    } else {
      order.push(stack.pop()!);
      next.pop();
    }
  }
  return order.reverse();
}

/** Reverse postorder of a body with numbered blocks; unreachable blocks are missing. */
export const reversePostOrder = (body: BodyView): number[] => reversePostOrderOf(bodySuccessors(body));
