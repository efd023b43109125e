/**
 * Which instructions compute what another one has computed: a hash table of expressions whose entries go with the part
 * of the dominator tree in which they hold.
 *
 * Two instructions are equal when operation, type, data and what stands for their operands are, in either order where
 * that does not matter. Flags that only promise something (no wrapping, exactness, fast math) may differ: the one that
 * stays keeps those that both have. An address in an array is one, whether it is reached through the array, with an
 * index of zero, or from its first element; whatever the elements are called, if they are as large; and whether the
 * address or a product before it multiplies by the size (`Scaled`).
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { type CallInst, type Inst, type InstWith, Op, swappedPredicate } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { Memory } from "../../ir/memory-effects.js";
import type { Type } from "../../ir/types.js";
import { isConstant, sameConstant, type Value } from "../../ir/values.js";
import { callEffects } from "../call-effects.js";
import type { Settled } from "../memory/operations.js";

/** Attributes of functions that make a call more than a function of its arguments. */
const special = ["strictfp", "returns_twice", "convergent", "noduplicate"];

/** A call that gives the same result whenever it is given the same arguments, and does nothing else. */
function isPureCall(call: CallInst): boolean {
  if (call.op !== Op.Call || call.type.kind === "void" || call.data.tail === "musttail") return false;
  const callee = call.operands[0]!;
  if (call.data.bundles.length > 0 || callee.valueKind !== "global" || callee.kind !== "function")
    return false;
  for (let i = 1; i < call.operands.length; i++) {
    const { kind } = call.operands[i]!.type;
    if (kind === "metadata" || kind === "token") return false;
  }
  const intrinsic = intrinsicOf(callee);
  if (intrinsic !== null) return intrinsic.pure;
  if (callEffects(call) !== Memory.None || call.data.functionType !== callee.valueType) return false;
  const { attributes } = call.data;
  if (attributes.result.has("noalias") || callee.attributes.result.has("noalias")) return false;
  return !special.some((name) => attributes.fn.has(name) || callee.attributes.fn.has(name));
}

/** Whether an instruction's result follows from its operands and nothing else. */
export function isExpression(inst: Inst): boolean {
  const { op } = inst;
  if (op >= Op.FNeg && op <= Op.Xor) return true;
  if (op >= Op.GetElementPtr && op <= Op.FCmp) return true;
  switch (op) {
    case Op.Select:
    case Op.ExtractElement:
    case Op.InsertElement:
    case Op.ShuffleVector:
    case Op.ExtractValue:
    case Op.InsertValue:
    case Op.Freeze:
      return true;
    case Op.Call:
      return isPureCall(inst);
    default:
      return false;
  }
}

function isCommutative(inst: Inst): boolean {
  switch (inst.op) {
    case Op.Add:
    case Op.FAdd:
    case Op.Mul:
    case Op.FMul:
    case Op.And:
    case Op.Or:
    case Op.Xor:
    case Op.ICmp:
      return true;
    case Op.Call:
      return intrinsicOf(inst.operands[0]!)?.commutative === true;
    default:
      return false;
  }
}

/** How many indices of an address computation only lead into arrays at their start. */
function skippedIndices({ data, operands }: InstWith<Op.GetElementPtr>): number {
  let type = data.elementType;
  let skipped = 0;
  for (; skipped + 2 < operands.length && type.kind === "array"; skipped++) {
    const index = operands[skipped + 1]!;
    if (index.valueKind !== "int" || index.value !== 0n) break;
    type = type.element;
  }
  return skipped;
}
function elementTypeBehind({ data }: InstWith<Op.GetElementPtr>, skipped: number): Type {
  let type = data.elementType;
  for (let i = 0; i < skipped && type.kind === "array"; i++) type = type.element;
  return type;
}

/** Beyond that a size is no factor of an index. */
const largestScale = 2 ** 31;

/** An index times a number of bytes, modulo 2^64. */
class Scaled {
  index: Value | null = null;
  scale = 0;

  constructor(
    private readonly layout: DataLayout,
    private readonly settled: Settled,
  ) {}

  /** What the address is beyond its base. @returns false where that is no one product */
  read(inst: InstWith<Op.GetElementPtr>, skipped: number): boolean {
    const { operands } = inst;
    if (operands.length !== skipped + 2 || inst.type.kind !== "ptr") return false;
    this.scale = this.layout.allocSize(elementTypeBehind(inst, skipped));
    this.index = this.settled(operands[skipped + 1]!);
    if (!(this.scale < largestScale)) return false;
    const { index } = this;
    if (index.valueKind === "int") {
      this.scale *= index.num;
      this.index = null;
      return Number.isSafeInteger(this.scale);
    }
    const factor = factorOf(index);
    // The product of an index that is extended first may wrap before.
    if (factor > 0 && index.type.bits === this.layout.bitWidth(inst.type)) {
      const scale = this.scale * factor;
      if (scale < largestScale) {
        this.scale = scale;
        this.index = this.settled((index as Inst).operands[0]!);
      }
    }
    return true;
  }
}

/** A constant that the value's first operand is multiplied by; 0: it is no such product. */
function factorOf(value: Value): number {
  if (value.valueKind !== "inst" || (value.op !== Op.Mul && value.op !== Op.Shl)) return 0;
  const by = value.operands[1]!;
  if (by.valueKind !== "int" || !(by.num > 0)) return 0;
  if (value.op === Op.Mul) return by.num;
  return by.num < 31 ? 2 ** by.num : 0;
}

export class Expressions {
  private readonly heads: Int32Array;
  private readonly next: Int32Array;
  private readonly hashes: Int32Array;
  private readonly mask: number;
  /** Entries in the order in which they came. */
  private readonly log: Inst[] = [];

  /** @param count of numbered instructions */
  constructor(
    count: number,
    private readonly settled: Settled,
    layout: DataLayout,
  ) {
    this.scaled = new Scaled(layout, settled);
    this.other = new Scaled(layout, settled);
    let size = 64;
    while (size < count) size *= 2;
    this.mask = size - 1;
    this.heads = new Int32Array(size).fill(-1);
    this.next = new Int32Array(count);
    this.hashes = new Int32Array(count);
    this.of = new Array<Inst>(count);
  }
  /** By number. */
  private readonly of: Inst[];
  private readonly scaled: Scaled;
  private readonly other: Scaled;

  /** How many entries there are, for `forget`. */
  get size(): number {
    return this.log.length;
  }
  /** Takes out what came after there were so many entries. */
  forget(size: number): void {
    while (this.log.length > size) {
      const { id } = this.log.pop()!;
      this.heads[this.hashes[id]! & this.mask] = this.next[id]!;
    }
  }

  /** The instruction that computes the same and dominates it; null: none, and it is entered. */
  find(inst: Inst): Inst | null {
    const hash = this.hash(inst);
    for (let id = this.heads[hash & this.mask]!; id >= 0; id = this.next[id]!)
      if (this.hashes[id] === hash && this.isSame(inst, this.of[id]!)) return this.of[id]!;
    const { id } = inst;
    this.hashes[id] = hash;
    this.of[id] = inst;
    this.next[id] = this.heads[hash & this.mask]!;
    this.heads[hash & this.mask] = id;
    this.log.push(inst);
    return null;
  }

  private hash(inst: Inst): number {
    const { operands } = inst;
    let hash = Math.imul(inst.op, 0x9e3779b1) ^ Math.imul(inst.type.id, 0x85ebca6b);
    if (isCommutative(inst)) {
      // Whatever the order.
      const first = inst.op === Op.Call ? 1 : 0;
      hash ^= Math.imul(this.hashOf(operands[first]!) + this.hashOf(operands[first + 1]!), 0xc2b2ae35);
      if (first === 1) hash ^= this.hashOf(operands[0]!);
    } else if (inst.op === Op.GetElementPtr) {
      const { scaled } = this;
      const skipped = skippedIndices(inst);
      hash ^= this.hashOf(operands[0]!);
      if (scaled.read(inst, skipped))
        hash = Math.imul(
          hash ^ (scaled.index === null ? 5 : this.hashOf(scaled.index)) ^ scaled.scale,
          0x01000193,
        );
      else
        for (let i = 1 + skipped; i < operands.length; i++)
          hash = Math.imul(hash ^ this.hashOf(operands[i]!), 0x01000193);
    } else
      for (let i = 0; i < operands.length; i++)
        hash = Math.imul(hash ^ this.hashOf(operands[i]!), 0x01000193);
    return hash | 0;
  }
  private hashOf(operand: Value): number {
    const value = this.settled(operand);
    switch (value.valueKind) {
      case "inst":
        return value.id * 2 + 0x1000;
      case "argument":
        return value.index * 2 + 1;
      case "int":
        return Number.isNaN(value.num) ? 7 : Math.imul(value.num | 0, 0x27d4eb2f);
      case "global":
        return Math.imul(value.name.length, 0x165667b1) ^ value.name.charCodeAt(value.name.length - 1);
      default:
        return value.valueKind.length;
    }
  }

  private sameValue(a: Value, b: Value): boolean {
    const x = this.settled(a);
    const y = this.settled(b);
    return x === y || (isConstant(x) && isConstant(y) && sameConstant(x, y));
  }

  private isSame(a: Inst, b: Inst): boolean {
    if (a.op !== b.op || a.type !== b.type) return false;
    if (a.op === Op.GetElementPtr) return this.isSameAddress(a, b as typeof a);
    if (a.operands.length !== b.operands.length) return false;
    switch (a.op) {
      case Op.ICmp: {
        const other = b as InstWith<Op.ICmp>;
        if (a.operands[0]!.type !== other.operands[0]!.type) return false;
        if (a.data === other.data && this.sameOperands(a, b)) return true;
        return swappedPredicate[a.data] === other.data && this.swappedOperands(a, b, 0);
      }
      case Op.FCmp:
        return a.data === b.data && this.sameOperands(a, b);
      case Op.ShuffleVector:
      case Op.ExtractValue:
      case Op.InsertValue: {
        const list = b.data as readonly number[];
        return (
          a.data.length === list.length && a.data.every((n, i) => n === list[i]) && this.sameOperands(a, b)
        );
      }
      case Op.Call: {
        const other = b as InstWith<Op.Call>;
        if (a.data.functionType !== other.data.functionType) return false;
        // What is promised of the result and of arguments is promised of both.
        if (a.data.attributes !== other.data.attributes) return false;
        if (a.data.callingConvention !== other.data.callingConvention) return false;
        return this.sameOperands(a, b) || (isCommutative(a) && this.swappedOperands(a, b, 1));
      }
      default:
        return this.sameOperands(a, b) || (isCommutative(a) && this.swappedOperands(a, b, 0));
    }
  }
  private isSameAddress(a: InstWith<Op.GetElementPtr>, b: InstWith<Op.GetElementPtr>): boolean {
    const { scaled, other } = this;
    const fromA = skippedIndices(a);
    const fromB = skippedIndices(b);
    const isScaled = scaled.read(a, fromA);
    if (isScaled !== other.read(b, fromB)) return false;
    if (isScaled) {
      if (scaled.scale !== other.scale || !this.sameValue(a.operands[0]!, b.operands[0]!)) return false;
      if (scaled.index === null || other.index === null) return scaled.index === other.index;
      return this.sameValue(scaled.index, other.index);
    }
    const indices = a.operands.length - fromA;
    if (indices !== b.operands.length - fromB) return false;
    if (elementTypeBehind(a, fromA) !== elementTypeBehind(b, fromB)) return false;
    if (!this.sameValue(a.operands[0]!, b.operands[0]!)) return false;
    for (let i = 1; i < indices; i++)
      if (!this.sameValue(a.operands[fromA + i]!, b.operands[fromB + i]!)) return false;
    return true;
  }
  private sameOperands(a: Inst, b: Inst): boolean {
    for (let i = 0; i < a.operands.length; i++)
      if (!this.sameValue(a.operands[i]!, b.operands[i]!)) return false;
    return true;
  }
  /** The first two operands, from `first` on, the other way round; the others equal. */
  private swappedOperands(a: Inst, b: Inst, first: number): boolean {
    for (let i = 0; i < a.operands.length; i++) {
      const k = i === first ? first + 1 : i === first + 1 ? first : i;
      if (!this.sameValue(a.operands[i]!, b.operands[k]!)) return false;
    }
    return true;
  }
}
