/**
 * Instructions of AVX-512 that read or write masks: inline assembly of two or three instructions each.
 *
 * Masks are integers in general registers, where C programs have them, and in %k1 while an instruction works with them:
 * allocation has no registers for them. Nothing is in a mask register between two such pieces of assembly.
 *
 * A mask that comparisons of the same block make, one or several that must all hold, is compared anew where an instruction works
 * with it: to one use that is an instruction less than moving it to a general register and back, and six cycles less to wait; to
 * several it is never more. Comparisons are functions of their operands, so any number of them give the same; what nobody reads
 * then goes. A comparison under a mask clears the bits that the mask has clear, so several are their conjunction.
 */
import type { Lowering } from "../../codegen/legalize/lowering.js";
import { Op } from "../../ir/instructions.js";
import { i8, i16, i32, i64, type Type, voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { assembly } from "./assembly.js";

/** The integer type that holds a mask of so many lanes. */
export const wordType = (lanes: number): Type =>
  lanes <= 8 ? i8 : lanes <= 16 ? i16 : lanes <= 32 ? i32 : i64;

/** The instruction between the files, and the modifier of the general register. */
export const moveOf = (lanes: number): readonly [string, string] =>
  lanes <= 16 ? ["kmovw", "k"] : lanes <= 32 ? ["kmovd", "k"] : ["kmovq", "q"];

/** Loads %k1, or another, from operand `n`. */
export function toMask(lanes: number, n: number, k = "k1"): string {
  const [move, modifier] = moveOf(lanes);
  return `${move} \${${n}:${modifier}}, %${k}\n\t`;
}

/** Operand `n` from %k1. */
export function fromMask(lanes: number, n: number, k = "k1"): string {
  const [move, modifier] = moveOf(lanes);
  return `\n\t${move} %${k}, \${${n}:${modifier}}`;
}

/** An instruction that makes a mask of vectors: its text with operands from `$1`, without its result. */
interface Comparison {
  readonly text: string;
  readonly lanes: number;
  readonly args: readonly Value[];
}
/** By the word that it makes. Values are unique objects, so entries die with their function. */
const comparisons = new WeakMap<Value, Comparison>();

/** The mask that an instruction makes of vectors. @param text the instruction with operands from `$1`, without its result */
export function makeMask(l: Lowering, text: string, lanes: number, args: readonly Value[]): Value {
  const kinds = args.map(({ type }) => (type.kind === "vector" ? ",v" : ",r")).join("");
  const template = `${text}, %k1${fromMask(lanes, 0)}`;
  const word = assembly(l, template, `=r${kinds}`, wordType(lanes), args, false);
  if (args.every(({ type }) => type.kind === "vector")) comparisons.set(word, { text, lanes, args });
  return word;
}

/** So many comparisons are repeated for one use at most. */
const repeated = 2;

/** The comparisons of this block that all hold where a bit of the word is set; null: it is made otherwise, or of too many. */
function comparisonsOf(l: Lowering, word: Value, lanes: number): readonly Comparison[] | null {
  if (word.valueKind !== "inst" || word.parent !== l.block) return null;
  const own = comparisons.get(word);
  if (own !== undefined) return own.lanes === lanes ? [own] : null;
  if (word.op !== Op.And) return null;
  const [first, second] = word.operands.map((operand) => comparisonsOf(l, operand, lanes));
  if (first == null || second == null || first.length + second.length > repeated) return null;
  return [...first, ...second];
}

/**
 * Text that makes a mask in %k1 at the start of assembly.
 * @param place adds an operand of the assembly; its number
 */
function maskInto(
  l: Lowering,
  word: Value,
  lanes: number,
  place: (value: Value, constraint: string) => number,
): string {
  const all = comparisonsOf(l, word, lanes);
  if (all === null) return toMask(lanes, place(word, "r"));
  return all
    .map(({ text, args }, at) => {
      const numbers = args.map((arg) => place(arg, "v"));
      const own = text.replace(/\$\$|\$(\d)/g, (mark, n?: string) =>
        n === undefined ? mark : `$${numbers[Number(n) - 1]}`,
      );
      return `${own}, %k1${at > 0 ? " {%k1}" : ""}\n\t`;
    })
    .join("");
}

/** Operands of assembly with their constraints, numbered behind `first` others. */
class Operands {
  readonly values: Value[] = [];
  readonly constraints: string[] = [];
  constructor(private readonly first: number) {}
  readonly place = (value: Value, constraint: string): number => {
    this.values.push(value);
    this.constraints.push(constraint);
    return this.first + this.values.length - 1;
  };
}

/** As what lanes have where the mask is clear: what the instruction says itself. */
export const itsOwn = Symbol("lanes of a source");

/**
 * A vector that an instruction makes under a mask.
 * @param text the instruction with its first source as `$1`, without its result
 * @param rest what lanes have where the mask is clear; null: zero
 */
export function underMask(
  l: Lowering,
  text: string,
  type: Type,
  lanes: number,
  word: Value,
  rest: Value | null | typeof itsOwn,
  args: readonly Value[],
): Value {
  const operands = new Operands(1);
  for (const arg of args) operands.place(arg, arg.type.kind === "vector" ? "v" : "r");
  const before = maskInto(l, word, lanes, operands.place);
  if (rest !== null && rest !== itsOwn) operands.place(rest, "0");
  const template = `${before}${text}, $0 {%k1}${rest === null ? "{z}" : ""}`;
  return assembly(l, template, ["=v", ...operands.constraints].join(","), type, operands.values, false);
}

/** Loads under a mask from a pointer: what the mask leaves out is not accessed. */
export function loadUnderMask(
  l: Lowering,
  mnemonic: string,
  type: Type,
  word: Value,
  rest: Value | null,
  pointer: Value,
): Value {
  const operands = new Operands(1);
  operands.place(pointer, "r");
  const before = maskInto(l, word, type.count, operands.place);
  if (rest !== null) operands.place(rest, "0");
  const template = `${before}${mnemonic} ($1), $0 {%k1}${rest === null ? "{z}" : ""}`;
  return assembly(l, template, ["=v", ...operands.constraints, "~{memory}"].join(","), type, operands.values);
}

/** Stores under a mask to a pointer. @param lanes of the mask */
export function storeUnderMask(
  l: Lowering,
  mnemonic: string,
  lanes: number,
  word: Value,
  value: Value,
  pointer: Value,
): void {
  const operands = new Operands(0);
  operands.place(value, "v");
  operands.place(pointer, "r");
  const before = maskInto(l, word, lanes, operands.place);
  const template = `${before}${mnemonic} $0, ($1) {%k1}`;
  assembly(l, template, [...operands.constraints, "~{memory}"].join(","), voidType, operands.values);
}
