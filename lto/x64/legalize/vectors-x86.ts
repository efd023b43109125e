/**
 * The `llvm.x86.sse*` intrinsics that <xmmintrin.h> and <emmintrin.h> still produce, onto instructions of
 * the same name (Intel SDM volume 2; Intel Intrinsics Guide for operand order).
 */

import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { type CallInst, type FloatPredicate, Op } from "../../ir/instructions.js";
import { doubleType, floatType, i32, i64, type Type, voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { assembly } from "./assembly.js";
import { extensionIntrinsics } from "./extensions-x86.js";
import { extractLane, toRegister } from "./vectors-lanes.js";
import { as, imm, sse, v2f64, v2i64, v4f32, v4i32, v8i16, v16i8, zeroRegister } from "./vectors-sse.js";

/** Intrinsic name after `x86.` → [instruction, register type of the result]. Operands pass through. */
const direct = new Map<string, readonly [string, Type]>([
  ["sse.rcp.ps", ["rcpps", v4f32]],
  ["sse.rsqrt.ps", ["rsqrtps", v4f32]],
  ["sse.rcp.ss", ["rcpss", v4f32]],
  ["sse.rsqrt.ss", ["rsqrtss", v4f32]],
  ["sse.min.ps", ["minps", v4f32]],
  ["sse.max.ps", ["maxps", v4f32]],
  ["sse.min.ss", ["minss", v4f32]],
  ["sse.max.ss", ["maxss", v4f32]],
  ["sse2.min.pd", ["minpd", v2f64]],
  ["sse2.max.pd", ["maxpd", v2f64]],
  ["sse2.min.sd", ["minsd", v2f64]],
  ["sse2.max.sd", ["maxsd", v2f64]],
  ["sse.movmsk.ps", ["movmskps", i32]],
  ["sse2.movmsk.pd", ["movmskpd", i32]],
  ["sse2.pmovmskb.128", ["pmovmskb", i32]],
  ["sse2.cvtps2dq", ["cvtps2dq", v4i32]],
  ["sse2.cvttps2dq", ["cvttps2dq", v4i32]],
  ["sse2.cvtpd2dq", ["cvtpd2dq", v4i32]],
  ["sse2.cvttpd2dq", ["cvttpd2dq", v4i32]],
  ["sse2.cvtpd2ps", ["cvtpd2ps", v4f32]],
  ["sse2.packssdw.128", ["packssdw", v8i16]],
  ["sse2.packsswb.128", ["packsswb", v16i8]],
  ["sse2.packuswb.128", ["packuswb", v16i8]],
  ["sse2.pavg.b", ["pavgb", v16i8]],
  ["sse2.pavg.w", ["pavgw", v8i16]],
  ["sse2.pmadd.wd", ["pmaddwd", v4i32]],
  ["sse2.pmulh.w", ["pmulhw", v8i16]],
  ["sse2.pmulhu.w", ["pmulhuw", v8i16]],
  ["sse2.pmulu.dq", ["pmuludq", v2i64]],
  ["sse2.psad.bw", ["psadbw", v2i64]],
  ["sse2.padds.b", ["paddsb", v16i8]],
  ["sse2.padds.w", ["paddsw", v8i16]],
  ["sse2.psubs.b", ["psubsb", v16i8]],
  ["sse2.psubs.w", ["psubsw", v8i16]],
  ["sse2.paddus.b", ["paddusb", v16i8]],
  ["sse2.paddus.w", ["paddusw", v8i16]],
  ["sse2.psubus.b", ["psubusb", v16i8]],
  ["sse2.psubus.w", ["psubusw", v8i16]],
]);

/** Scalar conversions of lane 0: [packed instruction, its source, scalar one for 64 bits]. */
const conversions: Readonly<Record<string, string>> = {
  "sse.cvtss2si": "cvtps2dq",
  "sse.cvttss2si": "cvttps2dq",
  "sse2.cvtsd2si": "cvtpd2dq",
  "sse2.cvttsd2si": "cvttpd2dq",
};

export function x86VectorIntrinsic(
  l: Lowering,
  base: string,
  inst: CallInst,
  args: readonly Value[],
): Parts | null {
  const name = base.slice("x86.".length);
  const entry = direct.get(name) ?? extensionIntrinsics.get(name);
  const values = (): Value[] => args.map((a) => l.value(a));
  if (entry !== undefined) return [sse(l, entry[0], entry[1], ...values())];
  const shift = /^sse2\.(ps(?:ll|rl|ra))(i?)\.([wdq])$/.exec(name);
  if (shift !== null) return [lowerShift(l, `${shift[1]}${shift[3]}`, shift[2] === "i", inst.type, values())];
  const comparison = /^sse2?\.u?comi(eq|lt|le|gt|ge|neq)\.s[sd]$/.exec(name);
  if (comparison !== null) {
    const [a, b] = values().map((v) => extractLane(l, v, 0)) as [Value, Value];
    const kind = comparison[1]!;
    const predicate = (kind === "neq" ? "une" : `o${kind}`) as FloatPredicate;
    return [l.cast(Op.ZExt, l.fcmp(predicate, a, b), i32)];
  }
  const packed = conversions[name];
  if (packed !== undefined) {
    const converted = sse(l, packed, v4i32, l.value(args[0]!));
    return [extractLane(l, converted, 0)];
  }
  if (/^sse2?\.cvtt?s[sd]2si64$/.test(name)) {
    const mnemonic = name.slice(name.indexOf(".") + 1).replace("64", "");
    return [assembly(l, `${mnemonic} $1, $0`, "=r,x", i64, values(), false)];
  }
  switch (name) {
    case "sse.cmp.ps":
    case "sse2.cmp.pd":
    case "sse.cmp.ss":
    case "sse2.cmp.sd":
      return [compare(l, name, values())];
    case "sse2.cvtsd2ss": {
      const [a, b] = values() as [Value, Value];
      return [sse(l, "movss", v4f32, a, sse(l, "cvtpd2ps", v4f32, b))];
    }
    case "sse2.maskmov.dqu":
      assembly(l, "maskmovdqu $1, $0", "x,x,{di},~{memory}", voidType, values());
      return [];
    case "sse.cvtsi2ss":
    case "sse.cvtsi642ss": {
      const [a, b] = values() as [Value, Value];
      return [sse(l, "movss", v4f32, a, toRegister(l, l.cast(Op.SIToFP, b, floatType), v4f32))];
    }
    case "sse2.cvtsi2sd":
    case "sse2.cvtsi642sd": {
      const [a, b] = values() as [Value, Value];
      return [sse(l, "movsd", v2f64, a, toRegister(l, l.cast(Op.SIToFP, b, doubleType), v2f64))];
    }
    default:
      return null;
  }
}

function compare(l: Lowering, name: string, [a, b, predicate]: Value[]): Value {
  if (predicate!.valueKind !== "int") throw l.unsupported(`llvm.x86.${name} with a variable predicate`);
  const isSingle = a!.type === v4f32;
  const code = imm(predicate!.num & 7);
  const result = sse(l, isSingle ? "cmpps" : "cmppd", a!.type, a!, b!, code);
  if (name.endsWith(".ps") || name.endsWith(".pd")) return result;
  return sse(l, isSingle ? "movss" : "movsd", a!.type, a!, result);
}

/** Shifts of all lanes; an amount past the lane clears it, or fills it with the sign. */
function lowerShift(l: Lowering, name: string, byScalar: boolean, type: Type, values: Value[]): Value {
  const [v, amount] = values as [Value, Value];
  if (!byScalar) return sse(l, name, type, v, as(l, amount, type));
  if (amount.valueKind === "int") {
    const bits = type.element.bits;
    const n = Number(BigInt.asUintN(32, amount.value));
    if (n === 0) return v;
    if (n >= bits && !name.startsWith("psra")) return zeroRegister(type);
    return sse(l, `${name}i`, type, v, imm(Math.min(n, bits - 1)));
  }
  const count = toRegister(l, l.cast(Op.ZExt, amount, i64), v2i64);
  return sse(l, name, type, v, as(l, count, type));
}
