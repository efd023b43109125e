/** `tsc-lto measure`: what each decision of a link saves, in bytes of the linked program. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { Host } from "../host/host.js";
import { removeTemporary, temporaryDirectory } from "../host/interrupts.js";
import { type Decision, decisions, everyPass, namedDecisions, optionsWithout } from "./decisions.js";
import { interactions, shapleyValues } from "./effects.js";
import { addForms, formOf, parseNumber } from "./forms.js";
import type { AddSubcommand, Services } from "./main.js";
import { type Measured, Measuring } from "./measuring.js";
import { peerNames } from "./peers.js";
import { subjectOf } from "./subject.js";
import { type Cell, formatTable, type TableForm } from "./table.js";

interface MeasureOptions {
  readonly without: readonly string[];
  readonly only: readonly string[];
  readonly decisions?: string;
  readonly everyPass?: boolean;
  readonly alone: boolean;
  readonly pairs?: number | true;
  readonly shapley: number;
  readonly against: readonly string[];
  readonly run?: string;
  readonly runs: number;
  readonly links: number;
  readonly compare?: boolean;
  readonly html?: string;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly markdown?: boolean;
}

const collect = (word: string, previous: readonly string[]): readonly string[] => [...previous, word];

export const addMeasure: AddSubcommand = (command, services, finish) => {
  command
    .command("measure")
    .description(
      "Link the same inputs with settings in turn, and print the bytes of each linked program: with all decisions, without each, with each alone, with none.",
    )
    .usage("[options] -- <inputs... | driver and its link line | record>")
    .argument(
      "<words...>",
      "inputs and options of tsc-lto; a link line that begins with clang, gcc, cc or their like; or a folder that TSC_LTO_RECORD made",
    )
    .option(
      "--without <names>",
      "a setting without these decisions or passes, separated by commas; repeatable",
      collect,
      [],
    )
    .option("--only <names>", "a setting with only these of the decisions; repeatable", collect, [])
    .option(
      "--decisions <names>",
      "the decisions to be looked at, instead of the usual ones; ipra-parts: those of ipra, one by one",
    )
    .option("--every-pass", "look at each pass and step that can be left out")
    .option("--no-alone", "do not measure each decision alone")
    .option(
      "--pairs [n]",
      `leave out each pair of the n decisions that save most, too, and show how they interact (${usualPairs} without n)`,
      parseNumber,
    )
    .option("--shapley <n>", "the mean of what each saves over n orders of taking them", parseNumber, 0)
    .option(
      "--against <peer>",
      `measure the program as LLVM's link-time optimisation makes it (${peerNames.join(", ")}), or NAME=COMMAND: what a command for the shell writes to $PROGRAM; repeatable`,
      collectPeer,
      [],
    )
    .option(
      "--run <command>",
      "run each program by a command for the shell, where it is $PROGRAM, and show the time",
    )
    .option("--runs <n>", "how often; the median counts", parseNumber, 5)
    .option(
      "--links <n>",
      "how often each setting is linked, for its processor time; the median counts",
      parseNumber,
      1,
    )
    .option(
      "--compare",
      "instead of bytes by use: times and size of each setting in percent of the last one, with the spread of the times",
    )
    .option("--html <file>", "write the page of tsc-lto size --html, with what was measured as a waterfall");
  addForms(command.commands.at(-1)!, "everything measured as JSON").action(
    async (words: readonly string[], options: MeasureOptions, own: Command) =>
      finish(await measure(words.length > 0 ? words : own.args, options, services)),
  );
};

/** Of how many decisions pairs are looked at where nothing is said: of all of them there would be hundreds. */
const usualPairs = 8;

function collectPeer(word: string, previous: readonly string[]): readonly string[] {
  if (!peerNames.includes(word) && !/^[^=]+=./s.test(word))
    throw new InvalidArgumentError(`expected NAME=COMMAND or one of ${peerNames.join(", ")}.`);
  return [...previous, word];
}

/** One line of the first table. */
interface Setting {
  readonly name: string;
  readonly measured: Measured;
}

/** What is known of a decision; null: not asked for. */
interface Effect {
  readonly name: string;
  readonly meaning: string;
  /** Bytes that are loaded more without it. */
  readonly saves: number;
  /** Bytes that are loaded less with it alone than with none. */
  readonly alone: number | null;
  readonly shapley: number | null;
  readonly standardError: number | null;
}

interface Findings {
  readonly settings: readonly Setting[];
  readonly effects: readonly Effect[];
  readonly pairs: readonly { readonly names: string; readonly together: number; readonly beyond: number }[];
  readonly links: number;
}

async function measure(
  words: readonly string[],
  options: MeasureOptions,
  services: Services,
): Promise<number> {
  const { host, print } = services;
  const directory = temporaryDirectory(tmpdir(), "tsc-lto-measure-");
  try {
    const subject = await subjectOf(words, mkdtempSync(join(directory, "s-")), host);
    const runs =
      options.run === undefined ? null : { command: options.run, times: Math.max(1, options.runs) };
    const tell = (what: string): void => {
      if (host.colour) host.stderr(Buffer.from(`tsc-lto: linking ${what}\n`));
    };
    const measuring = new Measuring(subject, directory, host, runs, tell, Math.max(1, options.links));
    const findings = await findingsOf(measuring, options);
    if (options.html !== undefined) await writeFindings(options.html, findings, measuring, host);
    if (options.json === true) print(`${JSON.stringify(findings, null, 1)}\n`);
    else if (options.compare === true) print(comparison(formOf(options), findings.settings));
    else print(tables(findings, formOf(options)));
    return 0;
  } finally {
    removeTemporary(directory);
  }
}

/** The page of the program, with the waterfall where decisions were looked at. */
async function writeFindings(
  file: string,
  { settings, effects }: Findings,
  measuring: Measuring,
  host: Host,
): Promise<void> {
  const { writePage } = await import("./page.js");
  const loaded = (name: string): number | undefined =>
    settings.find((one) => one.name === name)?.measured.loaded;
  const [all, none] = [loaded("all"), loaded("none")];
  const measured = all === undefined || none === undefined ? null : { all, none, steps: effects };
  await writePage(file, { report: await measuring.report(), before: null, measured, demangle: true }, host);
}

/** Times and sizes of each setting, in percent of the last one, which the others are compared with. */
function comparison(form: TableForm, settings: readonly Setting[]): string {
  const last = settings.at(-1)!.measured;
  const percent = (value: number, of: number): Cell =>
    Number.isNaN(value) || Number.isNaN(of) || of === 0 ? "" : `${((100 * (value - of)) / of).toFixed(1)}%`;
  const spread = (times: readonly number[] | null): Cell =>
    times === null || times.length < 2
      ? ""
      : `±${((Math.max(...times) - Math.min(...times)) / 2).toFixed(1)}`;
  const hasRuns = settings.some(({ measured }) => measured.run !== null);
  const rows = settings.map(({ name, measured: { link, links, run, runs, loaded, file } }): Cell[] => [
    name,
    Number.isNaN(link) ? "" : link.toFixed(1),
    spread(links),
    percent(link, last.link),
    ...(hasRuns
      ? [run === null ? "" : run.toFixed(1), spread(runs), percent(run ?? Number.NaN, last.run ?? Number.NaN)]
      : []),
    loaded,
    percent(loaded, last.loaded),
    file,
  ]);
  const head = [
    "setting",
    "link ms",
    "",
    "change",
    ...(hasRuns ? ["run ms", "", "change"] : []),
    "size",
    "change",
    "file",
  ];
  return formatTable(form, head, rows);
}

function chosenDecisions({ decisions: given, everyPass: every }: MeasureOptions): readonly Decision[] {
  if (given !== undefined) return namedDecisions(given);
  return every === true ? everyPass() : decisions;
}

async function findingsOf(measuring: Measuring, options: MeasureOptions): Promise<Findings> {
  const chosen = chosenDecisions(options);
  const settings: Setting[] = [];
  const link = async (left: readonly Decision[], name: string): Promise<Measured> => {
    const measured = await measuring.with(optionsWithout(left), name);
    settings.push({ name, measured });
    return measured;
  };
  // Wrong names are told before anything is linked.
  const asked = [
    ...options.without.map((list) => ({ name: `without ${list}`, left: namedDecisions(list) })),
    ...options.only.map((list) => {
      const kept = new Set(namedDecisions(list).map(({ name }) => name));
      return { name: `only ${list}`, left: chosen.filter(({ name }) => !kept.has(name)) };
    }),
  ];
  const whole = await link([], "all");
  for (const { left, name } of asked) await link(left, name);
  const effects: Effect[] = [];
  let pairs: Findings["pairs"] = [];
  if (asked.length === 0) {
    const none = await link(chosen, "none");
    const taken = async (numbers: ReadonlySet<number>): Promise<number> => {
      const left = chosen.filter((_, i) => !numbers.has(i));
      return (await measuring.with(optionsWithout(left), `with ${numbers.size} of ${chosen.length}`)).loaded;
    };
    const shapley = options.shapley > 0 ? await shapleyValues(chosen.length, options.shapley, taken) : null;
    for (const [i, decision] of chosen.entries()) {
      const without = await link([decision], `without ${decision.name}`);
      const others = chosen.filter((one) => one !== decision);
      const alone = options.alone ? await link(others, `only ${decision.name}`) : null;
      effects.push({
        name: decision.name,
        meaning: decision.meaning,
        saves: without.loaded - whole.loaded,
        alone: alone === null ? null : none.loaded - alone.loaded,
        shapley: shapley?.[i]?.mean ?? null,
        standardError: shapley?.[i]?.standardError ?? null,
      });
    }
    effects.sort((a, b) => b.saves - a.saves || (a.name < b.name ? -1 : 1));
    if (options.pairs !== undefined) {
      const most = effects.slice(0, options.pairs === true ? usualPairs : options.pairs);
      const numbers = chosen.flatMap(({ name }, i) => (most.some((one) => one.name === name) ? [i] : []));
      pairs = (await interactions(chosen.length, taken, numbers)).map(
        ({ first, second, together, beyond }) => ({
          names: `${chosen[first]!.name}, ${chosen[second]!.name}`,
          together,
          beyond,
        }),
      );
    }
  }
  for (const word of options.against) {
    const equals = word.indexOf("=");
    const name = equals < 0 ? word : word.slice(0, equals);
    const command = word.slice(equals + 1);
    const measured = equals < 0 ? await measuring.byLld(name) : measuring.other(name, command);
    settings.push({ name, measured });
  }
  return { settings, effects, pairs, links: measuring.links };
}

const signed = (value: number): string => {
  const text = Number.isInteger(value) ? String(value) : value.toFixed(1);
  return value > 0 ? `+${text}` : text;
};

function tables({ settings, effects, pairs }: Findings, form: TableForm): string {
  const parts = [settingTable(form, settings)];
  if (effects.length > 0) parts.push(effectTable(form, effects));
  if (pairs.length > 0) {
    const rows = pairs.map(({ names, together, beyond }): Cell[] => [names, together, signed(beyond)]);
    parts.push(formatTable(form, ["without both of", "costs", "beyond each alone"], rows));
  }
  return parts.join("\n");
}

function settingTable(form: TableForm, settings: readonly Setting[]): string {
  const all = settings[0]!.measured.loaded;
  const hasRuns = settings.some(({ measured }) => measured.run !== null);
  const head = [
    "setting",
    "code",
    "unwind",
    "constants",
    "relocations",
    "loaded",
    "",
    "data",
    "file",
    "link ms",
  ];
  const rows = settings.map(({ name, measured: { bytes, loaded, file, link, run } }): Cell[] => [
    name,
    bytes.code ?? 0,
    bytes.unwind ?? 0,
    bytes.constants ?? 0,
    bytes.relocations ?? 0,
    loaded,
    loaded === all ? "" : signed(loaded - all),
    bytes.data ?? 0,
    file,
    Number.isNaN(link) ? "" : Math.round(link),
    ...(hasRuns ? [run === null ? "" : run.toFixed(1)] : []),
  ]);
  return formatTable(form, hasRuns ? [...head, "run ms"] : head, rows);
}

function effectTable(form: TableForm, effects: readonly Effect[]): string {
  const hasAlone = effects.some(({ alone }) => alone !== null);
  const hasShapley = effects.some(({ shapley }) => shapley !== null);
  const head = [
    "decision",
    "saves",
    ...(hasAlone ? ["saves alone"] : []),
    ...(hasShapley ? ["Shapley", "error"] : []),
    "what it is",
  ];
  const rows = effects.map(({ name, meaning, saves, alone, shapley, standardError }): Cell[] => [
    name,
    saves,
    ...(hasAlone ? [alone ?? 0] : []),
    ...(hasShapley ? [Math.round(shapley ?? 0), Math.round(standardError ?? 0)] : []),
    meaning,
  ]);
  return formatTable(form, head, rows);
}
