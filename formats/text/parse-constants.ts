/** Constants from text (LLVM Language Reference, "Constants", "Constant Expressions"). */
import { Flag, Op } from "../../lto/ir/instructions.js";
import { arrayType, i1, i8, type Type, vectorType } from "../../lto/ir/types.js";
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
  dataElementSize,
  GlobalRef,
  zeroOf,
} from "../../lto/ir/values.js";
import { describeType } from "../../lto/verify/describe.js";
import { unescapeBytes } from "./escape.js";
import { parseFloatText } from "./float-text.js";
import { binaryOps, castOps, flagWords } from "./keywords.js";
import { Tok } from "./lexer.js";
import type { ParseContext } from "./parse-context.js";
import { parseType, parseValueType } from "./parse-types.js";

/** Words that are a constant by themselves. */
const atoms = new Set(["true", "false", "null", "undef", "poison", "none", "zeroinitializer"]);

/** Words that start a constant expression, for where its type is left out. */
export function startsExpression(p: ParseContext): boolean {
  if (p.kind() !== Tok.Word) return false;
  const word = p.text();
  return word === "getelementptr" || castOps.has(word) || binaryOps.has(word);
}

const otherStarts = new Set([
  "splat",
  "dso_local_equivalent",
  "no_cfi",
  "blockaddress",
  "getelementptr",
  "ptrauth",
  "icmp",
  "fcmp",
  "fneg",
  "select",
  "extractelement",
  "insertelement",
  "shufflevector",
  "extractvalue",
  "insertvalue",
]);

/** Whether a word starts a constant. */
export const startsConstantWord = (word: string): boolean =>
  atoms.has(word) || otherStarts.has(word) || castOps.has(word) || binaryOps.has(word);

/** Skips a constant without its type. */
export function skipConstant(p: ParseContext): void {
  for (;;) {
    switch (p.kind()) {
      case Tok.Word: {
        const word = p.text();
        p.next();
        if (atoms.has(word)) return;
        if (word === "inrange" && p.kind() === Tok.OpenParen) p.skipGroup();
        continue;
      }
      case Tok.OpenParen:
      case Tok.OpenBrace:
      case Tok.OpenSquare:
      case Tok.OpenAngle:
        p.skipGroup();
        return;
      case Tok.Integer:
      case Tok.HexInteger:
      case Tok.Float:
      case Tok.Bytes:
      case Tok.HexBytes:
      case Tok.Global:
      case Tok.GlobalNumber:
        p.next();
        return;
      default:
        p.fail(`expected a constant, found ${p.found()}`);
    }
  }
}

export function parseTypedConstant(p: ParseContext): Constant {
  const type = parseType(p);
  return parseConstant(p, type);
}

/** A constant of the given type. @throws InputError if it has another one */
export function parseConstant(p: ParseContext, type: Type): Constant {
  p.enter();
  const start = p.pos;
  const value = parseUnchecked(p, type);
  if (value.type !== type)
    p.fail(`constant of type '${describeType(value.type)}' where '${describeType(type)}' is expected`, start);
  p.leave();
  return value;
}

function parseUnchecked(p: ParseContext, type: Type): Constant {
  switch (p.kind()) {
    case Tok.Integer:
    case Tok.HexInteger:
      return parseInteger(p, type);
    case Tok.Float: {
      if (!type.isFloat) p.fail(`floating point constant for type '${type.kind}'`);
      const text = p.text();
      const bits = p.located(p.pos, () => parseFloatText(type, text));
      p.next();
      return new ConstFloat(type, bits);
    }
    case Tok.Global:
    case Tok.GlobalNumber:
      return p.global();
    case Tok.Bytes:
      return byteArray(p, unescapeBytes(p.text()));
    case Tok.HexBytes: {
      const text = p.text();
      if (text.length % 2 !== 0 || /[^0-9a-fA-F]/.test(text)) p.fail("malformed hexadecimal string");
      const bytes = new Uint8Array(text.length / 2);
      for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
      return byteArray(p, bytes);
    }
    case Tok.OpenSquare: {
      p.next();
      const elements = parseElements(p, Tok.CloseSquare, "']'");
      // What `[]` lacks, its element type, only the context can tell.
      if (elements.length === 0) {
        if (type.kind !== "array" || type.count !== 0) p.fail("empty array constant for another type");
        return new ConstZero(type);
      }
      return sequence(p, arrayType(elements.length, elements[0]!.type), elements);
    }
    case Tok.OpenAngle: {
      p.next();
      if (p.take(Tok.OpenBrace)) {
        const elements = parseElements(p, Tok.CloseBrace, "'}'");
        p.expect(Tok.CloseAngle, "'>'");
        return struct(p, type, elements, true);
      }
      const at = p.pos;
      const elements = parseElements(p, Tok.CloseAngle, "'>'");
      if (elements.length === 0) p.fail("a vector without elements", at);
      return sequence(p, vectorType(elements.length, elements[0]!.type), elements);
    }
    case Tok.OpenBrace: {
      p.next();
      return struct(p, type, parseElements(p, Tok.CloseBrace, "'}'"), false);
    }
    case Tok.Word:
      return parseWord(p, type);
    default:
      p.fail(`expected a value, found ${p.found()}`);
  }
}

function parseInteger(p: ParseContext, type: Type): ConstInt {
  if (type.kind !== "int") p.fail(`integer constant for type '${type.kind}'`);
  const text = p.text();
  // Four bits a digit is generous, and keeps the conversion from being fed megabytes.
  if (text.length > type.bits + 8) p.fail(`integer constant does not fit type '${type}'`);
  let value: bigint;
  if (p.kind() === Tok.HexInteger) {
    const digits = text.slice(3);
    value = BigInt(`0x${digits}`);
    if (text[0] === "s") value = BigInt.asIntN(digits.length * 4, value);
  } else value = BigInt(text[0] === "+" ? text.slice(1) : text);
  const signed = BigInt.asIntN(type.bits, value);
  if (signed !== value && BigInt.asUintN(type.bits, value) !== value)
    p.fail(`integer constant ${p.found()} does not fit type '${type}'`);
  p.next();
  return new ConstInt(type, signed);
}

function byteArray(p: ParseContext, bytes: Uint8Array): Constant {
  p.next();
  const type = arrayType(bytes.length, i8);
  return bytes.length === 0 ? new ConstZero(type) : new ConstData(type, bytes);
}

function parseElements(p: ParseContext, close: Tok, what: string): Constant[] {
  const elements: Constant[] = [];
  if (p.kind() !== close)
    do elements.push(parseTypedConstant(p));
    while (p.take(Tok.Comma));
  p.expect(close, what);
  return elements;
}

function struct(p: ParseContext, type: Type, elements: readonly Constant[], packed: boolean): Constant {
  const fits =
    type.kind === "struct" &&
    type.packed === packed &&
    type.elements.length === elements.length &&
    elements.every((element, i) => element.type === type.elements[i]);
  if (!fits) p.fail(`struct constant does not fit its type`);
  return elements.length === 0 ? new ConstZero(type) : new ConstAggregate(type, elements);
}

/** Array or vector constant: packed bytes where its elements allow. */
function sequence(p: ParseContext, type: Type, elements: readonly Constant[]): Constant {
  const element = type.element;
  let plain = true;
  for (const { type: actual, valueKind } of elements) {
    if (actual !== element) p.fail("elements of different types in one constant");
    if (valueKind !== "int" && valueKind !== "float") plain = false;
  }
  const size = dataElementSize(element);
  if (!plain || size === 0) return new ConstAggregate(type, elements);
  const bytes = new Uint8Array(elements.length * size);
  const view = new DataView(bytes.buffer);
  elements.forEach((value, i) => {
    const bits = value.valueKind === "int" ? value.value : (value as ConstFloat).bits;
    switch (size) {
      case 1:
        bytes[i] = Number(bits);
        break;
      case 2:
        view.setInt16(i * 2, Number(bits), true);
        break;
      case 4:
        view.setInt32(i * 4, Number(bits), true);
        break;
      default:
        view.setBigInt64(i * 8, bits, true);
    }
  });
  return new ConstData(type, bytes);
}

function parseWord(p: ParseContext, type: Type): Constant {
  const start = p.pos;
  const word = p.text();
  p.next();
  switch (word) {
    case "true":
    case "false":
      return new ConstInt(i1, word === "true" ? -1n : 0n);
    case "null":
      if (type.kind !== "ptr") p.fail(`'null' for type '${type.kind}'`, start);
      return new ConstZero(type);
    case "zeroinitializer":
    case "undef":
    case "poison":
      if (
        type.kind === "void" ||
        type.kind === "function" ||
        type.kind === "label" ||
        type.kind === "metadata"
      )
        p.fail(`'${word}' for type '${type.kind}'`, start);
      if (word !== "zeroinitializer") return new ConstUndef(type, word === "poison");
      return type.kind === "token" ? new ConstToken() : zeroOf(type);
    case "none":
      return new ConstToken();
    case "splat": {
      p.expect(Tok.OpenParen, "'('");
      const element = parseTypedConstant(p);
      p.expect(Tok.CloseParen, "')'");
      if (type.kind !== "vector" || element.type !== type.element)
        p.fail("'splat' does not fit its type", start);
      return sequence(p, type, new Array<Constant>(type.count).fill(element));
    }
    case "dso_local_equivalent":
    case "no_cfi":
      return new GlobalRef(type, word, p.global());
    case "blockaddress":
      return parseBlockAddress(p);
    case "getelementptr":
      return parseGep(p);
    case "ptrauth":
      p.unsupported("ptrauth", start);
  }
  const cast = castOps.get(word);
  if (cast !== undefined) {
    const flags = parseFlags(p);
    p.expect(Tok.OpenParen, "'('");
    const value = parseTypedConstant(p);
    p.expectWord("to");
    const to = parseValueType(p);
    p.expect(Tok.CloseParen, "')'");
    return new ConstExpr(to, cast, [value], flags);
  }
  return parseOperation(p, word, start);
}

/** Flag words of an instruction or expression. */
export function parseFlags(p: ParseContext): number {
  let flags = 0;
  while (p.kind() === Tok.Word) {
    const flag = flagWords.get(p.text());
    if (flag === undefined) break;
    flags |= flag;
    p.next();
  }
  // `inbounds` says `nusw` already.
  return (flags & Flag.InBounds) !== 0 ? flags & ~Flag.Nusw : flags;
}

function parseBlockAddress(p: ParseContext): Constant {
  p.expect(Tok.OpenParen, "'('");
  const at = p.pos;
  const fn = p.global();
  if (fn.kind !== "function") p.fail("blockaddress of something that is not a function", at);
  p.expect(Tok.Comma, "','");
  if (p.kind() !== Tok.Local && p.kind() !== Tok.LocalNumber) p.fail(`expected a block, found ${p.found()}`);
  const constant = new BlockAddress(fn.type, fn, -1);
  p.pendingBlocks.push({ constant, block: p.nameKey(), pos: p.pos });
  p.next();
  p.expect(Tok.CloseParen, "')'");
  return constant;
}

/** Drops `inrange`, which only permits more. */
export function skipInRange(p: ParseContext): void {
  if (p.takeWord("inrange") && p.kind() === Tok.OpenParen) p.skipGroup();
}

function parseGep(p: ParseContext): Constant {
  let flags = parseFlags(p);
  skipInRange(p);
  flags |= parseFlags(p);
  const at = p.pos;
  p.expect(Tok.OpenParen, "'('");
  const elementType = parseValueType(p);
  p.expect(Tok.Comma, "','");
  const operands: Constant[] = [];
  do {
    skipInRange(p);
    operands.push(parseTypedConstant(p));
  } while (p.take(Tok.Comma));
  p.expect(Tok.CloseParen, "')'");
  return new ConstExpr(gepType(p, operands, at), Op.GetElementPtr, operands, flags, elementType);
}

/** Type of a getelementptr: a pointer, or a vector of them if any operand is a vector. */
export function gepType(p: ParseContext, operands: readonly { readonly type: Type }[], at: number): Type {
  const base = operands[0]!.type;
  if (base.scalar.kind !== "ptr") p.fail("base of getelementptr is not a pointer", at);
  if (base.isVector) return base;
  for (const { type } of operands) if (type.isVector) return vectorType(type.count, base);
  return base;
}

/** `op flags (operands)` for operations other than casts and getelementptr. */
function parseOperation(p: ParseContext, word: string, start: number): Constant {
  const binary = binaryOps.get(word);
  let flags = 0;
  let predicate: string | null = null;
  let op = binary;
  if (binary !== undefined) flags = parseFlags(p);
  else
    switch (word) {
      case "icmp":
      case "fcmp":
        op = word === "icmp" ? Op.ICmp : Op.FCmp;
        flags = parseFlags(p);
        predicate = parsePredicate(p, op);
        break;
      case "fneg":
        op = Op.FNeg;
        flags = parseFlags(p);
        break;
      case "select":
        op = Op.Select;
        break;
      case "extractelement":
        op = Op.ExtractElement;
        break;
      case "insertelement":
        op = Op.InsertElement;
        break;
      case "shufflevector":
        op = Op.ShuffleVector;
        break;
      case "extractvalue":
      case "insertvalue":
        p.unsupported(`constant expression ${word}`, start);
    }
  if (op === undefined) p.fail(`expected a value, found '${word.slice(0, 40)}'`, start);
  p.expect(Tok.OpenParen, "'('");
  const operands = parseElements(p, Tok.CloseParen, "')'");
  const arity =
    op === Op.FNeg ? 1 : op === Op.Select || op === Op.InsertElement || op === Op.ShuffleVector ? 3 : 2;
  if (operands.length !== arity) p.fail(`'${word}' takes ${arity} operands`, start);
  return new ConstExpr(operationType(p, op, operands, start), op, operands, flags, null, predicate);
}

function operationType(p: ParseContext, op: Op, operands: readonly Constant[], start: number): Type {
  const first = operands[0]!.type;
  switch (op) {
    case Op.ICmp:
    case Op.FCmp:
      return first.isVector ? vectorType(first.count, i1) : i1;
    case Op.Select:
      return operands[1]!.type;
    case Op.ExtractElement:
      if (!first.isVector) p.fail("extractelement of something that is not a vector", start);
      return first.element;
    case Op.ShuffleVector: {
      const mask = operands[2]!.type;
      if (!first.isVector || !mask.isVector) p.fail("shufflevector of something that is not a vector", start);
      return vectorType(mask.count, first.element);
    }
    default:
      return first;
  }
}

const intPredicates = new Set(["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"]);
const floatPredicates = new Set(
  "false oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une true".split(" "),
);

export function parsePredicate(p: ParseContext, op: Op): string {
  const word = p.kind() === Tok.Word ? p.text() : "";
  if (!(op === Op.ICmp ? intPredicates : floatPredicates).has(word))
    p.fail(`expected a comparison predicate, found ${p.found()}`);
  p.next();
  return word;
}
