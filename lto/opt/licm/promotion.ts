/**
 * Places in memory that loops read and write, and that they can keep in registers: their accesses become values
 * (`sroa/promote.ts`), with a load before the loop and a store after each edge out of it.
 */

import { reversePostOrder } from "../../analysis/cfg.js";
import { incomingEdges, splitEdge } from "../../ir/cfg-edit.js";
import { forgetStored } from "../../ir/debug-reconcile.js";
import type { Editor } from "../../ir/editor.js";
import { withHints } from "../../ir/hints.js";
import { type Block, type Inst, isCall, type MemoryData, makeInst, Op } from "../../ir/instructions.js";
import { type Type, voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { callReturns, neverUnwinds } from "../call-effects.js";
import type { CertainInstructions } from "../loops/certain.js";
import { exitEdges, type Loop, type Loops, preheaderOf } from "../loops/loop.js";
import { isFrameOwn, isSamePlace, mayModify, mayRead } from "../memory/alias.js";
import { Access, type MemoryOperation } from "../memory/operations.js";
import { promote } from "../sroa/promote.js";
import type { Hoisting } from "./hoist.js";
import type { LoopMemory } from "./loop-memory.js";

export interface Promotion {
  readonly loop: Loop;
  readonly accesses: readonly Inst[];
  readonly type: Type;
  /** One that is executed whenever the loop is entered. */
  readonly store: Inst;
}

const mostStores = 16;
const mostOperations = 200;
const mostExits = 4;

/** Addresses that it needs before loops are wanted of `hoisting`. */
export function findPromotions(
  hoisting: Hoisting,
  certain: CertainInstructions,
  memory: LoopMemory,
): Promotion[] {
  const { loops } = hoisting;
  const found: Promotion[] = [];
  const taken = new Set<Inst>();
  for (const loop of loops.all) {
    if (!hasFixedStore(loop, hoisting) || !hoisting.hasPreheader(loop)) continue;
    const stores = memory
      .writes(loop)
      .filter(({ access, inst }) => access === Access.Store && !taken.has(inst));
    if (stores.length > mostStores) continue;
    const invariant = stores.filter(({ inst }) => hoisting.isFixed(inst.operands[1]!, loop));
    const operations = memory.operations(loop);
    if (operations.length > mostOperations || !hasSimpleExits(loop, loops)) continue;
    for (const store of invariant) {
      if (taken.has(store.inst) || !certain.isCertain(store.inst, loop)) continue;
      const accesses = accessesOf(store, loop, operations, memory);
      if (accesses === null) continue;
      for (const inst of accesses) taken.add(inst);
      hoisting.want(store.inst.operands[1]!);
      found.push({ loop, accesses, type: store.inst.operands[0]!.type, store: store.inst });
    }
  }
  return found;
}

const hasFixedStore = (loop: Loop, hoisting: Hoisting): boolean => {
  for (const { insts } of loop.blocks)
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      if (inst.op === Op.Store && hoisting.isFixed(inst.operands[1]!, loop)) return true;
    }
  return false;
};

function hasSimpleExits(loop: Loop, loops: Loops): boolean {
  let exits = 0;
  for (const block of loop.blocks) {
    const { op, blocks } = block.terminator;
    for (const next of blocks) {
      if (loops.contains(loop, next.id)) continue;
      if (op !== Op.Br && op !== Op.CondBr && op !== Op.Switch) return false;
      if (++exits > mostExits) return false;
    }
  }
  return exits > 0;
}

/** All accesses of a store's place in a loop; null if something else may touch it, or see it from outside. */
function accessesOf(
  store: MemoryOperation,
  loop: Loop,
  operations: readonly MemoryOperation[],
  { memory }: LoopMemory,
): Inst[] | null {
  const type = store.inst.operands[0]!.type;
  if (!(type.kind === "int" || type.kind === "ptr" || type.isFloat)) return null;
  const isOwn = isFrameOwn(store, memory);
  const accesses: Inst[] = [];
  for (const operation of operations) {
    const { access, inst } = operation;
    if ((access === Access.Load || access === Access.Store) && isSamePlace(operation, store)) {
      if ((access === Access.Load ? inst.type : inst.operands[0]!.type) !== type) return null;
      accesses.push(inst);
    } else if (mayRead(operation, store, memory) || mayModify(operation, store, memory, false)) return null;
  }
  // Calls that are no operations on memory may leave the loop, too.
  if (!isOwn)
    for (const { insts } of loop.blocks)
      for (const inst of insts) if (isCall(inst) && !(callReturns(inst) && neverUnwinds(inst))) return null;
  return accesses;
}

/** Only values are made once edges are split: what is known of the control flow serves all places. */
export function promotePlaces(editor: Editor, promotions: readonly Promotion[]): void {
  if (promotions.length === 0) return;
  forgetStored(
    editor.body,
    promotions.map(({ store }) => store.operands[1]!),
  );
  const placed = promotions.map((promotion) => placeAccesses(editor, promotion));
  const { body } = editor;
  body.renumber();
  const position = new Int32Array(body.blocks.length);
  reversePostOrder(body).forEach((block, i) => {
    position[block] = i;
  });
  promotions.forEach(({ loop, type }, i) => {
    const { accesses, exits } = placed[i]!;
    const order = [preheaderOf(editor, loop), ...loop.blocks, ...exits];
    order.sort((a, b) => position[a.id]! - position[b.id]!);
    promote(editor, { offset: 0, size: 0, type, accesses }, { order });
  });
}

/** Puts a load before a loop, and stores after it. @returns with what becomes values, in terms of the place */
function placeAccesses(
  editor: Editor,
  { loop, accesses, type, store }: Promotion,
): { readonly accesses: Inst[]; readonly exits: readonly Block[] } {
  const address = store.operands[1]!;
  const data = store.data as MemoryData;
  const hints = accesses.every((inst) => inst.hints?.tbaa === store.hints?.tbaa)
    ? withHints(null, { tbaa: store.hints?.tbaa ?? null })
    : null;
  const load = (): Inst => {
    const made = makeInst(Op.Load, type, [address], data);
    made.hints = hints;
    return made;
  };
  const storeOf = (value: Value): Inst => {
    const made = makeInst(Op.Store, voidType, [value, address], data);
    made.hints = hints;
    return made;
  };
  const all = [...accesses];
  const before = preheaderOf(editor, loop).terminator;
  const first = editor.insertBefore(load(), before);
  all.push(editor.insertBefore(storeOf(first), before));
  const exits = exitBlocks(editor, loop);
  for (const exit of exits) {
    const at = editor.firstAfterPhis(exit);
    const last = editor.insertAt(load(), exit, at);
    all.push(last);
    editor.insertAt(storeOf(last), exit, at + 1);
  }
  return { accesses: all, exits };
}

/** Blocks that only edges out of the loop lead to, one for each edge. */
function exitBlocks(editor: Editor, loop: Loop): Block[] {
  const exits: Block[] = [];
  for (const { from, to } of exitEdges(loop)) {
    const edges = incomingEdges(editor, to);
    if (edges.length === 1) {
      exits.push(to);
      continue;
    }
    // Found anew: edges that were split have other successors.
    const made = splitEdge(editor, from, from.terminator.blocks.indexOf(to));
    for (let around = loop.outer; around !== null; around = around.outer)
      if (around.blocks.includes(to)) {
        around.adopt(made);
        break;
      }
    exits.push(made);
  }
  return exits;
}
