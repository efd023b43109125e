/**
 * What a place holds when control gets to a load of it: the value that every way there has stored or loaded last.
 *
 * Method: a walk backwards over memory operations, from the load to the first one on each way that says what the place
 * holds; an operation that may change it, the function's entry, or the place where the address is computed end the walk
 * without answer. All ways have to say the same value: then it dominates the load, since the way from the entry passes
 * its definition. Each walk looks at a bounded number of operations and blocks.
 */

import { fromBytes, readBytes } from "../../ir/fold/bits.js";
import { foldLoadAt } from "../../ir/fold/load.js";
import type { Block } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { type Constant, isConstant, sameConstant, type Value, zeroOf } from "../../ir/values.js";
import { covers, isSamePlace, mayModify } from "./alias.js";
import { Access, type MemoryOperation, type MemoryOperations, type Settled } from "./operations.js";

const mostOperations = 80;
const mostBlocks = 24;

export class Contents {
  /** Which walk saw a block last. */
  private readonly seen: Int32Array;
  private walk = 0;
  private budget = 0;
  /** Blocks before the load's own that the last walk went back to. */
  blocksSeen = 0;
  /** That walk passed a call. */
  hasPassedCall = false;
  private readonly pending: Block[] = [];

  constructor(
    private readonly memory: MemoryOperations,
    private readonly before: readonly (readonly Block[])[],
    private readonly entry: Block,
    private readonly settled: Settled,
    /** For stores: only accesses by the same type tell, and stores of any other type may change the place. */
    private readonly isStrict = false,
  ) {
    this.seen = new Int32Array(before.length);
  }

  /** What the place of a load or store holds before it, as `type`; null where that is not known. */
  of(access: MemoryOperation, number: number, type: Type): Value | null {
    const { pending, memory } = this;
    this.walk++;
    this.budget = mostOperations;
    pending.length = 0;
    this.blocksSeen = 0;
    this.hasPassedCall = false;
    let found: Value | null = null;
    let block = access.inst.parent!;
    let from = number - 1;
    for (;;) {
      const value = this.inBlock(block, from, access, type);
      if (value === unknown) return null;
      if (value === outside) {
        if (block === this.entry || block.addressTaken) return null;
        for (const next of this.before[block.id]!) {
          if (this.seen[next.id] === this.walk) continue;
          this.seen[next.id] = this.walk;
          if (++this.blocksSeen > mostBlocks) return null;
          pending.push(next);
        }
      } else if (value !== access.inst) {
        if (
          found !== null &&
          found !== value &&
          !(isConstant(found) && isConstant(value) && sameConstant(found, value))
        )
          return null;
        found = value;
      }
      const next = pending.pop();
      if (next === undefined) return found;
      block = next;
      from = memory.starts[block.id + 1]! - 1;
    }
  }

  /** What the operations of a block up to number `from` say. */
  private inBlock(
    block: Block,
    from: number,
    access: MemoryOperation,
    type: Type,
  ): Value | typeof unknown | typeof outside {
    const { memory } = this;
    const { anchor } = access;
    const start = memory.starts[block.id]!;
    const isAddressHere = anchor.valueKind === "inst" && anchor.parent === block;
    for (let i = from; i >= start; i--) {
      const operation = memory.operations[i]!;
      if (isAddressHere && operation.inst.id <= anchor.id) return unknown;
      if (--this.budget < 0) return unknown;
      const value = this.said(operation, access, type);
      if (value !== null) return value;
      if (operation.access === Access.Call) this.hasPassedCall = true;
      if (operation.inst !== access.inst && mayModify(operation, access, memory, !this.isStrict))
        return unknown;
    }
    return isAddressHere ? unknown : outside;
  }

  /** The contents of a place by one operation that wrote or read all of it. */
  private said(operation: MemoryOperation, access: MemoryOperation, type: Type): Value | null {
    if (this.isStrict && operation.inst.hints?.tbaa !== access.inst.hints?.tbaa) return null;
    switch (operation.access) {
      case Access.Load:
        if (!isSamePlace(operation, access)) return null;
        if (operation.inst === access.inst) return operation.inst;
        return operation.inst.type === type ? this.settled(operation.inst) : null;
      case Access.Store: {
        if (!covers(operation, access)) return null;
        const value = this.settled(operation.inst.operands[0]!);
        if (value.type === type && isSamePlace(operation, access)) return value;
        return isConstant(value) ? this.part(value, access.offset - operation.offset, type) : null;
      }
      case Access.Fill: {
        const byte = operation.inst.operands[2]!;
        if (byte.valueKind !== "int" || !covers(operation, access)) return null;
        const bytes = new Uint8Array(access.size).fill(Number(byte.value & 0xffn));
        return this.ofBytes(bytes, type);
      }
      case Access.Copy:
        return covers(operation, access) ? this.copied(operation, access, type) : null;
      default:
        return null;
    }
  }

  /** `type` at an offset of a stored constant. */
  private part(value: Constant, offset: number, type: Type): Value | null {
    const size = this.memory.layout.storeSize(type);
    const bytes = new Uint8Array(size);
    if (value.type.isAggregate || !isWhole(value.type) || !isWhole(type)) return null;
    return readBytes(this.memory.layout, value, offset, bytes) ? this.ofBytes(bytes, type) : null;
  }
  private ofBytes(bytes: Uint8Array, type: Type): Value | null {
    if (!isWhole(type)) return null;
    if (bytes.every((byte) => byte === 0)) return zeroOf(type);
    return fromBytes(this.memory.layout, type, bytes);
  }
  private copied({ inst, offset }: MemoryOperation, access: MemoryOperation, type: Type): Value | null {
    const { anchor, offset: from } = this.memory.placeBehind(inst.operands[2]!);
    if (anchor.valueKind !== "global" || anchor.kind !== "variable") return null;
    return foldLoadAt(this.memory.layout, type, anchor, from + access.offset - offset);
  }
}

/** Numbers all of whose bits are in memory; vectors of such, and pointers. */
function isWhole({ scalar }: Type): boolean {
  if (scalar.kind === "int") return scalar.bits % 8 === 0;
  return scalar.kind === "ptr" || scalar.kind === "float" || scalar.kind === "double";
}

/** No way to tell, and: what came before the block has to say. */
const unknown = -1;
const outside = 0;
