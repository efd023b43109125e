/**
 * A machine that is made up, for what lto/codegen/select does without knowing one: 64-bit registers, three-operand
 * instructions that leave rubbish above the size they work on, branches that compare, no flags, nothing that folds.
 * Values of type double live in memory, so that there are such.
 */
import type { LegalFunction } from "../../lto/codegen/legalize/index.js";
import { type JumpTable, type MBlock, MInst, RegOperand, type VReg } from "../../lto/codegen/mir.js";
import { noRegisters } from "../../lto/codegen/register-set.js";
import { foldedInteger, symbolOffset } from "../../lto/codegen/select/constants.js";
import type { AbiArgument, ArgumentLayout } from "../../lto/codegen/select/function-abi.js";
import { FunctionSelection, type LandingPadForm } from "../../lto/codegen/select/function-selection.js";
import { gepTerms } from "../../lto/codegen/select/gep.js";
import { operationSize } from "../../lto/codegen/select/operation-size.js";
import type { SwitchCode } from "../../lto/codegen/select/switch.js";
import type { Target } from "../../lto/codegen/target.js";
import { type CallInst, type Inst, type InstWith, type IntPredicate, Op } from "../../lto/ir/instructions.js";
import type { Type } from "../../lto/ir/types.js";
import type { Constant, Value } from "../../lto/ir/values.js";
import type { SwitchCosts } from "../../lto/target/switches.js";

/** Operations of the machine. Their operands are registers of which they read `size` bytes, and `imm`. */
export enum Toy {
  Copy = 0,
  Entry,
  Const,
  Add,
  Sub,
  Mul,
  And,
  Or,
  Xor,
  Shl,
  LShr,
  AShr,
  /** Of `imm` bytes, to all of the register. */
  ZExt,
  SExt,
  /** 0 or 1: uses[0] is equal to uses[1], less, less as an unsigned number. */
  Equal,
  Less,
  LessU,
  /** uses[0] is odd: uses[1], else uses[2]. */
  Select,
  SlotAddress,
  /** At uses[0] plus `imm`. */
  Load,
  Store,
  /** Eight bytes from uses[0] to uses[1]. */
  CopyMemory,
  Jump,
  /** If the comparison holds, by `Toy` in `condition`. */
  Branch,
  /** If uses[0] is odd. */
  BranchOdd,
  TableJump,
  Return,
  Trap,
}

export const toyTarget = (costs: SwitchCosts): Target =>
  ({
    name: "toy",
    instructions: {
      jump(to: MBlock): MInst {
        const inst = new MInst(Toy.Jump, 8);
        inst.targets = [to];
        return inst;
      },
    },
    costs: { switches: { minsize: costs, size: costs, speed: costs } },
  }) as unknown as Target;

const arithmetic: Partial<Record<Op, Toy>> = {
  [Op.Add]: Toy.Add,
  [Op.Sub]: Toy.Sub,
  [Op.Mul]: Toy.Mul,
  [Op.And]: Toy.And,
  [Op.Or]: Toy.Or,
  [Op.Xor]: Toy.Xor,
  [Op.Shl]: Toy.Shl,
  [Op.LShr]: Toy.LShr,
  [Op.AShr]: Toy.AShr,
};

/** How a comparison is made: by which operation, with operands exchanged, with the result inverted. */
const comparisons: Readonly<Record<IntPredicate, readonly [Toy, boolean, boolean]>> = {
  eq: [Toy.Equal, false, false],
  ne: [Toy.Equal, false, true],
  slt: [Toy.Less, false, false],
  sge: [Toy.Less, false, true],
  sgt: [Toy.Less, true, false],
  sle: [Toy.Less, true, true],
  ult: [Toy.LessU, false, false],
  uge: [Toy.LessU, false, true],
  ugt: [Toy.LessU, true, false],
  ule: [Toy.LessU, true, true],
};

export class ToySelection extends FunctionSelection {
  readonly landingPad: LandingPadForm = { op: Toy.Trap, registers: [0, 1] };

  classOf(): number {
    return 0;
  }
  spillSize(): number {
    return 8;
  }
  livesInMemory(type: Type): boolean {
    return type.kind === "double";
  }
  isZeroAbove(): boolean {
    return false;
  }
  sharedConstantKey(value: Constant): string | null {
    return value.valueKind === "int" ? `${value.type.bits}:${value.value}` : null;
  }
  readonly keepsFloats = false;
  isExpensive(value: Constant): boolean {
    return value.valueKind === "int" && value.num > 1000;
  }
  materialize(value: Constant): VReg {
    if (value.valueKind === "undef") return this.constantReg(0xdeadn);
    // The one place in memory that is nobody's slot.
    if (symbolOffset(this.layout, value) !== null) return this.constantReg(4096n);
    const folded = foldedInteger(this.layout, value);
    if (folded === null) return this.unsupported(`constant ${value.valueKind}`);
    return this.constantReg(folded);
  }
  slotAddress(slot: number, disp = 0): VReg {
    const inst = this.make(Toy.SlotAddress, 8, []);
    inst.mem = null;
    inst.imm = slot * 256 + disp;
    return inst.defs[0]!.vreg;
  }
  storeToSlot(slot: number, value: Value): void {
    const to = this.slotAddress(slot);
    if (value.valueKind === "float" || value.valueKind === "zero")
      this.store(this.constantReg(value.valueKind === "float" ? value.bits : 0n), to, 8);
    else this.effect(Toy.CopyMemory, 8, [this.slotAddress(this.slots.of(this.resolve(value))), to]);
  }
  copySlot(to: number, from: number): void {
    this.effect(Toy.CopyMemory, 8, [this.slotAddress(from), this.slotAddress(to)]);
  }

  askedConvention(convention: number): number {
    return convention;
  }
  mayLeaveBy(): boolean {
    return true;
  }
  layoutArguments(args: readonly AbiArgument[]): ArgumentLayout {
    const places = args.map((_, register) => ({ kind: "register", register }) as const);
    return { places, stackBytes: 0, registerCounts: [args.length], align: 8 };
  }
  resultRegisters(types: readonly Type[]): number[] {
    return types.map((_, i) => i);
  }
  prepareConvention(): void {}
  prepareFrame(): void {}
  selectEntry({ args }: LegalFunction): void {
    const entry = new MInst(Toy.Entry, 8);
    // Of those that nobody wants, no definition: the place in the list is the argument's.
    entry.defs = args.map(({ argument }) => new RegOperand(this.values.argumentVRegs[argument.index]!));
    this.emit(entry);
  }
  writesFramePointer(): boolean {
    return false;
  }

  selectInst(inst: Inst): void {
    const result = this.resultOf(inst);
    const [a, b, c] = inst.operands as [Value, Value, Value];
    const size = inst.type.kind === "void" ? 8 : operationSize(this.layout, inst.type);
    switch (inst.op) {
      case Op.Store:
        if (this.livesInMemory(a.type)) {
          const to = this.reg(b);
          const aside = this.mf.newSlot(8, 8);
          this.storeToSlot(aside, a);
          return void this.effect(Toy.CopyMemory, 8, [this.slotAddress(aside), to]);
        }
        return this.store(this.reg(a), this.reg(b), operationSize(this.layout, a.type));
      case Op.Load:
        if (this.livesInMemory(inst.type))
          return void this.effect(Toy.CopyMemory, 8, [this.reg(a), this.slotAddress(this.slots.of(inst))]);
        return this.into(Toy.Load, size, result, [this.reg(a)]);
      case Op.ICmp:
        return this.compare(inst, result);
      case Op.Select:
        return this.into(Toy.Select, 8, result, [this.reg(a), this.reg(b), this.reg(c)]);
      case Op.ZExt:
      case Op.SExt: {
        const bits = a.type.bits;
        const op = inst.op === Op.ZExt ? Toy.ZExt : Toy.SExt;
        return this.into(op, 8, result, [this.reg(a)], bits);
      }
      case Op.GetElementPtr:
        return this.selectGep(inst, result);
      case Op.Trunc:
      case Op.Freeze:
      case Op.IntToPtr:
      case Op.PtrToInt:
        return this.copy(result, this.reg(a), 8);
      default: {
        const op = arithmetic[inst.op];
        if (op === undefined) return this.unsupported(`operation ${inst.op}`);
        this.into(op, size, result, [this.reg(a), this.reg(b)]);
      }
    }
  }

  private selectGep(gep: InstWith<Op.GetElementPtr>, result: VReg): void {
    const terms = gepTerms(this.layout, gep, (n): n is number => Number.isInteger(n));
    if (terms === null) return this.unsupported("getelementptr of several variables");
    const base = this.reg(gep.operands[0]!);
    const offset = this.constantReg(BigInt(terms.offset));
    if (terms.variable === null) return this.into(Toy.Add, 8, result, [base, offset]);
    const sum = this.make(Toy.Add, 8, [base, offset]).defs[0]!.vreg;
    const scale = this.constantReg(BigInt(terms.scale));
    const wide = this.make(Toy.SExt, 8, [this.reg(terms.variable)], terms.variable.type.bits);
    const product = this.make(Toy.Mul, 8, [wide.defs[0]!.vreg, scale]).defs[0]!.vreg;
    this.into(Toy.Add, 8, result, [sum, product]);
  }

  private compare(inst: InstWith<Op.ICmp>, result: VReg): void {
    const [op, swap, invert] = comparisons[inst.data];
    const operands = inst.operands.map((operand) => this.reg(operand));
    if (swap) operands.reverse();
    const size = operationSize(this.layout, inst.operands[0]!.type);
    if (!invert) return this.into(op, size, result, operands, inst.operands[0]!.type.bits);
    const bit = this.make(op, size, operands, inst.operands[0]!.type.bits).defs[0]!.vreg;
    this.into(Toy.Xor, 1, result, [bit, this.constantReg(1n)]);
  }

  selectCall(call: CallInst): void {
    this.unsupported(`call of ${call.operands[0]!.valueKind}`);
  }
  selectIntrinsic(): void {
    this.unsupported("intrinsic");
  }
  callRoutine(): void {
    this.unsupported("routine");
  }
  selectReturn(ret: Inst): void {
    this.effect(
      Toy.Return,
      8,
      ret.operands.map((value) => {
        if (!this.livesInMemory(value.type)) return this.reg(value);
        const aside = this.mf.newSlot(8, 8);
        this.storeToSlot(aside, value);
        return this.make(Toy.Load, 8, [this.slotAddress(aside)]).defs[0]!.vreg;
      }),
    );
  }
  branchOn(bit: Value, negate: boolean, yes: MBlock, no: MBlock): void {
    this.effect(Toy.BranchOdd, 8, [this.reg(bit)]).targets = [negate ? no : yes];
    this.jump(negate ? yes : no);
  }
  selectIndirectBranch(): void {
    this.unsupported("indirectbr");
  }
  switchCode(value: VReg, type: Type): SwitchCode {
    return new ToySwitch(this, value, type);
  }
  trap(): MInst {
    return new MInst(Toy.Trap, 8);
  }

  /** An instruction without a result. */
  effect(op: Toy, size: number, uses: readonly VReg[]): MInst {
    const inst = new MInst(op, size);
    inst.uses = uses.map((vreg) => new RegOperand(vreg));
    return this.emit(inst);
  }
  into(op: Toy, size: number, result: VReg, uses: readonly VReg[], imm = 0): void {
    const inst = this.effect(op, size, uses);
    inst.defs = [new RegOperand(result, noRegisters)];
    inst.imm = imm;
  }
  /** With a result in a register of its own. */
  make(op: Toy, size: number, uses: readonly VReg[], imm = 0): MInst {
    const inst = this.effect(op, size, uses);
    inst.defs = [new RegOperand(this.mf.newVReg(0, 8))];
    inst.imm = imm;
    return inst;
  }
  constantReg(value: bigint): VReg {
    const inst = this.make(Toy.Const, 8, []);
    inst.imm = BigInt.asIntN(64, value);
    return inst.defs[0]!.vreg;
  }
  private store(value: VReg, to: VReg, size: number): void {
    this.effect(Toy.Store, size, [value, to]);
  }
}

class ToySwitch implements SwitchCode {
  readonly allowsTables = true;
  private readonly wide: VReg;
  constructor(
    private readonly s: ToySelection,
    private readonly value: VReg,
    private readonly type: Type,
  ) {
    this.wide = s.mf.newVReg(0, 8);
  }
  prepare(): void {
    this.s.into(Toy.SExt, 8, this.wide, [this.value], this.type.bits);
  }
  private branch(op: Toy, a: VReg, b: VReg, target: MBlock): void {
    const inst = this.s.effect(Toy.Branch, 8, [a, b]);
    inst.condition = op;
    inst.targets = [target];
  }
  branchIfLess(bound: bigint, target: MBlock): void {
    this.branch(Toy.Less, this.wide, this.s.constantReg(bound), target);
  }
  branchIfEqual(n: bigint, target: MBlock): void {
    this.branch(Toy.Equal, this.wide, this.s.constantReg(n), target);
  }
  private distance(low: bigint): VReg {
    return this.s.make(Toy.Sub, 8, [this.wide, this.s.constantReg(low)]).defs[0]!.vreg;
  }
  branchIfInside(low: bigint, high: bigint, target: MBlock): void {
    this.branch(Toy.LessU, this.distance(low), this.s.constantReg(high - low + 1n), target);
  }
  index(low: bigint, high: bigint, outside: MBlock): VReg {
    const index = this.distance(low);
    this.branch(Toy.LessU, this.s.constantReg(high - low), index, outside);
    return index;
  }
  tableForm(): Pick<JumpTable, "entryBytes" | "origin"> {
    return { entryBytes: 8, origin: "zero" };
  }
  jumpByTable(index: VReg, table: JumpTable, targets: readonly MBlock[]): void {
    const inst = this.s.effect(Toy.TableJump, 8, [index]);
    inst.extra = { kind: "jump-table", table };
    inst.targets = targets;
  }
}
