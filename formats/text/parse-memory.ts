/** Memory instructions from text (LLVM Language Reference, "Memory Access and Addressing Operations"). */
import {
  Flag,
  type Inst,
  type MemoryData,
  makeInst,
  Op,
  type Ordering,
  type RMWOp,
} from "../../lto/ir/instructions.js";
import { i1, pointerType, structType, type Type, voidType } from "../../lto/ir/types.js";
import { constI32, type Value } from "../../lto/ir/values.js";
import { legalFlags } from "../../lto/verify/flags.js";
import { Tok } from "./lexer.js";
import type { BodyParser } from "./parse-body.js";
import { gepType, parseFlags, skipInRange } from "./parse-constants.js";
import type { ParseContext } from "./parse-context.js";
import { parseValueType, startsType } from "./parse-types.js";

const orderings = new Set(["unordered", "monotonic", "acquire", "release", "acq_rel", "seq_cst"]);
const rmwOps = new Set(
  (
    "xchg add sub and nand or xor max min umax umin fadd fsub fmax fmin uinc_wrap udec_wrap " +
    "usub_cond usub_sat fmaximum fminimum"
  ).split(" "),
);

/** `[syncscope("…")] ordering`. */
function parseOrdering(p: ParseContext): { scope: string; ordering: Ordering } {
  let scope = "";
  if (p.takeWord("syncscope")) {
    p.expect(Tok.OpenParen, "'('");
    scope = p.string("a synchronization scope");
    p.expect(Tok.CloseParen, "')'");
  }
  return { scope, ordering: parseOrderingWord(p) };
}

function parseOrderingWord(p: ParseContext): Ordering {
  const word = p.kind() === Tok.Word ? p.text() : "";
  if (!orderings.has(word)) p.fail(`expected an atomic ordering, found ${p.found()}`);
  p.next();
  return word as Ordering;
}

/** The `, align N` that may be missing. */
const parseAlign = (p: ParseContext, otherwise: () => number): number =>
  p.takeClause("align") ? p.alignment() : otherwise();

/** What follows the operands of a load or store. */
function parseAccess(b: BodyParser, atomic: boolean, type: Type): MemoryData {
  const p: ParseContext = b.p;
  const { scope, ordering } = atomic ? parseOrdering(p) : { scope: "", ordering: "not_atomic" as const };
  const align = parseAlign(p, () => p.dataLayout.abiAlign(type));
  return { align, ordering, scope };
}

export function parseLoad(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const atomic = p.takeWord("atomic");
  const flags = p.takeWord("volatile") ? Flag.Volatile : 0;
  const type = parseValueType(p);
  b.comma();
  const pointer = b.typedOperand();
  return makeInst(Op.Load, type, [pointer], parseAccess(b, atomic, type), [], flags);
}

export function parseStore(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const atomic = p.takeWord("atomic");
  const flags = p.takeWord("volatile") ? Flag.Volatile : 0;
  const value = b.operand(parseValueType(p));
  b.comma();
  const pointer = b.typedOperand();
  return makeInst(Op.Store, voidType, [value, pointer], parseAccess(b, atomic, value.type), [], flags);
}

export function parseFence(b: BodyParser): Inst {
  return makeInst(Op.Fence, voidType, [], { align: 1, ...parseOrdering(b.p) });
}

/** The smallest power of two that holds the type: atomic operations are naturally aligned. */
function naturalAlign(p: ParseContext, type: Type): number {
  const size = p.dataLayout.storeSize(type);
  let align = 1;
  while (align < size && align < 4096) align *= 2;
  return align;
}

export function parseCmpXchg(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const weak = p.takeWord("weak");
  const flags = p.takeWord("volatile") ? Flag.Volatile : 0;
  const pointer = b.typedOperand();
  b.comma();
  const expected = b.operand(parseValueType(p));
  b.comma();
  const replacement = b.operand(parseValueType(p));
  const { scope, ordering } = parseOrdering(p);
  const failureOrdering = parseOrderingWord(p);
  const { type } = expected;
  const align = parseAlign(p, () => naturalAlign(p, type));
  const data = { align, ordering, scope, failureOrdering, weak };
  return makeInst(Op.CmpXchg, structType([type, i1]), [pointer, expected, replacement], data, [], flags);
}

export function parseAtomicRMW(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const flags = p.takeWord("volatile") ? Flag.Volatile : 0;
  const rmw = p.kind() === Tok.Word ? p.text() : "";
  if (!rmwOps.has(rmw)) p.fail(`unknown atomicrmw operation ${p.found()}`);
  p.next();
  const pointer = b.typedOperand();
  b.comma();
  const value = b.operand(parseValueType(p));
  const { scope, ordering } = parseOrdering(p);
  const align = parseAlign(p, () => naturalAlign(p, value.type));
  const data = { align, ordering, scope, rmw: rmw as RMWOp };
  return makeInst(Op.AtomicRMW, value.type, [pointer, value], data, [], flags);
}

export function parseAlloca(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const inalloca = p.takeWord("inalloca");
  const swifterror = p.takeWord("swifterror");
  const allocatedType = parseValueType(p);
  let count: Value = constI32(1);
  let align = 0;
  let space = 0;
  while (p.takeComma()) {
    if (p.takeWord("align")) align = p.alignment();
    else if (p.takeWord("addrspace")) space = p.parenthesised("an address space");
    else if (startsType(p)) count = b.typedOperand();
    else p.fail(`expected a property of the alloca, found ${p.found()}`);
  }
  if (align === 0) align = p.dataLayout.abiAlign(allocatedType);
  return makeInst(Op.Alloca, pointerType(space), [count], { allocatedType, align, inalloca, swifterror });
}

export function parseGetElementPtr(b: BodyParser): Inst {
  const p: ParseContext = b.p;
  const at = p.pos;
  const flags = parseFlags(p);
  if ((flags & ~legalFlags(Op.GetElementPtr)) !== 0) p.fail("a flag that the instruction cannot have", at);
  skipInRange(p);
  const elementType = parseValueType(p);
  const operands: Value[] = [];
  while (p.takeComma()) operands.push(b.typedOperand());
  if (operands.length === 0) p.fail(`expected ',', found ${p.found()}`);
  return makeInst(Op.GetElementPtr, gepType(p, operands, at), operands, { elementType }, [], flags);
}
