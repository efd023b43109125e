/** Calls that leave the function, in the place of a return (codegen/select/tail-calls.ts). */

import { AskedConvention } from "../../codegen/asked-conventions.js";
import { MInst, RegOperand } from "../../codegen/mir.js";
import type { RegisterSet } from "../../codegen/register-set.js";
import { isChecked, tailCallInfo } from "../../codegen/select/calls.js";
import type { AbiArgument, ArgumentLayout } from "../../codegen/select/function-abi.js";
import type { CallInst } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { X } from "../isa/ops.js";
import { maskOf, R10, R11, RBX } from "../isa/registers.js";
import { V } from "../isa/vex-ops.js";
import { argumentRegister, copyMemory, markWide, registerArguments } from "./arguments.js";
import { callSymbol, tailTargetMask } from "./call-target.js";
import { checkTarget } from "./kcfi.js";
import type { Selector } from "./selector.js";
import { addVarArgCount, forwardVarArgs } from "./var-args.js";
import { popToSlot, push80 } from "./x87.js";

/** Where the address of what is called may be: in no register that is restored before, or holds an argument. */
const targetRegisters = ({ data }: CallInst): RegisterSet =>
  data.callingConvention === AskedConvention.PreserveNone ? maskOf(RBX, R10) : tailTargetMask;

export function selectTailCall(
  s: Selector,
  call: CallInst,
  values: readonly Value[],
  args: readonly AbiArgument[],
  layout: ArgumentLayout,
): void {
  const callee = call.operands[0]!;
  const uses = registerArguments(s, values, args, layout);
  const machine = new MInst(callee.valueKind === "global" ? X.TailCall : X.TailCallIndirect, 8);
  if (callee.valueKind === "global") machine.symbol = callSymbol(s, callee);
  // The frame is gone when it jumps: the target must be in a register that no restore touches.
  else {
    const mark = s.thunkMark("calls");
    machine.uses.push(new RegOperand(s.reg(callee), mark !== 0 ? maskOf(R11) : targetRegisters(call)));
    if (mark !== 0) machine.marks = mark;
  }
  const stores: (() => void)[] = [];
  layout.places.forEach((place, i) => {
    const value = values[i]!;
    if (place.kind === "byval" || (place.kind === "stack" && value.type.kind === "x86_fp80")) {
      const store = throughMemory(s, value, place);
      if (store !== null) stores.push(store);
      return;
    }
    if (place.kind !== "stack" || value.valueKind === "undef") return;
    const vreg = argumentRegister(s, value, args[i]!);
    const slot = s.mf.newSlot(place.size, 8, "incoming", place.offset);
    const op = s.isGeneral(value.type)
      ? X.MovM
      : place.size >= 32
        ? V.MovupsM
        : place.size === 16
          ? X.MovupsM
          : X.MovsdM;
    stores.push(() => s.store(op, place.size, s.slotMem(slot), vreg));
  });
  for (const store of stores) store();
  if (s.mf.fn.valueType.isVarArg && call.data.tail === "musttail") forwardVarArgs(s, uses);
  else addVarArgCount(s, call, layout, uses);
  if (isChecked(call)) checkTarget(s, call, machine);
  machine.uses.push(...uses);
  const info = tailCallInfo(call);
  machine.extra = info;
  machine.clobbers = s.options.clobbersOf(info.callee, info.calleeSet);
  markWide(s, machine);
  s.emit(machine);
}

/**
 * An argument of a tail call that lies in memory, put aside before any is written to its place, since each may lie in
 * the place of another. @returns what puts it there; null where it is
 */
function throughMemory(
  s: Selector,
  value: Value,
  { kind, offset, size }: Extract<ArgumentLayout["places"][number], { offset: number }>,
): (() => void) | null {
  const source = s.resolve(value);
  const own = source.valueKind === "argument" ? s.abi.wholeArguments.get(source.index) : undefined;
  if (own?.offset === offset && own.size === size) return null;
  const slot = s.mf.newSlot(size, 8, "incoming", offset);
  const aside = s.mf.newSlot(size, 16);
  if (kind === "stack") {
    push80(s, value);
    popToSlot(s, aside);
    return () => {
      s.load(X.Fld, 10, -1, s.slotMem(aside)).defs.length = 0;
      popToSlot(s, slot);
    };
  }
  copyMemory(s, s.reg(value), (at) => s.slotMem(aside, at), size);
  return () => copyMemory(s, s.slotAddress(aside, 0), (at) => s.slotMem(slot, at), size);
}
