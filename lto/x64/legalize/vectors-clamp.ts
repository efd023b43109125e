/**
 * Lanes made narrower whose values are held within the narrower type's bounds first, as decoders of pictures do: the instructions
 * that pack two registers saturate lanes themselves.
 */
import { elementOf } from "../../codegen/legalize/constants.js";
import { isConstant, type Value } from "../../ir/values.js";
import { extremumOf } from "./vectors-facts.js";

/** A vector whose lanes a saturating pack makes as narrow as asked. */
export interface Clamp {
  readonly value: Value;
  /** The bounds are those of signed numbers. */
  readonly signed: boolean;
}

/** The value of all lanes of an integer constant; null: it is none, or they differ. */
function laneValue(value: Value): bigint | null {
  if (!isConstant(value) || value.valueKind === "expr" || value.type.kind !== "vector") return null;
  const first = elementOf(value, 0);
  if (first.valueKind !== "int") return null;
  for (let i = 1; i < value.type.count; i++) {
    const element = elementOf(value, i);
    if (element.valueKind !== "int" || element.value !== first.value) return null;
  }
  return first.value;
}

/** What is held within the bounds of `bits` bits; null: it is not. */
export function clampOf(value: Value, bits: number): Clamp | null {
  const outer = extremumOf(value);
  if (outer === null) return null;
  const inner = extremumOf(outer.left);
  const [outerBound, innerBound] = [outer, inner].map((each) => each && laneValue(each.right));
  if (inner === null || outerBound == null || innerBound == null) return null;
  const isTopOuter = outer.kind.endsWith("min");
  const [top, bottom] = isTopOuter ? [outerBound, innerBound] : [innerBound, outerBound];
  const [topKind, bottomKind] = isTopOuter ? [outer.kind, inner.kind] : [inner.kind, outer.kind];
  if (bottomKind !== "smax") return null;
  const half = 1n << BigInt(bits - 1);
  if (topKind === "smin" && top === half - 1n && bottom === -half) return { value: inner.left, signed: true };
  // From zero on, the orders of signed and of unsigned numbers are one; before it they are not.
  const isTop = topKind === "smin" || (topKind === "umin" && isTopOuter);
  return isTop && top === 2n * half - 1n && bottom === 0n ? { value: inner.left, signed: false } : null;
}

/** Endings of the packs from lanes of so many bits, one after the other; null: not with these. @param hasWords `packusdw` is there */
export function packsOf(
  from: number,
  to: number,
  signed: boolean,
  hasWords: boolean,
): readonly string[] | null {
  const bytes = signed ? "sswb" : "uswb";
  if (from === 16) return to === 8 ? [bytes] : null;
  if (from !== 32) return null;
  // Signed words hold more than the bounds of either kind of bytes.
  if (to === 8) return ["ssdw", bytes];
  if (to !== 16) return null;
  return signed ? ["ssdw"] : hasWords ? ["usdw"] : null;
}
