/**
 * Prologues, epilogues and stack addressing of an allocated function.
 *
 * Method: plan the frame (`frame-layout.ts`), walk the blocks in control-flow order with the number of bytes
 * pushed since the prologue, turn slots into rsp/rbp-based memory and pseudo instructions into code, then put
 * the prologue at the entry and an epilogue before every instruction that leaves the function, or both where
 * control enters and leaves the blocks that `shrink-wrap.ts` gives the frame to. Unwind
 * directives are made after layout (`cfi.ts`) from the instructions themselves.
 * Linear in the function.
 * Breaks if: a block is entered with different numbers of bytes pushed (selection keeps a call sequence in
 * one block, but for what follows a call that can unwind: that is at the start of a block of its own).
 * Source: System V ABI AMD64, sections 3.2.2 (stack frame) and 3.4.
 */

import { AskedConvention } from "../../codegen/asked-conventions.js";
import type { ShrinkWrapRegion } from "../../codegen/late/shrink-wrap.js";
import { placeTransitions, renameUnframed } from "../../codegen/late/wrap-transitions.js";
import {
  type CallInfo,
  type MBlock,
  type MemOperand,
  type MFunction,
  MInst,
  unwindTarget,
} from "../../codegen/mir.js";
import {
  intersect,
  lowWord,
  minus,
  noRegisters,
  overlaps,
  type RegisterSet,
  single,
  withRegister,
} from "../../codegen/register-set.js";
import type { FramePlan, FrameRequest } from "../../codegen/target.js";
import { UnsupportedError } from "../../ir/errors.js";
import { adjustStack, aluImm, aluReg, baseDisp, copy, lea, physical, pop, push } from "../isa/build.js";
import { readsFlags, writesFlags } from "../isa/op-info.js";
import { X } from "../isa/ops.js";
import { callClobbers, gprMask, maskOf, R15, RAX, RBP, RSP } from "../isa/registers.js";
import { dropUnframedPlaces, slotPlaces } from "./debug-places.js";
import { type FrameLayout, frameCost, planFrame, pushLimit } from "./frame-layout.js";
import { needsRealignment, stackAlign } from "./frame-registers.js";
import { allocateByPages, lowerByLoop, lowerByPages, probeSize } from "./probes.js";
import { rewriteSlotOperands } from "./slot-operands.js";
import { jumpByMemory } from "./tail-calls.js";
import { finishVexCode } from "./vex-code.js";

const isExit = (op: number): boolean => op === X.Ret || op === X.TailCall || op === X.TailCallIndirect;

const isCall = (op: number): boolean => op === X.Call || op === X.CallIndirect || op === X.TlsGetAddr;

/** The function a call instruction calls, if it is known, and the set of functions it can reach. */
function calleeOf({ extra }: MInst): Pick<CallInfo, "callee" | "calleeSet"> {
  return extra !== null && extra.kind === "call" ? extra : { callee: null, calleeSet: -1 };
}

/** Whether anything in the body pushes below rsp; tail calls leave as the function was entered. */
function hasCalls(mf: MFunction): boolean {
  if (mf.hasCalls) return true;
  for (const block of mf.blocks)
    for (const { op } of block.insts) if (isCall(op) || op === X.CallSetup) return true;
  return false;
}

/** Whether any call of the body needs an aligned stack. */
function hasAlignedCalls(mf: MFunction, alignedCall: FrameRequest["alignedCall"]): boolean {
  for (const block of mf.blocks)
    for (const inst of block.insts) {
      if (inst.op === X.Asm && unwindTarget(inst) !== null) return true;
      if (!isCall(inst.op)) continue;
      const { callee, calleeSet } = calleeOf(inst);
      if (alignedCall(callee, calleeSet)) return true;
    }
  return false;
}

/**
 * Whether an allocated function relies by itself (not through the functions it calls directly) on its caller
 * aligning the stack: it has aligned slots, calls unknown code, or contains assembly. Tail calls count as calls.
 */
export function reliesOnAlignment(mf: MFunction): boolean {
  if (mf.hasDynamicAlloca) return true;
  if (!needsRealignment(mf) && mf.slots.some((s) => s.kind !== "incoming" && s.align >= stackAlign))
    return true;
  for (const block of mf.blocks)
    for (const inst of block.insts) {
      if (inst.op === X.Asm && inst.extra?.kind === "asm" && inst.extra.template.trim() !== "") return true;
      const leaves = isCall(inst.op) || inst.op === X.TailCall || inst.op === X.TailCallIndirect;
      if (!leaves) continue;
      const { callee, calleeSet } = calleeOf(inst);
      if (callee === null && calleeSet < 0) return true;
    }
  return false;
}

/** The frame pass of one function. */
class FramePass {
  /** Bytes pushed since the prologue at the current instruction. */
  private adjust = 0;
  /** The next call finds arguments in the frame's room for them. */
  private hasStored = false;
  /** Padding made by each open CallSetup, innermost last. */
  private readonly padding: number[] = [];
  /** Bytes pushed at the entry of each block, by id; -1 while unknown. */
  private readonly entryAdjust: Int32Array;
  private readonly small: boolean;
  /** Bytes that the stack may go down without a probe; 0: as many as it likes. */
  private readonly probe: number;
  /** The current block has the frame. */
  private framed = true;

  constructor(
    private readonly mf: MFunction,
    private readonly layout: FrameLayout,
    private readonly options: FrameRequest,
    /** Some call of the body needs an aligned stack. */
    private readonly aligned: boolean,
    /** Blocks that have the frame; null: all. */
    private readonly wrapping: ShrinkWrapRegion | null,
  ) {
    let maxId = 0;
    for (const block of mf.blocks) maxId = Math.max(maxId, block.id);
    this.entryAdjust = new Int32Array(maxId + 1).fill(-1);
    this.probe = probeSize(mf);
    this.small = mf.goal === "size" || mf.goal === "minsize";
  }

  run(): void {
    const { blocks } = this.mf;
    const entry = blocks[0]!;
    this.entryAdjust[entry.id] = 0;
    const work = [entry];
    for (let block = work.pop(); block !== undefined; block = work.pop()) {
      this.rewriteBlock(block);
      for (const succ of block.succs) {
        if (this.entryAdjust[succ.id] !== -1) continue;
        // The unwinder takes the arguments of the call off before it enters a landing pad.
        this.entryAdjust[succ.id] = succ.landingPad ? 0 : this.adjust;
        work.push(succ);
      }
    }
    // Blocks that nothing reaches still get printed.
    for (const block of blocks) {
      if (this.entryAdjust[block.id] !== -1) continue;
      this.entryAdjust[block.id] = 0;
      this.rewriteBlock(block);
    }
    if (this.wrapping !== null) {
      placeTransitions(this.mf, this.wrapping, {
        enter: (flagsFree, copies) => {
          this.framed = true;
          this.adjust = 0;
          for (const inst of copies) this.rewriteMemory(inst);
          return [...this.prologue(flagsFree), ...copies];
        },
        leave: (dead, flagsFree) => {
          const out: MInst[] = [];
          this.tearDown(out, dead, flagsFree);
          return out;
        },
      });
      return;
    }
    const prologue = this.prologue(true);
    if (prologue.length === 0) return;
    if (entry.preds.length === 0) entry.insts.unshift(...prologue);
    else this.newEntry(entry, prologue);
  }

  /** The entry is a branch target: the prologue must not be repeated. */
  private newEntry(old: MBlock, prologue: MInst[]): void {
    const entry = this.mf.newBlock();
    this.mf.blocks.pop();
    this.mf.blocks.unshift(entry);
    entry.insts = prologue;
    entry.succs.push(old);
    old.preds.push(entry);
  }

  private rewriteBlock(block: MBlock): void {
    this.adjust = this.entryAdjust[block.id]!;
    this.framed = this.wrapping === null || this.wrapping.framed[block.id] === 1;
    // What is pushed where the block starts belongs to the call that returns there.
    this.padding.length = 0;
    if (this.adjust > 0) this.padding.push(this.adjust - cleanupBytes(block));
    const out: MInst[] = [];
    const { insts } = block;
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      this.rewriteMemory(inst);
      switch (inst.op) {
        case X.Entry:
        case X.Keep:
        case X.ImplicitDef:
          break;
        case X.Push:
          out.push(inst);
          this.adjust += 8;
          break;
        case X.Pop:
          out.push(inst);
          this.adjust -= 8;
          break;
        case X.CallSetup:
          this.callSetup(out, insts, i);
          break;
        case X.StackAlloc:
          if (this.layout.outgoing > 0) this.hasStored = true;
          else this.grow(out, inst.imm as number, !this.flagsLiveAt(insts, i));
          break;
        case X.CallCleanup:
          this.callCleanup(out, inst, block);
          break;
        case X.DynamicAlloca:
          this.dynamicAlloca(out, inst);
          break;
        case X.StackSave:
          out.push(copy(8, inst.defs[0]!.loc, RSP));
          break;
        case X.StackRestore:
          out.push(copy(8, RSP, inst.uses[0]!.loc));
          break;
        case X.FrameAddress:
          out.push(copy(8, inst.defs[0]!.loc, RBP));
          break;
        case X.IncomingAddress:
          out.push(lea(8, inst.defs[0]!.loc, this.aboveReturn(Number(inst.imm ?? 0))));
          break;
        case X.Ret:
        case X.TailCall:
        case X.TailCallIndirect:
          this.epilogue(out, inst);
          out.push(inst);
          break;
        default:
          if (inst.extra?.kind === "call") inst.extra = this.withArguments(inst.extra);
          out.push(inst);
      }
    }
    block.insts = out;
  }

  // ── Addresses ──

  private rewriteMemory(inst: MInst): void {
    if (inst.mem !== null && inst.mem.slot >= 0) this.placeSlot(inst.mem, isExit(inst.op));
    const extra = inst.extra;
    if (extra !== null && extra.kind === "asm") {
      for (const operand of extra.operands)
        if (operand.kind === "mem" && operand.mem.slot >= 0) this.placeSlot(operand.mem, false);
    }
  }

  /** `tornDown`: the operand is evaluated after the epilogue. */
  private placeSlot(mem: MemOperand, tornDown: boolean): void {
    const slot = this.mf.slots[mem.slot]!;
    const { layout } = this;
    if (mem.base !== null) throw new Error(`slot operand with a base register in @${this.mf.name}`);
    let base = layout.base;
    let offset: number;
    if (slot.kind === "incoming") {
      base = layout.framePointer && this.framed ? RBP : RSP;
      offset = slot.offset + (base === RBP ? 16 : this.depth() + this.adjust);
    } else {
      if (!this.framed) throw new Error(`a slot where there is no frame in @${this.mf.name}`);
      offset = layout.offsets[mem.slot]! + (base === RSP ? this.adjust : 0);
    }
    if (tornDown) {
      if (base === RBP) offset -= 8;
      else offset -= this.depth() - 8;
      base = RSP;
      if (layout.realign > 0 || offset < -128)
        throw new Error(`tail call through a slot of the frame in @${this.mf.name}`);
    }
    this.mf.debug?.marks?.slotOf.set(mem, mem.slot);
    mem.slot = -1;
    mem.base = physical(base);
    mem.disp += offset;
    if (mem.disp !== (mem.disp | 0)) throw new UnsupportedError("stack frame of 2 GB or more", this.mf.name);
  }

  /** `bytes` above the return address' end, that is above the CFA. */
  private aboveReturn(bytes: number): MemOperand {
    return this.layout.framePointer && this.framed
      ? baseDisp(RBP, 16 + bytes)
      : baseDisp(RSP, this.depth() + this.adjust + bytes);
  }

  /** Distance from rsp, but for what is pushed, to the CFA. */
  private depth(): number {
    return this.framed ? this.layout.depth : 8;
  }

  // ── Moving the stack pointer ──

  /** Lowers rsp by `bytes` > 0 and counts them as pushed. */
  private grow(out: MInst[], bytes: number, flagsFree: boolean): void {
    this.lower(out, bytes, flagsFree);
    this.adjust += bytes;
  }

  private lower(out: MInst[], distance: number, flagsFree: boolean): void {
    const bytes = this.probe > 0 ? lowerByPages(out, distance, this.probe, flagsFree) : distance;
    if (bytes === 0) return;
    if (this.pushes(bytes)) {
      for (let i = 0; i < bytes; i += 8) out.push(new MInst(X.PushPad, 8));
    } else if (flagsFree) out.push(adjustStack(-bytes));
    else out.push(lea(8, RSP, baseDisp(RSP, -bytes)));
  }

  /** Pushes or pops are the shortest way to move rsp by `bytes`. */
  private pushes(bytes: number): boolean {
    return bytes === 8 || (this.small && bytes <= pushLimit(this.mf, this.layout) && bytes % 8 === 0);
  }

  /** Raises rsp by `bytes`; `dead` are registers that hold nothing here. */
  private raise(out: MInst[], bytes: number, dead: RegisterSet, flagsFree: boolean): void {
    if (bytes === 0) return;
    const target = this.popTarget(dead);
    if (this.pushes(bytes) && target >= 0) for (let i = 0; i < bytes; i += 8) out.push(pop(target));
    else if (flagsFree) out.push(adjustStack(bytes));
    else out.push(lea(8, RSP, baseDisp(RSP, bytes)));
  }

  /** A dead register without REX prefix, best one that is written anyway; -1 if none. */
  private popTarget(dead: RegisterSet): number {
    const { written, scratch } = this.options;
    const low = lowWord(dead) & 0xff & ~(1 << RSP);
    const candidates = low & lowWord(written) || low & lowWord(scratch);
    for (let r = 1; r < 8; r++) if ((candidates & (1 << r)) !== 0) return r;
    return (candidates & 1) !== 0 ? RAX : -1;
  }

  // ── Calls ──

  private paddingFor(bytes: number): number {
    const align = Math.max(stackAlign, this.mf.stackAlignment);
    return (align - (bytes % align)) % align;
  }

  /** Whether an instruction after `index` reads flags before any writes them. */
  private flagsLiveAt(insts: readonly MInst[], index: number): boolean {
    for (let i = index + 1; i < insts.length; i++) {
      const { op } = insts[i]!;
      if (readsFlags(op)) return true;
      if (writesFlags(op) && op !== X.CallSetup && op !== X.CallCleanup) return false;
    }
    return false;
  }

  /** Whether the call after `index` stores its arguments on the stack, and in the frame's room. */
  private hasRoom(insts: readonly MInst[], index: number): boolean {
    if (this.layout.outgoing === 0) return false;
    for (let i = index; i < insts.length; i++) {
      const { op } = insts[i]!;
      if (op === X.StackAlloc) return true;
      if (op === X.Push || isCall(op)) return false;
    }
    return false;
  }

  private callSetup(out: MInst[], insts: readonly MInst[], index: number): void {
    if (this.hasRoom(insts, index)) return;
    const padding = !this.aligned ? 0 : this.paddingFor(this.adjust + (insts[index]!.imm as number));
    this.padding.push(padding);
    this.grow(out, padding, !this.flagsLiveAt(insts, index));
  }

  /** What the call's arguments take of the stack. */
  private withArguments(call: CallInfo): CallInfo {
    const { adjust: pushed, hasStored } = this;
    this.hasStored = false;
    return call.pushed === pushed && call.hasStored === hasStored ? call : { ...call, pushed, hasStored };
  }

  private callCleanup(out: MInst[], inst: MInst, block: MBlock): void {
    // Its room is the frame's.
    if (this.adjust === 0) return;
    const bytes = (inst.imm as number) + (this.padding.pop() ?? 0);
    // What the call clobbers and nothing defined since is free.
    let dead = noRegisters;
    let flagsFree = false;
    let busy = noRegisters;
    const before = this.callBefore(block);
    for (let i = out.length - 1; i >= -1; i--) {
      const previous = i >= 0 ? out[i]! : before;
      if (previous === null) break;
      for (const def of previous.defs) busy = withRegister(busy, def.loc);
      if (previous.op === X.Call || previous.op === X.CallIndirect || previous.op === X.TlsGetAddr) {
        dead = minus(intersect(previous.clobbers, gprMask), busy);
        flagsFree = true;
        break;
      }
      if (writesFlags(previous.op)) break;
    }
    this.raise(out, bytes, dead, flagsFree);
    this.adjust -= bytes;
  }

  /** The call that returns to the start of the block, and has no other end; null if there is none. */
  private callBefore(block: MBlock): MInst | null {
    if (block.landingPad || block.preds.length !== 1) return null;
    return block.preds[0]!.insts.findLast((inst) => unwindTarget(inst) !== null) ?? null;
  }

  /** rsp = (rsp - size) & -align, and the result is the new rsp. */
  private dynamicAlloca(out: MInst[], inst: MInst): void {
    // Arguments may need the alignment that the frame has.
    const align = Math.max(Number(inst.imm ?? 0), stackAlign, this.layout.realign);
    if (this.probe > 0) return allocateByPages(out, inst.defs[0]!.loc, inst.uses[0]!.loc, align, this.probe);
    out.push(aluReg(X.Sub, 8, RSP, inst.uses[0]!.loc));
    out.push(aluImm(X.And, 8, RSP, -align));
    out.push(copy(8, inst.defs[0]!.loc, RSP));
  }

  // ── Entry and exits ──

  /** @param flagsFree the flags hold nothing here */
  private prologue(flagsFree: boolean): MInst[] {
    const { layout } = this;
    const out: MInst[] = [];
    if (layout.framePointer) out.push(push(RBP, X.PushSaved), copy(8, RBP, RSP));
    if (layout.savesBelow) this.makeRoom(out, 0, flagsFree);
    for (const register of layout.saved) out.push(push(register, X.PushSaved));
    if (!layout.savesBelow) {
      if (layout.realign > 0) {
        if (this.probe > 0 && layout.realign > this.probe)
          throw new UnsupportedError("stack probes in a frame aligned to more than a page", this.mf.name);
        const rest = this.makePages(out, layout.saved.length, true);
        if (rest > 0) out.push(adjustStack(-rest));
        out.push(aluImm(X.And, 8, RSP, -layout.realign));
        if (layout.base !== RSP) out.push(copy(8, layout.base, RSP));
      } else this.makeRoom(out, layout.saved.length, flagsFree);
    }
    return out;
  }

  /** Lowers rsp for the locals. @param saves registers that lie between them and what rbp points at */
  private makeRoom(out: MInst[], saves: number, flagsFree: boolean): void {
    this.lower(out, this.makePages(out, saves, flagsFree), flagsFree);
  }

  /** The part of it that is probed. @returns the bytes that are left */
  private makePages(out: MInst[], saves: number, flagsFree: boolean): number {
    const { framePointer, localBytes } = this.layout;
    if (this.probe === 0) return localBytes;
    if (framePointer && flagsFree) return lowerByLoop(out, localBytes, this.probe, 8 * saves);
    return lowerByPages(out, localBytes, this.probe, flagsFree);
  }

  private epilogue(out: MInst[], exit: MInst): void {
    let live = noRegisters;
    for (const use of exit.uses) live = withRegister(live, use.loc);
    if (this.framed) this.tearDown(out, minus(intersect(callClobbers, gprMask), live), true);
  }

  /** Takes the frame away. `dead` registers hold nothing here. */
  private tearDown(out: MInst[], dead: RegisterSet, flagsFree: boolean): void {
    const { layout } = this;
    const saves = layout.saved.length;
    if (!layout.framePointer) {
      this.raise(out, layout.localBytes, dead, flagsFree);
      this.restore(out);
      return;
    }
    const fixedDistance = layout.realign === 0 && !this.mf.hasDynamicAlloca;
    if (layout.savesBelow) {
      this.restore(out);
      out.push(layout.localBytes > 0 ? new MInst(X.Leave, 8) : pop(RBP, X.PopSaved));
      return;
    }
    if (saves === 0) {
      out.push(fixedDistance && layout.localBytes === 0 ? pop(RBP, X.PopSaved) : new MInst(X.Leave, 8));
      return;
    }
    if (!fixedDistance) out.push(lea(8, RSP, baseDisp(RBP, -8 * saves)));
    else if (layout.localBytes > 0)
      out.push(flagsFree ? adjustStack(layout.localBytes) : lea(8, RSP, baseDisp(RSP, layout.localBytes)));
    this.restore(out);
    out.push(pop(RBP, X.PopSaved));
  }

  private restore(out: MInst[]): void {
    for (let i = this.layout.saved.length - 1; i >= 0; i--) out.push(pop(this.layout.saved[i]!, X.PopSaved));
  }
}

/** Bytes of arguments that the first clean-up of a block takes off. */
function cleanupBytes({ insts }: MBlock): number {
  for (const inst of insts) if (inst.op === X.CallCleanup) return inst.imm as number;
  return 0;
}

/** The frame's own registers survive calls: who decides the callees' saves must know that. */
function requirePreserved(mf: MFunction, registers: RegisterSet): void {
  for (const block of mf.blocks)
    for (const inst of block.insts)
      if (inst.op !== X.Asm && overlaps(inst.clobbers, registers))
        throw new UnsupportedError(`a call that changes the register the frame is addressed by`, mf.name);
}

/** Whether the body's code is all there is: no prologue or epilogue (attribute `naked`). */
const isNaked = (mf: MFunction): boolean => mf.fn.kind === "function" && mf.fn.attributes.fn.has("naked");

/** A frame of x86-64 that is decided and not yet made. */
export interface X64FramePlan extends FramePlan {
  readonly layout: FrameLayout;
  /** Some call needs an aligned stack. */
  readonly aligned: boolean;
}

/** Decides the function's frame. Afterwards slot operands are memory operands. */
export function decideFrame(mf: MFunction, options: FrameRequest): X64FramePlan {
  rewriteSlotOperands(mf);
  const naked = isNaked(mf);
  const calls = !naked && hasCalls(mf);
  const aligned = calls && (mf.hasDynamicAlloca || hasAlignedCalls(mf, options.alignedCall));
  const plan = planFrame(mf, naked ? noRegisters : options.saved, options.written, calls, aligned);
  const layout: FrameLayout = naked
    ? {
        ...plan,
        framePointer: false,
        realign: 0,
        saved: [],
        savesBelow: false,
        localBytes: 0,
        outgoing: 0,
        base: RSP,
        depth: 8,
      }
    : plan;
  // An argument arrives in it.
  const { fn } = mf;
  if (layout.base === R15 && fn.kind === "function" && fn.callingConvention === AskedConvention.PreserveNone)
    throw new UnsupportedError(
      "a preserve_nonecc function with a frame of variable size, realigned",
      mf.name,
    );
  if (layout.framePointer) requirePreserved(mf, layout.base === R15 ? maskOf(RBP, R15) : maskOf(RBP));
  const moves = layout.localBytes > 0 ? 1 : 0;
  const { framePointer, localBytes, redZone } = layout;
  const saves = layout.saved.length + (framePointer ? 1 : 0);
  const cost = frameCost(mf, layout);
  let saved = framePointer ? single(RBP) : noRegisters;
  for (const register of layout.saved) saved = withRegister(saved, register);
  return {
    layout,
    aligned,
    saved,
    isEmpty: layout.saved.length === 0 && localBytes === 0 && !framePointer,
    isMovable: layout.realign <= 0,
    framePointer,
    redZone,
    enterBytes: cost.enter,
    leaveBytes: cost.leave,
    prologue: saves + moves + (layout.framePointer ? 1 : 0),
    epilogue: saves + moves,
  };
}

/**
 * Gives the function its frame: afterwards no slot, call-sequence or frame pseudo is left.
 * @param wrapping blocks that have it; null: all
 */
export function insertFrame(
  mf: MFunction,
  options: FrameRequest,
  plan: X64FramePlan,
  wrapping: ShrinkWrapRegion | null,
): void {
  const marks = mf.debug?.marks ?? null;
  if (marks !== null) {
    marks.slotPlaces = slotPlaces(mf, plan.layout);
    if (wrapping !== null) dropUnframedPlaces(mf, marks, wrapping, plan.saved);
  }
  if (wrapping !== null) renameUnframed(mf, wrapping);
  new FramePass(mf, plan.layout, options, plan.aligned, wrapping).run();
  if (mf.goal !== "none") jumpByMemory(mf);
  finishVexCode(mf);
}
