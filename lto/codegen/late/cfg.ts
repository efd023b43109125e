/**
 * Control flow of a machine function after the frame pass: edges from instructions, and its simplification.
 *
 * Until layout every block ends in explicit jumps (or never returns). Simplification, to a fixpoint:
 *   - a jump to a block that only jumps on goes to the final target (also in jump tables);
 *   - a conditional jump to where its fall-through goes disappears;
 *   - blocks that nothing reaches are dropped;
 *   - a block with one predecessor that has one successor is appended to it.
 * Linear per round; rounds are few.
 * Breaks if: a block can be entered in a way that no instruction, table or `addressTaken` shows.
 */

import type { FunctionMarks } from "../debug/marks.js";
import { type MBlock, type MFunction, unwindTarget } from "../mir.js";
import { OpFact } from "../target.js";

/** A list with one more, made to measure: few blocks have more neighbours than two. */
function withBlock(list: MBlock[], block: MBlock): MBlock[] {
  if (list.length === 0) return [block];
  if (list.length === 1) return [list[0]!, block];
  list.push(block);
  return list;
}

function connect(from: MBlock, to: MBlock): void {
  if (from.succs.includes(to)) return;
  from.succs = withBlock(from.succs, to);
  to.preds = withBlock(to.preds, from);
}

/** Recomputes `succs` and `preds` of all blocks from their instructions. */
export function rebuildEdges(mf: MFunction): void {
  const { blocks } = mf;
  const none: MBlock[] = [];
  for (const block of blocks) {
    block.succs = none;
    block.preds = none;
    if (block.succArgs.length > 0) block.succArgs = [];
  }
  for (const block of blocks)
    for (const inst of block.insts) {
      const { targets } = inst;
      for (let i = 0; i < targets.length; i++) connect(block, targets[i]!);
      const pad = unwindTarget(inst);
      if (pad !== null) connect(block, pad);
    }
  // Most lists were replaced; those that are left belong to one block each.
  for (const block of blocks) {
    if (block.succs === none) block.succs = [];
    if (block.preds === none) block.preds = [];
  }
}

/** Entered from outside the branches: must keep its identity. */
export const isPinned = (mf: MFunction, block: MBlock): boolean =>
  block === mf.blocks[0] || block.addressTaken || block.landingPad;

/** Where a jump to `block` ends up, following blocks that hold a lone jump. */
function finalTarget(block: MBlock, facts: Uint32Array): MBlock {
  let target = block;
  // The bound ends cycles of empty blocks: an infinite loop of the program.
  for (let hops = 0; hops < 64; hops++) {
    const { insts } = target;
    if (insts.length !== 1 || (facts[insts[0]!.op]! & OpFact.Jump) === 0 || target.landingPad) return target;
    target = insts[0]!.targets[0]!;
  }
  return target;
}

/** Redirects all branches and tables past blocks that only jump. @returns whether anything changed */
function threadJumps(mf: MFunction): boolean {
  const { facts } = mf.target.instructions;
  let changed = false;
  const moves = (target: MBlock): boolean => finalTarget(target, facts) !== target;
  const marks = mf.debug?.marks ?? null;
  const final = (target: MBlock): MBlock => {
    const end = finalTarget(target, facts);
    if (marks !== null)
      for (let at = target; at !== end; at = at.insts[0]!.targets[0]!) marks.skip(at.insts[0]!, end);
    return end;
  };
  for (const block of mf.blocks) {
    for (const inst of block.insts) {
      // Inline assembly names its targets by label: leave them.
      if (inst.targets.length === 0 || (facts[inst.op]! & OpFact.Asm) !== 0 || !inst.targets.some(moves))
        continue;
      inst.targets = inst.targets.map(final);
      changed = true;
    }
  }
  for (const table of mf.jumpTables) {
    if (!table.targets.some(moves)) continue;
    table.targets = table.targets.map(final);
    changed = true;
  }
  return changed;
}

/** Control never gets here: selection left nothing for `unreachable`. */
const isUnreachable = (block: MBlock): boolean => block.insts.length === 0 && !block.addressTaken;

/** Drops conditional jumps that go where the following jump goes, or that are never taken (or not taken). */
function dropUselessConditions(block: MBlock, facts: Uint32Array, marks: FunctionMarks | null): boolean {
  const { insts } = block;
  let changed = false;
  while (insts.length >= 2) {
    const last = insts[insts.length - 1]!;
    const previous = insts[insts.length - 2]!;
    if ((facts[last.op]! & OpFact.Jump) === 0) break;
    if (unwindTarget(previous) !== null && isUnreachable(last.targets[0]!)) {
      // The call never returns.
      insts.pop();
      marks?.take(last);
      return true;
    }
    if ((facts[previous.op]! & OpFact.Branch) === 0 || previous.symbol !== null) break;
    const taken = previous.targets[0]!;
    if (isUnreachable(last.targets[0]!)) last.targets = [taken];
    else if (taken !== last.targets[0] && !isUnreachable(taken)) break;
    insts.splice(insts.length - 2, 1);
    changed = true;
  }
  return changed;
}

function dropUnreachable(mf: MFunction): boolean {
  const reached = new Set<MBlock>();
  const work: MBlock[] = [];
  const reach = (block: MBlock): void => {
    if (reached.has(block)) return;
    reached.add(block);
    work.push(block);
  };
  for (const block of mf.blocks) if (block === mf.blocks[0] || block.addressTaken) reach(block);
  for (let block = work.pop(); block !== undefined; block = work.pop()) for (const s of block.succs) reach(s);
  if (reached.size === mf.blocks.length) return false;
  const marks = mf.debug?.marks ?? null;
  if (marks !== null)
    for (const block of mf.blocks) if (!reached.has(block)) for (const inst of block.insts) marks.take(inst);
  mf.blocks = mf.blocks.filter((b) => reached.has(b));
  const live = mf.jumpTables.map(({ targets }) => targets.every((b) => reached.has(b)));
  mf.jumpTables.forEach((table, i) => {
    // The jump through the table is gone with its block.
    if (!live[i]) table.targets = [];
  });
  return true;
}

/** Redirects branches past blocks that only jump and drops those; edges are up to date afterwards. */
export function skipJumps(mf: MFunction): void {
  threadJumps(mf);
  rebuildEdges(mf);
  if (dropUnreachable(mf)) rebuildEdges(mf);
}

/** Appends sole successors to their sole predecessors. */
function mergeChains(mf: MFunction): boolean {
  const { facts } = mf.target.instructions;
  const gone = new Set<MBlock>();
  const marks = mf.debug?.marks ?? null;
  for (const block of mf.blocks) {
    if (gone.has(block)) continue;
    for (;;) {
      const last = block.insts[block.insts.length - 1];
      if (last === undefined || (facts[last.op]! & OpFact.Jump) === 0) break;
      const next = last.targets[0]!;
      if (next === block || next.preds.length !== 1 || isPinned(mf, next) || gone.has(next)) break;
      // Blocks keep their exits at the end: passes rely on it.
      if (
        block.insts.some((inst) => inst !== last && (inst.targets.length > 0 || unwindTarget(inst) !== null))
      )
        break;
      block.insts.pop();
      if (marks !== null && next.insts.length > 0) marks.put(next.insts[0]!, marks.take(last));
      for (const inst of next.insts) block.insts.push(inst);
      gone.add(next);
      block.succs = block.succs.filter((s) => s !== next);
      for (const s of next.succs) {
        if (!block.succs.includes(s)) block.succs.push(s);
        s.preds = s.preds.filter((p) => p !== next);
        if (!s.preds.includes(block)) s.preds.push(block);
      }
    }
  }
  if (gone.size === 0) return false;
  mf.blocks = mf.blocks.filter((b) => !gone.has(b));
  return true;
}

/** Simplifies the control flow; edges are up to date afterwards. */
export function simplifyControlFlow(mf: MFunction): void {
  for (let round = 0; round < 8; round++) {
    let changed = threadJumps(mf);
    for (const block of mf.blocks)
      if (dropUselessConditions(block, mf.target.instructions.facts, mf.debug?.marks ?? null)) changed = true;
    rebuildEdges(mf);
    if (dropUnreachable(mf)) {
      rebuildEdges(mf);
      changed = true;
    }
    if (mergeChains(mf)) changed = true;
    if (!changed) return;
  }
  rebuildEdges(mf);
}
