/**
 * Loop nesting of a control-flow graph, reducible or not, in one depth-first search.
 *
 * Method: Wei, Mao, Zou, Chen, "A New Algorithm for Identifying Loops in Decompilation" (SAS 2007). Each block
 * learns the header of its innermost loop; a header's own entry names the next loop out. Time is linear but
 * for re-walks of header chains, whose length is the nesting depth.
 */

export interface LoopNest {
  /** Header of the innermost loop that contains each block (a header contains itself); -1 outside loops. */
  readonly header: Int32Array;
  /** Header of the innermost loop around each block other than the one it is the header of; -1 if there is none. */
  readonly outer: Int32Array;
  /** Number of loops around each block. */
  readonly depth: Int32Array;
  /** Blocks in reverse postorder from the entry; unreachable blocks are missing. */
  readonly reversePostOrder: readonly number[];
}

/** @param successors successor lists by block number. @param entries where control may start; the first is the entry. */
export function loopNest(successors: readonly (readonly number[])[], entries: readonly number[]): LoopNest {
  const n = successors.length;
  /** Innermost enclosing header, not counting the block itself. */
  const outer = new Int32Array(n).fill(-1);
  const isHeader = new Uint8Array(n);
  const pathPosition = new Int32Array(n);
  const visited = new Uint8Array(n);
  const postOrder: number[] = [];

  /** Records that `block` lies in the loop of `header`, merging with what is known. */
  const tag = (block: number, header: number): void => {
    if (block === header || header < 0) return;
    let inner = block;
    let outerHeader = header;
    while (outer[inner]! >= 0) {
      const known = outer[inner]!;
      if (known === outerHeader) return;
      if (pathPosition[known]! < pathPosition[outerHeader]!) {
        outer[inner] = outerHeader;
        inner = outerHeader;
        outerHeader = known;
      } else inner = known;
    }
    if (inner !== outerHeader) outer[inner] = outerHeader;
  };

  const stack: number[] = [];
  const next: number[] = [];
  for (const entry of entries) {
    if (visited[entry]) continue;
    stack.push(entry);
    next.push(0);
    visited[entry] = 1;
    pathPosition[entry] = stack.length;
    while (stack.length > 0) {
      const block = stack[stack.length - 1]!;
      const list = successors[block]!;
      const i = next[next.length - 1]!;
      if (i < list.length) {
        next[next.length - 1] = i + 1;
        const successor = list[i]!;
        if (!visited[successor]) {
          visited[successor] = 1;
          stack.push(successor);
          next.push(0);
          pathPosition[successor] = stack.length;
        } else if (pathPosition[successor]! > 0) {
          isHeader[successor] = 1;
          tag(block, successor);
        } else {
          // Finished earlier: its loop, or the innermost loop around it that is still open, contains us.
          let header = outer[successor]!;
          while (header >= 0 && pathPosition[header]! === 0) header = outer[header]!;
          tag(block, header);
        }
        continue;
      }
      stack.pop();
      next.pop();
      pathPosition[block] = 0;
      postOrder.push(block);
      const parent = stack[stack.length - 1];
      if (parent !== undefined) {
        let header = outer[block]!;
        while (header >= 0 && pathPosition[header]! === 0) header = outer[header]!;
        tag(parent, header);
      }
    }
  }
  const header = new Int32Array(n);
  const depth = new Int32Array(n);
  const reversePostOrder = postOrder.reverse();
  for (let b = 0; b < n; b++) header[b] = isHeader[b] ? b : outer[b]!;
  for (let b = 0; b < n; b++) {
    let d = 0;
    for (let h = header[b]!; h >= 0; h = outer[h]!) d++;
    depth[b] = d;
  }
  return { header, outer, depth, reversePostOrder };
}
