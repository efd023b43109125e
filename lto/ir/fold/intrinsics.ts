/**
 * Calls of intrinsics on constant scalars: integers here, floating point in float-intrinsics.ts. Poison among the
 * operands makes the result poison; calls with undef operands are left alone.
 */
import { structType, type Type } from "../types.js";
import { ConstAggregate, type Constant, constBool, constInt } from "../values.js";
import { largest, poison, signed, smallest, unsigned } from "./integers.js";
import { isPoison, poisonOf } from "./scalars.js";

type Operation = (bits: number, a: bigint, b: bigint, c: bigint) => bigint | typeof poison;

function countBits(n: bigint): bigint {
  let count = 0n;
  for (let rest = n; rest !== 0n; rest &= rest - 1n) count++;
  return count;
}

function leadingZeros(bits: number, n: bigint): bigint {
  const u = unsigned(bits, n);
  return u === 0n ? BigInt(bits) : BigInt(bits - u.toString(2).length);
}

function trailingZeros(bits: number, n: bigint): bigint {
  const u = unsigned(bits, n);
  return u === 0n ? BigInt(bits) : BigInt((u & -u).toString(2).length - 1);
}

/** Groups of `size` bits in reverse order. */
function reversed(bits: number, n: bigint, size: number): bigint {
  const step = BigInt(size);
  let result = 0n;
  let rest = unsigned(bits, n);
  for (let at = 0; at < bits; at += size) {
    result = (result << step) | BigInt.asUintN(size, rest);
    rest >>= step;
  }
  return result;
}

const clampSigned = (bits: number, n: bigint): bigint =>
  n > largest(bits) ? largest(bits) : n < smallest(bits) ? smallest(bits) : n;
const clampUnsigned = (bits: number, n: bigint): bigint => {
  const most = (1n << BigInt(bits)) - 1n;
  return n > most ? most : n < 0n ? 0n : n;
};

function funnel(bits: number, high: bigint, low: bigint, amount: bigint, left: boolean): bigint {
  const width = BigInt(bits);
  const by = unsigned(bits, amount) % width;
  const both = (unsigned(bits, high) << width) | unsigned(bits, low);
  return left ? (both << by) >> width : both >> by;
}

const larger = (a: bigint, b: bigint): bigint => (a < b ? b : a);

const operations: { readonly [name: string]: Operation } = {
  bswap: (bits, a) => reversed(bits, a, 8),
  bitreverse: (bits, a) => reversed(bits, a, 1),
  ctpop: (bits, a) => countBits(unsigned(bits, a)),
  ctlz: (bits, a, zeroIsPoison) => (a === 0n && zeroIsPoison !== 0n ? poison : leadingZeros(bits, a)),
  cttz: (bits, a, zeroIsPoison) => (a === 0n && zeroIsPoison !== 0n ? poison : trailingZeros(bits, a)),
  abs: (bits, a, minIsPoison) => (a === smallest(bits) && minIsPoison !== 0n ? poison : a < 0n ? -a : a),
  fshl: (bits, a, b, c) => funnel(bits, a, b, c, true),
  fshr: (bits, a, b, c) => funnel(bits, a, b, c, false),
  smax: (_, a, b) => larger(a, b),
  smin: (_, a, b) => a + b - larger(a, b),
  umax: (bits, a, b) => (unsigned(bits, a) > unsigned(bits, b) ? a : b),
  umin: (bits, a, b) => (unsigned(bits, a) < unsigned(bits, b) ? a : b),
  "sadd.sat": (bits, a, b) => clampSigned(bits, a + b),
  "ssub.sat": (bits, a, b) => clampSigned(bits, a - b),
  "uadd.sat": (bits, a, b) => clampUnsigned(bits, unsigned(bits, a) + unsigned(bits, b)),
  "usub.sat": (bits, a, b) => clampUnsigned(bits, unsigned(bits, a) - unsigned(bits, b)),
  "sshl.sat": (bits, a, b) =>
    unsigned(bits, b) >= BigInt(bits) ? poison : clampSigned(bits, a << unsigned(bits, b)),
  "ushl.sat": (bits, a, b) =>
    unsigned(bits, b) >= BigInt(bits) ? poison : clampUnsigned(bits, unsigned(bits, a) << unsigned(bits, b)),
};

const overflowing: { readonly [name: string]: (a: bigint, b: bigint) => bigint } = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
};

const integer = (c: Constant | undefined): bigint | null =>
  c === undefined ? 0n : c.valueKind === "int" && c.type.kind === "int" ? c.value : null;

/**
 * @param name of the intrinsic (`Intrinsic.name`)
 * @param type of the result
 */
export function foldIntegerIntrinsic(name: string, type: Type, args: readonly Constant[]): Constant | null {
  const operation = operations[name];
  const overflow = /^([su])(add|sub|mul)\.with\.overflow$/.exec(name);
  const compare = name === "scmp" || name === "ucmp";
  if (operation === undefined && overflow === null && !compare) return null;
  if (args.some(isPoison)) return poisonOf(type);
  const [a, b, c] = [integer(args[0]), integer(args[1]), integer(args[2])];
  if (a === null || b === null || c === null) return null;
  const { bits } = args[0]!.type;
  if (operation !== undefined) {
    const result = operation(bits, a, b, c);
    return result === poison ? poisonOf(type) : constInt(type, result);
  }
  if (overflow !== null) return withOverflow(overflow[1] === "s", overflow[2]!, args[0]!.type, a, b);
  const [x, y] = name === "scmp" ? [a, b] : [unsigned(bits, a), unsigned(bits, b)];
  return constInt(type, x < y ? -1 : x > y ? 1 : 0);
}

function withOverflow(isSigned: boolean, op: string, type: Type, a: bigint, b: bigint): Constant {
  const { bits } = type;
  const [x, y] = isSigned ? [a, b] : [unsigned(bits, a), unsigned(bits, b)];
  const exact = overflowing[op]!(x, y);
  const overflowed = (isSigned ? signed(bits, exact) : unsigned(bits, exact)) !== exact;
  const members = [constInt(type, exact), constBool(overflowed)];
  return new ConstAggregate(structType(members.map((m) => m.type)), members);
}

const reductions: { readonly [name: string]: Operation } = {
  "vector.reduce.add": (_, a, b) => a + b,
  "vector.reduce.mul": (_, a, b) => a * b,
  "vector.reduce.and": (_, a, b) => a & b,
  "vector.reduce.or": (_, a, b) => a | b,
  "vector.reduce.xor": (_, a, b) => a ^ b,
  "vector.reduce.smax": operations["smax"]!,
  "vector.reduce.smin": operations["smin"]!,
  "vector.reduce.umax": operations["umax"]!,
  "vector.reduce.umin": operations["umin"]!,
};

/** Reductions of vectors of integers. */
export function foldReduction(name: string, elements: readonly Constant[]): Constant | null {
  const operation = reductions[name];
  const [first] = elements;
  if (operation === undefined || first === undefined) return null;
  const { type } = first;
  if (elements.some(isPoison)) return poisonOf(type);
  let result = integer(first);
  for (const element of elements.slice(1)) {
    const next = integer(element);
    if (result === null || next === null) return null;
    result = signed(type.bits, operation(type.bits, result, next, 0n) as bigint);
  }
  return result === null ? null : constInt(type, result);
}
/** Whether a name is that of a reduction that `foldReduction` knows. */
export const isReduction = (name: string): boolean => reductions[name] !== undefined;
