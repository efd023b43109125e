/**
 * guard-entries: makes a program check who enters the functions that the pointer analysis says only its own calls enter,
 * although their addresses are somewhere. Code that is not seen (native objects, libraries that call back, plugins) fails
 * when it calls one, and so does an own call whose callee the analysis does not know of. For tests.
 *
 *     call ptr %p ()      →      store volatile ptr %p, ptr @tsc.entered
 *                                call ptr %p ()
 *     f:                  →      %1 = load volatile ptr, ptr @tsc.entered
 *                                %2 = icmp eq ptr %1, @f
 *                                %3 = select i1 %2, ptr @tsc.entered, ptr null
 *                                store volatile ptr null, ptr %3          ; a fault for who did not say where it goes
 *
 * The variable is each thread's own, and in no module: its name is enough for code, and its definition is printed with the
 * traps (formats/asm/seals.ts). A signal that arrives between a store and its call, and whose handler calls, is a false alarm.
 * Linear in the calls.
 */
import type { IndirectCalls } from "../../analysis/function-pointers/index.js";
import { baseObject } from "../../analysis/references.js";
import {
  type Body,
  Flag,
  type Inst,
  isCall,
  isIndirectCall,
  type MemoryData,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import { type Func, GlobalVariable } from "../../ir/module.js";
import { raw } from "../../ir/raw.js";
import { i1, ptr, voidType } from "../../ir/types.js";
import { ConstZero, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import type { LoweringContext } from "./context.js";

/** Where the call of a thread that is under way leads; null after the entry. */
const entered = new GlobalVariable("tsc.entered", ptr, ptr);
entered.linkage = "internal";
entered.dsoLocal = true;
entered.threadLocal = "generaldynamic";
entered.align = 8;
entered.initializer = new ConstZero(ptr);
/** Its symbol, which whoever prints the program defines. */
export const enteredSymbol = entered.name;

const plain: MemoryData = { align: 8, ordering: "not_atomic", scope: "" };
const load = (): Inst => makeInst(Op.Load, ptr, [entered], plain, [], Flag.Volatile);
const store = (value: Value, to: Value): Inst =>
  makeInst(Op.Store, voidType, [value, to], plain, [], Flag.Volatile);

/** What a call has to announce; null: nothing. */
function announced(inst: Inst, closed: ReadonlySet<Value>): Value | null {
  if (!isCall(inst)) return null;
  const callee = inst.operands[0]!;
  if (isIndirectCall(inst)) return callee;
  const base = callee.valueKind === "global" ? (baseObject(callee) ?? callee) : callee;
  return closed.has(base) ? base : null;
}

/** What a closed function starts with. */
function check(fn: Func): Inst[] {
  const value = load();
  const isOwn = makeInst(Op.ICmp, i1, [value, fn], "eq");
  const place = makeInst(Op.Select, ptr, [isOwn, entered, new ConstZero(ptr)], null);
  return [value, isOwn, place, store(new ConstZero(ptr), place)];
}

/** @returns the numbers of calls and of entries that are guarded */
function guard(fn: Func, body: Body, closed: ReadonlySet<Value>): [calls: number, entries: number] {
  let calls = 0;
  for (const block of body.blocks) {
    const insts: Inst[] = [];
    for (const inst of block.insts) {
      const value = announced(inst, closed);
      if (value !== null) {
        const made = store(value, entered);
        made.parent = block;
        insts.push(made);
        calls++;
      }
      insts.push(inst);
    }
    if (insts.length > block.insts.length) raw(block).insts = insts;
  }
  if (!closed.has(fn) || fn.attributes.fn.has("naked")) return [calls, 0];
  const entry = body.blocks[0]!;
  const first = entry.insts.findIndex(({ op }) => op !== Op.Alloca);
  const made = check(fn);
  for (const inst of made) inst.parent = entry;
  raw(entry).insts = [...entry.insts.slice(0, first), ...made, ...entry.insts.slice(first)];
  return [calls, 1];
}

/** By what is known of the program: functions that only calls of it enter, whose addresses are taken. */
const closedOf = new WeakMap<IndirectCalls, ReadonlySet<Value>>();
function closedFunctions(functions: readonly Func[], indirect: IndirectCalls): ReadonlySet<Value> {
  let closed = closedOf.get(indirect);
  if (closed === undefined) {
    closed = new Set(functions.filter((_, f) => indirect.closed[f] === 1));
    closedOf.set(indirect, closed);
  }
  return closed;
}

export const guardEntries: FunctionPass<LoweringContext> = {
  name: "guard-entries",
  level: "function",
  description: "checks who enters functions that only the program's calls are said to enter",
  option:
    "make the program fail where code that is not compiled here calls a function that analysis says it cannot",
  counters: { calls: "calls that say where they lead", entries: "functions that check who enters" },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(fn, context) {
    const { functions, indirect } = context.knownCallees;
    const closed = closedFunctions(functions, indirect);
    if (closed.size === 0) return false;
    const [calls, entries] = guard(fn, context.rewrite(), closed);
    context.count("calls", calls);
    context.count("entries", entries);
    return calls + entries > 0;
  },
};
