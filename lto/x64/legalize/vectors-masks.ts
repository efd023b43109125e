/**
 * Masks: vectors of i1 as lanes of all ones or zeros, and their conversion between lane widths.
 *
 * A comparison makes a mask as wide as what it compares, but a value of type <n x i1> has one fixed form.
 * The comparison's own form is remembered beside it, so that a select or sign extension of the same width
 * needs no conversion; a conversion nobody reads is removed later.
 */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { Op } from "../../ir/instructions.js";
import { ConstUndef, type Value } from "../../ir/values.js";
import { intLane, registerOf, type Shape } from "./vectors-shape.js";
import { shuffle } from "./vectors-shuffle.js";
import { as, intForm, letterOf, sse, v4i32, v8i16, v16i8 } from "./vectors-sse.js";

export interface Natural {
  readonly bits: number;
  readonly registers: Parts;
}
interface Remembered extends Natural {
  readonly mask: Parts;
}
/** By the first register of the fixed form. Values are unique objects, so entries die with their function. */
const naturals = new WeakMap<Value, Remembered>();

/** The fixed form of a mask of `shape` made with `bits`-wide lanes. */
export function fixedForm(l: Lowering, shape: Shape, bits: number, registers: Parts): Parts {
  const fixed = resizeMask(l, shape.count, bits, shape.laneBits, registers);
  if (bits !== shape.laneBits) rememberNatural(fixed, bits, registers);
  return fixed;
}

/** Remembers the form that a mask has with `bits`-wide lanes. */
export function rememberNatural(mask: Parts, bits: number, registers: Parts): void {
  if (mask[0]!.valueKind === "inst") naturals.set(mask[0]!, { bits, registers, mask });
}

/** The remembered form. Masks in several registers may have the first in common and differ in others. */
export function naturalOf(mask: Parts): Natural | undefined {
  const found = naturals.get(mask[0]!);
  const isSame =
    found?.mask.length === mask.length && found.mask.every((register, i) => register === mask[i]);
  return isSame ? found : undefined;
}

/** Lane width of the remembered form, or null. */
export const naturalWidth = (mask: Parts): number | null => naturalOf(mask)?.bits ?? null;

/** The mask with lanes of `bits`. */
export function maskOfWidth(l: Lowering, shape: Shape, mask: Parts, bits: number): Parts {
  if (bits === shape.laneBits) return mask;
  const natural = naturalOf(mask);
  if (natural !== undefined && natural.bits === bits)
    return l.narrowed === null ? natural.registers : l.narrowed(natural.registers);
  return resizeMask(l, shape.count, shape.laneBits, bits, mask);
}

/** Lanes of all ones or zeros made wider by doubling, or narrower by saturating packs. */
export function resizeMask(l: Lowering, count: number, from: number, to: number, mask: Parts): Parts {
  let registers = mask.map((v) => as(l, v, intForm(v.type)));
  let bits = from;
  while (bits < to) {
    const needed = Math.ceil((count * bits * 2) / 128);
    const next: Value[] = [];
    for (const v of registers) {
      const n = 128 / bits;
      const low = Array.from({ length: n }, (_, i) => i >> 1);
      if (next.length < needed) next.push(shuffle(l, v, v, low));
      if (next.length < needed)
        next.push(
          shuffle(
            l,
            v,
            v,
            low.map((i) => i + n / 2),
          ),
        );
    }
    bits *= 2;
    const type = registerOf(intLane(bits));
    registers = next.map((v) => as(l, v, type));
  }
  while (bits > to) {
    const next: Value[] = [];
    for (let i = 0; i < registers.length; i += 2)
      next.push(packMask(l, bits, registers[i]!, registers[i + 1]));
    registers = next;
    bits /= 2;
  }
  return registers;
}

/** Two registers of mask lanes to one of lanes half as wide. */
function packMask(l: Lowering, bits: number, a: Value, second: Value | undefined): Value {
  const b = second ?? new ConstUndef(a.type, false);
  if (bits === 64)
    return shuffle(l, as(l, a, v4i32), as(l, b, v4i32), [
      0,
      2,
      second === undefined ? -1 : 4,
      second === undefined ? -1 : 6,
    ]);
  const name = bits === 32 ? "packssdw" : "packsswb";
  return sse(l, name, bits === 32 ? v8i16 : v16i8, a, second === undefined ? a : b);
}

/**
 * What has the sign bits of a mask's lanes, of `bits` each, which is all that is read where bits are gathered from it: numbers that are
 * compared with zero have them themselves.
 */
export function signsOf(mask: Value, bits: number): Value {
  if (mask.valueKind !== "inst" || mask.op !== Op.Call) return mask;
  const [callee, greater, less] = mask.operands as readonly [Value, Value, Value];
  if (callee.valueKind !== "global" || greater?.valueKind !== "zero") return mask;
  const name = /^tsc\.x64\.(?:v\.P|p)cmpgt([bwdq])$/.exec(callee.name);
  return name?.[1] === letterOf(bits) ? less : mask;
}
