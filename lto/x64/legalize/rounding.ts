/** The rounding mode of floating-point operations: of the x87 unit and, separately, of SSE. */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { Op } from "../../ir/instructions.js";
import { Strictness } from "../../ir/strict-float.js";
import { i16, i32, voidType } from "../../ir/types.js";
import { constI32, constInt, type Value } from "../../ir/values.js";
import { allFeatures } from "../isa/features.js";
import { assembly } from "./assembly.js";
import { extractLane, toRegister } from "./vectors-lanes.js";
import { imm, sse, v2f64, v4f32 } from "./vectors-sse.js";

/** Runs an instruction that accesses the memory at an address. */
const access = (l: Lowering, instruction: string, pointer: Value): Value =>
  assembly(l, `${instruction} ($0)`, "r,~{memory}", voidType, [pointer]);

/** The rounding mode from bits 10 and 11 of the x87 control word, in FLT_ROUNDS encoding. */
export function roundingMode(l: Lowering): Parts {
  const slot = l.scratchSlot(i16, 2);
  access(l, "fnstcw", slot);
  const control = l.cast(Op.ZExt, l.load(i16, slot, 2), i32);
  // nearest 1, down 3, up 2, zero 0: two bits each, indexed by twice the field.
  const shift = l.and(l.lshr(control, 9), constI32(6));
  return [l.and(l.bin(Op.LShr, constI32(0x2d), shift), constI32(3))];
}

/** Both fields: of the x87 control word, and bits 13 and 14 of MXCSR. */
export function setRoundingMode(l: Lowering, mode: Value): void {
  // nearest 0 from 1, down 1 from 3, up 2 from 2, zero 3 from 0: two bits each, indexed by twice the mode.
  const shift = l.shl(l.and(mode, constI32(3)), 1);
  const field = l.and(l.bin(Op.LShr, constI32(0b01_10_00_11), shift), constI32(3));
  const x87 = l.scratchSlot(i16, 2);
  access(l, "fnstcw", x87);
  const control = l.and(l.load(i16, x87, 2), constInt(i16, 0xf3ff));
  l.store(l.or(control, l.cast(Op.Trunc, l.shl(field, 10), i16)), x87, 2);
  access(l, "fldcw", x87);
  const sse = l.scratchSlot(i32, 4);
  access(l, "stmxcsr", sse);
  const state = l.and(l.load(i32, sse, 4), constI32(~0x6000));
  l.store(l.or(state, l.shl(field, 13)), sse, 4);
  access(l, "ldmxcsr", sse);
}

/** By the intrinsic: the mode of `round*`, with bit 3 where nobody may see that the result is inexact, and bit 2 for the current mode. */
const modes: Readonly<Record<string, number>> = {
  floor: 9,
  ceil: 10,
  trunc: 11,
  roundeven: 8,
  rint: 4,
  nearbyint: 12,
};

/** The mode by which the function has an instruction (SSE4.1) for an intrinsic; undefined if it has none. */
const modeOf = (l: Lowering, name: string): number | undefined =>
  l.strictness === Strictness.None &&
  allFeatures(l.fn.attributes.fn.string("target-features") ?? "").has("sse4.1")
    ? modes[name]
    : undefined;

export function roundToInteger(l: Lowering, name: string, value: Value): Value | null {
  const mode = modeOf(l, name);
  if (mode === undefined || (value.type.kind !== "float" && value.type.kind !== "double")) return null;
  const isSingle = value.type.kind === "float";
  const register = toRegister(l, value, isSingle ? v4f32 : v2f64);
  return extractLane(
    l,
    sse(l, isSingle ? "roundss" : "roundsd", register.type, register, register, imm(mode)),
    0,
  );
}

/** The same of all lanes of a register of floats or doubles. */
export function roundLanes(l: Lowering, name: string, register: Value): Value | null {
  const mode = modeOf(l, name);
  if (mode === undefined) return null;
  return sse(l, register.type === v4f32 ? "roundps" : "roundpd", register.type, register, imm(mode));
}
