/**
 * combine-stores: numbers that are stored byte by byte, or in other parts, are stored at once; so are constants side by side.
 *
 *     %l = trunc i32 %x to i8
 *     store i8 %l, ptr %p              ; one further: trunc (lshr %x, 8)    →    store i32 %x, ptr %p
 *
 * Why: programs write files and packets so, whatever the machine. Where the most significant byte comes first, all are
 * turned round before. Both smaller and faster.
 *
 * Method: stores of a block in order, each with what it stores: which bits of which value, or a constant. From each, those
 * that follow and store other bits of the same to the same place at the same distance; the largest power of two of bytes
 * that some of them fill without a gap is one store, where the last of them stands. Bodies in which no two stores in a
 * row go near each other cost a look at each instruction. Linear: groups are bounded by the size of a word.
 *
 * Proof obligations: stores are plain, of one block, at constant distances from one address; nothing between the first and
 * the last of them reads or writes there, or leaves the function; the value is computed before the first, and every
 * part is as wide as what it is taken from has bits left. What is promised of single stores is not of the one.
 * Breaks if: the target has no unaligned stores, or the most significant byte comes first. It makes calls of `llvm.bswap`
 * that no module declares: for right before selection.
 */
import { type Block, type Inst, isPlainAccess, type MemoryData, makeInst, Op } from "../ir/instructions.js";
import { raw } from "../ir/raw.js";
import { intType, voidType } from "../ir/types.js";
import { constInt, type Value } from "../ir/values.js";
import { cfg, dominators, loops } from "../pass/analyses.js";
import type { FunctionPass } from "../pass/pass.js";
import { byteSwap } from "./byte-swap.js";
import { mayModify, mayRead } from "./memory/alias.js";
import { Access, type MemoryOperation, MemoryOperations } from "./memory/operations.js";

export const combineStores: FunctionPass = {
  name: "combine-stores",
  level: "function",
  description: "stores at once what is stored in parts, and turns it round where it lies the other way",
  counters: { stores: "stores that one took the place of", swapped: "numbers whose bytes were turned round" },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(fn, context) {
    const view = context.view();
    const blocks = view.blocks.filter(hasNeighbours);
    if (blocks.length === 0) return false;
    const found = find(blocks, new MemoryOperations(view, view.renumber(), fn, context.layout));
    if (found.length === 0) return false;
    put(found, context.rewrite().blocks);
    for (const { parts, isSwapped } of found) {
      context.count("stores", parts.length);
      if (isSwapped) context.count("swapped");
    }
    return true;
  },
};

/** A store of some bits of a value, or of a constant. */
interface Part {
  readonly inst: Inst;
  readonly place: MemoryOperation;
  /** Null: a constant. */
  readonly source: Value | null;
  /** The lowest bit. */
  readonly shift: number;
}
interface Combination {
  /** By address. */
  readonly parts: readonly Part[];
  readonly last: Inst;
  readonly size: number;
  readonly isSwapped: boolean;
}

/** Bits of an integer that is stored in bytes; 0 for other stores, and other instructions. */
function storedBits(inst: Inst): number {
  if (inst.op !== Op.Store) return 0;
  const value = inst.operands[0]!;
  const { type } = value;
  if (type.kind !== "int" || (type.bits !== 8 && type.bits !== 16 && type.bits !== 32)) return 0;
  if (value.valueKind === "int") return type.bits;
  if (value.valueKind !== "inst") return 0;
  const { op } = value;
  return op === Op.Trunc || op === Op.LShr ? type.bits : 0;
}
const objectOf = (address: Value): Value =>
  address.valueKind === "expr" || (address.valueKind === "inst" && address.op === Op.GetElementPtr)
    ? address.operands[0]!
    : address;

/** Whether two stores in a row may go near each other. */
function hasNeighbours({ insts }: Block): boolean {
  let last: Value | null = null;
  for (let i = 0; i < insts.length; i++) {
    const inst = insts[i]!;
    if (storedBits(inst) === 0) continue;
    const object = objectOf(inst.operands[1]!);
    if (object === last) return true;
    last = object;
  }
  return false;
}

const mostInGroup = 8;
/** So many stores further on a group ends. */
const window = 16;
/** Offsets in bits that are less than so many bytes are exact, with shifts taken off. */
const furthest = 2 ** 48;

function find(blocks: readonly Block[], memory: MemoryOperations): Combination[] {
  const found: Combination[] = [];
  for (const block of blocks) {
    const parts = partsOf(block, memory);
    const isTaken = new Set<Part>();
    for (let i = 0; i < parts.length; i++) {
      if (isTaken.has(parts[i]!)) continue;
      const combination =
        combine(parts, i, isTaken, false, memory) ?? combine(parts, i, isTaken, true, memory);
      if (combination === null) continue;
      found.push(combination);
      for (const part of combination.parts) isTaken.add(part);
    }
  }
  return found;
}

function partsOf({ insts }: Block, memory: MemoryOperations): Part[] {
  const parts: Part[] = [];
  for (const inst of insts) {
    const bits = storedBits(inst);
    if (bits === 0 || inst.op !== Op.Store || !isPlainAccess(inst)) continue;
    const place = memory.operations[memory.numbers[inst.id]!]!;
    if (!(Math.abs(place.offset) < furthest)) continue;
    const stored = inst.operands[0]!;
    if (stored.valueKind === "int") parts.push({ inst, place, source: null, shift: 0 });
    else {
      const [source, shift] = takenFrom(stored, bits);
      parts.push({ inst, place, source, shift });
    }
  }
  return parts;
}

/** Which value the lowest `bits` bits of another one are of, and from which bit on. */
function takenFrom(value: Value, bits: number): readonly [Value, number] {
  let from = value;
  let shift = 0;
  while (from.valueKind === "inst") {
    if (from.op === Op.LShr) {
      const by = from.operands[1]!;
      if (by.valueKind !== "int" || from.type.kind !== "int") break;
      // Further up there are zeros.
      if (!(by.num >= 0 && shift + by.num + bits <= from.type.bits)) break;
      shift += by.num;
    } else if (from.op !== Op.Trunc || from.type.kind !== "int") break;
    from = from.operands[0]!;
  }
  return [from, shift];
}

/** What can be stored with a part, those that follow among them. */
function combine(
  parts: readonly Part[],
  at: number,
  isTaken: ReadonlySet<Part>,
  isSwapped: boolean,
  memory: MemoryOperations,
): Combination | null {
  const first = parts[at]!;
  const { anchor } = first.place;
  if (isSwapped && (first.source === null || first.place.size !== 1)) return null;
  /** What parts of one number have in common. */
  const keyOf = ({ source, place, shift }: Part): number =>
    source === null ? 0 : isSwapped ? place.offset * 8 + shift : place.offset * 8 - shift;
  const key = keyOf(first);
  const group = [first];
  for (let i = at + 1; i < parts.length && i <= at + window && group.length < mostInGroup; i++) {
    const part = parts[i]!;
    if (isTaken.has(part) || part.place.anchor !== anchor || part.source !== first.source) continue;
    if (keyOf(part) !== key || (isSwapped && part.place.size !== 1)) continue;
    group.push(part);
  }
  if (group.length < 2) return null;
  const sorted = group.toSorted((a, b) => a.place.offset - b.place.offset);
  for (const size of isSwapped ? [8, 4] : [8, 4, 2])
    for (let i = 0; i < sorted.length; i++) {
      const chosen = filling(sorted, i, size);
      if (chosen === null || !chosen.includes(first)) continue;
      if (first.source === null && size === 8 && !isShort(numberOf(chosen))) continue;
      const last = chosen.reduce((a, b) => (a.inst.id > b.inst.id ? a : b)).inst;
      if (isUndisturbed(chosen, first.inst, last, memory)) return { parts: chosen, last, size, isSwapped };
    }
  return null;
}

/** Parts from one on that are so many bytes without gap. */
function filling(sorted: readonly Part[], from: number, size: number): Part[] | null {
  const chosen: Part[] = [];
  const { offset } = sorted[from]!.place;
  let end = offset;
  for (let i = from; i < sorted.length && end < offset + size; i++) {
    const { place } = sorted[i]!;
    if (place.offset !== end) return null;
    end += place.size;
    chosen.push(sorted[i]!);
  }
  return end === offset + size && chosen.length > 1 ? chosen : null;
}

/** The constants of parts as one, unsigned. */
function numberOf(parts: readonly Part[]): bigint {
  let number = 0n;
  let bits = 0n;
  for (const { inst, place } of parts) {
    const stored = inst.operands[0]!;
    const width = place.size * 8;
    if (stored.valueKind === "int") number |= BigInt.asUintN(width, stored.value) << bits;
    bits += BigInt(width);
  }
  return number;
}
/** Whether an instruction that stores 64 bits can contain the number. */
const isShort = (number: bigint): boolean => BigInt.asIntN(32, number) === BigInt.asIntN(64, number);

/** Whether earlier stores can be done where the last one is. */
function isUndisturbed(parts: readonly Part[], first: Inst, last: Inst, memory: MemoryOperations): boolean {
  const end = memory.numbers[last.id]!;
  for (let i = memory.numbers[first.id]! + 1; i < end; i++) {
    const operation = memory.operations[i]!;
    if (parts.some(({ inst }) => inst === operation.inst)) continue;
    if (operation.access > Access.Copy) return false;
    for (const { place } of parts)
      if (mayRead(operation, place, memory) || mayModify(operation, place, memory, false)) return false;
  }
  return true;
}

/** Puts the new stores in; what only the old ones needed stays for others to remove. */
function put(found: readonly Combination[], blocks: readonly Block[]): void {
  const atLast = new Map<Inst, Combination>();
  const gone = new Set<Inst>();
  for (const combination of found) {
    atLast.set(combination.last, combination);
    for (const { inst } of combination.parts) gone.add(inst);
  }
  for (const block of blocks) {
    const insts: Inst[] = [];
    for (const inst of block.insts) {
      const combination = atLast.get(inst);
      if (combination !== undefined) insts.push(...madeFor(combination));
      else if (!gone.has(inst)) insts.push(inst);
    }
    if (insts.length === block.insts.length && insts.every((inst, i) => inst === block.insts[i])) continue;
    for (const inst of insts) inst.parent = block;
    raw(block).insts = insts;
  }
}

function madeFor({ parts, size, isSwapped }: Combination): Inst[] {
  const made: Inst[] = [];
  const lowest = parts[0]!;
  const type = intType(size * 8);
  let value: Value;
  if (lowest.source === null) value = constInt(type, numberOf(parts));
  else {
    value = lowest.source;
    const { shift } = isSwapped ? parts[parts.length - 1]! : lowest;
    if (shift > 0)
      made.push((value = makeInst(Op.LShr, value.type, [value, constInt(value.type, shift)], null)));
    if (value.type !== type) made.push((value = makeInst(Op.Trunc, type, [value], null)));
    if (isSwapped) made.push((value = byteSwap(value)));
  }
  const { align } = lowest.inst.data as MemoryData;
  const data: MemoryData = { align, ordering: "not_atomic", scope: "" };
  made.push(makeInst(Op.Store, voidType, [value, lowest.inst.operands[1]!], data));
  return made;
}
