/**
 * The shape of a row of the table of intrinsics, and the words its files are written in.
 *
 * A signature is `result(parameters)`, one character a type, alternatives separated by `|`; "" is any:
 *
 *   v void    b i1    c i8    h i16    w i32    x i64    d double    m metadata    p pointer
 *   i an integer              N an integer or a vector of integers
 *   f a float                 F a float or a vector of floats
 *   P a pointer or a vector of pointers       V a vector       * anything
 *   0 the type of the result, 1…9 that of a parameter
 *   E the element type of the first vector among the parameters
 *   B i1, or a vector of i1 as long as the first parameter
 *   O { T, B } where T is the type of the first parameter
 */
import { Memory, type MemoryEffects } from "../memory-effects.js";

/** Bits of `IntrinsicFacts.bits`: each is a promise, so that none of them is the safe answer. */
export const Fact = {
  NoUnwind: 1 << 0,
  /** Returns in the end (neither loops for ever nor leaves the program), in whatever state it is called. */
  WillReturn: 1 << 1,
  /** Does not communicate with another thread. */
  NoSync: 1 << 2,
  /** Frees no memory that existed before the call. */
  NoFree: 1 << 3,
  /** Does not call back into the program. */
  NoCallback: 1 << 4,
  /** Has no effect and no undefined behaviour, so it may be executed where it was not asked for. */
  Speculatable: 1 << 5,
  /** The first two operands may change places. */
  Commutative: 1 << 6,
  /** Removable when its result is not used, although its memory effects forbid it: see the row. */
  Removable: 1 << 7,
  /** Copies the first operand to the result as far as its value goes. */
  ReturnsFirst: 1 << 8,
} as const;

/** The opposite: what a call demands. Set for intrinsics that are not known. */
export const Demand = {
  /** Not to be made dependent on further conditions. */
  Convergent: 1 << 0,
  /** Not to be duplicated. */
  NoDuplicate: 1 << 1,
  /** Does not return. */
  NoReturn: 1 << 2,
  /** May return more than once. */
  ReturnsTwice: 1 << 3,
} as const;

export interface IntrinsicFacts {
  readonly memory: MemoryEffects;
  readonly bits: number;
  readonly demands: number;
}

/** Numbers of parameters. */
export interface ParameterFacts {
  /** Must be constants of the call (`immarg`). */
  readonly immediate?: readonly number[];
  /** Pointers that do not outlive the call in a copy. */
  readonly noCapture?: readonly number[];
  /** Pointers through which it only reads. */
  readonly readOnly?: readonly number[];
  /** Pointers through which it only writes. */
  readonly writeOnly?: readonly number[];
}

export interface IntrinsicRow {
  readonly signatures: readonly string[];
  readonly facts: IntrinsicFacts;
  readonly parameters: ParameterFacts;
}

export const row = (
  signature: string,
  facts: IntrinsicFacts,
  parameters: ParameterFacts = {},
): IntrinsicRow => ({
  signatures: signature === "" ? [] : signature.split("|"),
  facts,
  parameters,
});

export const facts = (memory: MemoryEffects, bits: number, demands = 0): IntrinsicFacts => ({
  memory,
  bits,
  demands,
});
/** The same with more promises. */
const also = (base: IntrinsicFacts, bits: number): IntrinsicFacts => ({
  ...base,
  bits: base.bits | bits,
});

/** What LLVM's default attributes of intrinsics promise. */
export const wellBehaved = Fact.NoUnwind | Fact.WillReturn | Fact.NoSync | Fact.NoFree | Fact.NoCallback;

/** A function of its operands, defined for all of them. */
export const pure = facts(Memory.None, wellBehaved | Fact.Speculatable);
export const commutative = also(pure, Fact.Commutative);
/** A function of its operands that may not be executed before it is asked for. */
export const computed = facts(Memory.None, wellBehaved);
/** Reads or changes state outside of the program's memory; keeps its place among others such. */
export const onState = facts(Memory.Inaccessible, wellBehaved);
/** The same, but may go when its result is not used. */
export const underState = also(onState, Fact.Removable);
/** Ends with a return, but may do anything to memory. */
export const onMemory = facts(Memory.Any, wellBehaved);
/** Promises no more than not to unwind. */
export const opaque = facts(Memory.Any, Fact.NoUnwind);
/** Nothing is known. */
export const unknown = facts(Memory.Any, 0, Demand.Convergent | Demand.NoDuplicate | Demand.ReturnsTwice);
