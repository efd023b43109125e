/** Instructions from text (LLVM Language Reference, "Instruction Reference"), other than memory and calls. */
import {
  type Block,
  type Inst,
  type IntPredicate,
  type LandingPadData,
  makeInst,
  Op,
} from "../../lto/ir/instructions.js";
import { i1, type Type, vectorType, voidType } from "../../lto/ir/types.js";
import type { Constant, ConstInt, Value } from "../../lto/ir/values.js";
import { type InstructionWord, parseLegalFlags } from "./instruction-words.js";
import { binaryOps, castOps } from "./keywords.js";
import { Tok } from "./lexer.js";
import type { BodyParser } from "./parse-body.js";
import { parseCall, parseCallBr, parseInvoke, parseTailCall } from "./parse-calls.js";
import { parseConstant, parsePredicate } from "./parse-constants.js";
import type { ParseContext } from "./parse-context.js";
import {
  parseAlloca,
  parseAtomicRMW,
  parseCmpXchg,
  parseFence,
  parseGetElementPtr,
  parseLoad,
  parseStore,
} from "./parse-memory.js";
import { parseType, parseValueType } from "./parse-types.js";

const parsers: Readonly<Record<InstructionWord, (b: BodyParser) => Inst | null>> = {
  ret: parseRet,
  br: parseBr,
  switch: parseSwitch,
  indirectbr: parseIndirectBr,
  invoke: parseInvoke,
  callbr: parseCallBr,
  resume: (b: BodyParser) => makeInst(Op.Resume, voidType, [b.typedOperand()], null),
  unreachable: () => makeInst(Op.Unreachable, voidType, [], null),
  fneg: parseFNeg,
  alloca: parseAlloca,
  load: parseLoad,
  store: parseStore,
  fence: parseFence,
  cmpxchg: parseCmpXchg,
  atomicrmw: parseAtomicRMW,
  getelementptr: parseGetElementPtr,
  icmp: (b: BodyParser) => parseCompare(b, Op.ICmp),
  fcmp: (b: BodyParser) => parseCompare(b, Op.FCmp),
  phi: parsePhi,
  select: parseSelect,
  call: (b: BodyParser) => parseCall(b, ""),
  tail: (b: BodyParser) => parseTailCall(b, "tail"),
  musttail: (b: BodyParser) => parseTailCall(b, "musttail"),
  notail: (b: BodyParser) => parseTailCall(b, "notail"),
  va_arg: parseVAArg,
  extractelement: parseExtractElement,
  insertelement: parseInsertElement,
  shufflevector: parseShuffleVector,
  extractvalue: parseExtractValue,
  insertvalue: parseInsertValue,
  landingpad: parseLandingPad,
  freeze: parseFreeze,
};
const parserOf: ReadonlyMap<string, (b: BodyParser) => Inst | null> = new Map(Object.entries(parsers));

/**
 * Reads one instruction, after its `%name =`.
 * @returns null for a call that is dropped
 */
export function parseInstruction(b: BodyParser): Inst | null {
  const p: ParseContext = b.p;
  if (p.kind() !== Tok.Word) p.fail(`expected an instruction, found ${p.found()}`);
  const word = p.text();
  const binary = binaryOps.get(word);
  if (binary !== undefined) {
    p.next();
    return parseBinary(b, binary);
  }
  const cast = castOps.get(word);
  if (cast !== undefined) {
    p.next();
    return parseCast(b, cast);
  }
  const parse = parserOf.get(word);
  if (parse === undefined) p.unsupported(`instruction '${word.slice(0, 40)}'`);
  p.next();
  return parse(b);
}

function parseBinary(b: BodyParser, op: Op): Inst {
  const flags = parseLegalFlags(b, op);
  const type = parseType(b.p);
  const left = b.operand(type);
  b.comma();
  return makeInst(op as Op.Add, type, [left, b.operand(type)], null, [], flags);
}

function parseCast(b: BodyParser, op: Op): Inst {
  const flags = parseLegalFlags(b, op);
  const value = b.typedOperand();
  b.p.expectWord("to");
  return makeInst(op as Op.Trunc, parseValueType(b.p), [value], null, [], flags);
}

function parseFNeg(b: BodyParser): Inst {
  const flags = parseLegalFlags(b, Op.FNeg);
  const type = parseType(b.p);
  return makeInst(Op.FNeg, type, [b.operand(type)], null, [], flags);
}

function parseFreeze(b: BodyParser): Inst {
  const type = parseValueType(b.p);
  return makeInst(Op.Freeze, type, [b.operand(type)], null);
}

function parseCompare(b: BodyParser, op: Op.ICmp | Op.FCmp): Inst {
  const flags = parseLegalFlags(b, op);
  const predicate = parsePredicate(b.p, op);
  const type = parseValueType(b.p);
  const left = b.operand(type);
  b.comma();
  const result = type.isVector ? vectorType(type.count, i1) : i1;
  // parsePredicate has checked the word against the list of this op.
  return makeInst(op as Op.ICmp, result, [left, b.operand(type)], predicate as IntPredicate, [], flags);
}

function parseRet(b: BodyParser): Inst {
  // `ret void ()* null` of old text returns a pointer.
  const next = b.p.peek(1);
  if (next !== Tok.OpenParen && next !== Tok.Star && b.p.takeWord("void"))
    return makeInst(Op.Ret, voidType, [], null);
  return makeInst(Op.Ret, voidType, [b.typedOperand()], null);
}

function parseBr(b: BodyParser): Inst {
  if (b.p.isWord("label")) return makeInst(Op.Br, voidType, [], null, [b.label()]);
  const condition = b.typedOperand();
  b.comma();
  const ifTrue = b.label();
  b.comma();
  return makeInst(Op.CondBr, voidType, [condition], null, [ifTrue, b.label()]);
}

function parseSwitch(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const value = b.typedOperand();
  b.comma();
  const blocks = [b.label()];
  const cases: ConstInt[] = [];
  p.expect(Tok.OpenSquare, "'['");
  while (!p.take(Tok.CloseSquare)) {
    const at = p.pos;
    const type = parseType(p);
    const constant = parseConstant(p, type);
    if (constant.valueKind !== "int" || type !== value.type)
      p.fail("switch case is not an integer of the type of the condition", at);
    cases.push(constant);
    b.comma();
    blocks.push(b.label());
  }
  return makeInst(Op.Switch, voidType, [value], cases, blocks);
}

function parseIndirectBr(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const address = b.typedOperand();
  b.comma();
  p.expect(Tok.OpenSquare, "'['");
  const blocks: Block[] = [];
  if (p.kind() !== Tok.CloseSquare)
    do blocks.push(b.label());
    while (p.take(Tok.Comma));
  p.expect(Tok.CloseSquare, "']'");
  return makeInst(Op.IndirectBr, voidType, [address], null, blocks);
}

function parsePhi(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const flags = parseLegalFlags(b, Op.Phi);
  const type = parseType(p);
  if (type.kind === "void" || type.kind === "function" || type.kind === "label" || type.kind === "metadata")
    p.fail(`a value cannot have type '${type.kind}'`, p.pos - 1);
  const values: Value[] = [];
  const blocks: Block[] = [];
  // LLVM accepts a phi without incoming values; it can only stand in an unreachable block.
  if (p.kind() === Tok.OpenSquare)
    do {
      p.expect(Tok.OpenSquare, "'['");
      values.push(b.operand(type));
      b.comma();
      blocks.push(b.block());
      p.expect(Tok.CloseSquare, "']'");
    } while (p.takeComma());
  return makeInst(Op.Phi, type, values, null, blocks, flags);
}

function parseSelect(b: BodyParser): Inst {
  const flags = parseLegalFlags(b, Op.Select);
  const condition = b.typedOperand();
  b.comma();
  const ifTrue = b.typedOperand();
  b.comma();
  return makeInst(Op.Select, ifTrue.type, [condition, ifTrue, b.typedOperand()], null, [], flags);
}

function parseVAArg(b: BodyParser): Inst {
  const list = b.typedOperand();
  b.comma();
  return makeInst(Op.VAArg, parseValueType(b.p), [list], null);
}

/** An operand that must be a vector. */
function vectorOperand(b: BodyParser): Value {
  const at = b.p.pos;
  const value = b.typedOperand();
  if (!value.type.isVector) b.p.fail(`expected a vector, found type '${value.type.kind}'`, at);
  return value;
}

function parseExtractElement(b: BodyParser): Inst {
  const vector = vectorOperand(b);
  b.comma();
  return makeInst(Op.ExtractElement, vector.type.element, [vector, b.typedOperand()], null);
}

function parseInsertElement(b: BodyParser): Inst {
  const vector = vectorOperand(b);
  b.comma();
  const element = b.typedOperand();
  b.comma();
  return makeInst(Op.InsertElement, vector.type, [vector, element, b.typedOperand()], null);
}

function parseShuffleVector(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const left = vectorOperand(b);
  b.comma();
  const right = vectorOperand(b);
  b.comma();
  const at = p.pos;
  const type = parseType(p);
  if (!type.isVector || !type.element.isInt(32)) p.fail("shufflevector mask is not a vector of i32", at);
  const mask = maskLanes(parseConstant(p, type), type.count);
  if (mask === null) p.fail("malformed shufflevector mask", at);
  return makeInst(Op.ShuffleVector, vectorType(type.count, left.type.element), [left, right], mask);
}

/** Lane numbers of a mask constant, -1 for poison; null if it is anything else. */
function maskLanes(mask: Constant, count: number): number[] | null {
  switch (mask.valueKind) {
    case "zero":
      return new Array<number>(count).fill(0);
    case "undef":
      return new Array<number>(count).fill(-1);
    case "data": {
      const { buffer, byteOffset } = mask.bytes;
      const view = new DataView(buffer, byteOffset);
      return Array.from({ length: count }, (_, i) => view.getInt32(4 * i, true));
    }
    case "aggregate": {
      const lanes: number[] = [];
      for (const lane of mask.elements) {
        if (lane.valueKind !== "int" && lane.valueKind !== "undef") return null;
        lanes.push(lane.valueKind === "int" ? lane.num : -1);
      }
      return lanes;
    }
    default:
      return null;
  }
}

/** The `, 0, 1, …` of extractvalue and insertvalue, and the type they lead to. */
function parseIndices(b: BodyParser, aggregate: Type): [number[], Type] {
  const p: ParseContext = b.p;
  const indices: number[] = [];
  let type = aggregate;
  while (p.takeComma()) {
    const index = p.integer("an index", 0xffffffff);
    const count = type.kind === "struct" ? type.elements.length : type.kind === "array" ? type.count : 0;
    if (index >= count) p.fail(`index ${index} is out of range`, p.pos - 1);
    indices.push(index);
    type = type.kind === "struct" ? type.elements[index]! : type.element;
  }
  if (indices.length === 0) p.fail(`expected an index, found ${p.found()}`);
  return [indices, type];
}

function parseExtractValue(b: BodyParser): Inst {
  const aggregate = b.typedOperand();
  const [indices, type] = parseIndices(b, aggregate.type);
  return makeInst(Op.ExtractValue, type, [aggregate], indices);
}

function parseInsertValue(b: BodyParser): Inst {
  const aggregate = b.typedOperand();
  b.comma();
  const at = b.p.pos;
  const element = b.typedOperand();
  const [indices, type] = parseIndices(b, aggregate.type);
  if (element.type !== type) b.p.fail("inserted value does not have the type of its place", at);
  return makeInst(Op.InsertValue, aggregate.type, [aggregate, element], indices);
}

function parseLandingPad(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  if (p.isWord("token")) p.unsupported("landingpad of type token");
  const type = parseValueType(p);
  const cleanup = p.takeWord("cleanup");
  const clauses: LandingPadData["clauses"][number][] = [];
  const operands: Value[] = [];
  for (;;) {
    if (p.takeWord("catch")) clauses.push("catch");
    else if (p.takeWord("filter")) clauses.push("filter");
    else break;
    operands.push(b.typedOperand());
  }
  return makeInst(Op.LandingPad, type, operands, { cleanup, clauses });
}
