/** Intrinsics that act on each lane alone, in the form that scalars and scalarised vectors share. */
import type { Type } from "../../ir/types.js";
import type { Lowering, Parts } from "./lowering.js";

/** One lane of a call. */
export interface LaneCall {
  readonly base: string;
  /** Scalar type of the first argument. */
  readonly type: Type;
  /** Scalar type of the result; a struct of scalars for intrinsics with several. */
  readonly result: Type;
  readonly args: readonly Parts[];
  readonly argTypes: readonly Type[];
  /** Fast-math flags. */
  readonly flags: number;
  /** Text of the metadata arguments. */
  readonly metadata: readonly (string | null)[];
}
/** The parts of the result, member after member. */
export type LaneHandler = (l: Lowering, call: LaneCall) => Parts;
