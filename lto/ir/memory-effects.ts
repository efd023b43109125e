/**
 * What memory a call may read and write, in the form of the `memory` attribute (LLVM Language Reference,
 * "Function Attributes"): two bits for each location, 1 may read, 2 may write, from bit 0 on argument memory,
 * inaccessible memory, other memory. Smaller sets of bits are stronger claims; `&` joins claims that all hold,
 * `|` is what one of several may do.
 */

export type MemoryEffects = number;

export const Memory = {
  None: 0,
  /** Only through pointer arguments. */
  Argument: 0b000011,
  ArgumentRead: 0b000001,
  ArgumentWrite: 0b000010,
  /** Only memory that the program cannot name: state of the machine or the run-time system. */
  Inaccessible: 0b001100,
  /** Whatever the program can name but pointer arguments. */
  OtherRead: 0b010000,
  OtherWrite: 0b100000,
  /** Reads anything, writes nothing. */
  Read: 0b010101,
  /** Writes anything, reads nothing. */
  Write: 0b101010,
  Any: 0b111111,
} as const;

export const mayWrite = (effects: MemoryEffects): boolean => (effects & Memory.Write) !== 0;
