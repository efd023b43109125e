/**
 * State and primitives of instruction selection for one function.
 *
 * Selection walks blocks in reverse of a reverse postorder and each block from its end, so every use of a
 * value is seen before its definition (Cranelift's way, see docs of its ISLE lowering). An instruction is
 * lowered only when something demanded its register or when it has an effect; a value that all its users
 * folded away is never emitted. What one IR instruction lowers to is written forwards into `buffer` and moved
 * in reverse into the block.
 *
 * Folding a load into its user is allowed when the load has one use, sits in the same block, and no
 * instruction between them may write memory: both have the same `epoch`.
 */

import type { LoopNest } from "../../analysis/loop-nest.js";
import {
  CopyOp,
  type MBlock,
  type MemOperand,
  type MFunction,
  MInst,
  RegOperand,
  type SymbolRef,
  type VReg,
} from "../../codegen/mir.js";
import { noRegisters, type RegisterSet } from "../../codegen/register-set.js";
import type { SelectOptions } from "../../codegen/target.js";
import { type AttributeSet, noAttributes } from "../../ir/attributes.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { UnsupportedError } from "../../ir/errors.js";
import { type Block, type Inst, isPlainAccess, Op } from "../../ir/instructions.js";
import { type Intrinsic, intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import type { GlobalValue } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";
import type { Argument, Constant, Value } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { JumpMark, X } from "../isa/ops.js";
import { GPR, XMM } from "../isa/registers.js";
import { materialize, sharedConstantKey } from "./constants.js";
import { loadFolds } from "./source.js";
import { tlsAddress } from "./tls.js";

/** Those that end in a conditional move. */
const conditionalMoves: ReadonlySet<Intrinsic> = new Set([
  intrinsics.smin,
  intrinsics.smax,
  intrinsics.umin,
  intrinsics.umax,
  intrinsics.abs,
]);

/** A value that is materialised once in the current block, before its first use. */
interface PendingConstant {
  readonly definition: MInst;
  readonly vreg: VReg;
  /** Length of the reversed list when the earliest use so far was lowered. */
  position: number;
}

export class Selector {
  /** Virtual register of each instruction result, by `Inst.id`; -1 while nothing demands it. */
  readonly vregs: Int32Array;
  /** 1 once a lowered instruction reads the value, by `Inst.id` (phis have registers from the start). */
  readonly read: Uint8Array;
  /** Number of uses of each instruction result, by `Inst.id`. */
  readonly uses: Int32Array;
  /** Memory epoch of each instruction, by `Inst.id`. */
  readonly epochs: Int32Array;
  readonly argVRegs: VReg[];
  /** Head machine block of each IR block, by `Block.id`. */
  readonly heads: MBlock[] = [];
  /** 1 for an address whose every use is the pointer of a load or store, by `Inst.id`. */
  readonly addressOnly: Uint8Array;
  /** Narrow loads that a free zero extension relies on, by `Inst.id`. */
  readonly zeroExtended: Uint8Array;
  /** Bytes to which loads extend the sign of what they read, by `Inst.id`; 0: not at all. */
  readonly signExtended: Uint8Array;
  /** Memory slot of each fp80 value, by `Inst.id`; and of static allocas. */
  readonly slots: Int32Array;
  /** Slots of fp80 arguments, by argument index. */
  readonly argSlots: number[] = [];
  /** The vararg register save area slot, or -1. */
  saveAreaSlot = -1;
  /** Offset in the platform's register save area at which the slot begins. */
  saveAreaStart = 0;
  /** Bytes of named integer / vector argument registers, and of stack arguments, for va_start. */
  vaGpr = 0;
  vaXmm = 0;
  /** The first registers behind those that callers use. */
  vaGprEnd = 0;
  vaXmmEnd = 0;
  /** By register: variable arguments that a jump hands on, and their count; empty: none does. */
  readonly forwarded = new Map<number, VReg>();
  /** The function returns through a pointer argument, which the ABI wants back in rax. */
  usesSret = false;
  sretArgument: Argument | null = null;
  /** "z" or "s" when the caller expects a narrow result extended to 32 bits, else "". */
  resultExtension: "" | "z" | "s" = "";
  resultAttributes: AttributeSet = noAttributes;
  /** Stack slots of arguments that are passed in memory, by offset. */
  readonly incomingSlots = new Map<number, number>();
  /** By number of an argument that lies in memory as a whole: its offset, and bytes. */
  readonly wholeArguments = new Map<number, { readonly offset: number; readonly size: number }>();
  hasMustTail = false;
  noTailCalls = false;
  /** No exception leaves the function, and it has no table that says where they go. */
  nounwind = false;
  /** The call that replaces the current block's return. */
  tailCall: Inst | null = null;
  /** Arguments that callers zero-extend to 32 bits, by index. */
  readonly extendedArgs: Uint8Array;
  /** What stands at the start of blocks that invokes return to: it completes their calls. */
  readonly onReturn = new Map<MBlock, MInst[]>();
  /** Forward buffer of the instruction being lowered. */
  buffer: MInst[] = [];
  /** Instructions of the current machine block, last first. */
  reversed: MInst[] = [];
  private pending = new Map<string, PendingConstant>();
  /** Constants of 10-byte moves that several blocks use: made once, in the entry block. */
  private readonly wide = new Map<string, PendingConstant>();
  /** How many blocks use the constant of the key, of those that are worth sharing so. */
  readonly wideUses = new Map<string, number>();
  /** The IR instruction being lowered: folding is judged at its place. */
  at!: Inst;
  readonly minsize: boolean;
  readonly optimize: boolean;

  constructor(
    readonly mf: MFunction,
    readonly layout: DataLayout,
    readonly options: SelectOptions,
    readonly irBlocks: readonly Block[],
    instructionCount: number,
    argumentCount: number,
    readonly loops: LoopNest,
    readonly features: ReadonlySet<string>,
  ) {
    this.vregs = new Int32Array(instructionCount).fill(-1);
    this.read = new Uint8Array(instructionCount);
    this.uses = new Int32Array(instructionCount);
    this.epochs = new Int32Array(instructionCount);
    this.slots = new Int32Array(instructionCount).fill(-1);
    this.zeroExtended = new Uint8Array(instructionCount);
    this.signExtended = new Uint8Array(instructionCount);
    this.addressOnly = new Uint8Array(instructionCount).fill(1);
    this.argVRegs = new Array<VReg>(argumentCount).fill(-1);
    this.extendedArgs = new Uint8Array(argumentCount);
    this.minsize = mf.goal === "minsize";
    this.optimize = mf.goal !== "none";
  }

  /** How indirect calls, or branches, of this function are made: marks of theirs; 0 for plainly. */
  thunkMark(of: "calls" | "branches"): number {
    if (!this.features.has(`retpoline-indirect-${of}`)) return 0;
    return JumpMark.Thunk | (this.features.has("retpoline-external-thunk") ? JumpMark.ExternalThunk : 0);
  }
  /** Jumps through tables are indirect. */
  get allowsJumpTables(): boolean {
    const { fn } = this.mf;
    const refused = fn.kind === "function" && fn.attributes.fn.string("no-jump-tables") === "true";
    // Offsets from a table of unknown distance would need 64 bits.
    const tooFar = this.pic && this.options.codeModel === "large";
    return !refused && !tooFar && this.thunkMark("branches") === 0;
  }

  /** True when addresses must be position independent. */
  get pic(): boolean {
    return this.options.relocation !== "static";
  }

  // ── Emission ──

  emit(inst: MInst): MInst {
    this.buffer.push(inst);
    return inst;
  }

  /** Moves the buffer into the block, in reverse. */
  flush(): void {
    const buffer = this.buffer;
    for (let i = buffer.length - 1; i >= 0; i--) this.reversed.push(buffer[i]!);
    this.buffer = [];
  }

  /** The head of the block that block addresses call by this label. */
  labelled(label: number): MBlock {
    return this.heads[this.irBlocks.find((block) => block.label === label)!.id]!;
  }

  /** Ends a machine block: places pending constants and stores the instructions in order. */
  finishBlock(block: MBlock): void {
    this.flush();
    const reversed = this.reversed;
    if (this.wide.size > 0 && block === this.heads[this.irBlocks[0]!.id]) {
      // Right after the arguments, which come last in the reversed list.
      for (const [key, constant] of this.wide) {
        constant.position = reversed.length - 1;
        this.pending.set(key, constant);
      }
    }
    if (this.pending.size > 0) {
      // Insert from the highest position down so that earlier positions stay valid.
      const pending = [...this.pending.values()].sort((a, b) => b.position - a.position);
      const merged: MInst[] = [];
      let next = reversed.length;
      const tail: MInst[] = [];
      for (const constant of pending) {
        while (next > constant.position) tail.push(reversed[--next]!);
        tail.push(constant.definition);
      }
      while (next > 0) tail.push(reversed[--next]!);
      for (const inst of tail) merged.push(inst);
      block.insts = merged;
      this.pending.clear();
    } else {
      reversed.reverse();
      block.insts = reversed;
    }
    this.reversed = [];
  }

  /** A further machine block of the IR block whose head is `head`; laid out after it. */
  newBlockAfter(head: MBlock): MBlock {
    const block = this.mf.newBlock();
    block.frequency = head.frequency / 2;
    return block;
  }

  // ── Registers ──

  classOf(type: Type): number {
    switch (type.kind) {
      case "int":
      case "ptr":
        return GPR;
      case "float":
      case "double":
      case "half":
      case "bfloat":
      case "fp128":
      case "vector":
        return XMM;
      default:
        throw new UnsupportedError(`a value of type ${type} in a register`, `function '${this.mf.name}'`);
    }
  }

  /** Spill size of a value of the type: 4, 8 or 16 bytes. */
  spillSize(type: Type): number {
    switch (type.kind) {
      case "int":
        return type.bits > 32 ? 8 : 4;
      case "ptr":
      case "double":
        return 8;
      case "half":
      case "bfloat":
      case "float":
        return 4;
      default:
        return 16;
    }
  }

  newReg(type: Type): VReg {
    return this.mf.newVReg(this.classOf(type), this.spillSize(type));
  }
  newGpr(size = 8): VReg {
    return this.mf.newVReg(GPR, size <= 4 ? 4 : 8);
  }
  newXmm(size = 16): VReg {
    return this.mf.newVReg(XMM, size);
  }

  /** The register of an instruction's result, without counting as a use. */
  resultReg(inst: Inst): VReg {
    let vreg = this.vregs[inst.id]!;
    if (vreg < 0) {
      vreg = this.newReg(inst.type);
      this.vregs[inst.id] = vreg;
    }
    return vreg;
  }

  /** The register that an instruction's result goes to; -1 when nothing wants it. */
  resultOf(inst: Inst): VReg {
    return this.vregs[inst.id]!;
  }

  /** The register of a value, demanding it; constants are materialised here. */
  reg(value: Value): VReg {
    const inst = this.resolve(value);
    switch (inst.valueKind) {
      case "inst": {
        if (this.slots[inst.id]! >= 0 && inst.op === Op.Alloca) return this.slotAddress(this.slots[inst.id]!);
        if (inst.op === Op.ExtractValue) return this.part(inst.operands[0] as Inst, inst.data[0]!);
        const vreg = this.resultReg(inst);
        this.read[inst.id] = 1;
        // Seen as a wider type (a free zero extension), all of that width must survive a spill.
        if (inst !== value && this.isGpr(value.type)) {
          const size = this.spillSize(value.type);
          if (size > this.mf.vregs[vreg]!.size) this.mf.vregs[vreg]!.size = size;
        }
        return vreg;
      }
      case "argument":
        return this.argReg(inst);
      case "asm":
      case "metadata":
        throw new Error(`reg: operand of kind ${inst.valueKind}`);
      case "global":
        if (inst.threadLocal !== "none") return tlsAddress(this, inst);
        return this.constant(inst);
      default:
        return this.constant(inst);
    }
  }

  /** Registers of the members of a multi-result instruction, by its `Inst.id`; -1 while not demanded. */
  readonly parts = new Map<number, VReg[]>();
  /** Slots of fp80 members of multi-result instructions, by "inst.index". */
  readonly partSlots = new Map<string, number>();
  /** Multi-result instructions already emitted at a later place. */
  readonly sunk = new Set<number>();

  /** The register of member `index` of a multi-result instruction, demanding it. */
  part(inst: Inst, index: number): VReg {
    let parts = this.parts.get(inst.id);
    if (parts === undefined) {
      parts = inst.type.elements.map(() => -1);
      this.parts.set(inst.id, parts);
    }
    if (parts[index]! < 0) parts[index] = this.newReg(inst.type.elements[index]!);
    return parts[index]!;
  }

  /** The register of a member if something demanded it, else -1. */
  partOf(inst: Inst, index: number): VReg {
    return this.parts.get(inst.id)?.[index] ?? -1;
  }

  private argReg(arg: Argument): VReg {
    let vreg = this.argVRegs[arg.index]!;
    if (vreg < 0) {
      vreg = this.newReg(arg.type);
      this.argVRegs[arg.index] = vreg;
    }
    return vreg;
  }

  use(value: Value, allowed: RegisterSet = noRegisters): RegOperand {
    return new RegOperand(this.reg(value), allowed);
  }

  /**
   * The value that `value` is a no-op view of: casts that need no instruction. Upper bits of a narrow
   * integer's register are unspecified, so truncation is such a view.
   */
  resolve(value: Value): Value {
    for (;;) {
      if (value.valueKind !== "inst") return value;
      switch (value.op) {
        case Op.Trunc:
        case Op.PtrToInt:
        case Op.IntToPtr:
        case Op.AddrSpaceCast: {
          const source = value.operands[0]!;
          // An alias needs the source in a register of at least the same width; constants are re-typed by
          // their own lowering.
          if (source.valueKind !== "inst" && source.valueKind !== "argument") return value;
          if (value.op === Op.IntToPtr && this.layout.bitWidth(source.type) < 64) return value;
          value = source;
          continue;
        }
        case Op.Phi:
          // With one predecessor it only renames the value.
          if (value.operands.length !== 1) return value;
          value = value.operands[0]!;
          continue;
        case Op.Freeze: {
          const source = value.operands[0]!;
          if (source.valueKind !== "inst" && source.valueKind !== "argument") return value;
          if (value.type.kind === "x86_fp80") return value;
          // The center of a pointer (center-pointers): addresses start anew from it.
          if (source.valueKind === "inst" && source.op === Op.GetElementPtr) return value;
          value = source;
          continue;
        }
        case Op.BitCast: {
          const source = value.operands[0]!;
          if (source.valueKind !== "inst" && source.valueKind !== "argument") return value;
          if (this.isGpr(value.type) !== this.isGpr(source.type)) return value;
          value = source;
          continue;
        }
        case Op.ZExt: {
          const source = value.operands[0]!;
          if (!this.optimize) return value;
          if (source.valueKind === "argument") {
            if (value.type.bits > 32 || this.extendedArgs[source.index] === 0) return value;
          } else if (!this.zextIsFree(source)) return value;
          else this.zeroExtended[(source as Inst).id] = 1;
          value = source;
          continue;
        }
        default:
          return value;
      }
    }
  }

  isGpr(type: Type): boolean {
    return type.kind === "int" || type.kind === "ptr";
  }

  /** Whether an i1 value's register holds exactly 0 or 1 in its low byte (it came from setcc). */
  isBoolean(value: Value, depth = 0): boolean {
    const inst = this.resolve(value);
    if (inst.valueKind === "int") return true;
    if (inst.valueKind !== "inst" || depth > 4) return false;
    switch (inst.op) {
      case Op.ICmp:
      case Op.FCmp:
        return true;
      case Op.And:
      case Op.Or:
      case Op.Xor:
        return inst.operands.every((o) => this.isBoolean(o, depth + 1));
      default:
        return false;
    }
  }

  /** Whether a narrow value's register is known to be zero above its width; relies on it from then on. */
  isZeroExtended(value: Value): boolean {
    if (!this.optimize) return false;
    if (value.valueKind === "argument") return this.extendedArgs[value.index] === 1;
    if (!this.zextIsFree(value)) return false;
    this.zeroExtended[(value as Inst).id] = 1;
    return true;
  }

  /** Whether the load of a call's target may be done by the call itself. */
  foldsAsTarget(load: Extract<Inst, { op: Op.Load }>): boolean {
    return loadFolds(this, load, 8);
  }

  /** The register of `source` already holds zero above its type's width. */
  private zextIsFree(source: Value): boolean {
    if (source.valueKind !== "inst" || source.type.kind !== "int" || source.type.bits < 8) return false;
    switch (source.op) {
      case Op.Load:
        // Narrow integer loads with a zero-extending user are emitted as movz; 32-bit loads zero the rest.
        return isPlainAccess(source) && this.signExtended[source.id] === 0;
      case Op.Add:
      case Op.Sub:
      case Op.Mul:
      case Op.And:
      case Op.Or:
      case Op.Xor:
      case Op.Shl:
      case Op.LShr:
      case Op.AShr:
      case Op.UDiv:
      case Op.SDiv:
      case Op.URem:
      case Op.SRem:
      case Op.SExt:
      case Op.ZExt:
      case Op.Select:
      case Op.FPToSI:
        if (source.type.bits === 32) return true;
        // A non-negative mask clears everything above it in the 32-bit operation.
        if (source.op !== Op.And) return false;
        return source.operands[1]!.valueKind === "int" && source.operands[1]!.num >= 0;
      case Op.Call: {
        // The conditional move has 32 bits, too.
        const intrinsic = source.type.bits === 32 ? intrinsicOf(source.operands[0]!) : null;
        return intrinsic !== null && conditionalMoves.has(intrinsic);
      }
      default:
        return false;
    }
  }

  /**
   * Whether nothing reads the value after the instruction being lowered. Sound because uses are lowered
   * before earlier code, except around a loop that the value was not defined in.
   */
  diesHere(value: Value): boolean {
    const inst = this.resolve(value);
    if (inst.valueKind === "inst") {
      if (this.read[inst.id] === 1) return false;
      return this.loops.header[inst.parent!.id] === this.loops.header[this.at.parent!.id];
    }
    if (inst.valueKind === "argument")
      return this.argVRegs[inst.index]! < 0 && this.loops.depth[this.at.parent!.id] === 0;
    return true;
  }

  // ── Constants ──

  private constant(value: Constant): VReg {
    const key = this.optimize ? sharedConstantKey(value) : null;
    if (key !== null) {
      const known = this.pending.get(key) ?? this.wide.get(key);
      if (known !== undefined) {
        this.touched.push(known);
        return known.vreg;
      }
    }
    if (key === null) return materialize(this, value);
    const saved = this.buffer;
    this.buffer = [];
    const vreg = materialize(this, value);
    const made = this.buffer;
    this.buffer = saved;
    if (made.length !== 1) {
      for (const inst of made) this.emit(inst);
      return vreg;
    }
    const pending = { definition: made[0]!, vreg, position: 0 };
    if (this.wideUses.has(key) && this.wideUses.get(key)! > 1) this.wide.set(key, pending);
    else this.pending.set(key, pending);
    this.touched.push(pending);
    return vreg;
  }

  /** Constants used by the instruction being lowered; `settle` fixes their positions once it is in place. */
  private readonly touched: PendingConstant[] = [];

  /** After an IR instruction's code is in the reversed list: pending constants it used go before it. */
  settle(): void {
    for (const constant of this.touched) constant.position = this.reversed.length;
    this.touched.length = 0;
  }

  /** Address of a frame slot in a fresh register. */
  slotAddress(slot: number, disp = 0): VReg {
    const vreg = this.newGpr();
    const lea = new MInst(X.Lea, 8);
    lea.defs = [new RegOperand(vreg)];
    lea.mem = memory(null, null, 1, disp, null, false, slot);
    this.mf.vregs[vreg]!.remat = lea;
    this.emit(lea);
    return vreg;
  }

  // ── Small instruction builders ──

  copy(to: VReg, from: VReg, size: number): void {
    if (to === from) return;
    const inst = new MInst(CopyOp, size);
    inst.defs = [new RegOperand(to)];
    inst.uses = [new RegOperand(from)];
    this.emit(inst);
  }

  /** to = op from (Mov-format instruction). */
  unary(op: X, size: number, to: VReg, from: VReg): MInst {
    const inst = new MInst(op, size);
    inst.defs = [new RegOperand(to)];
    inst.uses = [new RegOperand(from)];
    return this.emit(inst);
  }

  /** to = a op b, tied to a (Alu-format instruction with a register source). */
  binary(op: X, size: number, to: VReg, a: VReg, b: VReg): MInst {
    const inst = new MInst(op, size);
    inst.defs = [RegOperand.tied(to)];
    inst.uses = [new RegOperand(a), new RegOperand(b)];
    return this.emit(inst);
  }

  /** to = a op imm, tied to a. */
  binaryImm(op: X, size: number, to: VReg, a: VReg, imm: number | bigint): MInst {
    const inst = new MInst(op, size);
    inst.defs = [RegOperand.tied(to)];
    inst.uses = [new RegOperand(a)];
    inst.imm = imm;
    return this.emit(inst);
  }

  /** to = op a, tied. */
  tiedUnary(op: X, size: number, to: VReg, a: VReg): MInst {
    const inst = new MInst(op, size);
    inst.defs = [RegOperand.tied(to)];
    inst.uses = [new RegOperand(a)];
    return this.emit(inst);
  }

  moveImm(to: VReg, size: number, imm: number | bigint): void {
    const inst = new MInst(X.Mov, size);
    inst.defs = [new RegOperand(to)];
    inst.imm = imm;
    if (this.mf.vregs[to]!.remat === null) this.mf.vregs[to]!.remat = inst;
    this.emit(inst);
  }

  load(op: X, size: number, to: VReg, mem: MemOperand): MInst {
    const inst = new MInst(op, size);
    inst.defs = [new RegOperand(to)];
    inst.mem = mem;
    return this.emit(inst);
  }

  store(op: X, size: number, mem: MemOperand, from: VReg): MInst {
    const inst = new MInst(op, size);
    inst.uses = [new RegOperand(from)];
    inst.mem = mem;
    return this.emit(inst);
  }

  /** A fresh register with no particular value. */
  undefined(cls: number, size: number): VReg {
    const vreg = this.mf.newVReg(cls, size);
    const inst = new MInst(X.ImplicitDef, size);
    inst.defs = [new RegOperand(vreg)];
    this.mf.vregs[vreg]!.remat = inst;
    this.emit(inst);
    return vreg;
  }

  globalSymbol(global: GlobalValue, kind: SymbolRef["kind"] = "direct"): SymbolRef {
    return { kind, target: { kind: "global", global } };
  }

  slotMem(slot: number, disp = 0): MemOperand {
    return memory(null, null, 1, disp, null, false, slot);
  }

  unsupported(construct: string): never {
    throw new UnsupportedError(construct, `function '${this.mf.name}'`);
  }
}
