/**
 * x86-64 registers as the allocator numbers them: 0–15 general purpose in encoding order, 16–31 xmm0–xmm15, 32–47
 * xmm16–xmm31, which EVEX encoding alone can name (`high-registers.ts`).
 * Flags and the x87 stack are not allocated: selection keeps flag producers next to their consumers, and
 * x87 values live in memory between instructions.
 * Source: System V ABI for AMD64, section 3.2.1 (register roles).
 */
import {
  minus,
  type RegisterSet,
  registerRange,
  registerSet,
  union,
  withRegister,
} from "../../codegen/register-set.js";

export const GPR = 0;
export const XMM = 1;

export const RAX = 0;
export const RCX = 1;
export const RDX = 2;
export const RBX = 3;
export const RSP = 4;
export const RBP = 5;
export const RSI = 6;
export const RDI = 7;
export const R8 = 8;
export const R9 = 9;
export const R10 = 10;
export const R11 = 11;
export const R12 = 12;
export const R13 = 13;
export const R14 = 14;
export const R15 = 15;
export const XMM0 = 16;
export const XMM16 = 32;

export const maskOf = registerSet;

export const gprMask: RegisterSet = registerRange(RAX, 16);
export const xmmMask: RegisterSet = registerRange(XMM0, 16);
export const highMask: RegisterSet = registerRange(XMM16, 16);
/** All vector registers, where the function has EVEX encoding for all widths. */
export const everyXmmMask: RegisterSet = union(xmmMask, highMask);
/** Preserved across calls; rsp too, but it is never allocated. */
export const calleeSavedMask: RegisterSet = maskOf(RBX, RBP, R12, R13, R14, R15);
/**
 * What a call of the default convention may change: everything allocatable but the callee-saved, and but `highMask`: those no call
 * keeps, whatever is known of it, so that masks of functions do not speak of them.
 */
export const callClobbers: RegisterSet = minus(union(gprMask, xmmMask), withRegister(calleeSavedMask, RSP));

export const integerArguments: readonly number[] = [RDI, RSI, RDX, RCX, R8, R9];
export const vectorArgumentCount = 8;

const names64 = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"];
const names8 = ["al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"];
const word = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];

/** Assembly name without `%` of register `reg` seen as `size` bytes (1, 2, 4, 8; vector registers: 64, 32, or any other). */
export const registerNames: Readonly<Record<number, readonly string[]>> = {
  1: build((r) => (r < 8 ? names8[r]! : `r${r}b`)),
  2: build((r) => (r < 8 ? word[r]! : `r${r}w`)),
  4: build((r) => (r < 8 ? `e${word[r]!}` : `r${r}d`)),
  8: build((r) => (r < 8 ? names64[r]! : `r${r}`)),
  16: build((r) => (r < 8 ? names64[r]! : `r${r}`)),
  32: build((r) => (r < 8 ? names64[r]! : `r${r}`), "y"),
  64: build((r) => (r < 8 ? names64[r]! : `r${r}`), "z"),
};

function build(gpr: (r: number) => string, vector = "x"): string[] {
  return Array.from({ length: 48 }, (_, r) => (r < 16 ? gpr(r) : `${vector}mm${r - 16}`));
}
