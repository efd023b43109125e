/** Terminators, phis and landing pads of function blocks. The record layouts are given at each function. */
import { UnsupportedError } from "../../../lto/ir/errors.js";
import { type Block, type Inst, makeInst, Op } from "../../../lto/ir/instructions.js";
import { i1, type Type, voidType } from "../../../lto/ir/types.js";
import type { ConstInt, Value } from "../../../lto/ir/values.js";
import { fastMathFlags } from "./flags.js";
import type { FunctionReader } from "./function.js";

/** [value?] */
export function readRet(r: FunctionReader): Inst {
  const result = r.fn.valueType.result;
  if (r.left === 0) {
    if (result.kind !== "void") throw r.malformed("ret without a value");
    return makeInst(Op.Ret, voidType, [], null);
  }
  const value = r.pair();
  if (value.type !== result || r.left !== 0) throw r.malformed("ret");
  return makeInst(Op.Ret, voidType, [value], null);
}

/** [target], or [if true, if false, condition] */
export function readBr(r: FunctionReader): Inst {
  const target = r.block();
  if (r.left === 0) return makeInst(Op.Br, voidType, [], null, [target]);
  const otherwise = r.block();
  const condition = r.value(i1);
  if (r.left !== 0) throw r.malformed("br");
  return makeInst(Op.CondBr, voidType, [condition], null, [target, otherwise]);
}

/** Marks a form with ranges of cases, which no release of LLVM wrote by default. */
const rangesMagic = 0x4b5;

/** [type, value, default, (case, target)…]; the cases are absolute ids of constants. */
export function readSwitch(r: FunctionReader): Inst {
  const typeId = r.take();
  if (typeId >>> 16 === rangesMagic) throw new UnsupportedError("switch with ranges of cases");
  const type = r.types.get(typeId);
  if (type.kind !== "int") throw r.malformed("switch");
  const value = r.value(type);
  const blocks = [r.block()];
  const cases: ConstInt[] = [];
  while (r.left > 0) {
    const constant = r.absolute(type);
    if (constant.valueKind !== "int") throw r.malformed("case of a switch");
    cases.push(constant);
    blocks.push(r.block());
  }
  checkDistinct(cases, r);
  return makeInst(Op.Switch, voidType, [value], cases.slice(), blocks.slice());
}

function checkDistinct(cases: readonly ConstInt[], r: FunctionReader): void {
  const seen = new Set<bigint>();
  for (const { value } of cases) seen.add(value);
  if (seen.size !== cases.length) throw r.malformed("switch with a case twice");
}

/** [type, address, destination…] */
export function readIndirectBr(r: FunctionReader): Inst {
  const type = r.type();
  if (type.kind !== "ptr") throw r.malformed("indirectbr");
  const address = r.value(type);
  const blocks: Block[] = [];
  while (r.left > 0) blocks.push(r.block());
  return makeInst(Op.IndirectBr, voidType, [address], null, blocks.slice());
}

/** [value] */
export function readResume(r: FunctionReader): Inst {
  return makeInst(Op.Resume, voidType, [r.sizedPair()], null);
}

export function readUnreachable(): Inst {
  return makeInst(Op.Unreachable, voidType, [], null);
}

/** [type, (value, block)…, fast-math flags?]; values are signed distances. */
export function readPhi(r: FunctionReader): Inst {
  const type = r.sizedType();
  const operands: Value[] = [];
  const blocks: Block[] = [];
  while (r.left > 1) {
    operands.push(r.signedValue(type));
    blocks.push(r.block());
  }
  let flags = 0;
  if (r.left === 1) {
    if (!mayBeFast(type)) throw r.malformed("phi");
    flags = fastMathFlags(r.take());
  }
  return makeInst(Op.Phi, type, operands.slice(), null, blocks.slice(), flags);
}

/** Fast-math flags apply to floats, their vectors, and arrays and structures of them. */
function mayBeFast(type: Type): boolean {
  return type.scalar.isFloat || type.kind === "array" || type.kind === "struct";
}

/** [type, cleanup, number, (0 catch or 1 filter, value)…]; older: [type, personality, cleanup, …]. */
export function readLandingPad(r: FunctionReader, old: boolean): Inst {
  const type = r.sizedType();
  if (old) {
    const personality = r.constantPair();
    r.fn.personality ??= personality;
  }
  const cleanup = r.take() !== 0;
  const count = r.take();
  const operands: Value[] = [];
  const clauses: ("catch" | "filter")[] = [];
  for (let i = 0; i < count; i++) {
    const filter = r.take() !== 0;
    const clause = r.constantPair();
    if (filter ? clause.type.kind !== "array" : clause.type.kind !== "ptr")
      throw r.malformed("clause of a landingpad");
    clauses.push(filter ? "filter" : "catch");
    operands.push(clause);
  }
  if (r.left !== 0) throw r.malformed("landingpad");
  return makeInst(Op.LandingPad, type, operands, { cleanup, clauses });
}
