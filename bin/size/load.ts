/** Reads programs and reports for the subcommands. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Image } from "../../formats/program/image.js";
import { MapFile } from "../../formats/size-report/map-file.js";
import { programReport } from "../../formats/size-report/program.js";
import type { SizeReport } from "../../formats/size-report/schema.js";
import { isReport, parseReport } from "../../formats/size-report/text.js";
import { attributed, InputError } from "../../lto/ir/errors.js";
import type { Host } from "../host/host.js";
import { reasonOf } from "../host/system-errors.js";

export interface LoadOptions {
  /** A link's report. */
  readonly report?: string | undefined;
  /** A linker's map. */
  readonly map?: string | undefined;
  /** Code is to be compared, so it needs hashes. */
  readonly hashes?: boolean;
}

/** @throws InputError */
export function readInput(file: string, host: Host): Buffer {
  try {
    return readFileSync(resolve(host.cwd, file));
  } catch (e) {
    throw new InputError(`cannot open ${file}: ${reasonOf(e)}`);
  }
}

const readReport = (file: string, host: Host): SizeReport =>
  parseReport(readInput(file, host).toString("utf8"), file);

/** What links of a program are asked to call their reports (`--size-report=%.size.json`). */
export const besideSuffix = ".size.json";

/** What the link of a program wrote beside it; null: nothing. */
function reportBeside(program: string, host: Host): SizeReport | null {
  const file = `${program}${besideSuffix}`;
  if (!existsSync(resolve(host.cwd, file))) return null;
  const report = readReport(file, host);
  return report.kind === "link" ? report : null;
}

/**
 * A link's report, or that of a program: given by name, or beside the program that is named; where none is named, the only one
 * of the working directory. @throws InputError
 */
export function findReport(given: string | undefined, host: Host): { file: string; report: SizeReport } {
  let file = given;
  if (file === undefined) {
    const all = readdirSync(host.cwd).filter((name) => name.endsWith(besideSuffix));
    if (all.length !== 1)
      throw new InputError(
        `${all.length === 0 ? "no report" : `several reports (${all.join(", ")})`} in the working directory: name one, or a program, with --report`,
      );
    file = all[0]!;
  }
  if (readInput(file, host)[0] !== 0x7b) {
    if (!existsSync(resolve(host.cwd, file + besideSuffix)))
      throw new InputError(`${file} is no size report, and has no ${file}${besideSuffix} beside it`);
    file += besideSuffix;
  }
  return { file, report: readReport(file, host) };
}

/** The report of a program or object, or one that was saved before. @throws InputError */
export async function loadProgram(file: string, options: LoadOptions, host: Host): Promise<SizeReport> {
  const bytes = readInput(file, host);
  if (bytes[0] === 0x7b) {
    const text = bytes.toString("utf8");
    if (isReport(text)) return parseReport(text, file);
  }
  const link = options.report === undefined ? reportBeside(file, host) : readReport(options.report, host);
  const map =
    options.map === undefined
      ? null
      : MapFile.parse(readInput(options.map, host).toString("latin1"), options.map);
  const hashOf = options.hashes === true ? (await import("../../formats/code/code-hash.js")).codeHash : null;
  return attributed(file, () => programReport(new Image(bytes), file, { link, map, hashOf }));
}

/**
 * What a link wrote has none of what the linker adds, so that beside a program everything else would seem new.
 * @throws InputError when only one is a link's report
 */
export function checkComparable(
  [oldFile, before]: readonly [string, SizeReport],
  [newFile, after]: readonly [string, SizeReport],
): void {
  if (before.kind === after.kind) return;
  const [link, program] = before.kind === "link" ? [oldFile, newFile] : [newFile, oldFile];
  throw new InputError(
    `${link} is what a link wrote, ${program} is a linked program: compare two of a kind (what tsc-lto size --json saved is a program's)`,
  );
}
