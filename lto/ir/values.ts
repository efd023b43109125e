/**
 * Values of the IR other than instructions: arguments, constants, inline assembly, metadata operands.
 *
 * Constants are plain immutable objects, not interned: compare with `sameConstant`. Integer constants hold
 * their value sign-extended from their width, as a bigint and, when it is exactly representable, as a
 * number.
 */
import { type Inst, Op } from "./instructions.js";
import type { Func, GlobalValue } from "./module.js";
import { i1, i32, i64, metadataType, type Type, tokenType } from "./types.js";

/** What an operand may be. Discriminated by `valueKind`. */
export type Value = Inst | Argument | Constant | InlineAsm | MetadataOperand;

export type Constant =
  | ConstInt
  | ConstFloat
  | ConstZero
  | ConstUndef
  | ConstAggregate
  | ConstData
  | ConstExpr
  | BlockAddress
  | GlobalRef
  | ConstToken
  | GlobalValue;

export class Argument {
  readonly valueKind = "argument";
  /** Number of its first use (`uses.ts`). */
  protected firstUse = -1;
  constructor(
    readonly type: Type,
    readonly index: number,
  ) {}
}

export class ConstInt {
  readonly valueKind = "int";
  /** The value as a number; NaN when it is not a safe integer. */
  readonly num: number;
  constructor(
    readonly type: Type,
    /** Sign-extended from `type.bits`. */
    readonly value: bigint,
  ) {
    this.num = value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : Number.NaN;
  }
}

/** A floating-point constant: the raw bits of its format (16, 32, 64, 80 or 128 of them). */
export class ConstFloat {
  readonly valueKind = "float";
  constructor(
    readonly type: Type,
    readonly bits: bigint,
  ) {}
}

/** `zeroinitializer`, and `null` for pointers. Integer and float zeros are ConstInt and ConstFloat. */
export class ConstZero {
  readonly valueKind = "zero";
  constructor(readonly type: Type) {}
}

/** `undef` and `poison`. */
export class ConstUndef {
  readonly valueKind = "undef";
  constructor(
    readonly type: Type,
    readonly poison: boolean,
  ) {}
}

/** Array, struct or vector of constants. */
export class ConstAggregate {
  readonly valueKind = "aggregate";
  constructor(
    readonly type: Type,
    readonly elements: readonly Constant[],
  ) {}
}

/** Bytes of an element that constant data can hold: i8…i64, half, float or double; 0 for other types. */
export function dataElementSize({ kind, bits }: Type): number {
  switch (kind) {
    case "int":
      return bits === 8 || bits === 16 || bits === 32 || bits === 64 ? bits / 8 : 0;
    case "half":
      return 2;
    case "float":
      return 4;
    case "double":
      return 8;
    default:
      return 0;
  }
}

/** Array or vector of i8…i64, half, float or double as little-endian bytes (strings, tables). */
export class ConstData {
  readonly valueKind = "data";
  constructor(
    readonly type: Type,
    readonly bytes: Uint8Array,
  ) {}
}

/**
 * A constant expression. `op` is the instruction it mirrors: casts, `Op.GetElementPtr` (`elementType` and
 * `flags` set), `Op.Add`, `Op.Sub`, `Op.Xor`, and what older producers wrote (`Op.ICmp` with `predicate`,
 * `Op.Select`, shifts, …).
 */
export class ConstExpr {
  readonly valueKind = "expr";
  constructor(
    readonly type: Type,
    readonly op: Op,
    readonly operands: readonly Constant[],
    readonly flags = 0,
    readonly elementType: Type | null = null,
    readonly predicate: string | null = null,
  ) {}
}

/**
 * `blockaddress(@fn, %block)`; the block by its label (`Block.label`), so that the body need not be decoded. Where the
 * function has dropped the block it is `inttoptr (i64 1 to ptr)`, as in LLVM: see `droppedAddress`.
 */
export class BlockAddress {
  readonly valueKind = "blockaddress";
  constructor(
    readonly type: Type,
    readonly fn: Func,
    readonly label: number,
  ) {}
}

/** `dso_local_equivalent @g` and `no_cfi @g`. */
export class GlobalRef {
  readonly valueKind = "globalref";
  constructor(
    readonly type: Type,
    readonly kind: "dso_local_equivalent" | "no_cfi",
    readonly global: GlobalValue,
  ) {}
}

/** `none`, the only token constant. */
export class ConstToken {
  readonly valueKind = "none";
  readonly type = tokenType;
}

/** Callee of a call that is inline assembly. */
export class InlineAsm {
  readonly valueKind = "asm";
  constructor(
    /** Function type of the call. */
    readonly functionType: Type,
    readonly template: string,
    readonly constraints: string,
    readonly sideEffects: boolean,
    readonly alignStack: boolean,
    readonly intelDialect: boolean,
    readonly canUnwind: boolean,
  ) {}
  get type(): Type {
    return this.functionType;
  }
}

/**
 * A metadata operand of an intrinsic call, reduced to what code generation can need: the string of an
 * `!"…"` or of a node whose first operand is a string (`llvm.read_register`, constrained floating point);
 * null for anything else.
 */
export class MetadataOperand {
  readonly valueKind = "metadata";
  readonly type = metadataType;
  constructor(readonly text: string | null) {}
}

/** Integer constant from a number (a safe integer) or bigint, wrapped to the width of `type`. */
export function constInt(type: Type, value: number | bigint): ConstInt {
  return new ConstInt(type, BigInt.asIntN(type.bits, BigInt(value)));
}
export const constBool = (value: boolean): ConstInt => constInt(i1, value ? -1n : 0n);
export const constI32 = (value: number): ConstInt => constInt(i32, value);
export const constI64 = (value: number | bigint): ConstInt => constInt(i64, value);

/** The null value of a type, in canonical form. */
export function zeroOf(type: Type): ConstInt | ConstFloat | ConstZero {
  if (type.kind === "int") return new ConstInt(type, 0n);
  if (type.isFloat) return new ConstFloat(type, 0n);
  return new ConstZero(type);
}

const constantKinds = new Set([
  "int",
  "float",
  "zero",
  "undef",
  "aggregate",
  "data",
  "expr",
  "blockaddress",
  "globalref",
  "none",
  "global",
]);
export const isConstant = (value: Value): value is Constant => constantKinds.has(value.valueKind);

/** What the address of a block that was dropped, and so is never jumped to, has become; null while the block exists. */
export const droppedAddress = (address: BlockAddress): ConstExpr | null =>
  address.fn.hasDropped(address.label)
    ? new ConstExpr(address.type, Op.IntToPtr, [new ConstInt(i64, 1n)])
    : null;
/** Structural equality of constants; globals compare by identity. */
export function sameConstant(a: Constant, b: Constant): boolean {
  if (a === b) return true;
  if (a.valueKind !== b.valueKind || a.type !== b.type) return false;
  switch (a.valueKind) {
    case "int":
      return a.value === (b as ConstInt).value;
    case "float":
      return a.bits === (b as ConstFloat).bits;
    case "zero":
    case "none":
      return true;
    case "undef":
      return a.poison === (b as ConstUndef).poison;
    case "aggregate": {
      const other = (b as ConstAggregate).elements;
      return a.elements.length === other.length && a.elements.every((e, i) => sameConstant(e, other[i]!));
    }
    case "data": {
      const other = (b as ConstData).bytes;
      return a.bytes.length === other.length && a.bytes.every((byte, i) => byte === other[i]);
    }
    case "expr": {
      const other = b as ConstExpr;
      return (
        a.op === other.op &&
        a.flags === other.flags &&
        a.elementType === other.elementType &&
        a.predicate === other.predicate &&
        a.operands.length === other.operands.length &&
        a.operands.every((e, i) => sameConstant(e, other.operands[i]!))
      );
    }
    case "blockaddress":
      return a.fn === (b as BlockAddress).fn && a.label === (b as BlockAddress).label;
    case "globalref":
      return a.kind === (b as GlobalRef).kind && a.global === (b as GlobalRef).global;
    default:
      return false;
  }
}
