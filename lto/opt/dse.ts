/**
 * dse: stores that nobody sees are removed (dead store elimination).
 *
 *     store i32 1, ptr %p              ; overwritten before anything reads it
 *     store i32 2, ptr %p
 *     %x = load i32, ptr %q
 *     store i32 %x, ptr %q             ; what the place holds already
 *     store i32 3, ptr %own            ; a variable of the function's own that is not read any more
 *
 * Why: inlining shows both stores, or that a variable's readers are gone.
 *
 * Method: from each store, fill or copy a bounded walk forwards over memory operations; the store is dead if each way
 * gets to one that overwrites all of it, to the end of the lifetime of what it writes, or to a place that control never
 * leaves, before one that may read it. What the place holds already is found as for loads (`memory/contents.ts`). The
 * body is only looked at; what is dead goes in one walk. Linear, but for the walks, each of which has a limit.
 *
 * Proof obligations: reads are all that `memory/alias.ts` cannot exclude; a call that may unwind, or may not come
 * back otherwise (`longjmp`), shows memory to callers, unless it is the function's own; volatile and atomic stores stay; an address that is computed anew in each round of a
 * loop ends the walk there; a store of what is there stays if it gives the place another type, or its type back.
 * Breaks if: memory is read by what is no operation of the list.
 */
import { forgetStored } from "../ir/debug-reconcile.js";
import type { BodyView, Inst } from "../ir/instructions.js";
import { type Block, type CallInst, isCall, Op } from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import { raw } from "../ir/raw.js";
import { returnsTwice } from "../ir/returns-twice.js";
import { isConstant, sameConstant, type Value } from "../ir/values.js";
import { cfg, dominators, loops } from "../pass/analyses.js";
import type { FunctionPass } from "../pass/pass.js";
import { callReturns, neverUnwinds } from "./call-effects.js";
import { covers, isFrameOwn, mayRead } from "./memory/alias.js";
import { Contents } from "./memory/contents.js";
import { Access, type MemoryOperation, MemoryOperations } from "./memory/operations.js";

export const dse: FunctionPass = {
  name: "dse",
  level: "function",
  description: "removes stores that nothing reads, or that store what is there",
  counters: { dead: "stores that nothing read", same: "stores of what was there" },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(fn, context) {
    const { fn: attributes } = fn.attributes;
    if (attributes.has("naked") || attributes.has("presplitcoroutine")) return false;
    const view = context.view();
    const count = view.renumber();
    let writes = false;
    for (const { insts } of view.blocks)
      for (const inst of insts) {
        if (inst.op === Op.Store) writes = true;
        else if (isCall(inst)) {
          if (returnsTwice(inst)) return false;
          // Intrinsics that copy or set memory.
          writes ||= inst.op === Op.Call && intrinsicOf(inst.operands[0]!) !== null;
        }
      }
    // Most small functions store nothing, and need no list of what they do.
    if (!writes) return false;
    const memory = new MemoryOperations(view, count, fn, context.layout);
    const finder = new DeadStores(view, memory);
    const gone = finder.find();
    if (gone.size === 0) return false;
    const body = context.rewrite();
    if (body.hasDebug)
      forgetStored(
        body,
        [...gone].flatMap(({ operands }) => operands),
      );
    for (const block of body.blocks) {
      const kept = block.insts.filter((inst) => !gone.has(inst));
      if (kept.length < block.insts.length) raw(block).insts = kept;
    }
    context.count("dead", gone.size - finder.same);
    context.count("same", finder.same);
    return true;
  },
};

const mostOperations = 100;
const mostBlocks = 24;
const itself = (value: Value): Value => value;

class DeadStores {
  /** Stores of what was there. */
  same = 0;
  private readonly contents: Contents;
  private readonly blocks: readonly Block[];
  /** Which walk saw a block last. */
  private readonly seen: Int32Array;
  private walk = 0;
  private budget = 0;
  private readonly pending: Block[] = [];
  private readonly gone = new Set<Inst>();

  constructor(
    { blocks }: BodyView,
    private readonly memory: MemoryOperations,
  ) {
    this.blocks = blocks;
    const before: Block[][] = blocks.map(() => []);
    for (const block of blocks) for (const next of block.successors) before[next.id]!.push(block);
    this.contents = new Contents(memory, before, blocks[0]!, itself, true);
    this.seen = new Int32Array(blocks.length);
  }

  find(): ReadonlySet<Inst> {
    const { operations, starts } = this.memory;
    for (let b = 0; b < this.blocks.length; b++)
      for (let i = starts[b]!; i < starts[b + 1]!; i++) {
        const operation = operations[i]!;
        if (operation.access === Access.Store && this.isThere(operation, i)) {
          this.gone.add(operation.inst);
          this.same++;
        }
      }
    // Backwards: a store may be read only by a copy that is dead itself. What was taken for a reason that a store which
    // is gone gave stays right: that one stored what was there, or nobody read it.
    for (let b = this.blocks.length - 1; b >= 0; b--)
      for (let i = starts[b + 1]! - 1; i >= starts[b]!; i--) {
        const operation = operations[i]!;
        if (!isWrite(operation) || this.gone.has(operation.inst)) continue;
        if (this.isDead(operation, this.blocks[b]!, i)) this.gone.add(operation.inst);
      }
    return this.gone;
  }

  /** Whether the place holds that value already. */
  private isThere(operation: MemoryOperation, number: number): boolean {
    const stored = operation.inst.operands[0]!;
    // Only what was loaded, or is a constant, can be there but for another store of it.
    const held = this.contents.of(operation, number, stored.type);
    if (held === null) return false;
    return held === stored || (isConstant(held) && isConstant(stored) && sameConstant(held, stored));
  }

  private isDead(store: MemoryOperation, block: Block, number: number): boolean {
    const { pending, memory } = this;
    this.walk++;
    this.budget = mostOperations;
    pending.length = 0;
    let blocks = 0;
    const isOwn = isFrameOwn(store, memory);
    let at = block;
    let from = number + 1;
    for (;;) {
      const end = this.inBlock(at, from, store, isOwn);
      if (end === isSeen) return false;
      if (end === goesOn) {
        const { terminator } = at;
        if (terminator.op !== Op.Unreachable) {
          const { blocks: next } = terminator;
          // Back in the caller.
          if (next.length === 0 && !isOwn) return false;
          for (let i = 0; i < next.length; i++) {
            const to = next[i]!;
            if (this.seen[to.id] === this.walk) continue;
            this.seen[to.id] = this.walk;
            if (++blocks > mostBlocks) return false;
            pending.push(to);
          }
        }
      }
      const next = pending.pop();
      if (next === undefined) return true;
      at = next;
      from = memory.starts[at.id]!;
    }
  }

  private inBlock(block: Block, from: number, store: MemoryOperation, isOwn: boolean): number {
    const { memory } = this;
    const { anchor } = store;
    const end = memory.starts[block.id + 1]!;
    // The address is computed anew.
    if (anchor.valueKind === "inst" && anchor.parent === block && from === memory.starts[block.id])
      return isSeen;
    for (let i = from; i < end; i++) {
      const operation = memory.operations[i]!;
      if (--this.budget < 0) return isSeen;
      if (this.gone.has(operation.inst)) continue;
      if (mayRead(operation, store, memory)) return isSeen;
      // Itself, too: around a loop.
      if (isWrite(operation) ? covers(operation, store) : endsLifetime(operation, store)) return overwritten;
      if (!isOwn && isCall(operation.inst) && mayGoToCallers(operation.inst)) return isSeen;
    }
    return goesOn;
  }
}

/** By unwinding, or by `longjmp`. */
const mayGoToCallers = (call: CallInst): boolean => !neverUnwinds(call) || !callReturns(call);
const isWrite = ({ access }: MemoryOperation): boolean =>
  access === Access.Store || access === Access.Fill || access === Access.Copy;
const endsLifetime = (operation: MemoryOperation, store: MemoryOperation): boolean =>
  operation.access === Access.Mark && operation.anchor === store.base;

/** How a walk leaves a block: something may see the place; all of it is written, or has ended; neither. */
const isSeen = 0;
const overwritten = 1;
const goesOn = 2;
