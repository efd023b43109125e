/** Registers by the platform's convention, as bits: 0–15 general purpose, 16–31 xmm (System V ABI AMD64, 3.2.1). */

export const calleeSaved = [3, 5, 12, 13, 14, 15].reduce((mask, r) => mask | (1 << r), 0);
/** Everything a call of unknown code may change, and the unwinder on its way to a landing pad. */
export const conventionClobbers = ~(calleeSaved | (1 << 4));
/** rax, rdx, xmm0, xmm1. */
export const conventionResults = (1 << 0) | (1 << 2) | (1 << 16) | (1 << 17);
