/** Accesses of the lanes that a mask chooses: vmaskmov, of lanes of 32 and 64 bits. The others are not accessed. */
import { internalIntrinsic } from "../../codegen/legalize/internal.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { facts, wellBehaved } from "../../ir/intrinsics/facts.js";
import { Memory } from "../../ir/memory-effects.js";
import { doubleType, floatType, functionType, ptr, type Type, voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { maskLike } from "./avx-masks.js";
import { blendBy } from "./avx-native.js";
import { alike, bytesOf } from "./avx-registers.js";
import { bitsOf, intLane, shapeOf } from "./vectors-shape.js";
import { as } from "./vectors-sse.js";

const reads = facts(Memory.ArgumentRead, wellBehaved);
const writes = facts(Memory.ArgumentWrite, wellBehaved);

/** The form for floats serves integers too. */
const formOf = (type: Type): readonly [string, Type] =>
  bitsOf(type.element) === 32
    ? ["Maskmovps", alike(type, floatType)]
    : ["Maskmovpd", alike(type, doubleType)];

/** One register; lanes whose mask has a clear sign bit are zero. */
export function maskedLoad(l: Lowering, type: Type, pointer: Value, mask: Value): Value {
  const [name, form] = formOf(type);
  const lanes = as(l, mask, alike(form, intLane(bitsOf(form.element))));
  const fn = internalIntrinsic(`tsc.x64.v.${name}`, functionType(form, [lanes.type, ptr]), reads);
  return as(l, l.call(fn, [lanes, pointer]), type);
}

export function maskedStore(l: Lowering, value: Value, pointer: Value, mask: Value): void {
  const [name, form] = formOf(value.type);
  const lanes = as(l, mask, alike(form, intLane(bitsOf(form.element))));
  const type = functionType(voidType, [lanes.type, form, ptr]);
  l.call(internalIntrinsic(`tsc.x64.v.${name}M`, type, writes), [lanes, as(l, value, form), pointer]);
}

/** Whether a vector's registers can be accessed so. */
function isMaskable(type: Type): boolean {
  const { representation, isExact, laneBits, count, perRegister } = shapeOf(type);
  return representation === "lanes" && isExact && laneBits >= 32 && count % perRegister === 0;
}

export function nativeMaskedLoad(
  l: Lowering,
  type: Type,
  pointer: Value,
  mask: Value,
  rest: Value,
  avx2: boolean,
): Parts | null {
  if (!isMaskable(type)) return null;
  const types = l.partTypes(type);
  const lanes = maskLike(l, mask.type, l.parts(mask), types, avx2);
  const others = l.parts(rest);
  let at = 0;
  return types.map((part, i) => {
    const loaded = maskedLoad(l, part, l.offset(pointer, at), lanes[i]!);
    at += bytesOf(part);
    const other = others[i]!;
    return other.valueKind === "undef" || other.valueKind === "zero"
      ? loaded
      : blendBy(l, lanes[i]!, loaded, other);
  });
}

export function nativeMaskedStore(
  l: Lowering,
  value: Value,
  pointer: Value,
  mask: Value,
  avx2: boolean,
): boolean {
  if (!isMaskable(value.type)) return false;
  const types = l.partTypes(value.type);
  const lanes = maskLike(l, mask.type, l.parts(mask), types, avx2);
  let at = 0;
  l.parts(value).forEach((part, i) => {
    maskedStore(l, part, l.offset(pointer, at), lanes[i]!);
    at += bytesOf(part.type);
  });
  return true;
}
