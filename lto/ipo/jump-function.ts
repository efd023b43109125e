/** Functions that only jump to another one, which stay where their addresses are known. */
import { AttributeList, noAttributes } from "../ir/attributes.js";
import { Block, Body, makeInst, Op } from "../ir/instructions.js";
import type { Func } from "../ir/module.js";
import { voidType } from "../ir/types.js";
import type { Value } from "../ir/values.js";

/**
 * Makes a function's body a tail call of another function with its own arguments, and what that takes besides.
 * @param passed values for the parameters of `to` after those of `fn`
 */
export function makeJumpTo(fn: Func, to: Func, passed: readonly Value[] = []): void {
  const body = new Body();
  const block = new Block();
  const attributes = new AttributeList(noAttributes, fn.attributes.result, fn.attributes.parameters);
  appendJump(block, to, [...fn.args, ...passed], attributes);
  body.blocks.push(block);
  fn.personality = null;
  fn.define(body);
}

/** Ends a function with a tail call, whose result is its own. @param attributes of the call */
export function appendJump(block: Block, to: Func, args: readonly Value[], attributes: AttributeList): void {
  const { result } = to.valueType;
  const call = makeInst(Op.Call, result, [to, ...args], {
    functionType: to.valueType,
    callingConvention: to.callingConvention,
    attributes,
    tail: "tail",
    argumentCount: args.length,
    bundles: [],
  });
  block.append(call);
  block.append(makeInst(Op.Ret, voidType, result === voidType ? [] : [call], null));
}
