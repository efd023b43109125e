/**
 * Rewrites a body whose scan found something illegal.
 *
 * Blocks are visited in reverse postorder, so that every definition outside phis is rewritten before its
 * uses; kept instructions only get their operands replaced. Phis get their parts at once and their operands
 * at the end, when all values exist. Linear, plus what the expansions emit.
 * Breaks if: blocks that nothing reaches have more than a terminator without operands, or phis name them.
 */

import { renamePhiEntries } from "../../ir/cfg-edit.js";
import { type Block, type Body, type CastOp, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { raw } from "../../ir/raw.js";
import { i8, i64, voidType } from "../../ir/types.js";
import { type ConstInt, constI64, constInt, type Value, zeroOf } from "../../ir/values.js";
import { fromAbi } from "./abi-parts.js";
import { lowerAtomicRMW, lowerCmpXchg } from "./atomics.js";
import { lowerCall, lowerCallBr, lowerInvoke, lowerLandingPad, lowerRet } from "./calls.js";
import { legalizeRecords } from "./debug.js";
import { zeroExtended } from "./extension.js";
import { floatNeg } from "./floats.js";
import { intCompare, intConstant, selectParts } from "./integers.js";
import { lowerIntrinsic } from "./intrinsics.js";
import { isLegalType } from "./legal-types.js";
import { isLegalInst } from "./legality.js";
import { type Lowering, type Parts, pinned } from "./lowering.js";
import { lowerAlloca, lowerGep, lowerLoad, lowerStore } from "./memory.js";
import { scalarBinary, scalarCast, scalarCompare } from "./scalars.js";

/**
 * Legalises all blocks of the function that `l` was made for. The body is numbered.
 * @param passed what stands for each argument, when the signature changes
 */
export function rewriteBody(l: Lowering, passed: readonly Parts[] | null): void {
  l.lowerInst = (inst) => lowerInst(l, inst);
  const body = l.body;
  const originals = body.blocks.slice();
  const order = reversePostorder(originals);
  const phis: Inst[] = [];
  const onEntry = receiveArguments(l, originals[0]!, passed);
  for (const block of order) rewriteBlock(l, block, phis);
  fillPhis(l, phis);
  if (body.hasDebug) legalizeRecords(l);
  repairEdges(l, originals);
  if (l.allocas.length > 0 || onEntry.length > 0) {
    const entry = originals[0]!;
    for (const slot of l.allocas) slot.parent = entry;
    raw(entry).insts = [...l.allocas, ...onEntry, ...entry.insts];
  }
}

/** Turns passed values into parts; the instructions that takes, for the start of the entry block. */
function receiveArguments(l: Lowering, entry: Block, passed: readonly Parts[] | null): readonly Inst[] {
  if (passed === null) return [];
  l.block = entry;
  l.out = [];
  l.argumentParts = passed.map((own, i) => fromAbi(l, l.fn.args[i]!.type, own));
  return l.out;
}

function reversePostorder(blocks: readonly Block[]): Block[] {
  const reached = new Uint8Array(blocks.length);
  const postorder: Block[] = [];
  const stack: Block[] = [blocks[0]!];
  const next: number[] = [0];
  reached[0] = 1;
  while (stack.length > 0) {
    const block = stack[stack.length - 1]!;
    const successors = block.successors;
    const at = next[next.length - 1]!;
    if (at === successors.length) {
      postorder.push(block);
      stack.pop();
      next.pop();
      continue;
    }
    next[next.length - 1] = at + 1;
    const successor = successors[at]!;
    if (reached[successor.id] === 0) {
      reached[successor.id] = 1;
      stack.push(successor);
      next.push(0);
    }
  }
  return postorder.reverse();
}

function rewriteBlock(l: Lowering, block: Block, phis: Inst[]): void {
  const insts = block.insts;
  l.block = block;
  l.out = [];
  for (let i = 0; i < insts.length; i++) {
    const inst = insts[i]!;
    l.origin = inst.origin;
    if (inst.op === Op.Phi) {
      beginPhi(l, inst, phis);
      continue;
    }
    if (isLegalInst(inst, l.vectors)) {
      remap(l, inst);
      l.push(inst);
      continue;
    }
    if (inst.debug !== null) {
      l.records = [...(l.records ?? []), ...inst.debug];
      inst.debug = null;
    }
    const parts = lowerInst(l, inst);
    if (inst.type.kind !== "void") l.lowered[inst.id] = parts;
  }
  raw(l.block).insts = l.out;
  if (l.block !== block) l.tails.set(block, l.block);
}

/** Replaces operands that were rewritten. All are of legal type, so each has one part. */
function remap(l: Lowering, inst: Inst): void {
  const { operands } = raw(inst);
  for (let i = 0; i < operands.length; i++) {
    const operand = operands[i]!;
    if (operand.valueKind === "inst") {
      const parts = l.lowered[operand.id];
      if (parts !== undefined) operands[i] = parts[0]!;
    } else if (operand.valueKind === "argument" && l.argumentParts !== null)
      operands[i] = l.argumentParts[operand.index]![0]!;
  }
}

function beginPhi(l: Lowering, phi: Inst, phis: Inst[]): void {
  if (phi.type.kind === "token") {
    l.push(phi);
    return;
  }
  phis.push(phi);
  if (isLegalType(phi.type, l.vectors)) {
    l.push(phi);
    return;
  }
  l.lowered[phi.id] = l.partTypes(phi.type).map((t) => l.push(makeInst(Op.Phi, t, [], null, [], phi.flags)));
}

/** Gives phis their operands; constants that need computing are computed where the edge starts. */
function fillPhis(l: Lowering, phis: readonly Inst[]): void {
  for (const phi of phis) {
    const incoming = phi.operands.map((v, i) => incomingParts(l, v, phi.blocks[i]!));
    const own = l.lowered[phi.id];
    if (own === undefined) raw(phi).operands = incoming.map((parts) => parts[0]!);
    else
      own.forEach((part, p) => {
        const inst = part as Inst;
        raw(inst).operands = incoming.map((parts) => parts[p]!);
        raw(inst).blocks = phi.blocks.slice();
      });
  }
}

function incomingParts(l: Lowering, value: Value, from: Block): Parts {
  if (value.valueKind === "inst" || value.valueKind === "argument") return l.parts(value);
  const block = l.tails.get(from) ?? from;
  l.block = block;
  l.out = [];
  const parts = l.parts(value);
  if (l.out.length > 0) {
    const terminator = raw(block).insts.pop()!;
    for (const inst of l.out) raw(block).insts.push(inst);
    raw(block).insts.push(terminator);
  }
  return parts;
}

/** Makes the phis of successors name the blocks their edges now come from. */
function repairEdges(l: Lowering, originals: readonly Block[]): void {
  for (const { from, to } of l.removedEdges) removePredecessor(to, from);
  if (l.tails.size === 0 && l.edges.length === 0) return;
  for (const { from, to, via } of l.edges) renamePhiEntries(to, from, via);
  for (const block of originals) {
    const tail = l.tails.get(block);
    if (tail === undefined) continue;
    for (const successor of tail.successors) renamePhiEntries(successor, block, tail);
  }
}

function removePredecessor(block: Block, from: Block): void {
  for (const inst of block.insts) {
    if (inst.op !== Op.Phi) break;
    const at = inst.blocks.indexOf(from);
    raw(inst).operands.splice(at, 1);
    raw(inst).blocks.splice(at, 1);
  }
}

/** Lowers one instruction at the current place; its parts. */
function lowerInst(l: Lowering, inst: Inst): Parts {
  if (touchesVector(inst) && !isPartwise(inst)) return l.vectors.lower(l, inst);
  const operands = inst.operands;
  switch (inst.op) {
    case Op.Ret:
      return lowerRet(l, inst);
    case Op.Switch:
      return lowerSwitch(l, inst.operands[0]!, inst.data, inst.blocks);
    case Op.Resume: {
      l.push(makeInst(Op.Resume, voidType, [...l.parts(operands[0]!)], null));
      return [];
    }
    case Op.FNeg:
      return floatNeg(l, inst.type, l.parts(operands[0]!), inst.flags);
    case Op.Add:
    case Op.FAdd:
    case Op.Sub:
    case Op.FSub:
    case Op.Mul:
    case Op.FMul:
    case Op.UDiv:
    case Op.SDiv:
    case Op.FDiv:
    case Op.URem:
    case Op.SRem:
    case Op.FRem:
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
    case Op.And:
    case Op.Or:
    case Op.Xor:
      return scalarBinary(l, inst.op, inst.type, pin(l, operands[0]!), pin(l, operands[1]!), inst.flags);
    case Op.Alloca:
      return lowerAlloca(l, inst);
    case Op.Load:
      return lowerLoad(l, inst);
    case Op.Store:
      return lowerStore(l, inst);
    case Op.CmpXchg:
      return lowerCmpXchg(l, inst);
    case Op.AtomicRMW:
      return lowerAtomicRMW(l, inst);
    case Op.GetElementPtr:
      return lowerGep(l, inst);
    case Op.Trunc:
    case Op.ZExt:
    case Op.SExt:
    case Op.FPTrunc:
    case Op.FPExt:
    case Op.FPToUI:
    case Op.FPToSI:
    case Op.UIToFP:
    case Op.SIToFP:
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.BitCast:
    case Op.AddrSpaceCast:
      return lowerCast(l, inst.op, inst);
    case Op.ICmp:
    case Op.FCmp:
      return [scalarCompare(l, inst.data, operands[0]!.type, pin(l, operands[0]!), pin(l, operands[1]!))];
    case Op.Select: {
      const condition = l.value(operands[0]!);
      return selectParts(l, condition, l.parts(operands[1]!), l.parts(operands[2]!));
    }
    case Op.Freeze:
      // An extended value has one place in memory, which is as fixed as a frozen value.
      return l
        .parts(operands[0]!)
        .map((p) =>
          p.type.kind !== "x86_fp80" ? l.freeze(p) : p.valueKind === "undef" ? zeroOf(p.type) : p,
        );
    case Op.Call: {
      const intrinsic = intrinsicOf(operands[0]!);
      if (intrinsic !== null) return lowerIntrinsic(l, inst, intrinsic);
      return lowerCall(l, inst);
    }
    case Op.Invoke: {
      const intrinsic = intrinsicOf(operands[0]!);
      if (intrinsic === null) return lowerInvoke(l, inst);
      // No intrinsic that is lowered here unwinds: the edge to the landing pad goes.
      const call = makeInst(Op.Call, inst.type, [...operands], inst.data, [], inst.flags);
      const parts = lowerIntrinsic(l, call, intrinsic);
      l.jump(inst.blocks[0]!);
      l.removedEdges.push({ from: inst.parent!, to: inst.blocks[1]! });
      return parts;
    }
    case Op.CallBr:
      return lowerCallBr(l, inst);
    case Op.VAArg:
      return l.target.vaArg(l, inst);
    case Op.ExtractValue: {
      const range = memberRange(l, operands[0]!, inst.data);
      return l.parts(operands[0]!).slice(range[0], range[1]);
    }
    case Op.InsertValue: {
      const range = memberRange(l, operands[0]!, inst.data);
      const parts = [...l.parts(operands[0]!)];
      parts.splice(range[0], range[1] - range[0], ...l.parts(operands[1]!));
      return parts;
    }
    case Op.LandingPad:
      return lowerLandingPad(l, inst);
    case Op.CondBr:
    case Op.IndirectBr: {
      l.push(makeInst(inst.op, voidType, [l.value(operands[0]!)], null, [...inst.blocks]));
      return [];
    }
    default:
      throw new Error(`legalize: no lowering for opcode ${inst.op} of type ${inst.type}`);
  }
}

/** Parts with undefined constants fixed to zero, since an expansion may read them more than once. */
function pin(l: Lowering, value: Value): Parts {
  return pinned(l.parts(value), zeroOf);
}

function touchesVector(inst: Inst): boolean {
  if (inst.type.kind === "vector") return true;
  for (const operand of inst.operands) if (operand.type.kind === "vector") return true;
  return false;
}

/** Done part by part or by its memory layout, whatever the types. */
function isPartwise(inst: Inst): boolean {
  switch (inst.op) {
    case Op.Ret:
    case Op.Load:
    case Op.Store:
    case Op.Freeze:
    case Op.Call:
    case Op.Invoke:
    case Op.CallBr:
    case Op.ExtractValue:
    case Op.InsertValue:
    case Op.GetElementPtr:
    case Op.AtomicRMW:
    case Op.VAArg:
      return true;
    case Op.Select:
      return inst.operands[0]!.type.kind === "int";
    case Op.BitCast:
      return true;
    default:
      return false;
  }
}

function lowerCast(l: Lowering, op: CastOp, inst: Inst): Parts {
  return scalarCast(l, op, inst.operands[0]!.type, inst.type, pin(l, inst.operands[0]!));
}

/** Where the parts of a member lie among those of its aggregate: [start, end). */
function memberRange(l: Lowering, aggregate: Value, path: readonly number[]): [number, number] {
  let type = aggregate.type;
  let start = 0;
  for (const index of path) {
    if (type.kind === "array") start += index * l.partTypes(type.element).length;
    else for (let i = 0; i < index; i++) start += l.partTypes(type.elements[i]!).length;
    type = type.kind === "array" ? type.element : type.elements[index]!;
  }
  return [start, start + l.partTypes(type).length];
}

/** Switch on other integers: extended to a legal width, or compared case by case. */
function lowerSwitch(l: Lowering, value: Value, cases: readonly ConstInt[], blocks: readonly Block[]): Parts {
  const width = value.type.bits;
  const parts = l.parts(value);
  if (width <= 64) {
    const type = width === 1 ? i8 : parts[0]!.type;
    const word = width === 1 ? l.cast(Op.ZExt, parts[0]!, i8) : zeroExtended(l, parts[0]!, width);
    const retyped = cases.map((c) => constInt(type, BigInt.asUintN(width, c.value)));
    l.push(makeInst(Op.Switch, voidType, [word], retyped, [...blocks]));
    return [];
  }
  // A chain of comparisons picks a case number, so that the block keeps one edge per target.
  let chosen: Value = constI64(0);
  cases.forEach((c, i) => {
    const isCase = intCompare(l, "eq", width, parts, intConstant(width, c.value));
    chosen = l.select(isCase, constInt(i64, i + 1), chosen);
  });
  const numbers = cases.map((_, i) => constInt(i64, i + 1));
  l.push(makeInst(Op.Switch, voidType, [chosen], numbers, [...blocks]));
  return [];
}

/** Whether anything in the function needs rewriting. */
export function needsRewriting(body: Body, l: { vectors: Lowering["vectors"] }): boolean {
  for (const block of body.blocks)
    for (const inst of block.insts) if (!isLegalInst(inst, l.vectors)) return true;
  return false;
}
