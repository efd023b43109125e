/**
 * Budgets: limits of what a program may take, as JSON.
 *
 *     { "baseline": "main.size.json", "total": "+1%", "section": { ".text": 120000 }, "symbol": { "parse_*": "+0" } }
 *
 * A limit is a number of bytes, or `+N` bytes or `+N%` more than in the baseline. Keys besides `total` are the views of
 * `size`; in each, a glob stands for the sum of all that it matches.
 */
import { InputError } from "../../lto/ir/errors.js";
import { compilePatterns } from "../../lto/link/index.js";
import { type SizeReport, totalOf } from "./schema.js";
import { rowsOf, type View, views } from "./views.js";

interface Limit {
  readonly view: View | "total";
  readonly pattern: string;
  /** Bytes, or with `relative` those beyond the baseline, or percent of it. */
  readonly amount: number;
  readonly relative: "bytes" | "percent" | null;
}

export interface Budget {
  /** Of a saved report or program; relative to the budget. */
  readonly baseline: string | null;
  readonly limits: readonly Limit[];
}

/** How a limit is kept. */
export interface Verdict {
  readonly view: View | "total";
  readonly pattern: string;
  readonly actual: number;
  readonly limit: number;
  /** Null without one. */
  readonly baseline: number | null;
  readonly holds: boolean;
  /** Nothing is matched: the limit says nothing. */
  readonly isEmpty: boolean;
}

/** @throws InputError for what is no budget */
export function parseBudget(text: string, file: string): Budget {
  const fail = (what: string): never => {
    throw new InputError(`budget: ${what}`, file);
  };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (e) {
    return fail((e as Error).message);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return fail("expected an object");
  let baseline: string | null = null;
  const limits: Limit[] = [];
  const add = (view: View | "total", pattern: string, given: unknown): void => {
    const [, number, percent] = /^\+(\d+(?:\.\d+)?)(%?)$/.exec(String(given)) ?? [];
    if (typeof given === "number" && given >= 0)
      limits.push({ view, pattern, amount: given, relative: null });
    else if (typeof given === "string" && number !== undefined)
      limits.push({ view, pattern, amount: Number(number), relative: percent === "%" ? "percent" : "bytes" });
    else
      fail(
        `${view} ${pattern}: expected a number of bytes, "+N" or "+N%" instead of ${JSON.stringify(given)}`,
      );
  };
  for (const [key, entry] of Object.entries(value)) {
    const view = views.find((one) => one === key);
    if (key === "baseline") baseline = typeof entry === "string" ? entry : fail("baseline: expected a file");
    else if (key === "total") add("total", "", entry);
    else if (view === undefined) fail(`unknown key "${key}"; there are baseline, total, ${views.join(", ")}`);
    else if (typeof entry !== "object" || entry === null) fail(`${key}: expected an object`);
    else for (const [pattern, limit] of Object.entries(entry)) add(view!, pattern, limit);
  }
  if (baseline === null && limits.some(({ relative }) => relative !== null))
    fail('a limit like "+1%" needs a baseline');
  return { baseline, limits };
}

/** @param baseline the report that the budget names; null: it names none */
export function verdicts({ limits }: Budget, report: SizeReport, baseline: SizeReport | null): Verdict[] {
  return limits.map(({ view, pattern, amount, relative }) => {
    const { sum: actual, matched } = sumOf(report, view, pattern);
    const before = baseline === null ? null : sumOf(baseline, view, pattern).sum;
    const limit =
      relative === null
        ? amount
        : relative === "bytes"
          ? before! + amount
          : Math.floor(before! * (1 + amount / 100));
    return { view, pattern, actual, limit, baseline: before, holds: actual <= limit, isEmpty: matched === 0 };
  });
}

function sumOf(
  report: SizeReport,
  view: View | "total",
  pattern: string,
): { readonly sum: number; readonly matched: number } {
  if (view === "total") {
    const sum = report.symbols.reduce((all, { bytes }) => all + totalOf(bytes), 0);
    return { sum, matched: report.symbols.length };
  }
  const matches = compilePatterns([pattern]);
  const rows = rowsOf(report, view).filter(({ name }) => matches(name));
  return { sum: rows.reduce((all, { total }) => all + total, 0), matched: rows.length };
}
