/**
 * Debug records: what holds of a source variable from a place in a body on, and where the labels of the source are.
 *
 * A record stands before an instruction (`Inst.debug`) and is none itself: it counts as no use of the values that it
 * names, and no pass may decide anything by it, so that code is the same with and without debug information. In turn
 * nothing is said that may be wrong: where a value goes that a record names, the record is made to speak of what the value
 * was made of (`salvage`), or says that the variable is not known from there on. Records are not left out: without
 * one, what an earlier one says would seem to hold on.
 *
 * Expressions are lists of LLVM's operations: DWARF's numbers and LLVM's own, each followed by its operands.
 */
import type { Block, BodyView, Inst } from "./instructions.js";
import type { Argument, Value } from "./values.js";

/** Operations of expressions. Source: DWARF 5, 7.7.1, and LLVM's LangRef on `DIExpression`. */
export const enum Dw {
  Deref = 0x06,
  Constu = 0x10,
  Consts = 0x11,
  Dup = 0x12,
  Swap = 0x16,
  And = 0x1a,
  Minus = 0x1c,
  Mul = 0x1e,
  Or = 0x21,
  Plus = 0x22,
  PlusUconst = 0x23,
  Shl = 0x24,
  Shr = 0x25,
  Shra = 0x26,
  Xor = 0x27,
  DerefSize = 0x94,
  StackValue = 0x9f,
  /** [offset, size], in bits: which part of the variable is meant. The last operation. */
  Fragment = 0x1000,
  /** [bits, encoding]: the value, taken as so many bits. */
  Convert = 0x1001,
  TagOffset = 0x1002,
  EntryValue = 0x1003,
  ImplicitPointer = 0x1004,
  Arg = 0x1005,
  ExtractBitsSext = 0x1006,
  ExtractBitsZext = 0x1007,
}

/** DWARF's encodings of base types that conversions name. */
export const enum Encoding {
  Signed = 5,
  Unsigned = 7,
}

const noOperands = new Set<number>([
  Dw.Deref,
  Dw.Dup,
  Dw.Swap,
  Dw.And,
  Dw.Minus,
  Dw.Mul,
  Dw.Or,
  Dw.Plus,
  Dw.Shl,
  Dw.Shr,
  Dw.Shra,
  Dw.Xor,
  Dw.StackValue,
  0x13, // drop
  0x14, // over
  0x1b, // div
  0x1d, // mod
  0x1f, // neg
  0x20, // not
  0x29, // eq … ne
  0x2a,
  0x2b,
  0x2c,
  0x2d,
  0x2e,
  0x18, // xderef
  0x97, // push_object_address
  Dw.ImplicitPointer,
]);
const twoOperands = new Set<number>([Dw.Fragment, Dw.Convert, Dw.ExtractBitsSext, Dw.ExtractBitsZext]);
const oneOperand = new Set<number>([
  Dw.Constu,
  Dw.Consts,
  Dw.PlusUconst,
  Dw.DerefSize,
  Dw.TagOffset,
  Dw.EntryValue,
  Dw.Arg,
]);

/** How many operands follow an operation; -1 for one that is not known. */
function operandsOf(op: number): number {
  if (noOperands.has(op) || (op >= 0x30 && op <= 0x4f)) return 0;
  return oneOperand.has(op) ? 1 : twoOperands.has(op) ? 2 : -1;
}

export type Expression = readonly number[];
export const noExpression: Expression = [];

/** Positions of an expression's operations; null if there is something unknown in it, or it ends too early. */
export function operationsIn(expression: Expression): number[] | null {
  const found: number[] = [];
  for (let i = 0; i < expression.length; ) {
    const operands = operandsOf(expression[i]!);
    if (operands < 0 || i + operands >= expression.length) return null;
    found.push(i);
    i += 1 + operands;
  }
  return found;
}

/** Which part of its variable an expression is about, in bits; null: all of it. */
export interface Fragment {
  readonly offset: number;
  readonly size: number;
}
export function fragmentOf(expression: Expression): Fragment | null {
  const { length } = expression;
  if (length < 3 || expression[length - 3] !== Dw.Fragment) return null;
  return { offset: expression[length - 2]!, size: expression[length - 1]! };
}
/** The expression without its fragment. */
export const withoutFragment = (expression: Expression): Expression =>
  fragmentOf(expression) === null ? expression : expression.slice(0, -3);

export class DebugRecord {
  constructor(
    /** Number in the table of the program's variables and labels (or the module's, in its object). */
    public variable: number,
    public expression: Expression,
    /** What the expression is about: one value, or several that it names by `Arg`. Empty: nothing is known of the variable. */
    public values: readonly Value[],
    /** The first value is the address of the variable, for as long as it exists. */
    readonly isDeclaration: boolean,
    /** Of its location: with the variable it says which instance of the variable is meant. */
    public origin: number,
    /** A label is here, of which nothing else is said. It goes where its place goes, and stands nowhere else. */
    readonly isLabel = false,
  ) {}
  /** It says what holds from here on. */
  get isStatement(): boolean {
    return !this.isDeclaration && !this.isLabel;
  }
  get isKnown(): boolean {
    return this.values.length > 0;
  }
  /** Nothing is known of the variable, or of the part of it. */
  forget(): void {
    const fragment = fragmentOf(this.expression);
    this.expression = fragment === null ? noExpression : [Dw.Fragment, fragment.offset, fragment.size];
    this.values = [];
  }
  copy(values: readonly Value[] = this.values): DebugRecord {
    return new DebugRecord(
      this.variable,
      this.expression,
      values,
      this.isDeclaration,
      this.origin,
      this.isLabel,
    );
  }
  /** That nothing is known from now on of what the record is about. */
  asUnknown(): DebugRecord {
    const record = new DebugRecord(this.variable, this.expression, [], false, this.origin);
    record.forget();
    return record;
  }
}

/** Values that records follow. */
export type Local = Inst | Argument;
export const isLocal = (value: Value): value is Local =>
  value.valueKind === "inst" || value.valueKind === "argument";

/** Puts records before an instruction, in front of those that are there. */
export function putBefore(inst: Inst, records: readonly DebugRecord[]): void {
  inst.debug = inst.debug === null ? [...records] : [...records, ...inst.debug];
}

/**
 * That nothing is known of what records are about, in front of others of the same place: each once, and nothing of what
 * those are about, so that what many ways lead past does not grow with each of them.
 */
export function unknownBefore(there: readonly DebugRecord[], records: readonly DebugRecord[]): DebugRecord[] {
  const said = new Set<string>();
  for (const record of there) if (record.isStatement) said.add(subjectOf(record));
  const unknown: DebugRecord[] = [];
  for (const record of records) {
    if (!record.isStatement || said.has(subjectOf(record))) continue;
    said.add(subjectOf(record));
    unknown.push(record.asUnknown());
  }
  return unknown;
}

/** That nothing is known of what records are about, which come before or elsewhere; labels are not there. */
export const allUnknown = (records: readonly DebugRecord[]): DebugRecord[] =>
  records.flatMap((record) => (record.isLabel ? [] : [record.asUnknown()]));

/** The same for records of the same part of the same variable. */
function subjectOf({ variable, origin, expression }: DebugRecord): string {
  const fragment = fragmentOf(expression);
  return fragment === null
    ? `${variable} ${origin}`
    : `${variable} ${origin} ${fragment.offset} ${fragment.size}`;
}

/** What stands before an instruction that goes stands before another one. */
export function passRecords(from: Inst, to: Inst): void {
  if (from.debug === null || from === to) return;
  putBefore(to, from.debug);
  from.debug = null;
}

/** Calls `visit` for each record of a body. */
export function forEachRecord(
  { blocks, hasDebug }: BodyView,
  visit: (record: DebugRecord, anchor: Inst) => void,
): void {
  if (!hasDebug) return;
  for (const { insts } of blocks)
    for (const inst of insts) if (inst.debug !== null) for (const record of inst.debug) visit(record, inst);
}

/** The records that stand in a block. */
export function recordsIn({ insts }: Block): DebugRecord[] {
  const found: DebugRecord[] = [];
  for (const { debug } of insts) if (debug !== null) for (const record of debug) found.push(record);
  return found;
}

/** Removes all that is said of the variables of some records: nothing of them is known anywhere in the body. */
export function forgetVariables(body: BodyView, of: readonly DebugRecord[]): void {
  if (of.length === 0) return;
  const variables = new Set(of.map(({ variable }) => variable));
  for (const { insts } of body.blocks)
    for (const inst of insts) {
      if (inst.debug === null) continue;
      const kept = inst.debug.filter(({ variable }) => !variables.has(variable));
      inst.debug = kept.length === 0 ? null : kept;
    }
}
