/**
 * Which functions have more arguments or results than the platform passes in registers, so that a convention of
 * their own could help. Looks at signatures only.
 */
import { abiTypes, resultsFit } from "../../codegen/legalize/index.js";
import type { Convention } from "../../codegen/target.js";
import type { Func } from "../../ir/module.js";
import { sse2Vectors } from "../legalize/vectors.js";
import {
  argumentRegisters,
  defaultConvention,
  extraArguments,
  extraResults,
  resultRoom,
} from "./convention.js";

/** The flags of a convention that make a difference to the function: some of `extraArguments` and `extraResults`. */
export function wantedExtras(fn: Func): Convention {
  const { result, parameters } = fn.valueType;
  let convention = defaultConvention;
  if (takesStack(fn, parameters)) convention |= extraArguments;
  if (result.isAggregate || result.kind === "int" || result.kind === "vector") {
    const types = abiTypes(result, sse2Vectors);
    if (!resultsFit(types, resultRoom(defaultConvention)) && resultsFit(types, resultRoom(extraResults)))
      convention |= extraResults;
  }
  return convention;
}

function takesStack(fn: Func, parameters: Func["valueType"]["parameters"]): boolean {
  // The static chain travels in r10.
  if (parameters.some((_, i) => fn.attributes.parameter(i).has("nest"))) return false;
  let integers = 0;
  let vectors = 0;
  parameters.forEach((type, i) => {
    if (fn.attributes.parameter(i).type("byval") !== undefined) return;
    for (const part of abiTypes(type, sse2Vectors))
      if (part.kind === "int" || part.kind === "ptr") integers++;
      else if (part.kind !== "x86_fp80") vectors++;
  });
  const platform = argumentRegisters(defaultConvention);
  return integers > platform.integers.length || vectors > platform.vectors;
}
