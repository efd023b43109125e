/** Calls and returns. */

import { AskedConvention } from "../../codegen/asked-conventions.js";
import { type MBlock, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { union } from "../../codegen/register-set.js";
import { abiArguments, callInfo, conventionOf, isChecked, refuseCall } from "../../codegen/select/calls.js";
import { endInvoke } from "../../codegen/select/exceptions.js";
import { type CallInst, callArguments, type Inst, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { givenAway } from "../frame/convention.js";
import { JumpMark, X } from "../isa/ops.js";
import { maskOf, R11, RAX } from "../isa/registers.js";
import { resultPlaces } from "./abi.js";
import { argumentRegister, markWide, passStackArguments, registerArguments } from "./arguments.js";
import { setTarget } from "./call-target.js";
import { selectInlineAsm } from "./inline-asm.js";
import { checkTarget } from "./kcfi.js";
import { microsoftResult, tailArguments, unsupportedConvention } from "./refusals.js";
import type { Selector } from "./selector.js";
import { selectTailCall } from "./tail-call.js";
import { addVarArgCount, doubleVarArgs } from "./var-args.js";
import { popToSlot, push80 } from "./x87.js";

export function selectCall(s: Selector, call: CallInst, block: MBlock): void {
  const callee = call.operands[0]!;
  if (callee.valueKind === "asm") return selectInlineAsm(s, call, callee, block);
  const { data } = call;
  const refused = unsupportedConvention(data.callingConvention, data.attributes) ?? calleeRefusal(call);
  if (refused !== null) return s.unsupported(refused);
  if (data.callingConvention === AskedConvention.Microsoft) {
    const { type } = call;
    const wide = microsoftResult(type.kind === "struct" ? type.elements : type.kind === "void" ? [] : [type]);
    if (wide !== null) return s.unsupported(wide);
  }
  if (data.callingConvention === AskedConvention.PreserveNone && data.functionType.isVarArg)
    return s.unsupported("a preserve_nonecc call with variable arguments");
  refuseCall(s, call);
  const values = callArguments(call);
  const args = abiArguments(call, values);
  const layout = s.layoutArguments(args, conventionOf(s, call), data.functionType.isVarArg);
  const onStack = tailArguments(data.callingConvention, layout.stackBytes);
  if (onStack !== null) return s.unsupported(onStack);
  if (call === s.abi.tailCall) return selectTailCall(s, call, values, args, layout);

  s.mf.hasCalls = true;
  const uses = registerArguments(s, values, args, layout);
  const machine = new MInst(callee.valueKind === "global" ? X.Call : X.CallIndirect, 8);
  const checked = isChecked(call);
  setTarget(s, machine, callee, layout.stackBytes === 0 && !checked);
  const pushed = passStackArguments(s, values, args, layout);
  if (data.callingConvention === AskedConvention.Microsoft) doubleVarArgs(s, call, layout, uses);
  else addVarArgCount(s, call, layout, uses);
  if (checked) checkTarget(s, call, machine);
  machine.uses.push(...uses);
  finishCall(s, call, machine, block, pushed);
}

/** A call may always save more than it has to, but not less. */
function calleeRefusal({ operands, data }: CallInst): string | null {
  const callee = operands[0]!;
  const declared = callee.valueKind === "global" && callee.kind === "function" ? callee.attributes : null;
  for (const attributes of [data.attributes, declared])
    if (attributes?.fn.string("no_callee_saved_registers") !== undefined) return "no_callee_saved_registers";
  return null;
}

/** Emits the call proper, its clean-up and the moves of its results. */
function finishCall(s: Selector, call: CallInst, machine: MInst, block: MBlock, pushed: number): void {
  const info = callInfo(s, call);
  machine.extra = info;
  machine.clobbers = s.options.clobbersOf(info.callee, info.calleeSet);
  machine.clobbers = union(machine.clobbers, givenAway(call.data.callingConvention));
  if (machine.marks !== 0) machine.clobbers = union(machine.clobbers, maskOf(R11));
  else if (machine.op === X.CallIndirect && call.data.attributes.fn.has("nocf_check"))
    machine.marks = JumpMark.NoTrack;
  if (call.data.tail === "notail") machine.marks |= JumpMark.Stays;
  const x87Results = defineResults(s, call, machine);
  markWide(s, machine);
  s.emit(machine);
  const afterwards = (): void => {
    if (pushed > 0 && !info.noReturn) {
      const cleanup = new MInst(X.CallCleanup, 8);
      cleanup.imm = pushed;
      s.emit(cleanup);
    }
    for (const slot of x87Results) popToSlot(s, slot);
  };
  if (call.op === Op.Invoke) endInvoke(s, call, block, afterwards);
  else afterwards();
}

/** Adds the result definitions; returns the slots of fp80 results, which the caller must pop after the call. */
function defineResults(s: Selector, call: CallInst, machine: MInst): number[] {
  const { type } = call;
  if (type.kind === "void") return [];
  const isStruct = type.kind === "struct";
  const types = isStruct ? type.elements : [type];
  const places = resultPlaces(types);
  const slots: number[] = [];
  types.forEach((t, i) => {
    if (t.kind === "x86_fp80") {
      slots.push(isStruct ? s.slots.ofPart(call, i) : s.slots.of(call));
      return;
    }
    const vreg = isStruct ? s.values.partOf(call, i) : s.resultOf(call);
    if (vreg >= 0) machine.defs.push(new RegOperand(vreg, maskOf(places[i]!)));
  });
  return slots;
}

export function selectRet(s: Selector, inst: Inst): void {
  const ret = new MInst(X.Ret, 8);
  const x87: Value[] = [];
  const places = resultPlaces(inst.operands.map((value) => value.type));
  inst.operands.forEach((value, i) => {
    if (value.type.kind === "x86_fp80") x87.push(value);
    else if (value.valueKind !== "undef")
      ret.uses.push(new RegOperand(returnRegister(s, value), maskOf(places[i]!)));
  });
  for (const [register, vreg] of s.kept) ret.uses.push(new RegOperand(vreg, maskOf(register)));
  const { resultPointer } = s.abi;
  if (resultPointer !== null && inst.operands.length === 0)
    ret.uses.push(new RegOperand(s.reg(resultPointer), maskOf(RAX)));
  // st0 must end on top: push in reverse.
  for (let i = x87.length - 1; i >= 0; i--) push80(s, x87[i]!);
  markWide(s, ret);
  s.emit(ret);
}

function returnRegister(s: Selector, value: Value): VReg {
  return argumentRegister(s, value, { type: value.type, attributes: s.abi.resultAttributes });
}
