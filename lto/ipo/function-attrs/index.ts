/**
 * function-attrs: what functions promise their callers, from what is in them.
 *
 * Bottom-up over the call graph's components, so that callees are known first; each component is taken as a whole. Known
 * are afterwards, as attributes: what memory is read and written, that the function returns, that it does not, that it
 * does not unwind, call itself, synchronise or free (memory.ts, behaviour.ts); what becomes of pointers that it is
 * passed (parameters.ts); which pointers are never null (non-null.ts). Linear in the instructions.
 *
 * Who asks: removal of calls whose results nobody uses, whatever moves accesses across calls, the folding of comparisons
 * with null, the cutting of code after calls, and of landing pads that nothing leads to.
 *
 * Proof obligations:
 *  - only definitions that nothing replaces are looked into; of others the attributes they have are taken, and no more;
 *  - naked and unoptimised functions may do anything;
 *  - those of the parts.
 */
import { isExact } from "../../analysis/exact.js";
import { AttributeList, AttributeSet } from "../../ir/attributes.js";
import { Memory, type MemoryEffects, mayWrite } from "../../ir/memory-effects.js";
import type { Func, Module } from "../../ir/module.js";
import { callGraph } from "../../pass/analyses.js";
import type { ModulePass, ProgramContext } from "../../pass/pass.js";
import { Behaviour, cannotReturn } from "./behaviour.js";
import { Effects } from "./memory.js";
import { NonNullParameters, resultIsNonNull } from "./non-null.js";
import { PointerParameters } from "./parameters.js";

const isOpaque = ({ attributes: { fn } }: Func): boolean =>
  fn.has("naked") || fn.has("optnone") || fn.has("presplitcoroutine");

/** The attributes of the function itself with what was found, where that is more than they say. */
function functionWith(set: AttributeSet, memory: MemoryEffects, promises: readonly string[]): AttributeSet {
  const known = set.int("memory") ?? Memory.Any;
  const isMore = (known & memory) !== known || promises.some((name) => !set.has(name));
  if (!isMore) return set;
  const kinds = new Map(set.kinds);
  if ((known & memory) !== known) kinds.set("memory", known & memory);
  for (const name of promises) kinds.set(name, true);
  return new AttributeSet(kinds, set.strings);
}

const withNonNull = (set: AttributeSet): AttributeSet =>
  set.has("nonnull") ? set : new AttributeSet(new Map([...set.kinds, ["nonnull", true]]), set.strings);

/** Deduces what holds of the functions of one component. @returns of how many more is known */
function deduce(functions: readonly Func[], isRecursive: boolean): number {
  for (const fn of functions) fn.view().renumber();
  const all = new Set(functions);
  const { memory, willReturn, callsReturn } = new Effects(all, isRecursive);
  // Who calls what may go on for ever without effect does so too, even if it could not by itself.
  const mustEnd =
    callsReturn && !mayWrite(memory) && functions.every(({ attributes: { fn } }) => fn.has("mustprogress"));
  const behaviour = new Behaviour(all, isRecursive);
  const parameters = new PointerParameters(functions);
  const shared = [
    ...(behaviour.noUnwind ? ["nounwind"] : []),
    ...(behaviour.noRecurse ? ["norecurse"] : []),
    ...(behaviour.noSync ? ["nosync"] : []),
    ...(behaviour.noFree ? ["nofree"] : []),
  ];
  // Asked before any of them knows more: what a component's functions say of each other must not depend on their order.
  const ends = functions.map((fn) => cannotReturn(fn));
  const results = functions.map((fn) => resultIsNonNull(fn));
  let found = 0;
  functions.forEach((fn, i) => {
    const own = [...(willReturn || mustEnd ? ["willreturn"] : []), ...(ends[i]! ? ["noreturn"] : [])];
    const set = functionWith(fn.attributes.fn, memory, [...shared, ...own]);
    const result = results[i]! ? withNonNull(fn.attributes.result) : fn.attributes.result;
    const sets = parameters.withFacts(fn, fn.attributes.parameters);
    const { attributes } = fn;
    if (set === attributes.fn && result === attributes.result && sets === attributes.parameters) return;
    fn.attributes = new AttributeList(set, result, sets);
    found++;
  });
  return found;
}

/** Deduces what calls pass to functions that nobody else calls. @returns of how many functions more is known */
function deduceFromCalls(module: Module, context: ProgramContext): number {
  const { openToCallers, symbolOf } = context.ofModule(callGraph);
  const closed: Func[] = [];
  symbolOf.forEach((symbol, node) => {
    const fn = module.globals[symbol] as Func;
    if (openToCallers[node] === 0 && fn.isLocal && !isOpaque(fn)) closed.push(fn);
  });
  const nonNull = new NonNullParameters(closed);
  for (const fn of module.functions) if (!fn.isDeclaration) nonNull.look(fn);
  const found = nonNull.found();
  for (const [fn, indices] of found) {
    const sets = fn.args.map((_, i) => fn.attributes.parameter(i));
    for (const index of indices) sets[index] = withNonNull(sets[index]!);
    fn.attributes = new AttributeList(fn.attributes.fn, fn.attributes.result, sets);
  }
  return found.size;
}

export const functionAttrs: ModulePass = {
  name: "function-attrs",
  level: "module",
  description: "infers what functions do with memory and pointers, and how they end",
  counters: {
    functions: "functions of which more is known",
    parameters: "functions of whose arguments more is known",
  },
  requires: [callGraph],
  preserves: [],
  run(module, context) {
    const { components, symbolOf } = context.ofModule(callGraph);
    const { members } = components;
    let deduced = 0;
    for (let c = 0; c < components.count; c++) {
      const functions: Func[] = [];
      for (let i = members.start[c]!; i < members.start[c + 1]!; i++)
        functions.push(module.globals[symbolOf[members.items[i]!]!] as Func);
      if (functions.every((fn) => isExact(fn) && !isOpaque(fn)))
        deduced += deduce(functions, components.recursive[c] === 1);
    }
    const passed = deduceFromCalls(module, context);
    context.count("functions", deduced);
    context.count("parameters", passed);
    return deduced + passed > 0;
  },
};
