/**
 * Values as they cross calls, where that is not simply their parts.
 *
 * LLVM passes a vector with an element count that is no power of two element by element, unless rounding the
 * count up fills one register; and a vector of i1 in lanes of which only the lowest bit counts. So the former
 * are taken apart and built again at calls, and the lanes of the latter are made whole on arrival.
 */
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { Lowering, Parts } from "./lowering.js";
import { memberTypes, partTypesOf } from "./part-types.js";
import type { VectorTarget } from "./target.js";

/** By the width of registers, and the type. */
const differs: Readonly<Record<number, (boolean | undefined)[]>> = { 16: [], 32: [], 64: [] };

/** Whether a value of the type crosses calls in another form than its parts. */
function hasOwnForm(type: Type, vectors: VectorTarget): boolean {
  return (differs[vectors.registerBytes]![type.id] ??= computeOwnForm(type, vectors));
}

function computeOwnForm(type: Type, vectors: VectorTarget): boolean {
  switch (type.kind) {
    case "vector":
      return vectors.argumentForm(type) !== "registers";
    case "array":
      return hasOwnForm(type.element, vectors);
    case "struct":
      return type.elements.some((e) => hasOwnForm(e, vectors));
    default:
      return false;
  }
}

/** Legal types in which a value of the type is passed or returned. */
export function abiTypes(type: Type, vectors: VectorTarget): readonly Type[] {
  if (!hasOwnForm(type, vectors)) return partTypesOf(type, vectors);
  if (type.isAggregate) return memberTypes(type).flatMap((m) => abiTypes(m, vectors));
  if (vectors.argumentForm(type) === "mask") return partTypesOf(type, vectors);
  const element = partTypesOf(type.element, vectors);
  return Array.from({ length: type.count }, () => element).flat();
}

/** The values to pass for the parts of a value. */
export function toAbi(l: Lowering, type: Type, parts: Parts): Parts {
  if (!hasOwnForm(type, l.vectors)) return parts;
  if (type.isAggregate)
    return eachMember(
      type,
      parts,
      (m) => l.partTypes(m).length,
      (m, own) => toAbi(l, m, own),
    );
  if (l.vectors.argumentForm(type) === "mask") return parts;
  return l.vectors.elements(l, type, parts).flat();
}

/** The parts of a value from what was passed. */
export function fromAbi(l: Lowering, type: Type, passed: Parts): Parts {
  if (!hasOwnForm(type, l.vectors)) return passed;
  if (type.isAggregate)
    return eachMember(
      type,
      passed,
      (m) => abiTypes(m, l.vectors).length,
      (m, own) => fromAbi(l, m, own),
    );
  if (l.vectors.argumentForm(type) === "mask") return l.vectors.wholeMask(l, passed);
  const size = passed.length / type.count;
  const elements: Parts[] = [];
  for (let i = 0; i < type.count; i++) elements.push(passed.slice(i * size, (i + 1) * size));
  return l.vectors.build(l, type, elements);
}

function eachMember(
  type: Type,
  parts: Parts,
  sizeOf: (member: Type) => number,
  convert: (member: Type, parts: Parts) => Parts,
): Parts {
  const out: Value[] = [];
  let at = 0;
  for (const member of memberTypes(type)) {
    const size = sizeOf(member);
    out.push(...convert(member, parts.slice(at, at + size)));
    at += size;
  }
  return out;
}

/**
 * For each passed value of a type, whether it begins a group of two 64-bit words that must not be divided
 * between registers and stack: the first word of every integer, or vector of them, of more than 64 bits.
 */
export function startsOfPairs(type: Type, vectors: VectorTarget): readonly boolean[] {
  if (type.isAggregate) return memberTypes(type).flatMap((m) => startsOfPairs(m, vectors));
  const types = abiTypes(type, vectors);
  const isSplit = types.length > 1 && types[0]!.isInt(64);
  return types.map((_, i) => isSplit && i === 0);
}
