/** Calling conventions that programs ask for and that no pass may change to its own. Numbers: llvm/IR/CallingConv.h. */
export const AskedConvention = {
  PreserveMost: 14,
  PreserveAll: 15,
  /** The platform's, but calls at the end are jumps whatever the level. */
  Tail: 18,
  PreserveNone: 21,
  Microsoft: 79,
} as const;

/** C, and those that are for the compiler to choose (`fastcc`, `coldcc`): a closed function may get one of its own. */
export const isFreeConvention = (convention: number): boolean =>
  convention === 0 || convention === 8 || convention === 9;
