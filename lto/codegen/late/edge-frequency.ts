/**
 * How often edges run, from how often blocks do: what comes into a block goes out of it.
 *
 * The only edge out of a block, or into one, runs as often as the block; so does the last one that is not known, less the
 * others. Where that leaves several, as where two branches lead to the same two blocks, they start from what both ends allow,
 * and are made larger or smaller together until the sums are right (iterative proportional fitting: Deming & Stephan, "On a
 * least squares adjustment of a sampled frequency table when the expected marginal totals are known", 1940).
 * Linear in edges: each is looked at when an edge beside it has become known, and a few times more.
 */
import type { MBlock } from "../mir.js";

/** After these, sums of three ways out of a loop were right within a few percent. */
const fittings = 4;

interface Edge {
  readonly from: number;
  readonly to: number;
  executions: number;
  isKnown: boolean;
}

/** By position of the block that an edge comes from, and by successor. */
export type EdgeFrequencies = readonly (readonly number[])[];

/** What both ends allow, where blocks have weights that edges do not share. */
export const edgeBounds = (
  blocks: readonly MBlock[],
  positions: Int32Array,
  weights: Float64Array,
): EdgeFrequencies =>
  blocks.map(({ succs }, from) =>
    succs.map((succ) => {
      const to = weights[positions[succ.id]!]!;
      if (succs.length === 1) return weights[from]!;
      return succ.preds.length === 1 ? to : Math.min(weights[from]! / 2, to);
    }),
  );

/** @param frequencies of blocks, by position */
export function edgeFrequencies(
  blocks: readonly MBlock[],
  positions: Int32Array,
  frequencies: Float64Array,
): EdgeFrequencies {
  const into: Edge[][] = blocks.map(() => []);
  const out = blocks.map(({ succs }, from) =>
    succs.map((succ): Edge => {
      const to = positions[succ.id]!;
      const edge = {
        from,
        to,
        executions: Math.min(frequencies[from]! / 2, frequencies[to]!),
        isKnown: false,
      };
      into[to]!.push(edge);
      return edge;
    }),
  );
  // What enters the function, or comes by an address, is no edge.
  const isComplete = (b: number): boolean => b > 0 && !blocks[b]!.addressTaken;
  const work = [...out, ...into.filter((_, b) => isComplete(b))];
  for (let edges = work.pop(); edges !== undefined; edges = work.pop()) {
    const unknown = edges.filter(({ isKnown }) => !isKnown);
    if (unknown.length !== 1) continue;
    const edge = unknown[0]!;
    const all = frequencies[edges === out[edge.from] ? edge.from : edge.to]!;
    const others = edges.reduce((sum, { executions }) => sum + executions, -edge.executions);
    edge.executions = Math.max(0, all - others);
    edge.isKnown = true;
    work.push(out[edge.from]!);
    if (isComplete(edge.to)) work.push(into[edge.to]!);
  }
  for (let n = 0; n < fittings; n++) {
    out.forEach((edges, b) => {
      fit(edges, frequencies[b]!);
    });
    into.forEach((edges, b) => {
      if (isComplete(b)) fit(edges, frequencies[b]!);
    });
  }
  return out.map((edges) => edges.map(({ executions }) => executions));
}

/** Those that are not known share what the others leave, as they are to each other. */
function fit(edges: readonly Edge[], all: number): void {
  let known = 0;
  let others = 0;
  for (const { isKnown, executions } of edges)
    if (isKnown) known += executions;
    else others += executions;
  if (others === 0) return;
  const factor = Math.max(0, all - known) / others;
  for (const edge of edges) if (!edge.isKnown) edge.executions *= factor;
}
