/**
 * Graph colouring after Chaitin and Briggs: `graph`.
 *
 * Nodes are bundles, edges join bundles that live at the same time. Copies between nodes are coalesced
 * conservatively (Briggs: the merged node has fewer than K neighbours of significant degree), nodes are removed
 * in order of degree, the cheapest to spill optimistically once none is easy, and coloured in reverse. What gets
 * no colour is taken apart (`split.ts`), and the graph is built again, until all nodes are coloured.
 *
 * K is the number of registers a node may be in, after its operands' constraints, clobbers and fixed operands.
 * Time and memory: the number of interferences, which is bounded by leaving out what lives where far too much does,
 * times the rounds (few, at most the levels of splitting). The classic to compare with.
 */
import { intersect, isEmptySet, registerCount } from "../register-set.js";
import { Assignment } from "./assignment.js";
import { type Bundle, mergeRanges, overlap, SplitLevel } from "./bundle.js";
import type { Affinity, Coalescing } from "./coalesce.js";
import type { AllocationProblem, Placement } from "./problem.js";

/** Places the bundles of `coalescing`, after merging more of them. */
export function allocateGraph(problem: AllocationProblem, coalescing: Coalescing): Placement {
  return new GraphColoring(problem, coalescing).run();
}

/** Adjacency lists of bundles by position in a list. */
interface Graph {
  readonly nodes: Bundle[];
  readonly neighbours: number[][];
  /** 1 for nodes that live where too many others do: they get no colour. */
  readonly excess: Uint8Array;
}

/** Nodes of one class that may live at the same time; of more the least worth keeping are left out at once. */
const pressureLimit = 64;
/** Nodes with more neighbours are not coalesced any further. */
const degreeLimit = 256;

class GraphColoring {
  private readonly state: Assignment;
  private bundles: Bundle[];

  constructor(problem: AllocationProblem, coalescing: Coalescing) {
    this.state = new Assignment(problem, coalescing, (bundle) => bundle.id);
    for (const bundle of coalescing.bundles) this.state.costs.measure(bundle);
    this.bundles = this.coalesceConservatively(coalescing.bundles, coalescing.affinities);
    for (const bundle of this.bundles) this.state.enter(bundle);
  }

  run(): Placement {
    const { state } = this;
    while (this.bundles.length > 0) {
      const uncoloured = this.colour(buildGraph(this.bundles));
      if (uncoloured.length === 0) break;
      const parts: Bundle[] = [];
      for (const bundle of uncoloured) {
        state.forget(bundle);
        for (const part of state.splitter.split(bundle)) {
          state.enter(part);
          parts.push(part);
        }
      }
      const coloured = this.bundles.filter((bundle) => !bundle.dead);
      for (const bundle of coloured) if (bundle.register >= 0) state.unassign(bundle);
      this.bundles = coloured.concat(parts);
    }
    state.improve();
    return state.placement();
  }

  /** Briggs's test on the bundles that the coalescer left apart. */
  private coalesceConservatively(bundles: readonly Bundle[], rest: readonly Affinity[]): Bundle[] {
    const { problem, costs } = this.state;
    const of: (Bundle | null)[] = new Array(problem.fn.vregs.length).fill(null);
    for (const bundle of bundles) for (const range of bundle.ranges) of[range.vreg] = bundle;
    const { nodes, neighbours, excess } = buildGraph(bundles);
    const position = new Map<Bundle, number>(nodes.map((node, n) => [node, n]));
    const degree = (n: number): number => neighbours[n]!.length;
    const colours = (bundle: Bundle): number => registerCount(intersect(bundle.permitted, bundle.unblocked));
    const current = (n: number): Bundle => {
      let bundle = nodes[n]!;
      while (bundle.dead) bundle = of[bundle.ranges[0]?.vreg ?? mergedInto.get(bundle)!]!;
      return bundle;
    };
    const mergedInto = new Map<Bundle, number>();
    for (const { a, b } of rest) {
      const x = of[a];
      const y = of[b];
      if (x == null || y == null || x === y || x.cls !== y.cls) continue;
      if (x.shadows.length + y.shadows.length > 0 || overlap(x, y)) continue;
      const common = intersect(intersect(x.permitted, x.unblocked), intersect(y.permitted, y.unblocked));
      if (isEmptySet(common)) continue;
      const nodeX = position.get(x)!;
      const nodeY = position.get(y)!;
      if (excess[nodeX] === 1 || excess[nodeY] === 1) continue;
      if (degree(nodeX) > degreeLimit || degree(nodeY) > degreeLimit) continue;
      const together = new Set([...neighbours[nodeX]!, ...neighbours[nodeY]!]);
      let significant = 0;
      for (const n of together) if (degree(n) >= colours(current(n))) significant++;
      if (significant >= registerCount(common)) continue;
      const [into, from] = x.ranges.length >= y.ranges.length ? [x, y] : [y, x];
      mergedInto.set(from, from.ranges[0]!.vreg);
      for (const range of from.ranges) of[range.vreg] = into;
      into.ranges = mergeRanges(into.ranges, from.ranges);
      from.ranges = [];
      from.dead = true;
      neighbours[position.get(into)!] = [...together];
      for (const n of together)
        if (!neighbours[n]!.includes(position.get(into)!)) neighbours[n]!.push(position.get(into)!);
      costs.measure(into);
    }
    return bundles.filter((bundle) => !bundle.dead);
  }

  /** Colours what it can; returns the rest. */
  private colour(graph: Graph): Bundle[] {
    const { state } = this;
    const failed: Bundle[] = [];
    for (const n of eliminationOrder(graph)) {
      const bundle = graph.nodes[n]!;
      if (bundle.register >= 0) continue;
      if (graph.excess[n] === 1 && bundle.level !== SplitLevel.Minimal) {
        failed.push(bundle);
        continue;
      }
      const count = state.rank(bundle);
      const free = state.firstFree(bundle, count);
      if (free >= 0 && !state.prefersMemory(bundle, free)) state.assign(bundle, free);
      else if (bundle.level === SplitLevel.Minimal) this.force(bundle, failed);
      else failed.push(bundle);
    }
    return failed;
  }

  /** A minimal bundle must be placed: others give way. */
  private force(bundle: Bundle, failed: Bundle[]): void {
    const { state } = this;
    let best: Bundle[] | null = null;
    let register = -1;
    let bestWeight = bundle.weight;
    const count = state.rank(bundle);
    for (let k = 0; k < count; k++) {
      const owners = state.ownersOf(bundle, state.order[k]!);
      const weight = owners.reduce((sum, owner) => sum + owner.weight, 0);
      if (weight < bestWeight) {
        best = owners;
        bestWeight = weight;
        register = state.order[k]!;
      }
    }
    if (best === null) {
      if (!state.rearrange(bundle, new Set())) state.split(bundle);
      return;
    }
    for (const owner of best) {
      state.unassign(owner);
      failed.push(owner);
    }
    state.assign(bundle, register);
  }
}

/** Interferences by a sweep over all ranges in order of their starts. */
function buildGraph(bundles: readonly Bundle[]): Graph {
  const nodes = [...bundles];
  const events: { start: number; end: number; node: number }[] = [];
  for (let n = 0; n < nodes.length; n++) {
    for (const { start, end } of nodes[n]!.ranges) events.push({ start, end, node: n });
  }
  events.sort((a, b) => a.start - b.start || a.node - b.node);
  const sets: Set<number>[] = nodes.map(() => new Set());
  const excess = new Uint8Array(nodes.length);
  const activeOf: { end: number; node: number }[][] = [];
  for (const { start, end, node } of events) {
    if (excess[node] === 1) continue;
    const active = (activeOf[nodes[node]!.cls] ??= []);
    let kept = 0;
    for (const other of active) if (other.end > start) active[kept++] = other;
    active.length = kept;
    for (const other of active) {
      if (other.node === node) continue;
      sets[node]!.add(other.node);
      sets[other.node]!.add(node);
    }
    active.push({ end, node });
    if (active.length > pressureLimit) {
      let lightest = 0;
      for (let k = 1; k < active.length; k++) {
        if (nodes[active[k]!.node]!.weight < nodes[active[lightest]!.node]!.weight) lightest = k;
      }
      excess[active[lightest]!.node] = 1;
      active[lightest] = active[active.length - 1]!;
      active.pop();
    }
  }
  return { nodes, neighbours: sets.map((set) => [...set]), excess };
}

/** Nodes in the order in which to colour them: the reverse of the order of removal. */
function eliminationOrder({ nodes, neighbours }: Graph): number[] {
  const degree = neighbours.map((list) => list.length);
  const limit = nodes.map((node) => registerCount(intersect(node.permitted, node.unblocked)));
  const removed = new Uint8Array(nodes.length);
  const easy: number[] = [];
  for (let n = nodes.length - 1; n >= 0; n--) if (degree[n]! < limit[n]!) easy.push(n);
  // The others by what spilling them costs per neighbour it frees, the cheapest first.
  const hard = nodes
    .map((_, n) => n)
    .sort(
      (a, b) =>
        nodes[a]!.weight / (neighbours[a]!.length + 1) - nodes[b]!.weight / (neighbours[b]!.length + 1) ||
        a - b,
    );
  let next = 0;
  const order: number[] = [];
  for (;;) {
    let n = -1;
    while (easy.length > 0 && n < 0) {
      const candidate = easy.pop()!;
      if (removed[candidate] === 0) n = candidate;
    }
    while (n < 0 && next < hard.length) {
      const candidate = hard[next++]!;
      if (removed[candidate] === 0) n = candidate;
    }
    if (n < 0) break;
    removed[n] = 1;
    order.push(n);
    for (const other of neighbours[n]!) {
      if (removed[other] === 0 && --degree[other]! === limit[other]! - 1) easy.push(other);
    }
  }
  return order.reverse();
}
