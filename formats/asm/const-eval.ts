/**
 * Constant expressions as link-time values: symbol − symbol + number.
 *
 * Everything an ELF relocation can express, and the arithmetic on plain numbers that older producers left
 * unfolded. Linear in the expression.
 * Source: LLVM Language Reference, "Constant Expressions".
 */

import type { DataLayout } from "../../lto/ir/data-layout.js";
import { InputError, UnsupportedError } from "../../lto/ir/errors.js";
import { integerBinary, integerCompare } from "../../lto/ir/fold/integers.js";
import { type BinaryOp, type IntPredicate, Op, opNames } from "../../lto/ir/instructions.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import type { Constant, ConstExpr } from "../../lto/ir/values.js";

export type SymbolTerm =
  | { readonly kind: "global"; readonly global: GlobalValue; readonly plt: boolean }
  | { readonly kind: "block"; readonly fn: GlobalValue; readonly block: number };

/** `plus − minus + offset`. */
export interface Address {
  readonly plus: SymbolTerm | null;
  readonly minus: SymbolTerm | null;
  readonly offset: bigint;
}

const number = (offset: bigint): Address => ({ plus: null, minus: null, offset });
const isNumber = (a: Address): boolean => a.plus === null && a.minus === null;

/** Value of a scalar constant. @throws InputError if no relocation expresses it */
export function evaluate(constant: Constant, layout: DataLayout): Address {
  switch (constant.valueKind) {
    case "int":
      return number(constant.value);
    case "float":
      return number(constant.bits);
    case "zero":
    case "undef":
    case "none":
      return number(0n);
    case "global":
      return { plus: { kind: "global", global: constant, plt: false }, minus: null, offset: 0n };
    case "globalref":
      return {
        plus: { kind: "global", global: constant.global, plt: constant.kind === "dso_local_equivalent" },
        minus: null,
        offset: 0n,
      };
    case "blockaddress":
      return constant.fn.hasDropped(constant.label)
        ? number(1n)
        : { plus: { kind: "block", fn: constant.fn, block: constant.label }, minus: null, offset: 0n };
    case "expr":
      return evaluateExpr(constant, layout);
    default:
      throw new InputError(`constant of type ${constant.type} where a number or address is needed`);
  }
}

/** A constant that must be a plain integer. */
export function integerOf(constant: Constant, layout: DataLayout): bigint {
  const value = evaluate(constant, layout);
  if (!isNumber(value)) throw new InputError("address where a number is needed");
  return value.offset;
}

function unsupported(expr: ConstExpr): never {
  throw new UnsupportedError(`constant expression '${opNames[expr.op]}' on addresses`);
}

function evaluateExpr(expr: ConstExpr, layout: DataLayout): Address {
  const { op, operands } = expr;
  switch (op) {
    case Op.GetElementPtr:
      return elementPointer(expr, layout);
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.BitCast:
    case Op.AddrSpaceCast:
    case Op.Trunc:
    case Op.ZExt:
    case Op.SExt:
      return cast(expr, evaluate(operands[0]!, layout), layout);
    case Op.Add:
      return add(expr, evaluate(operands[0]!, layout), evaluate(operands[1]!, layout));
    case Op.Sub:
      return subtract(expr, evaluate(operands[0]!, layout), evaluate(operands[1]!, layout));
    case Op.Select:
      return evaluate(integerOf(operands[0]!, layout) !== 0n ? operands[1]! : operands[2]!, layout);
    case Op.ICmp:
      return compare(expr, layout);
    default:
      return arithmetic(expr, layout);
  }
}

function elementPointer(expr: ConstExpr, layout: DataLayout): Address {
  const base = evaluate(expr.operands[0]!, layout);
  let { offset } = base;
  let type = expr.elementType!;
  for (let i = 1; i < expr.operands.length; i++) {
    const index = integerOf(expr.operands[i]!, layout);
    if (i === 1) offset += index * BigInt(layout.allocSize(type));
    else if (type.kind === "struct") {
      offset += BigInt(layout.elementOffset(type, Number(index)));
      type = type.elements[Number(index)]!;
    } else {
      type = type.element;
      offset += index * BigInt(layout.allocSize(type));
    }
  }
  return { ...base, offset: BigInt.asIntN(64, offset) };
}

/** Casts of addresses keep them: truncation of a difference is the relocation's business. */
function cast(expr: ConstExpr, value: Address, layout: DataLayout): Address {
  if (!isNumber(value)) return value;
  const from = layout.bitWidth(expr.operands[0]!.type);
  const to = layout.bitWidth(expr.type);
  const bits = expr.op === Op.SExt ? BigInt.asIntN(from, value.offset) : BigInt.asUintN(from, value.offset);
  return number(BigInt.asIntN(to, bits));
}

function add(expr: ConstExpr, a: Address, b: Address): Address {
  if ((a.plus !== null && b.plus !== null) || (a.minus !== null && b.minus !== null)) unsupported(expr);
  return { plus: a.plus ?? b.plus, minus: a.minus ?? b.minus, offset: a.offset + b.offset };
}

const sameTerm = (a: SymbolTerm | null, b: SymbolTerm | null): boolean =>
  a !== null &&
  b !== null &&
  (a.kind === "global"
    ? b.kind === "global" && a.global === b.global
    : b.kind === "block" && a.fn === b.fn && a.block === b.block);

function subtract(expr: ConstExpr, a: Address, b: Address): Address {
  const offset = a.offset - b.offset;
  if (sameTerm(a.plus, b.plus))
    return add(expr, { plus: null, minus: a.minus, offset }, { plus: b.minus, minus: null, offset: 0n });
  return add(expr, { ...a, offset }, { plus: b.minus, minus: b.plus, offset: 0n });
}

function compare(expr: ConstExpr, layout: DataLayout): Address {
  const a = evaluate(expr.operands[0]!, layout);
  const b = evaluate(expr.operands[1]!, layout);
  // Addresses of the same object compare by offset; a definition is never null.
  const comparable = isNumber(a)
    ? isNumber(b)
    : sameTerm(a.plus, b.plus) && a.minus === null && b.minus === null;
  if (!comparable) unsupported(expr);
  const bits = layout.bitWidth(expr.operands[0]!.type);
  const holds = integerCompare(expr.predicate as IntPredicate, bits, wrap(bits, a), wrap(bits, b));
  return number(holds ? -1n : 0n);
}
const wrap = (bits: number, { offset }: Address): bigint => BigInt.asIntN(bits, offset);

const isBinary = (op: Op): op is BinaryOp => op >= Op.Add && op <= Op.Xor;

/** Integer arithmetic on plain numbers. */
function arithmetic(expr: ConstExpr, layout: DataLayout): Address {
  const bits = layout.bitWidth(expr.type);
  const values = expr.operands.map((o) => evaluate(o, layout));
  if (values.length !== 2 || !values.every(isNumber)) unsupported(expr);
  const [a, b] = values.map((value) => wrap(bits, value)) as [bigint, bigint];
  if (!isBinary(expr.op) || expr.type.isFloat) unsupported(expr);
  const result = integerBinary(expr.op, bits, a, b, 0);
  // Undefined cases: any value will do.
  return number(typeof result === "bigint" ? result : 0n);
}
