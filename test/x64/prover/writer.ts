/**
 * Writes random machine code as it is before the peepholes: physical registers, frames in place.
 *
 * It reads no bit that is not defined: of each register it knows how many low bytes are, by the contract `upperBits`, and
 * of the flags which conditions may be read.
 */
import { type MBlock, type MemOperand, MInst } from "../../../lto/codegen/mir.js";
import { aluImm, aluReg, baseDisp, copy, lea, movImm, physical } from "../../../lto/x64/isa/build.js";
import { memory } from "../../../lto/x64/isa/memory-operand.js";
import { AccessMark, Cc, X } from "../../../lto/x64/isa/ops.js";
import {
  R8,
  R13,
  R14,
  R15,
  RAX,
  RBP,
  RBX,
  RCX,
  RDI,
  RDX,
  RSI,
  XMM0,
} from "../../../lto/x64/isa/registers.js";
import { UpperBits, upperBits } from "../../../lto/x64/isa/upper-bits.js";
import type { Random } from "../../support/random.js";

/** Bytes at r15 that code may access; r14 is an index below 8. */
export const bufferBytes = 128;

export const allConditions = 0xffff;
export const setOf = (...ccs: Cc[]): number => ccs.reduce((set, cc) => set | (1 << cc), 0);
export const withoutCarry = allConditions & ~setOf(Cc.B, Cc.AE, Cc.BE, Cc.A);
export const ofResult = setOf(Cc.E, Cc.NE, Cc.S, Cc.NS);
const carry = 1 << Cc.B;

export const pool = [RAX, RCX, RDX, RBX, RBP, RSI, RDI, R8, R13];
const sizes = [1, 2, 4, 4, 4, 8, 8];
const immediates = [0, 0, 1, -1, -1, 2, 5, 127, 128, -127, -128, -129, 255, 256, 1000, 1100, 0xffff, 32768];
const edges = [0x7fffffff, -0x80000000, 0x12345678];
const bits = [8, 16, 24, 31, 32, 48, 56];

export class Writer {
  private insts: MInst[] = [];
  private defined: number[];
  private readable = 0;
  /** Registers that nothing may need after the code. */
  readonly unneeded = new Set<number>();
  /** @param pushes small constants may become push and pop */
  constructor(
    readonly random: Random,
    readonly registers: readonly number[],
    private readonly pushes: boolean,
  ) {
    this.defined = Array.from({ length: 16 }, () => 8);
  }

  /** A writer of a block that follows this one. */
  next(): Writer {
    const writer = new Writer(this.random, this.registers, this.pushes);
    writer.defined = [...this.defined];
    writer.readable = this.readable;
    return writer;
  }

  finish(block: MBlock, ...last: MInst[]): readonly number[] {
    block.insts = [...this.insts, ...last];
    return this.defined;
  }

  /** @param readable conditions that may be read of the flags after it; −1: as before */
  put(inst: MInst, readable = -1): void {
    this.insts.push(inst);
    if (readable >= 0) this.readable = readable;
    for (const { loc } of inst.defs)
      if (loc < 16)
        switch (upperBits(inst, this.pushes)) {
          case UpperBits.Undefined:
            this.defined[loc] = Math.min(inst.size, 8);
            break;
          case UpperBits.Kept:
            break;
          default:
            this.defined[loc] = 8;
        }
  }

  register(): number {
    return this.random.pick(this.registers);
  }

  /** Two registers. */
  two(): [number, number] {
    const { random, registers } = this;
    const a = random.below(registers.length);
    const b = (a + 1 + random.below(registers.length - 1)) % registers.length;
    return [registers[a]!, registers[b]!];
  }

  /** A register of which `size` bytes may be read; made so if there is none at hand. */
  source(size: number): number {
    for (let n = 0; n < 4; n++) {
      const register = this.register();
      if (this.defined[register]! >= size) return register;
    }
    const register = this.register();
    if (this.defined[register]! < size) this.put(movImm(8, register, this.immediate()));
    return register;
  }

  private immediate(): number {
    return this.random.oneIn(6) ? this.random.pick(edges) : this.random.pick(immediates);
  }

  immediateOf(size: number): number {
    const value = this.immediate();
    return size === 1 ? (value << 24) >> 24 : size === 2 ? (value << 16) >> 16 : value;
  }

  address(): MemOperand {
    const disp = this.random.below(10) * 4 + (this.random.oneIn(4) ? this.random.below(4) : 0);
    if (!this.random.oneIn(4)) return baseDisp(R15, disp);
    return memory(physical(R15), physical(R14), this.random.pick([1, 2, 4] as const), disp);
  }

  make(op: X, size: number, defs: readonly number[], uses: readonly number[]): MInst {
    const inst = new MInst(op, size);
    inst.defs = defs.map(physical);
    inst.uses = uses.map(physical);
    return inst;
  }

  size(): number {
    return this.random.pick(sizes);
  }

  private arithmetic(): void {
    const { random } = this;
    const op = random.pick([X.Add, X.Add, X.Sub, X.Sub, X.And, X.Or, X.Xor, X.Adc, X.Sbb]);
    const takesCarry = op === X.Adc || op === X.Sbb;
    if (takesCarry && (this.readable & carry) === 0) return;
    const size = takesCarry ? random.pick([4, 8]) : this.size();
    const to = this.source(size);
    if (random.oneIn(2)) this.put(aluImm(op, size, to, this.immediateOf(size)), allConditions);
    else if (random.oneIn(4)) {
      const inst = aluReg(op, size, to, to);
      inst.uses.pop();
      inst.mem = this.address();
      this.put(inst, allConditions);
    } else this.put(aluReg(op, size, to, this.source(size)), allConditions);
  }

  private onMemory(): void {
    const { random } = this;
    const op = random.pick([X.AddM, X.SubM, X.AndM, X.OrM, X.XorM, X.IncM, X.DecM]);
    const size = this.size();
    const inst = new MInst(op, size);
    inst.mem = this.address();
    if (op === X.IncM || op === X.DecM) this.put(inst, withoutCarry);
    else {
      if (random.oneIn(2)) inst.imm = this.immediateOf(size);
      else inst.uses = [physical(this.source(size))];
      this.put(inst, allConditions);
    }
    if (!random.oneIn(2)) return;
    // What was changed, read back and tested.
    const wide = Math.max(size, 4);
    const to = this.register();
    const load = this.make(size === 1 ? X.Movzx8 : size === 2 ? X.Movzx16 : X.Mov, wide, [to], []);
    load.mem = { ...inst.mem } as MemOperand;
    if (load.op === X.Mov) load.marks = AccessMark.Reload;
    this.put(load);
    this.put(this.make(X.Test, size, [], [to, to]), allConditions);
    this.reader();
  }

  private unary(): void {
    const op = this.random.pick([X.Inc, X.Dec, X.Neg, X.Not]);
    const size = this.size();
    const inst = aluImm(op, size, this.source(size), 0);
    inst.imm = null;
    this.put(inst, op === X.Not ? -1 : op === X.Neg ? allConditions : withoutCarry);
  }

  private shift(): void {
    const { random } = this;
    const size = random.pick([4, 4, 8, 8, 2]);
    const to = this.source(size);
    const count = random.oneIn(3) ? random.pick([1, 2, 3, 5]) : random.pick(bits) % (size * 8);
    const effect = count === 0 ? 0 : ofResult;
    if (random.oneIn(2)) {
      this.put(aluImm(X.Shl, size, to, count), effect);
      if (random.oneIn(3)) this.put(copy(8, this.register(), this.source(8)));
      if (this.defined[to]! < size) return;
    }
    this.put(aluImm(random.pick([X.Sar, X.Shr, X.Shl]), size, to, count), effect);
  }

  /** By cl, which may be nothing; or around. */
  private shiftByCount(): void {
    const { random } = this;
    const size = random.pick([2, 4, 8]);
    const to = this.source(size);
    const op = random.pick([X.Shl, X.Shr, X.Sar, X.Rol, X.Ror]);
    const isRotation = op === X.Rol || op === X.Ror;
    if (isRotation && random.oneIn(2)) this.put(aluImm(op, size, to, random.below(size * 8)), 0);
    else this.put(aluReg(op, size, to, RCX), 0);
  }

  private multiplication(): void {
    const { random } = this;
    const size = random.pick([2, 4, 8]);
    const inst = random.oneIn(2)
      ? aluReg(X.Imul, size, this.source(size), this.source(size))
      : this.make(X.ImulImm, size, [this.register()], [this.source(size)]);
    if (inst.op === X.ImulImm) inst.imm = this.immediateOf(size);
    this.put(inst, setOf(Cc.O, Cc.NO, Cc.B, Cc.AE));
  }

  /** Tests of bits, and searches for them: of what is not zero, else the result is whatever was there. */
  private bit(): void {
    const { random } = this;
    const size = random.pick([4, 8]);
    if (random.oneIn(2)) {
      const value = this.source(size);
      const op = random.pick([X.Bt, X.Bts, X.Btr, X.Btc]);
      const inst = op === X.Bt ? this.make(op, size, [], [value]) : this.make(op, size, [value], [value]);
      if (random.oneIn(2)) inst.imm = random.below(size * 8);
      else inst.uses.push(physical(this.source(size)));
      return this.put(inst, setOf(Cc.B, Cc.AE));
    }
    const from = this.source(size);
    this.put(aluImm(X.Or, size, from, 1 << random.below(7)), allConditions);
    this.put(this.make(random.pick([X.Bsf, X.Bsr]), size, [this.register()], [from]), setOf(Cc.E, Cc.NE));
  }

  private compare(): void {
    const { random } = this;
    const size = this.size();
    const isTest = random.oneIn(3);
    const inst = new MInst(isTest ? X.Test : X.Cmp, size);
    const a = this.source(size);
    inst.uses = [physical(a)];
    if (isTest && random.oneIn(2)) inst.uses.push(physical(a));
    else if (random.oneIn(2)) inst.imm = this.immediateOf(size);
    else if (random.oneIn(4)) inst.mem = this.address();
    else inst.uses.push(physical(this.source(size)));
    if (inst.mem !== null && random.oneIn(2)) {
      inst.op = isTest ? X.TestM : X.CmpM;
      if (random.oneIn(2)) {
        inst.uses = [];
        inst.imm = this.immediateOf(size);
      }
    }
    this.put(inst, allConditions);
    this.reader();
    if (random.oneIn(3)) this.reader();
    if (random.oneIn(4) && inst.uses.every(({ loc }) => this.defined[loc]! >= size)) {
      this.put(this.again(inst), allConditions);
      this.reader();
    }
  }

  private again({ op, size, uses, imm, mem }: MInst): MInst {
    const inst = this.make(
      op as X,
      size,
      [],
      uses.map(({ loc }) => loc),
    );
    inst.imm = imm;
    if (mem !== null) inst.mem = { ...mem } as MemOperand;
    return inst;
  }

  private condition(): Cc {
    for (;;) {
      const cc = this.random.below(16);
      if ((this.readable & (1 << cc)) !== 0) return cc as Cc;
    }
  }

  /** Reads the flags, if something may be read. */
  reader(): void {
    if (this.readable === 0) return;
    const { random } = this;
    const cc = this.condition();
    if (random.oneIn(3)) {
      const size = random.pick([4, 8]);
      const to = this.source(size);
      const move = aluReg(X.Cmov, size, to, to);
      move.uses[1] = physical(this.source(size));
      move.condition = this.readable === 0 ? -1 : cc;
      if (move.condition >= 0 && this.defined[to]! >= size) this.put(move);
      return;
    }
    const results = random.oneIn(3) ? 2 : 1;
    const set = Array.from({ length: results }, () => this.register());
    for (const register of set) {
      const inst = this.make(X.Setcc, 1, [register], []);
      inst.condition = this.condition();
      this.put(inst);
    }
    for (const register of set)
      if (!random.oneIn(4))
        this.put(this.make(X.Movzx8, 4, [random.oneIn(3) ? this.register() : register], [register]));
  }

  private constant(): void {
    const { random } = this;
    const size = random.pick([4, 4, 8]);
    const inst = movImm(size, this.register(), this.immediate());
    if (size === 8 && random.oneIn(3)) inst.imm = Number(inst.imm) >>> 0;
    if (size === 8 && random.oneIn(12)) inst.imm = 0x1234567890abn - BigInt(random.below(200));
    this.put(inst);
  }

  private move(): void {
    const size = this.random.pick([4, 8]);
    this.put(copy(size, this.register(), this.source(size)));
  }

  private extension(): void {
    const { random } = this;
    const op = random.pick([X.Movzx8, X.Movzx8, X.Movzx16, X.Movsx8, X.Movsx16, X.Movsxd]);
    const read = op === X.Movsxd ? 4 : op === X.Movzx16 || op === X.Movsx16 ? 2 : 1;
    const size = op === X.Movsxd ? 8 : op === X.Movzx8 || op === X.Movzx16 ? 4 : random.pick([4, 8]);
    const inst = this.make(op, size, [this.register()], []);
    if (random.oneIn(5)) inst.mem = this.address();
    else {
      const from = this.source(read);
      inst.uses = [physical(from)];
      if (random.oneIn(2)) inst.defs = [physical(from)];
    }
    this.put(inst);
  }

  private load(): void {
    const inst = this.make(X.Mov, this.random.pick([4, 8]), [this.register()], []);
    inst.mem = this.address();
    if (this.random.oneIn(2)) inst.marks = AccessMark.Reload;
    this.put(inst);
  }

  /** Of a register, or several constants side by side. */
  private store(): void {
    const { random } = this;
    const mem = this.address();
    const count = random.oneIn(2) ? 1 : 2 + random.below(4);
    let disp = mem.disp;
    for (let n = 0; n < count; n++) {
      const size = this.size();
      const inst = new MInst(X.MovM, size);
      inst.mem = { ...mem, disp } as MemOperand;
      disp = Math.min(disp + size, 56);
      if (!random.oneIn(5)) inst.marks = AccessMark.Plain;
      if (count === 1 && random.oneIn(2)) inst.uses = [physical(this.source(size))];
      else inst.imm = this.immediateOf(size);
      this.put(inst);
    }
  }

  private address64(): void {
    const { random } = this;
    const size = random.pick([2, 4, 8, 8]);
    const base = this.source(8);
    const index = random.oneIn(2) ? this.source(8) : -1;
    if (this.defined[base]! < 8 || (index >= 0 && this.defined[index]! < 8)) return;
    const to = random.oneIn(2) ? base : this.register();
    const scale = index >= 0 ? random.pick([1, 1, 2, 4] as const) : 1;
    const disp = random.oneIn(2) ? 0 : this.immediate();
    const first = index >= 0 && random.oneIn(4) ? null : physical(base);
    this.put(lea(size, to, memory(first, index < 0 ? null : physical(index), scale, disp)));
  }

  private vector(): void {
    const { random } = this;
    const to = XMM0 + random.below(2);
    const kind = random.below(4);
    if (kind < 2) this.put(this.make(X.XorpsZero, 16, [to], []));
    else if (kind === 2) this.put(copy(16, to, XMM0 + random.below(2)));
    else this.put(this.make(X.MovdFrom, 16, [this.register()], [to]));
  }

  one(): void {
    switch (this.random.below(18)) {
      case 0:
      case 1:
        return this.arithmetic();
      case 2:
        return this.onMemory();
      case 3:
        return this.unary();
      case 4:
        return this.shift();
      case 5:
      case 6:
        return this.compare();
      case 7:
        return this.reader();
      case 8:
      case 9:
        return this.constant();
      case 10:
        return this.move();
      case 11:
        return this.extension();
      case 12:
        return this.load();
      case 13:
        return this.store();
      case 14:
        return this.address64();
      case 15:
        return this.random.oneIn(2) ? this.multiplication() : this.shiftByCount();
      case 16:
        return this.bit();
      default:
        return this.random.oneIn(3) ? this.vector() : this.move();
    }
  }

  /** A branch on the flags. */
  branch(target: MBlock): MInst {
    while (this.readable === 0) this.compare();
    const jump = new MInst(X.Jcc, 8);
    jump.condition = this.condition();
    jump.targets = [target];
    return jump;
  }
}
