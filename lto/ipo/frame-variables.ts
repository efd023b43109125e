/**
 * Variables that may live in the frame of the one function that uses them, whoever enters it and however often.
 *
 * Method: a scalar that one function loads and stores as what it is moves if no run of the function reads what another
 * left there: on all ways from the entry a store comes before each load, and nothing between them lets another run of
 * the function begin or continue. One pass over the function's blocks for each variable, until nothing changes.
 *
 * Proof obligations:
 *  - the function does not recurse by what is in it, not by what it promises: its calls are of definitions that do not, or
 *    of declarations that call nothing back. So no caller from outside, no callback, and no switch of stacks comes between;
 *  - nothing in it synchronises, calls included: another thread that stored in between would race;
 *  - a signal handler that uses the variable does so without order, which C leaves undefined (C17 5.1.2.3p5);
 *  - no call returns twice in it, and it is no coroutine.
 */
import type { CallGraph } from "../analysis/call-graph.js";
import { Use, type VariableUses } from "../analysis/variable-uses.js";
import { Builder } from "../ir/builder.js";
import { type BodyView, type Inst, Op } from "../ir/instructions.js";
import type { Func, GlobalValue, GlobalVariable, Module } from "../ir/module.js";
import { returnsTwice } from "../ir/returns-twice.js";
import { Behaviour } from "./function-attrs/behaviour.js";

/** A scalar of a size that registers have, which only one function loads and stores as what it is. */
export function ownerOf({ valueType }: GlobalVariable, uses: VariableUses): Func | null {
  const isScalar =
    (valueType.kind === "int" && valueType.bits <= 64) ||
    valueType.kind === "ptr" ||
    valueType.kind === "float" ||
    valueType.kind === "double";
  return isScalar && !uses.hasManyUsers && (uses.traits & ~(Use.Read | Use.Written)) === 0 ? uses.user : null;
}

/** Whether no other run of a function goes on between two instructions of one run. @param symbol of the function */
function runsAlone(fn: Func, symbol: number, { nodeOf, components }: CallGraph): boolean {
  const { fn: attributes } = fn.attributes;
  if (["optnone", "naked", "presplitcoroutine"].some((name) => attributes.has(name))) return false;
  if (components.recursive[components.componentOf[nodeOf[symbol]!]!] === 1) return false;
  const { noRecurse, noSync } = new Behaviour(new Set([fn]), false);
  return noRecurse && noSync && !fn.view().blocks.some(({ insts }) => insts.some(returnsTwice));
}

/** The variable that an instruction loads or stores; null: none. */
function accessed(inst: Inst): GlobalValue | null {
  const address =
    inst.op === Op.Load ? inst.operands[0]! : inst.op === Op.Store ? inst.operands[1]! : undefined;
  return address?.valueKind === "global" ? address : null;
}

/** Whether on all ways to each load a store comes first. Blocks are numbered. */
function isDeadAtEntry(variable: GlobalVariable, { blocks }: BodyView): boolean {
  /** Of each block, whether some way to it comes without a store. */
  const isReached = new Uint8Array(blocks.length);
  isReached[0] = 1;
  const work = [blocks[0]!];
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    const first = block.insts.find((inst) => accessed(inst) === variable);
    if (first?.op === Op.Load) return false;
    if (first !== undefined) continue;
    for (const next of block.successors)
      if (isReached[next.id] === 0) {
        isReached[next.id] = 1;
        work.push(next);
      }
  }
  return true;
}

/** Of variables, those that may move, by the function that uses them. @param owned variables by that function */
export function movableVariables(
  { globals }: Module,
  graph: CallGraph,
  owned: ReadonlyMap<Func, readonly GlobalVariable[]>,
): Map<Func, GlobalVariable[]> {
  const movable = new Map<Func, GlobalVariable[]>();
  if (owned.size === 0) return movable;
  globals.forEach((fn, symbol) => {
    const variables = fn.kind === "function" ? owned.get(fn) : undefined;
    if (fn.kind !== "function" || variables === undefined) return;
    fn.view().renumber();
    const dead = variables.filter((variable) => isDeadAtEntry(variable, fn.view()));
    if (dead.length > 0 && runsAlone(fn, symbol, graph)) movable.set(fn, dead);
  });
  return movable;
}

/** Moves variables into the frame of a function. */
export function moveToFrame(variables: readonly GlobalVariable[], fn: Func, module: Module): void {
  const editor = fn.edit();
  const entry = editor.body.blocks[0]!;
  const slots = new Map<GlobalValue, ReturnType<Builder["alloca"]>>();
  for (const variable of variables) {
    const align = Math.max(variable.align, module.dataLayout.abiAlign(variable.valueType));
    slots.set(variable, new Builder(editor).atStart(entry).alloca(variable.valueType, align));
  }
  for (const { insts } of editor.body.blocks)
    for (const inst of insts) {
      const slot = slots.get(accessed(inst)!);
      if (slot !== undefined) editor.setOperand(inst, inst.op === Op.Load ? 0 : 1, slot);
    }
}
