/** Makes functions that set arguments, and lets calls go through them. */
import { attributesOfJump } from "../../analysis/made-functions.js";
import { AttributeList, AttributeSet, noAttributes } from "../../ir/attributes.js";
import { poisonOf } from "../../ir/fold/scalars.js";
import {
  Block,
  Body,
  type CallInst,
  copyInst,
  type Inst,
  isCall,
  setCallData,
} from "../../ir/instructions.js";
import { Func } from "../../ir/module.js";
import { raw } from "../../ir/raw.js";
import { functionType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { appendJump } from "../jump-function.js";
import { withoutClaims } from "../parameter-attributes.js";
import type { Callee, Item } from "./sites.js";

/** What becomes of a call. */
export interface Redirection {
  readonly to: Func;
  /** That are set there. */
  readonly items: readonly Item[];
}

/**
 * A function that sets arguments and goes on.
 * @param next a function with the callee's parameters, which sets `bound` for itself
 * @param callers all functions whose calls go through it
 */
export function boundFunction(
  name: string,
  { fn: callee, types }: Callee,
  next: Func,
  items: readonly Item[],
  bound: readonly Item[],
  callers: readonly Func[],
): Func {
  const { attributes: declared, callingConvention, valueType } = callee;
  const { result } = valueType;
  const fn = new Func(name, functionType(result, [...types]));
  fn.linkage = "internal";
  fn.dsoLocal = true;
  fn.unnamedAddr = "global";
  fn.callingConvention = callingConvention;
  const parameters = types.map((_, i) => withoutClaims(declared.parameter(i)));
  fn.attributes = new AttributeList(attributesOfJump(callers, callee), declared.result, parameters);
  const block = new Block();
  const args: Value[] = [...fn.args];
  for (const { position } of bound) if (position >= 0) args[position] = poisonOf(types[position]!);
  for (const { position, value, load } of items) {
    if (value === null) continue;
    if (load === null) args[position] = value;
    else {
      const copy = copyInst(load, [value], []);
      copy.hints = null;
      // It is for all callers.
      copy.origin = 0;
      args[position] = block.append(copy);
    }
  }
  appendJump(block, next, args, new AttributeList(noAttributes, declared.result, parameters));
  const body = new Body();
  body.blocks.push(block);
  fn.define(body);
  return fn;
}

/** @param calls by number among the calls of the body, in layout order */
export function redirectCalls({ blocks }: Body, calls: ReadonlyMap<number, Redirection>): void {
  let index = 0;
  const moved = new Set<Inst>();
  for (const { insts } of blocks)
    for (const inst of insts) {
      if (!isCall(inst)) continue;
      const redirection = calls.get(index++);
      if (redirection !== undefined) redirect(inst, redirection, moved);
    }
  if (moved.size === 0) return;
  for (const block of blocks)
    if (block.insts.some((inst) => moved.has(inst)))
      raw(block).insts = block.insts.filter((inst) => !moved.has(inst));
}

/** @param moved learns of loads that are elsewhere now */
function redirect(call: CallInst, { to, items }: Redirection, moved: Set<Inst>): void {
  const { data } = call;
  const args: Value[] = to.args.map(({ type }, i) =>
    i < data.argumentCount ? call.operands[1 + i]! : poisonOf(type),
  );
  const parameters = to.args.map((_, i) => data.attributes.parameter(i));
  for (const { position, load } of items) {
    if (position < 0) continue;
    const old = args[position]!;
    if (load !== null) moved.add(old as Inst);
    args[position] = poisonOf(old.type);
    parameters[position] = withoutClaims(parameters[position]!);
  }
  const { fn, result } = data.attributes;
  // It may load, or reach memory by a pointer that is no argument any more.
  const reaches = items.some(({ load, value }) => load !== null || value?.type.kind === "ptr");
  const kinds = reaches ? new Map([...fn.kinds].filter(([kind]) => kind !== "memory")) : fn.kinds;
  // There are no bundles.
  raw(call).operands = [to, ...args, ...call.operands.slice(1 + data.argumentCount)];
  setCallData(call, {
    ...data,
    functionType: to.valueType,
    argumentCount: args.length,
    attributes: new AttributeList(new AttributeSet(kinds, fn.strings), result, parameters),
  });
}
