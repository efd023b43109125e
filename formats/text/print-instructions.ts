/** Instructions as text (LLVM Language Reference, "Instruction Reference"), one or more lines each. */

import type { AttributeSet } from "../../lto/ir/attributes.js";
import type { Hints } from "../../lto/ir/hints.js";
import {
  type CallInst,
  Flag,
  type Inst,
  type InstWith,
  type MemoryData,
  Op,
  opNames,
} from "../../lto/ir/instructions.js";
import { type Intrinsic, intrinsicOf, intrinsics } from "../../lto/ir/intrinsics.js";
import type { Value } from "../../lto/ir/values.js";
import { escapeText } from "./escape.js";
import { callingConventionWords } from "./keywords.js";
import { attributeWords } from "./print-attributes.js";
import { flagText, type Names, typedText, valueText } from "./print-constants.js";

/** Names, and how function attributes of calls are written: inline or as a group `#N`. */
export interface InstNames extends Names {
  functionAttributes(set: AttributeSet): string;
  /** `, !kind !N` for what metadata says of an instruction. */
  attachments(inst: Inst, hints: Hints): string;
}

/** The instruction, with `%N = ` in front if it has a result. */
export function instructionText(inst: Inst, names: InstNames): string {
  let text = rightHandSide(inst, names);
  if (inst.hints !== null) text += names.attachments(inst, inst.hints);
  return inst.type.kind === "void" ? text : `${names.locals.value(inst)} = ${text}`;
}

function rightHandSide(inst: Inst, names: InstNames): string {
  const { operands, blocks } = inst;
  const typed = (i: number): string => typedText(operands[i]!, names);
  const plain = (i: number): string => valueText(operands[i]!, names);
  const label = (i: number): string => `label ${names.locals.block(blocks[i]!)}`;
  const head = `${opNames[inst.op]} ${flagText(inst.flags)}`;
  switch (inst.op) {
    case Op.Ret:
      // Legalised functions return several values, one a register.
      return operands.length === 0 ? "ret void" : `ret ${operands.map((_, i) => typed(i)).join(", ")}`;
    case Op.Br:
      return `br ${label(0)}`;
    case Op.CondBr:
      return `br ${typed(0)}, ${label(0)}, ${label(1)}`;
    case Op.Switch: {
      let text = `switch ${typed(0)}, ${label(0)} [`;
      for (let i = 0; i < inst.data.length; i++)
        text += `\n    ${typedText(inst.data[i]!, names)}, ${label(i + 1)}`;
      return `${text}\n  ]`;
    }
    case Op.IndirectBr:
      return `indirectbr ${typed(0)}, [${blocks.map((_, i) => label(i)).join(", ")}]`;
    case Op.Unreachable:
      return "unreachable";
    case Op.Invoke:
    case Op.CallBr:
    case Op.Call:
      return callText(inst, names);
    case Op.Alloca:
      return allocaText(inst, names);
    case Op.Load:
      return `load ${access(inst.data, inst.flags)}${names.types.name(inst.type)}, ${typed(0)}${ordering(inst.data)}, align ${inst.data.align}`;
    case Op.Store:
      return `store ${access(inst.data, inst.flags)}${typed(0)}, ${typed(1)}${ordering(inst.data)}, align ${inst.data.align}`;
    case Op.Fence:
      return `fence${ordering(inst.data)}`;
    case Op.CmpXchg: {
      const { weak, failureOrdering, align } = inst.data;
      const volatile = (inst.flags & Flag.Volatile) !== 0 ? "volatile " : "";
      return `cmpxchg ${weak ? "weak " : ""}${volatile}${typed(0)}, ${typed(1)}, ${typed(2)}${ordering(inst.data)} ${failureOrdering}, align ${align}`;
    }
    case Op.AtomicRMW: {
      const volatile = (inst.flags & Flag.Volatile) !== 0 ? "volatile " : "";
      return `atomicrmw ${volatile}${inst.data.rmw} ${typed(0)}, ${typed(1)}${ordering(inst.data)}, align ${inst.data.align}`;
    }
    case Op.GetElementPtr:
      return `${head}${names.types.name(inst.data.elementType)}, ${operands.map((_, i) => typed(i)).join(", ")}`;
    case Op.ICmp:
    case Op.FCmp:
      return `${head}${inst.data} ${typed(0)}, ${plain(1)}`;
    case Op.Phi:
      return `${head}${names.types.name(inst.type)} ${operands.map((_, i) => `[ ${plain(i)}, ${names.locals.block(blocks[i]!)} ]`).join(", ")}`;
    case Op.VAArg:
      return `va_arg ${typed(0)}, ${names.types.name(inst.type)}`;
    case Op.ShuffleVector: {
      const lanes = inst.data.map((lane) => (lane < 0 ? "i32 poison" : `i32 ${lane}`));
      return `shufflevector ${typed(0)}, ${typed(1)}, <${lanes.length} x i32> <${lanes.join(", ")}>`;
    }
    case Op.ExtractValue:
    case Op.InsertValue:
      return `${head}${operands.map((_, i) => typed(i)).join(", ")}, ${inst.data.join(", ")}`;
    case Op.LandingPad: {
      let text = `landingpad ${names.types.name(inst.type)}`;
      if (inst.data.cleanup) text += "\n    cleanup";
      for (let i = 0; i < operands.length; i++) text += `\n    ${inst.data.clauses[i]} ${typed(i)}`;
      return text;
    }
    default:
      if (inst.op >= Op.Trunc && inst.op <= Op.AddrSpaceCast)
        return `${head}${typed(0)} to ${names.types.name(inst.type)}`;
      if (inst.op >= Op.Add && inst.op <= Op.Xor) return `${head}${typed(0)}, ${plain(1)}`;
      // fneg, select, resume, freeze, extractelement, insertelement.
      return `${head}${operands.map((_, i) => typed(i)).join(", ")}`;
  }
}

const access = (data: MemoryData, flags: number): string =>
  (data.ordering === "not_atomic" ? "" : "atomic ") + ((flags & Flag.Volatile) !== 0 ? "volatile " : "");

function ordering(data: MemoryData): string {
  if (data.ordering === "not_atomic") return "";
  return (data.scope === "" ? "" : ` syncscope("${escapeText(data.scope)}")`) + ` ${data.ordering}`;
}

function allocaText(inst: InstWith<Op.Alloca>, names: InstNames): string {
  const { allocatedType, align, inalloca, swifterror } = inst.data;
  const count = inst.operands[0]!;
  const single = count.valueKind === "int" && count.num === 1 && count.type.isInt(32);
  const space = inst.type.addressSpace;
  return (
    `alloca ${inalloca ? "inalloca " : ""}${swifterror ? "swifterror " : ""}${names.types.name(allocatedType)}` +
    `${single ? "" : `, ${typedText(count, names)}`}, align ${align}${space === 0 ? "" : `, addrspace(${space})`}`
  );
}

export function conventionText(number: number): string {
  return number === 0 ? "" : `${callingConventionWords.get(number) ?? `cc ${number}`} `;
}

function callText(inst: CallInst, names: InstNames): string {
  const { data, operands, blocks } = inst;
  const { functionType, attributes } = data;
  const words = (set: AttributeSet): string =>
    attributeWords(set, names.types.name)
      .map((word) => `${word} `)
      .join("");
  const callee = operands[0]!;
  const args: string[] = [];
  for (let i = 0; i < data.argumentCount; i++) {
    const arg = operands[i + 1]!;
    args.push(
      `${names.types.name(arg.type)} ${words(attributes.parameter(i))}${argumentText(arg, callee, names)}`,
    );
  }
  // Such a call also passes on what the caller was given beyond its parameters.
  if (data.tail === "musttail" && functionType.isVarArg) args.push("...");
  const type = functionType.isVarArg ? functionType : functionType.result;
  let text = inst.op === Op.Call && data.tail !== "" ? `${data.tail} ` : "";
  text += `${opNames[inst.op]} ${flagText(inst.flags)}${conventionText(data.callingConvention)}`;
  text += `${words(attributes.result)}${names.types.name(type)} ${valueText(callee, names)}(${args.join(", ")})`;
  const group = names.functionAttributes(attributes.fn);
  if (group !== "") text += ` ${group}`;
  if (data.bundles.length > 0) {
    let at = 1 + data.argumentCount;
    const bundles = data.bundles.map(({ tag, inputs }) => {
      const values = operands.slice(at, (at += inputs)).map((value) => typedText(value, names));
      return `"${escapeText(tag)}"(${values.join(", ")})`;
    });
    text += ` [ ${bundles.join(", ")} ]`;
  }
  if (inst.op === Op.Invoke)
    text += `\n          to label ${names.locals.block(blocks[0]!)} unwind label ${names.locals.block(blocks[1]!)}`;
  else if (inst.op === Op.CallBr) {
    const [next, ...indirect] = blocks.map((block) => `label ${names.locals.block(block)}`);
    text += `\n          to ${next} [${indirect.join(", ")}]`;
  }
  return text;
}

/** Intrinsics whose metadata operand is a node around the string rather than the string. */
const takesNode: ReadonlySet<Intrinsic | null> = new Set([
  intrinsics.read_register,
  intrinsics.read_volatile_register,
  intrinsics.write_register,
]);

function argumentText(arg: Value, callee: Value, names: InstNames): string {
  if (arg.valueKind === "metadata" && callee.valueKind === "global") {
    const intrinsic = intrinsicOf(callee);
    if (arg.text !== null && takesNode.has(intrinsic)) return `!{!"${escapeText(arg.text)}"}`;
    // LLVM insists on the shape of a scope list even where nothing refers to the scope.
    if (arg.text === null && intrinsic === intrinsics["experimental.noalias.scope.decl"])
      return '!{!{!"", !{!""}}}';
  }
  return valueText(arg, names);
}
