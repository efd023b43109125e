/** Placeholder until the cleaning pass is written. */
import type { AllocationProblem } from "./problem.js";
import type { Item } from "./rewrite.js";

export function removeRedundantMoves(_problem: AllocationProblem, _blocks: Item[][]): void {}
