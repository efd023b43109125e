/**
 * Instruction selection for one function: its state, and what a target adds to it.
 *
 * Selection walks blocks in reverse of a reverse postorder and each block from its end, so every use of a value is seen
 * before its definition (Cranelift's way, see docs of its ISLE lowering). An instruction is lowered only when something
 * demanded its register or when it has an effect; a value that all its users folded away is never emitted.
 *
 * A target extends the class and implements its abstract members, which is all that this folder asks of it.
 */
import type { LoopNest } from "../../analysis/loop-nest.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { UnsupportedError } from "../../ir/errors.js";
import { type Block, type CallInst, type Inst, isPlainAccess, Op } from "../../ir/instructions.js";
import type { Intrinsic } from "../../ir/intrinsics.js";
import type { GlobalValue } from "../../ir/module.js";
import { ptr, type Type } from "../../ir/types.js";
import type { Constant, Value } from "../../ir/values.js";
import type { LegalFunction } from "../legalize/index.js";
import {
  CopyOp,
  type MBlock,
  type MFunction,
  MInst,
  type RegClass,
  RegOperand,
  type SymbolRef,
  type VReg,
} from "../mir.js";
import { noRegisters, type RegisterSet } from "../register-set.js";
import type { Convention, SelectOptions } from "../target.js";
import { BlockMap } from "./blocks.js";
import type { ConstantRoom } from "./constant-room.js";
import { SelectionDebug } from "./debug.js";
import { Emitter } from "./emitter.js";
import { type AbiArgument, type ArgumentLayout, FunctionAbi } from "./function-abi.js";
import type { SwitchCode } from "./switch.js";
import { ValueMap } from "./value-map.js";
import { ValueSlots } from "./value-slots.js";

/** What a selection starts from. */
export interface SelectionInput {
  readonly mf: MFunction;
  readonly legal: LegalFunction;
  readonly layout: DataLayout;
  readonly options: SelectOptions;
  /** `Inst.id`s are below this. */
  readonly instructionCount: number;
  readonly loops: LoopNest;
}

/** Where the personality routine leaves the exception pointer and the selector, and the opcode that defines them. */
export interface LandingPadForm {
  readonly op: number;
  readonly registers: readonly [number, number];
}

export abstract class FunctionSelection {
  readonly mf: MFunction;
  readonly layout: DataLayout;
  readonly options: SelectOptions;
  readonly loops: LoopNest;
  readonly code = new Emitter();
  readonly values: ValueMap;
  readonly slots: ValueSlots;
  readonly blocks: BlockMap;
  readonly abi: FunctionAbi;
  /** What stands at the start of blocks that invokes return to: it completes their calls. */
  readonly onReturn = new Map<MBlock, MInst[]>();
  /** The IR instruction being lowered: folding is judged at its place. */
  at!: Inst;
  readonly minsize: boolean;
  readonly optimize: boolean;
  /** Null where nothing is said of source variables. */
  readonly debug: SelectionDebug | null;

  constructor({ mf, legal, layout, options, instructionCount, loops }: SelectionInput) {
    this.mf = mf;
    this.layout = layout;
    this.options = options;
    this.loops = loops;
    // Arguments keep the index of the `Argument` object, which after legalisation may exceed their position.
    const argumentCount = legal.args.reduce((n, { argument }) => Math.max(n, argument.index + 1), 0);
    this.values = new ValueMap(instructionCount, argumentCount, (type) => this.newReg(type));
    this.slots = new ValueSlots(mf, layout, instructionCount);
    this.blocks = new BlockMap(mf, legal.body.blocks);
    this.abi = new FunctionAbi(legal.fn.attributes, legal.args, argumentCount, legal.fn.personality !== null);
    this.minsize = mf.goal === "minsize";
    this.optimize = mf.goal !== "none";
    this.debug = mf.debug?.marks == null ? null : new SelectionDebug(this, mf.debug.marks);
  }

  // ── What a target implements: values ──

  /** The class of registers that values of the type are in. @throws UnsupportedError where there is none */
  abstract classOf(type: Type): RegClass;
  /** Bytes that a spilled value of the type takes. */
  abstract spillSize(type: Type): number;
  /** Values of the type lie in memory, in slots, although they are no aggregates. */
  abstract livesInMemory(type: Type): boolean;
  /** The register of a narrow integer holds zero above it, up to so many bits, or can be made to. */
  abstract isZeroAbove(value: Value, bits: number): boolean;
  /** Key under which a constant may be shared within a block; null when remaking it is as cheap. */
  abstract sharedConstantKey(value: Constant): string | null;
  /** The constant, which has a key, takes so long to make that blocks share it. */
  abstract isExpensive(value: Constant): boolean;
  /** Operations on numbers in floating point leave their operands as they are. */
  abstract readonly keepsFloats: boolean;
  /** What loops have for constants of vectors; null: those are read from memory, or made, by each operation. */
  get constantRoom(): ConstantRoom | null {
    return null;
  }
  /** Emits code for a constant, into a fresh register. */
  abstract materialize(value: Constant): VReg;
  /** Emits code for the address of a slot, and of what is so many bytes after its start, into a fresh register. */
  abstract slotAddress(slot: number, disp?: number): VReg;
  /** Emits code that stores a value that lives in memory to a slot. */
  abstract storeToSlot(slot: number, value: Value): void;
  /** Emits code that copies such a value from slot to slot. */
  abstract copySlot(to: number, from: number, type: Type): void;

  // ── What a target implements: the convention ──

  /** What calls of a convention that the program asks for do; the given one where it asks for none. */
  abstract askedConvention(convention: Convention, asked: number): Convention;
  /** Whether the function may leave by a call, as far as conventions that were asked for go. */
  abstract mayLeaveBy(call: CallInst): boolean;
  abstract layoutArguments(
    args: readonly AbiArgument[],
    convention: Convention,
    isVarArg: boolean,
  ): ArgumentLayout;
  /** The register of each result, in order; -1 for those that live in memory. */
  abstract resultRegisters(types: readonly Type[]): number[];
  /** Prepares for the function's own convention, before anything is emitted. @throws UnsupportedError if there is none such */
  abstract prepareConvention(legal: LegalFunction, layout: ArgumentLayout): void;
  /** All slots of allocas are there, and nothing is emitted. */
  abstract prepareFrame(): void;
  /** Defines the arguments that are wanted: the first of the function's instructions, and the last to be emitted. */
  abstract selectEntry(legal: LegalFunction, layout: ArgumentLayout): void;
  /** Inline assembly with these constraints changes the frame pointer, or is given a value in it. */
  abstract writesFramePointer(constraints: string): boolean;
  abstract readonly landingPad: LandingPadForm;

  // ── What a target implements: instructions ──

  /** An instruction that is no call, phi or terminator, has an effect or is wanted. */
  abstract selectInst(inst: Inst): void;
  /** A call of a function, a pointer or inline assembly; one that is an invoke ends the block, see `endInvoke`. */
  abstract selectCall(call: CallInst, block: MBlock): void;
  abstract selectIntrinsic(call: CallInst, intrinsic: Intrinsic): void;
  /** Calls a routine of the platform. @param throws it may, and does nothing else to come back */
  abstract callRoutine(name: string, values: readonly Value[], throws?: boolean): void;
  abstract selectReturn(ret: Inst): void;
  /** Ends the block: to `yes` when the bit is set (xor `negate`), else to `no`; edges are there. */
  abstract branchOn(bit: Value, negate: boolean, yes: MBlock, no: MBlock): void;
  abstract selectIndirectBranch(inst: Inst, targets: readonly MBlock[]): void;
  /** Of a value in a register. */
  abstract switchCode(value: VReg, type: Type): SwitchCode;
  /** An instruction that control does not get past. */
  abstract trap(): MInst;

  // ── Emission ──

  emit(inst: MInst): MInst {
    return this.code.emit(inst);
  }

  jump(target: MBlock): void {
    this.code.emit(this.mf.target.instructions.jump(target));
  }

  copy(to: VReg, from: VReg, size: number): void {
    if (to === from) return;
    const inst = new MInst(CopyOp, size);
    inst.defs = [new RegOperand(to)];
    inst.uses = [new RegOperand(from)];
    this.emit(inst);
  }

  // ── Registers ──

  newReg(type: Type): VReg {
    return this.mf.newVReg(this.classOf(type), this.spillSize(type));
  }

  /** The register that an instruction's result goes to; -1 when nothing wants it. */
  resultOf(inst: Inst): VReg {
    return this.values.vregs[inst.id]!;
  }

  /** The register of a value, demanding it; constants are materialised here. */
  reg(value: Value): VReg {
    const inst = this.resolve(value);
    switch (inst.valueKind) {
      case "inst": {
        const { values } = this;
        if (inst.op === Op.Alloca) {
          const slot = this.slots.slots[inst.id]!;
          if (slot >= 0) return this.slotAddress(slot);
        }
        if (inst.op === Op.ExtractValue) return values.part(inst.operands[0] as Inst, inst.data[0]!);
        const vreg = values.demand(inst);
        values.read[inst.id] = 1;
        // Seen as a wider type (a free extension), all of that width must survive a spill.
        const seen = inst !== value && this.isGeneral(value.type) ? this.spillSize(value.type) : 0;
        const info = this.mf.vregs[vreg]!;
        info.size = Math.max(info.size, seen, values.signExtended[inst.id]!);
        return vreg;
      }
      case "argument":
        return this.values.argument(inst);
      case "asm":
      case "metadata":
        throw new Error(`reg: operand of kind ${inst.valueKind}`);
      default:
        return this.constant(inst);
    }
  }

  use(value: Value, allowed: RegisterSet = noRegisters): RegOperand {
    return new RegOperand(this.reg(value), allowed);
  }

  private constant(value: Constant): VReg {
    const key = this.optimize ? this.sharedConstantKey(value) : null;
    if (key === null) return this.materialize(value);
    const { constants } = this.code;
    const known = constants.find(key);
    if (known >= 0) return known;
    let vreg = -1;
    const made = this.code.aside(() => {
      vreg = this.materialize(value);
    });
    // Of numbers in floating point one would be a copy in front of operations that overwrite it.
    const mayLeave =
      value.type.kind === "vector" ? constants.hasRoom : value.valueKind !== "float" || this.keepsFloats;
    if (made.length === 1) constants.add(key, made[0]!, vreg, mayLeave);
    else for (const inst of made) this.emit(inst);
    return vreg;
  }

  // ── Values ──

  /** General registers hold values of the type. */
  isGeneral(type: Type): boolean {
    return type.kind === "int" || type.kind === "ptr";
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
          if (value.op === Op.IntToPtr && this.layout.bitWidth(source.type) < this.layout.bitWidth(ptr))
            return value;
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
          if (this.livesInMemory(value.type)) return value;
          // The center of a pointer (bias-pointers): addresses start anew from it.
          if (source.valueKind === "inst" && source.op === Op.GetElementPtr) return value;
          value = source;
          continue;
        }
        case Op.BitCast: {
          const source = value.operands[0]!;
          if (source.valueKind !== "inst" && source.valueKind !== "argument") return value;
          if (this.isGeneral(value.type) !== this.isGeneral(source.type)) return value;
          value = source;
          continue;
        }
        case Op.ZExt: {
          const source = value.operands[0]!;
          if (!this.relyOnZeros(source, value.type.bits)) return value;
          value = source;
          continue;
        }
        case Op.SExt:
          if (!this.relyOnSign(value)) return value;
          value = value.operands[0]!;
          continue;
        default:
          return value;
      }
    }
  }

  /** Whether a narrow integer's register is known to be zero above it, up to so many bits; counts on it from then on. */
  relyOnZeros(value: Value, bits: number): boolean {
    if (!this.optimize || !this.isZeroAbove(value, bits)) return false;
    if (value.valueKind === "inst") this.values.zeroExtended[value.id] = 1;
    return true;
  }

  /**
   * Whether a word is loaded with its sign above it, since the extension is not its only user: the others see the low part. Not where
   * one of them relies on zeros; those that would like to from then on are told no.
   */
  private relyOnSign({ type, operands }: Inst): boolean {
    const source = operands[0]!;
    if (!this.optimize || source.valueKind !== "inst" || source.op !== Op.Load) return false;
    if (type.bits !== 64 || source.type.bits !== 32 || !isPlainAccess(source)) return false;
    const { signExtended, zeroExtended, uses } = this.values;
    if (uses[source.id]! < 2 || zeroExtended[source.id] === 1) return false;
    signExtended[source.id] = 8;
    return true;
  }

  /**
   * Whether nothing reads the value after the instruction being lowered. Sound because uses are lowered
   * before earlier code, except around a loop that the value was not defined in.
   */
  diesHere(value: Value): boolean {
    const inst = this.resolve(value);
    const { header, depth } = this.loops;
    if (inst.valueKind === "inst") {
      if (this.values.read[inst.id] === 1) return false;
      return header[inst.parent!.id] === header[this.at.parent!.id];
    }
    if (inst.valueKind === "argument")
      return this.values.argumentVRegs[inst.index]! < 0 && depth[this.at.parent!.id] === 0;
    return true;
  }

  /** Whether nothing reads the constant's register after the instruction being lowered, which may then overwrite it. */
  isLastUse(value: Constant): boolean {
    const key = this.sharedConstantKey(value);
    return key === null || this.code.constants.isLastUse(key);
  }

  // ── Symbols and messages ──

  /** True when addresses must be position independent. */
  get pic(): boolean {
    return this.options.relocation !== "static";
  }

  globalSymbol(global: GlobalValue, kind: SymbolRef["kind"] = "direct"): SymbolRef {
    return { kind, target: { kind: "global", global } };
  }

  /** The block of the call of an invoke in which exceptions continue; null of other calls. */
  unwindBlock(call: CallInst): MBlock | null {
    return call.op === Op.Invoke ? this.blocks.head(call.blocks[1] as Block) : null;
  }

  unsupported(construct: string): never {
    const error = new UnsupportedError(construct, `function '${this.mf.name}'`);
    error.origin = this.code.origin;
    throw error;
  }
}
