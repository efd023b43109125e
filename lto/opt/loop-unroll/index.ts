/**
 * loop-unroll: loops whose rounds are known are written out, whole or a few rounds at a time.
 *
 *   loop:                                              %s1 = add i32 0, %x0        ; x[0]
 *     %i = phi i64 [ 0, %before ], [ %i1, %loop ]      …                           ; x[1], x[2]
 *     %s = phi i32 [ 0, %before ], [ %s1, %loop ]   →  br label %end
 *     …
 *     %more = icmp ne i64 %i1, 3
 *     br i1 %more, label %loop, label %end
 *
 * Why: what a round computes of its number is constant then, and what it shares with the last one is there. How often a loop
 * runs is often known at link time alone, by constants that came through calls. For speed.
 *
 * Method: innermost loops that are left after a known number of rounds, inner ones first, so that a loop whose inner ones are
 * gone comes next. Each further round is a copy of the blocks in which the header's phis are what the round before passes on.
 * Loops without inner ones may have more ways out (a search that ends where it finds something), which every round keeps;
 * such a loop is closed first (early-exits.ts). Linear in what is copied, which is bounded.
 *
 * Proof obligations: one block alone leads back, one asks whether the rounds are over, and that dominates the other: each
 * round that is not left before asks once; the number of rounds is exact (trip-count.ts), or a multiple of the rounds that
 * are written out, so that only the last of them asks; what follows the question in the very last round never runs; nothing
 * in the loop forbids copies (`noduplicate`, assembly, addresses of blocks). Alias scopes of each round are its own.
 * Breaks if: a value of a round other than the last is used outside, or in the next round other than by a phi of the header.
 */
import type { DominatorTree } from "../../analysis/dominators.js";
import { tripCount } from "../../analysis/trip-count.js";
import { foldSingleEntryPhis, jumpTo, phisOf, redirectEdge, removePhiEntry } from "../../ir/cfg-edit.js";
import { CloneMap, cloneBlocks, jumpsToAddresses } from "../../ir/clone.js";
import { type DebugRecord, recordsIn } from "../../ir/debug-records.js";
import type { Editor } from "../../ir/editor.js";
import { type Block, type Inst, isCall, makeInst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { voidType } from "../../ir/types.js";
import { constBool, isConstant, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { type ExitEdge, exitEdges, type Loop, Loops, mayLoop } from "../loops/loop.js";
import { addRound, closeLoop, earlyEntries } from "./early-exits.js";

/**
 * Instructions at most of a loop that is written out whole, without those that are constant then, and with what
 * each round's early ways out pass on; and of some rounds of one. LLVM has 150 (300 at -O3) for the first, and for the second what fits into a processor's loop buffer.
 */
const mostWhole = 150;
const mostPart = 40;
/** Rounds at most. */
const mostRounds = 64;
const mostPartRounds = 8;
/** Beyond this no counting is done. */
const mostCounted = 4096;
/** Ways out at most, of a loop that is written out. */
const mostExits = 8;
/** Instructions that a function may grow by. */
const mostGrowth = 2000;

export const loopUnroll: FunctionPass = {
  name: "loop-unroll",
  level: "function",
  description: "writes loops out whose rounds are known, whole or a few rounds at a time, for speed",
  counters: { whole: "loops written out", part: "loops of which some rounds were" },
  requires: [cfg, dominators, loops],
  preserves: [],
  run(fn, context) {
    if (context.goal !== "speed" || fn.attributes.fn.has("naked")) return false;
    const view = context.view();
    if (!mayLoop(view)) return false;
    const found = new Loops(view, context.ofBody(loops, view), context.ofBody(dominators, view));
    const tree = context.ofBody(dominators, view);
    const ways = new Map<Loop, Ways>();
    for (const loop of found.all) {
      const way = waysOf(loop, found, tree);
      if (way !== null) ways.set(loop, way);
    }
    if (ways.size === 0) return false;
    const withInner = new Set<Loop>();
    let growth = 0;
    let changed = false;
    // While blocks have the numbers by which they were found.
    for (const [loop, way] of ways)
      if (way.early.length > 0) {
        const isClosed = planOf(loop, way, 0) !== null && closeLoop(fn.edit(), loop, tree);
        if (isClosed) changed = true;
        else ways.delete(loop);
      }
    for (const loop of found.all.toReversed()) {
      if (changed) fn.edit().sweep();
      const way = withInner.has(loop) ? undefined : ways.get(loop);
      const plan = way === undefined ? null : planOf(loop, way, growth);
      if (plan?.isWhole !== true && loop.outer !== null) withInner.add(loop.outer);
      if (plan === null) continue;
      const editor = fn.edit();
      // What copies are made of is known by number.
      editor.body.renumber();
      unroll(editor, loop, plan);
      growth += plan.growth;
      changed = true;
      context.count(plan.isWhole ? "whole" : "part");
    }
    return changed;
  },
};

/** How control goes round in a loop and leaves it. */
interface Ways {
  readonly latch: Block;
  /** Where a known number of rounds ends. */
  readonly exit: ExitEdge;
  /** Others, by which control may leave before. */
  readonly early: readonly ExitEdge[];
}

interface Plan extends Ways {
  readonly rounds: number;
  /** No round follows. */
  readonly isWhole: boolean;
  readonly growth: number;
}

/**
 * Of a loop that has one edge back, and asks in each round whether it is the last. The numbers of blocks are the tree's. Both
 * edges are of the loop's own blocks, which stay when loops in it are written out; what else the latch leads to would be a
 * cycle that is no loop.
 */
function waysOf(loop: Loop, found: Loops, tree: DominatorTree): Ways | null {
  const latches = loop.blocks.filter(({ terminator }) => terminator.blocks.includes(loop.header));
  const edges = exitEdges(loop);
  if (latches.length !== 1 || edges.length === 0 || edges.length > mostExits) return null;
  const latch = latches[0]!;
  if (found.of[latch.id] !== loop) return null;
  const asks = edges.filter(({ from }) => found.of[from.id] === loop && tree.dominates(from.id, latch.id));
  if (edges.length === 1) {
    const exit = asks[0];
    if (exit === undefined || (latch !== exit.from && latch.terminator.op !== Op.Br)) return null;
    return { latch, exit, early: [] };
  }
  if (latch.terminator.blocks.filter((block) => block === loop.header).length !== 1) return null;
  if (loop.blocks.some(({ id }) => found.of[id] !== loop)) return null;
  let least = Number.POSITIVE_INFINITY;
  let exit: ExitEdge | null = null;
  for (const edge of asks) {
    const count = roundsOf(loop, latch, edge) ?? Number.POSITIVE_INFINITY;
    if (count < least) [least, exit] = [count, edge];
  }
  return exit === null ? null : { latch, exit, early: edges.filter((edge) => edge !== exit) };
}

/** Null where that is not known, or more than are counted. */
function roundsOf({ header }: Loop, latch: Block, exit: ExitEdge): number | null {
  const count = tripCount(header, (block) => block === latch, exit, mostCounted);
  return count === Number.POSITIVE_INFINITY ? null : count;
}

function planOf(loop: Loop, ways: Ways, growth: number): Plan | null {
  const { blocks } = loop;
  const { latch } = ways;
  const asked = latch.terminator.hints?.loop;
  if (asked?.unroll === "disable") return null;
  const count = roundsOf(loop, latch, ways.exit);
  if (count === null || !blocks.every(mayCopy) || jumpsToAddresses(blocks)) return null;
  const size = sizeOf(loop);
  const leaving = passedByEarly(loop, ways);
  const grown = (size.all + leaving) * (count - 1);
  const isSmall = (size.kept + leaving) * count <= mostWhole;
  if (
    count === 1 ||
    (count <= mostRounds && (isSmall || asked?.unroll === "full") && growth + grown <= mostGrowth)
  )
    return { ...ways, rounds: count, isWhole: true, growth: grown };
  if (size.calls > 0 || ways.early.length > 0) return null;
  for (let rounds = mostPartRounds; rounds > 1; rounds--)
    if (count % rounds === 0 && size.all * rounds <= mostPart)
      return { ...ways, rounds, isWhole: false, growth: size.all * (rounds - 1) };
  return null;
}

const fixed = ["convergent", "noduplicate", "returns_twice"];

function mayCopy(block: Block): boolean {
  if (block.addressTaken) return false;
  return block.insts.every((inst) => {
    if (inst.op === Op.Alloca || inst.op === Op.LandingPad) return false;
    if (!isCall(inst)) return true;
    const callee = inst.operands[0]!;
    if (inst.op !== Op.Call || callee.valueKind === "asm" || inst.data.tail === "musttail") return false;
    const intrinsic = intrinsicOf(callee);
    if (intrinsic !== null) return intrinsic.pure || intrinsic.removable || intrinsic.name.startsWith("mem");
    const there = callee.valueKind === "global" && callee.kind === "function" ? callee.attributes.fn : null;
    return !fixed.some((name) => inst.data.attributes.fn.has(name) || there?.has(name) === true);
  });
}

/** Instructions of a round: all, those that are not of its number alone, and calls of functions. */
function sizeOf({ blocks, header }: Loop): { all: number; kept: number; calls: number } {
  const counters = new Set<Value>(phisOf(header).filter(({ type }) => type.kind === "int"));
  const size = { all: 0, kept: 0, calls: 0 };
  for (const { insts } of blocks)
    for (const inst of insts) {
      if (inst.op === Op.Phi || inst.op === Op.Br) continue;
      size.all++;
      const isOfNumber =
        inst.op < Op.Alloca || inst.op === Op.ICmp || inst.op === Op.GetElementPtr || isIntegerCast(inst.op);
      const isKnown = isOfNumber && inst.operands.every((value) => isConstant(value) || counters.has(value));
      if (isKnown) counters.add(inst);
      else size.kept++;
      if (isCall(inst) && intrinsicOf(inst.operands[0]!) === null) {
        size.calls++;
        size.all += inst.operands.length;
        size.kept += inst.operands.length;
      }
    }
  return size;
}

/** Instructions of a round by which early ways out pass on what is another value in each: that, and a jump. */
function passedByEarly({ blocks }: Loop, { early }: Ways): number {
  const moves = earlyEntries(early).filter(
    ([, value]) => value.valueKind === "inst" && blocks.includes(value.parent!),
  );
  return moves.length + new Set(moves.map(([, , from]) => from)).size;
}

const isIntegerCast = (op: Op): boolean => op === Op.Trunc || op === Op.ZExt || op === Op.SExt;

function unroll(editor: Editor, loop: Loop, { latch, exit, early, rounds, isWhole }: Plan): void {
  const { header } = loop;
  const { from, index, to } = exit;
  const stays = from.terminator.blocks[1 - index]!;
  const originals = [...loop.blocks];
  const inside = new Set(originals);
  const phis = phisOf(header);
  const passedOn = phis.map((phi) => phi.operands[phi.blocks.indexOf(latch)]!);
  const question = from.terminator;
  const asked = question.operands[0]!;
  const { blocks: targets, hints } = question;
  /** What stands for a value, and for a block, of the first round in the last one that was made. */
  let inRound = (value: Value): Value => value;
  let blockInRound = (block: Block): Block => block;
  const entries = earlyEntries(early);
  const back = latch.terminator.blocks.indexOf(header);
  for (let round = 1; round < rounds; round++) {
    const map = new CloneMap();
    const copies = cloneBlocks(originals, map);
    editor.adopt(copies, blockInRound(latch));
    for (const copy of copies) {
      inside.add(copy);
      loop.outer?.adopt(copy);
    }
    const values = passedOn.map(inRound);
    const byPhi = new Map<Value, Value>(phis.map((phi, i) => [phi, values[i]!]));
    for (const phi of phis) editor.replace(map.value(phi) as Inst, byPhi.get(phi)!);
    // The round before goes on here, whatever it asked.
    const before = blockInRound(latch);
    if (from !== latch) {
      endWith(editor, blockInRound(from), jumpTo(blockInRound(stays)));
      redirectEdge(editor, before, back, map.block(header));
    } else endWith(editor, before, jumpTo(map.block(header)));
    inRound = (value) => byPhi.get(value) ?? map.value(value);
    blockInRound = (block) => map.block(block);
    addRound(editor, entries, inRound, blockInRound);
  }
  // All are found before one is changed: what stands for a value may be another one of the first round.
  const outside: (readonly [user: Inst, slot: number, value: Value])[] = [];
  for (const { insts } of originals)
    for (const inst of insts)
      editor.uses.forEach(inst, (user, slot) => {
        const isEarly = early.length > 0 && user.op === Op.Phi && user.blocks[slot] !== from;
        if (!inside.has(user.parent!) && !isEarly) outside.push([user, slot, inRound(inst)]);
      });
  for (const [user, slot, value] of outside) editor.setOperand(user, slot, value);
  if (editor.body.hasDebug && early.length === 0) speakOfLast(editor, originals, inside, inRound);
  const last = blockInRound(latch);
  for (const phi of phisOf(to)) editor.setIncomingBlock(phi, phi.blocks.indexOf(from), blockInRound(from));
  if (from === latch && isWhole) endWith(editor, last, jumpTo(to));
  else {
    const next = targets.map((block) => (block === to || block === header ? block : blockInRound(block)));
    const answer = isWhole ? constBool(index === 0) : inRound(asked);
    const again = makeInst(Op.CondBr, voidType, [answer], null, next);
    again.hints = hints;
    endWith(editor, blockInRound(from), again);
    // What follows the question in the very last round is reached no more, and goes with the branch.
    if (from !== latch) {
      for (const edge of early) if (edge.from === latch) removePhiEntry(editor, edge.to, last);
      endWith(editor, last, isWhole ? makeInst(Op.Unreachable, voidType, [], null) : jumpTo(header));
    }
  }
  for (const [i, phi] of phis.entries()) {
    const at = phi.blocks.indexOf(latch);
    if (isWhole) editor.removeIncoming(phi, at);
    else {
      editor.setIncomingBlock(phi, at, last);
      editor.setOperand(phi, at, inRound(passedOn[i]!));
    }
  }
  if (isWhole) foldSingleEntryPhis(editor, header);
}

/** What is said outside of the loop, which is left at one place, of values of the first round is true of those of the last one. */
function speakOfLast(
  editor: Editor,
  originals: readonly Block[],
  inside: ReadonlySet<Block>,
  inLast: (value: Value) => Value,
): void {
  const own = new Set([...inside].flatMap(recordsIn));
  const outside: (readonly [record: DebugRecord, of: Inst, value: Value])[] = [];
  for (const { insts } of originals)
    for (const inst of insts)
      for (const record of editor.recordsOf(inst))
        if (!own.has(record)) outside.push([record, inst, inLast(inst)]);
  for (const [record, of, value] of outside) editor.replaceInRecord(record, of, value);
}

/** Puts another terminator at the end of a block, without a word to phis. */
function endWith(editor: Editor, block: Block, terminator: Inst): void {
  const { origin } = block.terminator;
  editor.erase(block.terminator);
  terminator.origin = origin;
  editor.append(terminator, block);
}
