/**
 * Numbers of values, and CONSTANTS blocks. A module numbers its globals, then the constants that they and metadata mention;
 * a function goes on with its arguments, its own constants and the results of its instructions. Equal constants are one,
 * operands come before what they are part of.
 */
import { bytesOfText } from "../../lto/ir/byte-text.js";
import { UnsupportedError } from "../../lto/ir/errors.js";
import { Flag, Op } from "../../lto/ir/instructions.js";
import type { Func, GlobalValue } from "../../lto/ir/module.js";
import { ptr, type Type } from "../../lto/ir/types.js";
import {
  type Constant,
  type ConstData,
  type ConstExpr,
  type ConstFloat,
  dataElementSize,
  droppedAddress,
  type InlineAsm,
  type Value,
} from "../../lto/ir/values.js";
import { type BitWriter, signed } from "./bit-stream.js";
import { BlockId, ConstantCode, firstIntPredicate, floatPredicates, intPredicates } from "./codes.js";
import { binaryFlags, binaryNumber, castNumber, gepFlags } from "./numbers.js";
import type { Older } from "./older.js";
import type { TypeNumbers } from "./types.js";

/** What has a place in a table of constants. */
export type TableValue = Constant | InlineAsm;

/** What numbers of a module's values depend on. */
export interface ModuleNumbers {
  readonly types: TypeNumbers;
  readonly globals: ReadonlyMap<GlobalValue, number>;
  /** Where in its function's body the block of a label is. */
  readonly blockOf: (fn: Func, label: number) => number;
  /** Of the LLVM that is to read it. */
  readonly version: number;
  /** What that one has otherwise. */
  readonly older: Older;
}

export const isTableValue = (value: Value): value is TableValue =>
  value.valueKind !== "inst" && value.valueKind !== "argument" && value.valueKind !== "metadata";

/** A constant's type as its table has it: that of a call's callee is a pointer. */
const typeOf = (value: TableValue): Type => (value.valueKind === "asm" ? ptr : value.type);

/** From this version on constant addresses have flags of their own. */
const gepFlagsVersion = 19;

export class ConstantTable {
  private readonly list: TableValue[] = [];
  private readonly byObject = new Map<TableValue, number>();
  private readonly byKey = new Map<string, number>();
  /** Functions whose blocks' addresses are among them. */
  readonly takenFrom = new Set<Func>();

  /** @param first number of its first constant  @param outer the module's table, for that of a function */
  constructor(
    private readonly module: ModuleNumbers,
    private readonly first: number,
    private readonly outer: ConstantTable | null = null,
  ) {}

  get size(): number {
    return this.list.length;
  }

  /** The number of a constant, which gets one when it is first asked for. */
  of(value: TableValue): number {
    if (value.valueKind === "global") {
      const number = this.module.globals.get(value);
      if (number === undefined) throw new Error(`@${value.name} is not in the module`);
      return number;
    }
    // Typed pointers were cast to each other.
    if (value.valueKind === "expr" && value.op === Op.BitCast && value.operands[0]!.type === value.type)
      return this.of(value.operands[0]!);
    const known = this.outer?.byObject.get(value) ?? this.byObject.get(value);
    if (known !== undefined) return known;
    if (value.valueKind === "blockaddress") {
      const dropped = droppedAddress(value);
      if (dropped !== null) return this.of(dropped);
      this.takenFrom.add(value.fn);
    }
    const key = this.keyOf(value);
    let number = key === null ? undefined : (this.outer?.byKey.get(key) ?? this.byKey.get(key));
    if (number === undefined) {
      this.module.types.of(typeOf(value));
      number = this.first + this.list.length;
      this.list.push(value);
      if (key !== null) this.byKey.set(key, number);
    }
    this.byObject.set(value, number);
    return number;
  }

  /** Null: equal ones are not looked for. Operands and types get their numbers. */
  private keyOf(value: Exclude<TableValue, GlobalValue>): string | null {
    const type = this.module.types.of(typeOf(value));
    switch (value.valueKind) {
      case "int":
        return `int ${type} ${value.value}`;
      case "float":
        return `float ${type} ${value.bits}`;
      case "zero":
      case "none":
        return `zero ${type}`;
      case "undef":
        return `${value.poison ? "poison" : "undef"} ${type}`;
      case "data":
        return null;
      case "aggregate":
        return `aggregate ${type} ${value.elements.map((e) => this.of(e)).join()}`;
      case "expr": {
        const element = value.elementType === null ? "" : this.module.types.of(value.elementType);
        const operands = value.operands.map((operand) => this.of(operand)).join();
        return `expr ${value.op} ${type} ${value.flags} ${element} ${value.predicate} ${operands}`;
      }
      case "blockaddress":
        return `block ${this.of(value.fn)} ${value.label}`;
      case "globalref":
        return `${value.kind} ${this.of(value.global)}`;
      case "asm": {
        const flags = asmFlags(value);
        const fn = this.module.types.of(value.functionType);
        return `asm ${fn} ${flags} ${JSON.stringify([value.template, value.constraints])}`;
      }
    }
  }

  write(w: BitWriter): void {
    if (this.list.length === 0) return;
    w.block(BlockId.Constants, () => {
      let current: Type | null = null;
      for (const value of this.list) {
        const type = typeOf(value);
        if (type !== current) w.record(ConstantCode.SetType, [this.module.types.of(type)]);
        current = type;
        this.writeConstant(w, value as Exclude<TableValue, GlobalValue>);
      }
    });
  }

  private writeConstant(w: BitWriter, value: Exclude<TableValue, GlobalValue>): void {
    const { types } = this.module;
    switch (value.valueKind) {
      case "int":
        return writeInteger(w, value.type.bits, value.value);
      case "float":
        return w.record(ConstantCode.Float, floatWords(value));
      case "zero":
      case "none":
        return w.record(ConstantCode.Null, []);
      case "undef":
        return w.record(value.poison ? ConstantCode.Poison : ConstantCode.Undef, []);
      case "data":
        return writeData(w, value);
      case "aggregate":
        return w.record(
          value.elements.length === 0 ? ConstantCode.Null : ConstantCode.Aggregate,
          value.elements.map((element) => this.of(element)),
        );
      case "expr":
        return this.writeExpression(w, value);
      case "blockaddress": {
        const { fn, label } = value;
        const block = this.module.blockOf(fn, label);
        return w.record(ConstantCode.BlockAddress, [types.of(fn.type), this.of(fn), block]);
      }
      case "globalref":
        return w.record(value.kind === "no_cfi" ? ConstantCode.NoCfi : ConstantCode.DsoLocalEquivalent, [
          types.of(value.global.type),
          this.of(value.global),
        ]);
      case "asm": {
        const [template, constraints] = [bytesOfText(value.template), bytesOfText(value.constraints)];
        return w.record(ConstantCode.InlineAsm, [
          types.of(value.functionType),
          asmFlags(value),
          template.length,
          ...template,
          constraints.length,
          ...constraints,
        ]);
      }
    }
  }

  private writeExpression(w: BitWriter, value: ConstExpr): void {
    const { types, version } = this.module;
    const { op, operands, flags } = value;
    const pair = (i: number): number[] => [types.of(operands[i]!.type), this.of(operands[i]!)];
    const plain = operands.map((operand) => this.of(operand));
    const cast = castNumber(op);
    if (cast >= 0) return w.record(ConstantCode.Cast, [cast, ...pair(0)]);
    const binary = binaryNumber(op);
    if (binary >= 0) {
      const bits = binaryFlags(op, flags);
      return w.record(ConstantCode.BinOp, bits === 0 ? [binary, ...plain] : [binary, ...plain, bits]);
    }
    switch (op) {
      case Op.GetElementPtr: {
        const parts = operands.flatMap((_, i) => pair(i));
        const element = types.of(value.elementType!);
        if ((flags & (Flag.Nuw | Flag.Nusw)) !== 0 && version >= gepFlagsVersion)
          return w.record(ConstantCode.Gep, [element, gepFlags(flags), ...parts]);
        const inBounds = (flags & Flag.InBounds) !== 0;
        return w.record(inBounds ? ConstantCode.InBoundsGep : ConstantCode.GepOld, [element, ...parts]);
      }
      case Op.FNeg:
        return w.record(ConstantCode.UnOp, [0, ...plain]);
      case Op.Select:
        return w.record(ConstantCode.Select, plain);
      case Op.ExtractElement:
        return w.record(ConstantCode.ExtractElt, [...pair(0), ...pair(1)]);
      case Op.InsertElement:
        return w.record(ConstantCode.InsertElt, [plain[0]!, plain[1]!, ...pair(2)]);
      case Op.ICmp:
      case Op.FCmp: {
        const predicates: readonly string[] = op === Op.ICmp ? intPredicates : floatPredicates;
        const number = predicates.indexOf(value.predicate!) + (op === Op.ICmp ? firstIntPredicate : 0);
        return w.record(ConstantCode.Cmp, [types.of(operands[0]!.type), ...plain, number]);
      }
      default:
        throw new UnsupportedError(`constant expression of operation ${op} in bitcode`);
    }
  }
}

const asmFlags = ({ sideEffects, alignStack, intelDialect, canUnwind }: InlineAsm): number =>
  (sideEffects ? 1 : 0) | (alignStack ? 2 : 0) | (intelDialect ? 4 : 0) | (canUnwind ? 8 : 0);

const word = (value: bigint, at = 0): bigint => BigInt.asUintN(64, value >> BigInt(at));

function writeInteger(w: BitWriter, bits: number, value: bigint): void {
  if (bits <= 64) return w.record(ConstantCode.Integer, [signed(value)]);
  const words: bigint[] = [];
  for (let at = 0; at < bits; at += 64) words.push(signed(BigInt.asIntN(64, value >> BigInt(at))));
  w.record(ConstantCode.WideInteger, words);
}

function floatWords({ type, bits }: ConstFloat): bigint[] {
  switch (type.kind) {
    case "x86_fp80":
      // The upper 64 bits come first.
      return [word(bits, 16), bits & 0xffffn];
    case "fp128":
      return [word(bits), word(bits, 64)];
    default:
      return [bits];
  }
}

function writeData(w: BitWriter, { type, bytes }: ConstData): void {
  if (bytes.length === 0) return w.record(ConstantCode.Null, []);
  const size = dataElementSize(type.element);
  if (type.kind === "array" && type.element.isInt(8)) {
    const isCString = bytes.indexOf(0) === bytes.length - 1;
    const text = isCString ? bytes.subarray(0, -1) : bytes;
    return w.record(isCString ? ConstantCode.CString : ConstantCode.String, [...text]);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const elements: (number | bigint)[] = [];
  for (let at = 0; at < bytes.length; at += size)
    elements.push(
      size === 1
        ? view.getUint8(at)
        : size === 2
          ? view.getUint16(at, true)
          : size === 4
            ? view.getUint32(at, true)
            : view.getBigUint64(at, true),
    );
  w.record(ConstantCode.Data, elements);
}
