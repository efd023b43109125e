/** What decides about calls, apart from those who carry decisions out. */
import type { BodyView, CallInst } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { type Constant, isConstant } from "../../ir/values.js";
import type { Interval } from "../../opt/constants/interval.js";
import type { BodyCost } from "./body-cost.js";

/** A call of a function that can be inlined. */
export interface CallSite {
  readonly caller: Func;
  readonly call: CallInst;
  readonly callee: Func;
  /** Of the callee; numbered. */
  readonly body: BodyView;
  readonly cost: BodyCost;
  /** Estimated executions for one of the caller. */
  readonly frequency: number;
  /** In code for size: bytes that it may take so that a call is executed less, and so many of the callee's instructions. */
  readonly timeBytes: (instructions: number) => number;
  /** What the number is between that a call of the caller's passes, by its number from 0; null: nothing is known. */
  readonly bounds: (call: CallInst, argument: number) => Interval | null;
  /** In code for size: bytes that go with slots whose addresses are passed. */
  readonly slotBytes: () => number;
  /** It runs rarely, for one run of the caller. */
  readonly isCold: boolean;
  /** Calls of the callee in the program, this one included. */
  readonly callSites: number;
  /** The callee goes when none of its calls is left. */
  readonly isClosed: boolean;
  /** Instructions of the caller as it is now. */
  readonly callerSize: number;
  /** Bytes that inlining has added to the frame of a caller that may be entered again before it is left; else 0. */
  readonly recursiveSlotBytes: number;
  /** The caller may be entered again before it is left. */
  readonly isRecursive: boolean;
}

export interface Advice {
  readonly inline: boolean;
  /** What it costs, and the most that it may; in units of the advisor's. */
  readonly cost: number;
  readonly threshold: number;
  /** The estimate may well be on the wrong side: worth a trial, where code can be generated. */
  readonly isClose?: boolean;
  /** In code for size: bytes of the cost that are given for time. */
  readonly worth?: number;
  /** Bytes that inlining saves outside of the caller, by estimate: a share of the callee's body. */
  readonly share?: number;
}

/** What is known of a call before anybody looks at the callee's body. */
export type CallOutside = Pick<CallSite, "call" | "callSites" | "isClosed">;

export interface InlineAdvisor {
  /** Bytes of code beyond which the callee stays where it is, whatever else its body has. */
  mostBytes(site: CallOutside): number;
  advise(site: CallSite): Advice;
}

export const isLastCall = ({ callSites, isClosed }: CallOutside): boolean => isClosed && callSites === 1;

/** What is known of arguments: constants, and bounds of numbers that decide something; null: of none that decides anything. */
export function factsFor({ call, callee, cost, bounds }: CallSite): (Constant | Interval | null)[] | null {
  let decides = false;
  const facts = callee.args.map((_, i) => {
    const value = call.operands[i + 1]!;
    if (value.valueKind === "undef") return null;
    const fact = isConstant(value) ? value : cost.decides[i] === 1 ? bounds(call, i) : null;
    if (fact !== null && cost.decides[i] === 1) decides = true;
    return fact;
  });
  return decides ? facts : null;
}
