/**
 * Makes instructions at a place of a body that is being edited, folding what is constant when asked to.
 *
 * A builder stands before an instruction or at the end of a block; what it makes comes there, in order, and is
 * in the use lists. Operations that a folder knows of give its result instead of an instruction, so that methods
 * return values. Types of results follow from the operands as in LLVM.
 */
import type { Editor } from "./editor.js";
import {
  type BinaryOp,
  type Block,
  type CallData,
  type CastOp,
  Flag,
  type FloatPredicate,
  type Inst,
  type InstData,
  type IntPredicate,
  type MemoryData,
  makeInst,
  Op,
} from "./instructions.js";
import { i1, i8, i32, i64, ptr, type Type, vectorType, voidType } from "./types.js";
import { type ConstInt, constInt, type Value } from "./values.js";

/** What an operation on these operands is without being made, or null: it has to be made. */
export type FoldOperation = (
  op: Op,
  type: Type,
  operands: readonly Value[],
  data: InstData,
  flags: number,
) => Value | null;

export class Builder {
  private block: Block | null = null;
  /** The instruction it stands before; null at the end of the block. */
  private place: Inst | null = null;

  constructor(
    readonly editor: Editor,
    private readonly fold: FoldOperation | null = null,
  ) {}

  /** Goes before an instruction. */
  before(inst: Inst): this {
    this.block = inst.parent;
    this.place = inst;
    return this;
  }
  /** Goes after an instruction; after all phis, if it is one. */
  after(inst: Inst): this {
    const block = inst.parent!;
    const at = inst.op === Op.Phi ? this.editor.firstAfterPhis(block) : this.editor.positionOf(inst) + 1;
    this.block = block;
    this.place = block.insts[at] ?? null;
    return this;
  }
  atEnd(block: Block): this {
    this.block = block;
    this.place = null;
    return this;
  }
  /** Goes after the phis of a block. */
  atStart(block: Block): this {
    this.block = block;
    this.place = block.insts[this.editor.firstAfterPhis(block)] ?? null;
    return this;
  }

  /** Puts a detached instruction here. */
  insert<I extends Inst>(inst: I): I {
    if (this.place !== null) return this.editor.insertBefore(inst, this.place);
    return this.editor.append(inst, this.block!);
  }
  private make(op: Op, type: Type, operands: Value[], data: InstData = null, flags = 0): Value {
    const folded = this.fold === null ? null : this.fold(op, type, operands, data, flags);
    return folded ?? this.insert(makeInst(op, type, operands, data as never, [], flags) as Inst);
  }

  // Arithmetic and comparison.

  binary(op: BinaryOp, a: Value, b: Value, flags = 0): Value {
    return this.make(op, a.type, [a, b], null, flags);
  }
  add = (a: Value, b: Value, flags = 0): Value => this.binary(Op.Add, a, b, flags);
  sub = (a: Value, b: Value, flags = 0): Value => this.binary(Op.Sub, a, b, flags);
  mul = (a: Value, b: Value, flags = 0): Value => this.binary(Op.Mul, a, b, flags);
  and = (a: Value, b: Value): Value => this.binary(Op.And, a, b);
  or = (a: Value, b: Value, flags = 0): Value => this.binary(Op.Or, a, b, flags);
  xor = (a: Value, b: Value): Value => this.binary(Op.Xor, a, b);
  shl = (a: Value, b: Value, flags = 0): Value => this.binary(Op.Shl, a, b, flags);
  lshr = (a: Value, b: Value, flags = 0): Value => this.binary(Op.LShr, a, b, flags);
  ashr = (a: Value, b: Value, flags = 0): Value => this.binary(Op.AShr, a, b, flags);
  /** All bits inverted. */
  not(a: Value): Value {
    return this.xor(a, constInt(a.type, -1));
  }
  fneg(a: Value, flags = 0): Value {
    return this.make(Op.FNeg, a.type, [a], null, flags);
  }
  freeze(a: Value): Value {
    return this.make(Op.Freeze, a.type, [a]);
  }
  icmp(predicate: IntPredicate, a: Value, b: Value, flags = 0): Value {
    return this.make(Op.ICmp, booleanFor(a.type), [a, b], predicate, flags);
  }
  fcmp(predicate: FloatPredicate, a: Value, b: Value, flags = 0): Value {
    return this.make(Op.FCmp, booleanFor(a.type), [a, b], predicate, flags);
  }
  select(condition: Value, ifTrue: Value, ifFalse: Value, flags = 0): Value {
    return this.make(Op.Select, ifTrue.type, [condition, ifTrue, ifFalse], null, flags);
  }
  /** A cast; the value itself when it has the type already. */
  cast(op: CastOp, value: Value, type: Type, flags = 0): Value {
    return value.type === type ? value : this.make(op, type, [value], null, flags);
  }

  // Memory.

  /** An alloca; put those of constant size into the entry block. */
  alloca(allocatedType: Type, align: number, count: Value = constInt(i32, 1)): Inst {
    const data = { allocatedType, align, inalloca: false, swifterror: false };
    return this.insert(makeInst(Op.Alloca, ptr, [count], data));
  }
  load(type: Type, pointer: Value, align: number, flags = 0): Inst {
    return this.insert(makeInst(Op.Load, type, [pointer], plainAccess(align), [], flags));
  }
  store(value: Value, pointer: Value, align: number, flags = 0): Inst {
    return this.insert(makeInst(Op.Store, voidType, [value, pointer], plainAccess(align), [], flags));
  }
  gep(elementType: Type, base: Value, indices: readonly Value[], flags = 0): Value {
    const lanes = [base, ...indices].find((v) => v.type.kind === "vector")?.type.count;
    const type =
      base.type.kind !== "vector" && lanes !== undefined ? vectorType(lanes, base.type) : base.type;
    return this.make(Op.GetElementPtr, type, [base, ...indices], { elementType }, flags);
  }
  /** A pointer `offset` bytes further on. */
  byteOffset(base: Value, offset: number | bigint | Value, flags: number = Flag.InBounds): Value {
    const index = typeof offset === "object" ? offset : constInt(i64, offset);
    if (index.valueKind === "int" && (index as ConstInt).value === 0n) return base;
    return this.gep(i8, base, [index], flags);
  }

  // Aggregates and vectors.

  extractValue(aggregate: Value, path: readonly number[]): Value {
    return this.make(Op.ExtractValue, memberType(aggregate.type, path), [aggregate], path);
  }
  insertValue(aggregate: Value, member: Value, path: readonly number[]): Value {
    return this.make(Op.InsertValue, aggregate.type, [aggregate, member], path);
  }
  extractElement(vector: Value, index: Value): Value {
    return this.make(Op.ExtractElement, vector.type.element, [vector, index]);
  }
  insertElement(vector: Value, element: Value, index: Value): Value {
    return this.make(Op.InsertElement, vector.type, [vector, element, index]);
  }
  shuffleVector(a: Value, b: Value, mask: readonly number[]): Value {
    return this.make(Op.ShuffleVector, vectorType(mask.length, a.type.element), [a, b], mask);
  }

  // Calls, phis, control flow. Phis go where phis belong, wherever the builder stands in the block.

  call(callee: Value, args: readonly Value[], data: CallData, flags = 0): Inst {
    return this.insert(makeInst(Op.Call, data.functionType.result, [callee, ...args], data, [], flags));
  }
  phi(type: Type, incoming: readonly (readonly [Value, Block])[], flags = 0): Inst {
    const values = incoming.map((entry) => entry[0]);
    const blocks = incoming.map((entry) => entry[1]);
    return this.editor.prependPhi(makeInst(Op.Phi, type, values, null, blocks, flags), this.block!);
  }
  br(target: Block): Inst {
    return this.insert(makeInst(Op.Br, voidType, [], null, [target]));
  }
  condBr(condition: Value, ifTrue: Block, ifFalse: Block): Inst {
    return this.insert(makeInst(Op.CondBr, voidType, [condition], null, [ifTrue, ifFalse]));
  }
  switch(value: Value, otherwise: Block, cases: readonly (readonly [ConstInt, Block])[]): Inst {
    const blocks = [otherwise, ...cases.map((c) => c[1])];
    const values = cases.map((c) => c[0]);
    return this.insert(makeInst(Op.Switch, voidType, [value], values, blocks));
  }
  ret(value: Value | null): Inst {
    return this.insert(makeInst(Op.Ret, voidType, value === null ? [] : [value], null));
  }
  unreachable(): Inst {
    return this.insert(makeInst(Op.Unreachable, voidType, [], null));
  }
}

const plainAccess = (align: number): MemoryData => ({ align, ordering: "not_atomic", scope: "" });

const booleanFor = (type: Type): Type => (type.kind === "vector" ? vectorType(type.count, i1) : i1);

/** Type of the member of an aggregate that an index path leads to. */
function memberType(aggregate: Type, path: readonly number[]): Type {
  let type = aggregate;
  for (const index of path) type = type.kind === "struct" ? type.elements[index]! : type.element;
  return type;
}
