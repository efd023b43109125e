/** Instruction selection for x86-64: what codegen/select asks of a target, each part in a file of its own. */

import { AskedConvention } from "../../codegen/asked-conventions.js";
import type { LegalFunction } from "../../codegen/legalize/index.js";
import { type MBlock, type MFunction, MInst, type VReg } from "../../codegen/mir.js";
import type { AbiArgument, ArgumentLayout } from "../../codegen/select/function-abi.js";
import type { LandingPadForm } from "../../codegen/select/function-selection.js";
import { selectFunction as selectForTarget } from "../../codegen/select/select-function.js";
import type { SwitchCode } from "../../codegen/select/switch.js";
import type { Convention, SelectOptions, Target } from "../../codegen/target.js";
import type { DataLayout } from "../../ir/data-layout.js";
import type { Block, CallInst, Inst } from "../../ir/instructions.js";
import type { Intrinsic } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";
import type { Constant, Value } from "../../ir/values.js";
import { askedConvention, defaultConvention, keptBeyond } from "../frame/convention.js";
import { loopBytes, probeSize } from "../frame/probes.js";
import { restrictRegisters } from "../isa/high-registers.js";
import { X } from "../isa/ops.js";
import { RAX, RDX, XMM0 } from "../isa/registers.js";
import { describePlaces, layoutArguments, resultPlaces } from "./abi.js";
import { branchOn, selectIndirectBranch } from "./branch.js";
import { selectCall, selectRet } from "./call.js";
import { isExpensive, materialize, sharedConstantKey, vectorKey } from "./constants.js";
import { selectEntry } from "./entry.js";
import { writesFramePointer } from "./inline-asm.js";
import { selectInst } from "./instructions.js";
import { selectIntrinsic } from "./intrinsics.js";
import { widenReferences } from "./large-code.js";
import { narrowLowHalves } from "./low-halves.js";
import { tailArguments, unsupportedConvention, unsupportedDefinition, unsupportedSaves } from "./refusals.js";
import { callRoutine } from "./runtime-calls.js";
import { Selector } from "./selector.js";
import { X64SwitchCode } from "./switch.js";
import { makeSaveArea } from "./var-args.js";
import { copySlot, storeToSlot } from "./x87.js";

/**
 * @param order the blocks that may be entered, in the order they should be laid out
 * @throws UnsupportedError naming the construct and the function.
 */
export function selectFunction(
  target: Target,
  legal: LegalFunction,
  order: readonly Block[],
  layout: DataLayout,
  goal: MFunction["goal"],
  options: SelectOptions,
): MFunction {
  const s = selectForTarget(target, legal, order, layout, goal, options, (input) => new X64Selection(input));
  if (options.codeModel === "large") widenReferences(s.mf, s.pic, s.thunkMark("calls"));
  if (s.optimize) narrowLowHalves(s.mf);
  restrictRegisters(s.mf);
  return s.mf;
}

class X64Selection extends Selector {
  // ── Values ──

  sharedConstantKey(value: Constant): string | null {
    return sharedConstantKey(value) ?? vectorKey(this.layout, value);
  }
  isExpensive(value: Constant): boolean {
    return isExpensive(value);
  }
  materialize(value: Constant): VReg {
    return materialize(this, value);
  }
  storeToSlot(slot: number, value: Value): void {
    storeToSlot(this, slot, value);
  }
  copySlot(to: number, from: number): void {
    copySlot(this, to, from);
  }

  // ── The convention ──

  askedConvention(convention: Convention, asked: number): Convention {
    // Who preserves vector registers preserves 16 bytes of each, and upper halves are zeroed on the way.
    if (this.vectorFeatures.avx && keptBeyond(asked).some((register) => register >= XMM0))
      this.unsupported("calls and functions that preserve vector registers (ms_abi, preserve_all), with AVX");
    return askedConvention(convention, asked);
  }
  mayLeaveBy({ data }: CallInst): boolean {
    const { fn } = this.mf;
    const own = fn.kind === "function" ? fn.callingConvention : 0;
    if (keptBeyond(own).length > 0) return false;
    // Its arguments are in registers that others restore before they leave.
    return data.callingConvention !== AskedConvention.PreserveNone || own === AskedConvention.PreserveNone;
  }
  layoutArguments(args: readonly AbiArgument[], convention: Convention, isVarArg: boolean): ArgumentLayout {
    return layoutArguments(this.layout, args, convention, isVarArg);
  }
  resultRegisters(types: readonly Type[]): number[] {
    return resultPlaces(types);
  }
  prepareConvention(legal: LegalFunction, layout: ArgumentLayout): void {
    const { fn, resultTypes } = legal;
    const refused =
      unsupportedConvention(fn.callingConvention, fn.attributes) ??
      unsupportedSaves(fn.attributes) ??
      unsupportedDefinition(fn, resultTypes) ??
      tailArguments(fn.callingConvention, layout.stackBytes);
    if (refused !== null) this.unsupported(refused);
    if (this.options.conventionOf(fn) !== defaultConvention)
      this.mf.remark = `convention: ${describePlaces(layout, resultPlaces(resultTypes))}`;
    this.keep(fn, resultPlaces(resultTypes));
    if (!fn.valueType.isVarArg) return;
    if (fn.callingConvention === AskedConvention.Microsoft) this.varArgs.home = legal.args.length;
    else makeSaveArea(this, legal, layout);
  }
  /** Values of registers that the convention preserves and the platform's does not: as they came, to the returns. */
  private keep(fn: Func, results: readonly number[]): void {
    for (const register of keptBeyond(fn.callingConvention))
      if (!results.includes(register))
        this.kept.set(register, register < XMM0 ? this.newGpr() : this.newXmm());
  }
  prepareFrame(): void {
    const { mf } = this;
    const probe = probeSize(mf);
    if (probe > 0 && mf.slots.reduce((sum, slot) => sum + slot.size, 0) >= loopBytes(probe))
      mf.needsFramePointer = true;
  }
  selectEntry(legal: LegalFunction, layout: ArgumentLayout): void {
    selectEntry(this, legal, layout);
  }
  writesFramePointer(constraints: string): boolean {
    return writesFramePointer(constraints);
  }
  /** System V ABI, AMD64, section 6.2. */
  readonly landingPad: LandingPadForm = { op: X.LandingPad, registers: [RAX, RDX] };

  // ── Instructions ──

  selectInst(inst: Inst): void {
    selectInst(this, inst);
  }
  selectCall(call: CallInst, block: MBlock): void {
    selectCall(this, call, block);
  }
  selectIntrinsic(call: CallInst, intrinsic: Intrinsic): void {
    selectIntrinsic(this, call, intrinsic);
  }
  callRoutine(name: string, values: readonly Value[], throws = false): void {
    callRoutine(this, name, values, throws);
  }
  selectReturn(ret: Inst): void {
    selectRet(this, ret);
  }
  branchOn(bit: Value, negate: boolean, yes: MBlock, no: MBlock): void {
    branchOn(this, bit, negate, yes, no);
  }
  selectIndirectBranch(inst: Inst, targets: readonly MBlock[]): void {
    selectIndirectBranch(this, inst, targets);
  }
  switchCode(value: VReg, type: Type): SwitchCode {
    return new X64SwitchCode(this, value, type);
  }
  trap(): MInst {
    return new MInst(X.Ud2, 8);
  }
}
