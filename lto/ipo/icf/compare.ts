/**
 * Whether two functions are the same code, and what hashes equally if they are.
 *
 * Bodies are compared block by block and instruction by instruction in layout order: operations, types, operands (each
 * function's own values by position, constants by contents, floating point by its bits), and all data. A mention of the
 * function itself matches the other's mention of itself. What is told besides (flags of arithmetic, hints, promises of
 * calls) may differ: the body that stays keeps what both say (`weaken`).
 */
import { hashConstant, mix } from "../../ir/hash.js";
import { mergeHints } from "../../ir/hints.js";
import {
  type BodyView,
  Flag,
  type Inst,
  type InstData,
  isCall,
  Op,
  setCallData,
} from "../../ir/instructions.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import { type ConstInt, isConstant, sameConstant, type Value } from "../../ir/values.js";
import { commonAttributes } from "./attributes.js";

/**
 * @param numberOf a number for each global; of those that may become one, the same
 * @param ignores operands that functions with equal hashes may differ in
 */
export function hashFunction(
  fn: Func,
  body: BodyView,
  numberOf: (global: GlobalValue) => number,
  ignores: ((inst: Inst, slot: number) => boolean) | null = null,
): number {
  let hash = mix(mix(fn.valueType.id, fn.callingConvention), body.blocks.length);
  for (const { insts } of body.blocks)
    for (const inst of insts) {
      hash = mix(mix(hash, inst.op), inst.type.id);
      const { operands } = inst;
      for (let i = 0; i < operands.length; i++) {
        const operand = operands[i]!;
        const { valueKind } = operand;
        if (valueKind === "argument") hash = mix(hash, operand.index);
        else if (valueKind === "inst") hash = mix(hash, inst.id - operand.id);
        else if (operand === fn) hash = mix(hash, -1);
        else if (ignores?.(inst, i) === true) hash = mix(hash, -2);
        else if (isConstant(operand)) hash = mix(hash, hashConstant(operand, numberOf));
      }
    }
  return hash;
}

/** What is said of functions outside of their bodies; their attributes are another matter. */
function sameHead(a: Func, b: Func): boolean {
  return (
    a.valueType === b.valueType &&
    a.callingConvention === b.callingConvention &&
    a.section === b.section &&
    a.gc === b.gc &&
    (a.personality === null
      ? b.personality === null
      : b.personality !== null && sameConstant(a.personality, b.personality))
  );
}

/** Whether operand `slot` of two instructions, which are otherwise the same, may be these two values. */
export type Differ = (inst: Inst, slot: number, a: Value, b: Value) => boolean;

/** Whether two functions, whose bodies are numbered, are the same code. @param differ is asked where operands are not */
export function sameFunction(a: Func, b: Func, differ: Differ | null = null): boolean {
  if (!sameHead(a, b) || commonAttributes(a.attributes, b.attributes) === null) return false;
  const { blocks } = a.view();
  const { blocks: others } = b.view();
  if (blocks.length !== others.length) return false;
  for (let i = 0; i < blocks.length; i++) {
    const { insts } = blocks[i]!;
    const { insts: otherInsts } = others[i]!;
    if (insts.length !== otherInsts.length) return false;
    for (let k = 0; k < insts.length; k++)
      if (!sameInst(insts[k]!, otherInsts[k]!, a, b, differ)) return false;
  }
  return true;
}

function sameInst(a: Inst, b: Inst, inA: Func, inB: Func, differ: Differ | null): boolean {
  if (a.op !== b.op || a.type !== b.type) return false;
  if (((a.flags ^ b.flags) & Flag.Volatile) !== 0) return false;
  if (a.operands.length !== b.operands.length || a.blocks.length !== b.blocks.length) return false;
  for (let i = 0; i < a.blocks.length; i++) if (a.blocks[i]!.id !== b.blocks[i]!.id) return false;
  for (let i = 0; i < a.operands.length; i++)
    if (
      !sameOperand(a.operands[i]!, b.operands[i]!, inA, inB) &&
      differ?.(a, i, a.operands[i]!, b.operands[i]!) !== true
    )
      return false;
  return sameData(a, b);
}

function sameOperand(a: Value, b: Value, inA: Func, inB: Func): boolean {
  switch (a.valueKind) {
    case "inst":
      return b.valueKind === "inst" && a.id === b.id;
    case "argument":
      return b.valueKind === "argument" && a.index === b.index;
    case "metadata":
      // Without a text it may be anything.
      return b.valueKind === "metadata" && a.text !== null && a.text === b.text;
    case "asm":
      return (
        b.valueKind === "asm" &&
        a.functionType === b.functionType &&
        a.template === b.template &&
        a.constraints === b.constraints &&
        a.sideEffects === b.sideEffects &&
        a.alignStack === b.alignStack &&
        a.intelDialect === b.intelDialect &&
        a.canUnwind === b.canUnwind
      );
    default:
      if (a === inA || b === inB) return a === inA && b === inB;
      return isConstant(b) && sameConstant(a, b);
  }
}

/** Whether what operations say besides operands and flags is the same, promises of calls aside. */
function sameData(a: Inst, b: Inst): boolean {
  if (isCall(a)) {
    const { data } = b as typeof a;
    return (
      a.data.functionType === data.functionType &&
      a.data.callingConvention === data.callingConvention &&
      a.data.tail === data.tail &&
      a.data.argumentCount === data.argumentCount &&
      sameList(a.data.bundles, data.bundles, (x, y) => x.tag === y.tag && x.inputs === y.inputs) &&
      commonAttributes(a.data.attributes, data.attributes) !== null
    );
  }
  if (a.op === Op.Switch)
    return sameList(
      a.data,
      b.data as readonly ConstInt[],
      (x, y) => x.type === y.type && x.value === y.value,
    );
  return samePlain(a.data, b.data);
}

/** Data that consists of words, numbers, types, and lists of those. */
function samePlain(a: InstData, b: InstData): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  const first = Object.entries(a);
  const second = new Map<string, unknown>(Object.entries(b));
  return (
    first.length === second.size &&
    first.every(([key, value]: [string, unknown]) => {
      const other = second.get(key);
      if (Array.isArray(value)) return Array.isArray(other) && sameList(value, other, (x, y) => x === y);
      return value === other;
    })
  );
}

const sameList = <T>(a: readonly T[], b: readonly T[], same: (a: T, b: T) => boolean): boolean =>
  a.length === b.length && a.every((item, i) => same(item, b[i]!));

/** Lets a function say only what another one, which is the same code, says as well. */
export function weaken(kept: Func, copy: Func): void {
  kept.attributes = commonAttributes(kept.attributes, copy.attributes)!;
  kept.align = Math.max(kept.align, copy.align);
  kept.entryCount =
    kept.entryCount === null || copy.entryCount === null ? null : kept.entryCount + copy.entryCount;
  const other = copy.view();
  if (!saysMore(kept.view(), other)) return;
  const { blocks } = kept.rewrite();
  for (let i = 0; i < blocks.length; i++) {
    const { insts } = blocks[i]!;
    for (let k = 0; k < insts.length; k++) {
      const inst = insts[k]!;
      const same = other.blocks[i]!.insts[k]!;
      inst.flags &= same.flags;
      inst.hints = mergeHints(inst.hints, same.hints);
      if (isCall(inst)) {
        const attributes = commonAttributes(inst.data.attributes, (same as typeof inst).data.attributes)!;
        if (attributes !== inst.data.attributes) setCallData(inst, { ...inst.data, attributes });
      }
    }
  }
}

/** Whether some instruction of a body says what its counterpart does not say. */
function saysMore({ blocks }: BodyView, other: BodyView): boolean {
  for (let i = 0; i < blocks.length; i++) {
    const { insts } = blocks[i]!;
    for (let k = 0; k < insts.length; k++) {
      const inst = insts[k]!;
      const same = other.blocks[i]!.insts[k]!;
      if ((inst.flags & ~same.flags) !== 0 || inst.hints !== same.hints) return true;
      if (isCall(inst) && inst.data.attributes !== (same as typeof inst).data.attributes) return true;
    }
  }
  return false;
}
