/**
 * Calls that another call may follow without coming back first: `setjmp`, and `llvm.eh.sjlj.setjmp`, which LLVM 22 does
 * not take for one and therefore lets calls after it be jumps (seen: `clang -O2` of a `__builtin_longjmp` into a frame
 * that is gone).
 */
import { type Inst, isCall } from "./instructions.js";
import { intrinsicOf } from "./intrinsics.js";

export function returnsTwice(inst: Inst): boolean {
  if (!isCall(inst)) return false;
  if (inst.data.attributes.fn.has("returns_twice")) return true;
  const callee = inst.operands[0]!;
  if (callee.valueKind !== "global" || callee.kind !== "function") return false;
  return callee.attributes.fn.has("returns_twice") || intrinsicOf(callee)?.returnsTwice === true;
}
