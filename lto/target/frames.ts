/** Bytes that a function takes for being one: its end, its frame, and what describes it to the unwinder. */
export interface FrameCosts {
  readonly return: number;
  /** Moving the stack pointer and moving it back, in the shortest way. */
  readonly adjust: number;
  /** Estimated: return, alignment and part of a shared description of a function without a frame. */
  readonly leaf: number;
  /** The same with a frame and its description. */
  readonly frame: number;
  /** What takes the place of the return where a function ends in a jump to another. */
  readonly jump: number;
  /** A function that is nothing but such a jump, with its share of alignment and description. */
  readonly thunk: number;
  /** What a function's first call adds to it. */
  readonly firstCall: number;
  /** The unwinder's description of a function where functions share none, with its entry in the index. */
  readonly description: number;
  /** The same where some share theirs. */
  readonly sharedDescription: number;
  /** A row of a description: what changes at a place in the code. */
  readonly row: number;
  /** In a row, where a register is saved. */
  readonly savedRegister: number;
}
