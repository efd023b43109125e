/**
 * libcalls: calls of C library functions whose result is known, or that a shorter or faster call can stand for.
 *
 *     %n = call i64 @strlen(ptr @hello)              →   i64 5
 *     call i32 (ptr, ...) @printf(ptr @s_nl, ptr %p)     call i32 @puts(ptr %p)          "%s\n"
 *     call i64 @fwrite(ptr @usage, i64 1, i64 50, %f)    call i32 @fputs(ptr @usage, %f)  for size
 *
 * Why here: compilers do so file by file; after inlining and constants through calls, formats and strings are known that
 * were parameters. Before simplification, which folds what results make constant.
 *
 * Method: one walk over the instructions; callees are looked up by object, so a call of anything else costs one lookup. A
 * rule looks only; what it found is done after the walk. Linear, but for the strings that are read.
 *
 * Proof obligations:
 *  - the call is one of the library's function: see `calls.ts`. A function that the program defines is what it defines, and
 *    so a library's own functions do not become calls of themselves;
 *  - the rule holds for the C standard's function in every locale, with whatever arguments do not make it undefined; `errno`
 *    is left as LLVM leaves it: where the function that stays sets none, none is set;
 *  - functions that write to streams are exchanged only where nobody reads what they return;
 *  - strings are read where they are constant and cannot be replaced.
 * Breaks if: a program brings a library (linked after this step) whose functions of these names do something else, and
 * does not say so.
 */
import { BlockTimes, functionTimes } from "../../analysis/function-times.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { isCall } from "../../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import { callGraph } from "../../pass/analyses.js";
import { type ComponentPass, type ComponentWalk, isForSize, type ProgramContext } from "../../pass/pass.js";
import { placeOfOrigin, type Remark, type SourcePlace, words } from "../../pass/remarks.js";
import { isLibraryCall, type LibraryCall, Maker, Names, prototype, type Rule, RuleContext } from "./calls.js";
import * as numbers from "./numbers.js";
import * as output from "./output.js";
import { sqrt } from "./square-root.js";
import * as strings from "./strings.js";

/** Functions with rules: prototype, and what they become. */
const table: Readonly<Record<string, readonly [type: string, rule: Rule]>> = {
  strlen: ["lp", strings.strlen],
  strnlen: ["lpl", strings.strnlen],
  strcmp: ["ipp", strings.strcmp],
  strncmp: ["ippl", strings.strncmp],
  memcmp: ["ippl", strings.memcmp],
  bcmp: ["ippl", strings.memcmp],
  strchr: ["ppi", strings.strchr],
  strrchr: ["ppi", strings.strrchr],
  memchr: ["ppil", strings.memchr],
  strstr: ["ppp", strings.strstr],
  strspn: ["lpp", strings.strspn],
  strcspn: ["lpp", strings.strcspn],
  strcpy: ["ppp", strings.strcpy],
  stpcpy: ["ppp", strings.stpcpy],
  strcat: ["ppp", strings.strcat],
  strncat: ["pppl", strings.strcat],
  memcpy: ["pppl", strings.memcpy],
  memmove: ["pppl", strings.memmove],
  memset: ["ppil", strings.memset],
  isdigit: ["ii", numbers.isdigit],
  isascii: ["ii", numbers.isascii],
  toascii: ["ii", numbers.toascii],
  abs: ["ii", numbers.abs],
  labs: ["ll", numbers.abs],
  llabs: ["LL", numbers.abs],
  pow: ["ddd", numbers.pow],
  powf: ["fff", numbers.pow],
  sqrt: ["dd", sqrt],
  sqrtf: ["ff", sqrt],
  realloc: ["ppl", numbers.realloc],
  free: ["vp", numbers.free],
  printf: ["ip.", output.printf],
  puts: ["ip", output.puts],
  fprintf: ["ipp.", output.fprintf],
  fputs: ["ipp", output.fputs],
  fwrite: ["lpllp", output.fwrite],
  sprintf: ["ipp.", output.sprintf],
  snprintf: ["iplp.", output.snprintf],
};

/** The rule for calls of a function, if it is one of the library's. */
function ruleOf(fn: Func, layout: DataLayout): Rule | null {
  if (!fn.isDeclaration || fn.isLocal || !Object.hasOwn(table, fn.name)) return null;
  const [type, rule] = table[fn.name]!;
  return fn.valueType === prototype(type, layout) ? rule : null;
}

/** What time is worth in code for size, where a rule may ask. */
function timesOf(module: Module, context: ProgramContext): BlockTimes | null {
  const { sizeTime } = context;
  const mayAsk = module.functions.some((fn) => ruleOf(fn, module.dataLayout) === sqrt);
  const isAsked = module.functions.some((fn) => !fn.isDeclaration && isForSize(context.goalOf(fn)));
  if (sizeTime === 0 || !mayAsk || !isAsked) return null;
  return new BlockTimes(functionTimes(module, context.ofModule(callGraph)), sizeTime);
}

interface Find {
  readonly call: LibraryCall;
  readonly callee: Func;
  readonly rule: Rule;
}

class LibraryCalls implements ComponentWalk {
  private readonly rules = new Map<GlobalValue, Rule | null>();
  private readonly names: Names;
  private readonly rule: RuleContext;

  constructor(
    module: Module,
    private readonly context: ProgramContext,
  ) {
    this.names = new Names(module);
    this.rule = new RuleContext(module.dataLayout, this.names, context.costs.calls, timesOf(module, context));
  }

  run(functions: readonly Func[]): boolean {
    let changed = false;
    for (const fn of functions) changed = this.inFunction(fn) || changed;
    return changed;
  }
  finish(): boolean {
    return this.names.added > 0;
  }

  private inFunction(caller: Func): boolean {
    const goal = this.context.goalOf(caller);
    if (goal === "none" || caller.linkage === "available_externally" || caller.attributes.fn.has("naked"))
      return false;
    this.rule.enter(caller, goal);
    const finds: Find[] = [];
    for (const { insts } of caller.view().blocks)
      for (let i = 0; i < insts.length; i++) {
        const inst = insts[i]!;
        if (!isCall(inst)) continue;
        const callee = inst.operands[0]!;
        if (callee.valueKind !== "global" || callee.kind !== "function") continue;
        let rule = this.rules.get(callee);
        if (rule === undefined) this.rules.set(callee, (rule = ruleOf(callee, this.rule.layout)));
        if (rule === null || !isLibraryCall(inst, callee, caller)) continue;
        if (rule(inst, this.rule) !== null) finds.push({ call: inst, callee, rule });
      }
    if (finds.length === 0) return false;
    const editor = caller.edit();
    for (const { call, callee, rule } of finds) {
      // Asked again: what it is passed may have been replaced meanwhile.
      const value = rule(call, this.rule)?.(new Maker(this.names, this.rule, editor, call));
      if (value === undefined) continue;
      if (value === null) editor.erase(call);
      else editor.replace(call, value);
      this.context.remarks?.add(told(caller, callee, placeOfOrigin(this.context.origins, call.origin)));
    }
    this.context.count("calls", finds.length);
    return true;
  }
}

const told = (caller: Func, callee: Func, place: SourcePlace | null): Remark => ({
  kind: "Passed",
  pass: "libcalls",
  name: "LibraryCallSimplified",
  function: caller.name,
  place,
  facts: [words("call of "), ["Callee", callee.name], words(" simplified")],
});

export const libcalls: ComponentPass = {
  name: "libcalls",
  level: "component",
  description:
    "simplifies calls of C library functions: known results, shorter or faster functions for the same",
  counters: { calls: "calls simplified" },
  requires: [callGraph],
  preserves: [],
  begin: (module, context) => new LibraryCalls(module, context),
};
