/** Rules for calls (LLVM Language Reference, "'call' Instruction", "'invoke' Instruction"). */
import { AttributeList, type AttributeSet } from "../ir/attributes.js";
import { type CallData, type CallInst, type Inst, Op } from "../ir/instructions.js";
import type { Func } from "../ir/module.js";
import { Type } from "../ir/types.js";
import { asmProblem } from "./asm.js";
import { describeType } from "./describe.js";
import { isFirstClass, type Problem } from "./rules.js";

const tailKinds = new Set(["", "tail", "musttail", "notail"]);

export function callProblem(inst: CallInst): Problem {
  const { data, operands } = inst;
  if (!(data?.functionType instanceof Type) || data.functionType.kind !== "function")
    return "no function type";
  if (!(data.attributes instanceof AttributeList) || !Array.isArray(data.bundles))
    return "no attributes or bundles";
  const { functionType, argumentCount } = data;
  const callee = operands[0];
  if (callee === undefined) return "no callee";
  if (callee.valueKind === "asm") {
    if (callee.functionType !== functionType) return "assembly of another function type";
    const problem = asmProblem(callee, functionType, inst.op === Op.CallBr ? inst.blocks.length - 1 : 0);
    if (problem !== null) return problem;
  } else if (!callee.type.isPointer) return `callee of type ${describeType(callee.type)}`;
  if (inst.type !== functionType.result) return `the result has type ${describeType(inst.type)}`;
  let inputs = 0;
  for (const bundle of data.bundles) inputs += bundle.inputs;
  if (!(argumentCount >= 0) || operands.length !== 1 + argumentCount + inputs)
    return "arguments and bundle inputs do not add up to the operands";
  const parameters = functionType.elements.length - 1;
  if (functionType.isVarArg ? argumentCount < parameters : argumentCount !== parameters)
    return `${argumentCount} arguments for ${parameters} parameters`;
  for (let i = 1; i <= argumentCount; i++) {
    const { type } = operands[i]!;
    if (i > parameters) {
      if (!isFirstClass(type)) return `variable argument of type ${describeType(type)}`;
    } else if (type !== functionType.elements[i])
      return `argument ${i - 1} has type ${describeType(type)} instead of ${describeType(functionType.elements[i])}`;
  }
  if (
    !Number.isInteger(data.callingConvention) ||
    data.callingConvention < 0 ||
    data.callingConvention > 1023
  )
    return `calling convention ${data.callingConvention}`;
  if (!tailKinds.has(data.tail) || (data.tail !== "" && inst.op !== Op.Call))
    return `tail marker '${data.tail}'`;
  if (inst.op === Op.CallBr && inst.blocks.length === 0) return "callbr without a target";
  return (
    attributeProblem(
      data.attributes,
      operands.slice(1, 1 + argumentCount).map((o) => o.type),
    ) ?? immediateProblem(inst)
  );
}

/** Attributes that say how a value is passed, and what its type must be for that. */
const pointerAttributes = ["byval", "sret", "byref", "inalloca", "preallocated", "nest", "swifterror"];

/** @param types of the parameters or arguments */
export function attributeProblem(attributes: AttributeList, types: readonly Type[]): Problem {
  if (attributes.result.has("range") && attributes.result.range === undefined)
    return "a range without bounds";
  if (attributes.parameters.length > types.length) return "attributes of parameters that do not exist";
  for (let i = 0; i < attributes.parameters.length; i++) {
    const set = attributes.parameters[i]!;
    if (set.kinds.size === 0) continue;
    const problem = valueAttributeProblem(set, types[i]!);
    if (problem !== null) return `parameter ${i}: ${problem}`;
  }
  return null;
}

function valueAttributeProblem(set: AttributeSet, type: Type): Problem {
  if (type.kind !== "ptr")
    for (const name of pointerAttributes) if (set.has(name)) return `'${name}' on ${describeType(type)}`;
  if ((set.has("signext") || set.has("zeroext")) && type.kind !== "int")
    return `an extension attribute on ${describeType(type)}`;
  if (set.has("range")) {
    const { range } = set;
    if (range === undefined || range.type !== type.scalar) return `a range on ${describeType(type)}`;
  }
  const byval = set.type("byval");
  if (byval !== undefined && !isFirstClass(byval)) return `'byval' of ${describeType(byval)}`;
  return null;
}

/** Arguments of intrinsics that must be constants. */
function immediateProblem(inst: CallInst): Problem {
  const callee = inst.operands[0]!;
  if (callee.valueKind !== "global" || callee.kind !== "function") return null;
  const { parameters } = callee.attributes;
  for (let i = 0; i < parameters.length && i < inst.data.argumentCount; i++)
    if (parameters[i]!.kinds.has("immarg")) {
      const kind = inst.operands[i + 1]!.valueKind;
      if (kind !== "int" && kind !== "float") return `argument ${i} must be a constant`;
    }
  return null;
}

/** Attributes that a musttail call and its caller must agree on, since they change how arguments lie. */
const abiAttributes = [
  "sret",
  "byval",
  "inalloca",
  "inreg",
  "swiftself",
  "swifterror",
  "swiftasync",
  "preallocated",
  "byref",
];
const tailConvention = 18;
const swiftTailConvention = 20;

/** A musttail call, given what follows it in its block. */
export function mustTailProblem(inst: CallInst, next: Inst | undefined, fn: Func): Problem {
  const { data } = inst;
  if (inst.operands[0]!.valueKind === "asm") return "musttail call of assembly";
  const returned = next?.operands[0];
  if (next?.op !== Op.Ret || (returned !== undefined && returned !== inst && returned.valueKind !== "undef"))
    return "musttail call is not followed by a return of its value";
  if (data.callingConvention !== fn.callingConvention) return "musttail call with another calling convention";
  const { functionType } = data;
  if (functionType.isVarArg !== fn.valueType.isVarArg)
    return "musttail call differs from its caller in '...'";
  if (functionType.result !== fn.valueType.result) return "musttail call with another result type";
  // These conventions let the callee pop whatever it was passed.
  if (data.callingConvention === tailConvention || data.callingConvention === swiftTailConvention)
    return null;
  if (functionType !== fn.valueType) return "musttail call with other parameter types";
  return passingProblem(data, fn);
}

function passingProblem(data: CallData, fn: Func): Problem {
  for (let i = 0; i < fn.args.length; i++) {
    const there = data.attributes.parameter(i);
    const here = fn.attributes.parameter(i);
    for (const name of abiAttributes)
      if (there.kinds.get(name) !== here.kinds.get(name))
        return `musttail call passes argument ${i} in another way than its caller ('${name}')`;
  }
  return null;
}
