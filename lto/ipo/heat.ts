/**
 * How hot the functions of a program are: `analysis/heat.ts`, from frequencies of calls in all bodies. Linear in the bodies.
 */
import { callFrequencies } from "../analysis/call-frequency.js";
import type { CallGraph } from "../analysis/call-graph.js";
import { type Executions, executionsAt, executionsOf } from "../analysis/executions.js";
import { functionHeat, timeBytes } from "../analysis/heat.js";
import type { Block } from "../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../ir/module.js";
import { placedCalls } from "./inline/body-cost.js";

interface CallFrequency {
  readonly callee: GlobalValue;
  readonly frequency: number;
}

/** By the revision of the body: in most nothing has changed since a pass asked last. */
const known = new WeakMap<Func, { readonly revision: number; readonly calls: readonly CallFrequency[] }>();

function callsOf(fn: Func): readonly CallFrequency[] {
  const { revision } = fn;
  const before = known.get(fn);
  if (before?.revision === revision) return before.calls;
  const calls = fn
    .peek(placedCalls)
    .map(({ call, frequency }) => ({ callee: call.operands[0] as GlobalValue, frequency }));
  known.set(fn, { revision, calls });
  return calls;
}

/** Of every function with a body. */
export function functionHeats({ functions: all, globals }: Module, graph: CallGraph): Map<Func, number> {
  const functions = all.filter((fn) => !fn.isDeclaration);
  const numbers = new Map<GlobalValue, number>(functions.map((fn, i) => [fn, i]));
  const open = new Set<GlobalValue>();
  graph.symbolOf.forEach((symbol, node) => {
    if (graph.openToCallers[node] === 1) open.add(globals[symbol]!);
  });
  const executions = callFrequencies(
    functions.map((fn) => ({
      open: open.has(fn),
      calls: callsOf(fn).flatMap(({ callee: symbol, frequency }) => {
        const callee = numbers.get(symbol);
        return callee === undefined ? [] : [{ callee, frequency }];
      }),
    })),
  );
  return new Map(functions.map((fn, i) => [fn, functionHeat(executions[i]!)]));
}

/** Instructions that are executed more where code is called: the call, a return, and a value on each way. */
export const callInstructions = 4;

/** What time is worth in blocks of functions for size. Bodies have to be numbered, and stay as they are between `forget`s. */
export class BlockTimes {
  private readonly executions = new Map<Func, Executions>();

  /** @param sizeTime the knob: 0 where nobody gives bytes for time */
  constructor(
    private readonly heats: ReadonlyMap<Func, number>,
    private readonly sizeTime: number,
  ) {}

  /** Bytes that the block may take so that so many instructions are executed less. */
  bytes(fn: Func, { id }: Block, instructions: number): number {
    const heat = this.heats.get(fn);
    if (heat === undefined || this.sizeTime === 0) return 0;
    let known = this.executions.get(fn);
    if (known === undefined) this.executions.set(fn, (known = executionsOf(fn.view())));
    const { frequency, times, share } = executionsAt(known, id);
    return timeBytes(this.sizeTime, { heat: heat * frequency, times, share }, instructions);
  }

  /** Bodies have changed. */
  forget(): void {
    this.executions.clear();
  }
}
