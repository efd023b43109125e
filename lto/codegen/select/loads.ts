/**
 * Loads that the instruction being lowered may perform itself: allowed when the load has one use, sits in the same block,
 * and no instruction between them may write memory, so that both have the same epoch.
 */
import { type InstWith, isPlainAccess, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import type { FunctionSelection } from "./function-selection.js";
import { operationSize } from "./operation-size.js";

type Load = InstWith<Op.Load>;

/**
 * The load that makes `value` if the instruction being lowered may perform it instead: single use, same block,
 * nothing in between that may write memory, exactly `size` bytes. Volatile and atomic loads stay put.
 */
export function foldableLoad(s: FunctionSelection, value: Value, size: number): Load | null {
  const inst = s.resolve(value);
  if (inst.valueKind !== "inst" || inst.op !== Op.Load) return null;
  // Each no-op view on the way must be this value's only one, else the load has another reader.
  for (let v: Value = value; v !== inst; ) {
    if (v.valueKind !== "inst" || s.values.uses[v.id] !== 1) return null;
    v = v.operands[0]!;
  }
  return loadFolds(s, inst, size) ? inst : null;
}

/** The same for a load that is the direct operand of a conversion. */
export function loadFolds(s: FunctionSelection, load: Load, size: number): boolean {
  return (
    s.values.uses[load.id] === 1 &&
    s.values.vregs[load.id]! < 0 &&
    operationSize(s.layout, load.type) >= size &&
    unchangedSince(s, load)
  );
}

/** What the load reads is still in memory at the instruction being lowered, in the same block, and may be read again. */
export function unchangedSince(s: FunctionSelection, load: Load): boolean {
  return (
    s.optimize &&
    load.parent === s.at.parent &&
    s.values.epochs[load.id] === s.values.epochs[s.at.id] &&
    isPlainAccess(load)
  );
}
