/**
 * The call graph of a linked module, from its summary, and its strongly connected components bottom-up.
 *
 * Nodes are the module's function definitions, numbered densely in module order; the external world is not a
 * node but three flags. Edges are direct calls, also through aliases. Components by Tarjan's algorithm
 * (SIAM J. Comput. 1, 1972) without recursion; it yields callees before callers, which is the bottom-up order.
 * A component's wave is one more than the largest of its callees', so components of one wave can be worked
 * on in parallel. Time and memory are linear in functions and calls.
 *
 * It is as true as the summary: after edits, build it again from `updatedSummary`.
 */
import { isReservedName } from "../ir/intrinsics.js";
import type { ModuleSummary } from "./summary.js";
import { Trait } from "./summary.js";

/** Lists of numbers by node, end to end: those of node n are `items[start[n] … start[n + 1] - 1]`. */
export interface Adjacency {
  readonly start: Int32Array;
  readonly items: Int32Array;
}

export interface CallGraph {
  /** Index in the summary of each node, and the other way round (-1 for what is not a node). */
  readonly symbolOf: Int32Array;
  readonly nodeOf: Int32Array;
  /** Distinct direct callees and callers, ascending. */
  readonly callees: Adjacency;
  readonly callers: Adjacency;
  /** 1: may be entered from unknown code: not local, or its address is taken. */
  readonly openToCallers: Uint8Array;
  /** 1: its address is taken, in a body, an initialiser, an alias, a used list or assembly. */
  readonly addressTaken: Uint8Array;
  /** 1: calls unknown code: a declaration that is no intrinsic, an ifunc, a pointer or inline assembly. */
  readonly callsUnknown: Uint8Array;
  readonly components: Components;
}

export interface Components {
  readonly count: number;
  /** Component of each node; components are numbered bottom-up. */
  readonly componentOf: Int32Array;
  /** Members of each component, ascending. */
  readonly members: Adjacency;
  /** 1: a member calls a member of the same component. */
  readonly recursive: Uint8Array;
  /** Components of each wave, ascending; wave 0 calls no function definition outside of itself. */
  readonly waves: readonly (readonly number[])[];
}

/** Builds the call graph of the module that a summary describes. */
export function buildCallGraph(summary: ModuleSummary): CallGraph {
  const { symbols } = summary;
  const nodeOf = new Int32Array(symbols.length).fill(-1);
  const nodes: number[] = [];
  symbols.forEach((symbol, index) => {
    if (symbol.kind !== "function" || symbol.isDeclaration) return;
    nodeOf[index] = nodes.length;
    nodes.push(index);
  });
  const symbolOf = Int32Array.from(nodes);
  const callsUnknown = new Uint8Array(nodes.length);
  const addressTaken = new Uint8Array(nodes.length);
  const openToCallers = new Uint8Array(nodes.length);
  const lists: number[][] = nodes.map((index, node) => {
    const symbol = symbols[index]!;
    if ((symbol.traits & graphTraits) !== 0) callsUnknown[node] = 1;
    if (symbol.linkage !== "internal" && symbol.linkage !== "private") openToCallers[node] = 1;
    const callees: number[] = [];
    let last = -1;
    let isAscending = true;
    for (const call of symbol.calls) {
      const target = throughAliases(summary, call);
      const callee = nodeOf[target]!;
      // A definition that another may replace at load time is as unknown as a declaration; callers that
      // care look at its linkage. Intrinsics become calls of runtime routines at most.
      if (callee >= 0) {
        callees.push(callee);
        if (callee <= last) isAscending = false;
        last = callee;
      } else if (!isReservedName(symbols[target]!.name)) callsUnknown[node] = 1;
    }
    // Calls are, but for those through aliases.
    return isAscending ? callees : [...new Set(callees)].sort((a, b) => a - b);
  });
  const take = (reference: number): void => {
    const node = nodeOf[throughAliases(summary, reference)]!;
    if (node < 0) return;
    addressTaken[node] = 1;
    openToCallers[node] = 1;
  };
  for (const symbol of symbols) symbol.references.forEach(take);
  summary.pinned?.forEach(take);
  const callees = toAdjacency(lists);
  const callers = reverse(callees, nodes.length);
  return {
    symbolOf,
    nodeOf,
    callees,
    callers,
    openToCallers,
    addressTaken,
    callsUnknown,
    components: findComponents(callees, nodes.length),
  };
}

const graphTraits = Trait.IndirectCalls | Trait.InlineAsm;

/** Whether two summaries describe the same call graph. */
export function sameCalls(a: ModuleSummary, b: ModuleSummary): boolean {
  if (a === b) return true;
  if (a.symbols.length !== b.symbols.length || !sameNumbers(a.pinned ?? [], b.pinned ?? [])) return false;
  for (let i = 0; i < a.symbols.length; i++) {
    const x = a.symbols[i]!;
    const y = b.symbols[i]!;
    if (x === y) continue;
    if (x.name !== y.name || x.kind !== y.kind || x.linkage !== y.linkage) return false;
    if (x.isDeclaration !== y.isDeclaration || ((x.traits ^ y.traits) & graphTraits) !== 0) return false;
    if (!sameNumbers(x.calls, y.calls) || !sameNumbers(x.references, y.references)) return false;
  }
  return true;
}
function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** The components with more callees, by node: calls through pointers, as far as somebody knows their callees. */
export function componentsWith(
  { callees: { start, items } }: CallGraph,
  more: ReadonlyMap<number, readonly number[]>,
): Components {
  const count = start.length - 1;
  const first = new Int32Array(count + 1);
  for (let node = 0; node < count; node++)
    first[node + 1] = first[node]! + start[node + 1]! - start[node]! + (more.get(node)?.length ?? 0);
  const all = new Int32Array(first[count]!);
  for (let node = 0; node < count; node++) {
    const own = items.subarray(start[node], start[node + 1]);
    all.set(own, first[node]!);
    all.set(more.get(node) ?? [], first[node]! + own.length);
  }
  return findComponents({ start: first, items: all }, count);
}

/** The symbol that a chain of aliases ends at. */
function throughAliases({ symbols }: ModuleSummary, index: number): number {
  let current = index;
  for (let steps = 0; steps < symbols.length; steps++) {
    const symbol = symbols[current]!;
    if (symbol.kind !== "alias" || symbol.references.length !== 1) return current;
    current = symbol.references[0]!;
  }
  return current;
}

function toAdjacency(lists: readonly (readonly number[])[]): Adjacency {
  const start = new Int32Array(lists.length + 1);
  lists.forEach((list, i) => {
    start[i + 1] = start[i]! + list.length;
  });
  const items = new Int32Array(start[lists.length]!);
  lists.forEach((list, i) => {
    items.set(list, start[i]);
  });
  return { start, items };
}

function reverse({ start, items }: Adjacency, count: number): Adjacency {
  const reversed = new Int32Array(count + 1);
  for (const target of items) reversed[target + 1]!++;
  for (let i = 0; i < count; i++) reversed[i + 1]! += reversed[i]!;
  const next = reversed.slice();
  const result = new Int32Array(items.length);
  for (let node = 0; node < count; node++)
    for (let i = start[node]!; i < start[node + 1]!; i++) result[next[items[i]!]!++] = node;
  return { start: reversed, items: result };
}

/** Strongly connected components of a graph of `count` nodes, callees first. */
export function findComponents(edges: Adjacency, count: number): Components {
  const { start, items } = edges;
  const componentOf = new Int32Array(count).fill(-1);
  // Tarjan's numbering: order of discovery, the earliest node reachable, the open nodes.
  const order = new Int32Array(count).fill(-1);
  const low = new Int32Array(count);
  const open: number[] = [];
  const path: number[] = [];
  const nextEdge = start.slice(0, count);
  let discovered = 0;
  let components = 0;
  const enter = (node: number): void => {
    order[node] = low[node] = discovered++;
    open.push(node);
    path.push(node);
  };
  for (let root = 0; root < count; root++) {
    if (order[root]! >= 0) continue;
    enter(root);
    while (path.length > 0) {
      const node = path[path.length - 1]!;
      if (nextEdge[node]! < start[node + 1]!) {
        const target = items[nextEdge[node]!++]!;
        if (order[target]! < 0) enter(target);
        else if (componentOf[target]! < 0) low[node] = Math.min(low[node]!, order[target]!);
        continue;
      }
      path.pop();
      const parent = path[path.length - 1];
      if (parent !== undefined) low[parent] = Math.min(low[parent]!, low[node]!);
      if (low[node] !== order[node]) continue;
      let member: number;
      do {
        member = open.pop()!;
        componentOf[member] = components;
      } while (member !== node);
      components++;
    }
  }
  return describe(edges, count, componentOf, components);
}

function describe(
  { start, items }: Adjacency,
  count: number,
  componentOf: Int32Array,
  components: number,
): Components {
  const lists: number[][] = Array.from({ length: components }, () => []);
  for (let node = 0; node < count; node++) lists[componentOf[node]!]!.push(node);
  const recursive = new Uint8Array(components);
  const wave = new Int32Array(components);
  const waves: number[][] = [];
  for (let component = 0; component < components; component++) {
    let level = 0;
    for (const node of lists[component]!)
      for (let i = start[node]!; i < start[node + 1]!; i++) {
        const callee = componentOf[items[i]!]!;
        if (callee === component) recursive[component] = 1;
        else level = Math.max(level, wave[callee]! + 1);
      }
    wave[component] = level;
    while (waves.length <= level) waves.push([]);
    waves[level]!.push(component);
  }
  return { count: components, componentOf, members: toAdjacency(lists), recursive, waves };
}
