/**
 * Which registers address a function's frame, by its slots: the same answer before and after allocation.
 * Source: System V ABI AMD64, section 3.2.2.
 */

import type { FrameSlot, MFunction } from "../../codegen/mir.js";
import { noRegisters, type RegisterSet, single, union } from "../../codegen/register-set.js";
import { R15, RBP } from "../isa/registers.js";

/** The ABI aligns the stack to this many bytes at calls; larger slots need realignment. */
export const stackAlign = 16;

const overAligned = (slot: FrameSlot): boolean => slot.kind !== "incoming" && slot.align > stackAlign;

/** A slot or a call asks for more alignment than the ABI gives, or callers may not give that. */
export const needsRealignment = (mf: MFunction): boolean =>
  mf.stackAlignment > 0 || mf.slots.some(overAligned);

/** rbp addresses the frame (not allocatable). */
export const needsFramePointer = (mf: MFunction): boolean =>
  mf.needsFramePointer || mf.hasDynamicAlloca || needsRealignment(mf);

/** r15 addresses the locals (not allocatable): rbp and rsp are both at unknown distances from them. */
export const needsBasePointer = (mf: MFunction): boolean => mf.hasDynamicAlloca && needsRealignment(mf);

/** The registers that address the frame and hold a value across every call, though no operand shows it. */
export const reservedRegisters = (mf: MFunction): RegisterSet =>
  union(needsFramePointer(mf) ? single(RBP) : noRegisters, needsBasePointer(mf) ? single(R15) : noRegisters);
