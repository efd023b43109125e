/**
 * References in the large code model, where nothing is known of distances: symbols become 64-bit constants in registers.
 *
 *     static                          position independent
 *     movabsq $x, %r                  movabsq $x@GOTOFF, %r    what the link defines here: a distance from the table
 *     movl (%r), …                    movl (%got,%r), …
 *     movabsq $f, %r                  movabsq $f@GOT, %r       others: a distance to the word that holds the address
 *     call *%r                        movq (%got,%r), %r
 *
 * One step on selected code, before registers are allocated, so that selection knows nothing of it, and what it makes of
 * its own (pools, library routines, jump tables) is not forgotten. It changes no flags, since what it puts in may come
 * between a comparison and its branch. The table's address is computed at the entry of functions that ask for it.
 * Blocks of the function itself are near, and thread-local variables are found as in the small model, as LLVM has it.
 * Linear in the instructions.
 * What breaks it: a step after that mentions symbols in other ways (base registers, outlining and interprocedural
 * allocation are off).
 * Source: System V ABI AMD64, section 3.5 (code models).
 */
import { type MemOperand, type MFunction, MInst, RegOperand, type SymbolRef } from "../../codegen/mir.js";
import { memory, scaleOf, segmentOf } from "../isa/memory-operand.js";
import { opcodeNames } from "../isa/op-names.js";
import { X } from "../isa/ops.js";
import { GPR, maskOf, R11 } from "../isa/registers.js";
import { tailTargetMask } from "./call-target.js";

type Wide = "far" | "far-offset" | "far-got";

const far = ({ target }: SymbolRef, kind: Wide): SymbolRef => ({ kind, target });

/** Whether the reference counts on distances. Blocks of the function are near; thread-local models have their own ways. */
const isNarrow = ({ kind, target }: SymbolRef): boolean =>
  (kind === "direct" || kind === "got" || kind === "plt") && target.kind !== "block";

/** @param thunk how calls through registers are made: a mark of theirs, 0 for plainly */
export function widenReferences(mf: MFunction, isPositionIndependent: boolean, thunk: number): void {
  new Widening(mf, isPositionIndependent, thunk).run();
}

const standsAlone = ({ mem, symbol }: MInst): boolean =>
  (symbol === null || !isNarrow(symbol)) &&
  (mem === null ||
    (mem.base === null && mem.index === null && (mem.symbol === null || !isNarrow(mem.symbol))));

class Widening {
  /** The address of the global offset table. */
  private table = -1;
  private out: MInst[] = [];

  constructor(
    private readonly mf: MFunction,
    private readonly pic: boolean,
    private readonly thunk: number,
  ) {}

  run(): void {
    for (const block of this.mf.blocks) {
      this.out = [];
      for (const inst of block.insts) {
        this.rewrite(inst);
        this.out.push(inst);
      }
      block.insts = this.out;
    }
    // What could be made anew at its uses may need a register now.
    for (const info of this.mf.vregs) if (info.remat !== null && !standsAlone(info.remat)) info.remat = null;
    if (this.table < 0) return;
    const entry = this.mf.blocks[0]!.insts;
    const base = new MInst(X.GotBase, 8);
    base.defs = [new RegOperand(this.table), new RegOperand(this.newGpr())];
    entry.splice(entry.findIndex((inst) => inst.op === X.Entry) + 1, 0, base);
  }

  private rewrite(inst: MInst): void {
    const { op, mem, extra, symbol } = inst;
    if (extra?.kind === "asm") {
      for (const operand of extra.operands)
        if (operand.kind === "mem" && operand.mem !== mem) this.widen(operand.mem);
    }
    if (mem !== null && mem.symbol !== null && isNarrow(mem.symbol)) {
      const { disp, base, index } = mem;
      if (op === X.Mov && mem.symbol.kind === "got") return this.loadAddress(inst, mem.symbol);
      if (op === X.Lea && base === null && index === null && !this.pic) {
        inst.op = X.Mov;
        inst.symbol = far(mem.symbol, "far");
        inst.imm = disp;
        inst.mem = null;
      } else this.widen(mem);
    }
    if (symbol === null || !isNarrow(symbol)) return;
    switch (op) {
      case X.Mov:
        inst.size = 8;
        inst.symbol = far(symbol, "far");
        return;
      case X.MovM:
        inst.uses.push(new RegOperand(this.constant(far(symbol, "far"), inst.imm ?? 0)));
        inst.symbol = null;
        inst.imm = null;
        return;
      case X.Call:
      case X.TailCall: {
        inst.op = op === X.Call ? X.CallIndirect : X.TailCallIndirect;
        const target = new RegOperand(this.target(symbol));
        if (this.thunk !== 0) {
          inst.marks = this.thunk;
          target.allowed = maskOf(R11);
        } else if (op === X.TailCall) target.allowed = tailTargetMask;
        inst.uses.unshift(target);
        inst.symbol = null;
        return;
      }
      default:
        throw new Error(`@${this.mf.name}: ${opcodeNames[op]} of a symbol in the large code model`);
    }
  }

  /** A load of a symbol's address from the table. */
  private loadAddress(inst: MInst, symbol: SymbolRef): void {
    if (!this.pic) {
      inst.mem = null;
      inst.symbol = far(symbol, "far");
      inst.imm = 0;
      return;
    }
    const distance = this.constant(far(symbol, "far-got"), 0);
    inst.mem = memory(this.got(), new RegOperand(distance), 1, 0);
  }

  /** The address of what is called, in a register. */
  private target(symbol: SymbolRef): number {
    if (!this.pic) return this.constant(far(symbol, "far"), 0);
    const load = new MInst(symbol.kind === "plt" ? X.Mov : X.Lea, 8);
    const to = this.newGpr();
    load.defs = [new RegOperand(to)];
    const distance = this.constant(far(symbol, symbol.kind === "plt" ? "far-got" : "far-offset"), 0);
    load.mem = memory(this.got(), new RegOperand(distance), 1, 0);
    this.out.push(load);
    return to;
  }

  /** Takes the symbol out of an operand. */
  private widen(mem: MemOperand): void {
    const { symbol, base, index } = mem;
    if (symbol === null || !isNarrow(symbol)) return;
    if (symbol.kind === "got") throw new Error(`@${this.mf.name}: an address in memory is used there`);
    const place = this.constant(far(symbol, this.pic ? "far-offset" : "far"), mem.disp);
    const plain = memory(null, null, index === null ? 1 : scaleOf(mem), 0, null, false, -1, segmentOf(mem));
    mem.symbol = null;
    mem.disp = 0;
    mem.mode = plain.mode;
    const parts: RegOperand[] = [new RegOperand(place)];
    if (this.pic) parts.push(this.got());
    if (base !== null) parts.push(base);
    const last = index ?? (parts.length > 1 ? parts.pop()! : null);
    while (parts.length > 1) {
      const sum = new MInst(X.Lea, 8);
      const to = this.newGpr();
      sum.defs = [new RegOperand(to)];
      sum.mem = memory(parts.pop()!, parts.pop()!, 1, 0);
      this.out.push(sum);
      parts.push(new RegOperand(to));
    }
    mem.base = parts[0]!;
    mem.index = last;
  }

  private constant(symbol: SymbolRef, addend: number | bigint): number {
    const move = new MInst(X.Mov, 8);
    const to = this.newGpr();
    move.defs = [new RegOperand(to)];
    move.symbol = symbol;
    move.imm = addend;
    this.mf.vregs[to]!.remat = move;
    this.out.push(move);
    return to;
  }

  private got(): RegOperand {
    if (this.table < 0) this.table = this.newGpr();
    return new RegOperand(this.table);
  }

  private newGpr(): number {
    return this.mf.newVReg(GPR, 8);
  }
}
