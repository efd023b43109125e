/**
 * Publication: the masks that a component of the call graph lets its callers rely on, once all of it is allocated.
 *
 * What a component changes as a whole is the least fixpoint of "own writes and what callees change": the union over
 * its members, whose calls inside of it add nothing. Linear in the calls.
 */
import type { IndirectCalls } from "../../analysis/function-pointers/index.js";
import type { RegMask } from "../mir.js";
import type { FunctionFacts } from "./facts.js";
import type { CalleeNumber, FunctionNumber } from "./numbering.js";

/** What a call changes, by what it reaches. @param changed by each function @param callClobbers by unknown code */
export function changesByCallee(
  { sets }: IndirectCalls,
  changed: readonly RegMask[],
  callClobbers: RegMask,
): (callee: CalleeNumber) => RegMask {
  return (callee) => {
    if (callee < changed.length) return changed[callee]!;
    const { members, unknown } = sets[callee - changed.length]!;
    return members.reduce((mask, member) => mask | changed[member]!, unknown ? callClobbers : 0);
  };
}

/** The registers, of those that calls of unknown code may change, that a call of the component changes. */
export function changedByComponent(
  members: readonly FunctionNumber[],
  facts: (number: FunctionNumber) => FunctionFacts,
  changedBy: (callee: CalleeNumber) => RegMask,
  callClobbers: RegMask,
): RegMask {
  const inside = new Set<CalleeNumber>(members);
  let changed = 0;
  for (const member of members) {
    const { written, calls } = facts(member);
    changed |= written;
    for (const { callee } of calls) if (!inside.has(callee)) changed |= changedBy(callee);
  }
  return changed & callClobbers;
}
