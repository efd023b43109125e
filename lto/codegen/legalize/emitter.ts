/**
 * Appends legal instructions to the block being rewritten, folding what is constant.
 *
 * Operands are legal values only. Integer folding covers what expansions produce from constant operands
 * (masks, shift amounts, carries); it is not an optimiser.
 */

import { type AttributeList, noAttributeList } from "../../ir/attributes.js";
import { type DebugRecord, putBefore } from "../../ir/debug-records.js";
import { integerBinary, integerCompare } from "../../ir/fold/integers.js";
import {
  type BinaryOp,
  Block,
  type Body,
  type CallData,
  type CastOp,
  type FloatPredicate,
  type Inst,
  type IntPredicate,
  type MemoryData,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { raw } from "../../ir/raw.js";
import { Strictness } from "../../ir/strict-float.js";
import { i1, i8, i64, intType, type Type, voidType } from "../../ir/types.js";
import {
  ConstFloat,
  type ConstInt,
  ConstUndef,
  constBool,
  constI64,
  constInt,
  type Value,
} from "../../ir/values.js";
import { type StrictName, strictNameOf, strictOperation } from "./strict-operations.js";

const plainMemory = new Map<number, MemoryData>();
/** Non-atomic access of the given alignment in bytes. */
function memoryOf(align: number): MemoryData {
  let data = plainMemory.get(align);
  if (data === undefined) plainMemory.set(align, (data = { align, ordering: "not_atomic", scope: "" }));
  return data;
}
const byteElement = { elementType: i8 };

/** Call data of a plain C call to a declaration. */
export function callDataOf(fn: Func, count: number, attributes: AttributeList = noAttributeList): CallData {
  return {
    functionType: fn.valueType,
    callingConvention: 0,
    attributes,
    tail: "",
    argumentCount: count,
    bundles: [],
  };
}

export class Emitter {
  /** Block under construction and its instructions so far. */
  block!: Block;
  out: Inst[] = [];
  /** Of what is emitted. */
  origin = 0;
  /** Debug records before what is emitted next. */
  records: DebugRecord[] | null = null;
  /** Of the floating-point operations that are emitted. */
  strictness = Strictness.None;
  constructor(readonly body: Body) {}

  push<I extends Inst>(inst: I): I {
    inst.parent = this.block;
    if (inst.origin === 0) inst.origin = this.origin;
    if (this.records !== null) this.settleRecords(inst);
    this.out.push(inst);
    return inst;
  }

  private settleRecords(inst: Inst): void {
    // They stand after all phis.
    if (inst.op === Op.Phi) return;
    putBefore(inst, this.records!);
    this.records = null;
  }

  /** A new block after all others; nothing branches to it yet. */
  newBlock(): Block {
    const block = new Block();
    this.body.blocks.push(block);
    return block;
  }
  /** Finishes the current block (its terminator is in place) and goes on in `block`. */
  continueIn(block: Block): void {
    raw(this.block).insts = this.out;
    this.block = block;
    this.out = raw(block).insts;
  }
  jump(target: Block): void {
    this.push(makeInst(Op.Br, voidType, [], null, [target]));
  }
  branch(condition: Value, ifTrue: Block, ifFalse: Block): void {
    this.push(makeInst(Op.CondBr, voidType, [condition], null, [ifTrue, ifFalse]));
  }
  phi(type: Type, incoming: readonly (readonly [Value, Block])[]): Inst {
    return this.push(
      makeInst(
        Op.Phi,
        type,
        incoming.map((e) => e[0]),
        null,
        incoming.map((e) => e[1]),
      ),
    );
  }

  /** A binary operation on two values of one legal type. */
  bin(op: BinaryOp, a: Value, b: Value, flags = 0): Value {
    if (b.valueKind === "int" && a.type.kind === "int") {
      if (a.valueKind === "int") {
        const folded = integerBinary(op, a.type.bits, a.value, b.value, 0);
        if (typeof folded === "bigint") return constInt(a.type, folded);
      }
      const same = identity(op, a, b);
      if (same !== null) return same;
    } else if (a.valueKind === "int" && a.value === 0n) {
      if (op === Op.Add || op === Op.Or || op === Op.Xor) return b;
      if (op === Op.And || op === Op.Mul) return a;
    }
    return (
      this.strict(strictNameOf(op), a.type, [a, b]) ??
      this.push(makeInst(op, a.type, [a, b], null, [], flags))
    );
  }
  /** A strict operation where such are asked for, else null. @param name undefined: of an operation without strict form */
  strict(name: StrictName | undefined, type: Type, args: readonly Value[]): Inst | null {
    if (this.strictness === Strictness.None || name === undefined) return null;
    return this.call(strictOperation(name, this.strictness, type, args), args);
  }
  add(a: Value, b: Value): Value {
    return this.bin(Op.Add, a, b);
  }
  sub(a: Value, b: Value): Value {
    return this.bin(Op.Sub, a, b);
  }
  and(a: Value, b: Value): Value {
    return this.bin(Op.And, a, b);
  }
  or(a: Value, b: Value): Value {
    return this.bin(Op.Or, a, b);
  }
  xor(a: Value, b: Value): Value {
    return this.bin(Op.Xor, a, b);
  }
  /** Shifts by a constant number of bits. */
  shl(a: Value, bits: number): Value {
    return this.bin(Op.Shl, a, constInt(a.type, bits));
  }
  lshr(a: Value, bits: number): Value {
    return this.bin(Op.LShr, a, constInt(a.type, bits));
  }
  ashr(a: Value, bits: number): Value {
    return this.bin(Op.AShr, a, constInt(a.type, bits));
  }
  not(a: Value): Value {
    return this.bin(Op.Xor, a, constInt(a.type, -1));
  }
  neg(a: Value): Value {
    return this.bin(Op.Sub, constInt(a.type, 0), a);
  }

  fneg(a: Value, flags = 0): Value {
    return this.push(makeInst(Op.FNeg, a.type, [a], null, [], flags));
  }

  icmp(predicate: IntPredicate, a: Value, b: Value): Value {
    if (a.valueKind === "int" && b.valueKind === "int")
      return constBool(integerCompare(predicate, a.type.bits, a.value, b.value));
    return this.push(makeInst(Op.ICmp, i1, [a, b], predicate));
  }
  /** @param signals of a strict comparison: quiet NaNs raise a flag, too */
  fcmp(predicate: FloatPredicate, a: Value, b: Value, signals = false): Value {
    const name = `${signals ? "fcmps" : "fcmp"}.${predicate}` as const;
    return this.strict(name, i1, [a, b]) ?? this.push(makeInst(Op.FCmp, i1, [a, b], predicate));
  }
  select(condition: Value, a: Value, b: Value): Value {
    if (a === b) return a;
    if (condition.valueKind === "int") return condition.value === 0n ? b : a;
    return this.push(makeInst(Op.Select, a.type, [condition, a, b], null));
  }
  cast(op: CastOp, a: Value, type: Type): Value {
    if (a.type === type) return a;
    if (a.valueKind === "int" && type.kind === "int") {
      if (op === Op.Trunc || op === Op.SExt) return constInt(type, a.value);
      if (op === Op.ZExt) return constInt(type, BigInt.asUintN(a.type.bits, a.value));
    }
    if (op === Op.BitCast) {
      if (a.valueKind === "float" && type.kind === "int") return constInt(type, a.bits);
      if (a.valueKind === "int" && type.isFloat)
        return new ConstFloat(type, BigInt.asUintN(type === a.type ? 0 : a.type.bits, a.value));
    }
    if (a.valueKind === "undef" && (op === Op.BitCast || op === Op.Trunc))
      return new ConstUndef(type, a.poison);
    return this.strict(strictNameOf(op), type, [a]) ?? this.push(makeInst(op, type, [a], null));
  }
  freeze(a: Value): Value {
    return this.push(makeInst(Op.Freeze, a.type, [a], null));
  }

  /** A call of a declaration with legal arguments. */
  call(fn: Func, args: readonly Value[], attributes?: AttributeList): Inst {
    return this.push(
      makeInst(Op.Call, fn.valueType.result, [fn, ...args], callDataOf(fn, args.length, attributes)),
    );
  }
  /** Member of the result of an instruction that gives several. */
  extract(aggregate: Value, index: number): Value {
    const type = aggregate.type;
    const member = type.kind === "array" ? type.element : type.elements[index]!;
    return this.push(makeInst(Op.ExtractValue, member, [aggregate], [index]));
  }

  /** Pointer plus a constant number of bytes. */
  offset(pointer: Value, bytes: number): Value {
    if (bytes === 0) return pointer;
    return this.push(makeInst(Op.GetElementPtr, pointer.type, [pointer, constI64(bytes)], byteElement));
  }
  /** Pointer plus a variable number of bytes (i64). */
  offsetBy(pointer: Value, bytes: Value): Value {
    return this.push(makeInst(Op.GetElementPtr, pointer.type, [pointer, bytes], byteElement));
  }
  /** Load of a legal type. @param align in bytes */
  load(type: Type, pointer: Value, align: number, flags = 0): Value {
    return this.push(makeInst(Op.Load, type, [pointer], memoryOf(align), [], flags));
  }
  store(value: Value, pointer: Value, align: number, flags = 0): void {
    this.push(makeInst(Op.Store, voidType, [value, pointer], memoryOf(align), [], flags));
  }
}

/** The result when the constant right operand makes the operation trivial, else null. */
function identity(op: BinaryOp, a: Value, b: ConstInt): Value | null {
  if (b.value === 0n) {
    switch (op) {
      case Op.Add:
      case Op.Sub:
      case Op.Or:
      case Op.Xor:
      case Op.Shl:
      case Op.LShr:
      case Op.AShr:
        return a;
      case Op.And:
      case Op.Mul:
        return b;
      default:
        return null;
    }
  }
  if (b.value === -1n) {
    if (op === Op.And) return a;
    if (op === Op.Or) return b;
  }
  return null;
}

/** The smallest legal integer type of at least `bits` bits, 1 ≤ bits ≤ 64; i1 stays i1. */
export function promotedInt(bits: number): Type {
  return bits === 1 ? i1 : bits <= 8 ? i8 : bits <= 16 ? intType(16) : bits <= 32 ? intType(32) : i64;
}
