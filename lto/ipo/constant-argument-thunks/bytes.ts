/** The registers that arguments travel in, by their types. */
import type { Type } from "../../ir/types.js";
import type { CallCosts } from "../../target/calls.js";
import { isPassable } from "../similar/parameters.js";

/**
 * Numbers of registers: general ones from 0, those for floating point from -1 downwards; null: not all are passed in
 * registers.
 */
export function registersFor(
  types: readonly Type[],
  { integers, floats }: CallCosts,
): readonly number[] | null {
  let general = 0;
  let vector = 0;
  if (!types.every(isPassable)) return null;
  const registers = types.map(({ kind }) =>
    kind === "float" || kind === "double" ? -1 - vector++ : general++,
  );
  return general <= integers && vector <= floats ? registers : null;
}
