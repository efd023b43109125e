/**
 * Publication: the masks that a component of the call graph lets its callers rely on, once all of it is allocated.
 *
 * What a component changes as a whole is the least fixpoint of "own writes and what callees change": the union over
 * its members, whose calls inside of it add nothing. Linear in the calls.
 */

import type { IndirectCalls } from "../../analysis/function-pointers/index.js";
import { intersect, noRegisters, type RegisterSet, union } from "../register-set.js";
import type { FunctionFacts } from "./facts.js";
import type { CalleeNumber, FunctionNumber } from "./numbering.js";

/** What a call changes, by what it reaches. @param changed by each function @param callClobbers by unknown code */
export function changesByCallee(
  { sets }: IndirectCalls,
  changed: readonly RegisterSet[],
  callClobbers: RegisterSet,
): (callee: CalleeNumber) => RegisterSet {
  return (callee) => {
    if (callee < changed.length) return changed[callee]!;
    const { members, unknown } = sets[callee - changed.length]!;
    return members.reduce(
      (set, member) => union(set, changed[member]!),
      unknown ? callClobbers : noRegisters,
    );
  };
}

/** The registers, of those that calls of unknown code may change, that a call of the component changes. */
export function changedByComponent(
  members: readonly FunctionNumber[],
  facts: (number: FunctionNumber) => FunctionFacts,
  changedBy: (callee: CalleeNumber) => RegisterSet,
  callClobbers: RegisterSet,
): RegisterSet {
  const inside = new Set<CalleeNumber>(members);
  let changed = noRegisters;
  for (const member of members) {
    const { written, calls } = facts(member);
    changed = union(changed, written);
    for (const { callee } of calls) if (!inside.has(callee)) changed = union(changed, changedBy(callee));
  }
  return intersect(changed, callClobbers);
}
