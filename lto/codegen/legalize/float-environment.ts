/**
 * The floating-point environment (LLVM Language Reference, "Floating-Point Environment Manipulation intrinsics"): the
 * rounding mode by the target, all else by the C library's functions of `fenv.h`. Their objects (ISO C23, section 7.6; 32
 * bytes of environment and 8 of modes on x86-64) are what LLVM takes for integers of the same size.
 */
import { Op } from "../../ir/instructions.js";
import { i32, ptr } from "../../ir/types.js";
import { constI64 } from "../../ir/values.js";
import type { IntrinsicHandler } from "./intrinsics.js";
import { loadParts, storeParts } from "./memory-parts.js";

const alignment = 16;

const roundingMode: IntrinsicHandler = (l) => l.target.roundingMode(l);

const get =
  (name: string): IntrinsicHandler =>
  (l, call) => {
    const slot = l.stackSlot(call.type, alignment);
    l.library(name, i32, [slot]);
    return loadParts(l, call.type, slot, alignment);
  };

const set =
  (name: string): IntrinsicHandler =>
  (l, _call, args) => {
    const { type } = args[0]!;
    const slot = l.stackSlot(type, alignment);
    storeParts(l, type, l.parts(args[0]!), slot, alignment);
    l.library(name, i32, [slot]);
    return [];
  };

/** `FE_DFL_ENV` and `FE_DFL_MODE` are the address -1. */
const reset =
  (name: string): IntrinsicHandler =>
  (l) => {
    l.library(name, i32, [l.cast(Op.IntToPtr, constI64(-1), ptr)]);
    return [];
  };

export const floatEnvironment: readonly (readonly [string, IntrinsicHandler])[] = [
  ["get.rounding", roundingMode],
  ["flt.rounds", roundingMode],
  [
    "set.rounding",
    (l, _call, args) => {
      l.target.setRoundingMode(l, l.value(args[0]!));
      return [];
    },
  ],
  ["get.fpenv", get("fegetenv")],
  ["set.fpenv", set("fesetenv")],
  ["reset.fpenv", reset("fesetenv")],
  ["get.fpmode", get("fegetmode")],
  ["set.fpmode", set("fesetmode")],
  ["reset.fpmode", reset("fesetmode")],
];
