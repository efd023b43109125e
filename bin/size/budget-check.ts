/** `tsc-lto size --budget`: whether a program keeps to its limits. */
import { dirname, resolve } from "node:path";
import { parseBudget, verdicts } from "../../formats/size-report/budget.js";
import type { SizeReport } from "../../formats/size-report/schema.js";
import { checkComparable, loadProgram, readInput } from "./load.js";
import type { Services } from "./main.js";
import { type Cell, formatTable, type TableForm } from "./table.js";

/** Of a budget that does not hold. */
const brokenCode = 3;

/** Prints every limit and how it is kept. @returns the exit code @throws InputError */
export async function checkBudget(
  file: string,
  report: SizeReport,
  form: TableForm,
  { host, print, complain }: Services,
): Promise<number> {
  const budget = parseBudget(readInput(file, host).toString("utf8"), file);
  const baseline =
    budget.baseline === null
      ? null
      : await loadProgram(resolve(host.cwd, dirname(file), budget.baseline), {}, host);
  if (baseline !== null) checkComparable([budget.baseline!, baseline], [report.file, report]);
  const all = verdicts(budget, report, baseline);
  for (const { view, pattern, isEmpty } of all)
    if (isEmpty) complain("warning", `budget ${file}: no ${view} is named ${pattern}`);
  const head = ["limit of", "baseline", "limit", "actual", "left", "holds"];
  const cells = all.map(({ view, pattern, actual, limit, baseline: before, holds }): Cell[] => [
    view === "total" ? "total" : `${view} ${pattern}`,
    before ?? "",
    limit,
    actual,
    limit - actual,
    holds ? "yes" : "NO",
  ]);
  print(formatTable(form, head, cells));
  return all.every(({ holds }) => holds) ? 0 : brokenCode;
}
