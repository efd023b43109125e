/**
 * Facts about each opcode, in parallel arrays indexed by `X`, so that passes pay one load for a question: the columns of the
 * table in `rows/`.
 */

import { opcodeNames } from "./op-names.js";
import type { Format } from "./ops.js";
import {
  bytesRead,
  FlagEffect,
  FlagRead,
  from4,
  operandSize,
  packed,
  pseudo,
  type Row,
  suffixes,
  upTo4,
} from "./row.js";
import { controlRows } from "./rows/control.js";
import { evexRows, widenedRows } from "./rows/evex.js";
import { generalRows } from "./rows/general.js";
import { vectorRows } from "./rows/vector.js";
import { vectorExtensionRows } from "./rows/vector-extensions.js";

/** The table, by opcode. */
const rows: Row[] = [];
for (const row of [
  ...generalRows,
  ...controlRows,
  ...vectorRows,
  ...vectorExtensionRows,
  ...widenedRows,
  ...evexRows,
]) {
  if (rows[row.op] !== undefined) throw new Error(`two rows of ${opcodeNames[row.op]}`);
  rows[row.op] = row;
}

/** Opcodes are numbered below this. */
export const opcodeCount = rows.length;
for (let op = 0; op < opcodeCount; op++) {
  if (rows[op] !== undefined) continue;
  if (opcodeNames[op] !== undefined) throw new Error(`no row of ${opcodeNames[op]}`);
  rows[op] = pseudo(op, { sizes: [] });
}

export const opFormat: readonly Format[] = rows.map(({ format }) => format);
export const opName: readonly string[] = rows.map(({ name }) => name);
/** What the size adds to the mnemonic, by size in bytes. */
export const opSuffix: readonly Readonly<Record<number, string>>[] = rows.map(
  ({ suffix }) => suffixes[suffix],
);
export const opBytes = Uint8Array.from(rows, ({ bytes }) => bytes);
export const opWide = Uint8Array.from(rows, ({ wide }) => wide);
export const opFlags = Uint8Array.from(rows, ({ flags }) => flags);
export const opLength = Uint8Array.from(rows, ({ length }) => length);
/** The opcode of the memory form, or `noMemory`. */
export const opMemory = Int16Array.from(rows, ({ memory }) => memory);
export const opSource = Int8Array.from(rows, ({ source }) => source);
export const opSourceBytes = Uint8Array.from(rows, ({ sourceBytes }) => sourceBytes);
/** The target feature that an opcode needs; "" for none. */
export const opFeature: readonly string[] = rows.map(({ feature }) => feature);
export const opCommutes = Uint8Array.from(rows, ({ commutes }) => Number(commutes));
export const opPure = Uint8Array.from(rows, ({ pure }) => pure);
export const opFacts = Uint32Array.from(rows, ({ facts }) => facts);
export const opOutlining = Uint8Array.from(rows, ({ outlining }) => outlining);
export const opReads = Uint8Array.from(rows, ({ reads }) => reads);
export const opUpper = Uint8Array.from(rows, ({ upper }) => upper);
export const opSame = Uint8Array.from(rows, ({ same }) => same);
export const opStack = Uint8Array.from(rows, ({ stack }) => stack);
const opResult = Uint8Array.from(rows, ({ result }) => result);
const opArgument = Uint8Array.from(rows, ({ argument }) => argument);

/** The rows, for what asks seldom. */
export const rowOf = (op: number): Row => rows[op]!;

/** Bytes at which the register that is the result, or a comparison's first source, is named. */
export function resultSize(op: number, size: number): number {
  const width = opResult[op]!;
  switch (width) {
    case operandSize:
    case packed:
      return size;
    case upTo4:
      return Math.min(size, 4);
    case from4:
      return Math.max(size, 4);
    default:
      return width > packed ? registerOf(width, size) : width;
  }
}

/** Bytes of the vector register that holds a part of an operation's size. */
const registerOf = (part: number, size: number): number => Math.max(16, bytesRead(part, size));

/** Bytes at which the register that is the source is named. */
export function argumentSize(op: number, size: number): number {
  const width = opArgument[op]!;
  if (width === operandSize || width === packed) return size;
  return width > packed ? registerOf(width, size) : width;
}

/** Whether the instruction reads any arithmetic flag. */
export const readsFlags = (op: number): boolean => opReads[op] !== FlagRead.None;

/** Whether the instruction may change any arithmetic flag. */
export const writesFlags = (op: number): boolean => opFlags[op] !== FlagEffect.None;
