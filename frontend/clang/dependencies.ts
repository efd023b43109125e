/** Dependency files (`make` rules) of the embedded compiler. */
import { resourceDirectory } from "./embedded.js";

const path = resourceDirectory.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") + "\\/[^\\s:]*";
const prerequisite = new RegExp(`(?: \\\\\\n)? +${path}`, "g");
const phonyTarget = new RegExp(`^${path}:\\n+`, "gm");

/**
 * `rules` without the compiler's own headers: those are not on the disk, so `make` could not find them. Lines are
 * not filled again.
 */
export function withoutCompilerHeaders(rules: string): string {
  return rules.replace(prerequisite, "").replace(phonyTarget, "");
}
