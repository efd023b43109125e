/**
 * What `--help` says: by groups, what is used every day, and with `--help-all` everything. The same description of every option
 * makes the manual, the manual pages and the completions of shells.
 */
import { type Command, Option } from "commander";
import { passOptions } from "../../lto/pass/options.js";
import { optionTable, type Row } from "./option-table.js";
import { subcommands } from "./subcommands.js";

/** An option, for people. */
export interface DescribedOption {
  /** `-o <file>`, `-j, --jobs <n>`; further options that belong to it after a comma. */
  readonly flags: string;
  /** What it does, with the words that it takes and what it stands for where it is not given. */
  readonly text: string;
  /** The words that it takes, if it takes no others. */
  readonly choices?: readonly string[];
  /** What it takes, where its name for people does not say so. */
  readonly file?: "file" | "dir";
}

/** Options under one heading. */
export interface DescribedGroup {
  readonly heading: string;
  readonly rows: readonly DescribedOption[];
}

/** Options whose place among the inputs matters, and what they do. */
const positional: readonly DescribedOption[] = [
  { flags: "-l <name>", text: "a library, looked for in the folders of -L <dir>" },
  { flags: "--whole-archive, --no-whole-archive", text: "take every member of the archives that follow" },
  { flags: "--start-lib, --end-lib", text: "take the objects between them only when needed" },
  { flags: "-Bstatic, -Bdynamic", text: "-l finds archives only, or shared libraries too" },
  { flags: "--push-state, --pop-state", text: "save and restore these states" },
];

/** Spellings that the parser does not see, by the heading under which they stand. */
const further: readonly (readonly [heading: string, option: DescribedOption])[] = [
  ["Symbols and inputs", { flags: "--no-undefined", text: "the same as -z defs" }],
  [
    "Symbols and inputs",
    { flags: "--no-fat-lto-objects", text: "the same as --fat-objects code; --fat-lto-objects: ir" },
  ],
  ["Symbols and inputs", { flags: "--no-embedded-bitcode", text: "the same as --embedded-bitcode none" }],
  ["Messages", { flags: "--no-color-diagnostics", text: "the same as --color-diagnostics=never" }],
  [
    "Threads and caches",
    {
      flags: "--persistent_worker",
      text: "as the last word: run such commands for Bazel, or a build tool with its protocol for workers",
    },
  ],
  ...positional.map((option) => ["Where they stand among the inputs matters", option] as const),
  ["Further options", { flags: "@FILE", text: "stands for the arguments in FILE" }],
];

/** Every option that people are told of. */
export function describeOptions(command: Command): DescribedGroup[] {
  const groups = new Map<string, DescribedOption[]>();
  const add = (heading: string, option: DescribedOption): void => {
    const options = groups.get(heading);
    if (options === undefined) groups.set(heading, [option]);
    else options.push(option);
  };
  for (const option of visible(command))
    add((option.helpGroupHeading ?? "Further options:").replace(/:$/, ""), describeOption(option));
  for (const [heading, option] of further) add(heading, option);
  return [...groups].map(([heading, rows]) => ({ heading, rows }));
}

export function describeOption(option: Option): DescribedOption {
  const { flags, argChoices } = option;
  const choices = argChoices === undefined ? {} : { choices: argChoices };
  return { flags, text: textOf(option), ...choices };
}

/** With commander's own option for help. */
const visible = (command: Command): Option[] => [
  ...command.options.filter(({ hidden }) => !hidden),
  ...helpOptions.map(([flags, text]) => new Option(flags, text)),
];

/** What an option does, takes and stands for; what is off or empty goes without saying. */
function textOf({ description, argChoices, defaultValue, defaultValueDescription }: Option): string {
  const value: unknown = defaultValueDescription ?? defaultValue;
  const usual = typeof value === "string" || typeof value === "number" ? [`default: ${value}`] : [];
  const choices = argChoices === undefined ? [] : [argChoices.join(", ")];
  const notes = [...choices, ...usual].join("; ");
  return notes === "" ? description : `${description} (${notes})`;
}

const helpOptions = [
  ["-h, --help", "show what is used every day"],
  ["--help-all", "show every option"],
] as const;

const everyday: ReadonlySet<string> = new Set([
  ...optionTable.flatMap(({ rows }) =>
    Object.values<Row<unknown>>(rows).flatMap((row) => (row.everyday === true ? [row.flags] : [])),
  ),
  ...passOptions.flatMap(({ name, everyday: is }) => (is === true ? [`--${name}`] : [])),
  "--version",
]);

const isEveryday = ({ flags, long }: Option): boolean => everyday.has(flags) || everyday.has(long ?? "");

/** Gives the parser its `--help` and `--help-all`. */
export function addHelp(command: Command): Command {
  const [[flags, text], [allFlags, allText]] = helpOptions;
  let all = false;
  return command
    .helpOption(flags, text)
    .addOption(new Option(allFlags, allText).hideHelp())
    .on("option:help-all", () => {
      all = true;
      command.help();
    })
    .configureHelp({
      visibleOptions: (shown) =>
        visible(shown).filter((option) => all || isHelp(option) || isEveryday(option)),
      optionDescription: textOf,
      minWidthToWrap: 30,
    })
    .addHelpText("after", () => (all ? positionalHelp : "") + subcommandHelp + (all ? "" : moreHelp));
}

const isHelp = ({ flags }: Option): boolean => helpOptions.some(([each]) => each === flags);

/** As commander sets them. */
const line = (term: string, text: string, width = 38): string => `  ${term.padEnd(width)} ${text}`;

const positionalHelp = `
Where they stand among the inputs matters:
${positional.map(({ flags, text }) => line(flags, text)).join("\n")}

The same in other words:
${further
  .filter(([heading]) => heading === "Symbols and inputs" || heading === "Messages")
  .map(([, { flags, text }]) => line(flags, text))
  .join("\n")}

@FILE on the command line stands for the arguments in FILE.
`;

const subcommandHelp = `
Other things than links, each with a --help of its own:
${[...subcommands].map(([name, what]) => line(`tsc-lto ${name}`, what, 19)).join("\n")}`;

const moreHelp = `

tsc-lto --help-all shows every option; man tsc-lto and MANUAL.md say more.`;
