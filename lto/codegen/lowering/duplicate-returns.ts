/**
 * duplicate-returns: a return that several paths share is copied to those that end in a call which can be a jump.
 *
 *     a: %x = tail call @f(…)                a: %x = tail call @f(…)
 *        br label %r                    →       ret %x
 *     r: %p = phi [ %x, %a ], …              r: %p = phi …
 *        ret %p                                 ret %p
 *
 * Front ends make one return of all, and selection finds tail calls only right before one; without this a recursion
 * that source and marks say runs in constant space grows the stack. Where size counts a second end of the function
 * costs more than the jump saves, so only recursive calls get one, round a cycle of functions too. Linear in blocks and edges.
 * What breaks it: a `tail` mark on a call that the caller's frame has to outlive.
 */

import type { AttributeList } from "../../ir/attributes.js";
import { allUnknown, recordsIn } from "../../ir/debug-records.js";
import { type Block, type CallInst, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import { raw } from "../../ir/raw.js";
import type { Value } from "../../ir/values.js";
import type { FunctionPass } from "../../pass/pass.js";
import type { LoweringContext } from "./context.js";

/** So many arguments, and no more, are sure to travel in registers. */
const registerArguments = 6;

/** The return of a block of which it is all, but for phis. */
function onlyReturn({ insts }: Block): Inst | null {
  const last = insts[insts.length - 1]!;
  return last.op === Op.Ret && insts.every((inst) => inst.op === Op.Phi || inst === last) ? last : null;
}

/** The call that a block ends with, before it goes on, if that can be a jump when a return follows. */
function lastCall({ insts }: Block): CallInst | null {
  let i = insts.length - 2;
  while (i >= 0 && insts[i]!.op === Op.ExtractValue) i--;
  const call = insts[i];
  if (call === undefined || call.op !== Op.Call || call.data.tail !== "tail") return null;
  const callee = call.operands[0]!;
  if (callee.valueKind === "asm" || intrinsicOf(callee) !== null) return null;
  const { argumentCount, attributes } = call.data;
  if (argumentCount > registerArguments) return null;
  return attributes.parameters.some((set) => set.type("byval") !== undefined) ? null : call;
}

const extension = ({ result }: AttributeList): string =>
  result.has("zeroext") ? "z" : result.has("signext") ? "s" : "";

/** Whether these values are just what the call returns. */
function areResults(call: CallInst, values: readonly Value[]): boolean {
  if (values.length === 1 && values[0] === call) return true;
  return values.every(
    (value, i) =>
      value.valueKind === "inst" &&
      value.op === Op.ExtractValue &&
      value.operands[0] === call &&
      value.data[0] === i &&
      call.type.elements.length === values.length,
  );
}

/** @returns the number of copies */
function duplicateReturns(fn: Func, blocks: readonly Block[], wanted: (callee: Value) => boolean): number {
  const { attributes } = fn;
  if (attributes.fn.string("disable-tail-calls") === "true") return 0;
  if (attributes.parameters.some((set) => set.type("sret") !== undefined)) return 0;
  let copies = 0;
  for (const block of blocks) {
    const { terminator } = block;
    if (terminator.op !== Op.Br) continue;
    const target = terminator.blocks[0]!;
    const ret = onlyReturn(target);
    const call = ret === null || target === block ? null : lastCall(block);
    if (ret === null || call === null || !wanted(call.operands[0]!)) continue;
    if (extension(call.data.attributes) !== extension(attributes)) continue;
    const values = ret.operands.map((operand) =>
      operand.valueKind === "inst" && operand.op === Op.Phi && operand.parent === target
        ? operand.operands[operand.blocks.indexOf(block)]!
        : operand,
    );
    if (!areResults(call, values)) continue;
    raw(block).insts.pop();
    const copy = block.append(makeInst(Op.Ret, ret.type, values, null));
    copy.debug = [...(terminator.debug ?? []), ...allUnknown(recordsIn(target))];
    terminator.debug = null;
    for (const phi of target.insts) {
      if (phi.op !== Op.Phi) break;
      const at = phi.blocks.indexOf(block);
      raw(phi).blocks.splice(at, 1);
      raw(phi).operands.splice(at, 1);
    }
    copies++;
  }
  return copies;
}

export const duplicateReturnsPass: FunctionPass<LoweringContext> = {
  name: "duplicate-returns",
  level: "function",
  description: "copies shared returns to calls that can be jumps then",
  counters: { copies: "returns copied after tail calls" },
  requires: [],
  preserves: [],
  run(fn, context) {
    const { goal, knownCallees } = context;
    const wanted = goal === "speed" ? () => true : knownCallees.isRecursive;
    const copies = duplicateReturns(fn, context.rewrite().blocks, wanted);
    if (copies > 0) context.count("copies", copies);
    return copies > 0;
  },
};
