/** The decoding half of the body codec; see `body-codec.ts`. */

import { InputError } from "../../lto/ir/errors.js";
import type { Hints } from "../../lto/ir/hints.js";
import {
  type AllocaData,
  type AtomicRMWData,
  Block,
  Body,
  type CallData,
  type CmpXchgData,
  type FloatPredicate,
  type GepData,
  type Inst,
  type InstData,
  type IntPredicate,
  isTerminator,
  type LandingPadData,
  type MemoryData,
  makeInst,
  Op,
  type OperandBundle,
  type Ordering,
} from "../../lto/ir/instructions.js";
import type { Func } from "../../lto/ir/module.js";
import { raw } from "../../lto/ir/raw.js";
import { type Type, voidType } from "../../lto/ir/types.js";
import type { ConstInt, Value } from "../../lto/ir/values.js";
import { ByteReader } from "./bytes.js";
import { decodeRecords, renumberedRecords } from "./debug-records.js";
import { floatPredicates, intPredicates, orderings, rmwOps, tailKinds } from "./enums.js";
import {
  AllocaInAlloca,
  AllocaSwiftError,
  arity,
  blockArity,
  CallAsm,
  CallBundles,
  CallConvention,
  HasFlags,
  HasHints,
  hasType,
  MemoryOrdered,
} from "./instruction-layout.js";
import { opOfNumber } from "./opcodes.js";
import { type ModuleTables, type Pool, readPool } from "./pool.js";

/** Plain accesses share one immutable description per alignment. */
const plainMemory: readonly MemoryData[] = Array.from({ length: 64 }, (_, shift) => ({
  align: 2 ** shift,
  ordering: "not_atomic",
  scope: "",
}));

/** Larger numbers are no small integers to the engine. */
const mostOrigins = 2 ** 31 - 1;

const noBundles: readonly OperandBundle[] = [];

/**
 * Decodes a body for `fn`. What comes back is well-formed in its structure (operand counts, block lists,
 * terminators, table indices, the shape of `data`); that types and dominance are right is for the verifier.
 * Instructions and blocks are numbered. Time and memory are linear in the bytes.
 * @param module what the numbers of the encoder's module stand for
 * @throws InputError on malformed data
 */
export function decodeBody(bytes: Uint8Array, fn: Func, module: ModuleTables): Body {
  const reader = new ByteReader(bytes);
  const pool = readPool(reader, module);
  const decoder = new BodyDecoder(reader, pool, fn);
  const body = decoder.run();
  if (reader.remaining !== 0) throw new InputError("trailing bytes after a body");
  const { origins } = pool.outside;
  if (origins.length > 0)
    decoder.setOrigins(origins.map((value, i) => ((i & 1) === 0 ? value : module.origins(value, fn))));
  const [variable] = pool.outside.records;
  if (variable !== undefined && module.variables(variable) >= 0)
    decoder.setRecords(
      renumberedRecords(
        pool.outside.records,
        (index) => module.variables(index),
        (index) => (index === 0 ? 0 : module.origins(index, fn)),
      ),
    );
  checkBlockAddresses(body, fn, pool);
  return body;
}

/** Decodes what `encodeIn` encoded. @param pool the same */
export function decodeIn(pool: Pool, bytes: Uint8Array, fn: Func): Body {
  const reader = new ByteReader(bytes);
  const decoder = new BodyDecoder(reader, pool, fn);
  const body = decoder.run();
  if (reader.remaining === 0) return body;
  const origins: number[] = [];
  for (let left = reader.uint(); left > 0; left--) origins.push(reader.uint());
  if (origins.length > 0) decoder.setOrigins(origins);
  const records: number[] = [];
  while (reader.remaining !== 0) records.push(reader.uint());
  decoder.setRecords(records);
  return body;
}

/** Addresses of blocks of this function can be checked here; others when that function is decoded. */
function checkBlockAddresses({ blocks }: Body, fn: Func, { leaves }: Pool): void {
  const labels = new Set(blocks.map(({ label }) => label));
  for (const leaf of leaves)
    if (leaf.valueKind === "blockaddress" && leaf.fn === fn && !labels.has(leaf.label))
      throw new InputError("the address of a block that does not exist");
}

class BodyDecoder {
  private readonly types: readonly Type[];
  private readonly body = new Body();
  private readonly insts: Inst[] = [];
  private instCount = 0;
  /** Operands that name a later instruction: user, operand position, target, as consecutive numbers. */
  private readonly ahead: number[] = [];
  private calleeIsAsm = false;

  constructor(
    private readonly reader: ByteReader,
    private readonly pool: Pool,
    private readonly fn: Func,
  ) {
    this.types = pool.types;
  }

  run(): Body {
    const { reader, body, fn, insts } = this;
    if (reader.uint() !== fn.args.length) throw new InputError("a body does not fit its function's type");
    const blockCount = reader.count("blocks");
    if (blockCount === 0) throw new InputError("a body without blocks");
    this.instCount = reader.count("instructions");
    for (let i = 0; i < blockCount; i++) {
      const block = new Block();
      block.id = i;
      body.blocks.push(block);
    }
    this.readLabels();

    let block = body.blocks[0]!;
    for (let id = 0; id < this.instCount; id++) {
      const inst = this.instruction(id);
      inst.id = id;
      insts.push(inst);
      block.append(inst);
      if (!isTerminator(inst.op)) continue;
      block.trim();
      const next = block.id + 1;
      if (next < blockCount) block = body.blocks[next]!;
      else if (id + 1 !== this.instCount) throw new InputError("instructions after the last block");
    }
    const last = body.blocks[blockCount - 1]!;
    if (last.insts.length === 0 || !isTerminator(last.terminator.op))
      throw new InputError("the last block is not finished");
    this.linkAhead();
    return body;
  }

  /** @param list numbers of the program */
  setRecords(list: readonly number[]): void {
    decodeRecords(list, this.fn, this.body, this.insts);
  }

  /** @param runs instructions in a row, and their origin */
  setOrigins(runs: readonly number[]): void {
    const { insts } = this;
    let id = 0;
    for (let i = 0; i < runs.length; i += 2) {
      const end = id + runs[i]!;
      const origin = runs[i + 1] ?? -1;
      if (end === id || end > insts.length || origin < 0 || origin > mostOrigins)
        throw new InputError("malformed origins of a body");
      for (; id < end; id++) insts[id]!.origin = origin;
    }
    if (id < insts.length) throw new InputError("malformed origins of a body");
  }

  private linkAhead(): void {
    const { ahead, insts } = this;
    for (let i = 0; i < ahead.length; i += 3) {
      const target = insts[ahead[i + 2]!]!;
      if (target.type === voidType) throw new InputError("an operand without a value");
      raw(insts[ahead[i]!]!).operands[ahead[i + 1]!] = target;
    }
  }

  private readLabels(): void {
    const labels = new Set<number>();
    for (let left = this.reader.count("blocks", 2); left > 0; left--) {
      const block = this.block();
      block.label = this.reader.uint();
      if (labels.has(block.label)) throw new InputError("a label of two blocks");
      labels.add(block.label);
    }
  }

  private type(): Type {
    const type = this.types[this.reader.uint()];
    if (type === undefined) throw new InputError("a type index is out of range");
    return type;
  }

  private block(): Block {
    const block = this.body.blocks[this.reader.uint()];
    if (block === undefined) throw new InputError("a block index is out of range");
    return block;
  }

  /** @param id the instruction being read @param position of the operand in it */
  private operand(id: number, position: number): Value {
    const code = this.reader.uint();
    if ((code & 1) === 0) {
      const target = this.insts[id - code / 2];
      if (target === undefined || target.type === voidType)
        throw new InputError("an operand is out of range");
      return target;
    }
    if ((code & 2) === 0) {
      // Arguments, then the pool's leaves.
      const { args } = this.fn;
      const index = code >>> 2;
      const leaf = index < args.length ? args[index] : this.pool.leaves[index - args.length];
      if (leaf === undefined) throw new InputError("an operand is out of range");
      return leaf;
    }
    const target = id + (code >>> 2);
    if (target >= this.instCount) throw new InputError("an operand is out of range");
    this.ahead.push(id, position, target);
    // A placeholder until the target is read.
    return undefined as unknown as Value;
  }

  /**
   * `count` operands from position `first` on. Array literals have exactly the room they need; arrays grown
   * by push keep four times as much, and nearly all of a decoded body is operand lists.
   */
  private operands(id: number, first: number, count: number): Value[] {
    switch (count) {
      case 0:
        return [];
      case 1:
        return [this.operand(id, first)];
      case 2:
        return [this.operand(id, first), this.operand(id, first + 1)];
      case 3:
        return [this.operand(id, first), this.operand(id, first + 1), this.operand(id, first + 2)];
    }
    const operands: Value[] = [];
    for (let i = 0; i < count; i++) operands.push(this.operand(id, first + i));
    return operands.slice();
  }

  private instruction(id: number): Inst {
    const { reader } = this;
    const code = reader.byte();
    const op = opOfNumber(code & ~(HasFlags | HasHints));
    const flags = (code & HasFlags) !== 0 ? reader.below(1 << 16, "flags") : 0;
    const hints = (code & HasHints) !== 0 ? this.hints() : null;
    let operands: Value[];
    let data: InstData = null;
    let type = voidType;
    if (hasType[op] === 1) {
      type = this.type();
      if (type.kind === "label" || type.kind === "function" || type.kind === "void")
        throw new InputError(`an instruction of type ${type}`);
    }
    const count = arity[op]!;
    if (count === -2) {
      data = this.call();
      type = data.functionType.result;
      operands = this.callOperands(id, data);
    } else operands = this.operands(id, 0, count === -1 ? this.operandCount(op) : count);
    const blocks = this.blocks(op, operands.length);
    if (data === null) data = this.data(op, type, operands.length, blocks.length);
    // `op` and `data` were read by the same table row, so they fit each other.
    const inst = makeInst(op as Op.Load, type, operands, data as MemoryData, blocks, flags);
    inst.hints = hints;
    return inst;
  }

  private hints(): Hints | null {
    const hints = this.pool.hints[this.reader.uint()];
    if (hints === undefined) throw new InputError("hints are out of range");
    return hints;
  }

  private operandCount(op: Op): number {
    const count = this.reader.count("operands");
    if (op === Op.Ret && count > 1) throw new InputError("ret with several operands");
    if (op === Op.GetElementPtr && count < 1) throw new InputError("getelementptr without operands");
    return count;
  }

  private blocks(op: Op, operandCount: number): Block[] {
    let count = blockArity[op]!;
    if (count === 0) return [];
    if (count === 1) return [this.block()];
    if (count === 2) return [this.block(), this.block()];
    const blocks: Block[] = [];
    if (count === -2) count = operandCount;
    else if (count === -1) {
      count = this.reader.count("blocks");
      if (count < 1 && op !== Op.IndirectBr) throw new InputError("a terminator without a target");
    }
    for (let i = 0; i < count; i++) blocks.push(this.block());
    return blocks.slice();
  }

  private call(): CallData {
    const { reader, pool } = this;
    const header = reader.byte();
    this.calleeIsAsm = (header & CallAsm) !== 0;
    const functionType = this.type();
    if (functionType.kind !== "function") throw new InputError(`a call of type ${functionType}`);
    const attributes = pool.attributes[reader.uint()];
    if (attributes === undefined) throw new InputError("an attribute list is out of range");
    const callingConvention = (header & CallConvention) !== 0 ? reader.below(1024, "calling convention") : 0;
    const argumentCount = reader.count("arguments");
    const fixed = functionType.elements.length - 1;
    if (argumentCount < fixed || (argumentCount > fixed && !functionType.isVarArg))
      throw new InputError("a call's arguments do not fit its function type");
    let bundles: readonly OperandBundle[] = noBundles;
    if ((header & CallBundles) !== 0) bundles = this.bundles();
    return {
      functionType,
      callingConvention,
      attributes,
      tail: tailKinds.names[header & 3]!,
      argumentCount,
      bundles,
    };
  }

  private bundles(): OperandBundle[] {
    const bundles: OperandBundle[] = [];
    for (let left = this.reader.count("operand bundles", 2); left > 0; left--)
      bundles.push({ tag: this.string(), inputs: this.reader.count("bundle inputs") });
    return bundles;
  }

  private callOperands(id: number, data: CallData): Value[] {
    let count = 1 + data.argumentCount;
    for (const bundle of data.bundles) count += bundle.inputs;
    if (count > this.reader.remaining) throw new InputError("truncated");
    if (!this.calleeIsAsm) return this.operands(id, 0, count);
    const asm = this.pool.asms[this.reader.uint()];
    if (asm === undefined) throw new InputError("inline assembly is out of range");
    const operands = this.operands(id, 1, count - 1);
    operands.unshift(asm);
    return operands;
  }

  private string(): string {
    const text = this.pool.strings[this.reader.uint()];
    if (text === undefined) throw new InputError("a string index is out of range");
    return text;
  }

  /** What follows operands and blocks. */
  private data(op: Op, type: Type, operandCount: number, blockCount: number): InstData {
    const { reader } = this;
    switch (op) {
      case Op.Load:
      case Op.Store:
        return this.memory();
      case Op.GetElementPtr:
        return this.gep();
      case Op.ICmp:
        return intPredicates.names[reader.below(intPredicates.names.length, "predicate")] as IntPredicate;
      case Op.FCmp:
        return floatPredicates.names[
          reader.below(floatPredicates.names.length, "predicate")
        ] as FloatPredicate;
      case Op.Alloca:
        return this.alloca();
      case Op.Switch:
        return this.cases(blockCount - 1);
      case Op.ExtractValue:
      case Op.InsertValue:
        return this.indexPath();
      case Op.ShuffleVector:
        return this.mask(type);
      case Op.Fence:
        return this.memory();
      case Op.CmpXchg:
        return this.compareExchange();
      case Op.AtomicRMW: {
        const rmw = { ...this.memory(), rmw: rmwOps.names[reader.below(rmwOps.names.length, "atomicrmw")]! };
        return rmw satisfies AtomicRMWData;
      }
      case Op.LandingPad:
        return this.landingPad(operandCount);
      default:
        return null;
    }
  }

  private ordering(): Ordering {
    return orderings.names[this.reader.below(orderings.names.length, "ordering")]!;
  }

  private memory(): MemoryData {
    const byte = this.reader.byte();
    const plain = plainMemory[byte & 0x3f]!;
    if (byte >= 2 * MemoryOrdered) throw new InputError("malformed memory access");
    if ((byte & MemoryOrdered) === 0) return plain;
    const ordering = this.ordering();
    return { align: plain.align, ordering, scope: this.string() };
  }

  private compareExchange(): CmpXchgData {
    const { align, ordering, scope } = this.memory();
    const failureOrdering = this.ordering();
    return { align, ordering, scope, failureOrdering, weak: this.reader.below(2, "flag") === 1 };
  }

  private gep(): GepData {
    const index = this.reader.uint();
    const { geps } = this.pool;
    const known = geps[index];
    if (known !== undefined) return known;
    const elementType = this.types[index];
    if (elementType === undefined || elementType.kind === "void" || elementType.kind === "function")
      throw new InputError("getelementptr on a type without a size");
    return (geps[index] = { elementType });
  }

  private alloca(): AllocaData {
    const allocatedType = this.type();
    if (allocatedType.kind === "void" || allocatedType.kind === "function")
      throw new InputError("alloca of a type without a size");
    const byte = this.reader.byte();
    return {
      allocatedType,
      align: 2 ** (byte & 0x3f),
      inalloca: (byte & AllocaInAlloca) !== 0,
      swifterror: (byte & AllocaSwiftError) !== 0,
    };
  }

  private cases(count: number): readonly ConstInt[] {
    const values: ConstInt[] = [];
    for (let i = 0; i < count; i++) {
      const value = this.pool.leaves[this.reader.uint()];
      if (value === undefined || value.valueKind !== "int")
        throw new InputError("a switch case is not an integer");
      values.push(value);
    }
    return values;
  }

  private indexPath(): readonly number[] {
    const path: number[] = [];
    for (let left = this.reader.count("indices"); left > 0; left--) path.push(this.reader.uint());
    return path;
  }

  private mask(type: Type): readonly number[] {
    const mask: number[] = [];
    for (let left = this.reader.count("mask elements"); left > 0; left--) mask.push(this.reader.uint() - 1);
    if (type.kind !== "vector" || type.count !== mask.length)
      throw new InputError("a shufflevector mask does not fit its type");
    return mask;
  }

  private landingPad(count: number): LandingPadData {
    const cleanup = this.reader.below(2, "flag") === 1;
    const clauses: ("catch" | "filter")[] = [];
    for (let i = 0; i < count; i++) clauses.push(this.reader.below(2, "clause") === 1 ? "filter" : "catch");
    return { cleanup, clauses };
  }
}
