/**
 * Gives a function another signature, in place: its arguments, its returns and all its calls change together.
 *
 * The function stays the object that it is. What mentions it without a call (nothing may, but for addresses of its
 * blocks) and what is encoded elsewhere stays true, and no constant has to be rebuilt: pointers have no types. This is
 * the building block of dead-argument elimination, argument promotion and the like.
 *
 * Method: one look at each caller, which decides; then the body; then the calls, each by two callbacks at most. Linear
 * in the bodies of the callers. What breaks it: a caller that is not listed; an address of the function in a variable.
 * Callees with other conventions, musttail calls either way, and calls by another type make it refuse.
 */
import { type AttributeList, AttributeSet, AttributeList as List, noAttributes } from "./attributes.js";
import { Builder } from "./builder.js";
import { splitEdge } from "./cfg-edit.js";
import type { Editor } from "./editor.js";
import {
  type BodyView,
  type CallData,
  type CallInst,
  type Inst,
  isCall,
  makeInst,
  Op,
  setCallData,
} from "./instructions.js";
import type { Func } from "./module.js";
import { type Type, voidType } from "./types.js";
import { type Argument, type Constant, ConstUndef, type Value } from "./values.js";

export interface SignatureChange {
  /** The new function type; variadic exactly if the old one is. */
  readonly type: Type;
  /** For each new parameter the old one that it is, of the same type; -1 for one that is new. */
  readonly from: readonly number[];
  /** Attributes of new parameters, by their new positions; none if left out. */
  readonly parameterAttributes?: (index: number) => AttributeSet;
  /** What stands in the body for an old argument that is no longer passed; asked for those with uses only. */
  readonly replaceArgument?: (old: Argument, args: readonly Argument[], entry: Builder) => Value;
  /** What a call passes for a parameter that is new. The call still has its old operands. */
  readonly newArgument?: (index: number, call: CallInst, before: Builder) => Value;
  /** What a `ret` returns now; asked if the result's type changes and is not void. */
  readonly returned?: (ret: Inst, before: Builder) => Value;
  /** What stands for a call's old result; asked if the type changes and the result is used. */
  readonly oldResult?: (made: CallInst, after: Builder) => Value;
}

/**
 * @param callers every function whose body mentions `fn`; others in the list cost a look
 * @returns whether it was done; if not, nothing has changed
 */
export function changeSignature(fn: Func, change: SignatureChange, callers: Iterable<Func>): boolean {
  const oldType = fn.valueType;
  if (fn.isDeclaration || oldType.isVarArg !== change.type.isVarArg || fn.attributes.fn.has("naked"))
    return false;
  change.from.forEach((old, i) => {
    if (old >= 0 && oldType.parameters[old] !== change.type.parameters[i])
      throw new Error(`changeSignature: @${fn.name}: parameter ${i} has another type than what it was`);
  });
  if (hasMustTail(fn.view())) return false;
  const affected = callersOf(fn, new Set([...callers, fn]));
  if (affected === null) return false;

  const oldArgs = fn.args;
  const editor = fn.edit();
  const calls = affected.map((caller) => callsTo(caller.edit(), fn));
  const resultChanges = oldType.result !== change.type.result;
  fn.retype(change.type);
  fn.attributes = changedAttributes(fn.attributes, change, resultChanges, 0);
  replaceArguments(fn, editor, oldArgs, change);
  if (resultChanges) replaceReturns(editor, change);
  affected.forEach((caller, i) => {
    for (const call of calls[i]!) changeCall(caller.edit(), call, change, oldType, resultChanges);
  });
  return true;
}

function hasMustTail(body: BodyView): boolean {
  for (const { insts } of body.blocks)
    for (const inst of insts) if (isCall(inst) && inst.data.tail === "musttail") return true;
  return false;
}

/** Those that call the function; null where one mentions it in another way. */
function callersOf(fn: Func, candidates: ReadonlySet<Func>): Func[] | null {
  const callers: Func[] = [];
  for (const candidate of candidates) {
    if (candidate.isDeclaration) continue;
    const uses = candidate.peek((body) => usesOf(fn, body));
    if (uses === Uses.Other) return null;
    if (uses === Uses.Calls) callers.push(candidate);
  }
  return callers;
}
const enum Uses {
  None,
  Calls,
  Other,
}

function usesOf(fn: Func, body: BodyView): Uses {
  let found = Uses.None;
  for (const { insts } of body.blocks)
    for (const inst of insts) {
      const { operands } = inst;
      for (let i = 0; i < operands.length; i++) {
        const operand = operands[i]!;
        if (operand !== fn) {
          if ((operand.valueKind === "expr" || operand.valueKind === "aggregate") && mentions(operand, fn))
            return Uses.Other;
          if (operand.valueKind === "globalref" && operand.global === fn) return Uses.Other;
          continue;
        }
        const isPlainCall =
          i === 0 && isCall(inst) && inst.data.functionType === fn.valueType && inst.data.tail !== "musttail";
        if (!isPlainCall || inst.data.callingConvention !== fn.callingConvention) return Uses.Other;
        found = Uses.Calls;
      }
    }
  return found;
}

function mentions(constant: Constant, fn: Func): boolean {
  const stack = [constant];
  const seen = new Set<Constant>();
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    if (item === fn || (item.valueKind === "globalref" && item.global === fn)) return true;
    if (seen.has(item)) continue;
    seen.add(item);
    if (item.valueKind === "aggregate") for (const element of item.elements) stack.push(element);
    if (item.valueKind === "expr") for (const operand of item.operands) stack.push(operand);
  }
  return false;
}

function callsTo(editor: Editor, fn: Func): CallInst[] {
  const calls: CallInst[] = [];
  for (const block of editor.body.blocks)
    for (const inst of block.insts) if (isCall(inst) && inst.operands[0] === fn) calls.push(inst);
  return calls;
}

function replaceArguments(fn: Func, editor: Editor, old: readonly Argument[], change: SignatureChange): void {
  const entry = new Builder(editor).atStart(editor.body.blocks[0]!);
  for (const argument of old) {
    const at = change.from.indexOf(argument.index);
    if (!editor.hasUses(argument)) {
      editor.replaceInRecords(argument, fn.args[at] ?? new ConstUndef(argument.type, true));
      continue;
    }
    const by = at >= 0 ? fn.args[at]! : change.replaceArgument?.(argument, fn.args, entry);
    if (by === undefined)
      throw new Error(`changeSignature: @${fn.name}: parameter ${argument.index} is used`);
    editor.replaceAllUses(argument, by);
  }
}

function replaceReturns(editor: Editor, change: SignatureChange): void {
  for (const { terminator } of editor.body.blocks) {
    if (terminator.op !== Op.Ret) continue;
    const value =
      change.type.result === voidType
        ? null
        : change.returned!(terminator, new Builder(editor).before(terminator));
    editor.setLists(terminator, value === null ? [] : [value]);
  }
}

function changeCall(
  editor: Editor,
  call: CallInst,
  change: SignatureChange,
  oldType: Type,
  resultChanges: boolean,
): void {
  const before = new Builder(editor).before(call);
  const oldFixed = oldType.parameters.length;
  const args = change.from.map((old, i) =>
    old >= 0 ? call.operands[1 + old]! : change.newArgument!(i, call, before),
  );
  // What follows the fixed arguments stays: variadic ones, and inputs of bundles.
  const operands: Value[] = [call.operands[0]!, ...args, ...call.operands.slice(1 + oldFixed)];
  const data: CallData = {
    ...call.data,
    functionType: change.type,
    argumentCount: call.data.argumentCount - oldFixed + args.length,
    attributes: changedAttributes(call.data.attributes, change, resultChanges, oldFixed),
  };
  if (!resultChanges) {
    editor.setLists(call, operands);
    setCallData(call, data);
    return;
  }
  const made = makeInst(
    call.op,
    change.type.result,
    operands,
    data,
    [...call.blocks],
    call.flags,
  ) as CallInst;
  made.hints = call.hints;
  const isTerminator = call.op !== Op.Call;
  const block = call.parent!;
  if (!isTerminator) {
    editor.insertBefore(made, call);
    if (editor.hasUses(call))
      editor.replaceAllUses(call, change.oldResult!(made, new Builder(editor).before(call)));
    editor.erase(call);
    return;
  }
  // The result is there on the normal edge only.
  if (editor.hasUses(call)) {
    const normal = splitEdge(editor, block, 0);
    const stand = change.oldResult!(made, new Builder(editor).before(normal.terminator));
    editor.replaceAllUses(call, stand);
  }
  const blocks = [...call.blocks];
  editor.erase(call);
  editor.setLists(made, operands, blocks);
  editor.append(made, block);
}

/** @param first parameters of the old type, which those of variadic arguments follow; 0 for a function */
function changedAttributes(
  list: AttributeList,
  change: SignatureChange,
  resultChanges: boolean,
  first: number,
): AttributeList {
  const parameters = change.from.map((old, i) =>
    old >= 0
      ? withoutKinds(list.parameter(old), resultChanges ? ["returned"] : [])
      : (change.parameterAttributes?.(i) ?? noAttributes),
  );
  if (first > 0) parameters.push(...list.parameters.slice(first));
  // Its numbers are positions of parameters.
  const fn = withoutKinds(list.fn, ["allocsize"]);
  return new List(fn, resultChanges ? noAttributes : list.result, parameters);
}

function withoutKinds(set: AttributeSet, names: readonly string[]): AttributeSet {
  if (!names.some((name) => set.has(name))) return set;
  return new AttributeSet(new Map([...set.kinds].filter(([name]) => !names.includes(name))), set.strings);
}
