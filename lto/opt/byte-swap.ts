/** Calls of `llvm.bswap`, which no module has to declare: for what is right before selection. */
import { noAttributeList } from "../ir/attributes.js";
import { type Inst, makeInst, Op } from "../ir/instructions.js";
import { Func } from "../ir/module.js";
import { functionType, type Type } from "../ir/types.js";
import type { Value } from "../ir/values.js";

const swaps = new Map<Type, Func>();

/** A detached call that turns the bytes of an integer round. */
export function byteSwap(value: Value): Inst {
  const { type } = value;
  const signature = functionType(type, [type]);
  let fn = swaps.get(type);
  if (fn === undefined) swaps.set(type, (fn = new Func(`llvm.bswap.${type.toString()}`, signature)));
  return makeInst(Op.Call, type, [fn, value], {
    functionType: signature,
    callingConvention: 0,
    attributes: noAttributeList,
    tail: "",
    argumentCount: 1,
    bundles: [],
  });
}
