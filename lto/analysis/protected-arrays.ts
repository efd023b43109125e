/**
 * Which local variables overflow into their neighbours: arrays, by LLVM's rules for the stack protector (Language
 * Reference, attributes `ssp`, `sspstrong`, `sspreq`). Such variables lie next to the guard. Linear in the type.
 */
import type { AttributeSet } from "../ir/attributes.js";
import type { DataLayout } from "../ir/data-layout.js";
import type { Inst, Op } from "../ir/instructions.js";
import type { Type } from "../ir/types.js";

/** `large`: an array of at least as many bytes as count as a buffer. */
export type ArrayKind = "none" | "small" | "large";

export interface ProtectionLevel {
  /** Any array counts, and any variable whose address is used for more than plain accesses. */
  readonly strong: boolean;
  /** Bytes from which on an array is a buffer. */
  readonly bufferSize: number;
}

/** What a function's attributes ask for; null for no protection. */
export function protectionLevel(attributes: AttributeSet): ProtectionLevel | null {
  const strong = attributes.has("sspstrong") || attributes.has("sspreq");
  if (!strong && !attributes.has("ssp")) return null;
  const bufferSize = Number(attributes.string("stack-protector-buffer-size") ?? 8);
  return { strong, bufferSize: Number.isNaN(bufferSize) ? 8 : bufferSize };
}

function arrayIn(type: Type, layout: DataLayout, level: ProtectionLevel): ArrayKind {
  if (type.kind === "array") {
    if (!level.strong && !(type.element.kind === "int" && type.element.bits === 8)) return "none";
    if (layout.allocSize(type) >= level.bufferSize) return "large";
    return level.strong ? "small" : "none";
  }
  if (type.kind !== "struct") return "none";
  let found: ArrayKind = "none";
  for (const member of type.elements) {
    const kind = arrayIn(member, layout, level);
    if (kind === "large") return kind;
    if (kind === "small") found = kind;
  }
  return found;
}

/** What an allocation holds. */
export function arrayKind(
  alloca: Extract<Inst, { op: Op.Alloca }>,
  layout: DataLayout,
  level: ProtectionLevel,
): ArrayKind {
  const count = alloca.operands[0]!;
  const { allocatedType } = alloca.data;
  if (count.valueKind !== "int") return "large";
  if (count.value !== 1n) {
    if (layout.allocSize(allocatedType) * Number(count.value) >= level.bufferSize) return "large";
    if (level.strong) return "small";
  }
  return arrayIn(allocatedType, layout, level);
}
