/**
 * Operations of eight bytes of whose result only the low half is read become operations of four: their encoding has no REX.W,
 * moves and spills of what they make are shorter, and a sign extension that nobody looks at is a copy.
 *
 * A register is needed whole if some instruction reads all of it, or the low half of it does not do for one whose result is
 * needed whole. What is left can be made in four bytes: in sums, products, logic and shifts to the left no bit depends on
 * higher ones (arithmetic modulo 2^32).
 *
 * Obligations: nobody reads the flags of what is narrowed, as they say something else then (those of a conjunction with a
 * positive constant do not); accesses keep their width; debug records do not speak of a register that has its low half alone.
 * Linear in the function.
 */
import {
  forEachUse,
  type MBlock,
  type MFunction,
  type MInst,
  type RegOperand,
  type VReg,
} from "../../codegen/mir.js";
import { killsFlags } from "../isa/effects.js";
import { argumentSize, opFormat, readsFlags, writesFlags } from "../isa/op-info.js";
import { Format, X } from "../isa/ops.js";
import { GPR } from "../isa/registers.js";
import { fitsImm32 } from "./operand-facts.js";

/** Narrows what it can. */
export function narrowLowHalves(mf: MFunction): void {
  const narrowing = new Narrowing(mf);
  if (narrowing.find()) narrowing.apply();
}

const isPositive = (imm: MInst["imm"]): boolean => imm !== null && imm >= 0 && imm <= 0x7fffffff;

/** Has no bits from 31 on, whatever its other operand is. */
const isMask = ({ op, imm, symbol, mem }: MInst): boolean =>
  op === X.And && mem === null && symbol === null && isPositive(imm);

/** To eight bytes from four. */
const isZeroExtension = ({ op, size, mem, uses }: MInst): boolean =>
  op === X.Mov && size === 4 && mem === null && uses.length === 1;

/** Reads four bytes or less, whatever is needed of the result. */
const isExtension = (inst: MInst): boolean => opFormat[inst.op] === Format.Extend || isZeroExtension(inst);

/** The low half of the result follows from the low halves of the operands. */
function isLowByLow({ op, mem, imm, symbol }: MInst): boolean {
  if (symbol !== null) return false;
  if (op === X.Lea) return mem!.symbol === null && mem!.slot < 0 && mem!.mode >> 2 === 0;
  if (mem !== null) return false;
  switch (op) {
    case X.Copy:
    case X.Mov:
    case X.Movsx8:
    case X.Movsx16:
    case X.Movsxd:
    case X.Add:
    case X.Sub:
    case X.And:
    case X.Or:
    case X.Xor:
    case X.Imul:
    case X.ImulImm:
    case X.Neg:
    case X.Not:
    case X.Inc:
    case X.Dec:
    case X.Cmov:
      return true;
    case X.Shl:
      return imm !== null && imm < 32;
    default:
      return false;
  }
}

/** Reads no more than four bytes of its register operands, but for those of an address. */
function readsLow({ op, size }: MInst): boolean {
  switch (opFormat[op]!) {
    case Format.Extend:
      return true;
    case Format.Mov:
      return argumentSize(op, size) <= 4;
    case Format.MovM:
    case Format.Alu:
    case Format.AluM:
    case Format.Compare:
    case Format.CompareM:
    case Format.Unary:
    case Format.Shift:
    case Format.MulImm:
    case Format.Wide:
      return size <= 4 && argumentSize(op, size) <= 4;
    default:
      return false;
  }
}

class Narrowing {
  /** By register: 1 if it is needed whole. */
  private readonly whole: Uint8Array;
  /** By register: 1 if it keeps its low half alone, and was whole. */
  private readonly halved: Uint8Array;
  /** What defines each register, if the low half of that follows from low halves. */
  private readonly maker: (MInst | null)[];
  /** Of each block's parameter what is passed. */
  private readonly passed: (VReg[] | null)[];
  private readonly work: VReg[] = [];

  constructor(private readonly mf: MFunction) {
    const count = mf.vregs.length;
    this.whole = new Uint8Array(count);
    this.halved = new Uint8Array(count);
    this.maker = new Array<MInst | null>(count).fill(null);
    this.passed = new Array<VReg[] | null>(count).fill(null);
  }

  /** Which registers are needed whole. False if flags are read in other blocks than they are written. */
  find(): boolean {
    for (const block of this.mf.blocks) {
      if (!this.scan(block)) return false;
      for (let s = 0; s < block.succs.length; s++) {
        const { params } = block.succs[s]!;
        for (let p = 0; p < params.length; p++) {
          const { vreg } = block.succArgs[s]![p]!;
          if (vreg >= 0) (this.passed[params[p]!.vreg] ??= []).push(vreg);
        }
      }
    }
    for (let vreg = this.work.pop(); vreg !== undefined; vreg = this.work.pop()) {
      const inst = this.maker[vreg]!;
      if (inst !== null && !isExtension(inst)) this.needOperands(inst);
      for (const other of this.passed[vreg] ?? []) this.need(other);
    }
    return true;
  }

  private need(vreg: VReg): void {
    if (vreg < 0 || this.whole[vreg] === 1) return;
    this.whole[vreg] = 1;
    this.work.push(vreg);
  }

  /** All that it names, memory operands of inline assembly included. */
  private needOperands(inst: MInst): void {
    forEachUse(inst, this.needOperand);
  }
  private readonly needOperand = ({ vreg }: RegOperand): void => this.need(vreg);

  private needAddress(mem: MInst["mem"]): void {
    if (mem === null) return;
    if (mem.base !== null) this.need(mem.base.vreg);
    if (mem.index !== null) this.need(mem.index.vreg);
  }

  /** What is needed in the block whatever is needed elsewhere. False if flags come into it. */
  private scan({ insts }: MBlock): boolean {
    let flagsRead = false;
    for (let i = insts.length - 1; i >= 0; i--) {
      const inst = insts[i]!;
      const flags = flagsRead;
      if (killsFlags(inst)) flagsRead = false;
      if (readsFlags(inst.op)) flagsRead = true;
      this.scanInst(inst, flags && writesFlags(inst.op));
    }
    return !flagsRead;
  }

  private scanInst(inst: MInst, flagsRead: boolean): void {
    if (isMask(inst)) return;
    if (!flagsRead && isLowByLow(inst)) {
      if (inst.size < 8 && !isZeroExtension(inst)) return;
      const { defs } = inst;
      const vreg = defs.length === 1 ? defs[0]!.vreg : -1;
      if (vreg >= 0 && this.canNarrow(inst, vreg)) {
        this.maker[vreg] = inst;
        return;
      }
    }
    if (readsLow(inst)) this.needAddress(inst.mem);
    else this.needOperands(inst);
  }

  private canNarrow(inst: MInst, vreg: VReg): boolean {
    const { cls, remat } = this.mf.vregs[vreg]!;
    return cls === GPR && (remat === null || remat === inst);
  }

  apply(): void {
    const { mf, whole } = this;
    for (const { params, insts } of mf.blocks) {
      for (const { vreg } of params) if (whole[vreg] === 0) this.halve(vreg);
      for (const inst of insts) if (isMask(inst)) inst.size = Math.min(inst.size, 4);
    }
    this.maker.forEach((inst, vreg) => {
      if (inst === null || whole[vreg] === 1) return;
      narrow(inst);
      this.halve(vreg);
    });
    mf.debug?.marks?.forgetHighHalves((value) => this.halved[value] === 1);
  }

  /** The register keeps its low half alone. */
  private halve(vreg: VReg): void {
    const info = this.mf.vregs[vreg]!;
    if (info.cls !== GPR || info.size <= 4) return;
    info.size = 4;
    this.halved[vreg] = 1;
  }
}

function narrow(inst: MInst): void {
  if (inst.op === X.Movsxd || isZeroExtension(inst)) inst.op = X.Copy;
  if (inst.imm !== null && !fitsImm32(Number(inst.imm)))
    inst.imm = Number(BigInt.asIntN(32, BigInt(inst.imm)));
  inst.size = 4;
}
