/**
 * Short descriptions of instructions and types for verifier messages.
 *
 * Locals are numbered as LLVM numbers unnamed ones, which is how the textual form shows them. Descriptions
 * are bounded in length whatever the IR contains, and assume nothing about its validity.
 */
import { type Block, type BodyView, type Inst, isCall, opNames } from "../ir/instructions.js";
import type { Func } from "../ir/module.js";
import type { Type } from "../ir/types.js";
import type { Value } from "../ir/values.js";

const maxOperands = 6;
const maxText = 60;

/** Spelling of a type, cut off after a few dozen characters. */
export function describeType(type: Type | undefined): string {
  if (type === undefined) return "<no type>";
  return spell(type, maxText).slice(0, maxText + 3);
}

/** Spells at most about `budget` characters, so that a type shared many times over stays cheap. */
function spell(type: Type, budget: number): string {
  if (budget <= 0) return "…";
  switch (type.kind) {
    case "array":
      return `[${type.count} x ${spell(type.element, budget - 8)}]`;
    case "vector":
      return `<${type.count} x ${spell(type.element, budget - 8)}>`;
    case "struct":
    case "function": {
      const parts: string[] = [];
      let left = budget - 4;
      const elements = type.kind === "struct" ? type.elements : type.parameters;
      for (const element of elements) {
        const part = spell(element, left);
        parts.push(part);
        left -= part.length + 2;
        if (left <= 0) break;
      }
      if (type.kind === "function") {
        if (type.isVarArg) parts.push("...");
        return `${spell(type.result, left)} (${parts.join(", ")})`;
      }
      return type.packed ? `<{ ${parts.join(", ")} }>` : `{ ${parts.join(", ")} }`;
    }
    default:
      return type.toString();
  }
}

/** Names locals of one function. Numbers are assigned on first use: correct functions never pay. */
export class Describer {
  private numbers: Map<Inst | Block, number | string> | null = null;
  constructor(
    private readonly fn: Func,
    private readonly body: BodyView,
  ) {}

  private number(key: Inst | Block): string {
    if (this.numbers === null) {
      this.numbers = new Map();
      let next = this.fn.args.length;
      for (let b = 0; b < this.body.blocks.length; b++) {
        const block = this.body.blocks[b]!;
        this.numbers.set(block, block.addressTaken ? `taken.${b}` : next++);
        for (const inst of block.insts) if (inst.type.kind !== "void") this.numbers.set(inst, next++);
      }
    }
    const number = this.numbers.get(key);
    return number === undefined ? "%<elsewhere>" : `%${number}`;
  }

  block(block: Block): string {
    return this.number(block);
  }

  value(value: Value | undefined): string {
    if (value === undefined || value === null) return "<missing>";
    switch (value.valueKind) {
      case "inst":
        return this.number(value);
      case "argument":
        return `%${value.index}`;
      case "global":
        return `@${value.name.slice(0, maxText)}`;
      case "int":
        return value.type.bits <= 64 ? value.value.toString() : "<integer>";
      case "zero":
        return value.type.isPointer ? "null" : "zeroinitializer";
      case "undef":
        return value.poison ? "poison" : "undef";
      case "none":
        return "none";
      default:
        return `<${value.valueKind}>`;
    }
  }

  /** The instruction on one line, shortened. */
  inst(inst: Inst): string {
    const result = inst.type.kind === "void" ? "" : `${this.number(inst)} = `;
    const name = opNames[inst.op] ?? `<op ${inst.op}>`;
    const parts = inst.operands
      .slice(0, maxOperands)
      .map((operand) => `${describeType(operand?.type)} ${this.value(operand)}`);
    if (inst.operands.length > maxOperands) parts.push("…");
    for (const block of inst.blocks.slice(0, maxOperands)) parts.push(`label ${this.block(block)}`);
    const type = isCall(inst) || inst.type.kind === "void" ? "" : ` → ${describeType(inst.type)}`;
    return `${result}${name} ${parts.join(", ")}`.trimEnd() + type;
  }
}
