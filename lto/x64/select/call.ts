/** Calls, returns, function entry and variable arguments. */

import type { LegalFunction } from "../../codegen/legalize/index.js";
import {
  type MBlock,
  type MemOperand,
  MInst,
  RegOperand,
  type SymbolRef,
  unlistedCall,
  type VReg,
} from "../../codegen/mir.js";
import { noRegisters, union } from "../../codegen/register-set.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { isLocalSymbol } from "../../codegen/select/symbols.js";
import { InputError } from "../../ir/errors.js";
import { type CallInst, callArguments, type Inst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { returnsTwice } from "../../ir/returns-twice.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { JumpMark, X } from "../isa/ops.js";
import { integerArguments, maskOf, R11, RAX, RSP, vectorArgumentCount, XMM0 } from "../isa/registers.js";
import { type AbiArgument, type ArgumentLayout, layoutArguments, resultPlaces } from "./abi.js";
import { address } from "./address.js";
import { endInvoke } from "./exceptions.js";
import { selectInlineAsm } from "./inline-asm.js";
import { extended } from "./integer.js";
import { checkTarget, isChecked } from "./kcfi.js";
import { unsupportedConvention } from "./refusals.js";
import type { Selector } from "./selector.js";
import { immediate, registerSource } from "./source.js";
import { fp80PartSlot, fp80Slot, popToSlot, push80 } from "./x87.js";

/** Offset of the vector registers in the register save area (ABI section 3.5.7). */
export const vectorSaves = integerArguments.length * 8;

// ── Function entry ──

/** Defines the registers and slots of the arguments; called last, at the head of the entry block. */
export function selectEntry(s: Selector, legal: LegalFunction, layout: ArgumentLayout): void {
  const entry = new MInst(X.Entry, 8);
  const after: (() => void)[] = [];
  legal.args.forEach(({ argument: arg }, i) => {
    const place = layout.places[i]!;
    const vreg = s.argVRegs[arg.index]!;
    if (place.kind === "register") {
      if (vreg >= 0) entry.defs.push(new RegOperand(vreg, maskOf(place.register)));
      return;
    }
    const slot = s.incomingSlots.get(place.offset) ?? s.mf.newSlot(place.size, 8, "incoming", place.offset);
    if (place.kind === "byval") {
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
  if (s.saveAreaSlot >= 0) saveVarArgs(s, entry, after);
  for (const [register, vreg] of s.forwarded) entry.defs.push(new RegOperand(vreg, maskOf(register)));
  s.emit(entry);
  for (const emit of after) emit();
}

/** Loads a stack argument. Its slot never changes, so the load can be repeated instead of spilling. */
function loadFrom(s: Selector, type: AbiArgument["type"], vreg: VReg, mem: MemOperand): void {
  let load: MInst;
  if (s.isGpr(type)) load = s.load(X.Mov, operationSize(s.layout, type) === 8 ? 8 : 4, vreg, mem);
  else {
    const size = s.layout.storeSize(type);
    const op = size === 4 || size === 2 ? X.Movss : size === 8 ? X.Movsd : X.Movups;
    load = s.load(op, Math.max(4, size), vreg, mem);
  }
  if (!s.hasMustTail) s.mf.vregs[vreg]!.remat = load;
}

/** Stores the argument registers that hold variable arguments into the register save area. */
function saveVarArgs(s: Selector, entry: MInst, after: (() => void)[]): void {
  const slot = s.saveAreaSlot;
  const at = (offset: number): MemOperand => s.slotMem(slot, offset - s.saveAreaStart);
  for (let i = s.vaGpr; i < s.vaGprEnd; i++) {
    const register = integerArguments[i]!;
    const vreg = s.forwarded.get(register) ?? s.newGpr();
    if (!s.forwarded.has(register)) entry.defs.push(new RegOperand(vreg, maskOf(register)));
    after.push(() => s.store(X.MovM, 8, at(i * 8), vreg));
  }
  // All vector registers, without testing al: the branch costs more bytes than it saves time.
  for (let i = s.vaXmm; i < s.vaXmmEnd; i++) {
    const vreg = s.forwarded.get(XMM0 + i) ?? s.newXmm();
    if (!s.forwarded.has(XMM0 + i)) entry.defs.push(new RegOperand(vreg, maskOf(XMM0 + i)));
    after.push(() => s.store(X.MovapsM, 16, at(vectorSaves + i * 16), vreg));
  }
}

/** va_start: fills the four fields of the va_list (ABI section 3.5.7). */
export function selectVaStart(s: Selector, list: Value): void {
  const field = (offset: number, size: number, imm: number): void => {
    const store = new MInst(X.MovM, size);
    store.imm = imm;
    store.mem = address(s, list, offset);
    s.emit(store);
  };
  field(0, 4, s.vaGpr * 8);
  field(4, 4, vectorSaves + s.vaXmm * 16);
  const overflow = s.newGpr();
  const incoming = new MInst(X.IncomingAddress, 8);
  incoming.defs = [new RegOperand(overflow)];
  incoming.imm = s.mf.incomingBytes;
  s.emit(incoming);
  s.store(X.MovM, 8, address(s, list, 8), overflow);
  // Where nobody passes anything in registers nothing is to be read there, but programs that read too much stay alive.
  const area = s.saveAreaSlot < 0 ? overflow : s.slotAddress(s.saveAreaSlot, -s.saveAreaStart);
  s.store(X.MovM, 8, address(s, list, 16), area);
}

export function selectVaCopy(s: Selector, to: Value, from: Value): void {
  const low = s.newXmm();
  s.load(X.Movups, 16, low, address(s, from));
  const high = s.newGpr();
  s.load(X.Mov, 8, high, address(s, from, 16));
  s.store(X.MovupsM, 16, address(s, to), low);
  s.store(X.MovM, 8, address(s, to, 16), high);
}

// ── Calls ──

/** The machine symbol of a direct call. */
function callSymbol(s: Selector, callee: Extract<Value, { valueKind: "global" }>): SymbolRef {
  return s.globalSymbol(callee, isLocalSymbol(s, callee) || !s.pic ? "direct" : "plt");
}

const abiArguments = (call: CallInst, values: readonly Value[]): AbiArgument[] =>
  values.map((v, i) => ({ type: v.type, attributes: call.data.attributes.parameter(i) }));

/** Where a call passes its arguments. */
function callLayout(s: Selector, call: CallInst, args: readonly AbiArgument[]): ArgumentLayout {
  const callee = call.operands[0]!;
  const convention = s.options.conventionOf(callee.valueKind === "global" ? callee : null);
  return layoutArguments(s.layout, args, convention);
}

export function selectCall(s: Selector, call: CallInst, block: MBlock): void {
  const callee = call.operands[0]!;
  if (callee.valueKind === "asm") return selectInlineAsm(s, call, callee, block);
  const { data } = call;
  const refused = unsupportedConvention(data.callingConvention, data.attributes) ?? calleeRefusal(call);
  if (refused !== null) return s.unsupported(refused);
  refuseForbidden(s, callee);
  for (const bundle of data.bundles)
    if (bundle.tag !== "clang.arc.attachedcall" && bundle.tag !== "kcfi" && bundle.tag !== "align")
      if (
        bundle.tag === "funclet" ||
        bundle.tag === "deopt" ||
        bundle.tag === "gc-transition" ||
        bundle.tag === "ptrauth"
      )
        s.unsupported(`operand bundle '${bundle.tag}'`);
  const values = callArguments(call);
  const args = abiArguments(call, values);
  const layout = callLayout(s, call, args);
  if (call === s.tailCall) return selectTailCall(s, call, values, args, layout);

  s.mf.hasCalls = true;
  const uses = registerArguments(s, values, args, layout);
  const machine = new MInst(callee.valueKind === "global" ? X.Call : X.CallIndirect, 8);
  const checked = isChecked(call);
  setTarget(s, machine, callee, layout.stackBytes === 0 && !checked);
  passStackArguments(s, values, args, layout);
  addVarArgCount(s, call, layout, uses);
  if (checked) checkTarget(s, call, machine);
  machine.uses.push(...uses);
  finishCall(s, call, machine, block, layout.stackBytes);
}

/** A function whose author wants no call of it to remain, or to be told (attributes `error` and `warning` of C). */
function refuseForbidden({ mf, options }: Selector, callee: Value): void {
  if (callee.valueKind !== "global" || callee.kind !== "function") return;
  const { name, attributes } = callee;
  const warning = attributes.fn.string("dontcall-warn");
  if (warning !== undefined)
    options.warn?.(`function '${mf.name}' calls '${name}', declared with attribute warning: ${warning}`);
  const text = attributes.fn.string("dontcall-error");
  if (text === undefined) return;
  throw new InputError(`function '${mf.name}' calls '${name}', declared with attribute error: ${text}`);
}

/** A call may always save more than it has to, but not less. */
function calleeRefusal({ operands, data }: CallInst): string | null {
  const callee = operands[0]!;
  const declared = callee.valueKind === "global" && callee.kind === "function" ? callee.attributes : null;
  for (const attributes of [data.attributes, declared])
    if (attributes?.fn.string("no_callee_saved_registers") !== undefined) return "no_callee_saved_registers";
  return null;
}

function setTarget(s: Selector, machine: MInst, callee: Value, foldLoads: boolean): void {
  if (callee.valueKind === "global") {
    machine.symbol = callSymbol(s, callee);
    return;
  }
  const mark = s.thunkMark("calls");
  if (mark !== 0) {
    machine.marks = mark;
    machine.uses.push(new RegOperand(s.reg(callee), maskOf(R11)));
    return;
  }
  const inst = s.resolve(callee);
  if (foldLoads && inst.valueKind === "inst" && inst.op === Op.Load && s.foldsAsTarget(inst)) {
    machine.mem = address(s, inst.operands[0]!);
    return;
  }
  machine.uses.push(foldLoads ? registerSource(s, callee, 8) : s.use(callee));
}

/** Evaluates register arguments; the operands are fixed to their registers. */
function registerArguments(
  s: Selector,
  values: readonly Value[],
  args: readonly AbiArgument[],
  layout: ArgumentLayout,
): RegOperand[] {
  const uses: RegOperand[] = [];
  values.forEach((value, i) => {
    const place = layout.places[i]!;
    if (place.kind !== "register" || value.valueKind === "undef") return;
    uses.push(new RegOperand(argumentRegister(s, value, args[i]!), maskOf(place.register)));
  });
  return uses;
}

/** Of a narrow integer, whose bits up to 32 are what the ABI attribute demands; null where it demands nothing. */
function extensionOf({ type, attributes }: AbiArgument): "signext" | "zeroext" | null {
  if (type.kind !== "int" || type.bits >= 32) return null;
  return attributes.has("signext") ? "signext" : attributes.has("zeroext") ? "zeroext" : null;
}

/**
 * A constant argument as an immediate of its place, on the stack as in a register; null when it is none (sign-extended
 * 32 bits).
 */
function argumentImmediate(s: Selector, value: Value, argument: AbiArgument): number | null {
  if (!s.isGpr(value.type)) return null;
  const imm = immediate(s, value, operationSize(s.layout, value.type));
  const extension = extensionOf(argument);
  if (imm === null || extension === null) return imm;
  const { bits } = argument.type;
  return Number(
    extension === "signext" ? BigInt.asIntN(bits, BigInt(imm)) : BigInt.asUintN(bits, BigInt(imm)),
  );
}

/** The value in a register, extended to 32 bits where the ABI attribute demands it. */
function argumentRegister(s: Selector, value: Value, argument: AbiArgument): VReg {
  const { type } = argument;
  const extension = extensionOf(argument);
  if (extension === null) return s.reg(value);
  const signed = extension === "signext";
  const imm = argumentImmediate(s, value, argument);
  if (imm !== null) {
    const constant = s.newGpr(4);
    s.moveImm(constant, 4, imm);
    return constant;
  }
  if (type.bits === 1) {
    const wide = s.newGpr(4);
    if (s.isBoolean(value)) s.unary(X.Movzx8, 4, wide, s.reg(value));
    else s.binaryImm(X.And, 4, wide, s.reg(value), 1);
    if (!signed) return wide;
    const negated = s.newGpr(4);
    s.tiedUnary(X.Neg, 4, negated, wide);
    return negated;
  }
  if (!signed && s.isZeroExtended(value)) return s.reg(value);
  return extended(s, value, type.bits / 8, signed);
}

/** Pushes stack arguments, last first; byval copies and wide values go to room made beforehand. */
function passStackArguments(
  s: Selector,
  values: readonly Value[],
  args: readonly AbiArgument[],
  layout: ArgumentLayout,
): void {
  const total = layout.stackBytes;
  if (total === 0) return;
  const setup = new MInst(X.CallSetup, 8);
  const unit = Math.max(layout.align, 16);
  setup.imm = layout.align > 8 ? Math.ceil(total / unit) * unit : total;
  // The argument area starts at the stack pointer: a slot of its alignment makes the frame realign that.
  if (layout.align > 16) s.mf.newSlot(layout.align, layout.align);
  // Pushing works where eight-byte values fill the area without gaps.
  const words = layout.places.filter((p) => p.kind === "stack" && p.size === 8).length;
  if (words * 8 === setup.imm) {
    const onStack = layout.places
      .map((place, i) => ({ place, i }))
      .filter(({ place }) => place.kind === "stack");
    const operands = onStack.map(({ i }) => pushOperand(s, values[i]!, args[i]!));
    s.emit(setup);
    for (let k = onStack.length - 1; k >= 0; k--) s.emit(operands[k]!);
    return;
  }
  // Registers first: nothing may be computed with pushes between (the addresses are relative to rsp).
  const stores: (() => void)[] = [];
  layout.places.forEach((place, i) => {
    const value = values[i]!;
    if (place.kind === "register") return;
    if (place.kind === "byval") stores.push(byvalCopy(s, value, place.offset, place.size));
    else if (value.type.kind === "x86_fp80")
      stores.push(() => {
        push80(s, value);
        const store = new MInst(X.FstpM, 10);
        store.mem = outgoing(place.offset);
        s.emit(store);
      });
    else if (value.valueKind !== "undef") {
      const imm = argumentImmediate(s, value, args[i]!);
      const vreg = imm === null ? argumentRegister(s, value, args[i]!) : -1;
      stores.push(() => {
        if (imm !== null) {
          const store = new MInst(X.MovM, 8);
          store.imm = imm;
          store.mem = outgoing(place.offset);
          s.emit(store);
        } else if (s.isGpr(value.type)) s.store(X.MovM, 8, outgoing(place.offset), vreg);
        else {
          const size = s.mf.vregs[vreg]!.size;
          const op = size === 4 ? X.MovssM : size === 8 ? X.MovsdM : X.MovupsM;
          s.store(op, size, outgoing(place.offset), vreg);
        }
      });
    }
  });
  s.emit(setup);
  const alloc = new MInst(X.StackAlloc, 8);
  alloc.imm = setup.imm;
  s.emit(alloc);
  for (const store of stores) store();
}

const outgoing = (offset: number): MemOperand => memory(RegOperand.physical(RSP), null, 1, offset);

function byvalCopy(s: Selector, pointer: Value, offset: number, size: number): () => void {
  const from = s.reg(pointer);
  return () => copyMemory(s, from, (at) => outgoing(offset + at), size);
}

/** Copies an argument from an address to a place: through registers when short, else by rep movs. */
function copyMemory(s: Selector, from: VReg, place: (at: number) => MemOperand, size: number): void {
  if (size <= 64) {
    let at = 0;
    for (const width of [16, 8, 4, 2, 1])
      while (size - at >= width) {
        const source = memory(new RegOperand(from), null, 1, at);
        if (width === 16) {
          const vreg = s.newXmm();
          s.load(X.Movups, 16, vreg, source);
          s.store(X.MovupsM, 16, place(at), vreg);
        } else {
          const vreg = s.newGpr(width);
          s.load(width >= 4 ? X.Mov : width === 2 ? X.Movzx16 : X.Movzx8, Math.max(width, 4), vreg, source);
          s.store(X.MovM, width, place(at), vreg);
        }
        at += width;
      }
    return;
  }
  const to = s.newGpr();
  s.load(X.Lea, 8, to, place(0));
  const count = s.newGpr(4);
  const words = size % 8 === 0;
  s.moveImm(count, 4, words ? size / 8 : size);
  const copy = new MInst(X.RepMovs, words ? 8 : 1);
  const registers = [7, 6, 1];
  [to, from, count].forEach((vreg, i) => {
    copy.uses.push(new RegOperand(vreg, maskOf(registers[i]!)));
    copy.defs.push(new RegOperand(s.newGpr(), maskOf(registers[i]!), false, i));
  });
  s.emit(copy);
}

function pushOperand(s: Selector, value: Value, arg: AbiArgument): MInst {
  const push = new MInst(X.Push, 8);
  if (s.isGpr(value.type)) {
    const imm = argumentImmediate(s, value, arg);
    if (imm !== null) push.imm = imm;
    else
      push.uses.push(
        new RegOperand(argumentRegister(s, value, arg), noRegisters, s.mf.vregs[s.reg(value)]!.size === 8),
      );
    return push;
  }
  // A float or double: its bits through a general register.
  const size = s.mf.vregs[s.reg(value)]!.size;
  const word = s.newGpr();
  s.unary(size === 8 ? X.MovqFrom : X.MovdFrom, size === 8 ? 8 : 4, word, s.reg(value));
  push.uses.push(new RegOperand(word));
  return push;
}

/**
 * al holds an upper bound of the vector registers used, for callees that take variable arguments. Our own prologues do
 * not read it.
 */
function addVarArgCount(s: Selector, call: CallInst, layout: ArgumentLayout, uses: RegOperand[]): void {
  if (!call.data.functionType.isVarArg) return;
  const callee = call.operands[0]!;
  const known = callee.valueKind === "global" ? callee : null;
  if (!s.options.passedTo(known, call.data.calleeSet ?? -1).readsCount) return;
  const count = s.newGpr(4);
  s.moveImm(count, 4, layout.xmmCount);
  uses.push(new RegOperand(count, maskOf(RAX)));
}

/** Emits the call proper, its clean-up and the moves of its results. */
function finishCall(s: Selector, call: CallInst, machine: MInst, block: MBlock, stackBytes: number): void {
  const callee = call.operands[0]!;
  const known = callee.valueKind === "global" ? callee : null;
  const attributes = call.data.attributes.fn;
  const calleeAttributes = known?.kind === "function" ? known.attributes.fn : null;
  const noReturn = attributes.has("noreturn") || (calleeAttributes?.has("noreturn") ?? false);
  const calleeSet = call.data.calleeSet ?? (known === null ? unlistedCall : -1);
  machine.clobbers = s.options.clobbersOf(known, calleeSet);
  if (machine.marks !== 0) machine.clobbers = union(machine.clobbers, maskOf(R11));
  else if (machine.op === X.CallIndirect && attributes.has("nocf_check")) machine.marks = JumpMark.NoTrack;
  machine.extra = {
    kind: "call",
    callee: known,
    calleeSet,
    noReturn,
    returnsTwice: returnsTwice(call),
    unwind: call.op === Op.Invoke ? s.heads[call.blocks[1]!.id]! : null,
    // What leaves a function that says it never unwinds is undefined.
    noUnwind: s.nounwind || attributes.has("nounwind") || (calleeAttributes?.has("nounwind") ?? false),
    pushed: 0,
  };
  const x87Results = defineResults(s, call, machine);
  s.emit(machine);
  const wide = stackBytes > 0 ? s.buffer.findLast((m) => m.op === X.CallSetup)!.imm : null;
  const afterwards = (): void => {
    if (wide !== null && !noReturn) {
      const cleanup = new MInst(X.CallCleanup, 8);
      cleanup.imm = wide;
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
      slots.push(isStruct ? fp80PartSlot(s, call, i) : fp80Slot(s, call));
      return;
    }
    const vreg = isStruct ? s.partOf(call, i) : s.resultOf(call);
    if (vreg >= 0) machine.defs.push(new RegOperand(vreg, maskOf(places[i]!)));
  });
  return slots;
}

// ── Tail calls ──

/**
 * The call that `ret` returns the results of, if it can leave this function's frame behind: nothing but the
 * extraction of its results may lie between, and nobody may come back into the frame. A `musttail` call that cannot is
 * an error.
 */
export function findTailCall(s: Selector, ret: Inst): CallInst | null {
  const insts = ret.parent!.insts;
  let i = insts.length - 2;
  while (i >= 0 && insts[i]!.op === Op.ExtractValue) i--;
  const call = insts[i];
  if (call === undefined || call.op !== Op.Call || call.data.tail === "" || call.data.tail === "notail")
    return null;
  const callee = call.operands[0]!;
  if (callee.valueKind === "asm" || intrinsicOf(callee) !== null) return null;
  const must = call.data.tail === "musttail";
  if (!must && (!s.optimize || s.noTailCalls || s.usesSret || s.mf.returnsTwice)) return null;
  if (!must && !returnsExactly(s, call, ret)) return null;
  const layout = callLayout(s, call, abiArguments(call, callArguments(call)));
  if (layout.stackBytes > 0) {
    if (!must) return null;
    if (layout.stackBytes > s.mf.incomingBytes)
      s.unsupported("musttail call with more stack arguments than the caller");
  }
  return call;
}

/** The instruction after the call returns just its result. */
function returnsExactly(s: Selector, call: CallInst, next: Inst): boolean {
  if (next.op !== Op.Ret) return false;
  // What nobody takes off the x87 stack would stay there.
  if (next.operands.length === 0) return !hasX87(call.type);
  // Narrow results must already be extended the way our own callers expect.
  if (s.resultExtension !== resultExtension(call)) return false;
  return next.operands.every((operand, i) => {
    const inst = s.resolve(operand);
    if (inst === call) return next.operands.length === 1 && call.type === operand.type;
    return (
      inst.valueKind === "inst" &&
      inst.op === Op.ExtractValue &&
      inst.operands[0] === call &&
      inst.data[0] === i &&
      call.type.elements.length === next.operands.length
    );
  });
}

const hasX87 = ({ kind, elements, element }: Type): boolean =>
  kind === "x86_fp80" ||
  (kind === "struct" && elements.some(hasX87)) ||
  (kind === "array" && hasX87(element));

const resultExtension = (call: CallInst): string => {
  const { result } = call.data.attributes;
  return result.has("zeroext") ? "z" : result.has("signext") ? "s" : "";
};

function selectTailCall(
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
    machine.uses.push(new RegOperand(s.reg(callee), mark !== 0 ? maskOf(R11) : tailTargetMask));
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
    const op = s.isGpr(value.type) ? X.MovM : place.size === 16 ? X.MovupsM : X.MovsdM;
    stores.push(() => s.store(op, place.size, s.slotMem(slot), vreg));
  });
  for (const store of stores) store();
  if (s.mf.fn.valueType.isVarArg && call.data.tail === "musttail") forwardVarArgs(s, uses);
  else addVarArgCount(s, call, layout, uses);
  if (isChecked(call)) checkTarget(s, call, machine);
  machine.uses.push(...uses);
  const known = callee.valueKind === "global" ? callee : null;
  const calleeSet = call.data.calleeSet ?? (known === null ? unlistedCall : -1);
  machine.clobbers = s.options.clobbersOf(known, calleeSet);
  machine.extra = {
    kind: "call",
    callee: known,
    calleeSet,
    // What it calls comes back, to the caller of this function.
    noReturn: false,
    returnsTwice: false,
    unwind: null,
    noUnwind: false,
    pushed: 0,
  };
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
  const own = source.valueKind === "argument" ? s.wholeArguments.get(source.index) : undefined;
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

/** Hands the variable arguments on as they came. Those on the stack are where they have to be. */
function forwardVarArgs(s: Selector, uses: RegOperand[]): void {
  if (s.forwarded.size === 0) {
    s.forwarded.set(RAX, s.newGpr(4));
    for (let i = s.vaGpr; i < integerArguments.length; i++) s.forwarded.set(integerArguments[i]!, s.newGpr());
    for (let i = s.vaXmm; i < vectorArgumentCount; i++) s.forwarded.set(XMM0 + i, s.newXmm());
  }
  for (const [register, vreg] of s.forwarded) uses.push(new RegOperand(vreg, maskOf(register)));
}

/** Caller-saved registers that carry no argument: rax (unless variadic), r10, r11. */
export const tailTargetMask = maskOf(RAX, 10, 11);

// ── Returns ──

export function selectRet(s: Selector, inst: Inst): void {
  const ret = new MInst(X.Ret, 8);
  const x87: Value[] = [];
  const places = resultPlaces(inst.operands.map((value) => value.type));
  inst.operands.forEach((value, i) => {
    if (value.type.kind === "x86_fp80") x87.push(value);
    else if (value.valueKind !== "undef")
      ret.uses.push(new RegOperand(returnRegister(s, value), maskOf(places[i]!)));
  });
  if (s.usesSret && inst.operands.length === 0) {
    ret.uses.push(new RegOperand(s.reg(s.sretArgument!), maskOf(RAX)));
  }
  // st0 must end on top: push in reverse.
  for (let i = x87.length - 1; i >= 0; i--) push80(s, x87[i]!);
  s.emit(ret);
}

function returnRegister(s: Selector, value: Value): VReg {
  if (value.type.kind !== "int" || value.type.bits >= 32 || s.resultExtension === "") return s.reg(value);
  return argumentRegister(s, value, { type: value.type, attributes: s.resultAttributes });
}
