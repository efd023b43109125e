/**
 * Facts about each opcode, in parallel arrays indexed by `X`, so that passes pay one load for a question: the columns of the
 * table in `rows/`.
 */

import { opcodeNames } from "./op-names.js";
import { type Format, X } from "./ops.js";
import { FlagEffect, type Row } from "./row.js";
import { controlRows } from "./rows/control.js";
import { generalRows } from "./rows/general.js";
import { vectorRows } from "./rows/vector.js";

/** The table, by opcode. */
const rows: Row[] = [];
for (const row of [...generalRows, ...controlRows, ...vectorRows]) {
  if (rows[row.op] !== undefined) throw new Error(`two rows of ${opcodeNames[row.op]}`);
  rows[row.op] = row;
}

/** Opcodes are numbered below this. */
export const opcodeCount = rows.length;
for (let op = 0; op < opcodeCount; op++)
  if (rows[op] === undefined) throw new Error(`no row of ${opcodeNames[op]}`);

export const opFormat: readonly Format[] = rows.map(({ format }) => format);
export const opName: readonly string[] = rows.map(({ name }) => name);
export const opSuffix = Uint8Array.from(rows, ({ suffix }) => suffix);
export const opBytes = Uint8Array.from(rows, ({ bytes }) => bytes);
export const opWide = Uint8Array.from(rows, ({ wide }) => wide);
export const opFlags = Uint8Array.from(rows, ({ flags }) => flags);
export const opLength = Uint8Array.from(rows, ({ length }) => length);
/** The opcode of the memory form; the opcode itself where there is none. */
export const opMemory = Uint16Array.from(rows, ({ memory }) => memory);
export const opSource = Int8Array.from(rows, ({ source }) => source);
export const opSourceBytes = Uint8Array.from(rows, ({ sourceBytes }) => sourceBytes);
export const opCommutes = Uint8Array.from(rows, ({ commutes }) => Number(commutes));
export const opPure = Uint8Array.from(rows, ({ pure }) => pure);
export const opFacts = Uint32Array.from(rows, ({ facts }) => facts);
export const opOutlining = Uint8Array.from(rows, ({ outlining }) => outlining);
const opReadsFlags = Uint8Array.from(rows, ({ readsFlags }) => Number(readsFlags));

/** Whether the instruction reads any arithmetic flag. */
export const readsFlags = (op: number): boolean => opReadsFlags[op] === 1;

/** Whether the instruction may change any arithmetic flag. */
export const writesFlags = (op: number): boolean => opFlags[op] !== FlagEffect.None;

/** Suffix letter of an integer mnemonic by operand size in bytes. */
export const integerSuffix: Readonly<Record<number, string>> = { 1: "b", 2: "w", 4: "l", 8: "q", 16: "q" };

/** Suffix of an x87 memory instruction: floats 4 s, 8 l, 10 t; integers 2 s, 4 l, 8 ll; control words none. */
export function x87Suffix(op: number, size: number): string {
  switch (op) {
    case X.Fld:
    case X.FstpM:
      return size === 4 ? "s" : size === 8 ? "l" : "t";
    case X.Fild:
    case X.FistpM:
    case X.FisttpM:
      return size === 2 ? "s" : size === 4 ? "l" : "ll";
    default:
      return "";
  }
}
