/**
 * sroa: local variables whose addresses go nowhere become values, whole or in parts (scalar replacement of aggregates,
 * and promotion of memory to registers).
 *
 *     %v = alloca { i32, i32 }
 *     store i32 %x, ptr %v                                %y = add i32 %x, 1
 *     %q = getelementptr i8, ptr %v, i64 4       →
 *     %a = load i32, ptr %v
 *     %y = add i32 %a, 1
 *
 * Why: compilers of single files do that with what they see; inlining shows more, and unoptimised objects have all of it.
 *
 * Method: `slices.ts` takes a variable apart, perhaps after `split-accesses.ts`, `promote.ts` makes phis; copies of constants that are only read go by
 * `constant-copies.ts`. A body without allocas costs a look at its first
 * block; one whose variables are used in other ways a walk, without use lists.
 *
 * Proof obligations: every use of the address is seen, and none lets it out; accesses are neither volatile nor atomic,
 * and equal in bytes and type or disjoint, or made so; the alloca is executed once (entry block, constant size). What was never
 * written is undef. Values that a second return of `setjmp` could see keep their places.
 * Breaks if: control enters a block by a way that is no edge.
 */

import { reversePostOrder } from "../../analysis/cfg.js";
import type { DebugRecord } from "../../ir/debug-records.js";
import type { Editor } from "../../ir/editor.js";
import { type BodyView, type Inst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import { returnsTwice } from "../../ir/returns-twice.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionContext, FunctionPass } from "../../pass/pass.js";
import { constantCopies, copiedConstant } from "./constant-copies.js";
import { promote } from "./promote.js";
import { offsetOf, partsOf } from "./slices.js";
import { isCopy, splitAccesses } from "./split-accesses.js";
import { replacedDeclarations, variableParts } from "./variables.js";

export const sroa: FunctionPass = {
  name: "sroa",
  level: "function",
  description: "makes local variables whose addresses go nowhere values, whole or in parts",
  counters: {
    variables: "variables that became values",
    parts: "parts of them with accesses",
    copies: "variables that were copies of constants",
    split: "variables whose accesses overlapped or were copies",
  },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(fn, context) {
    const view = context.view();
    if (fn.attributes.fn.has("naked")) return false;
    const found = findCandidates(view, context);
    if (!found.isTaken && !found.isCopied) return false;
    const copies = found.isCopied ? replaceCopies(fn, view, context) : 0;
    if (!found.isTaken) return copies > 0;
    const editor = fn.edit();
    let variables = 0;
    const blocks = editor.body.blocks;
    editor.body.renumber();
    const order = reversePostOrder(editor.body).map((b) => blocks[b]!);
    const replaced = new Set<DebugRecord>();
    for (const alloca of blocks[0]!.insts.filter(isFixed)) {
      let parts = partsOf(alloca, editor, context.layout);
      if (parts === null && splitAccesses(alloca, editor, context.layout, context.goal)) {
        context.count("split");
        parts = partsOf(alloca, editor, context.layout);
      }
      if (parts === null) continue;
      for (const slice of parts.slices) {
        editor.sweep();
        promote(editor, slice, { order }, variableParts(editor, alloca, slice));
      }
      for (const record of replacedDeclarations(editor, alloca)) replaced.add(record);
      removeRest(editor, alloca, parts.rest);
      variables++;
      context.count("parts", parts.slices.length);
    }
    editor.removeRecords(replaced);
    context.count("variables", variables);
    return variables + copies > 0;
  },
};

/** Readers of copies of constants read the constants. @returns number of variables that went */
function replaceCopies(fn: Func, view: BodyView, context: FunctionContext): number {
  const variables = view.blocks[0]!.insts.filter(isFixed);
  const copies = constantCopies(view, view.renumber(), variables, context.layout);
  if (copies.length === 0) return 0;
  const editor = fn.edit();
  for (const { alloca, source, rest } of copies) {
    for (const inst of rest) editor.erase(inst);
    editor.replace(alloca, source);
  }
  context.count("copies", copies.length);
  return copies.length;
}

/** Fills first, then addresses, those further on before those they are made of. */
function removeRest(editor: Editor, alloca: Inst, rest: readonly Inst[]): void {
  for (const inst of rest) if (inst.op === Op.Call && inst.parent !== null) editor.erase(inst);
  for (const inst of rest) if (inst.op !== Op.Call) editor.erase(inst);
  editor.erase(alloca);
}

const isFixed = (inst: Inst): inst is Inst & { readonly op: Op.Alloca } => {
  if (inst.op !== Op.Alloca || inst.data.inalloca || inst.data.swifterror) return false;
  const count = inst.operands[0]!;
  return count.valueKind === "int" && count.value === 1n && inst.type.addressSpace === 0;
};

/** What looks as if it could be done. */
interface Found {
  /** To take some variable apart; uses before definitions in the layout are missed. */
  readonly isTaken: boolean;
  /** To do without a variable that a constant is copied to. */
  readonly isCopied: boolean;
}
const nothing: Found = { isTaken: false, isCopied: false };

function findCandidates(view: BodyView, { layout }: FunctionContext): Found {
  const entry = view.blocks[0]!;
  if (!entry.insts.some(isFixed)) return nothing;
  /** By instruction: number of the variable that it is an address in, from 1; 0: none. */
  const variable = new Uint32Array(view.renumber());
  const isLost: boolean[] = [true];
  let isCopied = false;
  for (const inst of entry.insts) if (isFixed(inst)) variable[inst.id] = isLost.push(false) - 1;
  for (const { insts } of view.blocks)
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      if (returnsTwice(inst)) return nothing;
      const { operands } = inst;
      for (let k = 0; k < operands.length; k++) {
        const operand = operands[k]!;
        if (operand.valueKind !== "inst") continue;
        const number = variable[operand.id]!;
        if (number === 0) continue;
        if (inst.op === Op.GetElementPtr && k === 0 && offsetOf(inst, layout) !== null)
          variable[inst.id] = number;
        else {
          isCopied ||= k === 1 && copiedConstant(inst) !== null;
          if (!isHarmless(inst, k)) isLost[number] = true;
        }
      }
    }
  return { isTaken: isLost.includes(false), isCopied };
}

function isHarmless(inst: Inst, slot: number): boolean {
  if (inst.op === Op.Load) return true;
  if (inst.op === Op.Store) return slot === 1;
  if (inst.op !== Op.Call) return false;
  if (isCopy(inst, slot)) return true;
  const name = intrinsicOf(inst.operands[0]!)?.name;
  return name === "lifetime.start" || name === "lifetime.end" || (name === "memset" && slot === 1);
}
