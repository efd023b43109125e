/** Accesses of the lanes that a mask chooses, by its bits: where they are, or next to each other in memory. */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { bytesOf } from "./avx-registers.js";
import { loadUnderMask, storeUnderMask } from "./evex-assembly.js";
import { knownWord, wordOf } from "./evex-masks.js";
import { type Evex, isMaskable, isWhole, laneMoves, wordAt } from "./evex-parts.js";
import { bitsOf } from "./vectors-shape.js";

const applies = (l: Lowering, type: Type, mask: Value, { features }: Evex): boolean =>
  type.count <= 64 &&
  isMaskable(type, features) &&
  (isWhole(type, features) || knownWord(l.parts(mask)) !== undefined);

/** What is in lanes that are not loaded; null: zero will do. */
const keptLanes = (rest: Value): Value | null =>
  rest.valueKind === "undef" || rest.valueKind === "zero" ? null : rest;

export function evexMaskedLoad(
  l: Lowering,
  type: Type,
  pointer: Value,
  mask: Value,
  rest: Value,
  evex: Evex,
): Parts | null {
  if (!applies(l, type, mask, evex)) return null;
  const word = wordOf(l, evex.avx, mask.type, l.parts(mask));
  const others = l.parts(rest);
  let at = 0;
  return l.partTypes(type).map((part, i) => {
    const other = others[i]!;
    const own = wordAt(l, word, type.count, part.count, i);
    const move = laneMoves[bitsOf(part.element)]!;
    const loaded = loadUnderMask(l, move, part, own, keptLanes(other), l.offset(pointer, at));
    at += bytesOf(part);
    return loaded;
  });
}

export function evexMaskedStore(l: Lowering, value: Value, pointer: Value, mask: Value, evex: Evex): boolean {
  const { type } = value;
  if (!applies(l, type, mask, evex)) return false;
  const word = wordOf(l, evex.avx, mask.type, l.parts(mask));
  let at = 0;
  l.parts(value).forEach((part, i) => {
    const { count } = part.type;
    const own = wordAt(l, word, type.count, count, i);
    storeUnderMask(l, laneMoves[bitsOf(part.type.element)]!, count, own, part, l.offset(pointer, at));
    at += bytesOf(part.type);
  });
  return true;
}

/** A vector of one register whose lanes AVX-512F packs: what several registers pack is not in one place. */
const isPacked = (l: Lowering, type: Type, { features }: Evex): boolean =>
  isMaskable(type, features) && bitsOf(type.element) >= 32 && l.partTypes(type).length === 1;

const packName = (kind: "compress" | "expand", type: Type): string =>
  `vp${kind}${bitsOf(type.element) === 32 ? "d" : "q"}`;

export function evexExpandLoad(
  l: Lowering,
  type: Type,
  pointer: Value,
  mask: Value,
  rest: Value,
  evex: Evex,
): Parts | null {
  if (!isPacked(l, type, evex)) return null;
  const word = wordOf(l, evex.avx, mask.type, l.parts(mask));
  const kept = keptLanes(l.parts(rest)[0]!);
  const part = l.partTypes(type)[0]!;
  return [loadUnderMask(l, packName("expand", part), part, word, kept, pointer)];
}

export function evexCompressStore(
  l: Lowering,
  value: Value,
  pointer: Value,
  mask: Value,
  evex: Evex,
): boolean {
  if (!isPacked(l, value.type, evex)) return false;
  const word = wordOf(l, evex.avx, mask.type, l.parts(mask));
  const part = l.parts(value)[0]!;
  storeUnderMask(l, packName("compress", part.type), part.type.count, word, part, pointer);
  return true;
}
