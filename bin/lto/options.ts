/** The command line of `tsc-lto`. */
import { availableParallelism } from "node:os";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { expandResponseFiles } from "../../frontend/clang/response-file.js";
import { outlineForms } from "../../lto/codegen/outline/candidates.js";
import type { OptimizationLevel } from "../../lto/codegen/program/options.js";
import { InputError } from "../../lto/ir/errors.js";
import { passOptions } from "../../lto/pass/options.js";
import { type PassSet, productPasses } from "../../lto/pipeline/registry.js";
import { readTextFile } from "../host/libraries.js";
import type { DriverOptions } from "./driver-options.js";
import { OptionError } from "./errors.js";
import { addLlvmOption, type LlvmOptions, noLlvmOptions, translateLlvmOptions } from "./llvm-options.js";
import { type Operand, splitOperands } from "./operands.js";
import { optionWords } from "./option-words.js";
import { addPassOptions, readPassOptions } from "./pass-options.js";

const levels: readonly string[] = ["0", "1", "2", "3", "s", "z"];

function parseLevel(value: string): OptimizationLevel {
  if (!levels.includes(value)) throw new InvalidArgumentError(`expected one of ${levels.join(", ")}.`);
  return `O${value}` as OptimizationLevel;
}

function parseCount(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError("expected a number.");
  return Number(value);
}

/** @returns the list as it was given */
function parseForms(value: string): string {
  for (const form of value.split(","))
    if (!(outlineForms as readonly string[]).includes(form))
      throw new InvalidArgumentError(`expected some of ${outlineForms.join(", ")}.`);
  return value;
}

function parseBytes(value: string): number {
  const [, digits, unit] = /^(\d{1,12})([kmg]?)$/i.exec(value) ?? [];
  if (digits === undefined) throw new InvalidArgumentError("expected a number of bytes, such as 500m.");
  return Number(digits) * 1024 ** ["", "k", "m", "g"].indexOf(unit!.toLowerCase());
}

function parseJobs(value: string): number {
  const n = parseCount(value);
  if (n < 1 || n > 1024) throw new InvalidArgumentError("expected a number from 1 to 1024.");
  return n;
}

const collect = (value: string, previous: readonly string[]): string[] => [...previous, value];

/** Builds the parser; exported so that the manual and the tests see the same list of options. */
export function makeCommand(version: string, set: PassSet = productPasses): Command {
  const command = new Command("tsc-lto")
    .description(
      "Link IR objects, bitcode and text IR into one program, optimise it as a whole, and write assembly.",
    )
    .version(`tsc-lto ${version} (compatible with LLD / GNU linkers)`, "--version", "print the version")
    .argument(
      "[inputs...]",
      "IR objects, LLVM bitcode, .ll/.tir text, archives of these; native objects lend their symbols",
    )
    .optionsGroup("What is written:")
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
    .optionsGroup("Threads and caches:")
    .option("-j, --jobs <n>", "worker threads; default: the number of cores", parseJobs)
    .option(
      "--parallel-threshold <n>",
      "IR instructions from which on worker threads pay for their start",
      parseCount,
      // A second thread (-j2, generated programs of 100 000 and 300 000 instructions, a busy machine) takes 0.95 to 1.05 and
      // 0.94 of the time on the clock, and 1.6 and 1.5 of the memory, which is 1.8 and 1.4 of lld's: not worth it there.
      400_000,
    )
    .option(
      "--cache-dir <dir>",
      "keep compiled functions in this directory, so that later links compile what has changed",
    )
    .option(
      "--cache-size <bytes>",
      "most that files in the cache may take; k, m and g are units; those not used for longest go",
      parseBytes,
      parseBytes("1g"),
    )
    .optionsGroup("Symbols and inputs:")
    .option("-e, --entry <symbol>", "where the program starts", "main")
    .option("--export <symbol>", "keep this definition visible; may be a glob; repeatable", collect, [])
    .option("--export-list <file>", "as --export, for each line of the file; repeatable", collect, [])
    .option("--dynamic-list <file>", "the same", collect, [])
    .option("-u, --undefined <symbol>", "take this symbol as referenced; repeatable", collect, [])
    .option("--shared", "the result goes into a shared library: visible definitions stay replaceable", false)
    .option("-r, --relocatable", "the result is linked further: everything global stays", false)
    .option("-E, --export-dynamic", "keep every visible definition of an executable", false)
    .option(
      "--exclude-libs <lib,lib>",
      "hide what archives of these names define; ALL: all; repeatable",
      collect,
      [],
    )
    .option(
      "--no-default-libs",
      "the program is not linked with the C and C++ libraries, so what they mention closes; also -nostdlib, -nodefaultlibs",
    )
    .option(
      "--lto-whole-program-visibility",
      "take it that nobody outside of the program derives from its classes (compiled with -fwhole-program-vtables)",
      false,
    )
    .option("--version-script <file>", "make local what its local: names; repeatable", collect, [])
    .option(
      "-z <keyword>",
      "defs, or --no-undefined: report what nothing defines; muldefs: as --allow-multiple-definition",
      collect,
      [],
    )
    .option("--allow-multiple-definition", "of several definitions of a symbol the first counts", false)
    .option("--wrap <symbol>", "references to the symbol go to __wrap_SYMBOL; repeatable", collect, [])
    .option(
      "--defsym <symbol=expression>",
      "the system linker, given the same option, defines the symbol; repeatable",
      collect,
      [],
    )
    .option(
      "-T, --script <file>",
      "a linker script, read for the symbols it assigns and mentions; repeatable",
      collect,
      [],
    )
    .option("--strip-debug", "say nothing of debug information that is left out", false)
    .option("--error-limit <n>", "stop after this many errors; 0: no limit", parseCount, 20)
    .optionsGroup("Code generation:")
    .addOption(
      new Option("--regalloc <name>", "register allocator")
        .choices(["ssa", "greedy", "linear", "graph"])
        .default("ssa"),
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
    .option("--no-shrink-wrap", "prologues at the entries of functions, not where their frames are needed")
    .option(
      "--no-base-register",
      "every variable, and every field far from a pointer, by its own address, for size too",
    )
    .option("--no-shared-epilogues", "every function has its own pops and returns, for size too")
    .option(
      "--no-bound-variable-arguments",
      "functions with variable arguments save whatever the platform passes, and calls of them set al",
    )
    .option(
      "--no-fall-through",
      "functions stand in the order of their modules, and end in jumps where they end with calls",
    )
    .option(
      "--no-shared-unwind",
      "an unwind description for each function, for tools that take its start for the function's",
    )
    .option(
      "--function-sections",
      "a section for each function, so that the linker can drop or order them",
      false,
    )
    .option("--data-sections", "the same for variables", false)
    .option(
      "--inline-effort <n>",
      "percent of the program that may be compiled on trial, to inline by exact size; 0: by estimates",
      parseCount,
      0,
    )
    .option(
      "--no-outline",
      "repeated code stays where it is; else it becomes functions, where size is wanted",
    )
    .option(
      "--outline-rounds <n>",
      "how often outlining is repeated at most, on its own result",
      parseCount,
      2,
    )
    .addOption(
      new Option(
        "--outline-forms <list>",
        "what outlined code may be, separated by commas: called, called and ending in a jump, jumped to",
      )
        .default("call,thunk,jump")
        .argParser(parseForms),
    )
    .optionsGroup(checks)
    .option("--check-regalloc", "verify every register allocation with the symbolic checker", false)
    .option(
      "--check-ipra",
      "recompute what calls change from the assembled code (needs as) and compare",
      false,
    )
    .option("--check-packing", "unpack and pack all code before layout, which must change nothing", false)
    .option("--verify", "verify the IR after linking and before code generation", false)
    .option(
      "--stack-trace",
      "show where an internal error was met; for all programs: TSC_LTO_STACK_TRACE=1 in the environment",
      false,
    )
    .optionsGroup(reports)
    .addOption(
      new Option("--print-machine <stage>", "print machine IR after a stage on standard error").choices([
        "select",
        "allocate",
        "finish",
      ]),
    )
    .option("--print-regusage", "print the registers each function may change on standard error", false)
    .optionsGroup("Passes:")
    .option(
      "--mllvm <option>",
      "also -mllvm: an option of LLVM, such as -enable-ipra[=<bool>] or -opt-bisect-limit=<n>; repeatable",
      addLlvmOption,
      noLlvmOptions,
    )
    .addHelpText("after", positionalHelp)
    .allowExcessArguments(true);
  return addPassOptions(command, set);
}

/** Options whose place among the inputs matters, and what they do. */
const positional: readonly (readonly [string, string])[] = [
  ["-l <name>", "a library, looked for in the folders of -L <dir>"],
  ["--whole-archive, --no-whole-archive", "take every member of the archives that follow"],
  ["--start-lib, --end-lib", "take the objects between them only when needed"],
  ["-Bstatic, -Bdynamic", "-l finds archives only, or shared libraries too"],
  ["--push-state, --pop-state", "save and restore these states"],
];

const positionalHelp = `
Where they stand among the inputs matters for these:
${positional.map(([words, meaning]) => `  ${words.padEnd(38)} ${meaning}`).join("\n")}

@FILE on the command line stands for the arguments in FILE.`;

/** Options under one heading: their words, and what each does. */
export interface OptionGroup {
  readonly heading: string;
  readonly rows: readonly (readonly [string, string])[];
}

/** Every option and what it does, for the manual. */
export function describeOptions(command: Command): OptionGroup[] {
  const shown = command.options.filter(({ hidden }) => !hidden);
  const groups = new Map<string, (readonly [string, string])[]>();
  const add = (heading: string, row: readonly [string, string]): void => {
    const rows = groups.get(heading);
    if (rows === undefined) groups.set(heading, [row]);
    else rows.push(row);
  };
  for (const option of shown) {
    const value: unknown = option.defaultValue;
    const usual = typeof value === "string" || typeof value === "number" ? [`default: ${value}`] : [];
    const choices = option.argChoices === undefined ? [] : [option.argChoices.join(", ")];
    const notes = [...choices, ...usual].join("; ");
    const text = notes === "" ? option.description : `${option.description} (${notes})`;
    add((option.helpGroupHeading ?? "Further options:").replace(/:$/, ""), [option.flags, text]);
  }
  add("Symbols and inputs", ["--no-undefined", "the same as -z defs"]);
  for (const row of positional) add("Where they stand among the inputs matters", row);
  add("Further options", ["@FILE", "stands for the arguments in FILE"]);
  return [...groups].map(([heading, rows]) => ({ heading, rows }));
}

/** Words of drivers and linkers for options that have other names here. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ["--no-undefined", "-zdefs"],
  ...["-nostdlib", "--nostdlib", "-nodefaultlibs", "--nodefaultlibs"].map(
    (word) => [word, "--no-default-libs"] as const,
  ),
]);

/** Reads the words after the program's name. @throws InputError, CommanderError for what is no command line */
export function parseOptions(
  command: Command,
  args: readonly string[],
  set: PassSet = productPasses,
): DriverOptions {
  const words = translateLlvmOptions(expandResponseFiles(args, readTextFile)).map(
    (word) => synonyms.get(word) ?? word,
  );
  const valued = new Set(command.options.flatMap((o) => (o.required ? [o.short, o.long] : [])));
  const { operands, directories, options } = splitOperands(words, (word) => valued.has(word));
  command.parse(options, { from: "user" });
  return driverOptions(command, operands, directories, set);
}

/**
 * Reads options that a program gives as values; inputs and output are the defaults.
 * @throws OptionError for what is no option, or no value of it
 */
export function readOptionValues(
  given: Readonly<Record<string, unknown>>,
  set: PassSet = productPasses,
): DriverOptions {
  const silent = { writeOut: () => {}, writeErr: () => {} };
  const command = makeCommand("", set).exitOverride().configureOutput(silent);
  try {
    command.parse(optionWords(command, given), { from: "user" });
    return driverOptions(command, [], [], set);
  } catch (e) {
    if (e instanceof CommanderError || e instanceof InputError)
      throw new OptionError(e.message.replace(/^error: /, ""));
    throw e;
  }
}

/** Headings of options that are about more than the output. */
const checks = "Checks:";
const reports = "Reports:";
const showing = new Set(passOptions.filter(({ shows }) => shows === true).map(({ name }) => `--${name}`));

const asksForMore = (command: Command): boolean =>
  command.options.some(
    (option) =>
      (option.helpGroupHeading === checks ||
        option.helpGroupHeading === reports ||
        showing.has(option.long!)) &&
      command.getOptionValueSource(option.attributeName()) === "cli",
  );

function driverOptions(
  command: Command,
  inputs: readonly Operand[],
  libraryPath: readonly string[],
  set: PassSet,
): DriverOptions {
  const o = command.opts();
  const llvm = o["mllvm"] as LlvmOptions;
  return {
    inputs,
    libraryPath,
    output: o["o"],
    emit: o["emit"],
    level: o["O"] ?? null,
    relocationModel: o["relocationModel"] ?? null,
    jobs: o["jobs"] ?? availableParallelism(),
    parallelThreshold: o["parallelThreshold"],
    cacheDir: o["cacheDir"] ?? null,
    cacheSize: o["cacheSize"],
    entry: o["entry"],
    entryGiven: command.getOptionValueSource("entry") === "cli",
    export: o["export"],
    exportList: [...o["exportList"], ...o["dynamicList"]],
    undefined: o["undefined"],
    shared: o["shared"],
    relocatable: o["relocatable"],
    exportDynamic: o["exportDynamic"],
    excludeLibs: (o["excludeLibs"] as string[]).flatMap((names) => names.split(/[,:]/)),
    defaultLibs: o["defaultLibs"],
    ltoWholeProgramVisibility: o["ltoWholeProgramVisibility"],
    versionScript: o["versionScript"],
    noUndefined: o["z"].includes("defs"),
    allowMultipleDefinition: o["allowMultipleDefinition"] || o["z"].includes("muldefs"),
    wrap: o["wrap"],
    defsym: o["defsym"],
    script: o["script"],
    stripDebug: o["stripDebug"],
    asksForMore: o["emit"] !== "asm" || llvm.printRegisterUsage || asksForMore(command),
    errorLimit: o["errorLimit"],
    regalloc: o["regalloc"],
    coalesce: o["coalesce"],
    spillCost: o["spillCost"] ?? null,
    checkRegalloc: o["checkRegalloc"],
    checkIpra: o["checkIpra"],
    checkPacking: o["checkPacking"],
    ipra: llvm.ipra ?? o["ipra"],
    shrinkWrap: o["shrinkWrap"],
    baseRegister: o["baseRegister"],
    sharedEpilogues: o["sharedEpilogues"],
    boundVariableArguments: o["boundVariableArguments"],
    fallThrough: o["fallThrough"],
    sharedUnwind: o["sharedUnwind"],
    outline: o["outline"],
    outlineRounds: o["outlineRounds"],
    outlineForms: o["outlineForms"],
    inlineEffort: o["inlineEffort"],
    functionSections: llvm.functionSections ?? o["functionSections"],
    dataSections: llvm.dataSections ?? o["dataSections"],
    verify: o["verify"],
    stackTrace: o["stackTrace"],
    passes: readPassOptions(o, set),
    printMachine: o["printMachine"] ?? null,
    printRegusage: o["printRegusage"] || llvm.printRegisterUsage,
  };
}
