/** Chains of debug information that others walk to their end: that they have one. */
import { InputError } from "../errors.js";
import type { DebugNode, FieldNode } from "./nodes.js";

/** What a node names as that which it stands in, or came through. */
function above(node: DebugNode, name: string): DebugNode | null {
  return ((node as unknown as Record<string, unknown>)[name] as DebugNode | null | undefined) ?? null;
}

/**
 * Checks those that lead from new nodes, whose chains may go on in older ones.
 * @throws InputError when one comes back to where it was
 */
export function checkChains(nodes: readonly FieldNode[]): void {
  for (const name of ["scope", "inlinedAt"]) {
    /** By which walk each node was passed first. */
    const passed = new Map<DebugNode, number>();
    for (let walk = 0; walk < nodes.length; walk++) {
      let at: DebugNode | null = nodes[walk]!;
      while (at !== null && !passed.has(at)) {
        passed.set(at, walk);
        at = above(at, name);
      }
      if (at !== null && passed.get(at) === walk)
        throw new InputError(`malformed debug information: ${at.kind} is in its own ${name}`);
    }
  }
}
