/** The command line of `tsc-lto`. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Command, InvalidArgumentError, Option } from "commander";
import type { CodegenOptions, OptimizationLevel } from "../../lto/pipeline.js";

export type EmitKind = "asm" | "ir" | "object" | "machine";

export interface DriverOptions {
  readonly inputs: readonly string[];
  readonly output: string;
  readonly emit: EmitKind;
  readonly level: OptimizationLevel | null;
  readonly relocation: "static" | "pie" | "pic" | null;
  readonly jobs: number;
  readonly entry: string;
  readonly exports: readonly string[];
  readonly exportLists: readonly string[];
  readonly undefinedSymbols: readonly string[];
  readonly shared: boolean;
  readonly relocatable: boolean;
  readonly exportDynamic: boolean;
  readonly wholeArchive: boolean;
  readonly wrap: readonly string[];
  readonly errorLimit: number;
  readonly allocator: CodegenOptions["allocator"];
  readonly coalesce: CodegenOptions["coalesce"];
  readonly spillCost: CodegenOptions["spillCost"];
  readonly checkRegalloc: boolean;
  readonly ipra: boolean;
  readonly verify: boolean;
  readonly stats: boolean;
  readonly timePasses: boolean;
  readonly printMachine: "select" | "allocate" | "finish" | null;
  readonly filterFunction: string | null;
}

const levels: readonly string[] = ["0", "1", "2", "3", "s", "z"];

function parseLevel(value: string): OptimizationLevel {
  if (!levels.includes(value)) throw new InvalidArgumentError(`expected one of ${levels.join(", ")}.`);
  return `O${value}` as OptimizationLevel;
}

function parseCount(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError("expected a number.");
  return Number(value);
}

function parseJobs(value: string): number {
  const n = parseCount(value);
  if (n < 1 || n > 1024) throw new InvalidArgumentError("expected a number from 1 to 1024.");
  return n;
}

const collect = (value: string, previous: readonly string[]): string[] => [...previous, value];

/** Builds the parser; exported so that the manual and the tests see the same list of options. */
export function makeCommand(version: string): Command {
  return new Command("tsc-lto")
    .description(
      "Link IR objects, bitcode and text IR into one program, optimise it as a whole, and write assembly.",
    )
    .version(`tsc-lto ${version} (compatible with LLD / GNU linkers)`, "--version", "print the version")
    .argument(
      "[inputs...]",
      "IR objects, LLVM bitcode, .ll/.tir text, archives of these; native objects lend their symbols",
    )
    .option("-o <file>", "output file; - is standard output", "a.s")
    .addOption(
      new Option(
        "--emit <kind>",
        "what to write: assembly, the linked IR as text, the linked IR object, or machine IR",
      )
        .choices(["asm", "ir", "object", "machine"])
        .default("asm"),
    )
    .option(
      "-O <level>",
      "optimise as at this level (0 1 2 3 s z); default: what each function was compiled for",
      parseLevel,
    )
    .addOption(
      new Option("--relocation-model <model>", "kind of addresses; default: what the modules say").choices([
        "static",
        "pie",
        "pic",
      ]),
    )
    .option("-j, --jobs <n>", "worker threads; default: the number of cores", parseJobs)
    .option("-e, --entry <symbol>", "where the program starts", "main")
    .option("--export <symbol>", "keep this definition visible; may be a glob; repeatable", collect, [])
    .option("--export-list <file>", "as --export, for each line of the file; repeatable", collect, [])
    .option("-u, --undefined <symbol>", "take this symbol as referenced; repeatable", collect, [])
    .option("--shared", "the result goes into a shared library: visible definitions stay replaceable", false)
    .option("-r, --relocatable", "the result is linked further: everything global stays", false)
    .option("-E, --export-dynamic", "keep every visible definition of an executable", false)
    .option("--whole-archive", "take every member of the archives", false)
    .option("--wrap <symbol>", "references to the symbol go to __wrap_SYMBOL; repeatable", collect, [])
    .option("--error-limit <n>", "stop after this many errors; 0: no limit", parseCount, 20)
    .addOption(
      new Option("--regalloc <name>", "register allocator")
        .choices(["greedy", "ssa", "linear", "graph"])
        .default("greedy"),
    )
    .addOption(
      new Option("--coalesce <name>", "copy coalescing")
        .choices(["pereira", "dominance", "none"])
        .default("pereira"),
    )
    .addOption(
      new Option("--spill-cost <policy>", "what spilling weighs; default: by each function's level").choices([
        "size",
        "speed",
      ]),
    )
    .option("--no-ipra", "no interprocedural register allocation: every call obeys the platform's convention")
    .option("--check-regalloc", "verify every register allocation with the symbolic checker", false)
    .option("--verify", "verify the IR after linking and before code generation", false)
    .option("--stats", "print statistics on standard error", false)
    .option("--time-passes", "print the time each phase took on standard error", false)
    .addOption(
      new Option("--print-machine <stage>", "print machine IR after a stage on standard error").choices([
        "select",
        "allocate",
        "finish",
      ]),
    )
    .option("--filter-function <name>", "restrict --print-machine to one function")
    .addHelpText("after", "\n@FILE on the command line stands for the arguments in FILE.")
    .allowExcessArguments(true);
}

/** Replaces `@file` by the whitespace-separated, possibly quoted, arguments in the file. */
export function expandResponseFiles(args: readonly string[], depth = 0): string[] {
  return args.flatMap((arg) => {
    if (!arg.startsWith("@") || depth > 10) return [arg];
    let text: string;
    try {
      text = readFileSync(arg.slice(1), "utf8");
    } catch {
      return [arg];
    }
    const words = text.match(/"(?:[^"\\]|\\.)*"|'[^']*'|(?:[^\s"'\\]|\\.)+/g) ?? [];
    const plain = words.map((w) =>
      w.startsWith("'") ? w.slice(1, -1) : (w.startsWith('"') ? w.slice(1, -1) : w).replace(/\\(.)/g, "$1"),
    );
    return expandResponseFiles(plain, depth + 1);
  });
}

export function driverOptions(command: Command): DriverOptions {
  const o = command.opts();
  return {
    inputs: command.args,
    output: o["o"],
    emit: o["emit"],
    level: o["O"] ?? null,
    relocation: o["relocationModel"] ?? null,
    jobs: o["jobs"] ?? availableParallelism(),
    entry: o["entry"],
    exports: o["export"],
    exportLists: o["exportList"],
    undefinedSymbols: o["undefined"],
    shared: o["shared"],
    relocatable: o["relocatable"],
    exportDynamic: o["exportDynamic"],
    wholeArchive: o["wholeArchive"],
    wrap: o["wrap"],
    errorLimit: o["errorLimit"],
    allocator: o["regalloc"],
    coalesce: o["coalesce"],
    spillCost: o["spillCost"] ?? null,
    checkRegalloc: o["checkRegalloc"],
    ipra: o["ipra"],
    verify: o["verify"],
    stats: o["stats"],
    timePasses: o["timePasses"],
    printMachine: o["printMachine"] ?? null,
    filterFunction: o["filterFunction"] ?? null,
  };
}
