import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import { findComponents } from "../../lto/analysis/call-graph.js";
import { buildCallGraph, type CallGraph, summarizeModule } from "../../lto/link/index.js";
import { Random } from "../support/random.js";

const graphOf = (text: string): { graph: CallGraph; node: (name: string) => number } => {
  const module = parseModule(text, "a.ll");
  const graph = buildCallGraph(summarizeModule(module));
  return { graph, node: (name) => graph.nodeOf[module.globals.findIndex((g) => g.name === name)]! };
};
const list = ({ start, items }: CallGraph["callees"], n: number): number[] => [
  ...items.subarray(start[n]!, start[n + 1]!),
];

describe("call graph", () => {
  const { graph, node } = graphOf(`
@table = internal global [1 x ptr] [ptr @taken]
@also = internal alias void (), ptr @viaAlias
declare void @outside()
declare void @llvm.donothing()
define internal void @leaf() {
  call void @llvm.donothing()
  ret void
}
define internal void @even() {
  call void @odd()
  ret void
}
define internal void @odd() {
  call void @even()
  call void @leaf()
  ret void
}
define internal void @self() {
  call void @self()
  ret void
}
define internal void @taken() {
  ret void
}
define internal void @viaAlias() {
  ret void
}
define internal void @indirect(ptr %p) {
  call void %p()
  ret void
}
define internal void @assembler() {
  call void asm "nop", ""()
  ret void
}
define void @main() {
  call void @odd()
  call void @odd()
  call void @self()
  call void @outside()
  call void @also()
  ret void
}
`);
  it("has direct edges once, in both directions, through aliases", () => {
    expect(list(graph.callees, node("main"))).toEqual(
      [node("odd"), node("self"), node("viaAlias")].sort((a, b) => a - b),
    );
    expect(list(graph.callers, node("leaf"))).toEqual([node("odd")]);
    expect(list(graph.callers, node("odd"))).toEqual([node("even"), node("main")]);
  });
  it("knows what is open and what calls unknown code", () => {
    const flags = (name: string): number[] =>
      [graph.openToCallers, graph.addressTaken, graph.callsUnknown].map((f) => f[node(name)]!);
    expect(flags("leaf")).toEqual([0, 0, 0]);
    expect(flags("taken")).toEqual([1, 1, 0]);
    expect(flags("viaAlias")).toEqual([1, 1, 0]);
    expect(flags("main")).toEqual([1, 0, 1]);
    expect(flags("indirect")[2]).toBe(1);
    expect(flags("assembler")[2]).toBe(1);
  });
  it("orders components bottom-up in waves", () => {
    const { componentOf, recursive, waves, count } = graph.components;
    expect(componentOf[node("even")]).toBe(componentOf[node("odd")]);
    expect(count).toBe(8);
    expect(componentOf[node("leaf")]!).toBeLessThan(componentOf[node("odd")]!);
    expect(componentOf[node("odd")]!).toBeLessThan(componentOf[node("main")]!);
    expect([node("odd"), node("self"), node("main")].map((n) => recursive[componentOf[n]!])).toEqual([
      1, 1, 0,
    ]);
    expect(waves).toHaveLength(3);
    expect(waves[0]).toContain(componentOf[node("leaf")]);
    expect(waves[1]).toEqual([componentOf[node("odd")]]);
    expect(waves[2]).toEqual([componentOf[node("main")]]);
  });
});

describe("components", () => {
  it("are those of mutual reachability, callees first, on random graphs", () => {
    const random = new Random(5);
    for (let round = 0; round < 200; round++) {
      const count = 1 + random.below(12);
      const edges = Array.from({ length: count }, () => [
        ...new Set(Array.from({ length: random.below(3) }, () => random.below(count))),
      ]);
      const start = new Int32Array(count + 1);
      edges.forEach((e, i) => {
        start[i + 1] = start[i]! + e.length;
      });
      const { componentOf, members } = findComponents({ start, items: Int32Array.from(edges.flat()) }, count);
      const reach = edges.map((_, from) => {
        const seen = new Set([from]);
        for (const n of seen) for (const to of edges[n]!) seen.add(to);
        return seen;
      });
      for (let a = 0; a < count; a++)
        for (let b = 0; b < count; b++) {
          expect(componentOf[a] === componentOf[b]).toBe(reach[a]!.has(b) && reach[b]!.has(a));
          if (reach[a]!.has(b)) expect(componentOf[b]!).toBeLessThanOrEqual(componentOf[a]!);
        }
      expect([...members.items].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
    }
  });
  it("take chains longer than any call stack", () => {
    const count = 200_000;
    const start = Int32Array.from({ length: count + 1 }, (_, i) => Math.min(i, count - 1));
    const { count: found, waves } = findComponents(
      { start, items: Int32Array.from({ length: count - 1 }, (_, i) => i + 1) },
      count,
    );
    expect([found, waves.length]).toEqual([count, count]);
  });
});
