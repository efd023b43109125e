/** Constants and operands as text (LLVM Language Reference, "Constants"). */
import { Flag, fastMathMask, Op, opNames } from "../../lto/ir/instructions.js";
import type { Type } from "../../lto/ir/types.js";
import {
  type ConstAggregate,
  type Constant,
  type ConstData,
  type ConstExpr,
  droppedAddress,
  type InlineAsm,
  type Value,
} from "../../lto/ir/values.js";
import { escapeBytes, escapeText } from "./escape.js";
import { formatFloat } from "./float-text.js";
import { fastMathFlags, plainFlags } from "./keywords.js";
import { type GlobalNames, type LocalNames, type TypeNames, takenName } from "./print-names.js";

/** Everything the spelling of a value depends on besides the value. */
export interface Names {
  readonly types: TypeNames;
  readonly globals: GlobalNames;
  readonly locals: LocalNames;
}

/** Flag words, each followed by a space. */
export function flagText(flags: number): string {
  if (flags === 0) return "";
  let text = "";
  for (const [word, bit] of plainFlags)
    if ((flags & bit) !== 0 && !(bit === Flag.Nusw && (flags & Flag.InBounds) !== 0)) text += `${word} `;
  if ((flags & fastMathMask) === fastMathMask) text += "fast ";
  else for (const [word, bit] of fastMathFlags) if ((flags & bit) !== 0) text += `${word} `;
  return text;
}

/** A value with its type in front. */
export function typedText(value: Value, names: Names): string {
  return `${names.types.name(value.type)} ${valueText(value, names)}`;
}

/** A value without its type. */
export function valueText(value: Value, names: Names): string {
  switch (value.valueKind) {
    case "inst":
    case "argument":
      return names.locals.value(value);
    case "asm":
      return asmText(value);
    case "metadata":
      return value.text === null ? "!{}" : `!"${escapeText(value.text)}"`;
    default:
      return constantText(value, names);
  }
}

function asmText(asm: InlineAsm): string {
  let text = "asm ";
  if (asm.sideEffects) text += "sideeffect ";
  if (asm.alignStack) text += "alignstack ";
  if (asm.intelDialect) text += "inteldialect ";
  if (asm.canUnwind) text += "unwind ";
  return `${text}"${escapeText(asm.template)}", "${escapeText(asm.constraints)}"`;
}

function constantText(value: Constant, names: Names): string {
  switch (value.valueKind) {
    case "int":
      return value.type.bits === 1 ? (value.value === 0n ? "false" : "true") : value.value.toString();
    case "float":
      return formatFloat(value.type, value.bits);
    case "zero":
      if (value.type.kind === "ptr") return "null";
      if (value.type.kind === "int") return value.type.bits === 1 ? "false" : "0";
      return value.type.isFloat ? formatFloat(value.type, 0n) : "zeroinitializer";
    case "undef":
      return value.poison ? "poison" : "undef";
    case "none":
      return "none";
    case "global":
      return names.globals.name(value);
    case "globalref":
      return `${value.kind} ${names.globals.name(value.global)}`;
    case "blockaddress": {
      const dropped = droppedAddress(value);
      if (dropped !== null) return expressionText(dropped, names);
      return `blockaddress(${names.globals.name(value.fn)}, ${takenName(value.label)})`;
    }
    case "data":
      return dataText(value, names);
    case "aggregate":
      return aggregateText(value, names);
    case "expr":
      return expressionText(value, names);
  }
}

function bracketed(type: Type, elements: readonly string[]): string {
  if (elements.length === 0) return "zeroinitializer";
  const list = elements.join(", ");
  switch (type.kind) {
    case "array":
      return `[${list}]`;
    case "vector":
      return `<${list}>`;
    default:
      return type.packed ? `<{ ${list} }>` : `{ ${list} }`;
  }
}

function dataText(value: ConstData, names: Names): string {
  const { type, bytes } = value;
  const element = type.element;
  if (bytes.length === 0) return "zeroinitializer";
  if (type.kind === "array" && element.isInt(8)) return `c"${escapeBytes(bytes)}"`;
  const prefix = `${names.types.name(element)} `;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out: string[] = [];
  const size =
    element.kind === "int"
      ? element.bits / 8
      : element.kind === "half"
        ? 2
        : element.kind === "float"
          ? 4
          : 8;
  for (let at = 0; at + size <= bytes.length; at += size) {
    let text: string;
    if (element.kind === "int") {
      switch (size) {
        case 1:
          text = String(view.getInt8(at));
          break;
        case 2:
          text = String(view.getInt16(at, true));
          break;
        case 4:
          text = String(view.getInt32(at, true));
          break;
        default:
          text = String(view.getBigInt64(at, true));
      }
    } else {
      const bits =
        size === 2
          ? BigInt(view.getUint16(at, true))
          : size === 4
            ? BigInt(view.getUint32(at, true))
            : view.getBigUint64(at, true);
      text = formatFloat(element, bits);
    }
    out.push(prefix + text);
  }
  return bracketed(type, out);
}

function aggregateText(value: ConstAggregate, names: Names): string {
  const { type, elements } = value;
  // A byte array has one spelling whichever of the two classes holds it.
  if (type.kind === "array" && type.element.isInt(8) && elements.length > 0) {
    const bytes = new Uint8Array(elements.length);
    let plain = true;
    for (let i = 0; i < elements.length && plain; i++) {
      const element = elements[i]!;
      if (element.valueKind === "int") bytes[i] = element.num & 255;
      else if (element.valueKind !== "zero") plain = false;
    }
    if (plain) return `c"${escapeBytes(bytes)}"`;
  }
  return bracketed(
    type,
    elements.map((element) => typedText(element, names)),
  );
}

function expressionText(value: ConstExpr, names: Names): string {
  const flags = flagText(value.flags);
  const name = opNames[value.op];
  const operands = value.operands.map((operand) => typedText(operand, names)).join(", ");
  if (value.op >= Op.Trunc && value.op <= Op.AddrSpaceCast)
    return `${name} ${flags}(${operands} to ${names.types.name(value.type)})`;
  if (value.op === Op.GetElementPtr && value.elementType !== null)
    return `${name} ${flags}(${names.types.name(value.elementType)}, ${operands})`;
  if (value.predicate !== null) return `${name} ${flags}${value.predicate} (${operands})`;
  return `${name} ${flags}(${operands})`;
}
