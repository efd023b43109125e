/** Getelementptr as the sum that an addressing mode can be. */

import type { DataLayout } from "../../ir/data-layout.js";
import { Flag, type Inst, type InstWith, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { constantNumber } from "./constants.js";
import type { FunctionSelection } from "./function-selection.js";

/** base + variable·scale + offset */
export interface GepTerms<Scale extends number> {
  readonly offset: number;
  readonly variable: Value | null;
  /** 1 without a variable. */
  readonly scale: Scale | 1;
}

/**
 * A getelementptr as a sum; null if it needs more than one variable index.
 * @param isScale what addressing can multiply an index by
 */
export function gepTerms<Scale extends number>(
  layout: DataLayout,
  gep: InstWith<Op.GetElementPtr>,
  isScale: (stride: number) => stride is Scale,
): GepTerms<Scale> | null {
  let offset = 0;
  let variable: Value | null = null;
  let scale: Scale | 1 = 1;
  let type = gep.data.elementType;
  for (let i = 1; i < gep.operands.length; i++) {
    const index = gep.operands[i]!;
    let stride: number;
    if (i === 1) stride = layout.allocSize(type);
    else if (type.kind === "struct") {
      const member = constantNumber(index);
      if (member === null) return null;
      offset += layout.structLayout(type).offsets[member]!;
      type = type.elements[member]!;
      continue;
    } else {
      type = type.element;
      stride = layout.allocSize(type);
    }
    const n = constantNumber(index);
    if (n !== null) offset += n * stride;
    else if (stride !== 0) {
      if (variable !== null || !isScale(stride)) return null;
      variable = index;
      scale = stride;
    }
  }
  return Number.isSafeInteger(offset) ? { offset, variable, scale } : null;
}

/** Whether recomputing the variable part of an address at each use beats keeping the address in a register. */
export function isRecomputed({ values, optimize, mf }: FunctionSelection, gep: Inst): boolean {
  const uses = values.uses[gep.id]!;
  return (
    uses === 1 || (optimize && values.addressOnly[gep.id] === 1 && uses <= (mf.goal === "speed" ? 5 : 3))
  );
}

/** The term and the constant of a sum without carries into other bits than an address has; null where it is none. */
export function constantSum(value: Value): { readonly term: Value; readonly constant: number } | null {
  if (value.valueKind !== "inst" || value.type.bits !== 64) return null;
  if (value.op !== Op.Add && (value.op !== Op.Or || (value.flags & Flag.Disjoint) === 0)) return null;
  const constant = constantNumber(value.operands[1]!);
  return constant === null ? null : { term: value.operands[0]!, constant };
}
