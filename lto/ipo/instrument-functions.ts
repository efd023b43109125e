/**
 * instrument-functions: calls of a profiler at the entry and before the returns of functions (attributes
 * `instrument-function-entry`, `-exit`, and both with `-inlined`, which name what is called).
 *
 * `mcount` and its kin take nothing; `__cyg_profile_func_enter` and `_exit` take the function and where it returns
 * to. They are plain calls that obey the platform's convention. As in LLVM they come after inlining, so the pass runs
 * after all others; tail calls that must be stay after the call at the exit. Linear in the bodies with attributes.
 */

import { AttributeList, AttributeSet } from "../ir/attributes.js";
import { Builder } from "../ir/builder.js";
import { InputError } from "../ir/errors.js";
import { type Inst, Op } from "../ir/instructions.js";
import type { Func, Module } from "../ir/module.js";
import { functionType, i32, ptr, voidType } from "../ir/types.js";
import { constI32 } from "../ir/values.js";
import type { ModulePass } from "../pass/pass.js";
import { plainCall, runtimeFunction } from "./runtime-function.js";

const entryAttributes = ["instrument-function-entry", "instrument-function-entry-inlined"];
const exitAttributes = ["instrument-function-exit", "instrument-function-exit-inlined"];

/** Profilers that are told nothing: their names in different systems. */
const bare = /^_{0,2}\.?mcount$|^__cyg_profile_func_enter_bare$/;
const informed = /^__cyg_profile_func_(enter|exit)$/;

/** Says that a name is as the assembler has it. */
const verbatim = String.fromCharCode(1);

const bareType = functionType(voidType, []);
const informedType = functionType(voidType, [ptr, ptr]);
const addressType = functionType(ptr, [i32]);

function insertCall(module: Module, fn: Func, name: string, builder: Builder): void {
  const symbol = name.startsWith(verbatim) ? name.slice(1) : name;
  if (bare.test(symbol)) {
    builder.call(runtimeFunction(module, symbol, bareType, []), [], plainCall(bareType));
    return;
  }
  if (!informed.test(symbol))
    throw new InputError(`unsupported: instrumentation function '${symbol}' (in function '${fn.name}')`);
  const returnAddress = runtimeFunction(module, "llvm.returnaddress", addressType, []);
  const to = builder.call(returnAddress, [constI32(0)], plainCall(addressType));
  builder.call(runtimeFunction(module, symbol, informedType, []), [fn, to], plainCall(informedType));
}

/** The return of a block, or the tail call right before it. */
function exitOf(insts: readonly Inst[]): Inst | null {
  const last = insts[insts.length - 1]!;
  if (last.op !== Op.Ret) return null;
  const call = insts[insts.length - 2];
  return call?.op === Op.Call && call.data.tail === "musttail" ? call : last;
}

function withoutStrings(list: AttributeList, names: readonly string[]): AttributeList {
  const strings = new Map([...list.fn.strings].filter(([name]) => !names.includes(name)));
  return new AttributeList(new AttributeSet(list.fn.kinds, strings), list.result, list.parameters);
}

export const instrumentFunctions: ModulePass = {
  name: "instrument-functions",
  level: "module",
  description: "calls profilers at the entries and exits of functions whose attributes ask for it",
  counters: { instrumented: "functions that call a profiler" },
  requires: [],
  preserves: [],
  run(module, context) {
    let changed = false;
    for (const fn of module.functions) {
      if (fn.isDeclaration || fn.linkage === "available_externally") continue;
      const attributes = fn.attributes.fn;
      const named = (names: readonly string[]): string[] =>
        names.flatMap((name) => attributes.string(name) || []);
      const entries = named(entryAttributes);
      const exits = named(exitAttributes);
      if ((entries.length === 0 && exits.length === 0) || attributes.has("naked")) continue;
      const editor = fn.edit();
      const builder = new Builder(editor);
      for (const name of exits)
        for (const { insts } of editor.body.blocks) {
          const exit = exitOf(insts);
          if (exit !== null) insertCall(module, fn, name, builder.before(exit));
        }
      for (const name of entries) {
        const { insts } = editor.body.blocks[0]!;
        insertCall(module, fn, name, builder.before(insts.find((inst) => inst.op !== Op.Alloca)!));
      }
      // Once is enough, should the module be compiled again.
      fn.attributes = withoutStrings(fn.attributes, [...entryAttributes, ...exitAttributes]);
      context.count("instrumented");
      changed = true;
    }
    return changed;
  },
};
