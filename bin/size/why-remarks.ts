/** `tsc-lto why SYMBOL not-inlined|not-outlined|not-merged`: what passes said of a function, in the link's optimisation records. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { factOf, parseRemarks, sentenceOf } from "../../formats/size-report/remarks.js";
import { attributed, InputError } from "../../lto/ir/errors.js";
import type { Remark } from "../../lto/pass/remarks.js";
import type { Host } from "../host/host.js";
import { besideSuffix, readInput } from "./load.js";

export const remarkQuestions = ["not-inlined", "not-outlined", "not-merged"] as const;
export type RemarkQuestion = (typeof remarkQuestions)[number];

const passesOf: Readonly<Record<RemarkQuestion, readonly string[]>> = {
  "not-inlined": ["inline"],
  "not-outlined": ["outline", "ir-outline", "ir-outline-early"],
  "not-merged": ["merge-similar-functions", "icf"],
};

/** What links of a program are asked to call these records; compilers call theirs so. */
const remarksSuffix = ".opt.yaml";

/** Those of a report: given by name, or beside it. @returns null when there are none @throws InputError */
export function findRemarks(given: string | undefined, report: string, host: Host): Remark[] | null {
  const file =
    given ?? (report.endsWith(besideSuffix) ? report.slice(0, -besideSuffix.length) : report) + remarksSuffix;
  if (given === undefined && !existsSync(resolve(host.cwd, file))) return null;
  return attributed(file, () => parseRemarks(readInput(file, host).toString("utf8")));
}

export const noRemarks = (): InputError =>
  new InputError(
    `what was decided against is in optimisation records: link with --opt-remarks-filename=%${remarksSuffix}, or name a file with --remarks`,
  );

/** An answer: what was said, and of how many bytes it came short, where it was a matter of bytes. */
export interface Refusal {
  readonly pass: string;
  readonly name: string;
  readonly text: string;
  readonly short: number | null;
}

/**
 * What was decided against; for inlining, of calls that the function makes and of calls of it.
 * @param other the callee, for inlining; of a merge or outlined piece another function that it is shared with; null: any
 */
export function refusals(
  remarks: readonly Remark[],
  question: RemarkQuestion,
  symbol: string,
  other: string | null,
): Refusal[] {
  const found = remarks.filter((remark) => {
    if (remark.kind !== "Missed" || !passesOf[question].includes(remark.pass)) return false;
    const names = namesOf(remark);
    if (!names.includes(symbol)) return false;
    if (other === null) return true;
    return question === "not-inlined"
      ? remark.function === symbol && factOf(remark, "Callee") === other
      : names.includes(other);
  });
  const answers = found.map((remark): Refusal => {
    const cost = Number(factOf(remark, "Cost") ?? factOf(remark, "After"));
    const threshold = Number(factOf(remark, "Threshold") ?? factOf(remark, "Before"));
    const short = Number.isFinite(cost - threshold) ? cost - threshold : null;
    return { pass: remark.pass, name: remark.name, text: sentenceOf(remark), short };
  });
  const unlike = [...new Map(answers.map((answer) => [JSON.stringify(answer), answer])).values()];
  // What came close comes first.
  return unlike.sort(
    (a, b) => (a.short ?? Number.POSITIVE_INFINITY) - (b.short ?? Number.POSITIVE_INFINITY) || 0,
  );
}

const namesOf = ({ function: fn, facts }: Remark): string[] => [
  fn,
  ...facts.flatMap(([key, value]) => (/^(?:Callee|Caller|Place\d+)$/.test(key) ? [String(value)] : [])),
];
