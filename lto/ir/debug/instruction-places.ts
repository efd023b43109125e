/** Locations of instructions as LLVM's verifier wants them, which drops a module's debug information where one is not so. */
import { type Inst, isCall } from "../instructions.js";
import type { Origins } from "../origins.js";
import { type DILocation, type DISubprogram, subprogramOf } from "./nodes.js";

/**
 * Where an instruction of a function with a subprogram is: in that, if need be through calls that were inlined. Code of
 * other functions, taken out of them, is nowhere. Calls that may be inlined are somewhere.
 */
export function placeOf(origins: Origins, inst: Inst, subprogram: DISubprogram): DILocation | null {
  const place = origins.locationOf(inst.origin);
  if (place !== null && leadsTo(place, subprogram)) return place;
  if (!isCall(inst)) return null;
  const callee = inst.operands[0]!;
  const mayBeInlined =
    callee.valueKind === "global" && callee.kind === "function" && callee.subprogram !== null;
  return mayBeInlined ? origins.place(0, 0, subprogram, null) : null;
}

/** All scopes are of subprograms, and the outermost one is this. */
export function leadsTo(place: DILocation, subprogram: DISubprogram): boolean {
  for (let at: DILocation | null = place; at !== null; at = at.inlinedAt) {
    const found = at.scope === null ? null : subprogramOf(at.scope);
    if (found === null) return false;
    if (at.inlinedAt === null) return found === subprogram;
  }
  return false;
}
