/**
 * Calls through pointers that check the type of what they call (`-fsanitize=kcfi`, operand bundle `kcfi`): the four
 * bytes that end before the callee's entry, and before what may be patched there, are the number of its type.
 *
 *     movl  $-type, %r10d
 *     addl  -4(%r11), %r10d
 *     je    1f
 *     ud2                       # listed in .kcfi_traps
 *   1: call *%r11
 *
 * The kernel's trap handler decodes these instructions, so registers and order are fixed: as in LLVM's X86 back end.
 */

import { MInst, RegOperand } from "../../codegen/mir.js";
import { calleeType } from "../../codegen/select/calls.js";
import type { CallInst } from "../../ir/instructions.js";
import { JumpMark, X } from "../isa/ops.js";
import { maskOf, R10, R11 } from "../isa/registers.js";
import type { Selector } from "./selector.js";

/**
 * Emits the check, with nothing to come between it and the call but copies of arguments.
 * @param machine a call whose first use is the target
 */
export function checkTarget(s: Selector, call: CallInst, machine: MInst): void {
  const type = calleeType(call);
  if (type === null) return;
  const { fn } = s.mf;
  const patched =
    fn.kind === "function" ? Number(fn.attributes.fn.string("patchable-function-prefix") ?? 0) : 0;
  const checked = s.newGpr();
  const check = new MInst(X.KcfiCheck, 8);
  check.defs = [RegOperand.tied(checked), new RegOperand(s.newGpr(4), maskOf(R10))];
  check.uses = [new RegOperand(machine.uses[0]!.vreg, maskOf(R11))];
  check.imm = -type | 0;
  check.extra = { kind: "number", value: 4 + patched };
  s.emit(check);
  machine.marks |= JumpMark.Checked;
  machine.uses[0] = new RegOperand(checked, maskOf(R11));
}
