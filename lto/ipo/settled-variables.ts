/**
 * Variables that are only ever set to one value, read after that.
 *
 *     static int columns;   int main(void) { columns = 7;   work(); }      static void work(void) { … columns …   7
 *
 * Why: options that a program sets once, before it works. Calls in between hide it from all who look at one function.
 *
 * Method: all stores of a variable from one walk over the bodies. Where they store the same constant, loads that a store in
 * the same function dominates are that constant; and those in functions that are only called after a store: all call sites
 * are dominated by one, or lie in such functions (the largest set of which this is true, by a worklist over the call graph).
 * Linear, times the number of such variables over the bits of a word for the call graph; dominators of functions that set
 * such a variable.
 *
 * Proof obligations:
 *  - every access is seen: the variable is local, defined here, not pinned, its address known to nobody, no access is
 *    volatile, atomic, of another type or of a part (no `Use` but Read, Written);
 *  - whenever the load runs a store has run before it, in the same thread. Whoever else stores meanwhile (a callee, a signal
 *    handler, another thread) stores the same value, so that is what is read;
 *  - a function that something unseen may enter (as a thread, a handler, a constructor) is not only called after a store;
 *  - a variable of which each thread has its own is left alone: coroutines go on in other threads.
 */
import type { CallGraph } from "../analysis/call-graph.js";
import type { DominatorTree } from "../analysis/dominators.js";
import { Use } from "../analysis/variable-uses.js";
import { type Inst, isCall, Op } from "../ir/instructions.js";
import type { Func, Module } from "../ir/module.js";
import { type Constant, sameConstant, type Value } from "../ir/values.js";
import { callGraph, dominators, variableUses } from "../pass/analyses.js";
import type { PassContext } from "../pass/pass.js";

/** The one value that a variable is set to, so far, and its bit among all of them. */
interface Settled {
  value: Constant | null;
  bit: bigint;
}

/** A constant that is well defined and compared in one step. */
function simpleConstant(value: Value): Constant | null {
  switch (value.valueKind) {
    case "int":
    case "float":
    case "zero":
    case "global":
      return value;
    default:
      return null;
  }
}

/** Makes loads constants. @returns how many */
export function foldSettled(module: Module, context: PassContext): number {
  const settled = new Map<Value, Settled>();
  for (const [variable, { traits }] of context.ofModule(variableUses).variables)
    if (
      traits === (Use.Read | Use.Written) &&
      !variable.externallyInitialized &&
      variable.threadLocal === "none"
    )
      settled.set(variable, { value: null, bit: 0n });
  if (settled.size === 0) return 0;
  const setters: Func[] = [];
  const readers: Func[] = [];
  for (const fn of module.functions) {
    if (fn.isDeclaration) continue;
    const { reads, sets } = lookAt(fn, settled);
    if (reads) readers.push(fn);
    if (sets) setters.push(fn);
  }
  let bits = 0n;
  for (const known of settled.values()) if (known.value !== null) known.bit = 1n << bits++;
  if (bits === 0n) return 0;
  const sets = new Map(setters.map((fn) => [fn, new Sets(fn, settled, context)]));
  const atEntry = settledAtEntry(module, context.ofModule(callGraph), sets, (1n << bits) - 1n);
  let folded = 0;
  for (const fn of readers) folded += foldIn(fn, settled, sets.get(fn), atEntry(fn));
  return folded;
}

/** Takes in what a function does with the variables. */
function lookAt(fn: Func, settled: Map<Value, Settled>): { readonly reads: boolean; readonly sets: boolean } {
  let reads = false;
  let sets = false;
  for (const { insts } of fn.view().blocks)
    for (const inst of insts)
      if (inst.op === Op.Load) reads ||= settled.has(inst.operands[0]!);
      else if (inst.op === Op.Store) {
        const variable = inst.operands[1]!;
        const known = settled.get(variable);
        if (known === undefined) continue;
        const value = simpleConstant(inst.operands[0]!);
        if (value === null || (known.value !== null && !sameConstant(known.value, value)))
          settled.delete(variable);
        else {
          known.value = value;
          sets = true;
        }
      }
  return { reads, sets };
}

/** What has been set where in a function. */
class Sets {
  private readonly stores: (readonly [store: Inst, bit: bigint])[] = [];
  private readonly tree: DominatorTree | null = null;

  constructor(
    private readonly fn: Func,
    settled: ReadonlyMap<Value, Settled>,
    context: PassContext,
  ) {
    const body = fn.view();
    for (const { insts } of body.blocks)
      for (const inst of insts) {
        const known = inst.op === Op.Store ? settled.get(inst.operands[1]!) : undefined;
        if (known !== undefined) this.stores.push([inst, known.bit]);
      }
    if (this.stores.length === 0) return;
    body.renumber();
    this.tree = context.ofBody(dominators, body);
  }

  /** Of the variables, by their bits, those that the function has set whenever it comes to an instruction. */
  before(inst: Inst): bigint {
    let bits = 0n;
    for (const [store, bit] of this.stores) if (this.tree!.runsBefore(store, inst)) bits |= bit;
    return bits;
  }

  /** Likewise before each of its calls of functions that are called by name. */
  beforeCalls(): Map<Func, bigint> {
    const found = new Map<Func, bigint>();
    for (const { insts } of this.fn.view().blocks)
      for (const inst of insts) {
        const callee = isCall(inst) ? inst.operands[0]! : null;
        if (callee?.valueKind !== "global" || callee.kind !== "function" || callee.isDeclaration) continue;
        const known = found.get(callee);
        if (known !== 0n)
          found.set(callee, known === undefined ? this.before(inst) : known & this.before(inst));
      }
    return found;
  }
}

/** Of the variables, by their bits, those that are set whenever a function is entered. */
function settledAtEntry(
  { globals }: Module,
  { nodeOf, symbolOf, callers, callees, openToCallers }: CallGraph,
  sets: ReadonlyMap<Func, Sets>,
  all: bigint,
): (fn: Func) => bigint {
  const functionOf = (node: number): Func => globals[symbolOf[node]!] as Func;
  const calls = new Map([...sets].map(([fn, own]) => [fn, own.beforeCalls()]));
  const known = Array.from(symbolOf, (_, node) =>
    openToCallers[node] === 1 || callers.start[node] === callers.start[node + 1] ? 0n : all,
  );
  const work = Array.from(symbolOf, (_, node) => node).filter((node) => known[node] !== 0n);
  for (let node = work.pop(); node !== undefined; node = work.pop()) {
    if (known[node] === 0n) continue;
    const fn = functionOf(node);
    let bits = known[node]!;
    for (let i = callers.start[node]!; i < callers.start[node + 1]!; i++) {
      const caller = callers.items[i]!;
      bits &= known[caller]! | (calls.get(functionOf(caller))?.get(fn) ?? 0n);
    }
    if (bits === known[node]) continue;
    known[node] = bits;
    for (let i = callees.start[node]!; i < callees.start[node + 1]!; i++) work.push(callees.items[i]!);
  }
  const byFunction = new Map<Func, bigint>();
  globals.forEach((fn, symbol) => {
    const bits = fn.kind === "function" && nodeOf[symbol]! >= 0 ? known[nodeOf[symbol]!]! : 0n;
    if (bits !== 0n) byFunction.set(fn as Func, bits);
  });
  return (fn) => byFunction.get(fn) ?? 0n;
}

function foldIn(
  fn: Func,
  settled: ReadonlyMap<Value, Settled>,
  sets: Sets | undefined,
  atEntry: bigint,
): number {
  if (fn.attributes.fn.has("optnone") || fn.attributes.fn.has("naked")) return 0;
  if (sets === undefined && atEntry === 0n) return 0;
  const found: (readonly [load: Inst, value: Constant])[] = [];
  for (const { insts } of fn.view().blocks)
    for (const inst of insts) {
      const known = inst.op === Op.Load ? settled.get(inst.operands[0]!) : undefined;
      if (known === undefined || known.value === null) continue;
      if ((known.bit & (atEntry | (sets?.before(inst) ?? 0n))) !== 0n) found.push([inst, known.value]);
    }
  if (found.length === 0) return 0;
  const editor = fn.edit();
  for (const [load, value] of found) editor.replace(load, value);
  return found.length;
}
