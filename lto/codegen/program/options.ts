/** What code generation can be told. Plain data: it is copied to every thread as it is. */
import type { Func } from "../../ir/module.js";
import type { PassOptions } from "../../pass/options.js";
import type { OptimizationLevel } from "../lowering/context.js";
import type { MFunction } from "../mir.js";
import type { OutlineOptions } from "../outline/outliner.js";
import type { AllocatorOptions } from "../regalloc/index.js";
import type { CodeModel, RelocationModel } from "../target.js";

export type { OptimizationLevel } from "../lowering/context.js";

/**
 * Parts of interprocedural register allocation that stand for themselves: narrowed masks of calls, conventions of closed
 * functions, sets of callees of calls through pointers, placing of saves, stacks that are aligned only where somebody
 * relies on it.
 */
export const ipraParts = ["masks", "conventions", "pointers", "saves", "alignment"] as const;
export type IpraPart = (typeof ipraParts)[number];

/** What says which parts are done. */
export type IpraOptions = Pick<CodegenOptions, "ipra" | "skipIpra">;

export const doesIpra = ({ ipra, skipIpra = [] }: IpraOptions, part: IpraPart): boolean =>
  ipra && !skipIpra.includes(part);

export interface CodegenOptions {
  readonly relocation: RelocationModel;
  /** Absent: small. */
  readonly codeModel?: CodeModel;
  /** Bytes up to which variables are near the code; absent: all are. */
  readonly nearData?: number;
  /** Bytes to which the stack is aligned at calls of unknown code; absent: as the ABI says. */
  readonly stackAlignment?: number;
  /** Overrides what the functions' attributes say; null leaves it to them. */
  readonly level: OptimizationLevel | null;
  readonly allocator: AllocatorOptions["allocator"];
  readonly coalesce: AllocatorOptions["coalesce"];
  /** null: by the goal of each function. */
  readonly spillCost: AllocatorOptions["spillCost"] | null;
  readonly checkAllocation: boolean;
  /** Interprocedural register allocation: narrowed clobber masks and save placement. */
  readonly ipra: boolean;
  /** Parts of it that are left out; absent: none. */
  readonly skipIpra?: readonly IpraPart[];
  /** Functions with variable arguments save what their callers pass, and count on nothing else; with `ipra` only. */
  readonly boundVariableArguments: boolean;
  /** Prologues and epilogues move to where the frame is needed. */
  readonly shrinkWrap: boolean;
  /** Registers that hold nothing point among small variables, for size. */
  readonly baseRegister: boolean;
  /** Pops and returns that many functions end with stand once, for size. */
  readonly sharedEpilogues: boolean;
  /** Functions that end in a jump to another stand before it, without the jump, or near it, for size. */
  readonly functionLayout: boolean;
  /** Neighbouring functions have one unwind description where they can. */
  readonly sharedUnwind: boolean;
  /** Repeated code becomes functions, in those that are for size; null: it stays. */
  readonly outline: Pick<OutlineOptions, "forms" | "rounds"> | null;
  /** What time is worth in code for size: the knob of `timeBytes` (analysis/heat.ts). */
  readonly sizeTime: number;
  /** A section for each function, and for each variable, so that a linker can drop or order them. */
  readonly functionSections?: boolean;
  readonly dataSections?: boolean;
  /** Debuggers are told where code is from. It changes no code. */
  readonly debugInfo?: boolean;
  /** No code has unwind tables: debuggers have descriptions of frames of their own, which are not loaded. */
  readonly debugFrames?: boolean;
  /** All final code is unpacked and packed again before layout, which must change nothing. */
  readonly checkPacking?: boolean;
  /** What runners of passes do besides. */
  readonly passes: PassOptions;
  /** Run the IR verifier on each body before using it. */
  readonly verify: boolean;
}

/** What the function is compiled for: its own attributes unless a level is forced. */
export function goalOf(fn: Func, level: OptimizationLevel | null): MFunction["goal"] {
  const attributes = fn.attributes.fn;
  if (attributes.has("optnone")) return "none";
  switch (level) {
    case "O0":
      return "none";
    case "Os":
      return "size";
    case "Oz":
      return "minsize";
    case null:
      return attributes.has("minsize") ? "minsize" : attributes.has("optsize") ? "size" : "speed";
    default:
      return "speed";
  }
}

/** The level at which a function with this goal is compiled. @param forced null: what the function was compiled for */
export function levelOf(goal: MFunction["goal"], forced: OptimizationLevel | null): OptimizationLevel {
  if (goal === "none") return "O0";
  if (forced !== null) return forced;
  return goal === "minsize" ? "Oz" : goal === "size" ? "Os" : "O2";
}
