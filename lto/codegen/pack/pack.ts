/** Functions to words: see format.ts. */

import type { GlobalValue } from "../../ir/module.js";
import {
  type AsmData,
  type CallInfo,
  type LandingPadInfo,
  type MBlock,
  type MExtra,
  type MemOperand,
  type MFunction,
  type MInst,
  noLocation,
  type RegOperand,
  type SymbolRef,
} from "../mir.js";
import { highWord, lowWord } from "../register-set.js";
import { packDebug } from "./debug.js";
import {
  asmOperands,
  defsShift,
  extras,
  goals,
  HasClobbers,
  HasDetail,
  HasExtra,
  HasImm,
  HasMem,
  HasSymbol,
  HasTargets,
  HasWideImm,
  IsLarge,
  marksShift,
  maxDefs,
  maxUses,
  type PackedFunction,
  Property,
  slotKinds,
  symbolKindBits,
  symbolKinds,
  symbolTargets,
  tableOrigins,
  unwindTables,
  usesShift,
} from "./format.js";
import type { SymbolNumbers } from "./symbol-numbers.js";
import { WordWriter } from "./words.js";

/** Positions among the words of a function. */
export interface PackedPlaces {
  /** Of numbers of globals. */
  readonly globals: number[];
  /** Of numbers of sets of callees. */
  readonly sets: number[];
}

/**
 * The function as words; it may be thrown away, or go on.
 * @param places is given the positions of the words that are numbers of what else is in the program
 */
export function packFunction(
  mf: MFunction,
  symbols: SymbolNumbers,
  places: PackedPlaces | null = null,
): PackedFunction {
  const packer = new Packer(mf, symbols, places);
  packer.header();
  const code = packer.out.length;
  packer.tables();
  const blocks = packer.out.length;
  packer.blockCode();
  const packed = { symbol: symbols.numberOf(mf.fn), words: packer.out.finish(), code, blocks };
  const debug = packDebug(mf);
  return {
    ...packed,
    ...(packer.hasOrigins ? { origins: originsOf(mf) } : {}),
    ...(debug === undefined ? {} : { debug }),
  };
}

function originsOf({ blocks }: MFunction): Int32Array {
  return Int32Array.from(blocks.flatMap(({ insts }) => insts.map(({ origin }) => origin)));
}

class Packer {
  readonly out = new WordWriter();
  hasOrigins = false;
  /** Positions of the blocks by id; those of blocks that are not in the function are missing. */
  private readonly positions: number[] = [];
  constructor(
    private readonly mf: MFunction,
    private readonly symbols: SymbolNumbers,
    private readonly places: PackedPlaces | null,
  ) {
    mf.blocks.forEach((block, i) => {
      this.positions[block.id] = i;
    });
  }

  header(): void {
    const { mf, out } = this;
    out.word(goals.indexOf(mf.goal));
    out.word(
      (mf.hasDynamicAlloca ? Property.DynamicAlloca : 0) |
        (mf.hasCalls ? Property.Calls : 0) |
        (mf.noRedZone ? Property.NoRedZone : 0) |
        (mf.needsFramePointer ? Property.NeedsFramePointer : 0) |
        (mf.returnsTwice ? Property.ReturnsTwice : 0) |
        (unwindTables.indexOf(mf.unwind) << Property.Unwind) |
        (mf.framePointer ? Property.FramePointer : 0) |
        ((32 - Math.clz32(mf.stackAlignment)) << Property.StackAlignment) |
        (mf.redZone ? Property.RedZone : 0) |
        (mf.profiled ? Property.Profiled : 0) |
        (mf.fallsThrough ? Property.FallsThrough : 0),
    );
    out.word(lowWord(mf.resultRegisters));
    out.word(highWord(mf.resultRegisters));
    out.word(lowWord(mf.unpreserved));
    out.word(highWord(mf.unpreserved));
    out.float(mf.incomingBytes);
    out.word(mf.blockIds);
    out.text(mf.remark);
    out.word(mf.slots.length);
    for (const { size, align, kind, offset, rank } of mf.slots) {
      out.float(size);
      out.float(offset);
      out.word(align);
      out.word(slotKinds.indexOf(kind) | (rank << 4));
    }
    out.word(mf.blocks.length);
    for (const block of mf.blocks) {
      out.word(block.id);
      out.word((block.addressTaken ? 1 : 0) | (block.landingPad ? 2 : 0));
      out.word(block.label);
      out.float(block.frequency);
      this.blocks(block.succs);
      this.blocks(block.preds);
    }
  }

  tables(): void {
    const { mf, out } = this;
    out.word(mf.typeInfos.length);
    for (const info of mf.typeInfos) {
      out.word(info === null ? 0 : 1);
      if (info !== null) this.global(info);
    }
    out.word(mf.jumpTables.length);
    for (const { targets, entryBytes, origin } of mf.jumpTables) {
      this.blocks(targets);
      out.word(entryBytes | (tableOrigins.indexOf(typeof origin === "string" ? origin : "block") << 4));
      if (typeof origin !== "string") this.block(origin);
    }
  }

  blockCode(): void {
    const { mf, out } = this;
    for (const { insts } of mf.blocks) {
      out.word(insts.length);
      for (let i = 0; i < insts.length; i++) this.instruction(insts[i]!);
    }
  }

  private blocks(blocks: readonly MBlock[]): void {
    this.out.word(blocks.length);
    for (let i = 0; i < blocks.length; i++) this.block(blocks[i]!);
  }

  /** By position; one that is not in the function (only its address is named) by its id. */
  private block(block: MBlock): void {
    this.out.word(this.positions[block.id] ?? ~block.id);
  }

  private global(global: GlobalValue): void {
    const number = this.symbols.numberOf(global);
    if (this.places !== null && number >= 0) this.places.globals.push(this.out.length);
    this.out.word(number);
    if (number < 0) this.out.text(global.name);
  }

  private instruction(inst: MInst): void {
    const { out } = this;
    const { defs, uses, mem, imm, symbol, extra, targets } = inst;
    if (inst.origin > 0) this.hasOrigins = true;
    const clobbers = lowWord(inst.clobbers);
    const highClobbers = highWord(inst.clobbers);
    const detail = (inst.condition + 1) | (inst.marks << marksShift);
    const isLarge = defs.length > maxDefs || uses.length > maxUses || inst.size > 31 || highClobbers !== 0;
    const isWide = typeof imm === "bigint" || (imm !== null && imm !== (imm | 0));
    out.word(
      inst.op |
        (mem !== null ? HasMem : 0) |
        (imm !== null ? (isWide ? HasWideImm : HasImm) : 0) |
        (symbol !== null ? HasSymbol : 0) |
        (extra !== null ? HasExtra : 0) |
        (clobbers !== 0 ? HasClobbers : 0) |
        (targets.length > 0 ? HasTargets : 0) |
        (detail !== 0 ? HasDetail : 0) |
        (isLarge ? IsLarge : (inst.size << 10) | (defs.length << defsShift) | (uses.length << usesShift)),
    );
    if (isLarge) {
      out.word(inst.size);
      out.word(defs.length);
      out.word(uses.length);
      out.word(highClobbers);
    }
    for (let i = 0; i < defs.length; i++) this.operand(defs[i]!);
    for (let i = 0; i < uses.length; i++) this.operand(uses[i]!);
    if (mem !== null) this.memory(mem);
    if (imm !== null) {
      if (isWide) out.wide(imm);
      else out.word(imm as number);
    }
    if (symbol !== null) this.symbol(symbol);
    if (clobbers !== 0) out.word(clobbers);
    if (detail !== 0) out.word(detail);
    if (targets.length > 0) this.blocks(targets);
    if (extra !== null) this.extra(extra, mem);
  }

  private operand(operand: RegOperand): void {
    if (operand.loc === noLocation) throw new Error("packFunction: an operand without a location");
    this.out.word((operand.loc << 4) | (operand.tiedTo + 1));
  }

  private memory(mem: MemOperand): void {
    const { base, index, symbol } = mem;
    this.out.word(
      (base !== null ? 1 : 0) | (index !== null ? 2 : 0) | (symbol !== null ? 4 : 0) | (mem.mode << 3),
    );
    this.out.word(mem.disp);
    this.out.word(mem.slot);
    if (base !== null) this.operand(base);
    if (index !== null) this.operand(index);
    if (symbol !== null) this.symbol(symbol);
  }

  private symbol({ kind, target }: SymbolRef): void {
    const { out } = this;
    out.word(symbolKinds.indexOf(kind) | (symbolTargets.indexOf(target.kind) << symbolKindBits));
    switch (target.kind) {
      case "global":
        return this.global(target.global);
      case "block":
        return this.block(target.block);
      case "foreign-block":
        this.global(target.global);
        return out.word(target.block);
      case "constant":
        out.word(target.constant.align);
        return out.bytes(target.constant.bytes);
      case "jump-table":
        return out.word(this.mf.jumpTables.indexOf(target.table));
      case "external":
        return out.text(target.name);
    }
  }

  private extra(extra: MExtra, mem: MemOperand | null): void {
    this.out.word(extras.indexOf(extra.kind));
    switch (extra.kind) {
      case "call":
        return this.call(extra);
      case "asm":
        return this.assembly(extra, mem);
      case "landing-pad":
        return this.landingPad(extra);
      case "jump-table":
        return this.out.word(this.mf.jumpTables.indexOf(extra.table));
      case "unwind":
        this.out.word(extra.directive);
        this.out.word(extra.register);
        return this.out.word(extra.offset);
      case "number":
        return this.out.word(extra.value);
    }
  }

  private call(call: CallInfo): void {
    const { callee, unwind } = call;
    this.out.word(
      (call.noReturn ? 1 : 0) |
        (call.returnsTwice ? 2 : 0) |
        (call.noUnwind ? 4 : 0) |
        (callee !== null ? 8 : 0) |
        (unwind !== null ? 16 : 0) |
        (call.hasStored ? 32 : 0),
    );
    if (this.places !== null && call.calleeSet >= 0) this.places.sets.push(this.out.length);
    this.out.word(this.symbols.packedSet(call.calleeSet));
    this.out.word(call.pushed);
    if (callee !== null) this.global(callee);
    if (unwind !== null) this.block(unwind);
  }

  private landingPad({ cleanup, clauses }: LandingPadInfo): void {
    const { out } = this;
    out.word(cleanup ? 1 : 0);
    out.word(clauses.length);
    for (const clause of clauses)
      if (clause.kind === "catch") {
        out.word(-1);
        out.word(clause.type);
      } else {
        out.word(clause.types.length);
        for (const type of clause.types) out.word(type);
      }
  }

  /** Operands may share memory operands, among each other and with the instruction (`own`). */
  private assembly({ template, intel, operands, unwind }: AsmData, own: MemOperand | null): void {
    const { out } = this;
    out.text(template);
    out.word((unwind === null ? 0 : 1) | (intel ? 2 : 0));
    if (unwind !== null) this.block(unwind);
    const shared: MemOperand[] = own === null ? [] : [own];
    out.word(operands.length);
    for (const operand of operands) {
      out.word(asmOperands.indexOf(operand.kind));
      switch (operand.kind) {
        case "def":
        case "use":
          out.word(operand.index);
          out.word(operand.size);
          break;
        case "mem": {
          const known = shared.indexOf(operand.mem);
          out.word(known);
          if (known >= 0) break;
          shared.push(operand.mem);
          this.memory(operand.mem);
          break;
        }
        case "imm":
          out.wide(operand.value);
          break;
        case "symbol":
          this.symbol(operand.symbol);
          out.float(operand.offset);
          break;
        case "block":
          this.block(operand.block);
          break;
        case "text":
          out.text(operand.text);
      }
    }
  }
}
