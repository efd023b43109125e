/** Comparisons as rules across edges see them. */
import type { MInst } from "../../codegen/mir.js";
import { isEmptySet, overlaps } from "../../codegen/register-set.js";
import { killsFlags, usedRegisters, writtenRegisters } from "../isa/effects.js";
import { writesFlags } from "../isa/op-info.js";
import { X } from "../isa/ops.js";

/** Of registers alone: memory is not compared again, it may be volatile, or change. */
export const isRegisterCompare = ({ op, mem }: MInst): boolean =>
  mem === null && (op === X.Cmp || op === X.Test || op === X.Ucomiss || op === X.Ucomisd);

/** Flags, and the registers of the comparison that they come from, are as they were. */
export const keepsCompared = (inst: MInst, compare: MInst): boolean =>
  !writesFlags(inst.op) &&
  !killsFlags(inst) &&
  (inst.extra === null || inst.extra.kind === "jump-table") &&
  isEmptySet(inst.clobbers) &&
  !overlaps(writtenRegisters(inst), usedRegisters(compare));
