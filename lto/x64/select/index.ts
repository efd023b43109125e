/**
 * Instruction selection: a legal IR function to machine SSA.
 *
 * The lowering passes have prepared control flow and addresses. Order of work: uses are counted and memory epochs numbered; blocks
 * are lowered in reverse of reverse postorder, each from its terminator upwards; the entry's arguments come
 * last, when it is known which of them are wanted.
 */

import { estimatedFrequencies } from "../../analysis/branch-probability.js";
import { loopNest } from "../../analysis/loop-nest.js";
import { isProfiled } from "../../analysis/profile.js";
import type { LegalFunction } from "../../codegen/legalize/index.js";
import { type MBlock, MFunction, MInst, RegOperand, type UnwindTables } from "../../codegen/mir.js";
import { withRegister } from "../../codegen/register-set.js";
import { dropUnreachableBlocks } from "../../codegen/select/unreachable.js";
import type { SelectOptions, Target } from "../../codegen/target.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { UnsupportedError } from "../../ir/errors.js";
import { type Block, type Inst, isCall, isPlainAccess, Op, opNames } from "../../ir/instructions.js";
import { intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import { returnsTwice } from "../../ir/returns-twice.js";
import { i64 } from "../../ir/types.js";
import { type ConstInt, constInt, type Value } from "../../ir/values.js";
import { defaultConvention } from "../frame/convention.js";
import { loopBytes, probeSize } from "../frame/probes.js";
import { X } from "../isa/ops.js";
import { integerArguments, vectorArgumentCount } from "../isa/registers.js";
import { type ArgumentLayout, describePlaces, layoutArguments, resultPlaces } from "./abi.js";
import { selectGep } from "./address.js";
import * as atomics from "./atomics.js";
import { incomingSlot, selectBr, selectCondBr, selectFp80Phi, selectIndirectBr } from "./branch.js";
import { findTailCall, selectCall, selectEntry, selectRet, vectorSaves } from "./call.js";
import { selectCompareResult } from "./condition.js";
import { sharedConstantKey } from "./constants.js";
import { numberTypes, placeReturns, selectLandingPad, selectResume } from "./exceptions.js";
import * as float from "./float.js";
import { writesFramePointer } from "./inline-asm.js";
import { selectBinary, selectExtension, selectTrunc } from "./integer.js";
import { intrinsicHasEffect, intrinsicWritesMemory, selectIntrinsic } from "./intrinsics.js";
import { widenReferences } from "./large-code.js";
import { selectLoad, selectStore } from "./memory.js";
import { unsupportedConvention, unsupportedSaves } from "./refusals.js";
import { selectSelect } from "./select.js";
import { Selector } from "./selector.js";
import { slotRank } from "./stack-guard.js";
import { selectSwitch } from "./switch.js";
import { selectVectorBinary } from "./vector.js";
import { fp80Slot } from "./x87.js";

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
  const { fn, body } = legal;
  const mf = new MFunction(fn, fn.name, goal, target);
  if (fn.kind === "function" && fn.personality !== null) numberTypes(mf, body);
  const count = body.renumber();
  const successors = body.blocks.map((b) => b.successors.map((next) => next.id));
  const nest = loopNest(successors, [0, ...body.blocks.filter((b) => b.addressTaken).map((b) => b.id)]);
  const features = new Set(
    (fn.attributes.fn.string("target-features") ?? "")
      .split(",")
      .filter((f) => f.startsWith("+"))
      .map((f) => f.slice(1)),
  );
  const s = new Selector(mf, layout, options, body.blocks, count, argumentCount(legal), nest, features);
  const args = layoutArguments(
    layout,
    legal.args.map(({ argument: arg, attributes }) => ({ type: arg.type, attributes })),
    options.conventionOf(fn),
  );
  makeBlocks(s, order, nest.depth);
  // For size, what authors expect is no reason for longer code.
  mf.profiled = goal !== "none" && isProfiled(fn, body.blocks);
  if (goal === "speed" || mf.profiled) {
    const frequencies = estimatedFrequencies(body.blocks, successors, nest);
    for (const block of order) s.heads[block.id]!.frequency = frequencies[block.id]!;
  }
  setUpFunction(s, legal, args);
  countUses(s, order);
  const probe = probeSize(mf);
  if (probe > 0 && mf.slots.reduce((sum, slot) => sum + slot.size, 0) >= loopBytes(probe))
    mf.needsFramePointer = true;
  makeParameters(s, order);
  const rank = new Int32Array(body.blocks.length).fill(-1);
  nest.reversePostOrder.forEach((b, i) => {
    rank[b] = i;
  });
  const sequence = [...order].sort((a, b) => rank[b.id]! - rank[a.id]!);
  const extra = new Map<MBlock, MBlock[]>();
  for (const block of sequence) {
    const head = s.heads[block.id]!;
    extra.set(
      head,
      selectBlock(s, block, head, block === body.blocks[0] ? () => selectEntry(s, legal, args) : null),
    );
  }
  placeReturns(s);
  mf.blocks = order.flatMap((block) => [s.heads[block.id]!, ...(extra.get(s.heads[block.id]!) ?? [])]);
  dropUnreachableBlocks(mf, () => new MInst(X.Ud2, 8));
  if (options.codeModel === "large") widenReferences(mf, s.pic, s.thunkMark("calls"));
  return mf;
}

/** Arguments keep the index of the `Argument` object, which after legalisation may exceed their position. */
function argumentCount(legal: LegalFunction): number {
  return legal.args.reduce((n, { argument: arg }) => Math.max(n, arg.index + 1), 0);
}

function makeBlocks(s: Selector, order: readonly Block[], depth: Int32Array): void {
  const exceptional = exceptionalBlocks(order);
  for (const block of order) {
    const head = s.mf.newBlock();
    const cold = block.terminator.op === Op.Unreachable || exceptional?.has(block) === true;
    head.frequency = 8 ** Math.min(depth[block.id]!, 6) * (cold ? 1 / 64 : 1);
    head.addressTaken = block.addressTaken;
    head.label = block.label;
    s.heads[block.id] = head;
  }
}

/** Blocks that only exceptions lead to; null if there are none. */
function exceptionalBlocks(order: readonly Block[]): Set<Block> | null {
  if (!order.some((block) => block.terminator.op === Op.Invoke)) return null;
  const rest = new Set(order);
  const work = order.filter((block, i) => i === 0 || block.addressTaken);
  for (const block of work) rest.delete(block);
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    const { terminator } = block;
    for (const next of terminator.op === Op.Invoke ? [terminator.blocks[0]!] : block.successors)
      if (rest.delete(next)) work.push(next);
  }
  return rest;
}

/** Asked for, or needed since exceptions pass. The attribute's value is 1 for tables that are exact at calls alone. */
function unwindTables({ attributes: { fn: attributes }, personality }: Func): UnwindTables {
  if (attributes.has("uwtable")) return attributes.int("uwtable") === 1 ? "sync" : "async";
  return attributes.has("nounwind") && personality === null ? "none" : "sync";
}

/** @param which functions are to have one: "all", "non-leaf" (and variants), "reserved", "none" */
function wantsFramePointer(which: string | undefined, { body }: LegalFunction): boolean {
  // Where it is only not to hold anything else, a frame of its own does no harm.
  if (which === "all" || which === "reserved") return true;
  if (which?.startsWith("non-leaf") !== true) return false;
  const calls = (inst: Inst): boolean => {
    if (!isCall(inst)) return false;
    const callee = inst.operands[0]!;
    return callee.valueKind !== "asm" && intrinsicOf(callee) === null;
  };
  return body.blocks.some((block) => block.insts.some(calls));
}

function setUpFunction(s: Selector, legal: LegalFunction, args: ArgumentLayout): void {
  const { fn } = legal;
  const attributes = fn.attributes.fn;
  const refused =
    unsupportedConvention(fn.callingConvention, fn.attributes) ?? unsupportedSaves(fn.attributes);
  if (refused !== null) s.unsupported(refused);
  s.mf.incomingBytes = args.stackBytes;
  const results = resultPlaces(legal.resultTypes);
  for (const register of results)
    if (register >= 0) s.mf.resultRegisters = withRegister(s.mf.resultRegisters, register);
  if (s.options.conventionOf(fn) !== defaultConvention)
    s.mf.remark = `convention: ${describePlaces(args, results)}`;
  s.mf.unwind = unwindTables(fn);
  s.mf.noRedZone = attributes.has("noredzone");
  if (wantsFramePointer(attributes.string("frame-pointer"), legal)) s.mf.needsFramePointer = true;
  s.nounwind = attributes.has("nounwind") && fn.personality === null;
  s.mf.realignStack = attributes.string("stackrealign") !== undefined;
  // What a tail call would enter has no alignment but that of the caller.
  s.noTailCalls = attributes.string("disable-tail-calls") === "true" || s.mf.realignStack;
  s.usesSret = legal.args.some(({ attributes: a }) => a.type("sret") !== undefined);
  s.sretArgument = legal.args.find(({ attributes: a }) => a.type("sret") !== undefined)?.argument ?? null;
  const { result } = fn.attributes;
  s.resultExtension = result.has("zeroext") ? "z" : result.has("signext") ? "s" : "";
  s.resultAttributes = result;
  for (const { argument: arg, attributes: a } of legal.args)
    if (arg.type.kind === "int" && arg.type.bits >= 8 && arg.type.bits < 32 && a.has("zeroext"))
      s.extendedArgs[arg.index] = 1;
  legal.args.forEach(({ argument: arg }, i) => {
    const place = args.places[i]!;
    if (place.kind === "register") return;
    const slot = s.mf.newSlot(place.size, 8, "incoming", place.offset);
    s.incomingSlots.set(place.offset, slot);
    if (arg.type.kind === "x86_fp80") s.argSlots[arg.index] = slot;
    if (arg.type.kind === "x86_fp80" || place.kind === "byval") s.wholeArguments.set(arg.index, place);
  });
  if (fn.valueType.isVarArg) {
    s.vaGpr = args.gprCount;
    s.vaXmm = args.xmmCount;
    makeSaveArea(s, legal);
  }
}

/** Room for the argument registers that callers pass variable arguments in: a part of the platform's save area. */
function makeSaveArea(s: Selector, legal: LegalFunction): void {
  const { integers, vectors } = s.options.passedTo(legal.fn, -1);
  s.vaGprEnd = Math.max(s.vaGpr, Math.min(integers, integerArguments.length));
  s.vaXmmEnd = Math.max(s.vaXmm, Math.min(vectors, vectorArgumentCount));
  const onlyWords = s.vaXmmEnd === s.vaXmm;
  s.saveAreaStart = s.vaGpr === s.vaGprEnd ? vectorSaves + s.vaXmm * 16 : s.vaGpr * 8;
  if (!onlyWords) s.saveAreaStart &= ~15;
  const end = onlyWords ? s.vaGprEnd * 8 : vectorSaves + s.vaXmmEnd * 16;
  if (end > s.saveAreaStart && usesVarArgs(legal))
    s.saveAreaSlot = s.mf.newSlot(end - s.saveAreaStart, onlyWords ? 8 : 16);
}

function usesVarArgs(legal: LegalFunction): boolean {
  for (const block of legal.body.blocks)
    for (const inst of block.insts) {
      if (inst.op !== Op.Call) continue;
      if (intrinsicOf(inst.operands[0]!) === intrinsics.va_start) return true;
    }
  return false;
}

/** Use counts, memory epochs, static allocas. */
function countUses(s: Selector, order: readonly Block[]): void {
  let epoch = 0;
  let wide: Set<string> | null = null;
  const offsets: Inst[] | null = s.mf.goal === "speed" ? [] : null;
  for (const block of order) {
    epoch++;
    wide = null;
    for (const inst of block.insts) {
      s.epochs[inst.id] = epoch;
      if (writesMemory(inst)) epoch++;
      const { op, operands } = inst;
      for (let i = 0; i < operands.length; i++) {
        const operand = operands[i]!;
        if (operand.valueKind === "int" && s.optimize && isWide(operand)) {
          const key = sharedConstantKey(operand)!;
          if (wide === null) wide = new Set();
          if (!wide.has(key)) s.wideUses.set(key, (s.wideUses.get(key) ?? 0) + 1);
          wide.add(key);
        }
        if (operand.valueKind !== "inst") continue;
        s.uses[operand.id]!++;
        const isAddress = (op === Op.Load && i === 0) || (op === Op.Store && i === 1);
        if (isAddress) continue;
        if (offsets !== null && i === 0 && isOffset(inst)) offsets.push(inst);
        else s.addressOnly[operand.id] = 0;
      }
      if (op === Op.Alloca) allocateSlot(s, inst, block === order[0]);
      if (op === Op.Call && inst.data.tail === "musttail") s.hasMustTail = true;
      if (returnsTwice(inst)) s.mf.returnsTwice = true;
      if (isCall(inst) && operands[0]!.valueKind === "asm" && writesFramePointer(operands[0]!.constraints))
        s.mf.needsFramePointer = false; // A frame pointer that is merely asked for gives way.
    }
  }
  if (offsets === null) return;
  // What is only the base of such addresses is only for access if they are. Those are behind it mostly.
  for (let k = offsets.length - 1; k >= 0; k--) {
    const base = offsets[k]!.operands[0] as Inst;
    if (s.addressOnly[offsets[k]!.id] === 0) s.addressOnly[base.id] = 0;
  }
}

/** An address at a constant distance from another one: part of each access that goes by it. */
const isOffset = ({ op, operands }: Inst): boolean => {
  if (op !== Op.GetElementPtr) return false;
  for (let i = 1; i < operands.length; i++) if (operands[i]!.valueKind !== "int") return false;
  return true;
};

/** Takes a move of 10 bytes. */
const isWide = ({ num, type }: ConstInt): boolean =>
  !(num >= -0x80000000 && num <= 0xffffffff) && type.bits <= 64;

function writesMemory(inst: Inst): boolean {
  switch (inst.op) {
    case Op.Store:
    case Op.Fence:
    case Op.CmpXchg:
    case Op.AtomicRMW:
    case Op.Invoke:
    case Op.CallBr:
    case Op.VAArg:
      return true;
    case Op.Load:
      // Nothing may move across a volatile or ordered load either.
      return !isPlainAccess(inst);
    case Op.Call: {
      const intrinsic = intrinsicOf(inst.operands[0]!);
      return intrinsic === null || intrinsicWritesMemory(intrinsic);
    }
    default:
      return false;
  }
}

function allocateSlot(s: Selector, inst: Extract<Inst, { op: Op.Alloca }>, inEntry: boolean): void {
  const count = inst.operands[0]!;
  if (!inEntry || count.valueKind !== "int" || inst.data.inalloca) {
    if (inst.data.inalloca) s.unsupported("inalloca");
    s.mf.hasDynamicAlloca = true;
    return;
  }
  const size = s.layout.allocSize(inst.data.allocatedType) * Number(count.value);
  if (!(size < 0x7fff0000)) s.unsupported("stack object larger than 2 GiB");
  const slot = s.mf.newSlot(Math.max(size, 1), Math.max(1, inst.data.align));
  s.slots[inst.id] = slot;
  s.mf.slots[slot]!.rank = slotRank(s, inst);
}

/** Block parameters for the phis that registers can hold. */
function makeParameters(s: Selector, order: readonly Block[]): void {
  for (const block of order) {
    const head = s.heads[block.id]!;
    for (const phi of block.insts) {
      if (phi.op !== Op.Phi) break;
      if (phi.operands.length === 1 || s.uses[phi.id] === 0) continue;
      if (phi.type.kind === "x86_fp80") {
        fp80Slot(s, phi);
        incomingSlot(s, phi);
        continue;
      }
      head.params.push(new RegOperand(s.resultReg(phi)));
    }
  }
}

/** Lowers a block from its end. @returns machine blocks that follow its head */
function selectBlock(s: Selector, block: Block, head: MBlock, entry: (() => void) | null): MBlock[] {
  const { insts } = block;
  s.at = block.terminator;
  s.tailCall = s.at.op === Op.Ret ? findTailCall(s, s.at) : null;
  const extra = s.tailCall === null ? selectTerminator(s, s.at, head) : [];
  s.flush();
  s.settle();
  for (let i = insts.length - 2; i >= 0; i--) {
    const inst = insts[i]!;
    s.at = inst;
    selectInst(s, inst, head);
    s.flush();
    s.settle();
  }
  if (entry !== null) {
    s.at = insts[0]!;
    entry();
  }
  s.finishBlock(head);
  return extra;
}

function selectTerminator(s: Selector, inst: Inst, head: MBlock): MBlock[] {
  switch (inst.op) {
    case Op.Ret:
      selectRet(s, inst);
      return [];
    case Op.Br:
      selectBr(s, inst, head);
      return [];
    case Op.CondBr: {
      const condition = inst.operands[0]!;
      if (inst.blocks[0] === inst.blocks[1] || condition.valueKind === "undef") selectBrTo(s, inst, 1, head);
      else if (condition.valueKind === "int") selectBrTo(s, inst, condition.num !== 0 ? 0 : 1, head);
      else return selectCondBr(s, inst, head);
      return [];
    }
    case Op.Switch:
      return selectSwitch(s, inst, head);
    case Op.IndirectBr:
      selectIndirectBr(s, inst as Extract<Inst, { op: Op.IndirectBr }>, head);
      return [];
    case Op.Unreachable:
      return [];
    case Op.Invoke:
      selectCall(s, inst, head);
      return [];
    case Op.CallBr:
      throw new UnsupportedError("asm goto (callbr)", `function '${s.mf.name}'`);
    case Op.Resume:
      selectResume(s, inst);
      return [];
    default:
      throw new Error(`selection: block of '${s.mf.name}' ends in ${opNames[inst.op]}`);
  }
}

/** A conditional branch whose way is known. */
function selectBrTo(s: Selector, inst: Inst, way: number, head: MBlock): void {
  const target = inst.blocks[way]!;
  const machine = new MInst(X.Jmp, 8);
  const to = s.heads[target.id]!;
  machine.targets = [to];
  head.succs.push(to);
  head.succArgs.push([]);
  to.preds.push(head);
  s.emit(machine);
}

/** Lowers one instruction that is not a terminator, if something wants it. */
function selectInst(s: Selector, inst: Inst, head: MBlock): void {
  switch (inst.op) {
    case Op.Store:
      atomics.refuseMisaligned(s, inst.operands[0]!.type, inst.data);
      return atomics.isAtomicStore(inst) ? atomics.selectAtomicStore(s, inst) : selectStore(s, inst);
    case Op.Fence:
      return atomics.selectFence(s, inst);
    case Op.CmpXchg:
      atomics.refuseMisaligned(s, inst.operands[1]!.type, inst.data);
      return atomics.selectCmpXchg(s, inst);
    case Op.AtomicRMW:
      atomics.refuseMisaligned(s, inst.operands[1]!.type, inst.data);
      return atomics.selectAtomicRMW(s, inst);
    case Op.Call:
      return selectAnyCall(s, inst, head);
    case Op.Load:
      if (!isPlainAccess(inst)) {
        atomics.refuseMisaligned(s, inst.type, inst.data);
        if (!isWanted(s, inst)) s.vregs[inst.id] = inst.type.kind === "x86_fp80" ? -1 : s.newReg(inst.type);
        return selectLoad(s, inst);
      }
      break;
    case Op.Alloca:
      if (s.slots[inst.id]! >= 0) return;
      break;
    case Op.Phi:
      if (inst.type.kind === "x86_fp80" && inst.operands.length > 1 && s.uses[inst.id]! > 0)
        selectFp80Phi(s, inst);
      return;
    case Op.LandingPad:
      return selectLandingPad(s, inst);
    default:
      break;
  }
  if (isWanted(s, inst)) selectValue(s, inst);
}

/** Whether some user demanded the result. */
function isWanted(s: Selector, inst: Inst): boolean {
  return s.vregs[inst.id]! >= 0 || (inst.type.kind === "x86_fp80" && s.slots[inst.id]! >= 0);
}

function selectAnyCall(s: Selector, inst: Extract<Inst, { op: Op.Call }>, head: MBlock): void {
  const intrinsic = intrinsicOf(inst.operands[0]!);
  if (intrinsic !== null) {
    if (inst.type.kind === "void" || intrinsicHasEffect(intrinsic)) {
      const { type } = inst;
      const needsRegister = type.kind !== "void" && type.kind !== "x86_fp80" && !type.isAggregate;
      if (needsRegister && !isWanted(s, inst) && !s.sunk.has(inst.id)) s.vregs[inst.id] = s.newReg(type);
      return selectIntrinsic(s, inst, intrinsic);
    }
    if (isWanted(s, inst) || s.parts.has(inst.id)) selectIntrinsic(s, inst, intrinsic);
    return;
  }
  selectCall(s, inst, head);
}

function selectValue(s: Selector, inst: Inst): void {
  switch (inst.op) {
    case Op.Add:
    case Op.Sub:
    case Op.Mul:
    case Op.And:
    case Op.Or:
    case Op.Xor:
      return inst.type.isVector ? selectVectorBinary(s, inst) : selectBinary(s, inst);
    case Op.UDiv:
    case Op.SDiv:
    case Op.URem:
    case Op.SRem:
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
      return selectBinary(s, inst);
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv:
      return float.selectFloatBinary(s, inst);
    case Op.FNeg:
      return float.selectFNeg(s, inst);
    case Op.Load:
      return selectLoad(s, inst);
    case Op.GetElementPtr:
      return selectGep(s, inst);
    case Op.ICmp:
    case Op.FCmp:
      return selectCompareResult(s, inst);
    case Op.Select:
      return selectSelect(s, inst as Extract<Inst, { op: Op.Select }>);
    case Op.Alloca:
      return selectDynamicAlloca(s, inst);
    default:
      return selectConversion(s, inst);
  }
}

function selectConversion(s: Selector, inst: Inst): void {
  // The casts share one variant of the union; each lowering looks at the op it is for.
  const cast = inst as never;
  switch (inst.op) {
    case Op.Trunc:
      return selectTrunc(s, cast);
    case Op.ZExt:
    case Op.SExt:
      return selectExtension(s, cast);
    case Op.FPExt:
      return float.selectFPExt(s, cast);
    case Op.FPTrunc:
      return float.selectFPTrunc(s, cast);
    case Op.SIToFP:
    case Op.UIToFP:
      return float.selectIntToFloat(s, cast);
    case Op.FPToSI:
    case Op.FPToUI:
      return float.selectFloatToInt(s, cast);
    case Op.BitCast:
      return float.selectBitCast(s, cast);
    case Op.IntToPtr:
    case Op.PtrToInt:
    case Op.AddrSpaceCast:
    case Op.Freeze: {
      // Of a constant: everything else is a view.
      const result = s.resultOf(inst);
      return s.copy(result, s.reg(inst.operands[0]!), s.mf.vregs[result]!.size);
    }
    default:
      throw new UnsupportedError(
        `instruction ${opNames[inst.op]} on ${inst.type}`,
        `function '${s.mf.name}'`,
      );
  }
}

/** alloca outside the entry block, or of a variable number of elements. */
function selectDynamicAlloca(s: Selector, inst: Extract<Inst, { op: Op.Alloca }>): void {
  const elementSize = s.layout.allocSize(inst.data.allocatedType);
  const count: Value = inst.operands[0]!;
  let bytes: number;
  if (count.valueKind === "int") bytes = s.reg(constInt(i64, Number(count.value) * elementSize));
  else {
    let wide = s.reg(count);
    if (count.type.bits < 64) {
      const extended = s.newGpr();
      s.unary(X.Mov, 4, extended, wide);
      wide = extended;
    }
    if (elementSize === 1) bytes = wide;
    else {
      bytes = s.newGpr();
      const mul = new MInst(X.ImulImm, 8);
      mul.defs = [new RegOperand(bytes)];
      mul.uses = [new RegOperand(wide)];
      mul.imm = elementSize;
      s.emit(mul);
    }
  }
  const alloca = new MInst(X.DynamicAlloca, 8);
  alloca.defs = [new RegOperand(s.resultOf(inst))];
  alloca.uses = [new RegOperand(bytes)];
  alloca.imm = Math.max(16, inst.data.align);
  s.emit(alloca);
}
