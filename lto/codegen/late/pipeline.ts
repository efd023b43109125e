/**
 * The steps after allocation, as lists, and what each order is for.
 *
 * A function is completed once it is decided for the program who saves what; then it waits, packed, until all of them
 * are: here, and only here, all final code can be seen and changed in one place. At last functions are laid out and
 * printed one by one.
 */

import type { PassRunner } from "../../pass/runner.js";
import { follow, snapshot } from "../debug/marks.js";
import type { MFunction } from "../mir.js";
import { minus, union } from "../register-set.js";
import type { FramePlan, FrameRequest } from "../target.js";
import { blockTimes } from "./block-time.js";
import { simplifyControlFlow } from "./cfg.js";
import { insertCfi } from "./cfi.js";
import { narrowJumpTables } from "./jump-tables.js";
import { layOut } from "./layout.js";
import { mergeTails } from "./merge-tails.js";
import type { ProgramCode } from "./program-code.js";
import type { RuleUse } from "./rule-use.js";
import type { ShrinkWrapRegion } from "./shrink-wrap.js";

/** What options and the manual say of a step. */
export interface MachinePassInfo {
  /** As options spell it: words with dashes. */
  readonly name: string;
  /** One line for the manual, without a period. */
  readonly description: string;
  /** What follows relies on it: it cannot be left out. */
  readonly isRequired: boolean;
}

/** What is decided about a function's frame. */
export interface FrameChoice {
  readonly request: FrameRequest;
  readonly plan: FramePlan;
  /** Blocks that have the frame; null: all. */
  readonly wrapping: ShrinkWrapRegion | null;
  /** Of the peepholes' rules. */
  readonly rules: RuleUse;
}

/** A step that is taken for each function by itself. */
export interface MachinePass<Situation = void> extends MachinePassInfo {
  run(mf: MFunction, situation: Situation): void;
}

/** The choice before the steps: paths that need no frame run without it. */
export const shrinkWrap: MachinePassInfo = {
  name: "shrink-wrap",
  description: "prologues and epilogues go where the frame is needed",
  isRequired: false,
};

/** The choice before that one: calls before a shared return that frames do not keep. */
export const lateTailCalls: MachinePassInfo = {
  name: "late-tail-calls",
  description:
    "calls before a return that other paths share are jumps where no frame is in the way, for size",
  isRequired: false,
};

/** From registers and slots to final code, whose blocks may still be in any order. Edges stay up to date. */
export const framePasses: readonly MachinePass<FrameChoice>[] = [
  // First: after it there are only registers and addressed memory, and nothing moves the stack pointer any more.
  {
    name: "insert-frame",
    description: "prologues, epilogues, and addresses in place of slots",
    isRequired: true,
    run: (mf, { request, plan, wrapping }) => mf.target.frame.insert(mf, request, plan, wrapping),
  },
  // Code on edges and blocks that allocation left with a lone jump: peepholes work on blocks, and want them long.
  {
    name: "simplify-jumps",
    description: "jumps past blocks that only jump, and blocks with their only successors",
    isRequired: true,
    run: simplifyControlFlow,
  },
  // Before tails are compared: what a peephole makes equal can be shared, but shared code has no one context.
  {
    name: "peepholes",
    description: "shorter instructions for the same, one or a few at a time",
    isRequired: false,
    run: (mf, { request, plan, rules }) =>
      mf.target.peepholes(
        mf,
        plan.redZone,
        minus(mf.target.registers.all, union(request.written, request.scratch)),
        rules,
        blockTimes(mf, mf.goal === "minsize" ? rules.settings.sizeTime : 0),
      ),
  },
  {
    name: "merge-tails",
    description: "one copy of what blocks end or start with alike, for size",
    isRequired: false,
    run: (mf, { wrapping }) => mergeTails(mf, wrapping !== null),
  },
  // What tails were cut off may be a lone jump.
  {
    name: "simplify-merged",
    description: "simplify-jumps once more",
    isRequired: true,
    run: simplifyControlFlow,
  },
];

/** The step that puts functions beside those that they end with calls of (function-order.ts). */
export const fallThroughStep: MachinePassInfo = {
  name: "function-layout",
  description:
    "functions that end in a jump to another stand in front of it, without the jump, or near it, for size",
  isRequired: false,
};

/** A step that sees the final code of the whole program. */
export interface ProgramStep {
  readonly name: string;
  run(code: ProgramCode): void;
}

/** The step that makes functions of repeated code (outline/outliner.ts): it gets what it needs from the driver. */
export const outlineStep: MachinePassInfo = {
  name: "outline",
  description: "repeated code as functions, for size",
  isRequired: false,
};

/** The step that makes epilogues one (share-epilogues.ts). */
export const shareEpiloguesStep: MachinePassInfo = {
  name: "share-epilogues",
  description: "pops and returns that many functions end with stand once, for size",
  isRequired: false,
};

/** For `--check-packing`: takes every function apart and puts it together. What comes out must be the same. */
export const repack: ProgramStep = {
  name: "repack",
  run(code) {
    for (let number = 0; number < code.count; number++) code.edit(number, () => true);
  },
};

/** From final code to its order in the text. No step may follow that changes an instruction's length. */
export const emission: readonly MachinePass[] = [
  // After all that moves code: what it puts in has its place. Before layout, which counts its bytes.
  {
    name: "harden",
    description: "what attributes ask for at entries, exits and targets of indirect branches",
    isRequired: true,
    run: (mf) => mf.target.harden(mf),
  },
  {
    name: "lay-out",
    description: "the order of blocks, and jumps that follow from it",
    isRequired: true,
    run: layOut,
  },
  // With the order of blocks, distances are known.
  {
    name: "narrow-jump-tables",
    description: "jump tables of one or two bytes an entry, for size",
    isRequired: true,
    run: narrowJumpTables,
  },
  // Last: directives depend on which code stands above which.
  {
    name: "unwind-directives",
    description: "where the frame is, for the unwinder",
    isRequired: true,
    run: (mf) => insertCfi(mf, mf.framePointer),
  },
];

/** The steps that may be left out, in their order. */
export const optionalLateSteps: readonly MachinePassInfo[] = [
  lateTailCalls,
  shrinkWrap,
  ...framePasses.filter((step) => !step.isRequired),
];

/** The steps that are wanted for a function. @param first number of its first optional step, for bisection */
export function wantedLateSteps(runner: PassRunner, fn: string, first: number): ReadonlySet<MachinePassInfo> {
  const unit = { kind: "function", name: fn } as const;
  return new Set(optionalLateSteps.filter((step, i) => runner.wants(step.name, unit, first + i)));
}

/** Takes the steps one after the other. @param wanted those of the optional ones to take; by default all */
export function runMachinePasses<Situation>(
  steps: readonly MachinePass<Situation>[],
  mf: MFunction,
  situation: Situation,
  runner: PassRunner | null,
  wanted: ReadonlySet<MachinePassInfo> | null = null,
): void {
  for (const step of steps) {
    if (!step.isRequired && wanted !== null && !wanted.has(step)) continue;
    const marks = mf.debug?.marks ?? null;
    const marked = marks === null ? null : snapshot(mf.blocks);
    if (runner === null) step.run(mf, situation);
    else runner.phase(step.name, mf.name, () => step.run(mf, situation));
    if (marked !== null) follow(marks!, marked, mf.blocks, false);
  }
}
