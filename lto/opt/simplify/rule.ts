/**
 * What a rule of `simplify` is: an object with a name, by which options leave it out and `--stats` counts it.
 *
 * A rule gives a value that is the old one wherever that is not poison, and reads no operand more often than the
 * instruction did: an undef operand may be another value each time. See forms.ts for what it may make.
 */
import type { Inst, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import type { Forms } from "./forms.js";

export interface SimplifyRule {
  /** Unique among the rules of the pass; stays the same. */
  readonly name: string;
  /** What the instruction is, an arrow, and what it becomes. */
  readonly description: string;
  /** Operations that it is asked about. */
  readonly ops: readonly Op[];
  /**
   * @param a the first operand
   * @param b the second, where there is one
   * @returns what the instruction is; null: the rule has nothing to say
   */
  apply(inst: Inst, a: Value, b: Value, forms: Forms): Value | null;
}
