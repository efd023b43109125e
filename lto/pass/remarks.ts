/**
 * Remarks: what passes decided, and why, for people and tools that ask. Written as LLVM's optimisation records are (YAML,
 * one document a remark; "Remarks" in LLVM's documentation), so that opt-viewer, llvm-remarkutil and scripts read them.
 *
 *  Code does not depend on remarks: a pass that finds no sink decides the same. A remark has the place of the instruction that it
 * is about, else that of its function, where debug information tells; a function's name is that of its symbol.
 */

import type { DISubprogram } from "../ir/debug/nodes.js";
import type { Origins } from "../ir/origins.js";
import type { PassOptions } from "./options.js";

/** What became of an opportunity: it was taken, or not, or it is only told of. */
export type RemarkKind = "Passed" | "Missed" | "Analysis";

/** A fact of a remark: a key, and text or a number. Keys of size decisions are `Cost` and `Threshold`, as in LLVM. */
export type RemarkFact = readonly [key: string, value: string | number];

/** In the source, as its compiler named it. Column 0: not known. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Where an instruction was written; null: nothing says so. */
export function placeOfOrigin(origins: Origins | null, origin: number): SourcePlace | null {
  const location = origins?.locationOf(origin) ?? null;
  const file = location?.scope?.file;
  return location === null || location.line === 0 || file == null
    ? null
    : { file: file.filename, line: location.line, column: location.column };
}
/** Where a function was written; null: nothing says so. */
export const placeOfSubprogram = (subprogram: DISubprogram | null): SourcePlace | null =>
  subprogram === null || subprogram.line === 0 || subprogram.file === null
    ? null
    : { file: subprogram.file.filename, line: subprogram.line, column: 0 };

/** Plain data, which threads exchange. */
export interface Remark {
  readonly kind: RemarkKind;
  readonly pass: string;
  /** The kind of decision, in LLVM's form: `Inlined`, `TooCostly`. */
  readonly name: string;
  /** The function that it is about. */
  readonly function: string;
  /** Of the instruction that it is about; without, it is about the function. */
  readonly place?: SourcePlace | null;
  /** The sentence: its texts and values follow each other. Plain words have the key `String`. */
  readonly facts: readonly RemarkFact[];
}

/** Plain words of the sentence. */
export const words = (text: string): RemarkFact => ["String", text];
/** Names of functions, one for each place that something was found in. */
export const listOfPlaces = (places: readonly string[]): RemarkFact[] =>
  places.flatMap((place, i) => [...(i === 0 ? [] : [words(", ")]), [`Place${i + 1}`, place] as const]);

/** Takes remarks of one thread. */
export class Remarks {
  readonly list: Remark[] = [];

  /** @param passes those whose remarks are kept; null: all */
  constructor(private readonly passes: RegExp | null) {}

  /** Null if nobody wants any. */
  static wantedBy({ optRemarksFilename: file, optRemarksPasses: passes }: PassOptions): Remarks | null {
    return file === null ? null : new Remarks(passes === null ? null : new RegExp(passes));
  }

  /** Whether remarks of a pass are kept: to be asked before they are made where that costs something. */
  wants(pass: string): boolean {
    return this.passes === null || this.passes.test(pass);
  }
  add(remark: Remark): void {
    if (this.wants(remark.pass)) this.list.push(remark);
  }
  /** Everything so far, and forgets it. */
  take(): Remark[] {
    return this.list.splice(0);
  }
}

type PlaceOf = (fn: string) => SourcePlace | null;

/** The file's text. @param placeOf where functions were written, by their names */
export const formatRemarks = (remarks: readonly Remark[], placeOf: PlaceOf = () => null): string =>
  remarks.map((remark) => formatRemark(remark, placeOf)).join("");

function formatRemark({ kind, pass, name, function: fn, place, facts }: Remark, placeOf: PlaceOf): string {
  const at = placeLine(place ?? placeOf(fn));
  const head = `--- !${kind}\n${line("Pass", pass)}${line("Name", name)}${at}${line("Function", fn)}`;
  const body = facts.map(([key, value]) => {
    const of = aboutFunctions.has(key) ? placeLine(placeOf(String(value))) : "";
    return `  - ${line(key, String(value))}${of === "" ? "" : `    ${of}`}`;
  });
  return `${head}${facts.length === 0 ? "" : `Args:\n${body.join("")}`}...\n`;
}

/** Facts whose value is a function. */
const aboutFunctions: ReadonlySet<string> = new Set(["Callee", "Caller"]);
const placeLine = (place: SourcePlace | null): string =>
  place === null
    ? ""
    : `${"DebugLoc:".padEnd(16)} { File: ${scalar(place.file)}, Line: ${place.line}, Column: ${place.column} }\n`;

const line = (key: string, value: string): string => `${`${key}:`.padEnd(16)} ${scalar(value)}\n`;

/** Words that YAML takes for something else than text, and what can stand without quotes. */
const reserved = /^(?:~|null|true|false|yes|no|on|off|y|n)$/i;
const plain = /^[A-Za-z_.$][\w.$-]*$|^(?:0|[1-9]\d{0,15})$/;

/** Text as a YAML 1.2 scalar: double quotes where there are control characters or bytes beyond ASCII. */
function scalar(text: string): string {
  if (plain.test(text) && !reserved.test(text)) return text;
  if (/^[\x20-\x7e]*$/.test(text)) return `'${text.replaceAll("'", "''")}'`;
  const escaped = text.replace(/[\\"]|[^\x20-\x7e]/gu, (char) =>
    char === "\\" || char === '"' ? `\\${char}` : numbered(char.codePointAt(0)!),
  );
  return `"${escaped}"`;
}
function numbered(code: number): string {
  const digits = code.toString(16);
  if (code < 0x100) return `\\x${digits.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}
