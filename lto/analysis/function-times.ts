/**
 * How hot the functions of a program are: `heat.ts`, from frequencies of calls in all bodies. Linear in the bodies.
 *
 * A call through a pointer may be one of any function of its signature whose address is taken: what an interpreter dispatches,
 * or is virtual, is as hot as what calls it, and may be recursive by that.
 */

import { type Block, type BodyView, isIndirectCall } from "../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../ir/module.js";
import type { Type } from "../ir/types.js";
import type { Value } from "../ir/values.js";
import { estimatedFrequencies } from "./branch-probability.js";
import { callFrequencies, type EstimatedCall } from "./call-frequency.js";
import type { CallGraph } from "./call-graph.js";
import { callWorks } from "./call-work.js";
import { bodySuccessors } from "./cfg.js";
import { type Executions, executionsAt, executionsOf, workIn } from "./executions.js";
import { functionHeat, timeBytes } from "./heat.js";
import { loopNest } from "./loop-nest.js";
import { bareCall, callWork } from "./loop-shares.js";

interface CallFrequency {
  readonly callee: Value;
  readonly frequency: number;
}
interface BodyFacts {
  readonly revision: number;
  /** Of functions, by name. */
  readonly calls: readonly CallFrequency[];
  /** Calls through pointers, by the signature that they call. */
  readonly pointerCalls: ReadonlyMap<Type, number>;
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
  let pointerCalls: Map<Type, number> = none;
  let work = 0;
  blocks.forEach((block, b) => {
    const frequency = frequencies[b]!;
    const own = workIn(block, (callee, call) => {
      if (isIndirectCall(call)) {
        if (pointerCalls === none) pointerCalls = new Map();
        const type = call.data.functionType;
        pointerCalls.set(type, (pointerCalls.get(type) ?? 0) + frequency);
      } else calls.push({ callee, frequency });
      return 0;
    });
    work += frequency * own;
  });
  return { calls, pointerCalls, work };
}
const oneBlock = Float64Array.of(1);
const none = new Map<Type, number>();

/** What is known of the time of functions. */
export interface FunctionTimes {
  /** `functionHeat` of each with a body. */
  readonly heats: ReadonlyMap<Func, number>;
  /** Instructions that one call executes, all that it calls with them. */
  readonly works: ReadonlyMap<Func, number>;
  /** Estimated executions by calls through pointers. */
  readonly pointerEntries: ReadonlyMap<Func, number>;
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
  const withFlag = (of: Uint8Array): ReadonlySet<GlobalValue> =>
    new Set([...graph.symbolOf].filter((_, node) => of[node] === 1).map((symbol) => globals[symbol]!));
  const open = withFlag(graph.openToCallers);
  const signatures = signaturesOf(functions, withFlag(graph.addressTaken));
  const facts = functions.map((fn) => {
    const { calls, pointerCalls, work } = factsOf(fn);
    const ofKnown: EstimatedCall[] = [];
    let ownWork = bareCall + work;
    const add = (callee: number | undefined, frequency: number): void => {
      if (callee === undefined) ownWork += frequency * callWork;
      else ofKnown.push({ callee, frequency });
    };
    for (const { callee, frequency } of calls) add(numbers.get(callee), frequency);
    for (const [type, frequency] of pointerCalls) add(signatures.get(type)?.number, frequency);
    return { entries: open.has(fn) ? 1 : 0, calls: ofKnown, ownWork };
  });
  const choices = [...signatures.values()];
  const choosing = (likely: (members: number) => number) =>
    choices.map(({ members }) => ({
      entries: 0,
      ownWork: 0,
      calls: members.map((callee) => ({ callee, frequency: likely(members.length) })),
    }));
  const executions = callFrequencies([...facts, ...choosing(likelyOfMany)]);
  const works = callWorks([...facts, ...choosing((members) => 1 / members)]);
  const pointerEntries = new Float64Array(functions.length);
  for (const { number, members } of choices)
    for (const member of members)
      pointerEntries[member]! += executions[number]! * likelyOfMany(members.length);
  const byFunction = (of: (i: number) => number): ReadonlyMap<Func, number> =>
    new Map(functions.map((fn, i) => [fn, of(i)]));
  return {
    heats: byFunction((i) => functionHeat(executions[i]!)),
    works: byFunction((i) => works[i]!),
    pointerEntries: byFunction((i) => pointerEntries[i]!),
  };
}

/** How likely each of so many functions is where one of them is called: mostly they are a few, always the same. */
const likelyOfMany = (members: number): number => 1 / Math.sqrt(members);

/** Functions of one signature whose addresses are taken. */
interface Signature {
  /** After those of functions. */
  readonly number: number;
  readonly members: number[];
}
function signaturesOf(
  functions: readonly Func[],
  taken: ReadonlySet<GlobalValue>,
): ReadonlyMap<Type, Signature> {
  const signatures = new Map<Type, Signature>();
  functions.forEach((fn, i) => {
    if (!taken.has(fn)) return;
    let signature = signatures.get(fn.valueType);
    if (signature === undefined)
      signatures.set(fn.valueType, (signature = { number: functions.length + signatures.size, members: [] }));
    signature.members.push(i);
  });
  return signatures;
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
