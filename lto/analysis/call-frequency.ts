/**
 * How often each function of a program runs, estimated from the call graph.
 *
 * A function runs once for each entry from unknown code (open functions) and as often as its callers' call sites
 * do. Callers come first: the graph is walked in reverse postorder; what leads back is recursion and makes its
 * target count `recursion` times instead. Only proportions matter.
 * Linear in the calls.
 */

/** A call of a function by its number. */
export interface EstimatedCall {
  readonly callee: number;
  /** Executions of the call for one of the function. */
  readonly frequency: number;
}
export interface CallingFunction {
  /** Executions by unknown code that may enter it. */
  readonly entries: number;
  readonly calls: readonly EstimatedCall[];
}

/** Executions of a function that calls itself, directly or not, for each call from outside. */
const recursion = 8;
/** Call chains through many loops multiply beyond anything that programs do. */
const most = 2 ** 24;

/** Estimated executions of each function, by number. */
export function callFrequencies(functions: readonly CallingFunction[]): Float64Array {
  const { order, position } = reversePostorder(functions);
  const frequencies = Float64Array.from(functions, (fn) => fn.entries);
  const recursive = new Uint8Array(functions.length);
  for (const f of order)
    for (const { callee } of functions[f]!.calls)
      if (position[callee]! <= position[f]!) recursive[callee] = 1;
  for (const f of order) {
    const here = Math.min(frequencies[f]! * (recursive[f] === 1 ? recursion : 1), most);
    frequencies[f] = here;
    for (const { callee, frequency } of functions[f]!.calls)
      if (position[callee]! > position[f]!) frequencies[callee]! += here * frequency;
  }
  return frequencies;
}

/** Depth-first from the open functions, then from what they do not reach. */
function reversePostorder(functions: readonly CallingFunction[]): { order: number[]; position: Int32Array } {
  const count = functions.length;
  const seen = new Uint8Array(count);
  const next = new Int32Array(count);
  const order: number[] = [];
  const visit = (root: number): void => {
    if (seen[root] === 1) return;
    seen[root] = 1;
    const path = [root];
    while (path.length > 0) {
      const f = path[path.length - 1]!;
      const call = functions[f]!.calls[next[f]!++];
      if (call === undefined) {
        order.push(f);
        path.pop();
      } else if (seen[call.callee] === 0) {
        seen[call.callee] = 1;
        path.push(call.callee);
      }
    }
  };
  // Roots visited last come first in the reversed order.
  for (let f = count - 1; f >= 0; f--) if (functions[f]!.entries > 0) visit(f);
  for (let f = count - 1; f >= 0; f--) visit(f);
  order.reverse();
  const position = new Int32Array(count);
  order.forEach((f, i) => {
    position[f] = i;
  });
  return { order, position };
}
