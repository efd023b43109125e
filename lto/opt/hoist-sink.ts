/**
 * hoist-sink: what both sides of a branch begin with is done before it, and what all ways to a place end with is done
 * there, once.
 *
 *     br i1 %c, label %t, label %f            %x = load i32, ptr %p
 *   t: %x = load i32, ptr %p                  br i1 %c, label %t, label %f
 *      …                               →    t: …
 *   f: %y = load i32, ptr %p                f: …
 *      …
 *   t: … call void @g(i32 1)  br %end       t: … br %end
 *   f: … call void @g(i32 %a) br %end  →    f: … br %end
 *   end:                                    end: %v = phi i32 [ 1, %t ], [ %a, %f ]
 *                                                call void @g(i32 %v)
 *
 * Why: compilers of single files leave that to the end of their pipelines, which links come before; and inlining makes
 * further copies.
 *
 * Method: instructions are compared in lock-step, forwards from the starts of successors with one edge each, and backwards
 * from the ends of predecessors that only jump. Operands that differ cost a phi; an instruction is sunk if that makes
 * no more phis than go with it, and one more for a store or two for a call; values that are sunk next need none. The
 * body is first only looked at. Linear in the instructions compared, all of which but the last of each block go.
 *
 * Proof obligations: what moves is executed on every way exactly as often and in the same order among what it passes,
 * which is nothing; it keeps the promises that all copies make; operands that have to be constants, callees and
 * addresses of local variables are no phis' operands.
 * Breaks if: two instructions count as the same that differ in data.
 */
import { jumpTo, phisOf, predecessors, setSuccessor } from "../ir/cfg-edit.js";
import type { Editor } from "../ir/editor.js";
import { mergeHints } from "../ir/hints.js";
import {
  Block,
  type BodyView,
  type CallInst,
  type Inst,
  isPlainAccess,
  isTerminator,
  makeInst,
  Op,
} from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import type { Origins } from "../ir/origins.js";
import { isConstant, sameConstant, type Value } from "../ir/values.js";
import type { FunctionPass } from "../pass/pass.js";

export const hoistSink: FunctionPass = {
  name: "hoist-sink",
  level: "function",
  description: "does once what all sides of a branch begin with, or all ways to a place end with",
  counters: {
    hoisted: "instructions hoisted, with their copies",
    sunk: "instructions sunk, with their copies",
  },
  requires: [],
  preserves: [],
  run(fn, context) {
    if (fn.attributes.fn.has("naked") || fn.attributes.fn.has("presplitcoroutine")) return false;
    if (!findsAnything(context.view())) return false;
    const editor = fn.edit();
    let hoisted = 0;
    let sunk = 0;
    const blocks = [...editor.body.blocks];
    // Inner branches first: what they hoist outer ones may.
    for (let b = blocks.length - 1; b >= 0; b--) hoisted += hoist(blocks[b]!, editor, context.origins);
    const isSmall = context.goal !== "speed";
    for (let b = 0; b < blocks.length; b++) sunk += sink(blocks[b]!, editor, isSmall, context.origins);
    editor.sweep();
    context.count("hoisted", hoisted);
    context.count("sunk", sunk);
    return true;
  },
};

/** Whether two instructions look as if one could stand for both. */
function findsAnything({ blocks }: BodyView): boolean {
  const edges = new Int32Array(blocks.length);
  for (let b = 0; b < blocks.length; b++) blocks[b]!.id = b;
  for (const block of blocks) for (const next of block.successors) edges[next.id]!++;
  const last: (Inst | null | undefined)[] = new Array(blocks.length);
  for (const block of blocks) {
    const { terminator } = block;
    if (terminator.op === Op.CondBr) {
      const [a, b] = terminator.blocks as [Block, Block];
      if (
        edges[a.id] === 1 &&
        edges[b.id] === 1 &&
        isMovable(a.insts[0]!) &&
        isAlike(a.insts[0]!, b.insts[0]!)
      )
        return true;
    } else if (terminator.op === Op.Br) {
      const end = block.insts.length > 1 ? block.insts[block.insts.length - 2]! : null;
      const to = terminator.blocks[0]!.id;
      const other = last[to];
      last[to] = end;
      if (other !== undefined && other !== null && end !== null && isMovable(end) && isAlike(end, other))
        return true;
    }
  }
  return false;
}

// Instructions that are the same but for operands.

function isMovable(inst: Inst): boolean {
  const { op } = inst;
  if (isTerminator(op) || inst.type.kind === "token") return false;
  switch (op) {
    case Op.Phi:
    case Op.Alloca:
    case Op.LandingPad:
    case Op.Fence:
    case Op.CmpXchg:
    case Op.AtomicRMW:
    case Op.VAArg:
      return false;
    case Op.Load:
    case Op.Store:
      return isPlainAccess(inst);
    case Op.Call:
      return isMovableCall(inst);
    default:
      return true;
  }
}

/** What a call must not be to be joined with another one. */
const fixed = ["convergent", "noduplicate", "nomerge", "returns_twice", "strictfp"];

function isMovableCall(call: CallInst): boolean {
  const callee = call.operands[0]!;
  if (callee.valueKind === "asm" || call.data.tail === "musttail" || call.data.bundles.length > 0)
    return false;
  const own = call.data.attributes.fn;
  const there = callee.valueKind === "global" && callee.kind === "function" ? callee.attributes.fn : null;
  if (fixed.some((name) => own.has(name) || there?.has(name) === true)) return false;
  for (let i = 1; i < call.operands.length; i++) {
    const { kind } = call.operands[i]!.type;
    if (kind === "metadata" || kind === "token") return false;
  }
  const intrinsic = intrinsicOf(callee);
  // Marks and state stay where they are.
  return (
    intrinsic === null ||
    intrinsic.pure ||
    intrinsic.name === "memcpy" ||
    intrinsic.name === "memset" ||
    intrinsic.name === "memmove"
  );
}

function sameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

/** Whether two instructions do the same with their operands. */
function isAlike(a: Inst, b: Inst): boolean {
  if (a.op !== b.op || a.type !== b.type || a.operands.length !== b.operands.length) return false;
  for (let i = 0; i < a.operands.length; i++) if (a.operands[i]!.type !== b.operands[i]!.type) return false;
  switch (a.op) {
    case Op.ICmp:
    case Op.FCmp:
      return a.data === b.data;
    case Op.Load:
    case Op.Store:
      return true;
    case Op.GetElementPtr:
      return a.data.elementType === (b as typeof a).data.elementType;
    case Op.ShuffleVector:
    case Op.ExtractValue:
    case Op.InsertValue:
      return sameList(a.data, b.data as readonly number[]);
    case Op.Call: {
      const other = (b as typeof a).data;
      return (
        a.data.functionType === other.functionType &&
        a.data.attributes === other.attributes &&
        a.data.callingConvention === other.callingConvention &&
        a.data.tail === other.tail &&
        isMovableCall(b as CallInst)
      );
    }
    default:
      return a.data === b.data;
  }
}

const isSame = (a: Value, b: Value): boolean =>
  a === b || (isConstant(a) && isConstant(b) && sameConstant(a, b));

/** One stands for the other, too. */
function weaken(kept: Inst, copy: Inst): void {
  kept.flags &= copy.flags;
  kept.hints = mergeHints(kept.hints, copy.hints);
  if (
    (kept.op === Op.Load || kept.op === Op.Store) &&
    copy.op === kept.op &&
    copy.data.align < kept.data.align
  )
    (kept as { data: typeof copy.data }).data = copy.data;
}

// Before a branch.

function hoist(block: Block, editor: Editor, origins: Origins | null): number {
  const { terminator } = block;
  if (terminator.op !== Op.CondBr) return 0;
  const [left, right] = terminator.blocks as [Block, Block];
  if (left === right || !hasOneEdge(left, editor) || !hasOneEdge(right, editor)) return 0;
  let count = 0;
  for (;;) {
    const a = firstOf(left);
    const b = firstOf(right);
    if (!isMovable(a) || !isMovable(b) || !isAlike(a, b)) return count;
    if (!a.operands.every((operand, i) => isSame(operand, b.operands[i]!))) return count;
    weaken(a, b);
    if (origins !== null) a.origin = origins.merged(a.origin, b.origin);
    editor.move(a, terminator);
    editor.replace(b, a);
    editor.sweep();
    count++;
  }
}
const firstOf = (block: Block): Inst => block.insts[0]!;
const hasOneEdge = (block: Block, editor: Editor): boolean =>
  !block.addressTaken && editor.uses.count(block, 2) === 1;

// After all ways to a place.

function sink(block: Block, editor: Editor, isSmall: boolean, origins: Origins | null): number {
  if (block.addressTaken || block === editor.body.blocks[0]) return 0;
  const before = predecessors(editor, block);
  if (before.length < 2 || before.length > mostWays) return 0;
  const ways = before.filter((from) => from.terminator.op === Op.Br && from !== block);
  let count = 0;
  if (ways.length === before.length) while (sinkOne(block, ways, editor, origins)) count++;
  if (count > 0 || !isSmall) return count;
  // Some ways only: they meet in a block of their own first, which costs a jump at most.
  while (ways.length >= 2) {
    const first = ways.shift()!;
    const group = [first, ...ways.filter((from) => endAlike(first, from, block, editor))];
    if (group.length < 2 || group.length === before.length) continue;
    const meeting = join(group, block, editor);
    while (sinkOne(meeting, group, editor, origins)) count++;
    for (const from of group) if (ways.includes(from)) ways.splice(ways.indexOf(from), 1);
  }
  return count;
}

/** Whether two ways to a place end so much alike that a jump more is worth it. */
function endAlike(a: Block, b: Block, block: Block, editor: Editor): boolean {
  if (a.insts.length < 2 || b.insts.length < 2) return false;
  const copies = [a.insts[a.insts.length - 2]!, b.insts[b.insts.length - 2]!];
  if (plan(block, [a, b], copies, editor) === null) return false;
  if (copies[0]!.op === Op.Call) return true;
  if (a.insts.length < 3 || b.insts.length < 3) return false;
  const x = a.insts[a.insts.length - 3]!;
  const y = b.insts[b.insts.length - 3]!;
  return isMovable(x) && isAlike(x, y) && x.operands.every((operand, i) => isSame(operand, y.operands[i]!));
}

/** Lets some of the blocks that jump to a block jump to a new one in between. */
function join(group: readonly Block[], block: Block, editor: Editor): Block {
  const meeting = editor.addBlock(new Block(), group[group.length - 1]!);
  editor.append(jumpTo(block), meeting);
  const phis = phisOf(block);
  const values = phis.map((phi) => group.map((from) => phi.operands[phi.blocks.indexOf(from)]!));
  for (const from of group) setSuccessor(editor, from, 0, meeting);
  phis.forEach((phi, i) => {
    const passed = values[i]!;
    const isOne = passed.every((value) => isSame(value, passed[0]!));
    const value = isOne
      ? passed[0]!
      : editor.prependPhi(makeInst(Op.Phi, phi.type, passed, null, [...group], phi.flags), meeting);
    editor.addIncoming(phi, value, meeting);
  });
  return meeting;
}
const mostWays = 16;

interface Sinking {
  /** Joins the results; null: nothing uses them. */
  readonly phi: Inst | null;
  /** Operands that are not the same on all ways. */
  readonly differing: readonly number[];
}

/** How the ends of some ways to a block can become one instruction; null: they cannot, or should not. */
function plan(
  block: Block,
  before: readonly Block[],
  copies: readonly Inst[],
  editor: Editor,
): Sinking | null {
  const first = copies[0]!;
  if (!isMovable(first)) return null;
  for (let i = 1; i < copies.length; i++)
    if (!isMovable(copies[i]!) || !isAlike(first, copies[i]!)) return null;
  // Who uses the results: one phi, or nobody.
  let phi: Inst | null = null;
  if (copies.some((copy) => editor.hasUses(copy))) {
    phi = editor.uses.first(first);
    if (phi === null || phi.op !== Op.Phi || phi.parent !== block) return null;
    for (let i = 0; i < copies.length; i++) {
      if (!editor.hasOneUse(copies[i]!)) return null;
      if (phi.operands[phi.blocks.indexOf(before[i]!)] !== copies[i]) return null;
    }
  } else if (first.type.kind !== "void" && first.op !== Op.Call) return null;
  const differing: number[] = [];
  for (let slot = 0; slot < first.operands.length; slot++)
    if (!copies.every((copy) => isSame(copy.operands[slot]!, first.operands[slot]!))) {
      if (!canDiffer(first, slot, copies)) return null;
      differing.push(slot);
    }
  const needed = differing.length - (differing.some((slot) => areNext(before, copies, slot, editor)) ? 1 : 0);
  return needed > (phi === null ? 0 : 1) + extraPhis(first) ? null : { phi, differing };
}

/** Whether an operand's values are what is sunk next, and so need no phi of their own. */
function areNext(before: readonly Block[], copies: readonly Inst[], slot: number, editor: Editor): boolean {
  const values = copies.map((copy) => copy.operands[slot]!) as Inst[];
  const first = values[0]!;
  for (let i = 0; i < values.length; i++) {
    const { insts } = before[i]!;
    const value = values[i]!;
    if (insts[insts.length - 3] !== value || !editor.hasOneUse(value)) return false;
    if (!isMovable(value) || !isAlike(first, value)) return false;
  }
  const differing = first.operands.flatMap((_, i) =>
    values.every(({ operands }) => isSame(operands[i]!, first.operands[i]!)) ? [] : [i],
  );
  return differing.length <= 1 && differing.every((i) => canDiffer(first, i, values));
}

function sinkOne(block: Block, before: readonly Block[], editor: Editor, origins: Origins | null): boolean {
  if (before.some(({ insts }) => insts.length < 2)) return false;
  const copies = before.map(({ insts }) => insts[insts.length - 2]!);
  const sinking = plan(block, before, copies, editor);
  if (sinking === null) return false;
  const { phi, differing } = sinking;
  const first = copies[0]!;
  const operands = [...first.operands];
  for (const slot of differing) {
    const values = copies.map((copy) => copy.operands[slot]!);
    operands[slot] =
      existingPhi(block, before, values) ??
      editor.prependPhi(makeInst(Op.Phi, values[0]!.type, values, null, [...before]), block);
  }
  for (let i = 1; i < copies.length; i++) {
    weaken(first, copies[i]!);
    if (origins !== null) first.origin = origins.merged(first.origin, copies[i]!.origin);
  }
  // What is said of the results where they are not there yet would be about an earlier round of a loop.
  for (const copy of copies) editor.forgetInRecords(copy);
  editor.move(first, block.insts[editor.firstAfterPhis(block)]!);
  editor.setLists(first, operands);
  if (phi !== null) editor.replace(phi, first);
  for (let i = 1; i < copies.length; i++) editor.erase(copies[i]!);
  editor.sweep();
  return true;
}

/** Phis that an instruction is worth beyond those that go with it. */
function extraPhis(inst: Inst): number {
  return inst.op === Op.Call && intrinsicOf(inst.operands[0]!) === null ? 2 : inst.op === Op.Store ? 1 : 0;
}

/** A phi that joins these values already. */
function existingPhi(block: Block, before: readonly Block[], values: readonly Value[]): Inst | null {
  for (const phi of phisOf(block)) {
    if (phi.type !== values[0]!.type || phi.blocks.length !== before.length) continue;
    if (before.every((from, i) => isSame(phi.operands[phi.blocks.indexOf(from)]!, values[i]!))) return phi;
  }
  return null;
}

/** Parameters whose arguments have to be seen at the call. */
const special = [
  "byval",
  "sret",
  "inalloca",
  "preallocated",
  "swifterror",
  "swiftself",
  "nest",
  "immarg",
  "elementtype",
];

/** Whether an operand may come from a phi. */
function canDiffer(inst: Inst, slot: number, copies: readonly Inst[]): boolean {
  const values = copies.map((copy) => copy.operands[slot]!);
  const { kind } = values[0]!.type;
  if (kind === "token" || kind === "metadata" || kind === "label") return false;
  switch (inst.op) {
    case Op.Call: {
      if (slot === 0 || intrinsicOf(inst.operands[0]!) !== null) return false;
      const callee = inst.operands[0]!;
      if (callee.valueKind !== "global" || callee.kind !== "function") return false;
      if (slot > inst.data.argumentCount) return false;
      return !special.some(
        (name) =>
          inst.data.attributes.parameter(slot - 1).has(name) ||
          callee.attributes.parameter(slot - 1).has(name),
      );
    }
    case Op.Store:
      return slot === 0 && !values.every(isConstant);
    case Op.Load:
    case Op.GetElementPtr:
    case Op.ExtractElement:
    case Op.InsertElement:
    case Op.ShuffleVector:
      return slot === 0 && !values.some((value) => isConstant(value) || isLocal(value));
    default:
      // A constant operand is part of the instruction.
      return !values.some(isConstant);
  }
}
const isLocal = (value: Value): boolean => value.valueKind === "inst" && value.op === Op.Alloca;
