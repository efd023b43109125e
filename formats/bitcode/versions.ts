/** Versions of LLVM that bitcode may be written for: from the first with pointers that have no types. */
export const oldestBitcode = 15;
export const newestBitcode = 22;
