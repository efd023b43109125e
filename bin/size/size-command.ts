/** `tsc-lto size`: where the bytes of a program are. */
import { InvalidArgumentError, Option } from "commander";
import { uses } from "../../formats/program/parts.js";
import type { SizeReport } from "../../formats/size-report/schema.js";
import { printReport } from "../../formats/size-report/text.js";
import { type Row, rowsOf, sumOf, topRows, type View, views } from "../../formats/size-report/views.js";
import { checkBudget } from "./budget-check.js";
import { demangler } from "./demangle.js";
import { addForms, formOf, parseNumber } from "./forms.js";
import { checkComparable, loadProgram } from "./load.js";
import type { AddSubcommand, Services } from "./main.js";
import { type Cell, formatTable, type TableForm } from "./table.js";

interface SizeOptions {
  readonly report?: string;
  readonly map?: string;
  readonly by?: readonly View[];
  readonly top: number;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly markdown?: boolean;
  readonly demangle: boolean;
  readonly budget?: string;
  readonly html?: string;
  readonly before?: string;
  readonly measured?: string;
}

export const addSize: AddSubcommand = (command, services, finish) => {
  command
    .command("size")
    .description(
      "Attribute every loaded byte of a program, shared library or object to its symbol, file, library and pass.",
    )
    .argument("<program>", "an ELF file, whoever made it, or what --json saved")
    .option(
      "--report <file>",
      "what the link wrote with --size-report: files, origins, passes, reasons; default: PROGRAM.size.json if it is there",
    )
    .option("--map <file>", "the map of GNU ld or lld (-Wl,-Map=FILE): which objects native code is from")
    .addOption(new Option("--by <views>", `separated by commas: ${views.join(", ")}`).argParser(parseViews))
    .option("-n, --top <n>", "lines of each view, the rest in one; 0: all", parseNumber, 20)
    .option("--budget <file>", "limits that have to hold, else the exit code is 3; see the manual")
    .option(
      "--html <file>",
      "write a page to look around in: map, table, passes, calls; one file, to be kept and shared",
    )
    .option("--before <file>", "of the page: the program, or its saved report, to compare with")
    .option(
      "--measured <file>",
      "of the page: what tsc-lto measure --json printed, for what each decision saves",
    )
    .option("--no-demangle", "names as the linker has them");
  addForms(command.commands.at(-1)!, "all that is known, as a size report").action(
    async (program: string, options: SizeOptions) => finish(await size(program, options, services)),
  );
};

function parseViews(word: string): View[] {
  return word.split(",").map((name) => {
    const view = views.find((one) => one === name);
    if (view === undefined) throw new InvalidArgumentError(`expected some of ${views.join(", ")}.`);
    return view;
  });
}

async function size(program: string, options: SizeOptions, services: Services): Promise<number> {
  const { host, print } = services;
  const json = options.json === true;
  const report = await loadProgram(program, { ...options, hashes: json }, host);
  if (options.budget !== undefined) return checkBudget(options.budget, report, formOf(options), services);
  if (options.html !== undefined) {
    const { readMeasured, writePage } = await import("./page.js");
    const before = options.before === undefined ? null : await loadProgram(options.before, {}, host);
    if (before !== null) checkComparable([options.before!, before], [program, report]);
    const measured = options.measured === undefined ? null : readMeasured(options.measured, host);
    await writePage(options.html, { report, before, measured, demangle: options.demangle }, host);
    return 0;
  }
  if (json) print(printReport(report));
  else {
    const chosen = options.by ?? defaultViews(report);
    const shown = chosen.map((view) => ({ view, rows: topRows(rowsOf(report, view), options.top) }));
    const names = shown.flatMap(({ view, rows }) =>
      view === "symbol" || view === "function" ? rows.map(({ name }) => name) : [],
    );
    const show = options.demangle ? await demangler(names, host) : (name: string) => name;
    const form = formOf(options);
    const texts = shown.map(({ view, rows }) => {
      const table = viewTable(form, view, rows, sumOf("total", rows), show);
      return form === "csv" ? table : `${form === "markdown" ? `### ${view}\n\n` : ""}${table}`;
    });
    print(texts.join("\n"));
  }
  return 0;
}

/** By file where files are known. */
function defaultViews({ symbols }: SizeReport): View[] {
  const hasFiles = symbols.some(({ file, kind }) => file !== undefined && kind !== "rest");
  const hasPasses = symbols.some(({ madeBy }) => madeBy !== undefined);
  return [
    "section",
    ...(hasFiles ? (["file"] as const) : []),
    ...(hasPasses ? (["pass"] as const) : []),
    "symbol",
  ];
}

function viewTable(
  form: TableForm,
  view: View,
  rows: readonly Row[],
  sum: Row,
  show: (name: string) => string,
): string {
  const columns = uses.filter((use) => (sum.bytes[use] ?? 0) > 0);
  // Readers look for what is there, programs for numbers.
  const zero = form === "csv" ? 0 : "";
  const withColumns = view !== "section" && view !== "use";
  const line = (row: Row, name: string): Cell[] => [
    name,
    row.total,
    sum.total === 0 ? "0.0%" : `${((100 * row.total) / sum.total).toFixed(1)}%`,
    ...(withColumns ? columns.map((use) => row.bytes[use] ?? zero) : []),
    ...(view === "symbol" || !withColumns ? [] : [row.count]),
  ];
  const head = [
    view,
    "bytes",
    "share",
    ...(withColumns ? columns : []),
    ...(view === "symbol" || !withColumns ? [] : ["symbols"]),
  ];
  const named = (name: string): string => (form === "text" ? shortened(show(name)) : show(name));
  const lines = rows.map((row) => line(row, named(row.name)));
  return formatTable(form, head, form === "csv" ? lines : [...lines, line(sum, "total")]);
}

const longestName = 72;

/** Names of templates can be longer than any line: what they begin and end with. */
function shortened(name: string): string {
  if (name.length <= longestName) return name;
  const end = 20;
  return `${name.slice(0, longestName - end - 1)}…${name.slice(-end)}`;
}
