/**
 * How hot the functions of a program are: `analysis/heat.ts`, from frequencies of calls in all bodies. Linear in the bodies.
 */
import { estimatedFrequencies } from "../analysis/branch-probability.js";
import { callFrequencies, type EstimatedCall } from "../analysis/call-frequency.js";
import type { CallGraph } from "../analysis/call-graph.js";
import { callWorks } from "../analysis/call-work.js";
import { bodySuccessors } from "../analysis/cfg.js";
import { type Executions, executionsAt, executionsOf, workIn } from "../analysis/executions.js";
import { functionHeat, timeBytes } from "../analysis/heat.js";
import { loopNest } from "../analysis/loop-nest.js";
import { bareCall, callWork } from "../analysis/loop-shares.js";
import type { Block, BodyView } from "../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../ir/module.js";
import type { Value } from "../ir/values.js";

interface CallFrequency {
  readonly callee: Value;
  readonly frequency: number;
}
interface BodyFacts {
  readonly revision: number;
  /** Of functions, by name or by pointer. */
  readonly calls: readonly CallFrequency[];
  /** Instructions that one execution takes, without those of what is called. */
  readonly work: number;
}

/** By the revision of the body: in most nothing has changed since a pass asked last. */
const known = new WeakMap<Func, BodyFacts>();

function factsOf(fn: Func): BodyFacts {
  const { revision } = fn;
  const before = known.get(fn);
  if (before?.revision === revision) return before;
  const facts = { revision, ...fn.peek(lookAt) };
  known.set(fn, facts);
  return facts;
}

function lookAt(body: BodyView): Omit<BodyFacts, "revision"> {
  body.renumber();
  const { blocks } = body;
  const successors = bodySuccessors(body);
  const frequencies =
    blocks.length === 1 ? oneBlock : estimatedFrequencies(blocks, successors, loopNest(successors, [0]));
  const calls: CallFrequency[] = [];
  let work = 0;
  blocks.forEach((block, b) => {
    const frequency = frequencies[b]!;
    const own = workIn(block, (callee) => {
      calls.push({ callee, frequency });
      return 0;
    });
    work += frequency * own;
  });
  return { calls, work };
}
const oneBlock = Float64Array.of(1);

/** What is known of the time of functions. */
export interface FunctionTimes {
  /** `functionHeat` of each with a body. */
  readonly heats: ReadonlyMap<Func, number>;
  /** Instructions that one call executes, all that it calls with them. */
  readonly works: ReadonlyMap<Func, number>;
}

/** Instructions that a call of this executes: `callWork` where that is not known. */
export function workOfCall(times: FunctionTimes | null, callee: Value): number {
  if (times === null || callee.valueKind !== "global" || callee.kind !== "function") return callWork;
  return times.works.get(callee) ?? callWork;
}

/** Of every function with a body. */
export function functionTimes({ functions: all, globals }: Module, graph: CallGraph): FunctionTimes {
  const functions = all.filter((fn) => !fn.isDeclaration);
  const numbers = new Map<Value, number>(functions.map((fn, i) => [fn, i]));
  const open = new Set<GlobalValue>();
  graph.symbolOf.forEach((symbol, node) => {
    if (graph.openToCallers[node] === 1) open.add(globals[symbol]!);
  });
  const facts = functions.map((fn) => {
    const { calls, work } = factsOf(fn);
    const ofKnown: EstimatedCall[] = [];
    let ownWork = bareCall + work;
    for (const { callee: symbol, frequency } of calls) {
      const callee = numbers.get(symbol);
      if (callee === undefined) ownWork += frequency * callWork;
      else ofKnown.push({ callee, frequency });
    }
    return { open: open.has(fn), calls: ofKnown, ownWork };
  });
  const executions = callFrequencies(facts);
  const works = callWorks(facts);
  return {
    heats: new Map(functions.map((fn, i) => [fn, functionHeat(executions[i]!)])),
    works: new Map(functions.map((fn, i) => [fn, works[i]!])),
  };
}

/** Instructions that are executed more where code is called: the call, a return, and a value on each way. */
export const callInstructions = 4;

/** What time is worth in blocks of functions for size. Bodies have to be numbered, and stay as they are between `forget`s. */
export class BlockTimes {
  private readonly executions = new Map<Func, Executions>();

  /** @param times null, and @param sizeTime the knob 0, where nobody gives bytes for time */
  constructor(
    private readonly times: FunctionTimes | null,
    private readonly sizeTime: number,
  ) {}

  /** Bytes that the block may take so that so many instructions are executed less. */
  bytes(fn: Func, { id }: Block, instructions: number): number {
    const heat = this.times?.heats.get(fn);
    if (heat === undefined || this.sizeTime === 0) return 0;
    let known = this.executions.get(fn);
    if (known === undefined) this.executions.set(fn, (known = executionsOf(fn.view(), this.workOf)));
    const { frequency, times, share } = executionsAt(known, id);
    return timeBytes(this.sizeTime, { heat: heat * frequency, times, share }, instructions);
  }

  private readonly workOf = (callee: Value): number => workOfCall(this.times, callee);

  /** Bodies have changed. */
  forget(): void {
    this.executions.clear();
  }
}
