/** Rows of line tables, as llvm-dwarfdump prints them. */
import { run } from "./process.js";
import { findProgram } from "./root.js";

export interface LineRow {
  readonly address: number;
  /** As the table names it, without its folder. */
  readonly file: string;
  readonly line: number;
  readonly isStatement: boolean;
}

/** @throws Error without llvm-dwarfdump */
export async function lineRows(file: string): Promise<LineRow[]> {
  const dump = findProgram("llvm-dwarfdump-22", "llvm-dwarfdump", "llvm-dwarfdump-19");
  if (dump === undefined) throw new Error("llvm-dwarfdump is missing");
  const { stdout } = await run([dump, "--debug-line", file]);
  const rows: LineRow[] = [];
  let files = new Map<number, string>();
  let index = -1;
  for (const line of stdout.toString("latin1").split("\n")) {
    if (line.startsWith("debug_line[")) files = new Map();
    const start = /^file_names\[\s*(\d+)\]:/.exec(line);
    if (start !== null) index = Number(start[1]);
    const name = /^\s+name: "(.*)"/.exec(line);
    if (name !== null) files.set(index, name[1]!.replace(/.*\//, ""));
    const row = /^0x([0-9a-f]+)\s+(\d+)\s+\d+\s+(\d+)\s+\d+\s+\d+\s+\d+\s*(.*)$/.exec(line);
    if (row === null || row[4]!.includes("end_sequence")) continue;
    rows.push({
      address: Number.parseInt(row[1]!, 16),
      line: Number(row[2]),
      file: files.get(Number(row[3])) ?? "?",
      isStatement: row[4]!.includes("is_stmt"),
    });
  }
  return rows;
}
