/** What a function's attributes and signature say of its machine code. */
import { type Inst, isCall } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import { ptr } from "../../ir/types.js";
import type { LegalFunction } from "../legalize/index.js";
import type { UnwindTables } from "../mir.js";
import { withRegister } from "../register-set.js";
import type { ArgumentLayout } from "./function-abi.js";
import type { FunctionSelection } from "./function-selection.js";

/**
 * Sets what the machine function is and has before its body is looked at; slots of arguments are its first.
 * @returns where its arguments are
 */
export function describeFunction(s: FunctionSelection, legal: LegalFunction): ArgumentLayout {
  const { mf, abi, slots } = s;
  const { fn } = legal;
  const attributes = fn.attributes.fn;
  const args = s.layoutArguments(
    legal.args.map(({ argument: { type }, attributes }) => ({ type, attributes })),
    s.askedConvention(s.options.conventionOf(fn), fn.callingConvention),
    fn.valueType.isVarArg,
  );
  const word = s.layout.abiAlign(ptr);
  mf.incomingBytes = args.stackBytes;
  for (const register of s.resultRegisters(legal.resultTypes))
    if (register >= 0) mf.resultRegisters = withRegister(mf.resultRegisters, register);
  mf.unwind = unwindTables(fn);
  mf.noRedZone = attributes.has("noredzone");
  if (wantsFramePointer(attributes.string("frame-pointer"), legal)) mf.needsFramePointer = true;
  const isRealigned = attributes.string("stackrealign") !== undefined;
  mf.stackAlignment = Math.max(isRealigned ? 1 : 0, alignmentOfCalls(s, legal));
  legal.args.forEach(({ argument: { type, index } }, i) => {
    const place = args.places[i]!;
    if (place.kind === "register") return;
    const slot = mf.newSlot(place.size, word, "incoming", place.offset);
    abi.incomingSlots.set(place.offset, slot);
    const inMemory = s.livesInMemory(type);
    if (inMemory) slots.argumentSlots[index] = slot;
    if (inMemory || place.kind === "byval") abi.wholeArguments.set(index, place);
    if (place.kind === "byval" && namesSlot(s, legal, index)) abi.pointedSlots.set(index, slot);
  });
  s.prepareConvention(legal, args);
  return args;
}

/** Each access that names the slot is a byte longer than by a register with its address, which takes five bytes. */
const mostShortAccesses = 4;

function namesSlot({ mf, optimize }: FunctionSelection, { body }: LegalFunction, index: number): boolean {
  if (mf.goal === "speed" || !optimize) return optimize;
  let uses = 0;
  for (const { insts } of body.blocks)
    for (const { operands } of insts)
      for (const value of operands) if (value.valueKind === "argument" && value.index === index) uses++;
  return uses <= mostShortAccesses;
}

/** Asked for, or needed since exceptions pass. The attribute's value is 1 for tables that are exact at calls alone. */
export function unwindTables({ attributes: { fn: attributes }, personality }: Func): UnwindTables {
  if (attributes.has("uwtable")) return attributes.int("uwtable") === 1 ? "sync" : "async";
  return attributes.has("nounwind") && personality === null ? "none" : "sync";
}

/**
 * Bytes that calls of code that is not in the program need, which programs may ask to be more than the ABI's. A function with such
 * calls aligns the stack itself: its own callers may be code that only does as the ABI says, such as the C library's.
 */
function alignmentOfCalls(
  { options: { stackAlignment } }: FunctionSelection,
  { body }: LegalFunction,
): number {
  const leaves = (inst: Inst): boolean => {
    if (!isCall(inst)) return false;
    const callee = inst.operands[0]!;
    if (callee.valueKind === "asm" || intrinsicOf(callee) !== null) return false;
    return callee.valueKind !== "global" || callee.kind !== "function" || callee.isDeclaration;
  };
  return stackAlignment > 0 && body.blocks.some(({ insts }) => insts.some(leaves)) ? stackAlignment : 0;
}

/** @param which functions are to have one: "all", "non-leaf" (and variants), "reserved", "none" */
function wantsFramePointer(which: string | undefined, { body }: LegalFunction): boolean {
  // Where it is only not to hold anything else, a frame of its own does no harm.
  if (which === "all" || which === "reserved") return true;
  if (which?.startsWith("non-leaf") !== true) return false;
  const calls = (inst: Inst): boolean => {
    if (!isCall(inst)) return false;
    const callee = inst.operands[0]!;
    return callee.valueKind !== "asm" && intrinsicOf(callee) === null;
  };
  return body.blocks.some((block) => block.insts.some(calls));
}
