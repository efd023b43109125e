/**
 * What the rest of the program needs to know of an allocated function: the interface between one function's
 * compilation and the decisions about the whole program. Plain data, gathered before the frame is made.
 * Linear in the function.
 */

import type { IndirectCalls } from "../../analysis/function-pointers/index.js";
import { bareCall, callWork } from "../../analysis/loop-shares.js";
import type { Func } from "../../ir/module.js";
import { AskedConvention } from "../asked-conventions.js";
import { changesUnseen } from "../ipra/added-code.js";
import { collectUsage } from "../ipra/collect.js";
import { type MFunction, unlistedCall } from "../mir.js";
import { minus, noRegisters, type RegisterSet, single, union } from "../register-set.js";
import type { CalleeNumber, FunctionNumber, Numbering } from "./numbering.js";

/** A call of something in the program. */
export interface CallFacts {
  readonly callee: CalleeNumber;
  /** Callee-saved registers that hold a value needed after the call. */
  readonly liveAcross: RegisterSet;
  /** The frame is gone when control reaches the callee. */
  readonly tail: boolean;
  /** Estimated executions for one of the function. */
  readonly frequency: number;
}

export interface FunctionFacts {
  /** Registers changed by its own instructions and by calls of unknown code. */
  readonly written: RegisterSet;
  readonly returns: boolean;
  /** Calls of functions of the program. */
  readonly calls: readonly CallFacts[];
  /** Instructions that one execution takes, estimated: with those of unknown code that it calls, without those of `calls`. */
  readonly work: number;
  /** Bytes count before executions. */
  readonly forSize: boolean;
  /** It relies by itself on the stack being aligned as the ABI says, on entry. */
  readonly aligned: boolean;
}

/** The facts, and what later steps on the same function go by. */
export interface GatheredFacts {
  readonly facts: FunctionFacts;
  /** Estimated executions of its blocks, by position, where speed counts. */
  readonly frequencies: Float64Array | undefined;
  /** Sets that its unknown calls through pointers may reach. */
  readonly lost: readonly CalleeNumber[];
}

/** @param sets of the calls through pointers in its IR, -1 where not known */
export function gatherFacts(
  fn: Func,
  mf: MFunction,
  numbering: Numbering,
  sets: readonly number[],
): GatheredFacts {
  const forSize = mf.goal !== "speed";
  const frequencies = forSize ? undefined : Float64Array.from(mf.blocks, (block) => block.frequency);
  const usage = collectUsage(mf, frequencies);
  const { registers, frame } = mf.target;
  const isNaked = fn.attributes.fn.has("naked");
  // The body of a naked function is assembly that says nothing of what it changes: it keeps to the convention.
  let written = union(usage.written, usage.unknownClobbers);
  const unseen = isNaked || changesUnseen(fn);
  if (unseen) written = union(written, registers.callClobbers);
  // Whoever calls it knows that it keeps nothing but the frame pointer.
  if (fn.callingConvention === AskedConvention.PreserveNone)
    written = minus(written, minus(registers.calleeSaved, single(registers.framePointer)));
  // Arguments on the stack may be accessed as aligned ones.
  let aligned =
    unseen ||
    frame.reliesOnAlignment(mf) ||
    mf.incomingBytes > 0 ||
    mf.slots.some((s) => s.kind === "incoming");
  const reserved = frame.reserved(mf);
  let work = mf.blocks.reduce((sum, { insts, frequency }) => sum + insts.length * frequency, bareCall);
  const calls: CallFacts[] = [];
  for (const { callee, calleeSet, liveAcross, tail, frequency } of usage.calls) {
    const reached = numbering.calleeOf(callee, calleeSet);
    if (reached === undefined) {
      written = union(written, registers.callClobbers);
      aligned = true;
      work += callWork * frequency;
    } else
      calls.push({
        callee: reached,
        liveAcross: tail ? liveAcross : union(liveAcross, reserved),
        tail,
        frequency,
      });
  }
  // A call that was made anew on the way, and lost its set by that, may be any of those that were listed.
  const known = sets.filter((set) => set >= 0);
  const lost = [...new Set(known)].map((set) => numbering.ofSet(set));
  for (const { calleeSet, liveAcross, tail, frequency } of usage.calls)
    if (calleeSet === unlistedCall)
      for (const set of lost)
        calls.push({
          callee: set,
          liveAcross: tail ? liveAcross : union(liveAcross, reserved),
          tail,
          frequency,
        });
  // An exception leaves a function too: only `nounwind` makes "never returns" final.
  const returns = usage.returns || isNaked || !fn.attributes.fn.has("nounwind");
  return { facts: { written, returns, calls, work, aligned, forSize }, frequencies, lost };
}

/**
 * Sets of callees as functions that jump to one of their members, so that what concerns the whole program need not
 * tell them apart. @param callClobbers registers that unknown code may change
 */
export function setFacts({ sets }: IndirectCalls, callClobbers: RegisterSet): FunctionFacts[] {
  return sets.map(({ members, unknown }) => ({
    written: unknown ? callClobbers : noRegisters,
    returns: true,
    calls: members.map((callee) => ({
      callee: callee as FunctionNumber,
      liveAcross: noRegisters,
      tail: true,
      frequency: 1 / members.length,
    })),
    work: unknown ? callWork : 0,
    aligned: unknown,
    forSize: true,
  }));
}
