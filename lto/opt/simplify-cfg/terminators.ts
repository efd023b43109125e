/** Rules of `simplify-cfg` on how blocks end: decided branches, small switches, code that control never gets to. */
import { isNullValid } from "../../analysis/value-facts.js";
import { endUnreachable, jumpTo, replaceTerminator } from "../../ir/cfg-edit.js";
import {
  type Block,
  type CallInst,
  Flag,
  type Inst,
  type InstWith,
  isCall,
  isPlainAccess,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { i1, voidType } from "../../ir/types.js";
import type { ConstInt, Value } from "../../ir/values.js";
import { neverReturns, neverUnwinds } from "../call-effects.js";
import { bitsOf, type Graph, isDead, type Plan } from "./graph.js";

const goTo =
  (block: Block, target: Block): Plan =>
  ({ editor }) =>
    void replaceTerminator(editor, block, jumpTo(target));
const endsBefore =
  (inst: Inst): Plan =>
  ({ editor }) =>
    endUnreachable(editor, inst);

/** Branches and switches. */
export function decideTerminator(block: Block, graph: Graph): Plan | null {
  const { terminator } = block;
  switch (terminator.op) {
    case Op.Br:
      // Phis of a loop around nothing would lose themselves.
      return isDead(terminator.blocks[0]!) ? endsBefore(terminator) : null;
    case Op.CondBr:
      return decideBranch(block, terminator);
    case Op.Switch:
      return decideSwitch(block, terminator, graph);
    case Op.Invoke:
      return neverUnwinds(terminator) ? callInstead(block, terminator) : null;
    default:
      return null;
  }
}

function decideBranch(block: Block, branch: Inst): Plan | null {
  const condition = branch.operands[0]!;
  const [ifTrue, ifFalse] = branch.blocks as readonly [Block, Block];
  if (ifTrue === ifFalse) return goTo(block, ifTrue);
  if (condition.valueKind === "int") return goTo(block, condition.value !== 0n ? ifTrue : ifFalse);
  // A branch on what is undefined is undefined behaviour.
  if (condition.valueKind === "undef") return endsBefore(branch);
  if (isDead(ifTrue)) return isDead(ifFalse) ? endsBefore(branch) : goTo(block, ifFalse);
  if (isDead(ifFalse)) return goTo(block, ifTrue);
  if (condition.valueKind !== "inst" || condition.op !== Op.Xor) return null;
  const by = condition.operands[1]!;
  if (by.valueKind !== "int" || by.value !== -1n) return null;
  const inverted = condition.operands[0]!;
  return ({ editor }) =>
    void replaceTerminator(editor, block, makeInst(Op.CondBr, voidType, [inverted], null, [ifFalse, ifTrue]));
}

/** An invoke of what does not unwind is a call. */
function callInstead(block: Block, invoke: InstWith<Op.Invoke>): Plan {
  return ({ editor }) => {
    const call = makeInst(Op.Call, invoke.type, [...invoke.operands], invoke.data, [], invoke.flags);
    call.hints = invoke.hints;
    editor.insertBefore(call, invoke);
    editor.replaceAllUses(invoke, call);
    replaceTerminator(editor, block, jumpTo(invoke.blocks[0]!));
  };
}

function decideSwitch(block: Block, inst: InstWith<Op.Switch>, graph: Graph): Plan | null {
  const value = inst.operands[0]!;
  const cases = inst.data;
  const otherwise = inst.blocks[0]!;
  if (value.valueKind === "int") {
    const at = cases.findIndex((label) => label.value === value.value);
    return goTo(block, inst.blocks[at + 1]!);
  }
  if (value.valueKind === "undef") return endsBefore(inst);
  const kept: number[] = [];
  const possible = possibleValues(value, graph);
  for (let i = 0; i < cases.length; i++) {
    const target = inst.blocks[i + 1]!;
    if (target !== otherwise && !isDead(target) && possible(cases[i]!)) kept.push(i);
  }
  const hasDefault = !isDead(otherwise);
  if (kept.length === 0) return hasDefault ? goTo(block, otherwise) : endsBefore(inst);
  const first = inst.blocks[kept[0]! + 1]!;
  if (!hasDefault && kept.every((i) => inst.blocks[i + 1] === first)) return goTo(block, first);
  if (hasDefault && kept.length === 1) return compare(block, value, cases[kept[0]!]!, first, otherwise);
  if (!hasDefault && kept.length === 2)
    return compare(block, value, cases[kept[0]!]!, first, inst.blocks[kept[1]! + 1]!);
  if (kept.length === cases.length) return null;
  const labels = kept.map((i) => cases[i]!);
  const targets = [otherwise, ...kept.map((i) => inst.blocks[i + 1]!)];
  return ({ editor }) =>
    void replaceTerminator(editor, block, makeInst(Op.Switch, voidType, [value], labels, targets));
}

function possibleValues(value: Value, graph: Graph): (label: ConstInt) => boolean {
  const known = bitsOf(value, graph);
  if (known.zero === 0n && known.one === 0n) return () => true;
  const { bits } = value.type;
  return (label) => {
    const n = BigInt.asUintN(bits, label.value);
    return (n & known.zero) === 0n && (~n & known.one) === 0n;
  };
}

function compare(block: Block, value: Value, label: ConstInt, equal: Block, other: Block): Plan {
  return ({ editor }) => {
    const test = makeInst(Op.ICmp, i1, [value, label], "eq");
    editor.insertBefore(test, block.terminator);
    replaceTerminator(editor, block, makeInst(Op.CondBr, voidType, [test], null, [equal, other]));
  };
}

/** Blocks of a function that is so short that branches to its end are. */
const shortFunction = 48;

/** Code after what never returns or is undefined behaviour, and code that can only lead there. */
export function endDeadCode(block: Block, { fn, goal, blockCount }: Graph): Plan | null {
  const { insts } = block;
  const last = insts.length - 1;
  // Where size counts, a block of a long function that comes back to others stays among them: ending it saves a jump at
  // most, and costs long branches to where it is laid out then, and the shares that its values have in the registers of
  // the others. In short functions the jump, and registers that need not be saved, are worth more.
  const canEnd = goal === "speed" || blockCount <= shortFunction || insts[last]!.op !== Op.Br;
  for (let i = 0; i < last; i++) {
    const inst = insts[i]!;
    if (inst.op === Op.Call) {
      if (isUndefinedCallee(inst, fn.attributes.fn.has("null_pointer_is_valid"))) return endsBefore(inst);
      if (canEnd && insts[i + 1]!.op !== Op.Unreachable && neverReturns(inst))
        return endsBefore(insts[i + 1]!);
    } else if (inst.op === Op.Load || inst.op === Op.Store) {
      if ((inst.flags & Flag.Volatile) !== 0) continue;
      const address = inst.operands[inst.op === Op.Load ? 0 : 1]!;
      const isNull = address.valueKind === "zero" && !isNullValid(fn, address.type.addressSpace);
      if (isNull || address.valueKind === "undef") return endsBefore(inst);
    }
  }
  if (insts[last]!.op !== Op.Unreachable) return null;
  let first = last;
  while (first > 0 && isSureToGoOn(insts[first - 1]!)) first--;
  return first < last ? endsBefore(insts[first]!) : null;
}

function isUndefinedCallee(call: CallInst, isNullValid: boolean): boolean {
  const callee = call.operands[0]!;
  if (callee.valueKind === "undef") return true;
  return callee.valueKind === "zero" && callee.type.addressSpace === 0 && !isNullValid;
}

/** Whether control gets after the instruction whenever it gets in front, and nobody can see that it was there. */
function isSureToGoOn(inst: Inst): boolean {
  if (isCall(inst)) {
    const intrinsic = intrinsicOf(inst.operands[0]!);
    return intrinsic?.noUnwind === true && intrinsic.willReturn && intrinsic.noSync;
  }
  switch (inst.op) {
    case Op.Phi:
    case Op.LandingPad:
    case Op.Fence:
    case Op.CmpXchg:
    case Op.AtomicRMW:
    case Op.VAArg:
      return false;
    case Op.Load:
    case Op.Store:
      return isPlainAccess(inst);
    default:
      return true;
  }
}
