/** Words to functions: see format.ts. */

import type { GlobalValue } from "../../ir/module.js";
import {
  type AsmData,
  type AsmOperand,
  type CallInfo,
  type CfiKind,
  type JumpTable,
  type LandingPadInfo,
  MBlock,
  type MExtra,
  MemOperand,
  MFunction,
  MInst,
  type PadClause,
  poolConstant,
  RegOperand,
  type SymbolRef,
} from "../mir.js";
import { noRegisters, setOfWords } from "../register-set.js";
import type { Target } from "../target.js";
import { restoreDebug } from "./debug.js";
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
  opcodeMask,
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
import { WordReader } from "./words.js";

/** A new function object as `packFunction` found it. */
export function unpackFunction(packed: PackedFunction, symbols: SymbolNumbers, target: Target): MFunction {
  const fn = symbols.global(packed.symbol);
  const mf = new MFunction(fn, fn.name, goals[packed.words[0]!]!, target);
  new Unpacker(mf, packed.words, symbols).run();
  restoreOrigins(mf, packed);
  restoreDebug(mf, packed);
  return mf;
}

/**
 * Brings a function back to where `packFunction` found it. Blocks are new objects; numbers of blocks that were made
 * since are not used again.
 */
export function restoreFunction(mf: MFunction, packed: PackedFunction, symbols: SymbolNumbers): void {
  mf.slots.length = 0;
  mf.jumpTables.length = 0;
  mf.typeInfos.length = 0;
  new Unpacker(mf, packed.words, symbols).run();
  restoreOrigins(mf, packed);
  restoreDebug(mf, packed);
}

function restoreOrigins({ blocks }: MFunction, { origins }: PackedFunction): void {
  if (origins === undefined) return;
  let next = 0;
  for (const { insts } of blocks) for (const inst of insts) inst.origin = origins[next++]!;
}

/**
 * An instruction alone; it must name no block and no table of its function.
 * @param at its first word
 * @param mf any function: nothing of it is looked at
 */
export function unpackInstruction(
  words: Int32Array,
  at: number,
  mf: MFunction,
  symbols: SymbolNumbers,
): MInst {
  return new Unpacker(mf, words, symbols, at).instruction();
}

/** Of a block's, before its edges. */
const blockWords = 5;

class Unpacker {
  private readonly in: WordReader;
  constructor(
    private readonly mf: MFunction,
    words: Int32Array,
    private readonly symbols: SymbolNumbers,
    from = 0,
  ) {
    this.in = new WordReader(words, from);
  }

  run(): void {
    const { mf } = this;
    this.header();
    for (let n = this.in.word(); n > 0; n--) mf.typeInfos.push(this.in.word() === 0 ? null : this.global());
    for (let n = this.in.word(); n > 0; n--) mf.jumpTables.push(this.jumpTable());
    for (const block of mf.blocks) {
      const insts = new Array<MInst>(this.in.word());
      for (let i = 0; i < insts.length; i++) insts[i] = this.instruction();
      block.insts = insts;
    }
  }

  private jumpTable(): JumpTable {
    const targets = this.blocks();
    const word = this.in.word();
    const origin = tableOrigins[word >> 4]!;
    return {
      targets,
      entryBytes: (word & 15) as JumpTable["entryBytes"],
      origin: origin === "block" ? this.block() : origin,
    };
  }

  private header(): void {
    const { mf, in: words } = this;
    words.word();
    const properties = words.word();
    mf.hasDynamicAlloca = (properties & Property.DynamicAlloca) !== 0;
    mf.hasCalls = (properties & Property.Calls) !== 0;
    mf.noRedZone = (properties & Property.NoRedZone) !== 0;
    mf.needsFramePointer = (properties & Property.NeedsFramePointer) !== 0;
    mf.returnsTwice = (properties & Property.ReturnsTwice) !== 0;
    mf.unwind = unwindTables[(properties >> Property.Unwind) & 3]!;
    mf.framePointer = (properties & Property.FramePointer) !== 0;
    const alignment = (properties >> Property.StackAlignment) & 15;
    mf.stackAlignment = alignment === 0 ? 0 : 1 << (alignment - 1);
    mf.profiled = (properties & Property.Profiled) !== 0;
    mf.fallsThrough = (properties & Property.FallsThrough) !== 0;
    mf.redZone = (properties & Property.RedZone) !== 0;
    const low = words.word();
    mf.resultRegisters = setOfWords(low, words.word());
    const lowUnpreserved = words.word();
    mf.unpreserved = setOfWords(lowUnpreserved, words.word());
    mf.incomingBytes = words.float();
    mf.reserveBlockIds(words.word());
    mf.remark = words.text();
    for (let n = words.word(); n > 0; n--) {
      const size = words.float();
      const offset = words.float();
      const align = words.word();
      const kind = words.word();
      mf.slots[mf.newSlot(size, align, slotKinds[kind & 15]!, offset)]!.rank = kind >> 4;
    }
    mf.blocks = new Array<MBlock>(words.word());
    const start = words.position;
    for (let i = 0; i < mf.blocks.length; i++) {
      const block = new MBlock(words.word());
      const flags = words.word();
      block.addressTaken = (flags & 1) !== 0;
      block.landingPad = (flags & 2) !== 0;
      block.label = words.word();
      block.frequency = words.float();
      mf.blocks[i] = block;
      words.skip(words.word());
      words.skip(words.word());
    }
    // Edges lead to blocks that come later.
    words.position = start;
    for (const block of mf.blocks) {
      words.skip(blockWords);
      block.succs = this.blocks();
      block.preds = this.blocks();
    }
  }

  private blockAt(position: number): MBlock {
    return position >= 0 ? this.mf.blocks[position]! : new MBlock(~position);
  }
  private block(): MBlock {
    return this.blockAt(this.in.word());
  }
  private blocks(): MBlock[] {
    const blocks = new Array<MBlock>(this.in.word());
    for (let i = 0; i < blocks.length; i++) blocks[i] = this.block();
    return blocks;
  }

  private global(): GlobalValue {
    const number = this.in.word();
    return number >= 0 ? this.symbols.global(number) : this.symbols.routine(this.in.text());
  }

  instruction(): MInst {
    const { in: words } = this;
    const head = words.word();
    const isLarge = (head & IsLarge) !== 0;
    const size = isLarge ? words.word() : (head >> 10) & 31;
    const defs = isLarge ? words.word() : (head >> defsShift) & maxDefs;
    const uses = isLarge ? words.word() : (head >> usesShift) & maxUses;
    const highClobbers = isLarge ? words.word() : 0;
    const inst = new MInst(head & opcodeMask, size, this.operands(defs), this.operands(uses));
    if ((head & HasMem) !== 0) inst.mem = this.memory();
    if ((head & HasImm) !== 0) inst.imm = words.word();
    if ((head & HasWideImm) !== 0) inst.imm = words.wide();
    if ((head & HasSymbol) !== 0) inst.symbol = this.symbol();
    if ((head & HasClobbers) !== 0 || highClobbers !== 0)
      inst.clobbers = setOfWords((head & HasClobbers) !== 0 ? words.word() : 0, highClobbers);
    if ((head & HasDetail) !== 0) {
      const detail = words.word();
      inst.condition = (detail & ((1 << marksShift) - 1)) - 1;
      inst.marks = detail >> marksShift;
    }
    if ((head & HasTargets) !== 0) inst.targets = this.blocks();
    if ((head & HasExtra) !== 0) inst.extra = this.extra(inst.mem);
    return inst;
  }

  private operands(count: number): RegOperand[] {
    switch (count) {
      case 0:
        return [];
      case 1:
        return [this.operand()];
      case 2:
        return [this.operand(), this.operand()];
      default:
        return Array.from({ length: count }, () => this.operand());
    }
  }

  private operand(): RegOperand {
    const word = this.in.word();
    const operand = new RegOperand(-1, noRegisters, false, (word & 15) - 1);
    operand.loc = word >> 4;
    return operand;
  }

  private memory(): MemOperand {
    const head = this.in.word();
    const disp = this.in.word();
    const slot = this.in.word();
    const base = (head & 1) !== 0 ? this.operand() : null;
    const index = (head & 2) !== 0 ? this.operand() : null;
    const symbol = (head & 4) !== 0 ? this.symbol() : null;
    return new MemOperand(base, index, disp, symbol, slot, head >> 3);
  }

  private symbol(): SymbolRef {
    const head = this.in.word();
    return {
      kind: symbolKinds[head & ((1 << symbolKindBits) - 1)]!,
      target: this.symbolTarget(symbolTargets[head >> symbolKindBits]!),
    };
  }

  private symbolTarget(kind: (typeof symbolTargets)[number]): SymbolRef["target"] {
    const { in: words } = this;
    switch (kind) {
      case "global":
        return { kind, global: this.global() };
      case "block":
        return { kind, block: this.block() };
      case "foreign-block": {
        const global = this.global();
        return { kind, global, block: words.word() };
      }
      case "constant": {
        const align = words.word();
        return { kind, constant: poolConstant(words.bytes(), align) };
      }
      case "jump-table":
        return { kind, table: this.mf.jumpTables[words.word()]! };
      case "external":
        return { kind, name: words.text() };
    }
  }

  private extra(mem: MemOperand | null): MExtra {
    const kind = extras[this.in.word()]!;
    switch (kind) {
      case "call":
        return this.call();
      case "asm":
        return this.assembly(mem);
      case "landing-pad":
        return this.landingPad();
      case "jump-table":
        return { kind, table: this.mf.jumpTables[this.in.word()]! };
      case "unwind": {
        const directive: CfiKind = this.in.word();
        const register = this.in.word();
        return { kind, directive, register, offset: this.in.word() };
      }
      case "number":
        return { kind, value: this.in.word() };
    }
  }

  private call(): CallInfo {
    const flags = this.in.word();
    const calleeSet = this.symbols.setOf(this.in.word());
    const pushed = this.in.word();
    const callee = (flags & 8) !== 0 ? this.global() : null;
    return {
      kind: "call",
      callee,
      calleeSet,
      noReturn: (flags & 1) !== 0,
      returnsTwice: (flags & 2) !== 0,
      unwind: (flags & 16) !== 0 ? this.block() : null,
      noUnwind: (flags & 4) !== 0,
      pushed,
      hasStored: (flags & 32) !== 0,
    };
  }

  private landingPad(): LandingPadInfo {
    const { in: words } = this;
    const cleanup = words.word() !== 0;
    const clauses = Array.from({ length: words.word() }, (): PadClause => {
      const length = words.word();
      if (length < 0) return { kind: "catch", type: words.word() };
      return { kind: "filter", types: Array.from({ length }, () => words.word()) };
    });
    return { kind: "landing-pad", cleanup, clauses };
  }

  private assembly(own: MemOperand | null): AsmData {
    const { in: words } = this;
    const template = words.text();
    const flags = words.word();
    const unwind = (flags & 1) === 0 ? null : this.block();
    const shared: MemOperand[] = own === null ? [] : [own];
    const operands = Array.from({ length: words.word() }, () => this.asmOperand(shared));
    return { kind: "asm", template, intel: (flags & 2) !== 0, operands, unwind };
  }

  private asmOperand(shared: MemOperand[]): AsmOperand {
    const { in: words } = this;
    const kind = asmOperands[words.word()]!;
    switch (kind) {
      case "def":
      case "use": {
        const index = words.word();
        return { kind, index, size: words.word() };
      }
      case "mem": {
        const known = words.word();
        if (known >= 0) return { kind, mem: shared[known]! };
        const mem = this.memory();
        shared.push(mem);
        return { kind, mem };
      }
      case "imm":
        return { kind, value: words.wide() as bigint };
      case "symbol": {
        const symbol = this.symbol();
        return { kind, symbol, offset: words.float() };
      }
      case "block":
        return { kind, block: this.block() };
      case "text":
        return { kind, text: words.text() };
    }
  }
}
