/**
 * match-calls: gives calls of the program's own functions the types of those functions.
 *
 * Problem: old C calls functions without prototypes. Where linking has found the definition, such a call still passes
 * variable arguments (and, on x86-64, sets `al`), and no pass that reads parameters looks at it:
 *
 *     call i32 (...) @f(i32 %a, i32 0)   with   define i32 @f(i32, ptr)   becomes   call i32 @f(i32 %a, ptr null)
 *
 * Method: one walk over the bodies. A call of another type than its callee's is rewritten where both agree on where each
 * value lies: values of one type, and integers and pointers of at most 64 bits for each other, at equal positions.
 * Linear in the instructions.
 *
 * Why first: propagation and dead-argument elimination only see calls that match.
 *
 * Proof obligations:
 *  - the definition is the one that runs (not weak, not replaceable at load time), under the call's calling convention;
 *  - the n-th parameter and the n-th argument are in the same register or slot: all before them are of the same kind,
 *    scalars one by one; `byval` and whatever else changes how a value is passed is the same on both sides;
 *  - bits that the call does not pass are whatever is convenient: upper halves are zero, arguments that are missing are
 *    undefined, and then the parameter loses the attributes by which that would be undefined behaviour;
 *  - upper bits of results that the callee does not give are its extension, or zero;
 *  - a call that must be a jump, or whose result is of another kind and used, stays.
 */
import { isExact } from "../analysis/exact.js";
import { AttributeList, AttributeSet, noAttributes } from "../ir/attributes.js";
import { Builder, type FoldOperation } from "../ir/builder.js";
import type { Editor } from "../ir/editor.js";
import { Folder, floatModeOf } from "../ir/fold/index.js";
import { withHints } from "../ir/hints.js";
import { type CallData, type CallInst, isCall, makeInst, Op, setCallData } from "../ir/instructions.js";
import type { Func } from "../ir/module.js";

import type { Type } from "../ir/types.js";
import { type Constant, ConstUndef, isConstant, type Value } from "../ir/values.js";
import type { ModulePass } from "../pass/pass.js";
import { passingAttributes, withoutClaims } from "./parameter-attributes.js";

/** The definition that a direct call of another type reaches; null if it is not certain to, or the types are the same. */
function mismatched(call: CallInst): Func | null {
  const callee = call.operands[0]!;
  if (callee.valueKind !== "global" || callee.kind !== "function" || callee.isDeclaration) return null;
  const { functionType, tail, callingConvention } = call.data;
  if (functionType === callee.valueType || tail === "musttail") return null;
  return isExact(callee) && callingConvention === callee.callingConvention ? callee : null;
}

/** In one general register, or one slot of the stack. */
const isWord = (type: Type): boolean =>
  (type.kind === "int" && type.bits <= 64) || (type.kind === "ptr" && type.addressSpace === 0);

/** Whether each value that the callee reads lies where the call puts it. */
function agrees(call: CallInst, fn: Func): boolean {
  const { argumentCount, attributes } = call.data;
  const { parameters } = fn.valueType;
  for (let i = 0; i < Math.max(parameters.length, attributes.parameters.length); i++) {
    const here = attributes.parameter(i);
    const there = fn.attributes.parameter(i);
    for (const name of passingAttributes) if (here.kinds.get(name) !== there.kinds.get(name)) return false;
    if (i >= argumentCount || i >= parameters.length) continue;
    const passed = call.operands[i + 1]!.type;
    if (passed !== parameters[i] && !(isWord(passed) && isWord(parameters[i]!))) return false;
  }
  return true;
}

/** Whether the callee's result can stand for the call's. */
function resultAgrees(editor: Editor, call: CallInst, fn: Func): boolean {
  const { result } = fn.valueType;
  if (call.type === result) return true;
  // The result of other calls is there on one edge only.
  if (call.op !== Op.Call) return false;
  return (isWord(call.type) && isWord(result)) || !editor.hasUses(call);
}

function convert(builder: Builder, value: Value, type: Type, isSigned: boolean): Value {
  const from = value.type;
  if (from === type) return value;
  if (from.kind === "ptr") return builder.cast(Op.PtrToInt, value, type);
  if (type.kind === "ptr") return builder.cast(Op.IntToPtr, value, type);
  if (from.bits > type.bits) return builder.cast(Op.Trunc, value, type);
  return builder.cast(isSigned ? Op.SExt : Op.ZExt, value, type);
}

const extensions = ["signext", "zeroext"];

/** Attributes of an argument: the call's own while the type stays, and how the callee has it extended. */
function argumentAttributes(call: CallInst, fn: Func, index: number): AttributeSet {
  const isKept =
    index < call.data.argumentCount && call.operands[index + 1]!.type === fn.valueType.parameters[index];
  const own = isKept ? call.data.attributes.parameter(index) : noAttributes;
  const there = fn.attributes.parameter(index).kinds;
  const kinds = new Map([...own.kinds].filter(([name]) => !extensions.includes(name)));
  for (const name of extensions) if (there.has(name)) kinds.set(name, true);
  return kinds.size === 0 && own.strings.size === 0 ? noAttributes : new AttributeSet(kinds, own.strings);
}

function rewrite(editor: Editor, call: CallInst, fn: Func, fold: FoldOperation): void {
  const { valueType } = fn;
  const { argumentCount, attributes } = call.data;
  const before = new Builder(editor, fold).before(call);
  const args: Value[] = valueType.parameters.map((type, i) =>
    i < argumentCount ? convert(before, call.operands[i + 1]!, type, false) : new ConstUndef(type, false),
  );
  const parameters = args.map((_, i) => argumentAttributes(call, fn, i));
  if (valueType.isVarArg)
    for (let i = args.length; i < argumentCount; i++) {
      args.push(call.operands[i + 1]!);
      parameters.push(attributes.parameter(i));
    }
  const isSameResult = call.type === valueType.result;
  const data: CallData = {
    ...call.data,
    functionType: valueType,
    argumentCount: args.length,
    attributes: new AttributeList(attributes.fn, isSameResult ? attributes.result : noAttributes, parameters),
  };
  const operands = [fn, ...args, ...call.operands.slice(1 + argumentCount)];
  if (isSameResult) {
    editor.setLists(call, operands);
    setCallData(call, data);
    return;
  }
  const made = makeInst(Op.Call, valueType.result, operands, data, [], 0);
  made.hints = withHints(call.hints, { range: null });
  editor.insertBefore(made, call);
  if (editor.hasUses(call)) {
    const isSigned = fn.attributes.result.has("signext");
    editor.replaceAllUses(call, convert(new Builder(editor, fold).before(call), made, call.type, isSigned));
  }
  editor.erase(call);
}

/** A parameter for which some call passes nothing makes no claims. */
function admitMissing(fn: Func, argumentCount: number): void {
  const { parameters, fn: own, result } = fn.attributes;
  if (parameters.length <= argumentCount) return;
  fn.attributes = new AttributeList(
    own,
    result,
    parameters.map((set, i) => (i < argumentCount ? set : withoutClaims(set))),
  );
}

export const matchCalls: ModulePass = {
  name: "match-calls",
  level: "module",
  description: "gives calls without prototypes the types of the functions that they call",
  counters: { calls: "calls that got the callee's type" },
  requires: [],
  preserves: [],
  run(module, context) {
    let changed = false;
    for (const caller of module.functions) {
      if (caller.isDeclaration || caller.attributes.fn.has("optnone")) continue;
      const calls: CallInst[] = [];
      for (const { insts } of caller.view().blocks)
        for (const inst of insts) if (isCall(inst) && mismatched(inst) !== null) calls.push(inst);
      if (calls.length === 0) continue;
      const editor = caller.edit();
      const folder = new Folder(module.dataLayout, floatModeOf(caller));
      const fold: FoldOperation = (op, type, operands, data, flags) =>
        operands.every(isConstant)
          ? folder.operation(op, type, operands as readonly Constant[], data, flags)
          : null;
      for (const call of calls) {
        const fn = mismatched(call)!;
        if (!agrees(call, fn) || !resultAgrees(editor, call, fn)) continue;
        admitMissing(fn, call.data.argumentCount);
        rewrite(editor, call, fn, fold);
        context.count("calls");
        changed = true;
      }
    }
    return changed;
  },
};
