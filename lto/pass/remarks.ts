/**
 * Remarks: what passes decided, and why, for people and tools that ask. Written as LLVM's optimisation records are (YAML,
 * one document a remark; "Remarks" in LLVM's documentation), so that opt-viewer, llvm-remarkutil and scripts read them.
 *
 * Code does not depend on remarks: a pass that finds no sink decides the same. Source positions are not kept by the IR, so
 * none are written; a function's name is that of its symbol.
 */

import type { PassOptions } from "./options.js";

/** What became of an opportunity: it was taken, or not, or it is only told of. */
export type RemarkKind = "Passed" | "Missed" | "Analysis";

/** A fact of a remark: a key, and text or a number. Keys of size decisions are `Cost` and `Threshold`, as in LLVM. */
export type RemarkFact = readonly [key: string, value: string | number];

/** Plain data, which threads exchange. */
export interface Remark {
  readonly kind: RemarkKind;
  readonly pass: string;
  /** The kind of decision, in LLVM's form: `Inlined`, `TooCostly`. */
  readonly name: string;
  /** The function that it is about. */
  readonly function: string;
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

/** The file's text. */
export const formatRemarks = (remarks: readonly Remark[]): string => remarks.map(formatRemark).join("");

function formatRemark({ kind, pass, name, function: fn, facts }: Remark): string {
  const head = `--- !${kind}\n${line("Pass", pass)}${line("Name", name)}${line("Function", fn)}`;
  const body = facts.map(([key, value]) => `  - ${line(key, String(value))}`).join("");
  return `${head}${facts.length === 0 ? "" : `Args:\n${body}`}...\n`;
}

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
