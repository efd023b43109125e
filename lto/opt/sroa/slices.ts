/**
 * What is done with a local variable, in parts: which bytes are read and written as one, and as what type.
 *
 * A variable can be taken apart when its address goes nowhere (it is loaded from, stored to, moved by constants, filled
 * with a constant) and accesses are the same bytes or have none in common. Null where it cannot.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import type { Editor } from "../../ir/editor.js";
import { constantGepOffset } from "../../ir/fold/index.js";
import { type Inst, type InstWith, isPlainAccess, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Type } from "../../ir/types.js";
import { type Constant, ConstFloat, constInt, zeroOf } from "../../ir/values.js";

/** A part of a variable. */
export interface Slice {
  readonly offset: number;
  /** In bytes. */
  readonly size: number;
  readonly type: Type;
  /** Loads and stores of the part, and fills that cover it. */
  readonly accesses: Inst[];
}

export interface Parts {
  readonly slices: readonly Slice[];
  /** What only made addresses, marked lifetimes or filled: it goes, uses before what they use. */
  readonly rest: readonly Inst[];
}

const mostUses = 2000;

/** A fill of so many bytes with a constant. */
interface Fill {
  readonly inst: Inst;
  readonly offset: number;
  readonly size: number;
  readonly byte: number;
}

/** What a fill stores into a part. */
export function filledValue(byte: number, { type, size }: Slice): Constant | null {
  if (byte === 0)
    return type.kind === "vector" || type.kind === "ptr" || type.kind === "int" || type.isFloat
      ? zeroOf(type)
      : null;
  let bits = 0n;
  for (let i = 0; i < size; i++) bits = (bits << 8n) | BigInt(byte);
  if (type.kind === "int") return type.bits === size * 8 ? constInt(type, bits) : null;
  return type.kind === "float" || type.kind === "double" ? new ConstFloat(type, bits) : null;
}
/** The byte that a `memset` of this variable stores. */
export function byteOf(fill: Inst): number {
  const value = fill.operands[2]!;
  return value.valueKind === "int" ? Number(value.value & 0xffn) : 0;
}

export function partsOf(alloca: Inst, editor: Editor, layout: DataLayout): Parts | null {
  const collector = new Collector(editor, layout);
  return collector.collect(alloca, 0) ? collector.parts() : null;
}

class Collector {
  private readonly slices: Slice[] = [];
  private readonly fills: Fill[] = [];
  private readonly rest: Inst[] = [];
  private budget = mostUses;

  constructor(
    private readonly editor: Editor,
    private readonly layout: DataLayout,
  ) {}

  /** @param pointer `offset` bytes into the variable */
  collect(pointer: Inst, offset: number): boolean {
    let isGood = true;
    const inner: (readonly [Inst, number])[] = [];
    this.editor.uses.forEach(pointer, (user, slot) => {
      if (!isGood) return;
      if (--this.budget < 0) isGood = false;
      else if (user.op === Op.GetElementPtr) {
        const by = slot === 0 ? offsetOf(user, this.layout) : null;
        if (by === null) isGood = false;
        else inner.push([user, offset + by]);
      } else isGood = this.access(user, slot, offset);
    });
    for (const [gep, at] of inner) {
      if (!isGood || !this.collect(gep, at)) return false;
      this.rest.push(gep);
    }
    return isGood;
  }

  private access(user: Inst, slot: number, offset: number): boolean {
    if (user.op === Op.Load) return isPlainAccess(user) && this.add(user, offset, user.type);
    if (user.op === Op.Store)
      return slot === 1 && isPlainAccess(user) && this.add(user, offset, user.operands[0]!.type);
    if (user.op !== Op.Call || slot === 0) return false;
    const name = intrinsicOf(user.operands[0]!)?.name;
    if (name === "lifetime.start" || name === "lifetime.end") {
      this.rest.push(user);
      return user.data.bundles.length === 0;
    }
    if (name !== "memset" || slot !== 1) return false;
    const [, , value, length, isVolatile] = user.operands;
    if (value!.valueKind !== "int" || length!.valueKind !== "int" || !isFalse(isVolatile!)) return false;
    if (Number.isNaN(length!.num) || length!.num < 0) return false;
    this.fills.push({ inst: user, offset, size: length!.num, byte: byteOf(user) });
    this.rest.push(user);
    return true;
  }

  private add(inst: Inst, offset: number, type: Type): boolean {
    if (!(type.kind === "int" || type.kind === "ptr" || type.kind === "vector" || type.isFloat)) return false;
    const size = this.layout.storeSize(type);
    for (const slice of this.slices) {
      if (slice.offset + slice.size <= offset || offset + size <= slice.offset) continue;
      if (slice.offset !== offset || slice.size !== size || slice.type !== type) return false;
      slice.accesses.push(inst);
      return true;
    }
    this.slices.push({ offset, size, type, accesses: [inst] });
    return this.slices.length <= 64;
  }

  parts(): Parts | null {
    for (const { inst, offset, size, byte } of this.fills)
      for (const slice of this.slices) {
        if (slice.offset + slice.size <= offset || offset + size <= slice.offset) continue;
        const covers = offset <= slice.offset && slice.offset + slice.size <= offset + size;
        if (!covers || filledValue(byte, slice) === null) return null;
        slice.accesses.push(inst);
      }
    return { slices: this.slices, rest: this.rest };
  }
}

const isFalse = (value: { readonly valueKind: string }): boolean =>
  value.valueKind === "int" && (value as Constant & { readonly value: bigint }).value === 0n;

/** Bytes that an address computation adds, if constant. */
export function offsetOf(gep: InstWith<Op.GetElementPtr>, layout: DataLayout): number | null {
  if (gep.type.kind !== "ptr") return null;
  const offset = constantGepOffset(layout, gep.data.elementType, gep.operands);
  return offset !== null && Number.isSafeInteger(offset) ? offset : null;
}
