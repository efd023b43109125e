/**
 * Tables of leaf values: constants and metadata operands. An entry names its parts by the indices of earlier
 * entries, so the table cannot be cyclic and is read without recursion.
 *
 * Equal constants share one entry (except long data, compared by identity only), so that equal bodies have
 * equal bytes whatever objects stand for their constants. Two limits hold on both sides: nesting
 * (`maxConstantDepth`), for code that recurses, and on reading the size when written out as a tree
 * (`maxConstantTree`), since a small table of shared parts can stand for an exponentially large value.
 */
import { InputError } from "../../lto/ir/errors.js";
import { Op } from "../../lto/ir/instructions.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { i64, type Type } from "../../lto/ir/types.js";
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
  ConstZero,
  droppedAddress,
  GlobalRef,
  MetadataOperand,
} from "../../lto/ir/values.js";
import { type ByteReader, ByteWriter } from "./bytes.js";
import { checkExpression } from "./constant-check.js";
import { floatPredicates, intPredicates } from "./enums.js";
import { opNumber, opOfNumber } from "./opcodes.js";
import type { TypeTableWriter } from "./type-codec.js";

export type Leaf = Constant | MetadataOperand;

/** Entry tags. Append only. */
const Tag = {
  Int: 0,
  WideInt: 1,
  Float: 2,
  Zero: 3,
  Undef: 4,
  Poison: 5,
  Aggregate: 6,
  Data: 7,
  Expr: 8,
  BlockAddress: 9,
  DsoLocalEquivalent: 10,
  NoCfi: 11,
  Token: 12,
  Global: 13,
  Metadata: 14,
  MetadataText: 15,
} as const;

const maxConstantDepth = 1000;
const maxConstantTree = 2 ** 27;
/** Entries longer than this are not compared with others. */
const longestShared = 256;
/** Integers up to this magnitude are zigzag-coded. */
const maxZigzag = 2 ** 51;

const floatBytes: Readonly<Record<string, number>> = {
  half: 2,
  bfloat: 2,
  float: 4,
  double: 8,
  x86_fp80: 10,
  fp128: 16,
};

/** Bytes of one element of constant data, 0 when the type cannot be such an element. */
function dataElementSize(type: Type): number {
  switch (type.kind) {
    case "int":
      return type.bits === 8 || type.bits === 16 || type.bits === 32 || type.bits === 64 ? type.bits / 8 : 0;
    case "half":
    case "bfloat":
    case "float":
    case "double":
      return floatBytes[type.kind]!;
    default:
      return 0;
  }
}

export class LeafTableWriter {
  private readonly byObject = new Map<Leaf, number>();
  private readonly byBytes = new Map<string, number>();
  /** By index. */
  readonly entries: Leaf[] = [];
  private readonly depths: number[] = [];
  private readonly out = new ByteWriter();
  private readonly entry = new ByteWriter();
  /** How many calls of `add` are under way. */
  private nesting = 0;

  constructor(
    private readonly types: TypeTableWriter,
    private readonly symbolIndex: (symbol: GlobalValue) => number,
  ) {}

  /** Index of a leaf, which is entered with its parts on first use. */
  index(leaf: Leaf): number {
    const known = this.byObject.get(leaf);
    return known !== undefined ? known : this.add(leaf);
  }

  private add(leaf: Leaf): number {
    const dropped = leaf.valueKind === "blockaddress" ? droppedAddress(leaf) : null;
    if (dropped !== null) {
      const index = this.index(dropped);
      this.byObject.set(leaf, index);
      return index;
    }
    if (this.nesting > maxConstantDepth) throw new InputError("constants are nested too deep");
    this.nesting++;
    const depth = this.addParts(leaf);
    this.nesting--;
    if (depth > maxConstantDepth) throw new InputError("constants are nested too deep");
    // Parts have been entered, so encoding does not come back here.
    const { entry } = this;
    entry.clear();
    this.encode(leaf, entry);
    let index: number | undefined;
    const key = entry.length <= longestShared ? entry.key() : null;
    if (key !== null) index = this.byBytes.get(key);
    if (index === undefined) {
      index = this.entries.length;
      this.entries.push(leaf);
      if (key !== null) this.byBytes.set(key, index);
      this.depths.push(depth);
      this.out.append(entry);
    }
    this.byObject.set(leaf, index);
    return index;
  }

  /** Enters what a leaf consists of. @returns its nesting depth */
  private addParts(leaf: Leaf): number {
    let parts: readonly Constant[];
    if (leaf.valueKind === "aggregate") parts = leaf.elements;
    else if (leaf.valueKind === "expr") parts = leaf.operands;
    else return 0;
    let depth = 0;
    for (const part of parts) {
      const partDepth = this.depths[this.index(part)]! + 1;
      if (partDepth > depth) depth = partDepth;
    }
    return depth;
  }

  private encode(leaf: Leaf, out: ByteWriter): void {
    const tagged = (tag: number): void => {
      out.byte(tag);
      out.uint(this.types.index(leaf.type));
    };
    switch (leaf.valueKind) {
      case "int":
        if (Math.abs(leaf.num) < maxZigzag) {
          tagged(Tag.Int);
          out.int(leaf.num);
        } else {
          tagged(Tag.WideInt);
          out.bigint(BigInt.asUintN(leaf.type.bits, leaf.value), Math.ceil(leaf.type.bits / 8));
        }
        break;
      case "float":
        tagged(Tag.Float);
        out.bigint(leaf.bits, floatBytes[leaf.type.kind]!);
        break;
      case "zero":
        tagged(Tag.Zero);
        break;
      case "undef":
        tagged(leaf.poison ? Tag.Poison : Tag.Undef);
        break;
      case "aggregate":
        tagged(Tag.Aggregate);
        for (const element of leaf.elements) out.uint(this.index(element));
        break;
      case "data":
        if (leaf.bytes.length !== leaf.type.count * dataElementSize(leaf.type.element))
          throw new Error(`${leaf.bytes.length} bytes of constant data for ${leaf.type}`);
        tagged(Tag.Data);
        out.raw(leaf.bytes);
        break;
      case "expr":
        tagged(Tag.Expr);
        this.encodeExpression(leaf, out);
        break;
      case "blockaddress":
        tagged(Tag.BlockAddress);
        out.uint(this.symbolIndex(leaf.fn));
        out.uint(leaf.label);
        break;
      case "globalref":
        tagged(leaf.kind === "no_cfi" ? Tag.NoCfi : Tag.DsoLocalEquivalent);
        out.uint(this.symbolIndex(leaf.global));
        break;
      case "none":
        out.byte(Tag.Token);
        break;
      case "global":
        out.byte(Tag.Global);
        out.uint(this.symbolIndex(leaf));
        break;
      case "metadata":
        out.byte(leaf.text === null ? Tag.Metadata : Tag.MetadataText);
        if (leaf.text !== null) out.string(leaf.text);
        break;
    }
  }

  private encodeExpression(expr: ConstExpr, out: ByteWriter): void {
    out.byte(opNumber(expr.op));
    out.uint(expr.flags);
    if (expr.op === Op.GetElementPtr) {
      out.uint(this.types.index(expr.elementType!));
      out.uint(expr.operands.length);
    } else if (expr.op === Op.ICmp || expr.op === Op.FCmp) {
      const code = (expr.op === Op.ICmp ? intPredicates : floatPredicates).names.indexOf(
        expr.predicate as never,
      );
      if (code < 0) throw new Error(`no object code for predicate ${expr.predicate}`);
      out.byte(code);
    }
    for (const operand of expr.operands) out.uint(this.index(operand));
  }

  write(out: ByteWriter): void {
    out.uint(this.entries.length);
    out.append(this.out);
  }
}

/** Small integers recur in every body; they are immutable, so all bodies share them. */
const smallInts: ConstInt[][] = [];
const smallest = -16;
const largest = 240;

function smallInt(type: Type, value: number): ConstInt {
  let row = smallInts[type.id];
  if (row === undefined) row = smallInts[type.id] = [];
  return (row[value - smallest] ??= new ConstInt(type, BigInt(value)));
}

const token = new ConstToken();
const noText = new MetadataOperand(null);

/** Reads what `LeafTableWriter.write` wrote. @throws InputError on malformed data */
export function readLeafTable(
  reader: ByteReader,
  types: readonly Type[],
  symbols: readonly GlobalValue[],
  owners: readonly GlobalValue[],
): Leaf[] {
  const count = reader.count("constants");
  const table = new LeafTableReader(reader, types, symbols, owners);
  for (let i = 0; i < count; i++) table.readEntry();
  return table.leaves;
}

class LeafTableReader {
  readonly leaves: Leaf[] = [];
  /** Per leaf, its nesting depth and the number of nodes when written out as a tree. */
  private readonly depths: number[] = [];
  private readonly trees: number[] = [];
  private depth = 0;
  private tree = 0;

  constructor(
    private readonly reader: ByteReader,
    private readonly types: readonly Type[],
    private readonly symbols: readonly GlobalValue[],
    /** The symbols before a linker replaced them. */
    private readonly owners: readonly GlobalValue[],
  ) {}

  readEntry(): void {
    this.depth = 0;
    this.tree = 1;
    const leaf = this.read(this.reader.byte());
    if (this.depth > maxConstantDepth) throw new InputError("constants are nested too deep");
    if (this.tree > maxConstantTree) throw new InputError("a constant is too large");
    this.leaves.push(leaf);
    this.depths.push(this.depth);
    this.trees.push(this.tree);
  }

  private type(): Type {
    return this.types[this.reader.below(this.types.length, "type")]!;
  }

  private symbol(): GlobalValue {
    return this.symbols[this.reader.below(this.symbols.length, "symbol")]!;
  }

  /** An earlier entry that is a constant. */
  private part(): Constant {
    const index = this.reader.below(this.leaves.length, "constant");
    const leaf = this.leaves[index]!;
    if (leaf.valueKind === "metadata") throw new InputError("metadata inside a constant");
    this.depth = Math.max(this.depth, this.depths[index]! + 1);
    this.tree += this.trees[index]!;
    return leaf;
  }

  private read(tag: number): Leaf {
    switch (tag) {
      case Tag.Int:
        return this.int();
      case Tag.WideInt: {
        const type = this.type();
        if (type.kind !== "int") throw new InputError(`an integer of type ${type}`);
        return new ConstInt(type, BigInt.asIntN(type.bits, this.reader.bigint(Math.ceil(type.bits / 8))));
      }
      case Tag.Float: {
        const type = this.type();
        if (!type.isFloat) throw new InputError(`a floating-point constant of type ${type}`);
        return new ConstFloat(type, this.reader.bigint(floatBytes[type.kind]!));
      }
      case Tag.Zero: {
        const type = this.type();
        if (type.kind !== "ptr" && type.kind !== "vector" && !type.isAggregate)
          throw new InputError(`a null value of type ${type}`);
        return new ConstZero(type);
      }
      case Tag.Undef:
      case Tag.Poison: {
        const type = this.type();
        if (type.kind === "void" || type.kind === "label" || type.kind === "function")
          throw new InputError(`an undefined value of type ${type}`);
        return new ConstUndef(type, tag === Tag.Poison);
      }
      case Tag.Aggregate:
        return this.aggregate();
      case Tag.Data:
        return this.data();
      case Tag.Expr:
        return this.expression();
      case Tag.BlockAddress:
        return this.blockAddress();
      case Tag.DsoLocalEquivalent:
      case Tag.NoCfi: {
        const type = this.pointer();
        return new GlobalRef(type, tag === Tag.NoCfi ? "no_cfi" : "dso_local_equivalent", this.symbol());
      }
      case Tag.Token:
        return token;
      case Tag.Global:
        return this.symbol();
      case Tag.Metadata:
        return noText;
      case Tag.MetadataText:
        return new MetadataOperand(this.reader.string());
      default:
        throw new InputError(`unknown constant tag ${tag}`);
    }
  }

  private pointer(): Type {
    const type = this.type();
    if (type.kind !== "ptr") throw new InputError(`an address of type ${type}`);
    return type;
  }

  private blockAddress(): Constant {
    const type = this.pointer();
    const index = this.reader.below(this.symbols.length, "symbol");
    const label = this.reader.uint();
    const fn = this.owners[index]!;
    if (fn.kind !== "function") throw new InputError(`a block address in '${fn.name}', not a function`);
    // See `BodySource.remap`.
    if (this.symbols[index] !== fn && fn.isDeclaration)
      return new ConstExpr(type, Op.IntToPtr, [new ConstInt(i64, 1n)]);
    return new BlockAddress(type, fn, label);
  }

  private int(): ConstInt {
    const type = this.type();
    const value = this.reader.int();
    if (type.kind !== "int") throw new InputError(`an integer of type ${type}`);
    if (type.bits < 53) {
      const bound = 2 ** (type.bits - 1);
      if (value < -bound || value >= bound) throw new InputError(`${value} does not fit ${type}`);
    }
    return value >= smallest && value < largest ? smallInt(type, value) : new ConstInt(type, BigInt(value));
  }

  private aggregate(): ConstAggregate {
    const type = this.type();
    const { reader } = this;
    const count = type.kind === "struct" ? type.elements.length : type.count;
    if (!type.isAggregate && type.kind !== "vector") throw new InputError(`an aggregate of type ${type}`);
    if (count > reader.remaining) throw new InputError("truncated");
    const elements: Constant[] = [];
    for (let i = 0; i < count; i++) {
      const element = this.part();
      if (element.type !== (type.kind === "struct" ? type.elements[i]! : type.element))
        throw new InputError(`an aggregate of type ${type} with an element of type ${element.type}`);
      elements.push(element);
    }
    return new ConstAggregate(type, elements);
  }

  private data(): ConstData {
    const type = this.type();
    const size = type.kind === "array" || type.kind === "vector" ? dataElementSize(type.element) : 0;
    if (size === 0) throw new InputError(`constant data of type ${type}`);
    return new ConstData(type, this.reader.raw(type.count * size));
  }

  private expression(): ConstExpr {
    const { reader } = this;
    const type = this.type();
    const op = opOfNumber(reader.byte());
    const flags = reader.below(1 << 16, "flags");
    let elementType: Type | null = null;
    let predicate: string | null = null;
    let count: number;
    switch (op) {
      case Op.GetElementPtr:
        elementType = this.type();
        count = reader.count("operands");
        break;
      case Op.ICmp:
      case Op.FCmp: {
        const { names } = op === Op.ICmp ? intPredicates : floatPredicates;
        predicate = names[reader.below(names.length, "predicate")]!;
        count = 2;
        break;
      }
      case Op.Select:
      case Op.InsertElement:
        count = 3;
        break;
      case Op.ExtractElement:
        count = 2;
        break;
      default:
        if (op >= Op.Add && op <= Op.Xor) count = 2;
        else if (op === Op.FNeg || (op >= Op.Trunc && op <= Op.AddrSpaceCast)) count = 1;
        else throw new InputError(`opcode ${op} in a constant expression`);
    }
    const operands: Constant[] = [];
    for (let i = 0; i < count; i++) operands.push(this.part());
    const expr = new ConstExpr(type, op, operands, flags, elementType, predicate);
    checkExpression(expr);
    return expr;
  }
}
