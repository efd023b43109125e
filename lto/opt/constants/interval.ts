/**
 * Which integers a value can be: those between two bounds, or a few that are listed.
 *
 * Bounds are signed numbers. Integers of more than 53 bits have infinite bounds where they are past what a number
 * holds exactly: minus infinity is the least value of the type, infinity the largest. Every operation gives an interval
 * that holds whatever its operands, out of theirs, are; where it knows nothing better, the whole type. Vectors and
 * integers of unusual widths past 53 bits have none.
 *
 * Proof obligations: results hold for operands that are no poison, since poison may be any value. `nsw` is used to bound
 * results, since what wraps then is poison. Infinite bounds never become finite by arithmetic.
 * Breaks if: a bound past 2^53 is computed with and not made infinite.
 */
import { Flag, type Inst, type IntPredicate, Op, swappedPredicate } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { type ConstInt, constInt } from "../../ir/values.js";

/** An interval of more than one value, and less than all of the type. */
export class Interval {
  readonly valueKind = "interval";
  constructor(
    readonly type: Type,
    readonly least: number,
    readonly largest: number,
    /** All values that are possible, ascending; null: all between. */
    readonly values: readonly number[] | null,
    /** How often it was widened. */
    readonly steps: number,
  ) {}
}

/** Bounds, with or without the values that are possible: what operations compute with. */
export interface Bounds {
  readonly least: number;
  readonly largest: number;
  readonly values: readonly number[] | null;
}

const mostValues = 4;
const largestExact = Number.MAX_SAFE_INTEGER;

export const hasIntervals = ({ kind, bits }: Type): boolean => kind === "int" && (bits <= 53 || bits === 64);
export const leastOf = (bits: number): number => (bits > 53 ? Number.NEGATIVE_INFINITY : -(2 ** (bits - 1)));
export const largestOf = (bits: number): number =>
  bits > 53 ? Number.POSITIVE_INFINITY : 2 ** (bits - 1) - 1;

const wholes: Bounds[] = [];
/** Every value of a width. */
export function whole(bits: number): Bounds {
  wholes[bits] ??= { least: leastOf(bits), largest: largestOf(bits), values: null };
  return wholes[bits];
}

/** @returns null for a constant that is past the numbers that are exact */
export function pointOf({ num }: ConstInt): Bounds | null {
  return Number.isNaN(num) ? null : { least: num, largest: num, values: null };
}

/** The fact that bounds are: a constant, an interval, or null for every value of the type. */
export function factOf(
  type: Type,
  least: number,
  largest: number,
  values: readonly number[] | null = null,
  steps = 0,
): ConstInt | Interval | null {
  const { bits } = type;
  // Whatever was not computed exactly, or makes no sense, says nothing.
  if (!(least <= largest)) return null;
  const from = least < -largestExact ? Number.NEGATIVE_INFINITY : Math.min(least, largestExact);
  const to = largest > largestExact ? Number.POSITIVE_INFINITY : Math.max(largest, -largestExact);
  if (from <= leastOf(bits) && to >= largestOf(bits)) return null;
  if (from < leastOf(bits) || to > largestOf(bits)) return null;
  if (from === to) return constInt(type, from);
  return new Interval(type, from, to, values, steps);
}

/** All that either of two allows. */
export function hull(a: Bounds, b: Bounds): Bounds {
  const least = Math.min(a.least, b.least);
  const largest = Math.max(a.largest, b.largest);
  const left = listed(a);
  const right = listed(b);
  if (left === null || right === null) return { least, largest, values: null };
  return { least, largest, values: union(left, right) };
}

/** Of two ascending lists; null: too long. */
function union(a: readonly number[], b: readonly number[]): readonly number[] | null {
  const values: number[] = [];
  for (let i = 0, k = 0; i < a.length || k < b.length; ) {
    const x = i < a.length ? a[i]! : Number.POSITIVE_INFINITY;
    const y = k < b.length ? b[k]! : Number.POSITIVE_INFINITY;
    if (values.length === mostValues) return null;
    values.push(Math.min(x, y));
    if (x <= y) i++;
    if (y <= x) k++;
  }
  return values;
}

/** The values, if there are few. */
function listed({ least, largest, values }: Bounds): readonly number[] | null {
  return values ?? (least === largest ? [least] : null);
}

export const isSame = (a: Bounds, b: Bounds): boolean =>
  a.least === b.least &&
  a.largest === b.largest &&
  (a.values === b.values || (a.values !== null && b.values !== null && a.values.length === b.values.length));

/** `b` and what is outside of `a` on no side that it grew on: where growing ends. */
export function widened(a: Bounds, b: Bounds, bits: number): Bounds {
  return {
    least: b.least < a.least ? (b.least >= 0 ? 0 : leastOf(bits)) : b.least,
    largest: b.largest > a.largest ? largestOf(bits) : b.largest,
    values: null,
  };
}

/** Whether a comparison is true of all pairs, false of all (then `false`), or not known (null). */
export function compare(predicate: IntPredicate, a: Bounds, b: Bounds, bits: number): boolean | null {
  switch (predicate) {
    case "eq":
      return equal(a, b);
    case "ne": {
      const same = equal(a, b);
      return same === null ? null : !same;
    }
    case "slt":
      return a.largest < b.least ? true : a.least >= b.largest ? false : null;
    case "sle":
      return a.largest <= b.least ? true : a.least > b.largest ? false : null;
    case "ult":
    case "ule": {
      const x = unsigned(a, bits);
      const y = unsigned(b, bits);
      if (predicate === "ult") return x.largest < y.least ? true : x.least >= y.largest ? false : null;
      return x.largest <= y.least ? true : x.least > y.largest ? false : null;
    }
    default:
      return compare(swappedPredicate[predicate], b, a, bits);
  }
}

function equal(a: Bounds, b: Bounds): boolean | null {
  // An infinite bound is no value: two of them need not be equal.
  if (a.least === a.largest && b.least === b.largest) return a.least === b.least;
  if (a.largest < b.least || b.largest < a.least) return false;
  const left = listed(a);
  const right = listed(b);
  return left !== null && right !== null && !left.some((value) => right.includes(value)) ? false : null;
}

/** The bounds of the same bits as unsigned numbers; values past what is exact are infinite. */
function unsigned({ least, largest }: Bounds, bits: number): { least: number; largest: number } {
  if (least >= 0) return { least, largest };
  if (bits > 52) return { least: largest < 0 ? largestExact : 0, largest: Number.POSITIVE_INFINITY };
  const size = 2 ** bits;
  return largest < 0 ? { least: least + size, largest: largest + size } : { least: 0, largest: size - 1 };
}

/** What is left of bounds where a comparison with others holds. @returns null if nothing is */
export function narrowed(a: Bounds, predicate: IntPredicate, b: Bounds): Bounds | null {
  let { least, largest } = a;
  switch (predicate) {
    case "eq":
      least = Math.max(least, b.least);
      largest = Math.min(largest, b.largest);
      break;
    case "ne":
      if (b.least !== b.largest) return a;
      if (a.values !== null) return ofValues(a.values.filter((value) => value !== b.least));
      if (least === b.least) least++;
      if (largest === b.least) largest--;
      break;
    case "slt":
      largest = Math.min(largest, b.largest - 1);
      break;
    case "sle":
      largest = Math.min(largest, b.largest);
      break;
    case "sgt":
      least = Math.max(least, b.least + 1);
      break;
    case "sge":
      least = Math.max(least, b.least);
      break;
    case "ult":
    case "ule":
      // Below what is not negative nothing is.
      if (b.least < 0) return a;
      least = Math.max(least, 0);
      largest = Math.min(largest, predicate === "ult" ? b.largest - 1 : b.largest);
      break;
    case "ugt":
    case "uge":
      if (a.least < 0 || b.least < 0) return a;
      least = Math.max(least, predicate === "ugt" ? b.least + 1 : b.least);
      break;
  }
  if (least > largest) return null;
  if (a.values !== null) return ofValues(a.values.filter((value) => least <= value && value <= largest));
  return { least, largest, values: null };
}
function ofValues(values: readonly number[]): Bounds | null {
  return values.length === 0 ? null : { least: values[0]!, largest: values.at(-1)!, values };
}

/** All numbers with as many bits as a number that is not negative. */
function filled(largest: number): number {
  if (largest === Number.POSITIVE_INFINITY) return largest;
  let all = 1;
  while (all <= largest) all *= 2;
  return all - 1;
}

/** The result of an integer operation (no comparison) on two operands or one; null: any value. */
export function resultOf(inst: Inst, a: Bounds, b: Bounds, from: number): ConstInt | Interval | null {
  const { type, flags } = inst;
  const { bits } = type;
  const signed = (least: number, largest: number): ConstInt | Interval | null =>
    (flags & Flag.Nsw) === 0
      ? withoutWrap(type, least, largest)
      : factOf(type, Math.max(least, leastOf(bits)), Math.min(largest, largestOf(bits)));
  switch (inst.op) {
    case Op.Add:
      return signed(a.least + b.least, a.largest + b.largest);
    case Op.Sub:
      return signed(a.least - b.largest, a.largest - b.least);
    case Op.Mul:
      return a.least < 0 || b.least < 0 ? null : signed(times(a.least, b.least), times(a.largest, b.largest));
    case Op.And:
      if (a.least < 0 && b.least < 0) return null;
      return factOf(
        type,
        0,
        Math.min(a.least < 0 ? Infinity : a.largest, b.least < 0 ? Infinity : b.largest),
      );
    case Op.Or:
      if (a.least < 0 || b.least < 0) return null;
      return factOf(type, Math.max(a.least, b.least), filled(Math.max(a.largest, b.largest)));
    case Op.Xor:
      return a.least < 0 || b.least < 0 ? null : factOf(type, 0, filled(Math.max(a.largest, b.largest)));
    case Op.ZExt:
      return a.least >= 0
        ? factOf(type, a.least, a.largest, a.values)
        : factOf(type, 0, from > 52 ? Infinity : 2 ** from - 1);
    case Op.SExt:
      return Number.isFinite(a.least) && Number.isFinite(a.largest)
        ? factOf(type, a.least, a.largest, a.values)
        : null;
    case Op.Trunc:
      return factOf(type, a.least, a.largest, a.values);
    default:
      return byConstant(inst, a, b, bits);
  }
}

/** Bounds of what wraps where it gets past the type: past what is exact that is not known. */
const withoutWrap = (type: Type, least: number, largest: number): ConstInt | Interval | null =>
  least < -largestExact || largest > largestExact ? null : factOf(type, least, largest);

/** Zero times infinity is zero here: an infinite bound is a number that is not known. */
const times = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);

/** Shifts and divisions by a constant that is at least one. */
function byConstant(
  { op, type, flags }: Inst,
  a: Bounds,
  b: Bounds,
  bits: number,
): ConstInt | Interval | null {
  const by = b.least;
  if (by !== b.largest || by < 1) return null;
  switch (op) {
    case Op.Shl:
      if (by >= bits || a.least < 0) return null;
      if ((flags & Flag.Nsw) === 0) return withoutWrap(type, a.least * 2 ** by, a.largest * 2 ** by);
      return factOf(type, a.least * 2 ** by, Math.min(a.largest * 2 ** by, largestOf(bits)));
    case Op.LShr:
      if (by >= bits) return null;
      if (a.least >= 0) return factOf(type, quotient(a.least, 2 ** by), quotient(a.largest, 2 ** by));
      return factOf(type, 0, bits - by > 52 ? Infinity : 2 ** (bits - by) - 1);
    case Op.AShr:
      if (by >= bits || bits > 53) return null;
      return factOf(type, Math.floor(a.least / 2 ** by), Math.floor(a.largest / 2 ** by));
    case Op.UDiv:
      if (a.least >= 0) return factOf(type, quotient(a.least, by), quotient(a.largest, by));
      return bits > 52 ? null : factOf(type, 0, quotient(2 ** bits - 1, by));
    case Op.SDiv:
      if (bits > 53) return a.least < 0 ? null : factOf(type, quotient(a.least, by), quotient(a.largest, by));
      return factOf(type, Math.trunc(a.least / by), Math.trunc(a.largest / by));
    case Op.URem:
      if (a.least >= 0) return factOf(type, 0, Math.min(a.largest, by - 1));
      return factOf(type, 0, by - 1);
    case Op.SRem:
      return factOf(
        type,
        a.least < 0 ? Math.max(a.least, 1 - by) : 0,
        a.largest < 0 ? 0 : Math.min(a.largest, by - 1),
      );
    default:
      return null;
  }
}
const quotient = (a: number, b: number): number => Math.floor(a / b);
