/**
 * Inline assembly templates.
 *
 * A template is text with `$n` and `${n:m}` for operand n under modifier m, `$$` for a dollar sign,
 * `$(a$|b$)` for a choice of dialects (AT&T and Intel), `${:uid}` for a number unique to this statement.
 * Linear in the template.
 * Source: LLVM Language Reference, "Inline Assembler Expressions" and "Asm template argument modifiers"; GCC
 * manual, "x86 Operand Modifiers".
 */
import type { AsmData, AsmOperand, MemOperand, MInst } from "../../../lto/codegen/mir.js";
import { InputError } from "../../../lto/ir/errors.js";
import { gnuAsm } from "../../../lto/link/gnu-asm.js";
import { registerNames } from "../../../lto/x64/isa/registers.js";
import type { OperandNames } from "../instruction-printer.js";
import { intelMemoryText } from "./intel-operands.js";
import { memoryText, registerText, symbolText } from "./operands.js";
import { withRecentAsBytes } from "./recent-instructions.js";

const highBytes = ["%ah", "%ch", "%dh", "%bh"];
const suffixBySize: Readonly<Record<number, string>> = { 1: "b", 2: "w", 4: "l", 8: "q" };

/** The template with everything substituted, between comment-free line breaks; "" for an empty one. */
export function inlineAsmText(inst: MInst, names: OperandNames): string {
  const data = inst.extra as AsmData;
  const expanded = gnuAsm(new Expander(inst, data, names).expand());
  const body = data.intel ? expanded : withRecentAsBytes(expanded);
  if (body.trim() === "") return "";
  const text = data.intel ? `.intel_syntax noprefix\n\t${body}\n\t.att_syntax prefix` : body;
  return `\t#APP\n\t${text}\n\t#NO_APP`;
}

class Expander {
  private readonly id: string;
  private at = 0;

  constructor(
    private readonly inst: MInst,
    private readonly data: AsmData,
    private readonly names: OperandNames,
  ) {
    this.id = names.asmId();
  }

  expand(): string {
    const { template } = this.data;
    let out = "";
    const dialect = this.data.intel ? 1 : 0;
    // Index of the current dialect alternative inside `$( … $)`; -1 outside.
    let alternative = -1;
    while (this.at < template.length) {
      const dollar = template.indexOf("$", this.at);
      const end = dollar < 0 ? template.length : dollar;
      if (alternative < 0 || alternative === dialect) out += template.slice(this.at, end);
      this.at = end;
      if (dollar < 0) break;
      const next = template[dollar + 1];
      this.at = dollar + 2;
      if (next === "(") alternative = 0;
      else if (next === "|" && alternative >= 0) alternative++;
      else if (next === ")" && alternative >= 0) alternative = -1;
      // Outside a choice they are how clang writes the bare characters.
      else if (next === "|") out += "|";
      else if (next === ")") out += "}";
      else {
        const text = this.substitution(next);
        if (alternative < 0 || alternative === dialect) out += text;
      }
    }
    return out;
  }

  private fail(): never {
    throw new InputError(`malformed inline assembly template '${this.data.template}'`);
  }

  /** What follows a `$`, which is at `this.at - 2`. */
  private substitution(next: string | undefined): string {
    const { template } = this.data;
    if (next === "$") return "$";
    if (next === "{") {
      const close = template.indexOf("}", this.at);
      if (close < 0) this.fail();
      const [head, modifier = ""] = template.slice(this.at, close).split(":", 2);
      this.at = close + 1;
      if (head === "") return this.special(modifier);
      if (!/^\d+$/.test(head!)) this.fail();
      return this.operand(Number(head), modifier);
    }
    if (next === undefined || !/\d/.test(next)) this.fail();
    let end = this.at;
    while (end < template.length && /\d/.test(template[end]!)) end++;
    const number = Number(template.slice(this.at - 1, end));
    this.at = end;
    return this.operand(number, "");
  }

  private special(name: string): string {
    switch (name) {
      case "uid":
        return this.id;
      case "private":
        return ".L";
      case "comment":
        return "#";
      default:
        return this.fail();
    }
  }

  private operand(index: number, modifier: string): string {
    const operand = this.data.operands[index];
    if (operand === undefined) this.fail();
    if (this.data.intel) return this.intelOperand(operand, modifier);
    switch (operand.kind) {
      case "def":
        return this.register(this.inst.defs[operand.index]!.loc, operand.size, modifier);
      case "use":
        return this.register(this.inst.uses[operand.index]!.loc, operand.size, modifier);
      case "mem":
        return this.memory(operand.mem, modifier);
      case "imm":
        return immediateText(operand.value, modifier);
      case "symbol":
        return this.symbol(operand, modifier);
      case "text":
        return operand.text;
      case "block":
        return modifier === "l" || modifier === "P" || modifier === "c"
          ? this.names.block(operand.block)
          : `$${this.names.block(operand.block)}`;
    }
  }

  private intelOperand(operand: AsmOperand, modifier: string): string {
    const bare = "cPpnlA".includes(modifier || " ");
    switch (operand.kind) {
      case "def":
      case "use": {
        const { loc } = (operand.kind === "def" ? this.inst.defs : this.inst.uses)[operand.index]!;
        if (modifier === "a") return `[${registerNames[8]![loc]!}]`;
        return this.register(loc, operand.size, modifier === "A" ? "q" : modifier).replace("%", "");
      }
      case "mem": {
        const { mem } = operand;
        if (bare && modifier !== "A" && mem.symbol !== null && mem.base === null && mem.index === null)
          return symbolText(mem.symbol, mem.disp, this.names);
        return intelMemoryText(modifier === "H" ? upperHalf(mem) : mem, this.names);
      }
      case "imm":
        return String(modifier === "n" ? -operand.value : operand.value);
      case "symbol": {
        const text = symbolText(operand.symbol, operand.offset, this.names);
        return modifier === "a" ? `[rip + ${text}]` : bare ? text : `offset ${text}`;
      }
      case "text":
        return operand.text.replace("%", "");
      case "block":
        return `${bare ? "" : "offset "}${this.names.block(operand.block)}`;
    }
  }

  private register(register: number, size: number, modifier: string): string {
    switch (modifier) {
      case "b":
        return registerText(register, 1);
      case "h":
        return register < 4 ? highBytes[register]! : registerText(register, 1);
      case "w":
        return registerText(register, 2);
      case "k":
        return registerText(register, 4);
      case "q":
        return registerText(register, 8);
      case "V":
        return registerNames[8]![register]!;
      case "a":
        return `(${registerText(register, 8)})`;
      case "A":
        return `*${registerText(register, 8)}`;
      case "z":
      case "Z":
        return suffixBySize[size] ?? "";
      case "x":
        return registerText(register, 16);
      case "t":
        return registerText(register, 32);
      case "g":
        return registerText(register, 64);
      default:
        return registerText(register, size);
    }
  }

  private memory(mem: MemOperand, modifier: string): string {
    switch (modifier) {
      case "H":
        return memoryText(upperHalf(mem), this.names);
      case "A":
        return `*${memoryText(mem, this.names)}`;
      case "P":
      case "p":
      case "c":
        // The bare symbol of a rip-relative or absolute operand.
        if (mem.symbol !== null && mem.base === null && mem.index === null)
          return symbolText(mem.symbol, mem.disp, this.names);
        return memoryText(mem, this.names);
      default:
        return memoryText(mem, this.names);
    }
  }

  private symbol(operand: Extract<AsmOperand, { kind: "symbol" }>, modifier: string): string {
    const text = symbolText(operand.symbol, operand.offset, this.names);
    switch (modifier) {
      case "c":
      case "P":
      case "p":
      case "l":
        return text;
      case "a":
        return `${text}(%rip)`;
      case "A":
        return `*${text}`;
      default:
        return `$${text}`;
    }
  }
}

/** The second eight bytes of an operand of sixteen. */
function upperHalf(mem: MemOperand): MemOperand {
  const upper = Object.assign(Object.create(Object.getPrototypeOf(mem)), mem) as MemOperand;
  upper.disp = mem.disp + 8;
  return upper;
}

function immediateText(value: bigint, modifier: string): string {
  switch (modifier) {
    case "n":
      return String(-value);
    case "c":
    case "P":
    case "p":
    case "a":
    case "l":
      return String(value);
    default:
      return `$${value}`;
  }
}
