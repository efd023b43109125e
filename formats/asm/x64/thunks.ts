/**
 * Routines through which indirect branches go where speculation must not follow them ("retpolines"; Intel, "Retpoline:
 * A Branch Target Injection Mitigation"). The target is in r11. LLVM's names, so that objects of both share one copy.
 */
import type { Module } from "../../../lto/ir/module.js";

export const ownThunk = "__llvm_retpoline_r11";
export const externalThunk = "__x86_indirect_thunk_r11";

const text = `\t.section\t.text.${ownThunk},"axG",@progbits,${ownThunk},comdat
\t.hidden\t${ownThunk}
\t.weak\t${ownThunk}
\t.p2align\t4
\t.type\t${ownThunk},@function
${ownThunk}:
\tcall\t.Lretpoline_set_up
.Lretpoline_wait:
\tpause
\tlfence
\tjmp\t.Lretpoline_wait
\t.p2align\t4
.Lretpoline_set_up:
\tmovq\t%r11, (%rsp)
\tret
\t.size\t${ownThunk}, .-${ownThunk}
`;

/** The routine, if a function of the module may need it. */
export function thunkText(module: Module): string {
  for (const fn of module.functions) {
    if (fn.isDeclaration) continue;
    const features = fn.attributes.fn.string("target-features");
    if (features?.includes("+retpoline-indirect") === true && !features.includes("+retpoline-external-thunk"))
      return text;
  }
  return "";
}
