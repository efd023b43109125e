/**
 * loop-deletion: loops that only pass time are removed.
 *
 *   loop:
 *     %i = phi i32 [ 0, %before ], [ %i1, %loop ]
 *     %x = load i32, ptr %p                               %before goes on at %end
 *     %i1 = add i32 %i, 1                        →
 *     %more = icmp ult i32 %i1, %n
 *     br i1 %more, label %loop, label %end
 *
 * Why: what such a loop computed was stored where nobody looks, or returned to nobody: known only at link time.
 *
 * Method: the loops of a body, outer ones first. A walk over a loop's instructions ends at the first effect, which nearly
 * all loops have soon, and most bodies are done with a look at the ends of edges that lead back. Only for loops without
 * effects one walk over the body says what is used outside. Linear.
 *
 * Proof obligations: no instruction of the loop has an effect; no value of it is used outside; all edges out of it lead to
 * one place, and pass values there that do not depend on which is taken; it ends, or may be assumed to: `mustprogress` or
 * `willreturn` of the function, `llvm.loop.mustprogress`, or a counter that goes by one to a limit where each round
 * comes. The same holds of each loop in it; where only loops say so, each cycle in it is one.
 * Breaks if: an operation that may trap or not come back counts as one without effect. (Where division or a load traps,
 * behaviour is undefined.)
 */

import { predecessorLists } from "../analysis/cfg.js";
import { jumpTo, removeBlocks, replaceTerminator } from "../ir/cfg-edit.js";
import { recordsIn } from "../ir/debug-records.js";
import { type Block, type BodyView, type Inst, Op } from "../ir/instructions.js";
import type { Func } from "../ir/module.js";
import { isConstant, sameConstant, type Value } from "../ir/values.js";
import { cfg, dominators, loops } from "../pass/analyses.js";
import type { FunctionPass } from "../pass/pass.js";
import { isRemovableCall } from "./call-effects.js";
import { isRemovable } from "./dce.js";
import { canHavePreheader, exitEdges, type Loop, Loops, mayLoop, preheaderOf } from "./loops/loop.js";

export const loopDeletion: FunctionPass = {
  name: "loop-deletion",
  level: "function",
  description: "removes loops without effect whose results nothing needs",
  counters: { removed: "loops removed" },
  requires: [cfg, dominators, loops],
  preserves: [],
  run(fn, context) {
    const { fn: attributes } = fn.attributes;
    if (attributes.has("naked") || attributes.has("presplitcoroutine")) return false;
    const view = context.view();
    // Saves most bodies the search for loops: a cycle without effects has an edge back between blocks without any.
    if (!mayLoop(view, (from, to) => !doesSomething(to) && !doesSomething(from))) return false;
    const found = new Loops(view, context.ofBody(loops, view), context.ofBody(dominators, view));
    const candidates = found.all.filter((loop) => !hasEffects(loop));
    if (candidates.length === 0) return false;
    const predecessors = predecessorLists(context.ofBody(cfg, view));
    const needed = neededOutside(view, found);
    /** An outer loop goes with those in it. */
    const gone = new Set<Loop>();
    for (const loop of candidates) {
      if (needed.has(loop) || isIn(gone, loop.outer) || !mayEnd(loop, fn, found)) continue;
      if (hasOneExit(loop, found) && canHavePreheader(loop, found, predecessors)) gone.add(loop);
    }
    if (gone.size === 0) return false;
    const editor = fn.edit();
    for (const loop of gone) {
      // Where the other end of its edges was another loop, it may be a new block by now.
      const { from, to: exit } = exitEdges(loop)[0]!;
      const passed = (phi: Inst): Value => phi.operands[phi.blocks.indexOf(from)]!;
      replaceTerminator(editor, preheaderOf(editor, loop), jumpTo(exit), passed);
      if (editor.body.hasDebug) editor.forgetAt(exit, loop.blocks.flatMap(recordsIn));
      removeBlocks(editor, loop.blocks);
    }
    context.count("removed", gone.size);
    return true;
  },
};

const isIn = (gone: ReadonlySet<Loop>, loop: Loop | null): boolean => {
  for (let at = loop; at !== null; at = at.outer) if (gone.has(at)) return true;
  return false;
};

const hasEffects = ({ blocks }: Loop): boolean => blocks.some(doesSomething);

function doesSomething({ insts }: Block): boolean {
  for (let i = 0; i < insts.length; i++) {
    const inst = insts[i]!;
    if (isRemovable(inst)) continue;
    switch (inst.op) {
      case Op.Br:
      case Op.CondBr:
      case Op.Switch:
        break;
      case Op.Call:
        if (!isRemovableCall(inst)) return true;
        break;
      default:
        return true;
    }
  }
  return false;
}

/** Loops of which values are used outside. */
function neededOutside({ blocks }: BodyView, found: Loops): ReadonlySet<Loop> {
  const needed = new Set<Loop>();
  for (const block of blocks)
    for (const { operands } of block.insts)
      for (let i = 0; i < operands.length; i++) {
        const operand = operands[i]!;
        if (operand.valueKind !== "inst") continue;
        const { id } = operand.parent!;
        if (id === block.id) continue;
        for (let loop = found.of[id] ?? null; loop !== null; loop = loop.outer) {
          if (found.contains(loop, block.id)) break;
          needed.add(loop);
        }
      }
  return needed;
}

/** Whether all edges out of a loop lead to one block, with the same values. */
function hasOneExit(loop: Loop, found: Loops): boolean {
  let exit: Block | null = null;
  for (const block of loop.blocks)
    for (const next of block.successors) {
      if (found.contains(loop, next.id)) continue;
      if (exit !== null && exit !== next) return false;
      exit = next;
    }
  if (exit === null) return false;
  for (const phi of exit.insts) {
    if (phi.op !== Op.Phi) break;
    let passed: Value | null = null;
    for (let i = 0; i < phi.operands.length; i++) {
      if (!found.contains(loop, phi.blocks[i]!.id)) continue;
      if (passed !== null && !isSame(passed, phi.operands[i]!)) return false;
      passed = phi.operands[i]!;
    }
  }
  return true;
}

const isSame = (a: Value, b: Value): boolean =>
  a === b || (isConstant(a) && isConstant(b) && sameConstant(a, b));

/** Whether a loop, and each in it, ends, or may be assumed to. */
function mayEnd(loop: Loop, fn: Func, found: Loops): boolean {
  const { fn: attributes } = fn.attributes;
  if (attributes.has("mustprogress") || attributes.has("willreturn")) return true;
  if (!hasOnlyLoops(loop, found)) return false;
  const nest = found.all.filter(({ header }) => found.contains(loop, header.id));
  // Not some one and others the other: where edges moved, the loop inside may be what was around what is outside now.
  return nest.every((inner) => saysProgress(inner, found)) || nest.every((inner) => counts(inner, found));
}
/** Whether each cycle in a loop goes through the header of one: of others, that control enters anywhere, nobody speaks. */
function hasOnlyLoops({ blocks }: Loop, found: Loops): boolean {
  // In reverse postorder, so that each cycle has an edge to a block that does not lie after its start.
  const passed = new Set<Block>();
  for (const block of blocks) {
    passed.add(block);
    for (const next of block.successors)
      if (passed.has(next) && !isHeaderAround(next, block, found)) return false;
  }
  return true;
}
const isHeaderAround = (header: Block, block: Block, found: Loops): boolean => {
  for (let at = found.of[block.id] ?? null; at !== null; at = at.outer) if (at.header === header) return true;
  return false;
};
/** All branches back say so, and of no other loop: one that leads to the headers of two may speak of either. */
const saysProgress = ({ blocks, header }: Loop, found: Loops): boolean =>
  blocks.every(
    (block) =>
      !block.successors.includes(header) ||
      (block.terminator.hints?.loop?.mustProgress === true &&
        block.successors.every((next) => next === header || !isHeaderAround(next, block, found))),
  );

/**
 * Whether a branch that each round comes to, the first of a loop's or the only one back, is taken while a counter that goes by
 * one has not come to a limit.
 */
function counts(loop: Loop, found: Loops): boolean {
  const backs = loop.blocks.filter(({ successors }) => successors.includes(loop.header));
  if (backs.length !== 1) return false;
  return limits(backs[0]!, loop, found) || limits(loop.header, loop, found);
}
function limits({ terminator }: Block, loop: Loop, found: Loops): boolean {
  if (terminator.op !== Op.CondBr) return false;
  const [ifTrue, ifFalse] = terminator.blocks;
  const stays = found.contains(loop, ifTrue!.id);
  const test = terminator.operands[0]!;
  if (stays === found.contains(loop, ifFalse!.id)) return false;
  if (test.valueKind !== "inst" || test.op !== Op.ICmp) return false;
  const [counter, limit] = test.operands;
  if (!isOutside(limit!, loop, found)) return false;
  const step = stepOf(counter!, loop);
  switch (test.data) {
    case "ne":
      return stays && step !== 0;
    case "eq":
      return !stays && step !== 0;
    case "ult":
    case "slt":
      return stays && step === 1;
    case "uge":
    case "sge":
      return !stays && step === 1;
    case "ugt":
    case "sgt":
      return stays && step === -1;
    case "ule":
    case "sle":
      return !stays && step === -1;
    default:
      return false;
  }
}
const isOutside = (value: Value, loop: Loop, found: Loops): boolean =>
  value.valueKind !== "inst" || !found.contains(loop, value.parent!.id);

/** By how much a value of a loop, a counter before or after its step, changes in each round: 1, -1, or 0 for others. */
function stepOf(value: Value, { header }: Loop): 0 | 1 | -1 {
  if (value.valueKind !== "inst") return 0;
  if (value.op === Op.Add && value.operands[0]!.valueKind === "inst") {
    const phi = value.operands[0]!;
    if (phi.op !== Op.Phi || phi.parent !== header || !phi.operands.includes(value)) return 0;
    return onlyComesBackAs(phi, value) ? unitOf(value.operands[1]!) : 0;
  }
  if (value.op !== Op.Phi || value.parent !== header) return 0;
  for (const next of value.operands)
    if (next.valueKind === "inst" && next.op === Op.Add && next.operands[0] === value)
      return onlyComesBackAs(value, next) ? unitOf(next.operands[1]!) : 0;
  return 0;
}
/** A phi of two entries: control enters by one, and comes back by the other. */
const onlyComesBackAs = (phi: Inst, next: Inst): boolean =>
  phi.operands.length === 2 && phi.operands.includes(next);
const unitOf = (value: Value): 0 | 1 | -1 => {
  if (value.valueKind !== "int") return 0;
  const by = BigInt.asIntN(value.type.bits, value.value);
  return by === 1n ? 1 : by === -1n && value.type.bits > 1 ? -1 : 0;
};
