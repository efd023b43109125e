/**
 * Pointers that are never null where they are passed or returned (`nonnull`), so that callees and callers need not ask.
 *
 * Results: every `ret` of a function gives what is not null by itself, or because a branch on the way to it asked.
 * Parameters of closed functions: every call passes what is not null, or a parameter of its own that is not; calls that
 * pass on a parameter are links, followed to a fixpoint from the best assumption. One look at each body; linear.
 *
 * Proof obligations:
 *  - all calls of a function with such a parameter are known, and agree with it on its type;
 *  - where null is an address like others, nothing is said;
 *  - a branch proves something only for what it alone leads to.
 */
import { onlyPredecessors } from "../../analysis/cfg.js";
import { isNonNull, isNullValid } from "../../analysis/value-facts.js";
import { type Block, Flag, type Inst, isCall, Op } from "../../ir/instructions.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import type { Argument, Value } from "../../ir/values.js";

/** Blocks with one predecessor that are walked up in search of a branch. */
const farthest = 6;
const deepest = 3;

/** Whether all that a function returns is not null. Its body is numbered. */
export function resultIsNonNull(fn: Func): boolean {
  if (fn.valueType.kind !== "function" || fn.valueType.result.kind !== "ptr") return false;
  if (isNullValid(fn, fn.valueType.result.addressSpace)) return false;
  const { blocks } = fn.view();
  let before: readonly (Block | null)[] | null = null;
  let returns = 0;
  const holds = (value: Value, at: Block, depth: number): boolean => {
    if (isNonNull(value, fn)) return true;
    if (value.valueKind === "inst" && value.op === Op.Phi && depth < deepest)
      return value.operands.every((each, i) => each !== value && holds(each, value.blocks[i]!, depth + 1));
    if (value.valueKind !== "inst" && value.valueKind !== "argument") return false;
    before ??= onlyPredecessors(blocks);
    return isAsked(value, at, before);
  };
  for (const block of blocks) {
    const { terminator } = block;
    if (terminator.op !== Op.Ret) continue;
    returns++;
    if (!holds(terminator.operands[0]!, block, 0)) return false;
  }
  return returns > 0;
}

/** Whether a comparison with null, on the only way to a block, says that a pointer is not. */
function isAsked(pointer: Value, at: Block, before: readonly (Block | null)[]): boolean {
  let block = at;
  for (let n = 0; n < farthest; n++) {
    const from = before[block.id]!;
    if (from === null) return false;
    const { terminator } = from;
    if (terminator.op === Op.CondBr) {
      const test = terminator.operands[0]!;
      if (test.valueKind === "inst" && test.op === Op.ICmp && comparesWithNull(test, pointer)) {
        if (test.data === "eq" && terminator.blocks[1] === block) return true;
        if (test.data === "ne" && terminator.blocks[0] === block) return true;
      }
    }
    block = from;
  }
  return false;
}
const comparesWithNull = ({ operands }: Inst, pointer: Value): boolean =>
  (operands[0] === pointer && operands[1]!.valueKind === "zero") ||
  (operands[1] === pointer && operands[0]!.valueKind === "zero");

/** A parameter is not null if another is not. */
interface Link {
  readonly from: Func;
  readonly index: number;
  readonly to: Func;
  readonly as: number;
}

/** Over all calls of the program. */
export class NonNullParameters {
  /** By closed function, 1: some call may pass null. */
  private readonly mayBeNull = new Map<GlobalValue, Uint8Array>();
  private readonly links: Link[] = [];

  /** @param closed functions all of whose calls are in the bodies that will be looked at */
  constructor(closed: Iterable<Func>) {
    for (const fn of closed) {
      const flags = Uint8Array.from(fn.args, ({ type }) =>
        type.kind === "ptr" && !isNullValid(fn, type.addressSpace) ? 0 : 1,
      );
      if (flags.includes(0)) this.mayBeNull.set(fn, flags);
    }
  }

  /** Notes what the calls in a body pass. */
  look(fn: Func): void {
    for (const { insts } of fn.view().blocks)
      for (const inst of insts) {
        if (!isCall(inst)) continue;
        const callee = inst.operands[0]!;
        if (callee.valueKind !== "global") continue;
        const flags = this.mayBeNull.get(callee);
        if (flags === undefined) continue;
        const agrees = inst.data.functionType === callee.valueType;
        for (let i = 0; i < flags.length; i++) {
          if (flags[i] === 1) continue;
          if (!agrees) flags[i] = 1;
          else this.pass(fn, inst.operands[i + 1]!, callee as Func, i, flags);
        }
      }
  }
  private pass(fn: Func, value: Value, callee: Func, index: number, flags: Uint8Array): void {
    if (isNonNull(value, fn)) return;
    const argument = argumentBelow(value);
    if (argument === null || !this.mayBeNull.has(fn) || isNullValid(fn, 0)) flags[index] = 1;
    else if (fn !== callee || argument.index !== index)
      this.links.push({ from: fn, index: argument.index, to: callee, as: index });
  }

  /** Parameters that are never null, of functions that have any. */
  found(): Map<Func, readonly number[]> {
    for (let changed = true; changed; ) {
      changed = false;
      for (const { from, index, to, as } of this.links) {
        const flags = this.mayBeNull.get(to)!;
        if (flags[as] === 1 || this.mayBeNull.get(from)![index] === 0) continue;
        flags[as] = 1;
        changed = true;
      }
    }
    const result = new Map<Func, readonly number[]>();
    for (const [fn, flags] of this.mayBeNull) {
      const indices: number[] = [];
      flags.forEach((flag, i) => {
        if (flag === 0 && !(fn as Func).attributes.parameter(i).has("nonnull")) indices.push(i);
      });
      if (indices.length > 0) result.set(fn as Func, indices);
    }
    return result;
  }
}

/** The parameter that an address lies beyond without leaving its object: null only if that is. */
function argumentBelow(address: Value): Argument | null {
  let value = address;
  while (value.valueKind === "inst" && value.op === Op.GetElementPtr && (value.flags & Flag.InBounds) !== 0)
    value = value.operands[0]!;
  return value.valueKind === "argument" ? value : null;
}
