/**
 * Whether words are a packed function, for those that come from elsewhere: every count, position, number and kind is in
 * range, so that whoever unpacks them ends and finds what it looks for. It says nothing of what the code does.
 *
 * The way through the words is that of unpack.ts. Linear.
 * Breaks if: it differs from pack.ts in what a function consists of.
 */
import { InputError } from "../../ir/errors.js";
import type { Target } from "../target.js";
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
  maxDefs,
  maxUses,
  opcodeMask,
  type PackedFunction,
  slotKinds,
  symbolKindBits,
  symbolKinds,
  symbolTargets,
  tableOrigins,
  usesShift,
} from "./format.js";
import type { PackedPlaces } from "./pack.js";

/** What there is that a function may mention. */
export interface PackedLimits {
  /** Numbers of globals are below this. */
  readonly symbols: number;
  /** Numbers of sets of callees. */
  readonly sets: number;
  readonly target: Target;
}

/** What a packed function consists of. */
export interface PackedCounts extends PackedPlaces {
  readonly blocks: number;
  readonly instructions: number;
}

/** @throws InputError */
export function checkPacked(packed: PackedFunction, limits: PackedLimits): PackedCounts {
  return new PackedChecker(packed, limits).run();
}

const bad = (what: string): never => {
  throw new InputError(`code of a function is malformed: ${what}`);
};

class PackedChecker {
  private at = 0;
  private slots = 0;
  private blockCount = 0;
  private tables = 0;
  private readonly globals: number[] = [];
  private readonly sets: number[] = [];
  private readonly words: Int32Array;

  constructor(
    private readonly packed: PackedFunction,
    private readonly limits: PackedLimits,
  ) {
    this.words = packed.words;
  }

  run(): PackedCounts {
    const { packed, limits } = this;
    this.below(packed.symbol, limits.symbols, "symbol");
    this.header();
    if (this.at !== packed.code) bad("where its code starts");
    for (let left = this.count(); left > 0; left--) if (this.word() !== 0) this.global();
    const tables = this.count();
    for (let left = tables; left > 0; left--) this.jumpTable();
    this.tables = tables;
    if (this.at !== packed.blocks) bad("where its blocks start");
    let instructions = 0;
    for (let block = 0; block < this.blockCount; block++)
      for (let left = this.count(); left > 0; left--, instructions++) this.instruction();
    if (this.at !== this.words.length) bad("more words than code");
    if (packed.origins !== undefined && packed.origins.length !== instructions) bad("its origins");
    const { globals, sets, blockCount: blocks } = this;
    return { globals, sets, blocks, instructions };
  }

  private word(): number {
    if (this.at >= this.words.length) bad("it ends early");
    return this.words[this.at++]!;
  }
  private skip(count: number): void {
    if (count < 0 || count > this.words.length - this.at) bad("it ends early");
    this.at += count;
  }
  private below(value: number, limit: number, what: string): number {
    return value >= 0 && value < limit ? value : bad(`${what} ${value}`);
  }
  /** A count of what takes a word or more each. */
  private count(): number {
    return this.below(this.word(), this.words.length - this.at + 1, "a count of");
  }
  private text(): void {
    this.skip((this.below(this.word(), 1 << 30, "a length of") + 1) >> 1);
  }
  private bytes(): void {
    this.skip((this.below(this.word(), 1 << 30, "a length of") + 3) >> 2);
  }
  private wide(): void {
    this.below(this.word(), 3, "a kind of number");
    this.skip(2);
  }

  private header(): void {
    this.below(this.word(), goals.length, "a goal");
    // Properties, two sets of registers, bytes of arguments.
    const properties = this.word();
    if (((properties >> 7) & 3) === 3) bad("its unwind tables");
    this.skip(6);
    this.below(this.word(), 1 << 30, "a number of blocks of");
    this.text();
    const slots = this.count();
    for (let left = slots; left > 0; left--) {
      this.skip(5);
      this.below(this.word() & 15, slotKinds.length, "a kind of slot");
    }
    this.slots = slots;
    const blocks = this.count();
    this.blockCount = blocks;
    for (let left = blocks; left > 0; left--) {
      this.below(this.word(), 1 << 30, "block");
      this.skip(4);
      this.blocks();
      this.blocks();
    }
  }

  private block(): void {
    const position = this.word();
    // Others are blocks that are gone, by what they were.
    if (position >= this.blockCount) bad(`block ${position}`);
  }
  private blocks(): void {
    for (let left = this.count(); left > 0; left--) this.block();
  }

  private global(): void {
    const number = this.word();
    if (number < 0) return this.text();
    this.below(number, this.limits.symbols, "symbol");
    this.globals.push(this.at - 1);
  }

  private jumpTable(): void {
    this.blocks();
    const word = this.word();
    const origin = tableOrigins[this.below(word >> 4, tableOrigins.length, "a jump table's origin")]!;
    if (![1, 2, 4, 8].includes(word & 15)) bad("entries of a jump table");
    if (origin === "block") this.block();
  }

  private table(): void {
    this.below(this.word(), this.tables, "jump table");
  }

  private instruction(): void {
    const head = this.word();
    const isLarge = (head & IsLarge) !== 0;
    if (isLarge) this.word();
    this.below(head & opcodeMask, this.limits.target.instructions.names.length, "opcode");
    const defs = isLarge ? this.count() : (head >> defsShift) & maxDefs;
    const uses = isLarge ? this.count() : (head >> usesShift) & maxUses;
    if (isLarge) this.word();
    for (let left = defs + uses; left > 0; left--) this.operand(defs + uses);
    if ((head & HasMem) !== 0) this.memory();
    if ((head & HasImm) !== 0) this.word();
    if ((head & HasWideImm) !== 0) this.wide();
    if ((head & HasSymbol) !== 0) this.symbol();
    if ((head & HasClobbers) !== 0) this.word();
    if ((head & HasDetail) !== 0) this.word();
    if ((head & HasTargets) !== 0) this.blocks();
    if ((head & HasExtra) !== 0) this.extra(defs, uses, (head & HasMem) !== 0);
  }

  private operand(operands: number): void {
    const word = this.word();
    const location = word >> 4;
    if (location >= 0) this.below(location, this.limits.target.registers.count, "register");
    else this.below(~location, this.slots, "stack slot");
    this.below(word & 15, operands + 1, "a tie of operands to");
  }

  private memory(): void {
    const head = this.word();
    this.word();
    const slot = this.word();
    if (slot !== -1) this.below(slot, this.slots, "stack slot");
    if ((head & 1) !== 0) this.operand(16);
    if ((head & 2) !== 0) this.operand(16);
    if ((head & 4) !== 0) this.symbol();
    this.below(head >> 3, 1 << 16, "a mode of memory");
  }

  private symbol(): void {
    const head = this.word();
    this.below(head & ((1 << symbolKindBits) - 1), symbolKinds.length, "a kind of symbol");
    const target =
      symbolTargets[this.below(head >> symbolKindBits, symbolTargets.length, "a kind of symbol")]!;
    switch (target) {
      case "global":
        return this.global();
      case "block":
        return this.block();
      case "foreign-block":
        this.global();
        return this.skip(1);
      case "constant":
        this.skip(1);
        return this.bytes();
      case "jump-table":
        return this.table();
      case "external":
        return this.text();
    }
  }

  private extra(defs: number, uses: number, hasMemory: boolean): void {
    const kind = extras[this.below(this.word(), extras.length, "a kind of instruction")]!;
    switch (kind) {
      case "call":
        return this.call();
      case "asm":
        return this.assembly(defs, uses, hasMemory);
      case "landing-pad":
        return this.landingPad();
      case "jump-table":
        return this.table();
      case "unwind":
        return this.skip(3);
      case "number":
        return this.skip(1);
    }
  }

  private call(): void {
    const flags = this.below(this.word(), 64, "flags of a call");
    const set = this.word();
    if (set >= 0) {
      this.below(set, this.limits.sets, "set of callees");
      this.sets.push(this.at - 1);
    } else if (set < -2) bad(`set of callees ${set}`);
    this.word();
    if ((flags & 8) !== 0) this.global();
    if ((flags & 16) !== 0) this.block();
  }

  private landingPad(): void {
    this.word();
    for (let left = this.count(); left > 0; left--) {
      const length = this.word();
      if (length < 0) this.word();
      else this.skip(length);
    }
  }

  private assembly(defs: number, uses: number, hasMemory: boolean): void {
    this.text();
    const flags = this.below(this.word(), 4, "flags of assembly");
    if ((flags & 1) !== 0) this.block();
    let shared = hasMemory ? 1 : 0;
    for (let left = this.count(); left > 0; left--) {
      const kind = asmOperands[this.below(this.word(), asmOperands.length, "a kind of operand")]!;
      switch (kind) {
        case "def":
        case "use":
          this.below(this.word(), kind === "def" ? defs : uses, "operand");
          this.word();
          break;
        case "mem": {
          const known = this.word();
          if (known >= 0) this.below(known, shared, "operand");
          else {
            this.memory();
            shared++;
          }
          break;
        }
        case "imm":
          this.wide();
          break;
        case "symbol":
          this.symbol();
          this.skip(2);
          break;
        case "block":
          this.block();
          break;
        case "text":
          this.text();
      }
    }
  }
}
