/**
 * Parameters for code that several places share: what they have in common stays in the code, what they differ in is passed.
 *
 * A row lists what each member has at one place of the code. By rows, in this order (seed of the terms: the outliner
 * proposed for LLVM in 2017):
 *  - constant folding: all have one constant, which needs no parameter;
 *  - congruent inputs: all have what they have in an earlier row, so that one parameter does for both;
 *  - constant differences: each has what it has in an earlier row plus the same number, so that the code adds that;
 *  - else the row is a parameter.
 * Addresses count as their global plus bytes. Quadratic in the parameters, which callers bound.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { placeOf } from "../../ir/fold/addresses.js";
import { Op } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { type Constant, isConstant, sameConstant, type Value } from "../../ir/values.js";

/** What stands at a place of the shared code. */
export type Input =
  | { readonly kind: "constant"; readonly value: Constant }
  /** A parameter plus a number, for addresses of bytes. */
  | { readonly kind: "parameter"; readonly index: number; readonly plus: bigint };

export interface Parameter {
  readonly type: Type;
  /** What each member passes. */
  readonly values: readonly Value[];
}

const sameValue = (a: Value, b: Value): boolean =>
  a === b || (isConstant(a) && isConstant(b) && sameConstant(a, b));

/** A constant as something plus a number; null: nothing of the kind. */
function linear(layout: DataLayout, value: Value): { base: Constant | null; offset: bigint } | null {
  if (value.valueKind === "int") return { base: null, offset: value.value };
  if (value.type.kind !== "ptr" || !isConstant(value)) return null;
  const { base, offset } = placeOf(layout, value);
  return base === null ? null : { base, offset };
}

export class Parameters {
  readonly list: Parameter[] = [];

  constructor(private readonly layout: DataLayout) {}

  /** Finds what does for a row, which may become a parameter. */
  add(row: readonly Value[]): Input {
    const first = row[0]!;
    if (isConstant(first) && row.every((value) => sameValue(value, first)))
      return { kind: "constant", value: first };
    for (let index = 0; index < this.list.length; index++) {
      const plus = this.distance(this.list[index]!, row);
      if (plus !== null) return { kind: "parameter", index, plus };
    }
    this.list.push({ type: first.type, values: row });
    return { kind: "parameter", index: this.list.length - 1, plus: 0n };
  }

  /** What every member has to add to its value of a parameter; null: not the same number, or not a number. */
  private distance({ type, values }: Parameter, row: readonly Value[]): bigint | null {
    if (type !== row[0]!.type) return null;
    if (row.every((value, i) => sameValue(value, values[i]!))) return 0n;
    let common: bigint | null = null;
    for (let i = 0; i < row.length; i++) {
      const from = linear(this.layout, values[i]!);
      const to = linear(this.layout, row[i]!);
      if (from === null || to === null) return null;
      if (
        from.base !== to.base &&
        (from.base === null || to.base === null || !sameConstant(from.base, to.base))
      )
        return null;
      const distance: bigint = BigInt.asIntN(type.kind === "int" ? type.bits : 64, to.offset - from.offset);
      if (common !== null && common !== distance) return null;
      common = distance;
    }
    // What does not fit an instruction costs as much as a parameter.
    return common !== null && BigInt.asIntN(32, common) === common ? common : null;
  }
}

/** Whether a type travels in a register. */
export const isPassable = ({ kind, bits, addressSpace }: Type): boolean =>
  (kind === "int" && bits <= 64) ||
  (kind === "ptr" && addressSpace === 0) ||
  kind === "float" ||
  kind === "double";

/** Operations by which an offset is added. */
export const addOperation = (type: Type): Op.Add | Op.GetElementPtr =>
  type.kind === "ptr" ? Op.GetElementPtr : Op.Add;
