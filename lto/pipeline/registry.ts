/**
 * Every pass there is: what options name, what `--help` and PASSES.md list. A pass is known once a pipeline has it
 * (pipelines.ts).
 */
import { type MachinePassInfo, optionalLateSteps } from "../codegen/late/pipeline.js";
import type { AnyPass } from "../pass/pass.js";
import { type Pipelines, pipelines, stepsOf } from "./pipelines.js";

/** In the order in which they first run. */
export const passes: readonly AnyPass[] = [
  ...new Set(Object.values(pipelines).flatMap((pipeline) => stepsOf(pipeline).map(({ pass }) => pass))),
];

/** Steps on machine code that options can leave out as they do passes. */
export const machineSteps: readonly MachinePassInfo[] = optionalLateSteps;

/** Passes, and where they run: what a command works with. Tests make others. */
export interface PassSet {
  readonly passes: readonly AnyPass[];
  readonly pipelines: Pipelines;
}
export const productPasses: PassSet = { passes, pipelines };

/** Rules of passes that can be left out, as options call them. */
export const rulesOf = ({ passes: list }: PassSet): { name: string; description: string }[] =>
  list.flatMap(({ name, rules = [] }) =>
    rules.map((rule) => ({ name: `${name}:${rule.name}`, description: rule.description })),
  );

/** Whether some pipeline can do without the pass. */
export function isSkippable(name: string, set: PassSet): boolean {
  if (machineSteps.some((step) => step.name === name)) return true;
  const steps = Object.values(set.pipelines).flatMap(stepsOf);
  return steps.some(({ pass, isRequired }) => pass.name === name && !isRequired);
}
