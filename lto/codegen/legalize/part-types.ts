/** The legal types that stand for a value of any type. */
import { i64, type Type } from "../../ir/types.js";
import { promotedInt } from "./emitter.js";
import { isLegalType } from "./legal-types.js";
import type { VectorTarget } from "./target.js";

/** By the width of registers, and the type. */
const partTypeCaches: Readonly<Record<number, (readonly Type[] | undefined)[]>> = {
  16: [],
  32: [],
  64: [],
};

/** Member types of an aggregate, spelled out for arrays. */
export function memberTypes(type: Type): readonly Type[] {
  return type.kind === "array" ? new Array<Type>(type.count).fill(type.element) : type.elements;
}

/** Uncurried `Lowering.partTypes`, for use before a function's state exists. */
export function partTypesOf(type: Type, vectors: VectorTarget): readonly Type[] {
  return (partTypeCaches[vectors.registerBytes]![type.id] ??= computePartTypes(type, vectors));
}

function computePartTypes(type: Type, vectors: VectorTarget): readonly Type[] {
  switch (type.kind) {
    case "int":
      if (type.bits <= 64) return [promotedInt(type.bits)];
      return new Array<Type>(Math.ceil(type.bits / 64)).fill(i64);
    case "vector":
      return isLegalType(type, vectors) ? [type] : vectors.partTypes(type, (t) => partTypesOf(t, vectors));
    case "array": {
      const element = partTypesOf(type.element, vectors);
      const parts: Type[] = [];
      for (let i = 0; i < type.count; i++) for (const part of element) parts.push(part);
      return parts;
    }
    case "struct":
      return type.elements.flatMap((e) => partTypesOf(e, vectors));
    case "void":
      return [];
    default:
      return [type];
  }
}
