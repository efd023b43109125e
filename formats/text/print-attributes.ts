/**
 * Attributes as text (LLVM Language Reference, "Parameter Attributes", "Function Attributes").
 *
 * Attributes come in alphabetical order, those with a word before those with a string, so that equal sets
 * print equally whatever order their reader met them in.
 */
import { type AttributeSet, type AttributeValue, IntegerRange } from "../../lto/ir/attributes.js";
import type { Type } from "../../lto/ir/types.js";
import { escapeText } from "./escape.js";
import {
  allocKinds,
  attributeForms,
  captureComponents,
  fpClasses,
  memoryAccess,
  memoryLocations,
} from "./keywords.js";

/** `group`: `align=8`, as inside `attributes #0 = { … }`; else `align 8`. */
export function attributeWords(set: AttributeSet, typeName: (type: Type) => string, group = false): string[] {
  const words: string[] = [];
  for (const name of [...set.kinds.keys()].filter((kind) => attributeForms.has(kind)).sort())
    words.push(attributeWord(name, set.kinds.get(name)!, typeName, group));
  for (const name of [...set.strings.keys()].sort()) {
    const value = set.strings.get(name)!;
    words.push(value === "" ? `"${escapeText(name)}"` : `"${escapeText(name)}"="${escapeText(value)}"`);
  }
  return words;
}

function attributeWord(
  name: string,
  value: AttributeValue,
  typeName: (type: Type) => string,
  group: boolean,
): string {
  // All bits stand for the whole object, which has a spelling without a number.
  if (value === true || (name === "dead_on_return" && value === 0xffffffffffffffffn)) return name;
  if (value instanceof IntegerRange) return `range(${typeName(value.type)} ${value.from}, ${value.to})`;
  if (typeof value === "object") return `${name}(${typeName(value)})`;
  if (attributeForms.get(name) === "special") {
    switch (name) {
      case "align":
        return group ? `align=${value}` : `align ${value}`;
      case "uwtable":
        return Number(value) === 1 ? "uwtable(sync)" : "uwtable";
      case "memory":
        return `memory(${memoryText(Number(value))})`;
      case "allockind":
        return `allockind("${allocKinds.filter((_, i) => (Number(value) >> i) & 1).join(",")}")`;
      case "allocsize": {
        const [element, count] = halves(value);
        return count === 0xffffffff ? `allocsize(${element})` : `allocsize(${element},${count})`;
      }
      case "vscale_range": {
        const [min, max] = halves(value);
        return `vscale_range(${min},${max})`;
      }
      case "nofpclass":
        return `nofpclass(${cover(Number(value), fpClasses).join(" ") || "0"})`;
      default:
        // The spelling that LLVM had until 20, and still accepts.
        return Number(value) === 0 ? "nocapture" : `captures(${capturesText(Number(value))})`;
    }
  }
  return group ? `${name}=${value}` : `${name}(${value})`;
}

/** The upper and the lower 32 bits. */
function halves(value: number | bigint): [number, number] {
  const all = BigInt(value);
  return [Number((all >> 32n) & 0xffffffffn), Number(all & 0xffffffffn)];
}

/** Words whose bits make up `mask`, from a list ordered from wide to narrow. */
function cover(mask: number, words: readonly (readonly [string, number])[]): string[] {
  const out: string[] = [];
  for (const [word, bits] of words)
    if ((mask & bits) === bits) {
      out.push(word);
      mask &= ~bits;
    }
  return out;
}

function memoryText(effects: number): string {
  const last = memoryLocations.length - 1;
  const fallback = (effects >> (2 * last)) & 3;
  const parts: string[] = [];
  for (let i = 0; i < last; i++) {
    const access = (effects >> (2 * i)) & 3;
    if (access !== fallback) parts.push(`${memoryLocations[i]}: ${memoryAccess[access]}`);
  }
  if (fallback !== 0 || parts.length === 0) parts.unshift(memoryAccess[fallback]!);
  return parts.join(", ");
}

function capturesText(value: number): string {
  const components = (mask: number): string => cover(mask, captureComponents).join(", ") || "none";
  const result = value & 15;
  const other = (value >> 4) & 15;
  if (result === other) return components(other);
  const parts = [`ret: ${components(result)}`];
  if (other !== 0) parts.unshift(components(other));
  return parts.join(", ");
}
