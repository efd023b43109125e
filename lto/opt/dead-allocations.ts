/**
 * dead-allocations: memory that nobody reads is not allocated.
 *
 *     %p = call ptr @malloc(i64 16)
 *     %q = getelementptr i8, ptr %p, i64 8
 *     store i32 1, ptr %q                      →   (nothing)
 *     %no = icmp eq ptr %p, null                   false
 *     call void @free(ptr %p)
 *
 * Why: who allocates, who fills and who frees are functions of their own, often in other files; inlining brings them together,
 * and other passes take the reads.
 *
 * Method: the calls of functions that allocate; what is computed from their results, to a fixpoint; what is done with that.
 * An allocation goes if all of it can go. Linear; bodies without such calls are looked at once.
 *
 * Proof obligations: nothing reads the memory, nobody gets its address, and who frees it belongs to the same allocator (LLVM
 * Language Reference, `allockind` and "alloc-family"; C++ [expr.new]: what a new-expression calls may be left out). Functions
 * that the program defines, functions of those names with other prototypes, and calls of which something says that they are no library's (`nobuiltin`, `no-builtins`), are
 * taken for what they are. An allocation that is not made cannot fail: its result compares unequal to null, which is only known
 * of the result itself. An access that is volatile or atomic stays, and with it the allocation.
 * Breaks if: a use of an address is none of an instruction's operands.
 */
import { jumpTo, replaceTerminator } from "../ir/cfg-edit.js";
import type { DataLayout } from "../ir/data-layout.js";
import type { Editor } from "../ir/editor.js";
import {
  type Block,
  type BodyView,
  type CallInst,
  type Inst,
  isPlainAccess,
  Op,
} from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import type { Func } from "../ir/module.js";
import { functionType, intType, ptr, type Type, voidType } from "../ir/types.js";
import { ConstUndef, constBool, type Value } from "../ir/values.js";
import type { FunctionPass } from "../pass/pass.js";
import { isBuiltinCall, isVolatileTransfer } from "./call-effects.js";

export const deadAllocations: FunctionPass = {
  name: "dead-allocations",
  level: "function",
  description: "removes allocations of memory that nothing reads, with what fills and frees it",
  counters: { removed: "allocations removed" },
  requires: [],
  preserves: [],
  run(fn, context) {
    const { fn: attributes } = fn.attributes;
    if (attributes.has("naked") || attributes.has("presplitcoroutine")) return false;
    const view = context.view();
    const allocations = allocationsIn(view, fn, context.layout);
    if (allocations.length === 0) return false;
    const dead = deadOnes(view, fn, allocations, context.layout);
    if (dead.length === 0) return false;
    const editor = fn.edit();
    for (const allocation of dead) remove(allocation, editor);
    editor.sweep();
    context.count("removed", dead.length);
    return true;
  },
};

/** A call that allocates, and what is done with its result. */
interface Allocation {
  readonly call: CallInst;
  /** What frees it has the same. */
  readonly family: string;
  /** Instructions that go with it. */
  readonly uses: Inst[];
}

/** Bits of `allockind`. */
const allocates = 1;
const frees = 4;

/** A function of the library: its family, as clang names it, and its parameters by letters, `s` for sizes and `p` for pointers. */
interface Prototype {
  readonly family: string;
  readonly parameters: string;
}
const prototypes = (rows: readonly (readonly [string, string, string])[]): ReadonlyMap<string, Prototype> =>
  new Map(rows.map(([name, family, parameters]) => [name, { family, parameters }]));

/** What compilers do not say of the library's functions where they leave it to a pass of theirs. */
const allocators = prototypes([
  ["malloc", "malloc", "s"],
  ["calloc", "malloc", "ss"],
  ["_Znwm", "_Znwm", "s"],
  ["_ZnwmRKSt9nothrow_t", "_Znwm", "sp"],
  ["_Znam", "_Znam", "s"],
  ["_ZnamRKSt9nothrow_t", "_Znam", "sp"],
  ["_ZnwmSt11align_val_t", "_ZnwmSt11align_val_t", "ss"],
  ["_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnwmSt11align_val_t", "ssp"],
  ["_ZnamSt11align_val_t", "_ZnamSt11align_val_t", "ss"],
  ["_ZnamSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_t", "ssp"],
]);
const deallocators = prototypes([
  ["free", "malloc", "p"],
  ["_ZdlPv", "_Znwm", "p"],
  ["_ZdlPvm", "_Znwm", "ps"],
  ["_ZdlPvRKSt9nothrow_t", "_Znwm", "pp"],
  ["_ZdaPv", "_Znam", "p"],
  ["_ZdaPvm", "_Znam", "ps"],
  ["_ZdaPvRKSt9nothrow_t", "_Znam", "pp"],
  ["_ZdlPvSt11align_val_t", "_ZnwmSt11align_val_t", "ps"],
  ["_ZdlPvmSt11align_val_t", "_ZnwmSt11align_val_t", "pss"],
  ["_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZnwmSt11align_val_t", "psp"],
  ["_ZdaPvSt11align_val_t", "_ZnamSt11align_val_t", "ps"],
  ["_ZdaPvmSt11align_val_t", "_ZnamSt11align_val_t", "pss"],
  ["_ZdaPvSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_t", "psp"],
]);

/** Which function a call is of, where that is told: for other functions of those names, it is not. */
function isOfPrototype(
  { data }: CallInst,
  callee: Func,
  result: Type,
  parameters: string,
  layout: DataLayout,
): boolean {
  const size = intType(layout.bitWidth(ptr));
  const type = functionType(
    result,
    [...parameters].map((letter) => (letter === "s" ? size : ptr)),
  );
  return callee.valueType === type && data.functionType === type;
}

/** The function of the program's environment that a call is of; null: it may be any. */
function declaredCallee(call: CallInst): Func | null {
  const callee = call.operands[0]!;
  return callee.valueKind === "global" && callee.kind === "function" && callee.isDeclaration ? callee : null;
}

/** What the callee's declaration says of its kind and its family; null: nothing. @param kind a bit of `allockind` */
function declaredFamily({ attributes: { fn } }: Func, kind: number): string | null {
  return (Number(fn.int("allockind")) & kind) === 0 ? null : (fn.string("alloc-family") ?? null);
}

/** The allocator that a call allocates of; null: none. */
function allocatorOf(call: CallInst, caller: Func, layout: DataLayout): string | null {
  const callee = declaredCallee(call);
  if (callee === null || !isBuiltinCall(call, callee, caller)) return null;
  if (callee.attributes.fn.has("allockind")) return declaredFamily(callee, allocates);
  const known = allocators.get(callee.name);
  return known !== undefined && isOfPrototype(call, callee, ptr, known.parameters, layout)
    ? known.family
    : null;
}

/** Whether a call frees what it is given as an operand, of an allocator. */
function isFreeOf(
  family: string,
  call: CallInst,
  operand: number,
  caller: Func,
  layout: DataLayout,
): boolean {
  const callee = declaredCallee(call);
  if (callee === null || !isBuiltinCall(call, callee, caller)) return false;
  if (callee.attributes.fn.has("allockind")) {
    const freed = [callee.attributes, call.data.attributes].some((list) =>
      list.parameter(operand - 1).has("allocptr"),
    );
    return freed && declaredFamily(callee, frees) === family;
  }
  const known = deallocators.get(callee.name);
  return (
    operand === 1 &&
    known?.family === family &&
    isOfPrototype(call, callee, voidType, known.parameters, layout)
  );
}

function allocationsIn({ blocks }: BodyView, fn: Func, layout: DataLayout): Allocation[] {
  const found: Allocation[] = [];
  for (const { insts } of blocks)
    for (let i = 0; i < insts.length; i++) {
      const call = insts[i]!;
      if (call.op !== Op.Call && call.op !== Op.Invoke) continue;
      if (call.type.kind !== "ptr") continue;
      const family = allocatorOf(call, fn, layout);
      if (family !== null) found.push({ call, family, uses: [] });
    }
  return found;
}

/** Those that can go with all that is done with them. */
function deadOnes(
  { blocks }: BodyView,
  fn: Func,
  allocations: readonly Allocation[],
  layout: DataLayout,
): Allocation[] {
  const source = new Map<Value, Allocation>(allocations.map((each) => [each.call, each]));
  // Definitions may stand after uses in the layout, never around a circle without a phi.
  for (let before = -1; before !== source.size; ) {
    before = source.size;
    for (const { insts } of blocks)
      for (let i = 0; i < insts.length; i++) {
        const inst = insts[i]!;
        const from = inst.op === Op.GetElementPtr ? source.get(inst.operands[0]!) : undefined;
        if (from !== undefined && inst.type.kind === "ptr") source.set(inst, from);
      }
  }
  const uses: [inst: Inst, operand: number, from: Allocation][] = [];
  for (const { insts } of blocks)
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      for (let k = 0; k < inst.operands.length; k++) {
        const from = source.get(inst.operands[k]!);
        if (from !== undefined) uses.push([inst, k, from]);
      }
    }
  // What keeps the address of one in another goes with that one.
  const dead: Allocation[] = [];
  const gone = new Set<Inst>();
  for (let left = allocations; ; ) {
    const needed = new Set<Allocation>();
    for (const [inst, operand, from] of uses)
      if (!gone.has(inst) && source.get(inst) !== from && !canGo(inst, operand, from, fn, layout))
        needed.add(from);
    const found = left.filter((each) => !needed.has(each));
    if (found.length === 0) return dead;
    dead.push(...found);
    left = left.filter((each) => needed.has(each));
    for (const [inst, , from] of uses)
      if (found.includes(from) && !gone.has(inst)) {
        from.uses.push(inst);
        gone.add(inst);
      }
  }
}

/** Whether an instruction only matters to who reads the memory that it is given as an operand. */
function canGo(
  inst: Inst,
  operand: number,
  { call, family }: Allocation,
  caller: Func,
  layout: DataLayout,
): boolean {
  switch (inst.op) {
    case Op.Store:
      return operand === 1 && isPlainAccess(inst);
    case Op.ICmp: {
      const predicate = inst.data;
      if (predicate !== "eq" && predicate !== "ne") return false;
      return inst.operands[operand] === call && inst.operands[1 - operand]!.valueKind === "zero";
    }
    case Op.Call: {
      const name = intrinsicOf(inst.operands[0]!)?.name;
      if (name !== undefined)
        return operand === 1 && /^mem(?:set|cpy|move)\b/.test(name) && !isVolatileTransfer(inst, name);
      return (
        inst.operands[operand] === call &&
        inst.type.kind === "void" &&
        isFreeOf(family, inst, operand, caller, layout)
      );
    }
    default:
      return false;
  }
}

function remove({ call, uses }: Allocation, editor: Editor): void {
  // Addresses after what they are addresses for.
  for (const inst of uses.reverse()) {
    if (inst.op === Op.ICmp) editor.replace(inst, constBool(inst.data === "ne"));
    else if (inst.op !== Op.GetElementPtr) editor.erase(inst);
  }
  let left = uses.filter(({ op }) => op === Op.GetElementPtr);
  while (left.length > 0) {
    const used = left.filter((inst) => editor.hasUses(inst));
    for (const inst of left) if (!used.includes(inst)) editor.erase(inst);
    left = used;
  }
  if (call.op !== Op.Invoke) return editor.erase(call);
  const block: Block = call.parent!;
  const [normal] = call.blocks;
  editor.replaceAllUses(call, new ConstUndef(call.type, true));
  replaceTerminator(editor, block, jumpTo(normal!));
}
