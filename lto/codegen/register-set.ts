/**
 * Sets of physical registers, numbered from 0 to 63.
 *
 * Method: a set of registers below 32 is a number with a bit for each, so that on machines with no more than that
 * every operation is one machine instruction; only a set with others is an object of two words. Sets are
 * immutable, and a wide operation whose result is one of its operands returns that. As all are plain data, they can
 * go to other threads.
 * Nothing outside of this file relies on the representation, but a target whose registers all fit one word may ask
 * for it (`lowWord`). Sets must be compared with `equalSets`, never with `===`.
 */

declare const brand: unique symbol;
/** Opaque: see the functions of this file. */
export interface RegisterSet {
  readonly [brand]: true;
}

/** `high` is not 0: else the set is a number. */
interface Wide {
  readonly low: number;
  readonly high: number;
}
type Raw = number | Wide;

const raw = (set: RegisterSet): Raw => set as unknown as Raw;
const narrow = (word: number): RegisterSet => word as unknown as RegisterSet;
const lowOf = (set: Raw): number => (typeof set === "number" ? set : set.low);
const highOf = (set: Raw): number => (typeof set === "number" ? 0 : set.high);

/** The set of the given words; one of `a` and `b` if it equals that. */
function wide(low: number, high: number, a: Raw, b: Raw): RegisterSet {
  if (high === 0) return narrow(low);
  if (lowOf(a) === low && highOf(a) === high) return a as unknown as RegisterSet;
  if (lowOf(b) === low && highOf(b) === high) return b as unknown as RegisterSet;
  return { low, high } as unknown as RegisterSet;
}

export const noRegisters: RegisterSet = narrow(0);

/** From words with a bit for each register: 0 to 31 and 32 to 63. */
export const setOfWords = (low: number, high = 0): RegisterSet =>
  high === 0 ? narrow(low | 0) : wide(low | 0, high | 0, 0, 0);
/** Registers 0 to 31 as bits of a signed 32-bit number. */
export const lowWord = (set: RegisterSet): number => lowOf(raw(set));
/** Registers 32 to 63. */
export const highWord = (set: RegisterSet): number => highOf(raw(set));

/** The set of one register. */
export const single = (register: number): RegisterSet =>
  register < 32 ? narrow(1 << register) : wide(0, 1 << (register - 32), 0, 0);

export const registerSet = (...registers: readonly number[]): RegisterSet =>
  registers.reduce((set, register) => union(set, single(register)), noRegisters);

/** `count` registers from `first` on. */
export const registerRange = (first: number, count: number): RegisterSet =>
  registerSet(...Array.from({ length: count }, (_, i) => first + i));

export function union(a: RegisterSet, b: RegisterSet): RegisterSet {
  const x = raw(a);
  const y = raw(b);
  if (typeof x === "number" && typeof y === "number") return narrow(x | y);
  return wide(lowOf(x) | lowOf(y), highOf(x) | highOf(y), x, y);
}

export function intersect(a: RegisterSet, b: RegisterSet): RegisterSet {
  const x = raw(a);
  const y = raw(b);
  if (typeof x === "number" && typeof y === "number") return narrow(x & y);
  return wide(lowOf(x) & lowOf(y), highOf(x) & highOf(y), x, y);
}

/** What is in `a` and not in `b`. */
export function minus(a: RegisterSet, b: RegisterSet): RegisterSet {
  const x = raw(a);
  const y = raw(b);
  if (typeof x === "number" && typeof y === "number") return narrow(x & ~y);
  return wide(lowOf(x) & ~lowOf(y), highOf(x) & ~highOf(y), x, y);
}

export function withRegister(set: RegisterSet, register: number): RegisterSet {
  const x = raw(set);
  if (typeof x === "number" && register < 32) return narrow(x | (1 << register));
  return union(set, single(register));
}

export function withoutRegister(set: RegisterSet, register: number): RegisterSet {
  const x = raw(set);
  if (typeof x === "number") return register < 32 ? narrow(x & ~(1 << register)) : set;
  return minus(set, single(register));
}

export function hasRegister(set: RegisterSet, register: number): boolean {
  const x = raw(set);
  if (register < 32) return ((lowOf(x) >>> register) & 1) === 1;
  return ((highOf(x) >>> (register - 32)) & 1) === 1;
}

export const isEmptySet = (set: RegisterSet): boolean => raw(set) === 0;

/** There is a register in both. */
export function overlaps(a: RegisterSet, b: RegisterSet): boolean {
  const x = raw(a);
  const y = raw(b);
  if (typeof x === "number" && typeof y === "number") return (x & y) !== 0;
  return (lowOf(x) & lowOf(y)) !== 0 || (highOf(x) & highOf(y)) !== 0;
}

/** Everything in `inner` is in `outer`. */
export function includesSet(outer: RegisterSet, inner: RegisterSet): boolean {
  const x = raw(outer);
  const y = raw(inner);
  if (typeof x === "number" && typeof y === "number") return (y & ~x) === 0;
  return (lowOf(y) & ~lowOf(x)) === 0 && (highOf(y) & ~highOf(x)) === 0;
}

export function equalSets(a: RegisterSet, b: RegisterSet): boolean {
  const x = raw(a);
  const y = raw(b);
  if (typeof x === "number" || typeof y === "number") return x === y;
  return x.low === y.low && x.high === y.high;
}

/** Exactly one register. */
export function isSingle(set: RegisterSet): boolean {
  const x = raw(set);
  if (typeof x === "number") return x !== 0 && (x & (x - 1)) === 0;
  return x.low === 0 && (x.high & (x.high - 1)) === 0;
}

/** Number of registers. */
export function registerCount(set: RegisterSet): number {
  const x = raw(set);
  return bits(lowOf(x)) + bits(highOf(x));
}

function bits(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/** The register with the smallest number; the set must not be empty. */
export function firstRegister(set: RegisterSet): number {
  const x = raw(set);
  if (typeof x === "number") return 31 - Math.clz32(x & -x);
  return x.low !== 0 ? 31 - Math.clz32(x.low & -x.low) : 63 - Math.clz32(x.high & -x.high);
}

/** The register with the largest number; the set must not be empty. */
export function lastRegister(set: RegisterSet): number {
  const x = raw(set);
  return typeof x === "number" ? 31 - Math.clz32(x) : 63 - Math.clz32(x.high);
}

/**
 * The set without its first register. To go through a set without making a list:
 *
 *     for (let rest = set; !isEmptySet(rest); rest = withoutFirst(rest)) … firstRegister(rest) …
 */
export function withoutFirst(set: RegisterSet): RegisterSet {
  const x = raw(set);
  if (typeof x === "number") return narrow(x & (x - 1));
  return x.low !== 0 ? wide(x.low & (x.low - 1), x.high, x, x) : narrowOrHigh(x.high & (x.high - 1));
}

const narrowOrHigh = (high: number): RegisterSet => wide(0, high, 0, 0);

/** The registers in ascending order. */
export function registersIn(set: RegisterSet): number[] {
  const list: number[] = [];
  for (let rest = set; !isEmptySet(rest); rest = withoutFirst(rest)) list.push(firstRegister(rest));
  return list;
}
