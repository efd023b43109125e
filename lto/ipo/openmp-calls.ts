/**
 * openmp-calls: what OpenMP's run-time library said once in a function it is not asked again.
 *
 *     int a = omp_get_num_threads();  …  use(omp_get_num_threads());      → use(a)
 *
 * Why: each construct of OpenMP asks for the number of its thread, and inlining brings constructs together.
 *
 * Method: of each of these functions, the calls in a body that a call with the same arguments dominates take its result.
 * Linear in the bodies that call one of them twice, but for pairs of calls of one function. Which functions there are is
 * LLVM's list (`deduplicateRuntimeCalls` in OpenMPOpt.cpp), without the one that writes to memory.
 *
 * Proof obligations:
 *  - the program is one of OpenMP, as its modules say, and does not define the function: the name means what OpenMP (5.2, chapter 18), or LLVM's library, says;
 *  - the answer is the same while one activation of a function runs. It is one of the thread, the team or the task, and code
 *    of other teams and tasks is in functions of its own; but where a region is run by the thread alone
 *    (`__kmpc_serialized_parallel`) or a task at once (`__kmpc_omp_task_begin_if0`) its code may have been inlined. Functions
 *    that come to such a place, by whatever direct calls, since outlining may have moved it, ask anew but for what a thread
 *    and the machine are (LLVM 22 at -O2 does not look for that: `omp_in_final` tells 1 after a task that was final, as it
 *    was told inside);
 *  - the first call is reached whenever the second is, in the same activation: no second returns, no coroutines.
 *
 * Breaks if: a function of the library is added to the list whose answer another call changes.
 */
import { baseObject } from "../analysis/references.js";
import type { ModuleSummary } from "../analysis/summary.js";
import { type CallInst, Op } from "../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../ir/module.js";
import { returnsTwice } from "../ir/returns-twice.js";
import { isConstant, sameConstant, type Value } from "../ir/values.js";
import { dominators, summary } from "../pass/analyses.js";
import type { ModulePass, PassContext } from "../pass/pass.js";

/** What an answer is about. */
type Subject = "machine" | "task";

interface Question {
  readonly about: Subject;
  /** Parameters: numbers that count, or one that says where the call is, or none. */
  readonly takes: "nothing" | "number" | "location";
}
const ask = (about: Subject, takes: Question["takes"] = "nothing"): Question => ({ about, takes });

const questions: ReadonlyMap<string, Question> = new Map([
  ["__kmpc_global_thread_num", ask("machine", "location")],
  ["omp_get_num_procs", ask("machine")],
  ["omp_get_num_places", ask("machine")],
  ["omp_get_cancellation", ask("machine")],
  ["omp_get_supported_active_levels", ask("machine")],
  ["omp_get_num_threads", ask("task")],
  ["omp_in_parallel", ask("task")],
  ["omp_get_level", ask("task")],
  ["omp_get_active_level", ask("task")],
  ["omp_get_ancestor_thread_num", ask("task", "number")],
  ["omp_get_team_size", ask("task", "number")],
  ["omp_in_final", ask("task")],
  ["omp_get_proc_bind", ask("task")],
  ["omp_get_place_num", ask("task")],
  ["omp_get_partition_num_places", ask("task")],
]);

/** After them the thread is in another region or task. */
const borders: ReadonlySet<string> = new Set([
  "__kmpc_serialized_parallel",
  "__kmpc_end_serialized_parallel",
  "__kmpc_omp_task_begin_if0",
  "__kmpc_omp_task_complete_if0",
  "GOMP_parallel_start",
  "GOMP_parallel_end",
]);

function isQuestion(fn: Func): boolean {
  const question = questions.get(fn.name);
  if (question === undefined || !fn.isDeclaration) return false;
  const { result, parameters, isVarArg } = fn.valueType;
  if (isVarArg || result.kind !== "int" || parameters.length !== (question.takes === "nothing" ? 0 : 1))
    return false;
  return (
    question.takes === "nothing" || parameters[0]!.kind === (question.takes === "number" ? "int" : "ptr")
  );
}

/** Whom each function of the program calls directly. */
function callees({ globals }: Module, { symbols }: ModuleSummary): Map<Func, readonly GlobalValue[]> {
  const all = new Map<Func, readonly GlobalValue[]>();
  globals.forEach((fn, i) => {
    if (fn.kind === "function" && !fn.isDeclaration)
      all.set(
        fn,
        symbols[i]!.calls.map((callee) => globals[callee]!),
      );
  });
  return all;
}

/** Functions that come to a border by direct calls; linear. */
function functionsWithBorders(calls: ReadonlyMap<Func, readonly GlobalValue[]>): ReadonlySet<GlobalValue> {
  const callers = new Map<GlobalValue, Func[]>();
  for (const [fn, list] of calls)
    for (const called of list) {
      // An alias counts as what it stands for.
      const callee = baseObject(called) ?? called;
      const known = callers.get(callee);
      if (known === undefined) callers.set(callee, [fn]);
      else known.push(fn);
    }
  const reached = new Set<GlobalValue>();
  for (const callee of callers.keys()) if (borders.has(callee.name)) reached.add(callee);
  // A set goes on with what is added to it meanwhile.
  for (const callee of reached) for (const fn of callers.get(callee) ?? []) reached.add(fn);
  return reached;
}

const sameValue = (a: Value, b: Value): boolean =>
  a === b || (isConstant(a) && isConstant(b) && sameConstant(a, b));

/** Whether two calls of one function ask the same. */
function asksTheSame(a: CallInst, b: CallInst, { takes }: Question): boolean {
  return takes !== "number" || sameValue(a.operands[1]!, b.operands[1]!);
}

/** The calls whose answers are to be kept, by function. @param staysInTask all of the body is of one task */
function callsIn(fn: Func, wanted: ReadonlySet<GlobalValue>, staysInTask: boolean): Map<Func, CallInst[]> {
  const calls = new Map<Func, CallInst[]>();
  for (const { insts } of fn.view().blocks)
    for (const inst of insts) {
      if (inst.op !== Op.Call) continue;
      if (returnsTwice(inst)) return new Map();
      const callee = inst.operands[0]!;
      if (callee.valueKind !== "global" || callee.kind !== "function" || !wanted.has(callee)) continue;
      if (inst.data.functionType !== callee.valueType || inst.data.tail === "musttail") continue;
      if (inst.data.bundles.length > 0) continue;
      const list = calls.get(callee);
      if (list === undefined) calls.set(callee, [inst]);
      else list.push(inst);
    }
  for (const [callee, list] of calls)
    if (list.length < 2 || (!staysInTask && questions.get(callee.name)!.about === "task"))
      calls.delete(callee);
  return calls;
}

/** @returns how many calls went */
function askOnce(
  fn: Func,
  context: PassContext,
  wanted: ReadonlySet<GlobalValue>,
  staysInTask: boolean,
): number {
  const { attributes } = fn;
  if (["optnone", "naked", "presplitcoroutine"].some((name) => attributes.fn.has(name))) return 0;
  const calls = callsIn(fn, wanted, staysInTask);
  if (calls.size === 0) return 0;
  const tree = context.ofBody(dominators, fn.view());
  const same: [CallInst, CallInst][] = [];
  for (const [callee, list] of calls) {
    const question = questions.get(callee.name)!;
    const kept: CallInst[] = [];
    for (const call of list) {
      const first = kept.find((other) => asksTheSame(other, call, question) && tree.runsBefore(other, call));
      if (first === undefined) kept.push(call);
      else same.push([call, first]);
    }
  }
  if (same.length === 0) return 0;
  const editor = fn.edit();
  for (const [call, first] of same) {
    editor.replaceAllUses(call, first);
    editor.erase(call);
  }
  return same.length;
}

export const openmpCalls: ModulePass = {
  name: "openmp-calls",
  level: "module",
  description: "asks OpenMP's run-time library once in a function for what stays the same there",
  counters: { calls: "calls whose answer was known" },
  requires: [summary, dominators],
  preserves: [],
  run(module, context) {
    if (module.flag("openmp") === undefined) return false;
    const wanted = new Set<GlobalValue>(module.functions.filter(isQuestion));
    if (wanted.size === 0) return false;
    const calls = callees(module, context.ofModule(summary));
    const divided = functionsWithBorders(calls);
    let gone = 0;
    for (const [fn, list] of calls)
      if (list.some((callee) => wanted.has(callee))) gone += askOnce(fn, context, wanted, !divided.has(fn));
    context.count("calls", gone);
    return gone > 0;
  },
};
