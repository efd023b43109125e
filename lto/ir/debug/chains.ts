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
    const fine = new Set<DebugNode>();
    for (const start of nodes) {
      const walked = new Set<DebugNode>();
      let at: DebugNode | null = start;
      while (at !== null && !fine.has(at)) {
        if (walked.has(at))
          throw new InputError(`malformed debug information: ${at.kind} is in its own ${name}`);
        walked.add(at);
        at = above(at, name);
      }
      for (const node of walked) fine.add(node);
    }
  }
}
