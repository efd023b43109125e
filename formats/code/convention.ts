/** Registers by the platform's convention, as bits: 0–15 general purpose, 16–31 xmm (System V ABI AMD64, 3.2.1). */

export const calleeSaved = [3, 5, 12, 13, 14, 15].reduce((mask, r) => mask | (1 << r), 0);
/** Everything a call of unknown code may change, and the unwinder on its way to a landing pad. */
export const conventionClobbers = ~(calleeSaved | (1 << 4));
/** rax, rdx, xmm0, xmm1. */
export const conventionResults = (1 << 0) | (1 << 2) | (1 << 16) | (1 << 17);

/** Profilers that functions call before everything else: they leave every register alone, and take the stack as it is. */
export const transparentRoutines: ReadonlySet<string> = new Set(["__fentry__"]);
/** Ways to call or jump to the pointer in r11 that speculation does not take. They change that register only. */
export const indirectRoutines: ReadonlySet<string> = new Set([
  "__llvm_retpoline_r11",
  "__x86_indirect_thunk_r11",
]);
export const indirectRoutineClobbers = 1 << 11;
