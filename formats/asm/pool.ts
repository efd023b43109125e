/**
 * Literal-pool constants of a whole output, each once, and words that hold the address of a symbol.
 *
 * Those words are for position-independent exception tables, which name personalities and types through them. They
 * are called as GCC calls them, so that the linker keeps one of each in a program; those of local symbols are local.
 *
 * A constant's label is made of its alignment and bytes, so that functions printed apart agree on it without
 * a table between them. Entries of 4 to 32 bytes go to the sections in which linkers merge equal ones.
 */
import type { PoolConstant } from "../../lto/codegen/mir.js";
import { bytesText } from "./data-text.js";
import { constantSection, readOnlySection } from "./sections.js";

const isMergeable = (constant: PoolConstant): boolean =>
  [4, 8, 16, 32].includes(constant.bytes.length) && constant.align <= constant.bytes.length;

/** A word with the address of a symbol. */
export interface Reference {
  /** As a token. */
  readonly symbol: string;
  readonly isLocal: boolean;
}

/** What functions printed elsewhere use. Plain data. */
export interface PoolContents {
  readonly constants: readonly PoolConstant[];
  readonly references: readonly Reference[];
}

export class PoolSet {
  private readonly entries = new Map<string, PoolConstant>();
  private readonly references = new Map<string, Reference>();

  /** Notes that the word is used and returns its label. */
  reference(reference: Reference): string {
    const label = referenceLabel(reference);
    this.references.set(label, reference);
    return label;
  }

  /** Notes that the constant is used and returns its label. */
  label(constant: PoolConstant): string {
    let hex = "";
    // Most significant byte first: numbers are legible in the label.
    for (let i = constant.bytes.length - 1; i >= 0; i--)
      hex += constant.bytes[i]!.toString(16).padStart(2, "0");
    const label = isMergeable(constant) ? `.LC${hex}` : `.LC${constant.align}_${hex}`;
    if (!this.entries.has(label)) this.entries.set(label, constant);
    return label;
  }

  /** What was noted so far: what a worker returns with its text. */
  contents(): PoolContents {
    return { constants: [...this.entries.values()], references: [...this.references.values()] };
  }

  add({ constants, references }: PoolContents): void {
    for (const constant of constants) this.label(constant);
    for (const reference of references) this.reference(reference);
  }

  /** Definitions of all constants, by section, size and label, and of all words, by symbol. */
  text(): string {
    const sorted = [...this.entries].sort(
      ([a, x], [b, y]) =>
        Number(isMergeable(y)) - Number(isMergeable(x)) ||
        (isMergeable(x) ? x.bytes.length - y.bytes.length : y.align - x.align) ||
        (a < b ? -1 : 1),
    );
    let out = "";
    let current = "";
    for (const [label, constant] of sorted) {
      const { bytes, align } = constant;
      const { directive } = isMergeable(constant) ? constantSection(bytes.length) : readOnlySection;
      if (directive !== current) out += `${directive}\n`;
      current = directive;
      const alignment = isMergeable(constant) ? bytes.length : align;
      out += `\t.p2align\t${31 - Math.clz32(alignment)}\n${label}:\n${bytesText(bytes, 0, bytes.length)}`;
    }
    for (const [label, reference] of [...this.references].sort(([a], [b]) => (a < b ? -1 : 1)))
      out += referenceText(label, reference);
    return out;
  }
}

function referenceLabel({ symbol, isLocal }: Reference): string {
  const prefix = isLocal ? ".Lref." : "DW.ref.";
  return symbol.startsWith('"') ? `"${prefix}${symbol.slice(1)}` : prefix + symbol;
}

function referenceText(label: string, { symbol, isLocal }: Reference): string {
  const word = `\t.p2align\t3\n${label}:\n\t.quad\t${symbol}\n`;
  if (isLocal) return `\t.section\t.data.rel.local,"aw",@progbits\n${word}`;
  const section = label.startsWith('"') ? `".data.rel.local.${label.slice(1)}` : `.data.rel.local.${label}`;
  return (
    `\t.hidden\t${label}\n\t.weak\t${label}\n\t.section\t${section},"awG",@progbits,${label},comdat\n` +
    `\t.type\t${label},@object\n\t.size\t${label}, 8\n${word}`
  );
}
