/** What the frame means for places of source variables. */
import type { FunctionMarks, SlotPlace } from "../../codegen/debug/marks.js";
import type { ShrinkWrapRegion } from "../../codegen/late/shrink-wrap.js";
import { isSlot, type MFunction } from "../../codegen/mir.js";
import { hasRegister, type RegisterSet } from "../../codegen/register-set.js";
import { R15, RBP } from "../isa/registers.js";
import { countUses, type FrameLayout } from "./frame-layout.js";

/** Of each slot, by its distance to the CFA where that is fixed; null where code moves the stack pointer in between. */
export function slotPlaces(mf: MFunction, layout: FrameLayout): (SlotPlace | null)[] {
  const { base, realign, offsets, depth } = layout;
  const uses = countUses(mf);
  return mf.slots.map(({ kind, offset }, slot) => {
    if (kind === "incoming") return { register: -1, offset, base };
    // It has no place.
    if (uses[slot] === 0) return null;
    if (realign > 0) return base === R15 ? { register: R15, offset: offsets[slot]!, base } : null;
    // What rbp points at is 16 bytes below the CFA.
    return { register: -1, offset: offsets[slot]! - (base === RBP ? 16 : depth), base };
  });
}

/** Blocks without frame have no slots, and in saved registers what callers left there. */
export function dropUnframedPlaces(
  mf: MFunction,
  marks: FunctionMarks,
  { framed }: ShrinkWrapRegion,
  saved: RegisterSet,
): void {
  for (const block of mf.blocks) {
    if (framed[block.id] === 1) continue;
    for (const inst of block.insts) {
      const own = marks.before.get(inst);
      if (own === undefined) continue;
      const kept = own.filter(
        (mark) => mark.kind !== "place" || (!isSlot(mark.location) && !hasRegister(saved, mark.location)),
      );
      if (kept.length < own.length) marks.before.set(inst, kept);
    }
  }
}
