/** `tsc-lto diff`: what changed from one build to the next. */
import { type Difference, differences } from "../../formats/size-report/diff.js";
import type { SizeReport } from "../../formats/size-report/schema.js";
import { rowsOf, type View } from "../../formats/size-report/views.js";
import { demangler } from "./demangle.js";
import { addForms, formOf, parseNumber } from "./forms.js";
import { checkComparable, loadProgram } from "./load.js";
import type { AddSubcommand, Services } from "./main.js";
import { type Cell, formatTable, type TableForm } from "./table.js";

interface DiffOptions {
  readonly top: number;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly markdown?: boolean;
  readonly demangle: boolean;
  readonly html?: string;
}

export const addDiff: AddSubcommand = (command, services, finish) => {
  command
    .command("diff")
    .description(
      "Compare two programs, or what tsc-lto size --json saved of them, function by function and by file.",
    )
    .argument("<old>", "an ELF file, or a saved report")
    .argument("<new>", "likewise")
    .option("-n, --top <n>", "lines of each table, the rest in one; 0: all", parseNumber, 20)
    .option("--html <file>", "write a page to look around in, with what grew and shrank in colour")
    .option("--no-demangle", "names as the linker has them");
  addForms(command.commands.at(-1)!, "all differences as JSON").action(
    async (before: string, after: string, options: DiffOptions) =>
      finish(await diff(before, after, options, services)),
  );
};

async function diff(
  oldFile: string,
  newFile: string,
  options: DiffOptions,
  { host, print }: Services,
): Promise<number> {
  const before = await loadProgram(oldFile, { hashes: true }, host);
  const after = await loadProgram(newFile, { hashes: true }, host);
  checkComparable([oldFile, before], [newFile, after]);
  if (options.html !== undefined) {
    const { writePage } = await import("./page.js");
    const request = { report: after, before, measured: null, demangle: options.demangle };
    await writePage(options.html, request, host);
    return 0;
  }
  const changes = differences(before, after);
  if (options.json === true) {
    print(`${JSON.stringify({ old: oldFile, new: newFile, differences: changes }, null, 1)}\n`);
    return 0;
  }
  const names = changes.flatMap(({ name, oldName }) => (oldName === null ? [name] : [name, oldName]));
  const show = options.demangle ? await demangler(names, host) : (name: string) => name;
  const form = formOf(options);
  const tables: (readonly [string, string])[] = [];
  for (const view of ["section", "file", "pass"] as const) {
    const table = viewDifference(form, view, before, after, options.top);
    if (table !== null) tables.push([view, table]);
  }
  tables.push(["symbol", symbolDifference(form, changes, options.top, show)]);
  print(tables.map(([name, table]) => (form === "markdown" ? `### ${name}\n\n${table}` : table)).join("\n"));
  return 0;
}

const signed = (value: number): string => (value > 0 ? `+${value}` : String(value));

/** The lines of a view that changed, and the sum of all; null: nobody knows anything of it. */
function viewDifference(
  form: TableForm,
  view: View,
  before: SizeReport,
  after: SizeReport,
  top: number,
): string | null {
  const old = new Map(rowsOf(before, view).map(({ name, total }) => [name, total]));
  const now = new Map(rowsOf(after, view).map(({ name, total }) => [name, total]));
  if (old.size + now.size <= (view === "section" ? 0 : 4)) return null;
  const lines = [...new Set([...old.keys(), ...now.keys()])].map((name) => {
    const [a, b] = [old.get(name) ?? 0, now.get(name) ?? 0];
    return { name, a, b };
  });
  const changed = lines
    .filter(({ a, b }) => a !== b)
    .sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a) || (x.name < y.name ? -1 : 1));
  const limit = top === 0 ? changed.length : top;
  const cells = changed.slice(0, limit).map(({ name, a, b }): Cell[] => [name, a, b, signed(b - a)]);
  const sum = (list: typeof lines, name: string): Cell[] => {
    const [a, b] = list.reduce(([x, y], one) => [x! + one.a, y! + one.b], [0, 0]) as [number, number];
    return [name, a, b, signed(b - a)];
  };
  if (changed.length > limit) cells.push(sum(changed.slice(limit), `[${changed.length - limit} others]`));
  cells.push(sum(lines, "total"));
  return formatTable(form, [view, "old", "new", "change"], cells);
}

function symbolDifference(
  form: TableForm,
  changes: readonly Difference[],
  top: number,
  show: (name: string) => string,
): string {
  const limit = top === 0 ? changes.length : top;
  const cells = changes
    .slice(0, limit)
    .map(({ name, oldName, change, before, after, file, oldFile }): Cell[] => [
      show(name),
      change,
      before,
      after,
      signed(after - before),
      [
        ...(oldName === null ? [] : [`was ${show(oldName)}`]),
        ...(change !== "new" && oldFile !== null && file !== null && oldFile !== file
          ? [`from ${oldFile}`]
          : []),
      ].join(", "),
    ]);
  const rest = changes.slice(limit);
  if (rest.length > 0) {
    const sum = (of: (change: Difference) => number): number => rest.reduce((all, one) => all + of(one), 0);
    const [before, after] = [sum((one) => one.before), sum((one) => one.after)];
    cells.push([`[${rest.length} others]`, "", before, after, signed(after - before), ""]);
  }
  return formatTable(form, ["symbol", "", "old", "new", "change", "note"], cells);
}
