/** `--html`: the page of a program, one file that needs nothing else. */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type MeasuredSteps, pageData } from "../../formats/size-report/page-data.js";
import type { SizeReport } from "../../formats/size-report/schema.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Host } from "../host/host.js";
import { ownPackage } from "../package.js";
import { demangler } from "./demangle.js";
import { readInput } from "./load.js";

export interface PageRequest {
  readonly report: SizeReport;
  readonly before: SizeReport | null;
  readonly measured: MeasuredSteps | null;
  readonly demangle: boolean;
}

/** @param file to be written @throws InputError */
export async function writePage(file: string, request: PageRequest, host: Host): Promise<void> {
  const path = resolve(host.cwd, file);
  const text = await pageText(request, host);
  try {
    writeFileSync(path, text);
  } catch (e) {
    throw new InputError(`cannot write the page: ${(e as Error).message}`, path);
  }
}

/** The whole page. */
export async function pageText(
  { report, before, measured, demangle }: PageRequest,
  host: Host,
): Promise<string> {
  const names = [report, before].flatMap((one) => [
    ...(one?.symbols ?? []).flatMap(({ name, calls = [] }) => [name, ...calls]),
    ...(one?.origins ?? []).map(({ name }) => name),
  ]);
  const show = demangle ? await demangler(names, host) : (name: string) => name;
  const data = JSON.stringify(pageData(report, before, measured, show));
  const program = readFileSync(join(ownPackage().directory, "dist/page/page.js"), "utf8");
  // Neither may end the element that it stands in.
  const json = data.replaceAll("<", "\\u003c");
  const script = program.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const title = report.file.replace(/[&<]/g, (mark) => (mark === "&" ? "&amp;" : "&lt;"));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>${title}</title>
</head>
<body>
<noscript>This page is drawn by its script.</noscript>
<script id="data" type="application/json">${json}</script>
<script>${script}</script>
</body>
</html>
`;
}

/** What `tsc-lto measure --json` printed. @throws InputError */
export function readMeasured(file: string, host: Host): MeasuredSteps {
  let value: unknown;
  try {
    value = JSON.parse(readInput(file, host).toString("utf8"));
  } catch (e) {
    throw e instanceof InputError ? e : new InputError(`malformed: ${(e as Error).message}`, file);
  }
  const { settings, effects } = value as {
    settings?: readonly { name: string; measured: { loaded: number } }[];
    effects?: readonly MeasuredSteps["steps"][number][];
  };
  const loaded = (name: string): number | undefined =>
    Array.isArray(settings) ? settings.find((one) => one.name === name)?.measured?.loaded : undefined;
  const [all, none] = [loaded("all"), loaded("none")];
  if (all === undefined || none === undefined || !Array.isArray(effects))
    throw new InputError("not what tsc-lto measure --json prints of decisions", file);
  return { all, none, steps: effects };
}
