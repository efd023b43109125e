/**
 * Puts a copy of a function's body in the place of one call.
 *
 * Before:                                After:
 *
 *     entry: …                               entry: %slot = alloca …    (the callee's allocas of constant size)
 *     b:     %x = call i32 @f(i32 %a)        b:     (entry block of @f, %a for its parameter)
 *            …                               …      (its other blocks; `ret %v` branches to rest)
 *                                            rest:  %x = phi [ %v, … ]
 *                                                   …
 *
 * The copy is made outside of the body, changed there by plain lists, and then adopted; so use lists are touched once. A
 * callee of one block goes before the call, and no block is split. Linear in the callee, plus the rest of the
 * block that is split.
 *
 * Proof obligations (who asks has checked them: `obstacles.ts`): the call is by the callee's own type and convention, the
 * callee's definition is the one that runs, its body reads neither variable arguments nor its own frame, its
 * blocks have no addresses, caller and callee agree on what attributes of functions change about code.
 *  - Copies of byval arguments are made, as the callee would have got them.
 *  - Allocas of constant size move to the caller's entry: every call saw fresh, undefined memory, so memory that
 *    an earlier round of a loop wrote will do. Where the callee allocates more as it runs, the stack is as high as
 *    before when it returns.
 *  - `tail` stays on a copied call only where the call itself was `tail`: the callee's arguments may be the caller's slots.
 *  - Attributes of parameters and results go; what they claimed is forgotten. Alias scopes are made anew for each copy.
 *  - At an invoke, exceptions of the copy go where those of the call went: `exceptions.ts`.
 *
 * Breaks if: a callee can be entered or left in a way that its blocks do not show.
 */
import {
  mergeIntoPredecessor,
  removeBlocks,
  replaceTerminator,
  splitBlock,
  splitEdge,
} from "../../ir/cfg-edit.js";
import { CloneMap, cloneBlocks } from "../../ir/clone.js";
import { passRecords } from "../../ir/debug-records.js";
import type { Editor } from "../../ir/editor.js";
import { withHints } from "../../ir/hints.js";
import {
  type Block,
  type CallData,
  type CallInst,
  type Inst,
  isCall,
  isStaticAlloca,
  makeInst,
  Op,
  setCallData,
  type TailKind,
} from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import type { Origins } from "../../ir/origins.js";
import { raw } from "../../ir/raw.js";
import { i32, ptr, voidType } from "../../ir/types.js";
import { ConstUndef, constInt, type Value } from "../../ir/values.js";
import { branchTo, unwindThrough } from "./exceptions.js";
import type { InlineRuntime } from "./runtime.js";

/** What a call became. */
export interface Inlined {
  /** Calls of the copy, of which some may be inlined in turn. */
  readonly calls: readonly CallInst[];
}

/**
 * @param call of `callee`, in the editor's body, with no obstacle to it
 * @param runtime declares the intrinsics that copies of arguments need
 */
export function inlineCall(editor: Editor, call: CallInst, callee: Func, runtime: InlineRuntime): Inlined {
  const view = callee.view();
  view.renumber();
  const block = call.parent!;
  const args = callee.args.map((_, i) => passedFor(editor, call, callee, i, runtime));
  const copies = cloneBlocks(view.blocks, new CloneMap(args));
  if (view.hasDebug) editor.expectRecords();
  if (runtime.origins !== null) moveOrigins(copies, callee, call, editor.fn, runtime.origins);
  const entries = callCount(call) / (callee.entryCount ?? Number.NaN);
  const { calls, isDynamic } = adapt(copies, call.data.tail, entries);
  moveStaticAllocas(editor, copies[0]!);
  if (isDynamic) restoreStack(editor, call, copies, runtime);

  if (call.op === Op.Call && copies.length === 1 && copies[0]!.terminator.op === Op.Ret) {
    spliceBlock(editor, call, copies[0]!);
    return { calls };
  }
  if (call.op === Op.Invoke) {
    const rest = splitEdge(editor, block, 0);
    const invokes = unwindThrough(editor, call, copies);
    const result = returnTo(rest, copies);
    editor.adopt(copies, block);
    invokes.link();
    finishResult(editor, call, rest, result);
    replaceTerminator(editor, block, branchTo(copies[0]!));
    settle(editor, rest, copies[0]!, result.count);
    return { calls: calls.map((inner) => invokes.made.get(inner) ?? inner) };
  }
  const rest = splitBlock(editor, block.insts[editor.positionOf(call) + 1]!);
  const result = returnTo(rest, copies);
  editor.adopt(copies, block);
  finishResult(editor, call, rest, result);
  editor.erase(call);
  editor.erase(block.terminator);
  editor.append(branchTo(copies[0]!), block);
  settle(editor, rest, copies[0]!, result.count);
  return { calls };
}

/** The copies were written in the callee, or came there through calls of its own. */
function moveOrigins(
  copies: readonly Block[],
  callee: Func,
  call: CallInst,
  caller: Func,
  origins: Origins,
): void {
  const site = origins.inlined(call.origin, caller);
  for (const { insts } of copies)
    for (const inst of insts) {
      inst.origin = origins.moved(callee, inst.origin, site);
      if (inst.debug !== null)
        for (const record of inst.debug) record.origin = origins.moved(callee, record.origin, site);
    }
}

/** What stands for a parameter: what is passed, or the address of a copy of it. */
function passedFor(
  editor: Editor,
  call: CallInst,
  callee: Func,
  index: number,
  runtime: InlineRuntime,
): Value {
  const value = call.operands[index + 1]!;
  const attributes = callee.attributes.parameter(index);
  const type = attributes.type("byval");
  if (type === undefined) return value;
  const { layout } = runtime;
  const align = Math.max(attributes.int("align") ?? 1, layout.abiAlign(type));
  const data = { allocatedType: type, align, inalloca: false, swifterror: false };
  const copy = editor.insertAt(makeInst(Op.Alloca, ptr, [constInt(i32, 1)], data), editor.body.blocks[0]!, 0);
  const from = call.data.attributes.parameter(index).int("align") ?? attributes.int("align") ?? 1;
  editor.insertBefore(runtime.copy(copy, align, value, from, layout.allocSize(type)), call);
  return copy;
}

/** How often a call was executed in the profile; NaN: not known. */
function callCount({ hints }: CallInst): number {
  const weights = hints?.weights;
  return weights != null && weights.length === 1 ? weights[0]! : Number.NaN;
}

/** Finds the calls of the copy and lets them be what they are in another function. */
function adapt(
  copies: readonly Block[],
  site: TailKind,
  share: number,
): { calls: CallInst[]; isDynamic: boolean } {
  const calls: CallInst[] = [];
  let isDynamic = false;
  for (const [b, { insts }] of copies.entries())
    for (const inst of insts) {
      if (inst.op === Op.Alloca && !isStaticAlloca(inst, b === 0)) isDynamic = true;
      if (!isCall(inst)) continue;
      calls.push(inst);
      const { tail } = inst.data;
      // A call that had to be a tail call still ends a call of the caller's, if that may be one.
      const may: TailKind = site === "tail" || site === "musttail" ? "tail" : "";
      if (tail === "tail" || tail === "musttail") setTail(inst, tail === "tail" || may === "" ? may : "tail");
      const { hints } = inst;
      if (hints?.weights?.length === 1) {
        const weight = Math.min(Math.round(hints.weights[0]! * share), 0xffffffff);
        inst.hints = withHints(hints, { weights: Number.isNaN(weight) ? null : [weight] });
      }
    }
  return { calls, isDynamic };
}

const setTail = (call: CallInst, tail: TailKind): void => {
  if (call.data.tail !== tail) setCallData(call, { ...call.data, tail } as CallData);
};

function moveStaticAllocas(editor: Editor, entry: Block): void {
  const kept: Inst[] = [];
  let at = 0;
  for (const [i, inst] of entry.insts.entries()) {
    if (inst.op === Op.Alloca && isStaticAlloca(inst, true)) {
      inst.parent = null;
      passRecords(inst, entry.insts[i + 1]!);
      editor.insertAt(inst, editor.body.blocks[0]!, at++);
    } else kept.push(inst);
  }
  if (at > 0) raw(entry).insts = kept;
}

/** The stack is where it was when the copy is left by returning. */
function restoreStack(
  editor: Editor,
  call: CallInst,
  copies: readonly Block[],
  runtime: InlineRuntime,
): void {
  const saved = editor.insertBefore(runtime.saveStack(), call);
  for (const block of copies) {
    if (block.terminator.op !== Op.Ret) continue;
    const restore = runtime.restoreStack(saved);
    restore.parent = block;
    raw(block).insts.splice(-1, 0, restore);
  }
}

function spliceBlock(editor: Editor, call: CallInst, copy: Block): void {
  const { insts } = copy;
  for (let i = 0; i < insts.length - 1; i++) {
    const inst = insts[i]!;
    inst.parent = null;
    editor.insertBefore(inst, call);
  }
  const { debug } = copy.terminator;
  if (debug !== null) editor.addRecords(call, debug);
  const [value] = copy.terminator.operands;
  if (value !== undefined) editor.replaceAllUses(call, value);
  editor.erase(call);
}

interface Result {
  /** How many returns there are. */
  readonly count: number;
  /** What they return, if there is more than one; not in any block yet. */
  readonly phi: Inst | null;
  readonly only: Value | null;
}

/** Lets all returns of the copy branch to `rest`. */
function returnTo(rest: Block, copies: readonly Block[]): Result {
  const values: Value[] = [];
  const blocks: Block[] = [];
  for (const block of copies) {
    const { terminator } = block;
    if (terminator.op !== Op.Ret) continue;
    if (terminator.operands.length > 0) values.push(terminator.operands[0]!);
    blocks.push(block);
    raw(block).insts.pop();
    passRecords(terminator, block.append(branchTo(rest)));
  }
  if (values.length < 2) return { count: blocks.length, phi: null, only: values[0] ?? null };
  const phi = makeInst(Op.Phi, values[0]!.type, values, null, blocks);
  return { count: blocks.length, phi, only: null };
}

function finishResult(editor: Editor, call: CallInst, rest: Block, { phi, only }: Result): void {
  if (call.type === voidType) return;
  // After a call that never returns nobody sees the result.
  const value = phi ?? only ?? new ConstUndef(call.type, true);
  if (phi !== null && editor.hasUses(call)) editor.prependPhi(phi, rest);
  else if (phi !== null) return;
  editor.replaceAllUses(call, value);
}

/** Blocks that only follow each other become one; what is never reached goes. */
function settle(editor: Editor, rest: Block, entry: Block, returns: number): void {
  if (returns === 0) removeBlocks(editor, [rest]);
  else if (returns === 1) mergeIntoPredecessor(editor, rest);
  mergeIntoPredecessor(editor, entry);
}
