/**
 * Debug records of a body as numbers outside of its code: what is encoded of the code is the same without them.
 *
 * A record: its variable and its origin by the module's numbers; its instruction, as a distance from the one of the record before;
 * 1 for a declaration, 2 for a label; the count of the expression's parts, and these; the count of values, and these, a kind and what goes
 * with it. Parts of expressions are doubled, or 1 and two words.
 */
import { DebugRecord, forEachRecord, operationsIn } from "../../lto/ir/debug-records.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Body, BodyView, Inst } from "../../lto/ir/instructions.js";
import type { Func } from "../../lto/ir/module.js";
import { doubleType, floatType, intType, ptr, type Type, voidType } from "../../lto/ir/types.js";
import { ConstFloat, ConstInt, ConstZero, type Value } from "../../lto/ir/values.js";

const enum Kind {
  Inst,
  Argument,
  Int,
  Float,
  Double,
  Null,
}
/** How many numbers follow each kind. */
const kindNumbers = [1, 1, 3, 2, 2, 0];

/** Whether records may name the value: no globals, which would have to stay for their sake. */
function isRecordable(value: Value): boolean {
  switch (value.valueKind) {
    case "int":
      return value.type.bits <= 64;
    case "float":
      return value.type === floatType || value.type === doubleType;
    case "zero":
      return value.type === ptr;
    default:
      return false;
  }
}

/** The records of a body whose instructions are numbered, as numbers. */
export function encodeRecords(fn: Func, body: BodyView): number[] {
  if (!body.hasDebug) return [];
  const insts = body.blocks.flatMap((block) => block.insts);
  const isHere = (value: Value): boolean => {
    if (value.valueKind === "argument") return fn.args[value.index] === value;
    return value.valueKind === "inst" ? insts[value.id] === value : isRecordable(value);
  };
  const out: number[] = [];
  let last = 0;
  forEachRecord(body, (record, anchor) => {
    if (!record.values.every(isHere)) record.forget();
    const { variable, expression, values, isDeclaration, isLabel, origin } = record;
    out.push(variable, origin, anchor.id - last, isLabel ? 2 : isDeclaration ? 1 : 0, expression.length);
    last = anchor.id;
    for (const part of expression) pushPart(out, part);
    out.push(values.length);
    for (const value of values) pushValue(out, value);
  });
  return out;
}

function pushPart(out: number[], part: number): void {
  if (part >= 0 && part < 2 ** 30) out.push(part * 2);
  else out.push(1, ...words(BigInt(part)));
}
function pushValue(out: number[], value: Value): void {
  switch (value.valueKind) {
    case "inst":
      out.push(Kind.Inst, value.id);
      return;
    case "argument":
      out.push(Kind.Argument, value.index);
      return;
    case "int":
      out.push(Kind.Int, value.type.bits, ...words(value.value));
      return;
    case "float":
      out.push(value.type === floatType ? Kind.Float : Kind.Double, ...words(value.bits));
      return;
    default:
      out.push(Kind.Null);
  }
}
const words = (value: bigint): [number, number] => [
  Number(BigInt.asUintN(32, value)),
  Number(BigInt.asUintN(32, value >> 32n)),
];

/** Reads numbers one by one. */
class Numbers {
  at = 0;
  constructor(private readonly list: readonly number[]) {}
  get isAtEnd(): boolean {
    return this.at >= this.list.length;
  }
  next(): number {
    const number = this.list[this.at++];
    if (number === undefined) throw new InputError("a debug record ends too early");
    return number;
  }
  word(): bigint {
    const low = BigInt(this.next());
    return low | (BigInt(this.next()) << 32n);
  }
  part(): number {
    const number = this.next();
    return number === 1 ? Number(BigInt.asIntN(64, this.word())) : number / 2;
  }
}

/** The same records with other numbers of their variables and origins. */
export function renumberedRecords(
  list: readonly number[],
  variable: (number: number) => number,
  origin: (number: number) => number,
): number[] {
  const out = [...list];
  const numbers = new Numbers(list);
  while (!numbers.isAtEnd) {
    out[numbers.at] = variable(numbers.next());
    out[numbers.at] = origin(numbers.next());
    numbers.next();
    numbers.next();
    for (let n = numbers.next(); n > 0; n--) numbers.part();
    for (let n = numbers.next(); n > 0; n--)
      for (let k = kindNumbers[numbers.next()] ?? 0; k > 0; k--) numbers.next();
  }
  return out;
}

/** Gives a body its records. @param insts of the body, by number */
export function decodeRecords(list: readonly number[], fn: Func, body: Body, insts: readonly Inst[]): void {
  if (list.length === 0) return;
  const numbers = new Numbers(list);
  let at = 0;
  while (!numbers.isAtEnd) {
    const variable = numbers.next();
    const origin = numbers.next();
    at += numbers.next();
    const anchor = insts[at];
    if (anchor === undefined) throw new InputError("a debug record without its instruction");
    const what = numbers.next();
    const expression: number[] = [];
    for (let n = numbers.next(); n > 0; n--) expression.push(numbers.part());
    if (operationsIn(expression) === null) throw new InputError("a malformed expression of a debug record");
    const values: Value[] = [];
    for (let n = numbers.next(); n > 0; n--) values.push(readValue(numbers, fn, insts));
    const record = new DebugRecord(variable, expression, values, what === 1, origin, what === 2);
    if (anchor.debug === null) anchor.debug = [record];
    else anchor.debug.push(record);
  }
  body.hasDebug = true;
}

function readValue(numbers: Numbers, fn: Func, insts: readonly Inst[]): Value {
  switch (numbers.next()) {
    case Kind.Inst:
      return present(insts[numbers.next()]);
    case Kind.Argument:
      return present(fn.args[numbers.next()]);
    case Kind.Int: {
      const bits = numbers.next();
      if (bits === 0 || bits > 64) throw new InputError("a debug record names an impossible number");
      return new ConstInt(intType(bits), BigInt.asIntN(bits, numbers.word()));
    }
    case Kind.Float:
      return float(floatType, numbers);
    case Kind.Double:
      return float(doubleType, numbers);
    case Kind.Null:
      return new ConstZero(ptr);
    default:
      throw new InputError("a debug record names something unknown");
  }
}

const float = (type: Type, numbers: Numbers): Value => new ConstFloat(type, numbers.word());

function present(value: Value | undefined): Value {
  if (value === undefined || value.type === voidType) throw new InputError("a debug record names no value");
  return value;
}
