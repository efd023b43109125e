/** Function entry: where arguments come from. */

import type { LegalFunction } from "../../codegen/legalize/index.js";
import { type MemOperand, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import type { AbiArgument, ArgumentLayout } from "../../codegen/select/function-abi.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { X } from "../isa/ops.js";
import { maskOf, xmmMask } from "../isa/registers.js";
import { V } from "../isa/vex-ops.js";
import type { Selector } from "./selector.js";
import { saveHome, saveVarArgs } from "./var-args.js";

/** Defines the registers and slots of the arguments; called last, at the head of the entry block. */
export function selectEntry(s: Selector, legal: LegalFunction, layout: ArgumentLayout): void {
  const entry = new MInst(X.Entry, 8);
  const after: (() => void)[] = [];
  legal.args.forEach(({ argument: arg }, i) => {
    const place = layout.places[i]!;
    const vreg = s.values.argumentVRegs[arg.index]!;
    if (place.kind === "register") {
      const whole = s.kept.get(place.register);
      if (vreg >= 0 && whole !== undefined) after.push(() => s.copy(vreg, whole, s.mf.vregs[vreg]!.size));
      else if (vreg >= 0) entry.defs.push(new RegOperand(vreg, maskOf(place.register)));
      else s.debug?.arrivals.set(arg.index, place.register);
      return;
    }
    const slot =
      s.abi.incomingSlots.get(place.offset) ?? s.mf.newSlot(place.size, 8, "incoming", place.offset);
    if (place.kind === "byval") {
      s.debug?.argumentSlots.set(arg.index, slot);
      if (vreg >= 0)
        after.push(() => {
          const lea = new MInst(X.Lea, 8);
          lea.defs = [new RegOperand(vreg)];
          lea.mem = s.slotMem(slot);
          s.mf.vregs[vreg]!.remat = lea;
          s.emit(lea);
        });
      return;
    }
    if (arg.type.kind === "x86_fp80" || vreg < 0) return;
    after.push(() => loadFrom(s, arg.type, vreg, s.slotMem(slot)));
  });
  if (s.varArgs.slot >= 0) saveVarArgs(s, entry, after);
  for (const [register, vreg] of s.varArgs.forwarded) entry.defs.push(new RegOperand(vreg, maskOf(register)));
  for (const [register, vreg] of s.kept) entry.defs.push(new RegOperand(vreg, maskOf(register)));
  if (s.varArgs.home >= 0) saveHome(s, legal.args.length, entry, after);
  // Before it returns, upper halves are zeroed: those of all registers.
  if (s.mf.vregs.some(({ size }) => size > 16)) entry.clobbers = xmmMask;
  s.emit(entry);
  for (const emit of after) emit();
}

/** Loads a stack argument. Its slot never changes, so the load can be repeated instead of spilling. */
function loadFrom(s: Selector, type: AbiArgument["type"], vreg: VReg, mem: MemOperand): void {
  let load: MInst;
  if (s.isGeneral(type)) load = s.load(X.Mov, operationSize(s.layout, type) === 8 ? 8 : 4, vreg, mem);
  else {
    const size = s.layout.storeSize(type);
    const op = size === 4 || size === 2 ? X.Movss : size === 8 ? X.Movsd : size === 16 ? X.Movups : V.Movups;
    load = s.load(op, Math.max(4, size), vreg, mem);
  }
  if (!s.abi.hasMustTail) s.mf.vregs[vreg]!.remat = load;
}
