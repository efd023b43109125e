/**
 * Where arguments and results live: System V ABI for AMD64, section 3.2.3, applied to values that are legal
 * already (aggregates were split or made `byval` by the front end, see the legaliser).
 */

import type { AbiArgument, ArgumentLayout, ArgumentPlace } from "../../codegen/select/function-abi.js";
import type { Convention } from "../../codegen/target.js";
import type { DataLayout } from "../../ir/data-layout.js";
import type { Type } from "../../ir/types.js";
import { argumentPlace, argumentRegisters, integerResults } from "../frame/convention.js";
import { R10, registerNames, XMM0 } from "../isa/registers.js";

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
  const { integers, vectors } = argumentRegisters(convention);
  const inRegister = (register: number): void => {
    places.push({ kind: "register", register: argumentPlace(convention, register) });
  };
  const places: ArgumentPlace[] = [];
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
