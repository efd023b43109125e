/**
 * Instructions of AVX-512 that read or write masks: inline assembly of two or three instructions each.
 *
 * Masks are integers in general registers, where C programs have them, and in %k1 while an instruction works with them:
 * allocation has no registers for them. Nothing is in a mask register between two such pieces of assembly.
 */
import type { Lowering } from "../../codegen/legalize/lowering.js";
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

/** The mask that an instruction makes of vectors. @param text the instruction with operands from `$1`, without its result */
export const makeMask = (l: Lowering, text: string, lanes: number, args: readonly Value[]): Value =>
  assembly(
    l,
    `${text}, %k1${fromMask(lanes, 0)}`,
    `=r${args.map(({ type }) => (type.kind === "vector" ? ",x" : ",r")).join("")}`,
    wordType(lanes),
    args,
    false,
  );

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
  const n = args.length + 1;
  const kinds = args.map(({ type: t }) => (t.kind === "vector" ? ",x" : ",r")).join("");
  const merging = rest !== null && rest !== itsOwn;
  return assembly(
    l,
    `${toMask(lanes, n)}${text}, $0 {%k1}${rest === null ? "{z}" : ""}`,
    `=x${kinds},r${merging ? ",0" : ""}`,
    type,
    merging ? [...args, word, rest] : [...args, word],
    false,
  );
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
  const merging = rest !== null;
  return assembly(
    l,
    `${toMask(type.count, 2)}${mnemonic} ($1), $0 {%k1}${merging ? "" : "{z}"}`,
    `=x,r,r${merging ? ",0" : ""},~{memory}`,
    type,
    merging ? [pointer, word, rest] : [pointer, word],
  );
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
  assembly(l, `${toMask(lanes, 2)}${mnemonic} $0, ($1) {%k1}`, "x,r,r,~{memory}", voidType, [
    value,
    pointer,
    word,
  ]);
}
