/** Bytes of calls and of what they pass, and how much travels in registers. */
import type { Constant, Value } from "../ir/values.js";
import type { Addresses } from "./addresses.js";

export interface CallCosts {
  /** Arguments that the platform's convention passes in general registers, and in those for floating point. */
  readonly integers: number;
  readonly floats: number;
  /** Whoever passes 32 bits in a register extends them by their sign (`signext`). */
  readonly signExtendsWords: boolean;
  /**
   * Bytes of the instruction that computes square roots of `float` and `double`, and of asking whether its result is a number;
   * null: a root is a call of a routine.
   */
  readonly rootBytes: number | null;
  /** Bytes of a direct call. */
  readonly call: number;
  /** Estimated bytes of what a call does to values around it that had no call there. */
  readonly around: number;
  /** Of using the first result, and of each further one. */
  readonly result: number;
  readonly nextResult: number;
  /** Of a value that has to survive a call. */
  readonly kept: number;
  /** Of moving a parameter out of the way of calls, and saving what it moves to. */
  readonly keptParameter: number;
  /** Of an address or a bit that was part of another instruction and is a value now. */
  readonly folded: number;
  /** Of passing any value, at least. */
  readonly leastPass: number;
  /** Of a sum with a constant that is passed, or made of a parameter. */
  readonly plus: number;
  /** Of passing a value, whatever register it takes. */
  pass(value: Value): number;
  /** Of setting the register of an argument: general ones from 0, those for floating point from -1 downwards. */
  constant(value: Constant, register: number, addresses: Addresses): number;
  /** Of loading it from a variable. */
  load(register: number): number;
  /** Of telling a function with variable arguments how many registers for floating point have some. */
  vectorCount(count: number): number;
}
