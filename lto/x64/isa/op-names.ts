/**
 * The names of `X`'s members. A constant enumeration is inlined where it is used: it can be asked for names only as the
 * object that it is at run time.
 */
import * as ops from "./ops.js";

/** By opcode. */
export const opcodeNames = (ops as unknown as { X: Readonly<Record<number, string>> }).X;
