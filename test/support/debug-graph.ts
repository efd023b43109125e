/** Comparing graphs of debug information. */
import type { DebugNode, FieldNode } from "../../lto/ir/debug/nodes.js";
import { fieldsOf } from "../../lto/ir/debug/schema.js";
import { sameConstant } from "../../lto/ir/values.js";

/** Whether two graphs are alike, from these nodes on, whatever is the same node in both. */
export function sameGraph(
  ones: readonly (DebugNode | null)[],
  others: readonly (DebugNode | null)[],
): boolean {
  const pairs = new Map<DebugNode, DebugNode>();
  const work: [unknown, unknown][] = [];
  const same = (one: unknown, other: unknown): boolean => {
    if (Array.isArray(one))
      return (
        Array.isArray(other) && one.length === other.length && one.every((item, i) => same(item, other[i]))
      );
    if (typeof one !== "object" || one === null || typeof other !== "object") return one === other;
    work.push([one, other]);
    return other !== null;
  };
  if (!same(ones, others)) return false;
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const [one, other] = next as [DebugNode, DebugNode];
    const known = pairs.get(one);
    if (known !== undefined) {
      if (known !== other) return false;
      continue;
    }
    pairs.set(one, other);
    if (one.kind === "string" || other.kind === "string") {
      if (one.kind !== "string" || other.kind !== "string" || one.text !== other.text) return false;
    } else if (one.kind === "constant" || other.kind === "constant") {
      if (one.kind !== "constant" || other.kind !== "constant") return false;
      const [a, b] = [one.value, other.value];
      if (a.valueKind === "global" ? b.valueKind !== "global" || a.name !== b.name : !sameConstant(a, b))
        return false;
    } else {
      if (one.kind !== other.kind || one.distinct !== other.distinct) return false;
      for (const [name] of fieldsOf(one.kind))
        if (!same((one as never)[name], (other as never)[name])) return false;
    }
  }
  return true;
}

/** All nodes with fields that others lead to, each once. */
export function nodesBelow(roots: readonly FieldNode[]): FieldNode[] {
  const found = new Set<FieldNode>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    if (typeof value !== "object" || value === null || !("kind" in value)) return;
    const node = value as DebugNode;
    if (node.kind !== "string" && node.kind !== "constant") found.add(node);
  };
  visit(roots);
  // More come while it runs.
  for (const node of found) for (const [name] of fieldsOf(node.kind)) visit((node as never)[name]);
  return [...found];
}
