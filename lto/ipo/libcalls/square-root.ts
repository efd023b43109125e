/**
 * Square roots: the instruction, where that does all that the library's function does.
 *
 * The function sets `errno` where its argument is less than zero, and does nothing else that the instruction does not. For
 * speed, and where code for size is hot enough, the instruction comes first, and the call follows where its result is no number:
 *
 *     %r = call double @sqrt(double %x)   →   %s = call double @llvm.sqrt.f64(double %x)
 *                                             br (fcmp ord %s, %s), label %rest, label %call
 */
import { AttributeList, AttributeSet } from "../../ir/attributes.js";
import { jumpTo, replaceTerminator, splitBlock } from "../../ir/cfg-edit.js";
import { HintFlag, withHints } from "../../ir/hints.js";
import { Block, type CallData, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { voidType } from "../../ir/types.js";
import { isConstant, type Value } from "../../ir/values.js";
import type { LibraryCall, Maker, Rule } from "./calls.js";
import { argument } from "./strings.js";

/** Weights of a result that is a number, and of one that is none. */
const usually: readonly number[] = [2000, 1];
/** Instructions of the function, and that lead to it and back, beside those. */
const functionInstructions = 12;
/** How deep sums and products are looked into. */
const mostDepth = 4;

/** Whether the value is not less than zero; it may be −0, or no number. */
function isNeverNegative(value: Value, depth = 0): boolean {
  if (isConstant(value) || value.valueKind !== "inst" || depth === mostDepth) return false;
  const [a, b] = value.operands as readonly [Value, Value];
  switch (value.op) {
    case Op.UIToFP:
      return true;
    case Op.FMul:
      return a === b || (isNeverNegative(a, depth + 1) && isNeverNegative(b, depth + 1));
    case Op.FAdd:
      return isNeverNegative(a, depth + 1) && isNeverNegative(b, depth + 1);
    case Op.FPExt:
    case Op.FPTrunc:
      return isNeverNegative(a, depth + 1);
    case Op.Call: {
      const name = intrinsicOf(a)?.name;
      return name === "fabs" || name === "sqrt";
    }
    default:
      return false;
  }
}

/** Asks again when the instruction's result is no number. @returns the result of either */
function callWhereUnordered(make: Maker, call: LibraryCall): Value {
  const { editor } = make;
  // Without flags: that it is no number is asked about.
  const fast = make.squareRoot(argument(call, 0), 0);
  const isNumber = make.build.fcmp("ord", fast, fast);
  const before = call.parent!;
  const rest = splitBlock(editor, call);
  const slow = editor.addBlock(new Block(), before);
  // It is the library's function still, but looked at no more.
  const { fn, result, parameters } = call.data.attributes;
  const noBuiltin = new AttributeSet(new Map([...fn.kinds, ["nobuiltin", true as const]]), fn.strings);
  const again: CallData = { ...call.data, attributes: new AttributeList(noBuiltin, result, parameters) };
  const called = makeInst(Op.Call, call.type, [...call.operands], again, [], call.flags) as Inst;
  called.origin = call.origin;
  editor.append(called, slow);
  editor.append(jumpTo(rest), slow);
  const branch = makeInst(Op.CondBr, voidType, [isNumber], null, [rest, slow]);
  branch.hints = withHints(null, { weights: usually, flags: HintFlag.ExpectedWeights });
  replaceTerminator(editor, before, branch);
  return editor.prependPhi(makeInst(Op.Phi, call.type, [fast, called], null, [before, slow]), rest);
}

export const sqrt: Rule = (call, context) => {
  const { rootBytes } = context;
  if (rootBytes === null || call.data.tail === "musttail") return null;
  if (isNeverNegative(argument(call, 0))) return (make) => make.squareRoot(argument(call, 0), call.flags);
  if (!context.isUsed(call)) return null;
  const isWorth = context.goal === "speed" || context.timeBytes(call, functionInstructions) >= rootBytes;
  return isWorth ? (make) => callWhereUnordered(make, call) : null;
};
