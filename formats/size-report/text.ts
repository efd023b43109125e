/** Size reports as text: JSON with a symbol a line, so that two can be compared with tools for text as well. */
import { InputError } from "../../lto/ir/errors.js";
import { reportFormat, reportVersion, type SizeReport } from "./schema.js";

const lists = ["sections", "symbols", "decisions"] as const;
const printed = ["sections", "origins", "symbols", "dropped", "decisions"] as const;

export function printReport(report: SizeReport): string {
  const { format, version, kind, file } = report;
  const head = JSON.stringify({ format, version, kind, file }).slice(0, -1);
  const rest = printed
    .filter((name) => name !== "dropped" || report.dropped !== undefined)
    .map((name) => {
      const lines = (report[name] ?? []).map((entry) => `\n${JSON.stringify(entry)}`).join(",");
      return `${JSON.stringify(name)}:[${lines}${lines === "" ? "" : "\n"}]`;
    });
  return `${[head, ...rest].join(",\n")}}\n`;
}

/** Whether a text is meant as a size report. */
export const isReport = (text: string): boolean =>
  text.startsWith(`{"format":${JSON.stringify(reportFormat)}`);

/** @param file that the text is from @throws InputError when it is no report, or of another version */
export function parseReport(text: string, file: string): SizeReport {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (e) {
    throw new InputError(`malformed size report: ${(e as Error).message}`, file);
  }
  if (typeof value !== "object" || value === null || !("format" in value) || value.format !== reportFormat)
    throw new InputError("not a size report", file);
  const report = value as SizeReport;
  if (report.version !== reportVersion)
    throw new InputError(`size report of version ${report.version}; this is for ${reportVersion}`, file);
  for (const name of lists)
    if (!Array.isArray(report[name])) throw new InputError(`malformed size report: no ${name}`, file);
  for (const { name, bytes } of report.symbols)
    if (typeof name !== "string" || typeof bytes !== "object")
      throw new InputError("malformed size report: a symbol without name or bytes", file);
  const origins = report.origins ?? [];
  origins.forEach(({ name, into }, i) => {
    // Chains that lead to earlier ones end.
    if (typeof name !== "string" || (into !== undefined && !(into >= 0 && into < i)))
      throw new InputError("malformed size report: an origin", file);
  });
  for (const { name, origins: own } of report.symbols)
    if (own?.some(([origin, bytes]) => origins[origin] === undefined || !(bytes >= 0)) === true)
      throw new InputError(`malformed size report: origins of ${name}`, file);
  return report;
}
