/**
 * Calling conventions of closed functions: where arguments and results travel, if not where the platform says.
 *
 * Three things may differ, independent of each other:
 *   - an integer argument register of the platform has a substitute: whatever would be passed in `rsi` travels in
 *     `r14`. This renames registers, not parameters. So callers whose idea of the signature differs from the
 *     definition's (old-style declarations) still do what they would do under the platform's convention.
 *   - `extraArguments`: what finds no argument register continues in further registers before it goes to the stack.
 *   - `extraResults`: results that are too many for the platform's registers continue in further ones instead of
 *     going through a pointer. These two are about values, so every call has to agree with the definition on them.
 *
 * A substitute is a callee-saved register that holds a parameter for as long as the function needs it. The
 * function preserves it like any callee-saved register, in the common case by never writing it: no save, no copy
 * at the entry, and none in callers that keep the value in that register themselves.
 *
 * As a number: four bits for each substitute, the position of its argument among the integer registers plus one;
 * above them the two flags.
 */

import { AskedConvention } from "../../codegen/asked-conventions.js";
import type { ResultRoom } from "../../codegen/legalize/index.js";
import { minus, noRegisters, type RegisterSet } from "../../codegen/register-set.js";
import { type Convention, platformConvention } from "../../codegen/target.js";
import {
  calleeSavedMask,
  integerArguments,
  maskOf,
  R8,
  R9,
  R10,
  R11,
  R12,
  R13,
  R14,
  R15,
  RAX,
  RBP,
  RBX,
  RCX,
  RDI,
  RDX,
  RSI,
  XMM0,
} from "../isa/registers.js";

/** System V ABI AMD64, section 3.2.3, with the results that LLVM adds. */
export const defaultConvention: Convention = platformConvention;
export const extraArguments: Convention = 1 << 24;
export const extraResults: Convention = 1 << 25;

/**
 * Callee-saved registers that may hold an argument, the first choice first. A context is mostly the base of wide
 * accesses, which r14 names in no more bytes; so rbx is left for values that its short names serve better. rbp
 * addresses frames, r15 realigned ones of variable size, and r12 and r13 take a byte more as a base.
 */
export const substitutes: readonly number[] = [R14, RBX];

/** The convention that passes the argument in `position` in the substitute numbered `which`; -1: none. */
export const withArgument = (convention: Convention, which: number, position: number): Convention =>
  (convention & ~(15 << (4 * which))) | ((position + 1) << (4 * which));

/** The position of the argument that travels in the substitute numbered `which`; -1 if none does. */
const argumentIn = (convention: Convention, which: number): number => ((convention >> (4 * which)) & 15) - 1;

/** Asked for by the program (`AskedConvention`): other argument registers. Nothing else goes with them. */
export const preserveNone: Convention = 1 << 26;
export const microsoft: Convention = 1 << 27;

export function askedConvention(convention: Convention, asked: number): Convention {
  if (asked === AskedConvention.PreserveNone) return preserveNone;
  return asked === AskedConvention.Microsoft ? microsoft : convention;
}

/** Callee-saved registers that a call of a convention changes. */
export const givenAway = (asked: number): RegisterSet =>
  asked === AskedConvention.PreserveNone ? minus(calleeSavedMask, maskOf(RBP)) : noRegisters;

/** Registers that the platform's convention gives away and that a function of a convention preserves, results apart. */
export function keptBeyond(asked: number): readonly number[] {
  switch (asked) {
    case AskedConvention.PreserveMost:
      return keptGeneral;
    case AskedConvention.PreserveAll:
      return [...keptGeneral, ...Array.from({ length: 16 }, (_, i) => XMM0 + i)];
    case AskedConvention.Microsoft:
      return [RDI, RSI, ...Array.from({ length: 10 }, (_, i) => XMM0 + 6 + i)];
    default:
      return [];
  }
}
const keptGeneral: readonly number[] = [RAX, RCX, RDX, RSI, RDI, R8, R9, R10];

/** The register that a call passes the contents of an argument register in. */
export function argumentPlace(convention: Convention, register: number): number {
  for (let which = 0; which < substitutes.length; which++) {
    const position = argumentIn(convention, which);
    if (position >= 0 && integerArguments[position] === register) return substitutes[which]!;
  }
  return register;
}

/** Registers that take arguments, in order: integers, and how many from xmm0 on. */
export interface ArgumentRegisters {
  readonly integers: readonly number[];
  readonly vectors: number;
}
const platformArguments: ArgumentRegisters = { integers: integerArguments, vectors: 8 };
/** rax is no count of vector registers here: functions with variable arguments keep the platform's convention. */
const allArguments: ArgumentRegisters = { integers: [...integerArguments, RAX, R10, R11], vectors: 16 };

/** Those first that what it calls in the platform's way preserves (LLVM's X86CallingConv.td). */
export const preserveNoneArguments: readonly number[] = [
  R12,
  R13,
  R14,
  R15,
  RDI,
  RSI,
  RDX,
  RCX,
  R8,
  R9,
  R11,
  RAX,
];

export function argumentRegisters(convention: Convention): ArgumentRegisters {
  return (convention & extraArguments) === 0 ? platformArguments : allArguments;
}

/** Registers of integer results, in order: the first three are LLVM's. Vectors and floats: from xmm0 on. */
export const integerResults: readonly number[] = [RAX, RDX, RCX, RSI, RDI, R8, R9, R10, R11];

/** rax, rdx, rcx; xmm0 and xmm1 for scalars, to xmm3 for vectors; st0 and st1. */
const platformResults: ResultRoom = { integers: 3, floats: 2, vectors: 4, extended: 2 };
const allResults: ResultRoom = { integers: integerResults.length, floats: 8, vectors: 8, extended: 2 };

export const resultRoom = (convention: Convention): ResultRoom =>
  (convention & extraResults) === 0 ? platformResults : allResults;
