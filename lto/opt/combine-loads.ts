/**
 * combine-loads: numbers that are put together from bytes in memory are loaded at once, with their bytes turned round where
 * they lie the other way.
 *
 *     %h = load i8, ptr %p             %l = load i8, ptr %p1  ; one further
 *     %a = zext i8 %h to i32           %b = zext i8 %l to i32             %w = load i16, ptr %p
 *     %c = shl i32 %a, 8                                            →     %s = call i16 @llvm.bswap.i16(i16 %w)
 *     %x = or i32 %c, %b                                                  %x = zext i16 %s to i32
 *
 * Why: programs read files and packets so, whatever the machine; compilers leave it to code generators, most of all the
 * bytes that lie the other way. Both smaller and faster.
 *
 * Method: from each `or` that could be the last of such, what each byte of the result is, by a walk along shifts, extensions
 * and further `or`s to loads. Bytes in a row, up or down, are one load, where the last of the loads stands. Bodies
 * without an `or` of a shift by whole bytes cost a look at each instruction. Linear: walks are bounded by the size of a word.
 *
 * Proof obligations: loads are plain, of one block, at constant distances, and stand before the result; nothing between the
 * first and the last of them writes there; all values between have no other use (else nothing is saved); every byte is
 * loaded as it was, so that no address is touched that was not. What is promised of single loads is not of the one.
 * Breaks if: the target has no unaligned loads, or the most significant byte comes first. It makes calls of `llvm.bswap`
 * that no module declares: for right before selection.
 */

import {
  type Block,
  type BodyView,
  type Inst,
  isPlainAccess,
  type MemoryData,
  makeInst,
  Op,
} from "../ir/instructions.js";
import { raw } from "../ir/raw.js";
import { intType, type Type } from "../ir/types.js";
import type { Value } from "../ir/values.js";
import { cfg, dominators, loops } from "../pass/analyses.js";
import type { FunctionPass } from "../pass/pass.js";
import { byteSwap } from "./byte-swap.js";
import { mayModify } from "./memory/alias.js";
import { Access, type MemoryOperation, MemoryOperations } from "./memory/operations.js";

export const combineLoads: FunctionPass = {
  name: "combine-loads",
  level: "function",
  description:
    "loads at once what is put together from bytes, and turns it round where it lies the other way",
  counters: { loads: "loads that one took the place of", swapped: "numbers whose bytes were turned round" },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(fn, context) {
    const view = context.view();
    const blocks = view.blocks.filter(hasRoot);
    if (blocks.length === 0) return false;
    const count = view.renumber();
    const finder = new Finder(view, count, () => new MemoryOperations(view, count, fn, context.layout));
    for (const block of blocks) finder.look(block);
    const { found } = finder;
    if (found.length === 0) return false;
    put(found, context.rewrite().blocks);
    for (const { loads, isSwapped } of found) {
      context.count("loads", loads);
      if (isSwapped) context.count("swapped");
    }
    return true;
  },
};

interface Combination {
  readonly root: Inst;
  /** The lowest one, and the last one in the block. */
  readonly lowest: Inst;
  readonly last: Inst;
  /** Of the number in memory. */
  readonly type: Type;
  readonly isSwapped: boolean;
  readonly loads: number;
}

/** An `or` with shifts by whole bytes, itself or in what it is made of. */
function isRoot(inst: Inst): boolean {
  if (inst.op !== Op.Or || inst.type.kind !== "int") return false;
  const { bits } = inst.type;
  return (bits === 16 || bits === 32 || bits === 64) && inst.operands.some(endsInShift);
}
const endsInShift = (value: Value): boolean =>
  isByteShift(value) ||
  (value.valueKind === "inst" && value.op === Op.Or && value.operands.some(isByteShift));
function isByteShift(value: Value): boolean {
  if (value.valueKind !== "inst" || value.op !== Op.Shl) return false;
  const by = value.operands[1]!;
  return by.valueKind === "int" && by.num % 8 === 0;
}
const hasRoot = ({ insts }: Block): boolean => {
  for (let i = 0; i < insts.length; i++) if (isRoot(insts[i]!)) return true;
  return false;
};

const deepest = 12;

class Finder {
  readonly found: Combination[] = [];
  private readonly uses: Uint8Array;
  private memory: MemoryOperations | null = null;
  /** Parts of numbers that were looked at as a whole, whether that was good for something or not. */
  private readonly isPart: Uint8Array;

  // What the walk from one root has found: the load that a byte comes from, and which of its bytes; null: zero.
  private loadOf: (Inst | null)[] = [];
  private byteOf: number[] = [];
  private root: Inst | null = null;

  constructor(
    { blocks }: BodyView,
    count: number,
    private readonly operations: () => MemoryOperations,
  ) {
    this.uses = new Uint8Array(count);
    this.isPart = new Uint8Array(count);
    for (const { insts } of blocks)
      for (let i = 0; i < insts.length; i++)
        for (const operand of insts[i]!.operands)
          if (operand.valueKind === "inst" && this.uses[operand.id]! < 2) this.uses[operand.id]!++;
  }

  look({ insts }: Block): void {
    for (let i = insts.length - 1; i >= 0; i--) {
      const inst = insts[i]!;
      if (this.isPart[inst.id] === 1 || !isRoot(inst)) continue;
      const combination = this.combine(inst);
      if (combination === null) continue;
      this.found.push(combination);
      this.markParts(inst);
    }
  }
  private markParts(inst: Inst): void {
    for (const operand of inst.operands)
      if (operand.valueKind === "inst" && operand.op !== Op.Load) {
        this.isPart[operand.id] = 1;
        this.markParts(operand);
      }
  }

  private combine(root: Inst): Combination | null {
    const width = root.type.kind === "int" ? root.type.bits / 8 : 0;
    this.root = root;
    this.loadOf.length = 0;
    this.byteOf.length = 0;
    let size = 0;
    for (let i = 0; i < width; i++) {
      if (!this.find(root, i, 0)) return null;
      if (this.loadOf[i] === null) continue;
      // Zeros only at the high end.
      if (size !== i) return null;
      size++;
    }
    if (size !== 2 && size !== 4 && size !== 8) return null;
    return this.inRow(root, size);
  }

  /** Finds what byte `index` of a value is. @returns whether that is known */
  private find(value: Value, index: number, depth: number): boolean {
    const at = this.loadOf.length;
    if (value.valueKind === "int") {
      if (((value.value >> BigInt(8 * index)) & 0xffn) !== 0n) return false;
      this.push(null, 0);
      return true;
    }
    if (value.valueKind !== "inst" || depth > deepest) return false;
    if (value !== this.root && this.uses[value.id] !== 1) return false;
    const { operands } = value;
    switch (value.op) {
      case Op.Or: {
        if (!this.find(operands[0]!, index, depth + 1)) return false;
        const first = this.loadOf.pop()!;
        const byte = this.byteOf.pop()!;
        if (!this.find(operands[1]!, index, depth + 1)) return false;
        if (first === null) return true;
        if (this.loadOf[at] !== null) return false;
        this.loadOf[at] = first;
        this.byteOf[at] = byte;
        return true;
      }
      case Op.Shl: {
        if (!isByteShift(value)) return false;
        const by = operands[1]!;
        const skipped = by.valueKind === "int" ? by.num / 8 : 0;
        if (skipped < 0 || skipped * 8 >= bitsOf(value)) return false;
        if (index >= skipped) return this.find(operands[0]!, index - skipped, depth + 1);
        this.push(null, 0);
        return true;
      }
      case Op.ZExt: {
        const bits = bitsOf(operands[0]!);
        if (bits % 8 !== 0) return false;
        if (index < bits / 8) return this.find(operands[0]!, index, depth + 1);
        this.push(null, 0);
        return true;
      }
      case Op.Load:
        if (!isPlainAccess(value) || bitsOf(value) % 8 !== 0 || value.parent !== this.root!.parent)
          return false;
        this.push(value, index);
        return true;
      default:
        return false;
    }
  }
  private push(load: Inst | null, byte: number): void {
    this.loadOf.push(load);
    this.byteOf.push(byte);
  }

  /** What was found, if the bytes lie in a row and nothing writes there meanwhile. */
  private inRow(root: Inst, size: number): Combination | null {
    this.memory ??= this.operations();
    const { memory } = this;
    const operationOf = (load: Inst): MemoryOperation => memory.operations[memory.numbers[load.id]!]!;
    const loads = [...new Set(this.loadOf.slice(0, size) as Inst[])];
    if (loads.length < 2) return null;
    const places = loads.map(operationOf);
    const { anchor } = places[0]!;
    if (places.some((place) => place.anchor !== anchor || !Number.isSafeInteger(place.offset))) return null;
    const offsets = this.loadOf.slice(0, size).map((load, i) => operationOf(load!).offset + this.byteOf[i]!);
    const step = offsets[1]! - offsets[0]!;
    if ((step !== 1 && step !== -1) || offsets.some((offset, i) => offset !== offsets[0]! + i * step))
      return null;
    const start = Math.min(offsets[0]!, offsets[size - 1]!);
    const lowest = loads.find((load) => operationOf(load).offset === start);
    if (lowest === undefined) return null;
    const first = loads.reduce((a, b) => (a.id < b.id ? a : b));
    const last = loads.reduce((a, b) => (a.id > b.id ? a : b));
    for (let i = memory.numbers[first.id]! + 1; i < memory.numbers[last.id]!; i++) {
      const operation = memory.operations[i]!;
      if (operation.access === Access.Load) continue;
      if (places.some((place) => mayModify(operation, place, memory, true))) return null;
    }
    return { root, lowest, last, type: intType(size * 8), isSwapped: step < 0, loads: loads.length };
  }
}

const bitsOf = ({ type }: Value): number => (type.kind === "int" ? type.bits : 1);

/** Puts the new instructions in, and what uses the old ones on them; those stay for others to remove. */
function put(found: readonly Combination[], blocks: readonly Block[]): void {
  const atLoad = new Map<Inst, Inst>();
  const atRoot = new Map<Inst, Inst[]>();
  const results = new Map<Value, Inst>();
  for (const { root, lowest, last, type, isSwapped } of found) {
    const { align } = lowest.data as MemoryData;
    const data: MemoryData = { align, ordering: "not_atomic", scope: "" };
    const load = makeInst(Op.Load, type, [lowest.operands[0]!], data);
    atLoad.set(last, load);
    const made: Inst[] = [];
    let result: Inst = load;
    if (isSwapped) made.push((result = byteSwap(result)));
    if (type !== root.type) made.push((result = makeInst(Op.ZExt, root.type, [result], null)));
    atRoot.set(root, made);
    results.set(root, result);
  }
  for (const block of blocks) {
    const insts: Inst[] = [];
    for (const inst of block.insts) {
      const load = atLoad.get(inst);
      if (load !== undefined) insts.push(load);
      const made = atRoot.get(inst);
      if (made !== undefined) {
        insts.push(...made);
        continue;
      }
      const { operands } = raw(inst);
      for (let i = 0; i < operands.length; i++) operands[i] = results.get(operands[i]!) ?? operands[i]!;
      insts.push(inst);
    }
    for (const inst of insts) inst.parent = block;
    raw(block).insts = insts;
  }
}
