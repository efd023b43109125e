/**
 * call, invoke and callbr from text (LLVM Language Reference, "'call' Instruction").
 *
 * Nothing marks the end of a call's attributes. A word that is no known attribute counts as one only on the
 * line of the call, so that an unknown instruction on the next line is not mistaken for it.
 */

import { AttributeList, type AttributeSet, noAttributeList, noAttributes } from "../../lto/ir/attributes.js";
import {
  type Block,
  type CallData,
  type Inst,
  makeInst,
  Op,
  type OperandBundle,
  type TailKind,
} from "../../lto/ir/instructions.js";
import { isDebugIntrinsic, isReservedName } from "../../lto/ir/intrinsics.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, ptr, type Type } from "../../lto/ir/types.js";
import { ConstZero, InlineAsm, type Value } from "../../lto/ir/values.js";
import { isInstructionWord, parseLegalFlags } from "./instruction-words.js";
import { attributeForms } from "./keywords.js";
import { Tok } from "./lexer.js";
import {
  AttributeBuilder,
  parseAttribute,
  parseGroupReference,
  parseValueAttributes,
} from "./parse-attributes.js";
import type { BodyParser } from "./parse-body.js";
import { startsConstantWord } from "./parse-constants.js";
import type { ParseContext } from "./parse-context.js";
import { parseConvention } from "./parse-function-header.js";
import { parseType, startsType } from "./parse-types.js";

interface CallSite {
  readonly operands: Value[];
  readonly data: CallData;
}

export function parseTailCall(b: BodyParser, tail: TailKind): Inst | null {
  b.p.expectWord("call");
  return parseCall(b, tail);
}

/** @returns null for calls to debug intrinsics, which are dropped */
export function parseCall(b: BodyParser, tail: TailKind): Inst | null {
  const flags = parseLegalFlags(b, Op.Call);
  const { operands, data } = parseCallSite(b, tail);
  const callee = operands[0]!;
  if (callee.valueKind === "global" && isDebugIntrinsic(callee.name)) return null;
  return makeInst(Op.Call, data.functionType.result, operands, data, [], flags);
}

export function parseInvoke(b: BodyParser): Inst {
  const { operands, data } = parseCallSite(b, "");
  b.p.expectWord("to");
  const normal = b.label();
  b.p.expectWord("unwind");
  return makeInst(Op.Invoke, data.functionType.result, operands, data, [normal, b.label()]);
}

export function parseCallBr(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const { operands, data } = parseCallSite(b, "");
  p.expectWord("to");
  const blocks: Block[] = [b.label()];
  p.expect(Tok.OpenSquare, "'['");
  if (p.kind() !== Tok.CloseSquare)
    do blocks.push(b.label());
    while (p.take(Tok.Comma));
  p.expect(Tok.CloseSquare, "']'");
  return makeInst(Op.CallBr, data.functionType.result, operands, data, blocks);
}

function parseCallSite(b: BodyParser, tail: TailKind): CallSite {
  const p: ParseContext = b.p;
  const callingConvention = parseConvention(p);
  const result = parseValueAttributes(p, startsTypeOrSpace);
  if (p.takeWord("addrspace")) p.parenthesised("an address space");
  const typeAt = p.pos;
  const written = parseType(p);
  const callee = parseCallee(b);
  const operands: Value[] = [placeholder];
  const parameters: AttributeSet[] = [];
  const types: Type[] = [];
  parseArguments(b, operands, parameters, types);
  const type = written.kind === "function" ? written : callType(callee, written, types);
  if (type.result.kind === "function" || type.result.kind === "label" || type.result.kind === "metadata")
    p.fail(`a call cannot result in type '${type.result.kind}'`, typeAt);
  operands[0] = typeof callee === "function" ? callee(type) : callee;
  const argumentCount = types.length;
  const fn = parseFunctionAttributes(b);
  const bundles = parseBundles(b, operands);
  const attributes =
    fn === noAttributes && result === noAttributes && parameters.every((set) => set === noAttributes)
      ? noAttributeList
      : new AttributeList(fn, result, parameters);
  return {
    operands,
    data: { functionType: type, callingConvention, attributes, tail, argumentCount, bundles },
  };
}

/** The function type of a call; most often its callee has it already. */
function callType(callee: Value | ((type: Type) => Value), result: Type, types: readonly Type[]): Type {
  if (typeof callee !== "function" && callee.valueKind === "global" && callee.kind === "function") {
    const { elements, isVarArg } = callee.valueType;
    if (!isVarArg && elements[0] === result && elements.length === types.length + 1) {
      let i = 0;
      while (i < types.length && elements[i + 1] === types[i]) i++;
      if (i === types.length) return callee.valueType;
    }
  }
  return functionType(result, types);
}

/** Holds the callee's place until the type of the call is known. */
const placeholder: Value = new ConstZero(ptr);

const startsTypeOrSpace = (p: ParseContext): boolean => startsType(p) || p.isWord("addrspace");

/** The callee, or a function that makes it from the type of the call. */
function parseCallee(b: BodyParser): Value | ((type: Type) => Value) {
  const p: ParseContext = b.p;
  if (p.takeWord("asm")) {
    const sideEffects = p.takeWord("sideeffect");
    const alignStack = p.takeWord("alignstack");
    const intel = p.takeWord("inteldialect");
    const canUnwind = p.takeWord("unwind");
    const template = p.string("assembly text");
    b.comma();
    const constraints = p.string("assembly constraints");
    return (type) => new InlineAsm(type, template, constraints, sideEffects, alignStack, intel, canUnwind);
  }
  if (p.kind() !== Tok.Global && p.kind() !== Tok.GlobalNumber) return b.operand(ptr);
  const key = p.globalKey();
  const known = p.globals.get(key);
  if (known === undefined ? !isReservedName(key) : !p.implicit.includes(known)) return p.global();
  // Newer text does not declare the intrinsics it calls. The names of overloads may leave out the types then,
  // which this parser could not add.
  const at = p.pos;
  p.next();
  return (type) => {
    if (known !== undefined) {
      if (known.valueType !== type) p.unsupported(`overloads of '@${key}' without declarations`, at);
      return known;
    }
    const fn = new Func(key, type);
    p.globals.set(key, fn);
    if (!isDebugIntrinsic(key)) p.implicit.push(fn);
    return fn;
  };
}

function parseArguments(b: BodyParser, operands: Value[], parameters: AttributeSet[], types: Type[]): void {
  const p: ParseContext = b.p;
  p.expect(Tok.OpenParen, "'('");
  if (p.kind() !== Tok.CloseParen)
    do {
      // A musttail call of a variadic function passes on the caller's: `...`.
      if (p.take(Tok.Dots)) break;
      const at = p.pos;
      const type = parseType(p);
      if (type.kind === "void" || type.kind === "function" || type.kind === "label")
        p.fail(`an argument cannot have type '${type.kind}'`, at);
      types.push(type);
      parameters.push(type.kind === "metadata" ? noAttributes : parseValueAttributes(p, startsValue));
      operands.push(b.operand(type));
    } while (p.take(Tok.Comma));
  p.expect(Tok.CloseParen, "')'");
}

const startsValue = (p: ParseContext): boolean => startsConstantWord(p.text());

/** Reads attributes up to what can only be something else; see the header of the file. */
function parseFunctionAttributes(b: BodyParser): AttributeSet {
  const p: ParseContext = b.p;
  const builder = new AttributeBuilder();
  for (;;) {
    if (p.kind() === Tok.AttributeGroup) builder.addAll(parseGroupReference(p));
    else if (p.kind() === Tok.Text) parseAttribute(p, builder, true);
    else if (p.kind() === Tok.Word && startsAttribute(p)) parseAttribute(p, builder, true);
    else return builder.set();
  }
}

function startsAttribute(p: ParseContext): boolean {
  const word = p.text();
  if (isInstructionWord(word) || word === "to" || word === "uselistorder") return false;
  return attributeForms.has(word) || !p.startsLine();
}

function parseBundles(b: BodyParser, operands: Value[]): OperandBundle[] {
  const p: ParseContext = b.p;
  const bundles: OperandBundle[] = [];
  if (p.kind() !== Tok.OpenSquare) return bundles;
  p.next();
  do {
    const tag = p.string("a bundle tag");
    p.expect(Tok.OpenParen, "'('");
    const before = operands.length;
    if (p.kind() !== Tok.CloseParen)
      do operands.push(b.typedOperand());
      while (p.take(Tok.Comma));
    p.expect(Tok.CloseParen, "')'");
    bundles.push({ tag, inputs: operands.length - before });
  } while (p.take(Tok.Comma));
  p.expect(Tok.CloseSquare, "']'");
  return bundles;
}
