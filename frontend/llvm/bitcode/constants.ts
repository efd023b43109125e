/**
 * CONSTANTS blocks.
 *
 * Method: a constant without operands is made at once. One with operands is kept pending, since operands
 * may be defined later (initialisers refer to each other's globals in any order), and made at the end by a
 * depth-first walk. `zeroOf` gives the canonical zeros.
 *
 * Constants are shared, so a small input can describe an object whose tree is exponentially large;
 * `maxTree` bounds the tree of one constant, and `maxDepth` its height.
 */

import {
  binaryOps,
  ConstantCode,
  castOps,
  firstIntPredicate,
  floatPredicates,
  intPredicates,
} from "../../../formats/bitcode/codes.js";
import { textOfBytes } from "../../../lto/ir/byte-text.js";
import { InputError, UnsupportedError } from "../../../lto/ir/errors.js";
import { Flag, Op } from "../../../lto/ir/instructions.js";
import { Func } from "../../../lto/ir/module.js";
import { i32, type Type } from "../../../lto/ir/types.js";
import {
  BlockAddress,
  ConstAggregate,
  type Constant,
  ConstData,
  ConstExpr,
  ConstFloat,
  ConstInt,
  ConstToken,
  ConstUndef,
  dataElementSize,
  GlobalRef,
  InlineAsm,
  isConstant,
  type Value,
  zeroOf,
} from "../../../lto/ir/values.js";
import { type BitReader, Entry } from "./bitstream.js";
import { binaryFlags, gepFlags } from "./flags.js";
import { checkBinary, checkCast, checkGep } from "./type-rules.js";
import { isSized, type TypeTable } from "./types.js";
import { type ConstantLookup, PendingConstant, type ValueTable } from "./value-table.js";

const maxDepth = 500;
const maxTree = 1 << 26;
/** Bound on the lanes of all splats of a block together, which cost the input nothing. */
const maxLanes = 1 << 22;

const malformed = (what: string): InputError => new InputError(`malformed bitcode: ${what}`);

export class ConstantReader implements ConstantLookup {
  private type: Type = i32;
  private typeId = -1;
  private depth = 0;
  /** Number of nodes of the tree under a constant; 1 when absent. */
  private readonly trees = new WeakMap<Constant, number>();
  private tree = 0;
  /** Lanes of splats in the block so far. */
  private lanes = 0;

  constructor(
    private readonly reader: BitReader,
    private readonly types: TypeTable,
    private readonly values: ValueTable,
    private readonly onBlockAddress: (address: BlockAddress) => void,
  ) {}

  /** Reads the CONSTANTS block that the reader met into the value table. */
  read(): void {
    const { reader, values } = this;
    this.type = i32;
    this.typeId = -1;
    this.lanes = 0;
    reader.enter();
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) return;
      if (entry === Entry.SubBlock) reader.skip();
      else if (reader.code === ConstantCode.SetType) {
        if (reader.count < 1) throw malformed("type of constants");
        this.typeId = reader.number(0);
        this.type = this.types.get(this.typeId);
        if (this.type.kind === "void" || this.type.kind === "function") throw malformed("type of constants");
      } else values.push(this.readConstant());
    }
  }

  /** Makes the pending constants from id `first` on. */
  resolve(first: number): void {
    const size = this.values.size;
    for (let id = first; id < size; id++) {
      if (this.values.get(id)!.valueKind !== "pending") continue;
      this.tree = 0;
      this.depth = 0;
      this.constant(id);
    }
  }

  /** The constant of an id, made now if it is pending. */
  constant(id: number): Constant {
    const slot = this.values.get(id);
    if (slot === undefined) throw malformed(`undefined value ${id}`);
    if (slot.valueKind !== "pending") {
      if (!isConstant(slot)) throw malformed(`value ${id} is not a constant`);
      this.grow(this.trees.get(slot) ?? 1);
      return slot;
    }
    if (slot.busy) throw malformed("a constant contains itself");
    if (this.depth >= maxDepth) throw new InputError("constants are nested too deeply");
    slot.busy = true;
    this.depth++;
    const outer = this.tree;
    this.tree = 1;
    try {
      const constant = slot.make(this);
      this.values.set(id, constant);
      this.trees.set(constant, this.tree);
      this.grow(outer);
      return constant;
    } finally {
      slot.busy = false;
      this.depth--;
    }
  }

  private grow(by: number): void {
    this.tree += by;
    if (this.tree > maxTree) throw new InputError("a constant is too large");
  }

  private readConstant(): Value | PendingConstant {
    const { reader, type } = this;
    switch (reader.code) {
      case ConstantCode.Null:
        if (type.kind === "token") return new ConstToken();
        this.requireSized();
        return zeroOf(type);
      case ConstantCode.Undef:
      case ConstantCode.Poison:
        this.requireSized();
        return new ConstUndef(type, reader.code === ConstantCode.Poison);
      case ConstantCode.Integer:
        return this.integer();
      case ConstantCode.WideInteger:
        return this.splat(new ConstInt(this.scalarInt(), this.wideInteger(this.scalarInt().bits)));
      case ConstantCode.Float:
        return this.float();
      case ConstantCode.String:
      case ConstantCode.CString:
        return this.string(reader.code === ConstantCode.CString);
      case ConstantCode.Data:
        return this.data();
      case ConstantCode.InlineAsm:
      case ConstantCode.InlineAsmOld:
      case ConstantCode.InlineAsmOld2:
      case ConstantCode.InlineAsmOld3:
        return this.inlineAsm();
      default:
        return this.pending();
    }
  }

  private requireSized(): void {
    if (!isSized(this.type)) throw malformed(`constant of type ${this.type}`);
  }

  private require(count: number): void {
    if (this.reader.count < count) throw malformed("constant with too few operands");
  }

  private scalarInt(): Type {
    const scalar = this.type.scalar;
    if (scalar.kind !== "int") throw malformed(`integer constant of type ${this.type}`);
    return scalar;
  }

  /** A scalar for every lane when the current type is a vector. */
  private splat(scalar: ConstInt | ConstFloat): Constant {
    const { type } = this;
    if (!type.isVector) return scalar;
    this.lanes += type.count;
    if (this.lanes > maxLanes) throw new InputError("vector constants are too large");
    return new ConstAggregate(type, new Array(type.count).fill(scalar));
  }

  private integer(): Constant {
    this.require(1);
    const { reader } = this;
    const type = this.scalarInt();
    if (reader.hi[0] === 0) {
      const raw = reader.lo[0]!;
      if (raw !== 1) {
        const magnitude = raw >>> 1;
        const value = BigInt((raw & 1) === 0 ? magnitude : -magnitude);
        return this.splat(new ConstInt(type, type.bits > 32 ? value : BigInt.asIntN(type.bits, value)));
      }
    }
    return this.splat(new ConstInt(type, BigInt.asIntN(type.bits, unrotate(reader.big(0)))));
  }

  private wideInteger(bits: number): bigint {
    this.require(1);
    const { reader } = this;
    const words = reader.count;
    if (words > Math.ceil(bits / 64)) throw malformed("integer constant wider than its type");
    // Through hexadecimal text: linear in the number of words.
    let digits = "";
    for (let i = words - 1; i >= 0; i--)
      digits += BigInt.asUintN(64, unrotate(reader.big(i)))
        .toString(16)
        .padStart(16, "0");
    return BigInt.asIntN(bits, BigInt(`0x${digits}`));
  }

  private float(): Constant {
    this.require(1);
    const { reader } = this;
    const type = this.type.scalar;
    switch (type.kind) {
      case "half":
      case "bfloat":
        return this.splat(new ConstFloat(type, BigInt.asUintN(16, reader.big(0))));
      case "float":
        return this.splat(new ConstFloat(type, BigInt(reader.lo[0]!)));
      case "double":
        return this.splat(new ConstFloat(type, reader.big(0)));
      case "x86_fp80": {
        // The upper 64 of the 80 bits come first.
        this.require(2);
        return this.splat(new ConstFloat(type, (reader.big(0) << 16n) | (reader.big(1) & 0xffffn)));
      }
      case "fp128":
        this.require(2);
        return this.splat(new ConstFloat(type, (reader.big(1) << 64n) | reader.big(0)));
      default:
        throw malformed(`floating-point constant of type ${this.type}`);
    }
  }

  private string(terminated: boolean): Constant {
    const { reader, type } = this;
    const length = reader.count + (terminated ? 1 : 0);
    if (type.kind !== "array" || !type.element.isInt(8) || type.count !== length)
      throw malformed(`string constant of type ${type}`);
    const bytes = new Uint8Array(length);
    bytes.set(reader.byteOperands(0, reader.count));
    return new ConstData(type, bytes);
  }

  private data(): Constant {
    const { reader, type } = this;
    const count = reader.count;
    if ((type.kind !== "array" && type.kind !== "vector") || type.count !== count)
      throw malformed(`data constant of type ${type}`);
    if (type.element.kind === "bfloat") return this.bfloats(count);
    const size = dataElementSize(type.element);
    if (size === 0) throw malformed(`data constant of type ${type}`);
    const bytes = new Uint8Array(count * size);
    const { lo, hi } = reader;
    if (size === 1) return new ConstData(type, reader.byteOperands(0, count));
    const view = new DataView(bytes.buffer);
    if (size === 2) for (let i = 0; i < count; i++) view.setUint16(i * 2, lo[i]!, true);
    else if (size === 4) for (let i = 0; i < count; i++) view.setUint32(i * 4, lo[i]!, true);
    else
      for (let i = 0; i < count; i++) {
        view.setUint32(i * 8, lo[i]!, true);
        view.setUint32(i * 8 + 4, hi[i]!, true);
      }
    return new ConstData(type, bytes);
  }

  /** `ConstData` does not do for these. */
  private bfloats(count: number): Constant {
    const { reader, type } = this;
    const elements: Constant[] = [];
    for (let i = 0; i < count; i++)
      elements.push(new ConstFloat(type.element, BigInt(reader.lo[i]! & 0xffff)));
    return new ConstAggregate(type, elements);
  }

  /**
   * Four generations: side effects and stack alignment; then the dialect; then unwinding; then an explicit
   * function type. The first three name it by the current (pointer) type.
   */
  private inlineAsm(): InlineAsm {
    const { reader } = this;
    let at = 0;
    const explicit = reader.code === ConstantCode.InlineAsm;
    const functionType = explicit
      ? this.types.get(reader.count > 0 ? reader.number(at++) : -1)
      : this.types.pointee(this.typeId);
    if (functionType === null) throw new UnsupportedError("inline assembly of LLVM 14 without its type");
    if (functionType.kind !== "function") throw malformed("type of inline assembly");
    this.require(at + 2);
    let bits = reader.lo[at++]!;
    if (reader.code === ConstantCode.InlineAsmOld) bits &= 3;
    else if (reader.code === ConstantCode.InlineAsmOld2) bits &= 7;
    const text = (): string => {
      const length = reader.number(at++);
      const from = at;
      at += length;
      if (!(at <= reader.count)) throw malformed("text of inline assembly");
      return textOfBytes(reader.byteOperands(from, at));
    };
    const template = text();
    this.require(at + 1);
    const constraints = text();
    const has = (bit: number): boolean => (bits & bit) !== 0;
    return new InlineAsm(functionType, template, constraints, has(1), has(2), has(4), has(8));
  }

  private pending(): PendingConstant {
    const { reader, type } = this;
    const code = reader.code;
    const operands: number[] = [];
    for (let i = 0; i < reader.count; i++) operands.push(reader.number(i));
    const need = (count: number): void => this.require(count);
    switch (code) {
      case ConstantCode.Aggregate:
        return new PendingConstant((from) => makeAggregate(type, operands, from));
      case ConstantCode.BinOp:
        need(3);
        return new PendingConstant((from) => makeBinary(type, operands, from));
      case ConstantCode.UnOp:
        need(2);
        if (operands[0] !== 0) throw new UnsupportedError(`constant unary operator ${operands[0]}`);
        return new PendingConstant((from) => makeFNeg(type, from.constant(operands[1]!)));
      case ConstantCode.Cast:
        need(3);
        return new PendingConstant((from) => makeCast(type, operands[0]!, from.constant(operands[2]!)));
      case ConstantCode.GepOld:
      case ConstantCode.InBoundsGep:
      case ConstantCode.GepInRangeIndexOld:
      case ConstantCode.GepInRange:
      case ConstantCode.Gep:
        return this.gep(code, operands);
      case ConstantCode.Select:
        need(3);
        return new PendingConstant((from) => makeSelect(type, operands, from));
      case ConstantCode.ExtractElt:
        need(3);
        return new PendingConstant((from) => makeExtract(type, operands, from));
      case ConstantCode.InsertElt:
        need(3);
        return new PendingConstant((from) => makeInsert(type, operands, from));
      case ConstantCode.Cmp:
        need(4);
        return new PendingConstant((from) => makeCompare(type, operands, from));
      case ConstantCode.BlockAddress:
        need(3);
        return new PendingConstant((from) => this.blockAddress(type, operands, from));
      case ConstantCode.DsoLocalEquivalent:
      case ConstantCode.NoCfi: {
        need(2);
        const kind = code === ConstantCode.NoCfi ? "no_cfi" : "dso_local_equivalent";
        return new PendingConstant((from) => {
          const global = from.constant(operands[1]!);
          if (global.valueKind !== "global" || type !== global.type) throw malformed(`operand of ${kind}`);
          return new GlobalRef(type, kind, global);
        });
      }
      default:
        throw new UnsupportedError(exoticConstants.get(code) ?? `constant record ${code}`);
    }
  }

  /** See the table of forms in `gepForm`. */
  private gep(code: number, operands: readonly number[]): PendingConstant {
    const { type } = this;
    const form = gepForm(code, operands);
    if (form.elementType < 0) throw new UnsupportedError("constant getelementptr without its element type");
    const elementType = this.types.sized(form.elementType);
    const ids = operands.slice(form.first).filter((_, i) => i % 2 === 1);
    if (ids.length < 1 || (operands.length - form.first) % 2 !== 0) throw malformed("constant getelementptr");
    return new PendingConstant((from) => {
      const parts = ids.map((id) => from.constant(id));
      if (checkGep(elementType, parts) !== type) throw malformed("type of a constant getelementptr");
      return new ConstExpr(type, Op.GetElementPtr, parts, form.flags, elementType);
    });
  }

  private blockAddress(type: Type, operands: readonly number[], from: ConstantLookup): Constant {
    const fn = from.constant(operands[1]!);
    const block = operands[2]!;
    if (!(fn instanceof Func) || fn.isDeclaration || type !== fn.type || block === 0 || block > 2 ** 31)
      throw malformed("blockaddress");
    const address = new BlockAddress(type, fn, block);
    this.onBlockAddress(address);
    return address;
  }
}

const exoticConstants = new Map<number, string>([
  [ConstantCode.ShuffleVec, "constant shufflevector"],
  [ConstantCode.ShuffleVecEx, "constant shufflevector"],
  [ConstantCode.PtrAuth, "ptrauth constant"],
  [ConstantCode.PtrAuth2, "ptrauth constant"],
]);

/** Undoes the sign rotation: the sign is in bit 0, and minus zero stands for -2^63. */
function unrotate(value: bigint): bigint {
  if ((value & 1n) === 0n) return value >> 1n;
  return value === 1n ? -(1n << 63n) : -(value >> 1n);
}

/**
 * Where things are in a getelementptr record. `GepOld` and `InBoundsGep` begin with the element type when
 * their length is odd; the in-range forms have flags and a range, which is dropped:
 *
 *     GepInRangeIndexOld  [type, index << 1 | inbounds, (type, value)…]
 *     GepInRange          [type, flags, width, lower, upper, (type, value)…]
 *     Gep                 [type, flags, (type, value)…]
 */
function gepForm(
  code: number,
  operands: readonly number[],
): { elementType: number; flags: number; first: number } {
  if (operands.length < 2) throw malformed("constant getelementptr");
  const elementType = operands[0]!;
  const flags = operands[1]!;
  switch (code) {
    case ConstantCode.Gep:
      return { elementType, flags: gepFlags(flags), first: 2 };
    case ConstantCode.GepInRangeIndexOld:
      return { elementType, flags: flags % 2 === 1 ? Flag.InBounds : 0, first: 2 };
    case ConstantCode.GepInRange: {
      let first = 5;
      if (operands[2]! > 64) {
        const counts = operands[3] ?? 0;
        first = 4 + (counts % 2 ** 32) + Math.floor(counts / 2 ** 32);
      }
      return { elementType, flags: gepFlags(flags), first };
    }
    default: {
      const bounds = code === ConstantCode.InBoundsGep ? Flag.InBounds : 0;
      const explicit = operands.length % 2 === 1;
      return { elementType: explicit ? elementType : -1, flags: bounds, first: explicit ? 1 : 0 };
    }
  }
}

function makeAggregate(type: Type, ids: readonly number[], from: ConstantLookup): Constant {
  const struct = type.kind === "struct";
  if (!struct && type.kind !== "array" && type.kind !== "vector")
    throw malformed(`aggregate of type ${type}`);
  if (ids.length !== (struct ? type.elements.length : type.count)) throw malformed("length of an aggregate");
  const elements: Constant[] = [];
  for (let i = 0; i < ids.length; i++) {
    const element = from.constant(ids[i]!);
    if (element.type !== type.elements[struct ? i : 0]) throw malformed("element type of an aggregate");
    elements.push(element);
  }
  return new ConstAggregate(type, elements);
}

function makeBinary(type: Type, operands: readonly number[], from: ConstantLookup): Constant {
  const op = binaryOps[operands[0]!]?.[type.scalar.isFloat ? 1 : 0];
  if (op === undefined || op === null) throw malformed("operator of a constant expression");
  const a = from.constant(operands[1]!);
  const b = from.constant(operands[2]!);
  if (a.type !== type) throw malformed("type of a constant expression");
  checkBinary(op, a.type, b.type);
  return new ConstExpr(type, op, [a, b], binaryFlags(op, operands[3] ?? 0));
}

function makeFNeg(type: Type, operand: Constant): Constant {
  if (operand.type !== type || !type.scalar.isFloat) throw malformed("operand of a constant fneg");
  return new ConstExpr(type, Op.FNeg, [operand]);
}

function makeCast(type: Type, number: number, operand: Constant): Constant {
  const op = castOps[number];
  if (op === undefined) throw new UnsupportedError(`constant cast ${number}`);
  checkCast(op, operand.type, type);
  // Typed pointers were cast to each other; what is left of that is no cast.
  if (op === Op.BitCast && operand.type === type) return operand;
  return new ConstExpr(type, op, [operand]);
}

function makeSelect(type: Type, operands: readonly number[], from: ConstantLookup): Constant {
  const [condition, a, b] = operands.slice(0, 3).map((id) => from.constant(id));
  if (!condition!.type.scalar.isInt(1) || a!.type !== type || b!.type !== type)
    throw malformed("type of a constant select");
  return new ConstExpr(type, Op.Select, [condition!, a!, b!]);
}

/** [vector type, vector, index type, index], without the index type in old files. */
function makeExtract(type: Type, operands: readonly number[], from: ConstantLookup): Constant {
  const vector = from.constant(operands[1]!);
  const index = from.constant(operands[operands.length >= 4 ? 3 : 2]!);
  if (!vector.type.isVector || vector.type.element !== type || !index.type.isInt())
    throw malformed("type of a constant extractelement");
  return new ConstExpr(type, Op.ExtractElement, [vector, index]);
}

/** [vector, element, index type, index], without the index type in old files. */
function makeInsert(type: Type, operands: readonly number[], from: ConstantLookup): Constant {
  const vector = from.constant(operands[0]!);
  const element = from.constant(operands[1]!);
  const index = from.constant(operands[operands.length >= 4 ? 3 : 2]!);
  if (!type.isVector || vector.type !== type || element.type !== type.element || !index.type.isInt())
    throw malformed("type of a constant insertelement");
  return new ConstExpr(type, Op.InsertElement, [vector, element, index]);
}

/** [operand type, a, b, predicate] */
function makeCompare(type: Type, operands: readonly number[], from: ConstantLookup): Constant {
  const a = from.constant(operands[1]!);
  const b = from.constant(operands[2]!);
  const float = a.type.scalar.isFloat;
  const number = operands[3]!;
  const predicate = float ? floatPredicates[number] : intPredicates[number - firstIntPredicate];
  const scalar = a.type.scalar;
  if (
    predicate === undefined ||
    a.type !== b.type ||
    !type.scalar.isInt(1) ||
    type.isVector !== a.type.isVector ||
    type.count !== a.type.count ||
    !(float || scalar.kind === "int" || scalar.kind === "ptr")
  )
    throw malformed("constant comparison");
  return new ConstExpr(type, float ? Op.FCmp : Op.ICmp, [a, b], 0, null, predicate);
}
