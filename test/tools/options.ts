/** The options that the differential tools share, parsed from the command line. */
import { availableParallelism } from "node:os";
import type { ParseArgsConfig } from "node:util";
import { parseArgs } from "node:util";
import type { PassWays } from "./pipelines.js";

type Values = Record<string, string | boolean | undefined>;
type Options = NonNullable<ParseArgsConfig["options"]>;

export const commonOptions = {
  tool: { type: "string", default: "ours" },
  levels: { type: "string", default: "O0,Oz,O2" },
  jobs: { type: "string", short: "j", default: String(availableParallelism()) },
  filter: { type: "string" },
  out: { type: "string" },
  resume: { type: "boolean", default: false },
  flags: { type: "string", default: "" },
  ways: { type: "string", default: "" },
  "pass-orders": { type: "string", default: "0" },
  "order-seed": { type: "string", default: "1" },
  "each-pass-off": { type: "boolean", default: false },
  "no-pie": { type: "boolean", default: false },
  guarded: { type: "boolean", default: false },
  verbose: { type: "boolean", short: "v", default: false },
  O0: { type: "boolean" },
  O1: { type: "boolean" },
  O2: { type: "boolean" },
  O3: { type: "boolean" },
  Os: { type: "boolean" },
  Oz: { type: "boolean" },
} as const satisfies Options;

/** For tools that can have clang leave all passes to this project (`compilerOptions` in toolchain.ts). */
export const rawOption = { raw: { type: "boolean", default: false } } as const satisfies Options;

/** What is asked of passes besides the usual (pipelines.ts). */
export const askedOfPasses = (values: Values): PassWays => ({
  orders: Number(values["pass-orders"]),
  seed: Number(values["order-seed"]),
  eachOff: values["each-pass-off"] === true,
});

/** For `--guarded`: programs that check as they run whom pointers reach, who enters functions, and what passes inferred. */
const guards = ["--guard-callees", "--guard-entries", "--check-attributes"];

/** The words of an option that holds several. */
export function splitWords(text: string): string[] {
  return text.split(/\s+/).filter((w) => w !== "");
}

/** The values of a tool's own options. Prints the usage for --help; exits with status 2 and it on bad usage. */
export function optionsOf<const Known extends Options>(options: Known, usage: string) {
  if (process.argv.includes("--help")) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (e) {
    console.error(`${(e as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

/** Parses the command line; levels may be written --levels O0,Oz or -O0 -Oz. Exits with status 2 on bad usage. */
export function parseCommandLine(
  extra: Options,
  usage: string,
): { values: Values; words: string[]; levels: string[]; ltoFlags: string[]; ways: string[][] } {
  const named: string[] = [];
  const args = process.argv.slice(2).filter((a) => {
    const level = /^-(O[0123sz])$/.exec(a);
    if (level !== null) named.push(level[1]!);
    return level === null;
  });
  try {
    const options = { ...commonOptions, ...extra, help: { type: "boolean", short: "h" } } as Options;
    const parsed = parseArgs({ args, options, allowPositionals: true, strict: true });
    const values = parsed.values as Values;
    if (values["help"]) {
      console.log(usage);
      process.exit(0);
    }
    const levels =
      named.length > 0
        ? named
        : String(values["levels"])
            .split(",")
            .map((l) => l.replace(/^-/, ""));
    const ltoFlags = [...splitWords(String(values["flags"])), ...(values["guarded"] === true ? guards : [])];
    const ways = String(values["ways"]).split("|").map(splitWords);
    return { values, words: parsed.positionals, levels, ltoFlags, ways };
  } catch (e) {
    console.error(`${(e as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
