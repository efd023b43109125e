/**
 * Inlining at an invoke: what the copied body throws arrives at the landing pad of the call.
 *
 *     invoke @f() unwind label %pad         in the copy: call @g()        →  invoke @g() unwind label %pad
 *     pad: %p = landingpad …                             resume %v        →  br label %inner
 *          …                                             landingpad …     →  landingpad … and the clauses of %pad
 *                                           inner: %v' = phi [ %p, %pad ], [ %v, … ]
 *
 * The personality looks at one landing pad for each frame. So an exception that the copy's own landing pads do not want
 * but that of the caller does has to be caught there too: they get its clauses, after their own. What they pass
 * on (`resume`) has been caught then, and goes on after the outer landing pad.
 *
 * Both functions have the same personality, or the callee has none. Linear in the calls of the copy and the phis of the
 * landing pad's block.
 */

import { phisOf, renamePhiEntries, splitBlock } from "../../ir/cfg-edit.js";
import { passRecords } from "../../ir/debug-records.js";
import type { Editor } from "../../ir/editor.js";
import { Block, type CallInst, type Inst, type LandingPadData, makeInst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { raw } from "../../ir/raw.js";
import { voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";

/** A branch to one block, for blocks in no body. */
export const branchTo = (target: Block): Inst => makeInst(Op.Br, voidType, [], null, [target]);

/** Whether an exception can come out of a call. */
function mayThrow(call: CallInst): boolean {
  if (call.data.attributes.fn.has("nounwind")) return false;
  const callee = call.operands[0]!;
  if (callee.valueKind === "asm") return callee.canUnwind;
  if (intrinsicOf(callee)?.noUnwind === true) return false;
  return !(
    callee.valueKind === "global" &&
    callee.kind === "function" &&
    callee.attributes.fn.has("nounwind")
  );
}

/** The landing pad of an invoke. */
export function landingPadOf(invoke: CallInst): Inst | null {
  for (const inst of invoke.blocks[1]!.insts)
    if (inst.op !== Op.Phi) return inst.op === Op.LandingPad ? inst : null;
  return null;
}

export interface Unwinding {
  /** What calls have become. */
  readonly made: ReadonlyMap<Value, CallInst>;
  /** To be called once the copies are in the body: gives the phis of the landing pad their new entries. */
  link(): void;
}

/** Prepares copies, which are in no body yet, to stand for an invoke. New blocks are added to the list. */
export function unwindThrough(editor: Editor, invoke: CallInst, copies: Block[]): Unwinding {
  const pad = invoke.blocks[1]!;
  const outer = landingPadOf(invoke)!;
  const site = invoke.parent!;
  const made = new Map<Value, CallInst>();
  const unwinding: Block[] = [];
  const resuming: Block[] = [];
  for (let b = 0; b < copies.length; b++) {
    const block = copies[b]!;
    const { insts } = block;
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      if (inst.op === Op.LandingPad) extend(inst, outer);
      else if (inst.op === Op.Call && mayThrow(inst)) {
        const rest = new Block();
        made.set(inst, toInvoke(block, i, rest, pad));
        copies.splice(b + 1, 0, rest);
        unwinding.push(block);
        break;
      } else if (inst.op === Op.Resume) resuming.push(block);
    }
  }
  renameResults(copies, made);
  return { made, link: () => link(editor, { pad, outer, site }, unwinding, resuming) };
}

/** Ends a block with call `at` as an invoke; what follows goes to `rest`. */
function toInvoke(block: Block, at: number, rest: Block, pad: Block): CallInst {
  const call = block.insts[at]! as CallInst;
  for (const target of new Set(block.successors)) renamePhiEntries(target, block, rest);
  const moved = raw(block).insts.splice(at);
  call.parent = null;
  for (const inst of moved.slice(1)) rest.append(inst);
  const data = { ...call.data, tail: "" as const };
  const invoke = makeInst(Op.Invoke, call.type, [...call.operands], data, [rest, pad], call.flags);
  invoke.hints = call.hints;
  passRecords(call, invoke);
  block.append(invoke);
  return invoke;
}

/** The copies are in no use lists yet, so users of what became an invoke are found by walking. */
function renameResults(copies: readonly Block[], by: ReadonlyMap<Value, Value>): void {
  if (by.size === 0) return;
  for (const { insts } of copies)
    for (const inst of insts) {
      for (const record of inst.debug ?? [])
        record.values = record.values.map((value) => by.get(value) ?? value);
      const { operands } = raw(inst);
      for (let i = 0; i < operands.length; i++) operands[i] = by.get(operands[i]!) ?? operands[i]!;
    }
}

function extend(inner: Inst, outer: Inst): void {
  const own = inner.data as LandingPadData;
  const more = outer.data as LandingPadData;
  const data: LandingPadData = {
    cleanup: own.cleanup || more.cleanup,
    clauses: [...own.clauses, ...more.clauses],
  };
  (inner as { data: LandingPadData }).data = data;
  raw(inner).operands.push(...outer.operands);
}

interface Place {
  readonly pad: Block;
  readonly outer: Inst;
  readonly site: Block;
}

function link(
  editor: Editor,
  { pad, outer, site }: Place,
  unwinding: readonly Block[],
  resuming: readonly Block[],
): void {
  const phis = phisOf(pad);
  const passed = phis.map((phi) => phi.operands[phi.blocks.indexOf(site)]!);
  if (unwinding.length > 0)
    phis.forEach((phi, i) => {
      const values = unwinding.map(() => passed[i]!);
      editor.setLists(phi, [...phi.operands, ...values], [...phi.blocks, ...unwinding]);
    });
  if (resuming.length === 0) return;
  const inner = splitBlock(editor, pad.insts[editor.positionOf(outer) + 1]!);
  const thrown = resuming.map(({ terminator }) => terminator.operands[0]!);
  const joins = [
    joinOf(outer, thrown),
    ...phis.map((phi, i) =>
      joinOf(
        phi,
        resuming.map(() => passed[i]!),
      ),
    ),
  ];
  for (const { phi } of joins) editor.prependPhi(phi, inner);
  // What comes again to the pad, or to a resuming block, comes from behind the inner block.
  for (const { phi, value } of joins)
    editor.replaceUsesIf(value, phi, (user, slot) => user !== phi || slot > 0);
  for (const block of resuming) {
    editor.erase(block.terminator);
    editor.append(branchTo(inner), block);
  }

  /** What is after the landing pad in the place of a value of its block. */
  function joinOf(value: Inst, others: readonly Value[]): { phi: Inst; value: Inst } {
    return { value, phi: makeInst(Op.Phi, value.type, [value, ...others], null, [pad, ...resuming]) };
  }
}
