/**
 * Calling conventions of closed functions: where the integer argument registers of the platform's convention
 * really travel.
 *
 * A convention is a renaming of registers, not of parameters: whatever the platform would pass in `rdi` travels in
 * its substitute, at every call. So callers whose idea of the signature differs from the definition's (old-style
 * declarations) still do what they would do under the platform's convention.
 *
 * A substitute is a callee-saved register that holds a parameter for as long as the function needs it. The
 * function preserves it like any callee-saved register, in the common case by never writing it: no save, no copy
 * at the entry, and none in callers that keep the value in that register themselves.
 */
import { RBX, RDI } from "./registers.js";

export enum Convention {
  /** The platform's. */
  Default = 0,
  /** The first integer argument travels in rbx. */
  FirstInRbx = 1,
}

/** The register that a call passes the contents of an argument register in. */
export function argumentPlace(convention: Convention, register: number): number {
  return convention === Convention.FirstInRbx && register === RDI ? RBX : register;
}
