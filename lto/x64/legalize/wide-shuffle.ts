/** What shuffles that give registers of 256 and of 512 bits have in common: lanes wanted of whole registers, and patterns of masks. */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { doubleType, floatType, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { alike, vex } from "./avx-registers.js";
import { bitsOf } from "./vectors-shape.js";
import { as } from "./vectors-sse.js";

export interface Wanted {
  /** null: the lane is undefined. */
  readonly register: Value | null;
  readonly lane: number;
}
export const none: Wanted = { register: null, lane: -1 };

const lanesOf = (parts: Parts): Wanted[] =>
  parts.flatMap((register) =>
    Array.from({ length: register.type.count }, (_, lane) => ({
      register: register.valueKind === "undef" ? null : register,
      lane,
    })),
  );

/** What each register of a shuffle's result is made of. @param types of these registers */
export function wantedLanes(
  l: Lowering,
  left: Value,
  right: Value,
  types: readonly Type[],
  mask: readonly number[],
): Wanted[][] {
  const { count } = left.type;
  const a = lanesOf(l.parts(left));
  const b = lanesOf(l.parts(right));
  let first = 0;
  return types.map((own) => {
    const wanted: Wanted[] = [];
    for (let i = 0; i < own.count; i++) {
      const m = mask[first + i] ?? -1;
      wanted.push(m < 0 ? none : m < count ? a[m]! : b[m - count]!);
    }
    first += own.count;
    return wanted;
  });
}

/** The registers that lanes are wanted of, each once. */
export function sourcesOf(wanted: readonly Wanted[]): Value[] {
  const sources: Value[] = [];
  for (const { register } of wanted)
    if (register !== null && !sources.includes(register)) sources.push(register);
  return sources;
}

/** The mask of a step that takes lanes of two registers, or adds those of `second` to what came of those `done`. */
export const maskOf = (
  wanted: readonly Wanted[],
  first: Value | null,
  second: Value | null,
  done: ReadonlySet<Value>,
): number[] =>
  wanted.map(({ register, lane }, at) => {
    if (register === null) return -1;
    if (register === second) return wanted.length + lane;
    if (register === first) return lane;
    return done.has(register) ? at : -1;
  });

export const fits = (mask: readonly number[], at: (i: number) => number): boolean =>
  mask.every((m, i) => m < 0 || m === at(i));

export const keep = (m: number, i: number): number => (m < 0 ? i : m);

export const immediateOf = (lanes: readonly number[], bits: number): number =>
  lanes.reduce((sum, m, i) => sum | ((keep(m, i) & ((1 << bits) - 1)) << (i * bits)), 0);

/**
 * What each part of a register does, where all do the same within themselves; null: they do not.
 * @param n lanes of the register @param parts 2: halves, 4: quarters
 */
export function withinParts(mask: readonly number[], n: number, parts: 2 | 4): number[] | null {
  const part = n / parts;
  const out = new Array<number>(part).fill(-1);
  for (let i = 0; i < n; i++) {
    const m = mask[i]!;
    if (m < 0) continue;
    const lane = m % n;
    if (Math.floor(lane / part) !== Math.floor(i / part)) return null;
    const own = (lane % part) + (m >= n ? part : 0);
    const at = i % part;
    if (out[at]! >= 0 && out[at] !== own) return null;
    out[at] = own;
  }
  return out;
}

/**
 * Interleaved halves of each 128 bits.
 * @param same lanes within 128 bits, those of `b` from its count
 * @param hasIntegers whether there are instructions on integers of this width
 */
export function unpack(
  l: Lowering,
  a: Value,
  b: Value,
  same: readonly number[],
  hasIntegers: boolean,
): Value | null {
  const { type } = a;
  const part = same.length;
  const bits = bitsOf(type.element);
  const isFloat = type.element.isFloat || !hasIntegers;
  const form = isFloat ? alike(type, bits === 32 ? floatType : doubleType) : type;
  const name = (high: boolean): string => {
    if (isFloat) return `Unpck${high ? "h" : "l"}p${bits === 32 ? "s" : "d"}`;
    return `Punpck${high ? "h" : "l"}${{ 8: "bw", 16: "wd", 32: "dq", 64: "qdq" }[bits]!}`;
  };
  for (const high of [false, true]) {
    const start = high ? part / 2 : 0;
    for (const [x, y, shift] of [
      [a, b, 0],
      [b, a, part],
    ] as const) {
      const pattern = (i: number): number =>
        (start + (i >> 1) + ((i & 1) === 0 ? shift : part - shift)) % (2 * part);
      if (fits(same, pattern)) return as(l, vex(l, name(high), form, as(l, x, form), as(l, y, form)), type);
    }
  }
  return null;
}
