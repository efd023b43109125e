/** Scalar `llvm.x86.*` intrinsics as instructions, inline assembly, fences, or plain arithmetic. */

import type { IntrinsicHandler } from "../../codegen/legalize/intrinsics.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { Op } from "../../ir/instructions.js";
import { i8, i32, i64, structType, type Type, voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { assembly } from "./assembly.js";
import { sse } from "./vectors-sse.js";

const statement =
  (template: string): IntrinsicHandler =>
  (l) => {
    assembly(l, template, "~{memory}", voidType, []);
    return [];
  };

/** An instruction whose only operand is the memory a pointer names. */
const onMemory =
  (mnemonic: string): IntrinsicHandler =>
  (l, _call, args) => {
    assembly(l, `${mnemonic} ($0)`, "r,~{memory}", voidType, [l.value(args[0]!)]);
    return [];
  };

/** The time-stamp counter comes in edx:eax. */
const timeStamp = (l: Lowering, low: Value, high: Value): Value =>
  l.or(l.shl(l.cast(Op.ZExt, high, i64), 32), l.cast(Op.ZExt, low, i64));

const rdtsc: IntrinsicHandler = (l) => {
  const both = assembly(l, "rdtsc", "={ax},={dx}", structType([i32, i32]), []);
  return [timeStamp(l, l.extract(both, 0), l.extract(both, 1))];
};
const rdtscp: IntrinsicHandler = (l) => {
  const all = assembly(l, "rdtscp", "={ax},={dx},={cx}", structType([i32, i32, i32]), []);
  return [timeStamp(l, l.extract(all, 0), l.extract(all, 1)), l.extract(all, 2)];
};

/** (carry in, a, b) → {carry out, sum or difference} */
const withCarry =
  (name: string, type: Type): IntrinsicHandler =>
  (l, _call, args): Parts => {
    const both = sse(l, name, structType([i8, type]), ...args.map((v) => l.value(v)));
    return [l.extract(both, 0), l.extract(both, 1)];
  };

/** One instruction of general registers, which selection knows by name. */
const instruction =
  (name: string, type: Type): IntrinsicHandler =>
  (l, _call, args) => [sse(l, name, type, ...args.map((a) => l.value(a)))];

/** By name without `llvm.`. */
export const scalarIntrinsics: ReadonlyMap<string, IntrinsicHandler> = new Map<string, IntrinsicHandler>([
  ["x86.sse2.pause", statement("pause")],
  ["x86.sse2.mfence", statement("mfence")],
  ["x86.sse2.lfence", statement("lfence")],
  ["x86.sse.sfence", statement("sfence")],
  ["x86.sse2.clflush", onMemory("clflush")],
  ["x86.sse.ldmxcsr", onMemory("ldmxcsr")],
  ["x86.sse.stmxcsr", onMemory("stmxcsr")],
  ["x86.rdtsc", rdtsc],
  ["x86.rdtscp", rdtscp],
  ["x86.addcarry.32", withCarry("adc32", i32)],
  ["x86.addcarry.64", withCarry("adc64", i64)],
  ["x86.subborrow.32", withCarry("sbb32", i32)],
  ["x86.subborrow.64", withCarry("sbb64", i64)],
  ["x86.bmi.bextr.32", instruction("bextr32", i32)],
  ["x86.bmi.bextr.64", instruction("bextr64", i64)],
  ["x86.bmi.bzhi.32", instruction("bzhi32", i32)],
  ["x86.bmi.bzhi.64", instruction("bzhi64", i64)],
  ["x86.sse42.crc32.32.8", instruction("crc32b", i32)],
  ["x86.sse42.crc32.32.16", instruction("crc32w", i32)],
  ["x86.sse42.crc32.32.32", instruction("crc32l", i32)],
  ["x86.sse42.crc32.64.64", instruction("crc32q", i64)],
  ["x86.bmi.pdep.32", instruction("pdep32", i32)],
  ["x86.bmi.pdep.64", instruction("pdep64", i64)],
  ["x86.bmi.pext.32", instruction("pext32", i32)],
  ["x86.bmi.pext.64", instruction("pext64", i64)],
]);
