/** What lowering of any kind makes x86-64 code with: registers of its classes, and common instructions. */

import { type MBlock, type MemOperand, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import type { ConstantRoom } from "../../codegen/select/constant-room.js";
import { FunctionSelection, type SelectionInput } from "../../codegen/select/function-selection.js";
import { UnsupportedError } from "../../ir/errors.js";
import { type Inst, isPlainAccess, Op } from "../../ir/instructions.js";
import { type Intrinsic, intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { allFeatures } from "../isa/features.js";
import { hasHighRegisters } from "../isa/high-registers.js";
import { memory } from "../isa/memory-operand.js";
import { type Cc, JumpMark, X } from "../isa/ops.js";
import { GPR, XMM } from "../isa/registers.js";
import { type VectorFeatures, vectorFeatures } from "../isa/vector-features.js";
import { useVex } from "../isa/vex.js";
import { vectorKey } from "./constants.js";
import { VarArgs } from "./var-args.js";

/** Those that end in a conditional move. */
const conditionalMoves: ReadonlySet<Intrinsic> = new Set([
  intrinsics.smin,
  intrinsics.smax,
  intrinsics.umin,
  intrinsics.umax,
  intrinsics.abs,
]);

const vectorKinds: ReadonlySet<string> = new Set(["float", "double", "half", "bfloat", "fp128", "vector"]);

export abstract class Selector extends FunctionSelection {
  readonly features: ReadonlySet<string>;
  readonly vectorFeatures: VectorFeatures;
  /** By register: what it holds at the entry, for functions that preserve more than others. */
  readonly kept = new Map<number, VReg>();
  readonly varArgs = new VarArgs();

  constructor(input: SelectionInput) {
    super(input);
    const set = input.legal.fn.attributes.fn;
    this.features = allFeatures(set.string("target-features") ?? "");
    this.vectorFeatures = vectorFeatures(set);
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

  get keepsFloats(): boolean {
    return this.vectorFeatures.avx;
  }

  /** Operations with two operands would overwrite the constant. */
  override get constantRoom(): ConstantRoom | null {
    if (!this.vectorFeatures.avx) return null;
    return {
      registers: hasHighRegisters(this.mf.fn) ? 32 : 16,
      inVector: ({ kind }) => vectorKinds.has(kind),
      key: (value) => vectorKey(this.layout, value),
    };
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

  /** Spill size of a value of the type: 4, 8, 16, 32 or 64 bytes. */
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
      case "vector":
        return this.layout.storeSize(type);
      default:
        return 16;
    }
  }

  newGpr(size = 8): VReg {
    return this.mf.newVReg(GPR, size <= 4 ? 4 : 8);
  }
  newXmm(size = 16): VReg {
    return this.mf.newVReg(XMM, size);
  }

  livesInMemory(type: Type): boolean {
    return type.kind === "x86_fp80";
  }

  isZeroAbove(value: Value, bits: number): boolean {
    if (value.valueKind === "argument") return bits <= 32 && this.abi.zeroExtended[value.index] === 1;
    return this.resultIsZeroAbove(value);
  }

  /** The register of `source` already holds zero above its type's width. */
  private resultIsZeroAbove(source: Value): boolean {
    if (source.valueKind !== "inst" || source.type.kind !== "int" || source.type.bits < 8) return false;
    switch (source.op) {
      case Op.Load:
        // Narrow integer loads with a zero-extending user are emitted as movz; 32-bit loads zero the rest.
        return isPlainAccess(source) && this.values.signExtended[source.id] === 0;
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
        if (source.op !== Op.And && source.op !== Op.Or && source.op !== Op.Xor) return false;
        if (source.operands[1]!.valueKind !== "int") return this.combinesLoads(source);
        // A non-negative mask clears everything above it in the 32-bit operation.
        return source.op === Op.And && source.operands[1]!.num >= 0;
      case Op.Trunc: {
        // As wide as its operand's register, where a count of bits is.
        const count = source.operands[0]!;
        return (
          count.valueKind === "inst" &&
          count.op === Op.Call &&
          intrinsicOf(count.operands[0]!) === intrinsics.ctpop
        );
      }
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
   * Whether the operands of a bitwise operation are loads that leave zeros above them, as they have to from then on; of `and`, one of
   * them, where the operation is done wide.
   */
  private combinesLoads({ op, operands }: Inst): boolean {
    const loads = operands.filter((value) => value.valueKind === "inst" && value.op === Op.Load);
    if (loads.length < (op === Op.And ? 1 : 2)) return false;
    return loads.every((value) => this.relyOnZeros(value, 32));
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

  /** Instructions of vector registers get their VEX form where the function has AVX: selection names those of SSE. */
  override emit(inst: MInst): MInst {
    if (this.vectorFeatures.avx) useVex(inst);
    return super.emit(inst);
  }

  // ── Small instruction builders ──

  jumpIf(cc: Cc, target: MBlock): void {
    const inst = new MInst(X.Jcc, 8);
    inst.condition = cc;
    inst.targets = [target];
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

  load(op: number, size: number, to: VReg, mem: MemOperand): MInst {
    const inst = new MInst(op, size);
    inst.defs = [new RegOperand(to)];
    inst.mem = mem;
    return this.emit(inst);
  }

  store(op: number, size: number, mem: MemOperand, from: VReg): MInst {
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

  slotMem(slot: number, disp = 0): MemOperand {
    return memory(null, null, 1, disp, null, false, slot);
  }
}
