/** Makes the function that stands for a cluster, and lets calls of the members call it. */
import { AttributeList, AttributeSet } from "../../ir/attributes.js";
import { dropRecords } from "../../ir/debug-reconcile.js";
import { Body, type CallInst, type Inst, isCall, makeInst, Op, setCallData } from "../../ir/instructions.js";
import { Func } from "../../ir/module.js";
import { raw } from "../../ir/raw.js";
import { functionType, i8, type Type } from "../../ir/types.js";
import { constI64, constInt, type Value } from "../../ir/values.js";
import { weaken } from "../icf/compare.js";
import { makeJumpTo } from "../jump-function.js";
import { addOperation, type Input } from "../similar/parameters.js";
import type { Cluster, MergePlan, Slot } from "./cluster.js";

/** What becomes of calls of a function. */
export interface Redirection {
  readonly to: Func;
  /** What they pass in addition. */
  readonly passed: readonly Value[];
}

/**
 * Makes the common function, and jumps of the members that stay. Calls of members are left for `redirectCalls`, but for
 * those of itself in the new body.
 */
export function mergeCluster(cluster: Cluster, plan: MergePlan, name: string): Func {
  const { first, members } = cluster;
  for (const { fn } of members) if (fn !== first) weaken(first, fn);
  const { list } = plan.parameters;
  const { result, parameters } = first.valueType;
  const to = new Func(name, functionType(result, [...parameters, ...list.map(({ type }) => type)]));
  to.linkage = "internal";
  to.dsoLocal = true;
  to.unnamedAddr = "global";
  to.callingConvention = first.callingConvention;
  to.attributes = attributesWith(
    first.attributes,
    list.map(({ type }) => type),
  );
  to.align = first.align;
  to.section = first.section;
  to.gc = first.gc;
  to.personality = first.personality;
  to.entryCount = first.entryCount;
  const body = first.rewrite();
  // What they say of variables is said of one of the functions.
  for (const block of body.blocks) dropRecords(block);
  const inserted = parametrize(body, first, to, plan);
  for (const block of body.blocks) {
    const { insts } = block;
    if (insts.some((inst) => inserted.has(inst)))
      raw(block).insts = insts.flatMap((inst) => [...(inserted.get(inst) ?? []), inst]);
  }
  const moved = new Body();
  moved.blocks = body.blocks;
  to.define(moved);
  members.forEach(({ fn, staysAsJump }, i) => {
    if (staysAsJump)
      makeJumpTo(
        fn,
        to,
        list.map(({ values }) => values[i]!),
      );
  });
  return to;
}

/** Puts parameters in the places of constants, and the new function's arguments in those of the old one's. */
function parametrize(body: Body, from: Func, to: Func, { slots, inputs }: MergePlan): Map<Inst, Inst[]> {
  const inserted = new Map<Inst, Inst[]>();
  const own = from.args.length;
  let next = 0;
  body.renumber();
  for (const block of body.blocks)
    for (const inst of block.insts) {
      const { operands } = raw(inst);
      for (let i = 0; i < operands.length; i++) {
        const operand = operands[i]!;
        if (operand.valueKind === "argument") operands[i] = to.args[operand.index]!;
        else if (operand === from) operands[i] = to;
      }
      if (isCall(inst) && inst.operands[0] === to) pass(inst, { to, passed: to.args.slice(own) });
      for (; next < slots.length && slots[next]!.inst === inst.id; next++)
        operands[slots[next]!.operand] = valueAt(inputs[next]!, slots[next]!, inst, to, own, inserted);
    }
  return inserted;
}

/** What stands at a slot; sums come before the instruction, for phis before where the entry comes from. */
function valueAt(
  input: Input,
  slot: Slot,
  inst: Inst,
  to: Func,
  own: number,
  inserted: Map<Inst, Inst[]>,
): Value {
  if (input.kind === "constant") return input.value;
  const argument = to.args[own + input.index]!;
  if (input.plus === 0n) return argument;
  const { type } = argument;
  const place = inst.op === Op.Phi ? inst.blocks[slot.operand]!.terminator : inst;
  // A block that branches twice to the phi passes one value.
  const known = inserted.get(place)?.find(({ operands: [base, plus] }) => {
    return base === argument && plus?.valueKind === "int" && plus.value === input.plus;
  });
  if (known !== undefined) return known;
  const sum =
    addOperation(type) === Op.GetElementPtr
      ? makeInst(Op.GetElementPtr, type, [argument, constI64(input.plus)], { elementType: i8 })
      : makeInst(Op.Add, type, [argument, constInt(type, input.plus)], null);
  sum.parent = place.parent;
  const list = inserted.get(place);
  if (list === undefined) inserted.set(place, [sum]);
  else list.push(sum);
  return sum;
}

/** Without claims on memory that an address among the new parameters makes untrue. */
function attributesWith({ fn, result, parameters }: AttributeList, types: readonly Type[]): AttributeList {
  if (!types.some(({ kind }) => kind === "ptr") || !fn.has("memory"))
    return new AttributeList(fn, result, parameters);
  const kinds = new Map([...fn.kinds].filter(([kind]) => kind !== "memory"));
  return new AttributeList(new AttributeSet(kinds, fn.strings), result, parameters);
}

/** Lets a call pass more, to another function. */
function pass(call: CallInst, { to, passed }: Redirection): void {
  const { data } = call;
  const lists = raw(call);
  const end = 1 + data.argumentCount;
  lists.operands = [to, ...lists.operands.slice(1, end), ...passed, ...lists.operands.slice(end)];
  setCallData(call, {
    ...data,
    functionType: to.valueType,
    argumentCount: data.argumentCount + passed.length,
    attributes: attributesWith(
      data.attributes,
      passed.map(({ type }) => type),
    ),
  });
}

/** @param callers all functions that call one of those that were merged */
export function redirectCalls(callers: Iterable<Func>, merged: ReadonlyMap<Func, Redirection>): void {
  for (const caller of callers) {
    if (caller.isDeclaration) continue;
    for (const { insts } of caller.rewrite().blocks)
      for (const inst of insts) {
        const callee = inst.operands[0];
        if (!isCall(inst) || callee?.valueKind !== "global" || callee.kind !== "function") continue;
        const redirection = merged.get(callee);
        if (
          redirection !== undefined &&
          inst.data.tail !== "musttail" &&
          inst.data.functionType === callee.valueType &&
          inst.data.callingConvention === callee.callingConvention
        )
          pass(inst, redirection);
      }
  }
}
