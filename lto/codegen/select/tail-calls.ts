/** Which call of a block can take the place of its return. */
import { type CallInst, callArguments, type Inst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Type } from "../../ir/types.js";
import { AskedConvention } from "../asked-conventions.js";
import { abiArguments, conventionOf } from "./calls.js";
import { extensionOf } from "./function-abi.js";
import type { FunctionSelection } from "./function-selection.js";

/**
 * The call that `ret` returns the results of, if it can leave this function's frame behind: nothing but the
 * extraction of its results may lie between, and nobody may come back into the frame. A `musttail` call that cannot is
 * an error.
 */
export function findTailCall(s: FunctionSelection, ret: Inst): CallInst | null {
  const { insts } = ret.parent!;
  let i = insts.length - 2;
  while (i >= 0 && insts[i]!.op === Op.ExtractValue) i--;
  const call = insts[i];
  if (call === undefined || call.op !== Op.Call || call.data.tail === "" || call.data.tail === "notail")
    return null;
  const callee = call.operands[0]!;
  if (callee.valueKind === "asm" || intrinsicOf(callee) !== null) return null;
  const must = call.data.tail === "musttail";
  const { abi, mf } = s;
  const isWanted = s.optimize || call.data.callingConvention === AskedConvention.Tail;
  // What a tail call enters has no alignment but that of the caller.
  const isRealigned = mf.stackAlignment > 0;
  if (!must && (!isWanted || isRealigned || abi.noTailCalls || abi.resultPointer !== null || mf.returnsTwice))
    return null;
  if (!must && !returnsExactly(s, call, ret)) return null;
  if (!s.mayLeaveBy(call)) {
    if (must) s.unsupported("musttail call between these calling conventions");
    return null;
  }
  const { stackBytes } = s.layoutArguments(
    abiArguments(call, callArguments(call)),
    conventionOf(s, call),
    call.data.functionType.isVarArg,
  );
  if (stackBytes > 0) {
    if (!must) return null;
    if (stackBytes > mf.incomingBytes)
      s.unsupported("musttail call with more stack arguments than the caller");
  }
  return call;
}

/** The instruction after the call returns just its result. */
function returnsExactly(s: FunctionSelection, call: CallInst, next: Inst): boolean {
  if (next.op !== Op.Ret) return false;
  // What no register holds comes back in a place of its own, which the caller has to clear.
  if (next.operands.length === 0) return !hasPlace(s, call.type);
  // Narrow results must already be extended the way our own callers expect.
  if (extensionOf(s.abi.resultAttributes) !== extensionOf(call.data.attributes.result)) return false;
  return next.operands.every((operand, i) => {
    const inst = s.resolve(operand);
    if (inst === call) return next.operands.length === 1 && call.type === operand.type;
    return (
      inst.valueKind === "inst" &&
      inst.op === Op.ExtractValue &&
      inst.operands[0] === call &&
      inst.data[0] === i &&
      call.type.elements.length === next.operands.length
    );
  });
}

const hasPlace = (s: FunctionSelection, type: Type): boolean =>
  s.livesInMemory(type) ||
  (type.kind === "struct" && type.elements.some((element) => hasPlace(s, element))) ||
  (type.kind === "array" && hasPlace(s, type.element));
