/**
 * How the elements of a table are laid out, and how they are when fields take fewer bytes.
 *
 * A table is a variable of one type that repeats: an array of integers, pointers or structures, however nested, or one
 * structure. Its shape is what repeats: so many bytes, in fields. Places are bytes from the start of an element.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { aggregateOf, elementOf, elementsOf } from "../../ir/fold/aggregates.js";
import { arrayType, structType, type Type } from "../../ir/types.js";
import { type Constant, type ConstData, constInt, zeroOf } from "../../ir/values.js";

/** Elements with more fields are no table to look through. */
const mostFields = 64;

export interface Field {
  /** Bytes from the start of an element. */
  readonly offset: number;
  readonly bytes: number;
  readonly type: Type;
  /** `rest`: whatever it holds stays as it is. */
  readonly kind: "integer" | "pointer" | "rest";
}

/** What repeats in a variable of the type. */
function elementType(type: Type): Type {
  let element = type;
  while (element.kind === "array" && element.count > 0) element = element.element;
  return element;
}

/** The type with another one in place of what repeats in it. */
const withElement = (type: Type, element: Type): Type =>
  type.kind === "array" && type.count > 0
    ? arrayType(type.count, withElement(type.element, element))
    : element;

export class Shape {
  readonly fields: readonly Field[];
  /** Bytes from one element to the next. */
  readonly period: number;

  private constructor(
    readonly element: Type,
    layout: DataLayout,
  ) {
    this.period = layout.allocSize(element);
    const isStruct = element.kind === "struct";
    const members = isStruct ? element.elements : [element];
    this.fields = members.map((type, i) => {
      const isWhole = type.kind === "int" && [16, 32, 64].includes(type.bits);
      const kind = type.kind === "ptr" && type.addressSpace === 0 ? "pointer" : isWhole ? "integer" : "rest";
      const offset = isStruct ? layout.structLayout(element).offsets[i]! : 0;
      return { offset, bytes: layout.allocSize(type), type, kind };
    });
  }

  /** The shape of a variable of the type; null for what is no table. */
  static of(type: Type, layout: DataLayout): Shape | null {
    const element = elementType(type);
    const count = element.kind === "struct" ? element.elements.length : 1;
    if (count === 0 || count > mostFields || element.kind === "array" || element.kind === "function")
      return null;
    const shape = new Shape(element, layout);
    return shape.period > 0 && shape.fields.some(({ kind }) => kind !== "rest") ? shape : null;
  }

  /** The place of an offset from the start of a table. */
  placeOf(offset: number): number {
    return ((offset % this.period) + this.period) % this.period;
  }
  /** Number of the field that a place is in, where something of it can begin; -1: there is none. */
  fieldAt(place: number): number {
    return this.fields.findIndex(({ offset, bytes, kind }) =>
      kind === "rest" ? place >= offset && place < offset + bytes : place === offset,
    );
  }
}

/** The least and the largest of integers that are data. */
function extremesOf({ bytes }: ConstData, element: Type): [Constant, Constant] {
  const size = element.bits / 8;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = (at: number): number | bigint =>
    size === 2 ? view.getInt16(at, true) : size === 4 ? view.getInt32(at, true) : view.getBigInt64(at, true);
  let least = read(0);
  let largest = least;
  for (let at = size; at < bytes.length; at += size) {
    const value = read(at);
    if (value < least) least = value;
    if (value > largest) largest = value;
  }
  return [constInt(element, BigInt(least)), constInt(element, BigInt(largest))];
}

/**
 * Calls `visit` with each field of each element of a constant; of integers that are data with the least and the largest.
 * @returns whether all of them are known
 */
export function visitFields(
  constant: Constant,
  shape: Shape,
  visit: (field: number, value: Constant) => void,
): boolean {
  const { element } = shape;
  const { type, valueKind } = constant;
  if (type === element) {
    const members = element.kind === "struct" ? elementsOf(constant) : [constant];
    members?.forEach((member, field) => {
      visit(field, member);
    });
    return members !== null;
  }
  if (valueKind === "data" && type.element === element && element.kind === "int") {
    for (const value of extremesOf(constant, element)) visit(0, value);
    return true;
  }
  // Where all elements are the same, one tells of all.
  const isUniform = valueKind === "zero" || valueKind === "undef";
  const members = isUniform ? [elementOf(constant, 0)] : elementsOf(constant);
  return members?.every((member) => member !== null && visitFields(member, shape, visit)) ?? false;
}

/** A shape with other types in its fields, in the same order. */
export class NewShape {
  readonly element: Type;
  readonly period: number;
  private readonly offsets: readonly number[];
  private readonly isPacked: boolean;

  /** @param isPacked bytes count, and not where fields are aligned to */
  constructor(
    readonly old: Shape,
    readonly types: readonly Type[],
    isPacked: boolean,
    private readonly layout: DataLayout,
  ) {
    const isStruct = old.element.kind === "struct";
    this.isPacked = isPacked || (isStruct && old.element.packed);
    if (isStruct) {
      this.element = structType(types, this.isPacked);
      this.offsets = layout.structLayout(this.element).offsets;
    } else {
      this.element = types[0]!;
      this.offsets = [0];
    }
    this.period = layout.allocSize(this.element);
  }

  /** Where what was at an offset is now. The offset is one of a field, or of a whole element. */
  moved(offset: number): number {
    const place = this.old.placeOf(offset);
    const start = ((offset - place) / this.old.period) * this.period;
    if (place === 0) return start;
    const field = this.old.fieldAt(place);
    return start + this.offsets[field]! + place - this.old.fields[field]!.offset;
  }
  alignOf(field: number): number {
    return this.isPacked ? 1 : this.layout.abiAlign(this.types[field]!);
  }
  /** Of a whole variable. */
  get align(): number {
    return this.isPacked ? 1 : this.layout.abiAlign(this.element);
  }

  /**
   * A constant in this shape.
   * @param value of a field as it is now, so many bytes after the start
   */
  rebuilt(
    constant: Constant,
    value: (field: number, old: Constant, at: number) => Constant,
    at = 0,
  ): Constant {
    const { element } = this.old;
    const isElement = constant.type === element;
    if (constant.valueKind === "zero") return zeroOf(this.typeOf(constant.type));
    if (isElement && element.kind !== "struct") return value(0, constant, at);
    const members = elementsOf(constant)!;
    const type = this.typeOf(constant.type);
    const size = isElement ? 0 : this.layout.allocSize(type.element);
    const changed = members.map((member, i) =>
      isElement ? value(i, member, at + this.offsets[i]!) : this.rebuilt(member, value, at + i * size),
    );
    return aggregateOf(type, changed);
  }
  /** The type of what had the old shape. */
  typeOf(type: Type): Type {
    return withElement(type, this.element);
  }
}
