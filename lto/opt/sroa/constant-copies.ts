/**
 * Local variables that are copies of constants: who reads the copy may read the constant.
 *
 *     %v = alloca [5 x i8]
 *     call void @llvm.memcpy(ptr %v, ptr @name, i64 5, …)    →    call void @print(ptr @name)
 *     call void @print(ptr %v)                 ; only reads it, and keeps no copy of the address
 *
 * Why: compilers of single files do not know what functions of other files do with the address.
 *
 * Method: one walk over the body, with a table of which variable each address lies in; a use that is none of those below
 * gives the variable up. Linear.
 *
 * Proof obligations: the variable is written by plain copies of one constant to its start and by nothing else; its
 * address goes to accesses and to calls that do not write through it and do not keep it, so that nobody can tell where
 * it lies. What is read before the copy, after its end, or outside of the lifetime is undefined, so it may be what the
 * constant holds there: that has to be as large as the variable. Alignment that accesses and calls promise is the
 * variable's, so the constant has at least that.
 * Breaks if: a callee's attributes let it write or compare what it is said to read only.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { placeOf } from "../../ir/fold/addresses.js";
import { hasFixedContents } from "../../ir/fold/load.js";
import { type BodyView, type CallInst, type Inst, isCall, isPlainAccess, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { Memory } from "../../ir/memory-effects.js";
import type { GlobalVariable } from "../../ir/module.js";
import { type Constant, isConstant, sameConstant, type Value } from "../../ir/values.js";
import { callEffects, isVolatileTransfer } from "../call-effects.js";
import { mayTouchArgument } from "../memory/alias.js";
import { isKept, saysOfParameter } from "../memory/operations.js";

/** A variable, the constant that it is a copy of, and what only it needed. */
export interface ConstantCopy {
  readonly alloca: Inst;
  readonly source: Constant;
  /** Copies and marks of its lifetime. */
  readonly rest: readonly Inst[];
}
interface Candidate {
  readonly alloca: Inst;
  source: Constant | null;
  readonly rest: Inst[];
  isLost: boolean;
}

/** A plain copy of something constant to what its first argument points to. */
export function copiedConstant(inst: Inst): Constant | null {
  if (inst.op !== Op.Call) return null;
  const name = intrinsicOf(inst.operands[0]!)?.name;
  if (name !== "memcpy" && name !== "memmove" && name !== "memcpy.inline") return null;
  const source = inst.operands[2]!;
  return isConstant(source) && isPlain(inst, name) ? source : null;
}
const isPlain = (call: CallInst, name: string): boolean =>
  call.data.bundles.length === 0 && !isVolatileTransfer(call, name);

/** @param count of numbered instructions */
export function constantCopies(
  { blocks }: BodyView,
  count: number,
  variables: readonly (Inst & { readonly op: Op.Alloca })[],
  layout: DataLayout,
): ConstantCopy[] {
  /** By instruction: number of the variable that it is an address in, from 1; 0: none. */
  const variable = new Uint32Array(count);
  const candidates = variables.map((alloca, i): Candidate => {
    variable[alloca.id] = i + 1;
    return { alloca, source: null, rest: [], isLost: false };
  });
  // Until nothing is found: in the layout uses may come before definitions.
  for (let grows = true; grows; ) {
    grows = false;
    for (const { insts } of blocks)
      for (const inst of insts) {
        if (inst.op !== Op.GetElementPtr || inst.type.kind !== "ptr" || variable[inst.id] !== 0) continue;
        const base = inst.operands[0]!;
        const number = base.valueKind === "inst" ? variable[base.id]! : 0;
        if (number === 0) continue;
        variable[inst.id] = number;
        grows = true;
      }
  }
  for (const { insts } of blocks)
    for (const inst of insts)
      for (let slot = 0; slot < inst.operands.length; slot++) {
        const operand = inst.operands[slot]!;
        const number = operand.valueKind === "inst" ? variable[operand.id]! : 0;
        if (number !== 0) use(candidates[number - 1]!, operand, inst, slot);
      }
  return candidates.filter(
    (c): c is Candidate & ConstantCopy => !c.isLost && c.source !== null && canStandFor(c.source, c, layout),
  );
}

function use(candidate: Candidate, address: Value, inst: Inst, slot: number): void {
  if (inst.op === Op.GetElementPtr && inst.type.kind === "ptr") return;
  if (inst.op === Op.Load && isPlainAccess(inst)) return;
  if (!isCall(inst) || slot === 0) {
    candidate.isLost = true;
    return;
  }
  const name = intrinsicOf(inst.operands[0]!)?.name;
  if ((name === "lifetime.start" || name === "lifetime.end") && inst.data.bundles.length === 0) {
    candidate.rest.push(inst);
    return;
  }
  const source = slot === 1 && address === candidate.alloca ? copiedConstant(inst) : null;
  if (source !== null) {
    if (candidate.source !== null && !sameConstant(candidate.source, source)) candidate.isLost = true;
    candidate.source = source;
    candidate.rest.push(inst);
  } else if (!isReadOnly(inst, slot - 1)) candidate.isLost = true;
}

/** Parameters that are more than addresses. */
const special = ["sret", "inalloca", "preallocated", "swifterror", "swiftself", "nest", "returned"];

/** Whether a call only reads what an argument points to, and leaves nothing that tells the address. */
function isReadOnly(call: CallInst, index: number): boolean {
  if (index >= call.data.argumentCount || call.data.tail === "musttail") return false;
  const name = intrinsicOf(call.operands[0]!)?.name;
  if (name?.startsWith("mem") === true && !isPlain(call, name)) return false;
  if (special.some((attribute) => saysOfParameter(call, index, attribute))) return false;
  return isKept(call, index) && !mayTouchArgument(call, index, callEffects(call), Memory.ArgumentWrite);
}

/** Whether a constant is as large and as aligned as the variable, and stays what it is. */
function canStandFor(source: Constant, { alloca }: Candidate, layout: DataLayout): boolean {
  if (alloca.op !== Op.Alloca || source.type !== alloca.type) return false;
  const { base, offset } = placeOf(layout, source);
  if (base?.valueKind !== "global" || base.kind !== "variable" || !isFixed(base)) return false;
  const room = BigInt(layout.allocSize(base.valueType)) - offset;
  if (offset < 0n || room < BigInt(layout.allocSize(alloca.data.allocatedType))) return false;
  const align = BigInt(base.align === 0 ? layout.abiAlign(base.valueType) : base.align);
  return align >= BigInt(alloca.data.align) && offset % BigInt(alloca.data.align) === 0n;
}
const isFixed = (variable: GlobalVariable): boolean =>
  hasFixedContents(variable) && variable.threadLocal === "none";
