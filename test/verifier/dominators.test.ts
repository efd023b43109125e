import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/parser.js";
import { predecessorLists, reversePostOrder, reversePostOrderOf } from "../../lto/analysis/cfg.js";
import { computeDominators, DominatorTree, dominatorTree } from "../../lto/analysis/dominators.js";
import { bodyLoops } from "../../lto/analysis/loops.js";

/** Blocks reachable from the entry without passing `without`. */
function reachable(successors: readonly (readonly number[])[], without: number): Set<number> {
  const seen = new Set<number>();
  const stack = without === 0 ? [] : [0];
  while (stack.length > 0) {
    const block = stack.pop()!;
    if (seen.has(block)) continue;
    seen.add(block);
    for (const next of successors[block]!) if (next !== without) stack.push(next);
  }
  return seen;
}

const graphs = fc
  .integer({ min: 1, max: 14 })
  .chain((n) => fc.array(fc.array(fc.nat(n - 1), { maxLength: 3 }), { minLength: n, maxLength: n }));

describe("dominators", () => {
  it("agree with the definition", () => {
    fc.assert(
      fc.property(graphs, (successors) => {
        const tree = DominatorTree.of(successors);
        const all = reachable(successors, -1);
        for (let a = 0; a < successors.length; a++) {
          const without = reachable(successors, a);
          expect(tree.isReachable(a)).toBe(all.has(a));
          for (let b = 0; b < successors.length; b++)
            expect(tree.dominates(a, b)).toBe(all.has(a) && all.has(b) && !without.has(b));
        }
      }),
      { numRuns: 1500, seed: 11 },
    );
  });

  it("have the closest strict dominator as parent", () => {
    const idom = computeDominators([[1, 2], [3], [3], [4, 1], [], [4]]);
    expect([...idom]).toEqual([0, 0, 0, 0, 3, -1]);
    const tree = DominatorTree.of([[1, 2], [3], [3], [4, 1], [], [4]]);
    expect(tree.strictlyDominates(3, 4)).toBe(true);
    expect(tree.strictlyDominates(3, 3)).toBe(false);
    expect(tree.dominates(5, 4)).toBe(false);
  });

  it("do not recurse", () => {
    const n = 200_000;
    const chain = Array.from({ length: n }, (_, i) => (i + 1 < n ? [i + 1] : []));
    const tree = DominatorTree.of(chain);
    expect(tree.dominates(1, n - 1)).toBe(true);
    expect(tree.idom[n - 1]).toBe(n - 2);
  });
});

describe("graphs", () => {
  it("reverse postorder has each reachable block once, after a dominator", () => {
    fc.assert(
      fc.property(graphs, (successors) => {
        const order = reversePostOrderOf(successors);
        expect(new Set(order)).toEqual(reachable(successors, -1));
        expect(new Set(order).size).toBe(order.length);
        const idom = computeDominators(successors);
        const position = new Map(order.map((block, i) => [block, i]));
        for (const block of order)
          if (block !== 0) expect(position.get(idom[block]!)!).toBeLessThan(position.get(block)!);
      }),
      { numRuns: 500, seed: 5 },
    );
  });

  it("predecessors list every edge", () => {
    expect(predecessorLists([[1, 1], [0], [1]])).toEqual([[1], [0, 0, 2], []]);
  });

  it("work on bodies", () => {
    const module = parseModule(
      `define void @f(i1 %c) {
       br label %outer
       outer:
       br label %inner
       inner:
       br i1 %c, label %inner, label %latch
       latch:
       br i1 %c, label %outer, label %exit
       dead:
       br label %exit
       exit:
       ret void
       }`,
      "x",
    );
    const body = module.functions[0]!.view();
    body.renumber();
    expect(reversePostOrder(body)).toEqual([0, 1, 2, 3, 5]);
    expect([...dominatorTree(body).idom]).toEqual([0, 0, 1, 2, -1, 3]);
    const loops = bodyLoops(body);
    expect([...loops.depth]).toEqual([0, 1, 2, 1, 0, 0]);
    expect([...loops.header]).toEqual([-1, 1, 2, 1, -1, -1]);
  });
});
