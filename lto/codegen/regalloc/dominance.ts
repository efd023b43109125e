/** Dominance preorder of machine blocks (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm"). */
import type { MFunction } from "../mir.js";

/** Layout positions in reverse postorder; what cannot be reached is missing. */
export function reversePostorder(fn: MFunction, position: Int32Array): number[] {
  const order: number[] = [];
  const stack: { block: number; next: number }[] = [{ block: 0, next: 0 }];
  const seen = new Uint8Array(fn.blocks.length);
  seen[0] = 1;
  while (stack.length > 0) {
    const top = stack[stack.length - 1]!;
    const succs = fn.blocks[top.block]!.succs;
    if (top.next < succs.length) {
      const succ = position[succs[top.next++]!.id]!;
      if (seen[succ] === 0) {
        seen[succ] = 1;
        stack.push({ block: succ, next: 0 });
      }
      continue;
    }
    order.push(top.block);
    stack.pop();
  }
  return order.reverse();
}

/** By layout position: the block's number in a preorder walk of the dominator tree. */
export function dominancePreorder(fn: MFunction, position: Int32Array): Int32Array {
  const count = fn.blocks.length;
  const postorder = new Int32Array(count).fill(-1);
  const order = reversePostorder(fn, position).reverse();
  for (let k = 0; k < order.length; k++) postorder[order[k]!] = k;
  const idom = new Int32Array(count).fill(-1);
  idom[0] = 0;
  for (let changed = true; changed; ) {
    changed = false;
    for (let k = order.length - 2; k >= 0; k--) {
      const block = order[k]!;
      let common = -1;
      for (const pred of fn.blocks[block]!.preds) {
        let p = position[pred.id]!;
        if (idom[p]! < 0) continue;
        if (common < 0) {
          common = p;
          continue;
        }
        while (p !== common) {
          while (postorder[p]! < postorder[common]!) p = idom[p]!;
          while (postorder[common]! < postorder[p]!) common = idom[common]!;
        }
      }
      if (idom[block] !== common) {
        idom[block] = common;
        changed = true;
      }
    }
  }
  // Children in layout order; a preorder walk without recursion.
  const firstChild = new Int32Array(count).fill(-1);
  const sibling = new Int32Array(count).fill(-1);
  for (let block = count - 1; block > 0; block--) {
    if (idom[block]! < 0) continue;
    sibling[block] = firstChild[idom[block]!]!;
    firstChild[idom[block]!] = block;
  }
  const number = new Int32Array(count);
  let next = 0;
  const work = [0];
  while (work.length > 0) {
    const block = work.pop()!;
    number[block] = next++;
    if (sibling[block]! >= 0) work.push(sibling[block]!);
    if (firstChild[block]! >= 0) work.push(firstChild[block]!);
  }
  return number;
}
