/**
 * What a function passes at a call, as debuggers can compute it while the callee runs: values on entry of the callee's
 * arguments, in terms of the caller's frame.
 *
 * Method: backwards from the call through its block, following what the argument's register was set from by instructions that
 * say it all (`InstructionFacts.simpleValue`), to a constant, to a register that neither the code up to the call nor the callee
 * changes, or to the function's own entry, where it is what the caller passed. Final code is what counts, whoever made it.
 * At most `mostSteps` instructions a call.
 * Breaks if: `writes` of a call misses a register that the callee leaves changed. Registers that a callee saves are in its
 * unwind description, so that debuggers know them while it runs.
 * Source: DWARF 5, 3.4; LLVM, `collectCallSiteParameters` in DwarfDebug.cpp.
 */
import type { MFunction, MInst } from "../mir.js";
import { hasRegister } from "../register-set.js";
import { OpFact, type RegisterSum } from "../target.js";
import { callValueBytes } from "./expressions.js";

/** A register at a call, by DWARF's number, and DWARF's operations for what it holds. */
export interface CallArgument {
  readonly register: number;
  readonly bytes: readonly number[];
}

/** A call, or a jump to another function that returns to the caller. */
export interface DescribedCall {
  readonly isTail: boolean;
  /** The symbol of what is called; null: not known. */
  readonly callee: string | null;
  /** DWARF's operations for the address of what is called; null: there is a symbol, or it cannot be said. */
  readonly target: readonly number[] | null;
  readonly arguments: readonly CallArgument[];
}

const mostSteps = 100;

/**
 * What is known of the general registers that a call or a jump to another function names as arguments.
 * @param isEntry nothing jumps to the block, which is the function's first
 */
export function callArguments(
  { target }: MFunction,
  insts: readonly MInst[],
  index: number,
  isEntry: boolean,
): CallArgument[] {
  const { registers, instructions, base } = target;
  const call = insts[index]!;
  const found: CallArgument[] = [];
  const isTail = (instructions.facts[call.op]! & OpFact.Call) === 0;
  const never = call.extra?.kind === "call" && call.extra.noReturn;
  const clobbers = instructions.writes(call);
  /** It is, in what debuggers take for the caller's frame, what it was at the call: of jumps nobody asks what their targets change. */
  const survives = (register: number): boolean => {
    if (isTail) return false;
    if (register === registers.stackPointer) return true;
    return !never && !hasRegister(clobbers, register);
  };
  const seen = new Set<number>();
  for (const { loc } of call.uses.slice(calledRegister(call) === null ? 0 : 1)) {
    // What the callee leaves alone says the same while it runs.
    if (loc < 0 || loc >= registers.generalCount || seen.has(loc) || survives(loc)) continue;
    seen.add(loc);
    const value = valueAt(loc);
    const number = registers.dwarfNumber(loc);
    if (value !== null && number >= 0) found.push({ register: number, bytes: value });
  }
  return found;

  function valueAt(argument: number): readonly number[] | null {
    let sum: RegisterSum = { register: argument, offset: 0, bytes: 8 };
    // What code between here and the call changes.
    const changed = new Set<number>();
    for (let i = index - 1; ; i--) {
      const { register } = sum;
      const known = changed.has(register) || !survives(register) ? -1 : registers.dwarfNumber(register);
      if (known >= 0) return callValueBytes({ ...sum, register: known }, false);
      if (i < 0 || index - i > mostSteps) {
        const number = registers.dwarfNumber(register);
        if (i >= 0 || !isEntry || number < 0 || register === registers.stackPointer) return null;
        return callValueBytes({ ...sum, register: number }, true);
      }
      const inst = insts[i]!;
      if (inst.op === target.frame.directive || (instructions.facts[inst.op]! & OpFact.Entry) !== 0) continue;
      const isStack = register === registers.stackPointer;
      const isSet = isStack ? base.changes(inst, register) : hasRegister(instructions.writes(inst), register);
      if (isSet) {
        const value = isStack ? null : instructions.simpleValue(insts, i);
        if (value === null) return null;
        if (typeof value === "bigint")
          return callValueBytes(BigInt.asUintN(8 * sum.bytes, value + BigInt(sum.offset)), false);
        // A number that is added after upper bits were left out.
        if (value.bytes === 4 && sum.offset !== 0) return null;
        const offset = sum.offset + value.offset;
        if (Math.abs(offset) >= 2 ** 31) return null;
        sum = { register: value.register, offset, bytes: value.bytes === 4 ? 4 : sum.bytes };
      }
      for (let r = 0; r < registers.generalCount; r++) {
        const isChanged =
          r === registers.stackPointer ? base.changes(inst, r) : hasRegister(instructions.writes(inst), r);
        if (isChanged) changed.add(r);
      }
    }
  }
}

/** The register that holds the address of what is called; null: nothing or something else does. */
function calledRegister({ symbol, mem, uses }: MInst): number | null {
  return symbol === null && mem === null ? (uses.at(0)?.loc ?? null) : null;
}

/** Of a call through a register that stays what it is while the callee runs, DWARF's operations for its address; null: of others. */
export function calleeAddress({ target }: MFunction, call: MInst): readonly number[] | null {
  const { registers, instructions } = target;
  const called = calledRegister(call) ?? -1;
  if (called < 0 || called >= registers.generalCount || hasRegister(instructions.writes(call), called))
    return null;
  if (call.extra?.kind === "call" && call.extra.noReturn) return null;
  const register = registers.dwarfNumber(called);
  return register < 0 ? null : callValueBytes({ register, offset: 0, bytes: 8 }, false);
}
