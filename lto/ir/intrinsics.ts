/**
 * LLVM's intrinsics: which one a function is, and what that says of a call.
 *
 * A function's name is looked at once, when `Func.intrinsic` is first asked for; after that an intrinsic is an
 * object, compared by identity with the members of `intrinsics`. Its name is what stands before the overloaded
 * types: `llvm.umul.with.overflow.i64` is `umul.with.overflow`. A function `llvm.*` that the table lacks is an
 * object too, of which the worst is assumed; target-specific intrinsics are such.
 *
 * The rows lie in `intrinsics/`, by topic. They hold for every call, whatever its attributes say; the attributes
 * of declarations and calls may promise more.
 *
 * What breaks it: an LLVM that weakens what an intrinsic promises; renaming a function into or out of `llvm.*`.
 */
import { arithmeticRows, environmentRows, vectorRows } from "./intrinsics/arithmetic.js";
import {
  computed,
  Demand,
  Fact,
  type IntrinsicFacts,
  type IntrinsicRow,
  opaque,
  row,
  unknown,
} from "./intrinsics/facts.js";
import { otherRows } from "./intrinsics/other.js";
import { Memory, type MemoryEffects, mayWrite } from "./memory-effects.js";
import type { Value } from "./values.js";

const rows = { ...arithmeticRows, ...environmentRows, ...vectorRows, ...otherRows };
export type IntrinsicName = keyof typeof rows;

/** Where a row comes from: LLVM's own, LLVM's but not in the table, or an operation of code generation's. */
export type IntrinsicOrigin = "known" | "unknown" | "internal";

const mask = (positions: readonly number[] | undefined): number => {
  let bits = 0;
  for (const position of positions ?? []) bits |= 1 << position;
  return bits;
};

export class Intrinsic {
  readonly memory: MemoryEffects;
  readonly noUnwind: boolean;
  readonly willReturn: boolean;
  readonly noSync: boolean;
  readonly noFree: boolean;
  readonly noCallback: boolean;
  readonly speculatable: boolean;
  /** The first two operands may change places. */
  readonly commutative: boolean;
  readonly convergent: boolean;
  readonly noDuplicate: boolean;
  readonly noReturn: boolean;
  readonly returnsTwice: boolean;
  /** The result is the first operand. */
  readonly returnsFirst: boolean;
  /** Depends on nothing but its operands and changes nothing: two equal calls are one. */
  readonly pure: boolean;
  /** A call may go when nothing reads its result; of constrained ones, see `isRemovableCallOf`. */
  readonly removable: boolean;
  /** Floating point under a rounding mode and exception behaviour that metadata operands name. */
  readonly constrained: boolean;
  /** Alternatives in the notation of `intrinsics/facts.ts`; none: any type. */
  readonly signatures: readonly string[];
  /** Parameters by bit: constants of the call; pointers not kept; only read through; only written through. */
  readonly immediates: number;
  readonly noCapture: number;
  readonly readOnly: number;
  readonly writeOnly: number;

  constructor(
    /** Dense among known ones, from 0 on; further ones get numbers as they appear. */
    readonly id: number,
    /** Without `llvm.` and overloaded types; of unknown ones, all that follows `llvm.`. */
    readonly name: string,
    readonly origin: IntrinsicOrigin,
    { facts: { memory, bits, demands }, signatures, parameters }: IntrinsicRow,
  ) {
    this.memory = memory;
    this.noUnwind = (bits & Fact.NoUnwind) !== 0;
    this.willReturn = (bits & Fact.WillReturn) !== 0;
    this.noSync = (bits & Fact.NoSync) !== 0;
    this.noFree = (bits & Fact.NoFree) !== 0;
    this.noCallback = (bits & Fact.NoCallback) !== 0;
    this.speculatable = (bits & Fact.Speculatable) !== 0;
    this.commutative = (bits & Fact.Commutative) !== 0;
    this.returnsFirst = (bits & Fact.ReturnsFirst) !== 0;
    this.convergent = (demands & Demand.Convergent) !== 0;
    this.noDuplicate = (demands & Demand.NoDuplicate) !== 0;
    this.noReturn = (demands & Demand.NoReturn) !== 0;
    this.returnsTwice = (demands & Demand.ReturnsTwice) !== 0;
    const ends = this.noUnwind && this.willReturn;
    this.pure = ends && memory === Memory.None && !this.convergent;
    this.removable = ends && (!mayWrite(memory) || (bits & Fact.Removable) !== 0);
    this.constrained = name.startsWith("experimental.constrained.");
    this.signatures = signatures;
    this.immediates = mask(parameters.immediate);
    this.noCapture = mask(parameters.noCapture);
    this.readOnly = mask(parameters.readOnly);
    this.writeOnly = mask(parameters.writeOnly);
  }
}

let count = 0;
const byName = new Map<string, Intrinsic>();

/** The known intrinsics by name. */
export const intrinsics: Readonly<Record<IntrinsicName, Intrinsic>> = known();

function known(): Record<IntrinsicName, Intrinsic> {
  const table: Partial<Record<IntrinsicName, Intrinsic>> = {};
  for (const name of Object.keys(rows) as IntrinsicName[]) {
    const intrinsic = new Intrinsic(count++, name, "known", rows[name]);
    table[name] = intrinsic;
    byName.set(name, intrinsic);
  }
  return table as Record<IntrinsicName, Intrinsic>;
}

/** How the types of an overload are spelled in a name: `i32`, `f64`, `bf16`, `v4i32`, `p0`, `sl_i32i32s`, … */
const overload = /^(?:[ifvap]\d|bf16|nxv|ppcf|x86|isVoid|Metadata|sl?_|f_|t)/;

/** LLVM keeps the names `llvm.*` of functions and variables for itself. */
export const isReservedName = (name: string): boolean => name.startsWith("llvm.");

/** Debug information on variables, as calls: readers drop it. */
export const isDebugIntrinsic = (name: string): boolean => name.startsWith("llvm.dbg.");

const unknownRow = row("", unknown);
/** One instruction of a machine, though not which: its declaration promises what there is to promise of memory. */
const instructionRow = row("", opaque);
/** Where control may come back a second time, or leave. */
const isInstruction = (name: string): boolean => /^x86\.(?!xbegin|seh\.)/.test(name);

/** The intrinsic that a function of this name is, or null. */
export function intrinsicNamed(name: string): Intrinsic | null {
  if (!isReservedName(name)) return null;
  const full = name.slice(5);
  const found = byName.get(full) ?? overloadOf(full);
  if (found !== null) return found;
  const intrinsic = new Intrinsic(
    count++,
    full,
    "unknown",
    isInstruction(full) ? instructionRow : unknownRow,
  );
  byName.set(full, intrinsic);
  return intrinsic;
}

/** What remains of the longest name in the table that only types follow. */
function overloadOf(full: string): Intrinsic | null {
  for (let dot = full.lastIndexOf("."); dot > 0; dot = full.lastIndexOf(".", dot - 1)) {
    const found = byName.get(full.slice(0, dot));
    if (found !== undefined && found.origin === "known")
      return overload.test(full.slice(dot + 1)) ? found : null;
  }
  return null;
}

const internals = new Map<string, Intrinsic>();

/** An operation that exists only inside code generation. The name decides the facts; by default it is a function of its operands. */
export function internalOperation(name: string, known: IntrinsicFacts = computed): Intrinsic {
  let intrinsic = internals.get(name);
  if (intrinsic === undefined)
    internals.set(name, (intrinsic = new Intrinsic(count++, name, "internal", row("", known))));
  return intrinsic;
}

/** The intrinsic that an operand is, or null; most often of a callee. */
export const intrinsicOf = (value: Value): Intrinsic | null =>
  value.valueKind === "global" && value.kind === "function" ? value.intrinsic : null;
