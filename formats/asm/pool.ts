/**
 * Literal-pool constants of a whole output, each once.
 *
 * A constant's label is made of its alignment and bytes, so that functions printed apart agree on it without
 * a table between them. Entries of 4, 8 and 16 bytes go to the sections in which linkers merge equal ones.
 */
import type { PoolConstant } from "../../lto/codegen/mir.js";
import { bytesText } from "./data-text.js";
import { constantSection, readOnlySection } from "./sections.js";

const isMergeable = (constant: PoolConstant): boolean =>
  (constant.bytes.length === 4 || constant.bytes.length === 8 || constant.bytes.length === 16) &&
  constant.align <= constant.bytes.length;

export class PoolSet {
  private readonly entries = new Map<string, PoolConstant>();

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

  /** Constants noted so far: what a worker returns with its text. */
  constants(): PoolConstant[] {
    return [...this.entries.values()];
  }

  add(constants: readonly PoolConstant[]): void {
    for (const constant of constants) this.label(constant);
  }

  /** Definitions of all constants, by section, size and label. */
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
    return out;
  }
}
