/** Chains of debug information that others walk to their end: that they have one. */
import { InputError } from "../errors.js";
import type { DebugNode, FieldNode } from "./nodes.js";

/** What a node names as that which it stands in, or came through. */
function above(node: DebugNode, name: string): DebugNode | null {
  return ((node as unknown as Record<string, unknown>)[name] as DebugNode | null | undefined) ?? null;
}

/**
 * Checks those that lead from new nodes, whose chains may go on in older ones; these lead to no new ones.
 * @throws InputError when one comes back to where it was
 */
export function checkChains(nodes: readonly FieldNode[]): void {
  if (nodes.length === 0) return;
  for (const name of ["scope", "inlinedAt"]) {
    if (nodes.length === 1) {
      // Most locations.
      if (above(nodes[0]!, name) === nodes[0]) throw isInItself(nodes[0]!, name);
      continue;
    }
    /** By which walk each new node was passed first; -1: by none yet. */
    const passed = new Map<DebugNode, number>(nodes.map((node) => [node, -1]));
    for (let walk = 0; walk < nodes.length; walk++) {
      let at: DebugNode | null = nodes[walk]!;
      while (at !== null && passed.get(at) === -1) {
        passed.set(at, walk);
        at = above(at, name);
      }
      if (at !== null && passed.get(at) === walk) throw isInItself(at, name);
    }
  }
}

const isInItself = (node: DebugNode, name: string): InputError =>
  new InputError(`malformed debug information: ${node.kind} is in its own ${name}`);
