/**
 * A compact form of an allocated function, for the time it waits until the whole program is allocated.
 *
 * Instructions go into one array of 32-bit words; blocks, slots and tables stay objects, so that whatever
 * refers to them still does. What allocation alone needed (virtual registers, constraints) is forgotten:
 * of an operand there remain its location and its tie. About a twentieth of the size of the objects, and,
 * what matters more, nothing for the garbage collector to walk. Linear both ways.
 *
 * Breaks if: an instruction gets a field that is not listed here, or a pass after allocation looks at
 * virtual registers. Inline assembly is kept as it is, because its operands share objects.
 */
import type { MBlock, MExtra, MFunction, SymbolRef } from "./mir.js";
import { MemOperand, MInst, noLocation, RegOperand } from "./mir.js";

/** What does not fit a word. */
type Item = SymbolRef | MExtra | MInst | number | bigint;

/** The instructions of a function: words as `Packer` writes them, and what they refer to. */
export interface PackedBody {
  readonly words: Int32Array;
  readonly objects: readonly Item[];
}

/* Bits of an instruction's first word, above 10 bits of opcode and 5 of size. */
const HasMem = 1 << 15;
const HasImm = 1 << 16;
const HasWideImm = 1 << 17;
const HasSymbol = 1 << 18;
const HasExtra = 1 << 19;
const HasClobbers = 1 << 20;
const IsObject = 1 << 21;
const HasTargets = 1 << 22;
const HasCondition = 1 << 23;
const defsShift = 24;
/** Lists longer than this fit no field: the instruction is kept as an object (only calls come near it). */
const maxDefs = 7;
const usesShift = 27;
const maxUses = 31;

/** Moves the instructions of all blocks out of the function. */
export function packBody(mf: MFunction): PackedBody {
  const packer = new Packer();
  for (const block of mf.blocks) {
    packer.word(block.insts.length);
    for (const inst of block.insts) packer.instruction(inst);
    block.insts = [];
  }
  mf.vregs.length = 0;
  return packer.finish();
}

/** Puts the instructions back. The blocks must be those of `packBody`, in the same order. */
export function unpackBody(mf: MFunction, packed: PackedBody): void {
  const reader = new Unpacker(packed, blocksById(mf));
  for (const block of mf.blocks) {
    const count = reader.word();
    const insts = new Array<MInst>(count);
    for (let i = 0; i < count; i++) insts[i] = reader.instruction();
    block.insts = insts;
  }
}

function blocksById(mf: MFunction): MBlock[] {
  const byId: MBlock[] = [];
  for (const block of mf.blocks) byId[block.id] = block;
  return byId;
}

/** Grows to the largest function and is used again for each. */
let buffer = new Int32Array(1 << 14);

class Packer {
  private used = 0;
  private readonly objects: Item[] = [];

  finish(): PackedBody {
    return { words: buffer.slice(0, this.used), objects: this.objects };
  }

  word(value: number): void {
    if (this.used === buffer.length) {
      const larger = new Int32Array(buffer.length * 2);
      larger.set(buffer);
      buffer = larger;
    }
    buffer[this.used++] = value;
  }

  instruction(inst: MInst): void {
    const { defs, uses, mem, imm, symbol, extra, targets } = inst;
    if (
      (extra !== null && extra.kind === "asm") ||
      defs.length > maxDefs ||
      uses.length > maxUses ||
      inst.size > 31
    ) {
      this.word(IsObject);
      this.object(inst);
      return;
    }
    const isWide = typeof imm === "bigint" || (imm !== null && imm !== (imm | 0));
    this.word(
      inst.op |
        (inst.size << 10) |
        (mem !== null ? HasMem : 0) |
        (imm !== null ? (isWide ? HasWideImm : HasImm) : 0) |
        (symbol !== null ? HasSymbol : 0) |
        (extra !== null ? HasExtra : 0) |
        (inst.clobbers !== 0 ? HasClobbers : 0) |
        (targets.length > 0 ? HasTargets : 0) |
        (inst.cc >= 0 ? HasCondition : 0) |
        (defs.length << defsShift) |
        (uses.length << usesShift),
    );
    for (let i = 0; i < defs.length; i++) this.operand(defs[i]!);
    for (let i = 0; i < uses.length; i++) this.operand(uses[i]!);
    if (mem !== null) this.memory(mem);
    if (imm !== null) {
      if (isWide) this.object(imm);
      else this.word(imm as number);
    }
    if (symbol !== null) this.object(symbol);
    if (extra !== null) this.object(extra);
    if (inst.clobbers !== 0) this.word(inst.clobbers);
    if (inst.cc >= 0) this.word(inst.cc);
    if (targets.length > 0) {
      this.word(targets.length);
      for (const target of targets) this.word(target.id);
    }
  }

  private object(object: Item): void {
    this.word(this.objects.length);
    this.objects.push(object);
  }

  private operand(operand: RegOperand): void {
    if (operand.loc === noLocation) throw new Error("packBody: an operand without a location");
    this.word((operand.loc << 4) | (operand.tiedTo + 1));
  }

  private memory(mem: MemOperand): void {
    const { base, index, symbol } = mem;
    this.word(
      (base !== null ? 1 : 0) | (index !== null ? 2 : 0) | (symbol !== null ? 4 : 0) | (mem.mode << 3),
    );
    this.word(mem.disp);
    this.word(mem.slot);
    if (base !== null) this.operand(base);
    if (index !== null) this.operand(index);
    if (symbol !== null) this.object(symbol);
  }
}

class Unpacker {
  private at = 0;
  private readonly words: Int32Array;
  private readonly objects: PackedBody["objects"];
  constructor(
    packed: PackedBody,
    private readonly blocks: readonly MBlock[],
  ) {
    this.words = packed.words;
    this.objects = packed.objects;
  }

  word(): number {
    return this.words[this.at++]!;
  }

  instruction(): MInst {
    const head = this.word();
    if ((head & IsObject) !== 0) return this.object() as MInst;
    const inst = new MInst(head & 1023, (head >> 10) & 31);
    inst.defs = this.operands((head >> defsShift) & maxDefs);
    inst.uses = this.operands((head >> usesShift) & maxUses);
    if ((head & HasMem) !== 0) inst.mem = this.memory();
    if ((head & HasImm) !== 0) inst.imm = this.word();
    if ((head & HasWideImm) !== 0) inst.imm = this.object() as number | bigint;
    if ((head & HasSymbol) !== 0) inst.symbol = this.object() as SymbolRef;
    if ((head & HasExtra) !== 0) inst.extra = this.object() as MExtra;
    if ((head & HasClobbers) !== 0) inst.clobbers = this.word();
    if ((head & HasCondition) !== 0) inst.cc = this.word();
    if ((head & HasTargets) !== 0) {
      const targets = new Array<MBlock>(this.word());
      for (let i = 0; i < targets.length; i++) targets[i] = this.blocks[this.word()]!;
      inst.targets = targets;
    }
    return inst;
  }

  private object(): PackedBody["objects"][number] {
    return this.objects[this.word()]!;
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
    const word = this.word();
    const operand = new RegOperand(-1, 0, false, (word & 15) - 1);
    operand.loc = word >> 4;
    return operand;
  }

  private memory(): MemOperand {
    const head = this.word();
    const disp = this.word();
    const slot = this.word();
    const base = (head & 1) !== 0 ? this.operand() : null;
    const index = (head & 2) !== 0 ? this.operand() : null;
    const symbol = (head & 4) !== 0 ? (this.object() as SymbolRef) : null;
    return new MemOperand(base, index, disp, symbol, slot, head >> 3);
  }
}
