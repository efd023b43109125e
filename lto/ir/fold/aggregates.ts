/**
 * Elements of constant aggregates and vectors, and aggregates from elements, in canonical form: equal values have
 * equal shapes, as far as they can be written in several ways.
 */
import type { Type } from "../types.js";
import {
  ConstAggregate,
  type Constant,
  ConstData,
  ConstFloat,
  ConstUndef,
  ConstZero,
  constInt,
  dataElementSize,
  zeroOf,
} from "../values.js";

/** Number of members of an aggregate or elements of a vector. */
export const memberCount = (type: Type): number =>
  type.kind === "struct" ? type.elements.length : type.count;
export const memberTypeAt = (type: Type, index: number): Type =>
  type.kind === "struct" ? type.elements[index]! : type.element;

/** Element `index` of a constant array, vector or struct; null for a constant without known elements. */
export function elementOf(c: Constant, index: number): Constant | null {
  const { type } = c;
  switch (c.valueKind) {
    case "aggregate":
      return c.elements[index]!;
    case "zero":
      return zeroOf(memberTypeAt(type, index));
    case "undef":
      return new ConstUndef(memberTypeAt(type, index), c.poison);
    case "data":
      return dataElement(c, index);
    case "int":
      // A splat of one integer.
      return constInt(type.element, c.value);
    case "float":
      return new ConstFloat(type.element, c.bits);
    default:
      return null;
  }
}

function dataElement(c: ConstData, index: number): Constant {
  const element = c.type.element;
  const size = c.bytes.length / c.type.count;
  let bits = 0n;
  for (let b = size - 1; b >= 0; b--) bits = (bits << 8n) | BigInt(c.bytes[index * size + b]!);
  return element.kind === "int" ? constInt(element, bits) : new ConstFloat(element, bits);
}

/** All elements, or null. */
export function elementsOf(c: Constant): Constant[] | null {
  const count = memberCount(c.type);
  const elements: Constant[] = [];
  for (let i = 0; i < count; i++) {
    const element = elementOf(c, i);
    if (element === null) return null;
    elements.push(element);
  }
  return elements;
}

const isZero = (c: Constant): boolean =>
  c.valueKind === "zero" ||
  (c.valueKind === "int" && c.value === 0n) ||
  (c.valueKind === "float" && c.bits === 0n);

/** The constant of a struct, array or vector type with these elements. */
export function aggregateOf(type: Type, elements: readonly Constant[]): Constant {
  const [first] = elements;
  if (first === undefined || elements.every(isZero)) return new ConstZero(type);
  if (first.valueKind === "undef" && elements.every((e) => e.valueKind === "undef"))
    return new ConstUndef(
      type,
      elements.every((e) => e.valueKind === "undef" && e.poison),
    );
  const size = type.kind === "struct" ? 0 : dataElementSize(type.element);
  if (size !== 0 && elements.every((e) => e.valueKind === "int" || e.valueKind === "float"))
    return dataOf(type, elements, size);
  return new ConstAggregate(type, elements);
}

function dataOf(type: Type, elements: readonly Constant[], size: number): ConstData {
  const bytes = new Uint8Array(elements.length * size);
  elements.forEach((element, i) => {
    let bits = 0n;
    if (element.valueKind === "int") bits = BigInt.asUintN(size * 8, element.value);
    else if (element.valueKind === "float") bits = element.bits;
    for (let b = 0; b < size; b++, bits >>= 8n) bytes[i * size + b] = Number(bits & 0xffn);
  });
  return new ConstData(type, bytes);
}

/** The member that a path of indices leads to, or null. */
export function memberOf(c: Constant, path: readonly number[]): Constant | null {
  let member: Constant | null = c;
  for (const index of path) {
    if (member === null || index >= memberCount(member.type)) return null;
    member = elementOf(member, index);
  }
  return member;
}

/** The aggregate with one member replaced, or null. */
export function withMember(c: Constant, path: readonly number[], member: Constant): Constant | null {
  const [index, ...rest] = path;
  if (index === undefined) return member;
  const elements = elementsOf(c);
  if (elements === null || index >= elements.length) return null;
  const replaced = withMember(elements[index]!, rest, member);
  if (replaced === null) return null;
  elements[index] = replaced;
  return aggregateOf(c.type, elements);
}
