/**
 * What the rules of `simplify` share: looking at operands, and making detached instructions.
 *
 * A rule gets an instruction and returns what it is: a value that is there already, an instruction that is in no block
 * yet (nor are those of its operands that were made with it), or null. So a rule can be asked about a body that nobody
 * may change; `simplify` puts in what it made.
 */
import { type KnownBits, knownBits } from "../../analysis/known-bits.js";
import { isWellDefined } from "../../analysis/value-facts.js";
import type { DataLayout } from "../../ir/data-layout.js";
import type { Folder } from "../../ir/fold/index.js";
import {
  type BinaryOp,
  type Block,
  type CastOp,
  type Inst,
  type IntPredicate,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { i1, i8, intType, type Type, vectorType } from "../../ir/types.js";
import { type ConstInt, constInt, type Value } from "../../ir/values.js";

/** What a rule may ask beside its instruction. */
export class Forms {
  constructor(
    readonly fn: Func,
    readonly entry: Block,
    readonly layout: DataLayout,
    readonly folder: Folder,
    /** Floating-point arithmetic is IEEE's, subnormal numbers included. */
    readonly isIeee: boolean,
    /** A product that is added to something stays one operation. */
    readonly fusesMultiplyAdd: boolean,
    /** Whether nobody but the one who asks uses it. */
    private readonly isUsedOnce: (inst: Inst) => boolean,
  ) {}

  /** An instruction of which the one who asks is the only user, or null. */
  onlyUse(value: Value): Inst | null {
    if (value.valueKind !== "inst") return null;
    return value.parent === null || this.isUsedOnce(value) ? value : null;
  }
  known(value: Value): KnownBits {
    return knownBits(value, this.fn);
  }
  isWellDefined(value: Value): boolean {
    return isWellDefined(value, this.fn);
  }

  private make(inst: Inst): Value {
    return this.folder.operation(inst.op, inst.type, inst.operands, inst.data, inst.flags) ?? inst;
  }
  binary(op: BinaryOp, a: Value, b: Value, flags = 0): Value {
    return this.make(makeInst(op, a.type, [a, b], null, [], flags));
  }
  cast(op: CastOp, value: Value, type: Type, flags = 0): Value {
    return value.type === type ? value : this.make(makeInst(op, type, [value], null, [], flags));
  }
  icmp(predicate: IntPredicate, a: Value, b: Value, flags = 0): Value {
    const { type } = a;
    const result = type.kind === "vector" ? vectorType(type.count, i1) : i1;
    return this.make(makeInst(Op.ICmp, result, [a, b], predicate, [], flags));
  }
  select(like: Inst, condition: Value, a: Value, b: Value): Value {
    return this.make(makeInst(Op.Select, a.type, [condition, a, b], null, [], like.flags));
  }
  freeze(value: Value): Value {
    return this.make(makeInst(Op.Freeze, value.type, [value], null));
  }
  not(value: Value): Value {
    return this.binary(Op.Xor, value, constInt(value.type, -1));
  }
  negate(value: Value, flags = 0): Value {
    return this.binary(Op.Sub, constInt(value.type, 0), value, flags);
  }
  /** The negation of a constant in floating point; null where that is no constant. */
  minus(value: Value): Value | null {
    return this.folder.operation(Op.FNeg, value.type, [value], null, 0);
  }
  insertElement(vector: Value, element: Value, place: Value): Value {
    return this.make(makeInst(Op.InsertElement, vector.type, [vector, element, place], null));
  }
  byteOffset(base: Value, offset: bigint, flags: number): Value {
    if (offset === 0n) return base;
    const at = constInt(intType(this.layout.bitWidth(base.type)), offset);
    return this.make(makeInst(Op.GetElementPtr, base.type, [base, at], { elementType: i8 }, [], flags));
  }
}

/** An integer constant, not a vector of such. */
export const intOf = (value: Value): ConstInt | null => (value.valueKind === "int" ? value : null);
export const isZero = (value: Value): boolean =>
  value.valueKind === "int" ? value.value === 0n : value.valueKind === "zero";
export const isOne = (value: Value): boolean =>
  value.valueKind === "int" && (value.type.bits === 1 ? value.value === -1n : value.value === 1n);
export const isAllOnes = (value: Value): boolean => value.valueKind === "int" && value.value === -1n;
export const isPoison = (value: Value): boolean => value.valueKind === "undef" && value.poison;

/** An integer constant as an unsigned number. */
export const unsignedOf = (c: ConstInt): bigint => BigInt.asUintN(c.type.bits, c.value);
/** The exponent of a power of two, of a constant seen as unsigned; -1 for others. */
export function logOf(c: ConstInt): number {
  const n = unsignedOf(c);
  if (n === 0n || (n & (n - 1n)) !== 0n) return -1;
  return n.toString(2).length - 1;
}
/** A shift amount that is constant and in range; -1 otherwise. */
export function amountOf(value: Value): number {
  if (value.valueKind !== "int") return -1;
  const n = unsignedOf(value);
  return n < BigInt(value.type.bits) ? Number(n) : -1;
}

/** A value seen as an instruction of this operation, or null. */
export function asInst(value: Value, op: Op): Inst | null {
  return value.valueKind === "inst" && value.op === op ? value : null;
}
/** The operand of which this is the complement, or null. */
export function invertedOf(value: Value): Value | null {
  const inst = asInst(value, Op.Xor);
  return inst !== null && isAllOnes(inst.operands[1]!) ? inst.operands[0]! : null;
}
/** The operand of which this is the negation, or null. */
export function negatedOf(value: Value): Value | null {
  const inst = asInst(value, Op.Sub);
  return inst !== null && isZero(inst.operands[0]!) ? inst.operands[1]! : null;
}

/** Whether two operands are one value. Constants are compared by contents only where they are numbers. */
export function same(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (a.type !== b.type) return false;
  if (a.valueKind === "int") return b.valueKind === "int" && a.value === b.value;
  return a.valueKind === "zero" && b.valueKind === "zero";
}

export const isCommutative = (op: Op): boolean =>
  op === Op.Add ||
  op === Op.Mul ||
  op === Op.And ||
  op === Op.Or ||
  op === Op.Xor ||
  op === Op.FAdd ||
  op === Op.FMul;
