/**
 * Makes a part of a local variable values: loads become what was stored last on the way there.
 *
 * Method: the blocks at whose start the part is live (a load may come before any store) are found backwards from loads.
 * Those with several predecessors get a phi; one walk in reverse postorder then knows the value everywhere, and phis
 * that pass on a single value go. Linear in the blocks where the part is live, their edges and the accesses.
 */

import { incomingEdges } from "../../ir/cfg-edit.js";
import type { Editor } from "../../ir/editor.js";
import { type Block, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { ConstUndef, type Value } from "../../ir/values.js";
import { byteOf, filledValue, type Slice } from "./slices.js";
import { recordsOf, type VariableParts } from "./variables.js";

const nothing: VariableParts = [];

/** Facts about the control flow that all parts share. */
export interface Flow {
  /** Blocks that control reaches, in reverse postorder. */
  readonly order: readonly Block[];
}

/** The accesses of each block, in order. */
function accessesByBlock({ accesses }: Slice): Map<Block, Inst[]> {
  const of = new Map<Block, Inst[]>();
  for (const inst of accesses) {
    const list = of.get(inst.parent!);
    if (list === undefined) of.set(inst.parent!, [inst]);
    else list.push(inst);
  }
  for (const [block, list] of of) {
    if (list.length === 1) continue;
    const wanted = new Set(list);
    of.set(
      block,
      block.insts.filter((inst) => wanted.has(inst)),
    );
  }
  return of;
}

/** Blocks at whose start the value matters. */
function liveBlocks(editor: Editor, accesses: ReadonlyMap<Block, readonly Inst[]>): Set<Block> {
  const live = new Set<Block>();
  const work: Block[] = [];
  for (const [block, list] of accesses) if (list[0]!.op === Op.Load) work.push(block);
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    if (live.has(block)) continue;
    live.add(block);
    // What is written in a block is not live before it, unless it is read first.
    for (const before of incomingEdges(editor, block))
      if (accesses.get(before)?.some((inst) => inst.op !== Op.Load) !== true) work.push(before);
  }
  return live;
}

/** Loads and stores of the part are gone afterwards; fills stay for other parts. */
export function promote(editor: Editor, slice: Slice, { order }: Flow, parts: VariableParts = nothing): void {
  const accesses = accessesByBlock(slice);
  const live = liveBlocks(editor, accesses);
  const { type } = slice;
  const undefinedValue = new ConstUndef(type, false);
  const atStart = new Map<Block, Value>();
  const atEnd = new Map<Block, Value>();
  const phis: Inst[] = [];
  for (const block of live) {
    if (block === editor.body.blocks[0]) continue;
    const edges = incomingEdges(editor, block);
    if (new Set(edges).size <= 1) continue;
    const phi = makeInst(Op.Phi, type, [], null, []);
    editor.prependPhi(phi, block);
    if (parts.length > 0)
      editor.addRecords(block.insts[editor.firstAfterPhis(block)]!, recordsOf(parts, phi));
    phis.push(phi);
    atStart.set(block, phi);
  }
  for (const block of order) {
    const list = accesses.get(block);
    if (list === undefined && !live.has(block)) continue;
    let value = atStart.get(block) ?? null;
    if (value === null && live.has(block)) {
      const before = editor.uses.first(block)?.parent ?? null;
      value = before === null ? undefinedValue : (atEnd.get(before) ?? undefinedValue);
    }
    for (const inst of list ?? []) value = step(editor, inst, slice, value ?? undefinedValue, parts);
    atEnd.set(block, value ?? undefinedValue);
  }
  for (const phi of phis) {
    const edges = incomingEdges(editor, phi.parent!);
    const values = edges.map((edge) => atEnd.get(edge) ?? undefinedValue);
    editor.setLists(phi, values, edges);
  }
  // What control does not reach.
  for (const inst of slice.accesses) {
    if (inst.parent === null || inst.op === Op.Call) continue;
    if (inst.op === Op.Load) editor.replaceAllUses(inst, new ConstUndef(type, true));
    editor.erase(inst);
  }
  removeTrivial(editor, phis);
}

/** @returns the value after an access */
function step(editor: Editor, inst: Inst, slice: Slice, value: Value, parts: VariableParts): Value {
  if (inst.op === Op.Load) {
    editor.replace(inst, value);
    return value;
  }
  if (inst.op === Op.Store) {
    const stored = inst.operands[0]!;
    if (parts.length > 0) editor.appendRecords(inst, recordsOf(parts, stored));
    editor.erase(inst);
    return stored;
  }
  const filled = filledValue(byteOf(inst), slice)!;
  if (parts.length > 0) editor.appendRecords(inst, recordsOf(parts, filled));
  return filled;
}

/** Phis that pass on one value go. */
function removeTrivial(editor: Editor, phis: readonly Inst[]): void {
  const own = new Set(phis);
  const work = [...phis];
  for (let phi = work.pop(); phi !== undefined; phi = work.pop()) {
    if (phi.parent === null) continue;
    let only: Value | null = null;
    let isTrivial = true;
    for (const value of phi.operands) {
      if (value === phi || value === only) continue;
      if (only !== null) isTrivial = false;
      only ??= value;
    }
    if (!isTrivial || only === null) continue;
    const users = editor.users(phi);
    editor.replace(phi, only);
    for (const user of users) if (own.has(user)) work.push(user);
  }
}
