/**
 * Sums of a size report: by section, symbol, the function that code was written in, file, directory, library, the pass that
 * made it, or what bytes are for. Inlined code counts for the function, file, directory and library where it was written.
 */
import type { Use } from "../program/parts.js";
import { type Bytes, type SizeReport, type SymbolReport, totalOf } from "./schema.js";

export const views = [
  "section",
  "symbol",
  "function",
  "file",
  "directory",
  "library",
  "pass",
  "use",
] as const;
export type View = (typeof views)[number];

/** A line of a view. */
export interface Row {
  readonly name: string;
  readonly bytes: Bytes;
  readonly total: number;
  /** Symbols that it sums up. */
  readonly count: number;
}

/** What is known of no file, and what is made of several. */
const unknownFile = "[unknown]";
const severalFiles = "[several files]";

/** Bytes of a symbol that were written in one function. */
export interface Portion {
  /** The function or variable; of bytes that are none's, what they are. */
  readonly name: string;
  readonly file: string | undefined;
  /** What it was linked from, for its library. */
  readonly object: string | undefined;
  readonly bytes: Bytes;
}

const hasFile = ({ file, madeBy }: SymbolReport): string | undefined =>
  file ?? (madeBy === undefined ? undefined : severalFiles);

/** What a symbol consists of, by where it was written: its own part first, even if that is empty. */
export function portionsOf(symbol: SymbolReport, { origins: table = [] }: SizeReport): Portion[] {
  const { name, bytes, origins = [] } = symbol;
  const file = hasFile(symbol);
  const own = { name, file, object: symbol.object ?? file };
  if (origins.length === 0) return [{ ...own, bytes }];
  let code = bytes.code ?? 0;
  const others = origins.map(([origin, count]): Portion => {
    const { name: written, file: place, object } = table[origin]!;
    code -= count;
    return { name: written, file: place ?? severalFiles, object: object ?? place, bytes: { code: count } };
  });
  return [{ ...own, bytes: { ...bytes, code } }, ...others];
}

/** `lib.a` of `dir/lib.a(member.o)`; objects that are in none go together. */
function libraryOf(file: string | undefined): string {
  if (file === undefined || file === severalFiles) return file ?? unknownFile;
  const archive = /^(.*)\([^()]*\)$/.exec(file)?.[1];
  if (archive === undefined) return "[objects]";
  return archive.slice(archive.lastIndexOf("/") + 1);
}

/** The directory of a file, of members that of their archive. */
function directoryOf(file: string | undefined): string {
  if (file === undefined || file === severalFiles) return file ?? unknownFile;
  const path = file.replace(/\([^()]*\)$/, "");
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "." : slash === 0 ? "/" : path.slice(0, slash);
}

const symbolKey: Readonly<Record<"symbol" | "pass", (symbol: SymbolReport) => string>> = {
  symbol: ({ name }) => name,
  pass: ({ madeBy, kind }) => madeBy ?? (kind === "rest" ? "[no symbol]" : "[inputs]"),
};
const portionKey: Readonly<
  Record<"function" | "file" | "directory" | "library", (portion: Portion) => string>
> = {
  function: ({ name }) => name,
  file: ({ file }) => file ?? unknownFile,
  directory: ({ file }) => directoryOf(file),
  library: ({ object }) => libraryOf(object),
};

/** Lines by size, the largest first; those of one size by name. */
export function rowsOf(report: SizeReport, view: View): Row[] {
  const sums = new Map<string, { bytes: Partial<Record<Use, number>>; count: number }>();
  const add = (key: string, bytes: Bytes): void => {
    let sum = sums.get(key);
    if (sum === undefined) {
      sum = { bytes: {}, count: 0 };
      sums.set(key, sum);
    }
    sum.count++;
    for (const [use, count] of Object.entries(bytes) as [Use, number][])
      sum.bytes[use] = (sum.bytes[use] ?? 0) + count;
  };
  if (view === "section") for (const { name, size, use } of report.sections) add(name, { [use]: size });
  else
    for (const symbol of report.symbols) {
      if (totalOf(symbol.bytes) === 0) continue;
      if (view === "symbol" || view === "pass") add(symbolKey[view](symbol), symbol.bytes);
      else if (view !== "use") {
        for (const portion of portionsOf(symbol, report))
          if (totalOf(portion.bytes) > 0) add(portionKey[view](portion), portion.bytes);
      } else
        for (const [use, count] of Object.entries(symbol.bytes)) if (count > 0) add(use, { [use]: count });
    }
  return [...sums]
    .map(([name, { bytes, count }]) => ({ name, bytes, total: totalOf(bytes), count }))
    .sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
}

/** The sum of lines, as a line. */
export function sumOf(name: string, rows: readonly Row[]): Row {
  const bytes: Partial<Record<Use, number>> = {};
  let count = 0;
  for (const row of rows) {
    count += row.count;
    for (const [use, number] of Object.entries(row.bytes) as [Use, number][])
      bytes[use] = (bytes[use] ?? 0) + number;
  }
  return { name, bytes, total: totalOf(bytes), count };
}

/** The largest lines and one for all others. @param top how many; 0: all */
export function topRows(rows: readonly Row[], top: number): readonly Row[] {
  if (top === 0 || rows.length <= top) return rows;
  const others = rows.slice(top);
  return [...rows.slice(0, top), sumOf(`[${others.length} others]`, others)];
}
