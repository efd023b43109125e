/**
 * Where arguments and results live: System V ABI for AMD64, section 3.2.3, applied to values that are legal
 * already (aggregates were split or made `byval` by the front end, see the legaliser).
 */

import type { AbiArgument, ArgumentLayout, ArgumentPlace } from "../../codegen/select/function-abi.js";
import type { Convention } from "../../codegen/target.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { UnsupportedError } from "../../ir/errors.js";
import type { Type } from "../../ir/types.js";
import {
  argumentPlace,
  argumentRegisters,
  integerResults,
  microsoft,
  preserveNone,
  preserveNoneArguments,
} from "../frame/convention.js";
import { GPR, R8, R9, R10, RCX, RDX, registerNames, XMM, XMM0 } from "../isa/registers.js";

/**
 * @param convention the platform's, or one that a closed function was given
 * @param isVarArg of a function with variable arguments: no upper half of a vector register holds one, named or not, as
 * LLVM has it (X86CallingConv.td)
 */
export function layoutArguments(
  layout: DataLayout,
  args: readonly AbiArgument[],
  convention: Convention,
  isVarArg: boolean,
): ArgumentLayout {
  if (convention === microsoft) return layoutMicrosoft(args);
  const { integers, vectors } = argumentRegisters(convention);
  const inRegister = (register: number): void => {
    places.push({ kind: "register", register: argumentPlace(convention, register) });
  };
  const places: ArgumentPlace[] = [];
  /** Of `preserveNone`, which narrow arguments take others of than wide ones. */
  const taken = new Set<number>();
  let gpr = 0;
  let xmm = 0;
  let stack = 0;
  let maxAlign = 8;
  const onStack = (size: number, align: number): number => {
    const a = Math.max(8, align);
    maxAlign = Math.max(maxAlign, a);
    const offset = Math.ceil(stack / a) * a;
    stack = offset + Math.ceil(size / 8) * 8;
    return offset;
  };
  for (let i = 0; i < args.length; i++) {
    const { type, attributes } = args[i]!;
    const byval = attributes.type("byval");
    if (byval !== undefined) {
      const size = layout.allocSize(byval);
      const align = Math.max(8, attributes.int("align") ?? layout.abiAlign(byval));
      places.push({ kind: "byval", offset: onStack(size, align), size, align });
      continue;
    }
    if (attributes.has("nest")) {
      places.push({ kind: "register", register: R10 });
      continue;
    }
    switch (type.kind) {
      case "int":
      case "ptr": {
        if (convention === preserveNone) {
          const isNarrow = type.kind === "int" && type.bits < 32;
          const register = (isNarrow ? integers : preserveNoneArguments).find((r) => !taken.has(r));
          if (attributes.has("tsc.pair")) throw new UnsupportedError("preserve_nonecc argument of 128 bits");
          if (register === undefined) places.push({ kind: "stack", offset: onStack(8, 8), size: 8 });
          else places.push({ kind: "register", register });
          if (register !== undefined) taken.add(register);
          break;
        }
        const parts = attributes.int("tsc.pair") ?? 1;
        if (gpr + parts > integers.length && parts > 1) {
          // A value of several words goes wholly to memory, 16-byte aligned; later ones may still use registers.
          const offset = onStack(parts * 8, 16);
          for (let p = 0; p < parts; p++) places.push({ kind: "stack", offset: offset + p * 8, size: 8 });
          i += parts - 1;
        } else if (gpr < integers.length) {
          for (let p = 0; p < parts; p++) inRegister(integers[gpr++]!);
          i += parts - 1;
        } else places.push({ kind: "stack", offset: onStack(8, 8), size: 8 });
        break;
      }
      case "x86_fp80":
        places.push({ kind: "stack", offset: onStack(16, 16), size: 16 });
        break;
      default: {
        const size = layout.allocSize(type);
        if (xmm < vectors && !(isVarArg && size > 16))
          places.push({ kind: "register", register: XMM0 + xmm++ });
        else places.push({ kind: "stack", offset: onStack(size, size), size: Math.max(8, size) });
      }
    }
  }
  return { places, stackBytes: Math.ceil(stack / 8) * 8, registerCounts: [gpr, xmm], align: maxAlign };
}

/** By the position of an argument. */
const microsoftIntegers = [RCX, RDX, R8, R9];
/** Room for the arguments in registers, which the callee may use. */
export const homeBytes = 32;

/**
 * Microsoft's convention for x64: each argument has a place by its position, in a register or a word of the stack. What it passes
 * by pointer the front end has made a pointer.
 */
function layoutMicrosoft(args: readonly AbiArgument[]): ArgumentLayout {
  const counts = [0, 0];
  let position = 0;
  const places = args.map(({ type, attributes }): ArgumentPlace => {
    if (attributes.has("nest")) return { kind: "register", register: R10 };
    const isWord = type.kind === "int" || type.kind === "ptr";
    const isSplit = (attributes.int("tsc.pair") ?? 1) > 1 || attributes.type("byval") !== undefined;
    if (isSplit || (!isWord && type.kind !== "float" && type.kind !== "double"))
      throw new UnsupportedError(`ms_abi argument of type ${type} or wider`);
    const at = position++;
    if (at >= 4) return { kind: "stack", offset: 8 * at, size: 8 };
    counts[isWord ? GPR : XMM]!++;
    return { kind: "register", register: isWord ? microsoftIntegers[at]! : XMM0 + at };
  });
  return { places, stackBytes: Math.max(homeBytes, 8 * position), registerCounts: counts, align: 8 };
}

/** The register that holds an argument in this position where variable arguments are read as words. */
export const microsoftWord = (position: number): number => microsoftIntegers[position]!;

/** Where the function takes its arguments and leaves its results, in words: "(rbx, rsi, stack) -> (rax)". */
export function describePlaces(layout: ArgumentLayout, results: readonly number[]): string {
  const name = (register: number): string => (register < 0 ? "st" : registerNames[8]![register]!);
  const taken = layout.places.map((place) => (place.kind === "register" ? name(place.register) : "stack"));
  return `(${taken.join(", ")}) -> (${results.map(name).join(", ")})`;
}

/**
 * The register of each result, in order; -1 for x86_fp80 values, which are on the x87 stack. The registers of a
 * short list of results are the first ones of any longer list, so that a caller of another convention can return
 * what it was returned.
 */
export function resultPlaces(types: readonly Type[]): number[] {
  let integers = 0;
  let vectors = 0;
  return types.map((type) => {
    if (type.kind === "x86_fp80") return -1;
    return type.kind === "int" || type.kind === "ptr" ? integerResults[integers++]! : XMM0 + vectors++;
  });
}
