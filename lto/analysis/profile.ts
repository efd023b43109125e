/**
 * What profiles and authors say of how often functions run: counts of entries (`!prof`), and the attributes `hot` and
 * `cold`. Linear.
 */
import type { Block } from "../ir/instructions.js";
import type { Func } from "../ir/module.js";

/** Whether the weights of its branches were counted, and not guessed: it was entered, and has some. */
export function isProfiled({ entryCount }: Func, blocks: readonly Block[]): boolean {
  if (entryCount === null || entryCount === 0) return false;
  return blocks.some(({ terminator }) => terminator.hints?.weights != null);
}

/** How often a function runs, where that is known: its author or a profile says so, the profile by what it counted. */
export function temperature({ attributes, entryCount }: Func): "hot" | "cold" | null {
  if (attributes.fn.has("hot")) return "hot";
  return entryCount === 0 || attributes.fn.has("cold") ? "cold" : null;
}
