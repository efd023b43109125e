/** How a function takes its arguments, leaves its result, and is left: what selection of its body has to keep to. */
import { type AttributeList, type AttributeSet, noAttributes } from "../../ir/attributes.js";
import type { Inst } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import type { Argument } from "../../ir/values.js";
import type { LegalArgument } from "../legalize/index.js";

/** An argument as the platform's convention sees it: of legal type. */
export interface AbiArgument {
  readonly type: Type;
  readonly attributes: AttributeSet;
}

export type ArgumentPlace =
  | { readonly kind: "register"; readonly register: number }
  /** `offset` bytes into the argument area; `size` is rounded up to whole words. */
  | { readonly kind: "stack"; readonly offset: number; readonly size: number }
  /** A copy of what the pointer points to, in the argument area. */
  | { readonly kind: "byval"; readonly offset: number; readonly size: number; readonly align: number };

/** Where arguments are passed. */
export interface ArgumentLayout {
  /** In the order of the arguments. */
  readonly places: readonly ArgumentPlace[];
  /** Size of the argument area, in whole words. */
  readonly stackBytes: number;
  /** How many registers of each class hold arguments, by class. */
  readonly registerCounts: readonly number[];
  /** Largest alignment of anything in the argument area. */
  readonly align: number;
}

/** How far a narrow integer is extended when it is passed: in the way that the attribute says, else not at all. */
export const extensionOf = (attributes: AttributeSet): "zeroext" | "signext" | null =>
  attributes.has("zeroext") ? "zeroext" : attributes.has("signext") ? "signext" : null;

export class FunctionAbi {
  /** The argument that points to where the result goes, which may have to be handed back; null: none does. */
  readonly resultPointer: Argument | null;
  readonly resultAttributes: AttributeSet = noAttributes;
  /** Slots of arguments that are passed in memory, by offset. */
  readonly incomingSlots = new Map<number, number>();
  /** By number of an argument that lies in memory as a whole: its offset, and bytes. */
  readonly wholeArguments = new Map<number, { readonly offset: number; readonly size: number }>();
  /** Slots that pointers passed by value point to, by number of the argument, where accesses name the slot. */
  readonly pointedSlots = new Map<number, number>();
  /** 1 for narrow arguments that callers zero-extend, by index. */
  readonly zeroExtended: Uint8Array;
  /** Calls have to remain calls. */
  readonly noTailCalls: boolean;
  /** No exception leaves the function, and it has no table that says where they go. */
  readonly nounwind: boolean;
  /** Some call has to be a tail call, which may write to the function's own arguments. */
  hasMustTail = false;
  /** The call that replaces the current block's return. */
  tailCall: Inst | null = null;

  constructor(
    attributes: AttributeList,
    args: readonly LegalArgument[],
    argumentCount: number,
    hasTable: boolean,
  ) {
    const { fn, result } = attributes;
    this.resultPointer = args.find(({ attributes: a }) => a.type("sret") !== undefined)?.argument ?? null;
    this.resultAttributes = result;
    this.nounwind = fn.has("nounwind") && !hasTable;
    this.noTailCalls = fn.string("disable-tail-calls") === "true";
    this.zeroExtended = new Uint8Array(argumentCount);
    for (const { argument: arg, attributes: a } of args)
      if (arg.type.kind === "int" && arg.type.bits >= 8 && arg.type.bits < 32 && a.has("zeroext"))
        this.zeroExtended[arg.index] = 1;
  }
}
