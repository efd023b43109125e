/** Which constants fit an instruction. */

/** Fits a sign-extended 32-bit immediate. */
export const fitsImm32 = (n: number): boolean => n >= -2147483648 && n <= 2147483647;
export const fitsImm8 = (n: number): boolean => n >= -128 && n <= 127;
