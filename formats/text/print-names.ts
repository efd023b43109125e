/** Names that the printer gives to what has none in the IR: types, unnamed globals, locals. */
import type { Block, BodyView, Inst } from "../../lto/ir/instructions.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { type Type, voidType } from "../../lto/ir/types.js";
import type { Argument } from "../../lto/ir/values.js";
import { quoteName } from "./escape.js";

/** A literal struct type with more parts than this is given a name. */
const maxLiteralParts = 8;

/**
 * Spellings of types. Large structs become `%T0`, `%T1`, … in order of first use, which keeps a listing
 * legible and its size linear in the number of types; small ones stay literal, as intrinsics require.
 */
export class TypeNames {
  /** `%T0 = type …` lines, members before their users. */
  readonly definitions: string[] = [];
  private readonly names = new Map<Type, string>();
  private readonly parts = new Map<Type, number>();

  name = (type: Type): string => {
    let text = this.names.get(type);
    if (text === undefined) {
      text = this.spell(type);
      if (type.kind === "struct" && this.size(type) > maxLiteralParts) {
        const name = `%T${this.definitions.length}`;
        this.definitions.push(`${name} = type ${text}`);
        text = name;
      }
      this.names.set(type, text);
    }
    return text;
  };

  private spell(type: Type): string {
    switch (type.kind) {
      case "array":
        return `[${type.count} x ${this.name(type.element)}]`;
      case "vector":
        return `<${type.count} x ${this.name(type.element)}>`;
      case "struct": {
        const body = type.elements.length === 0 ? "{}" : `{ ${type.elements.map(this.name).join(", ")} }`;
        return type.packed ? `<${body}>` : body;
      }
      case "function": {
        const params = type.parameters.map(this.name);
        if (type.isVarArg) params.push("...");
        return `${this.name(type.result)} (${params.join(", ")})`;
      }
      default:
        return type.toString();
    }
  }

  private size(type: Type): number {
    let size = this.parts.get(type);
    if (size === undefined) {
      size = 1;
      for (const element of type.elements) size += this.size(element);
      this.parts.set(type, size);
    }
    return size;
  }
}

/** What the printer calls a block, an argument or an instruction's result. */
export interface LocalNames {
  value(value: Inst | Argument): string;
  block(block: Block): string;
}

/**
 * LLVM's numbering of unnamed locals: arguments, then each block followed by the results in it. Blocks whose
 * address is taken have names instead: LLVM lets a blockaddress use a number only before the function.
 * Values that do not belong to the body are shown as `%<detached>`.
 */
export class LocalNumbers implements LocalNames {
  private readonly numbers = new Map<Inst | Block, number | string>();
  constructor(args: number, body: BodyView) {
    let next = args;
    for (const block of body.blocks) {
      this.numbers.set(block, block.addressTaken ? takenName(block.label) : next++);
      for (const inst of block.insts) if (inst.type !== voidType) this.numbers.set(inst, next++);
    }
  }
  value(value: Inst | Argument): string {
    return value.valueKind === "argument" ? `%${value.index}` : this.spell(value);
  }
  block(block: Block): string {
    return this.spell(block);
  }
  private spell(key: Inst | Block): string {
    const name = this.numbers.get(key);
    if (name === undefined) return "%<detached>";
    return typeof name === "number" ? `%${name}` : name;
  }
}

/** Names for an instruction shown without its function: dense ids, which `Body.renumber()` assigns. */
export const idNames: LocalNames = {
  value: (value) => (value.valueKind === "argument" ? `%arg${value.index}` : `%i${value.id}`),
  block: (block) => `%bb${block.id}`,
};

/** Spellings of globals; nameless ones are numbered in module order. */
export class GlobalNames {
  private readonly spellings = new Map<GlobalValue, string>();
  private readonly listed: ReadonlySet<GlobalValue> | null;
  /** @param globals of the module; null where single functions are shown */
  constructor(globals: readonly GlobalValue[] | null) {
    this.listed = globals === null ? null : new Set(globals);
    let next = 0;
    for (const global of globals ?? []) if (global.name === "") this.spellings.set(global, `@${next++}`);
  }
  /** Whether the module has it. */
  has(global: GlobalValue): boolean {
    return this.listed === null || this.listed.has(global);
  }
  name(global: GlobalValue): string {
    let text = this.spellings.get(global);
    if (text === undefined) {
      text = global.name === "" ? "@<unlisted>" : `@${quoteName(global.name)}`;
      this.spellings.set(global, text);
    }
    return text;
  }
}

/** Name of a block whose address is taken, by its label. Parsing it sets `Block.label` again. */
export const takenName = (label: number): string => `%taken.${label}`;
