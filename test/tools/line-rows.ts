/** Rows of line tables, and statistics of debug information, as llvm-dwarfdump prints them. */
import { run } from "./process.js";
import { findProgram } from "./root.js";

export interface LineRow {
  readonly address: number;
  /** As the table names it, without its folder. */
  readonly file: string;
  readonly line: number;
  readonly isStatement: boolean;
  /** To the next row, or to the end of the sequence. */
  readonly bytes: number;
}

/** @throws Error without llvm-dwarfdump */
export async function dump(what: string, file: string): Promise<string> {
  const command = findProgram("llvm-dwarfdump-22", "llvm-dwarfdump", "llvm-dwarfdump-19");
  if (command === undefined) throw new Error("llvm-dwarfdump is missing");
  return (await run([command, what, file], { maxOutput: 1 << 28 })).stdout.toString("latin1");
}

/** @throws Error without llvm-dwarfdump */
export async function lineRows(file: string): Promise<LineRow[]> {
  const text = await dump("--debug-line", file);
  const rows: LineRow[] = [];
  let files = new Map<number, string>();
  let index = -1;
  let before: Mutable | null = null;
  for (const line of text.split("\n")) {
    if (line.startsWith("debug_line[")) files = new Map();
    const start = /^file_names\[\s*(\d+)\]:/.exec(line);
    if (start !== null) index = Number(start[1]);
    const name = /^\s+name: "(.*)"/.exec(line);
    if (name !== null) files.set(index, name[1]!.replace(/.*\//, ""));
    const row = /^0x([0-9a-f]+)\s+(\d+)\s+\d+\s+(\d+)\s+\d+\s+\d+\s+\d+\s*(.*)$/.exec(line);
    if (row === null) continue;
    const address = Number.parseInt(row[1]!, 16);
    if (before !== null) before.bytes = address - before.address;
    before = null;
    if (row[4]!.includes("end_sequence")) continue;
    before = {
      address,
      line: Number(row[2]),
      file: files.get(Number(row[3])) ?? "?",
      isStatement: row[4]!.includes("is_stmt"),
      bytes: 0,
    };
    rows.push(before);
  }
  return rows;
}

type Mutable = { -readonly [K in keyof LineRow]: LineRow[K] };

/** Numbers that `--statistics` gives, by the names that it gives them. @throws Error without llvm-dwarfdump */
export async function statistics(file: string): Promise<ReadonlyMap<string, number>> {
  const found = JSON.parse(await dump("--statistics", file)) as Record<string, unknown>;
  return new Map(
    Object.entries(found).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
  );
}
