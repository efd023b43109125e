/** The command line of `tsc-lto`. */
import { Command, CommanderError, Option } from "commander";
import { expandResponseFiles } from "../../frontend/clang/response-file.js";
import { InputError } from "../../lto/ir/errors.js";
import { passOptions } from "../../lto/pass/options.js";
import { type PassSet, productPasses } from "../../lto/pipeline/registry.js";
import { readTextFile } from "../host/libraries.js";
import type { DriverOptions } from "./driver-options.js";
import { OptionError } from "./errors.js";
import { formerOptions } from "./former-names.js";
import { addHelp } from "./help.js";
import { translateLlvmOptions } from "./llvm-options.js";
import { type Operand, splitOperands } from "./operands.js";
import {
  namesWithEffect,
  type OptionValues,
  optionRows,
  optionTable,
  type Row,
  type SpellingValues,
} from "./option-table.js";
import { optionWords } from "./option-words.js";
import { addPassOptions, readPassOptions } from "./pass-options.js";

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
    .allowExcessArguments(true);
  for (const { heading, rows } of optionTable) {
    command.optionsGroup(heading);
    for (const row of Object.values<Row<unknown>>(rows)) command.addOption(parserOption(row));
  }
  return addHelp(addPassOptions(command, set));
}

function parserOption({ flags, text, parse, choices, initial, usual, bare }: Row<unknown>): Option {
  const option = new Option(flags, text);
  if (choices !== undefined) option.choices(choices);
  else if (parse !== undefined)
    option.argParser((word: string, previous: unknown) => parse(word, previous ?? initial));
  if (bare !== undefined) option.preset(bare);
  // What help says of it: what is off, empty or said by others goes without saying.
  return typeof initial === "string" || typeof initial === "number" ? option.default(initial, usual) : option;
}

/** Words of drivers and linkers for options that have other names here. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ["--no-undefined", "-zdefs"],
  ["--fat-lto-objects", "--fat-objects=ir"],
  ["--no-fat-lto-objects", "--fat-objects=code"],
  ["--no-embedded-bitcode", "--embedded-bitcode=none"],
  ["--no-color-diagnostics", "--color-diagnostics=never"],
  ...["-nostdlib", "--nostdlib", "-nodefaultlibs", "--nodefaultlibs"].map(
    (word) => [word, "--no-default-libs"] as const,
  ),
  ["-nolibc", "--no-libc"],
  ["-nostdlib++", "--no-stdlibxx"],
  ...formerOptions,
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

/** Options of which one that is given asks for more than the output. */
const asking = new Set([
  ...namesWithEffect("more").map((name) => new Option(optionRows.get(name)!.flags).long!),
  ...passOptions.filter(({ shows }) => shows === true).map(({ name }) => `--${name}`),
]);

const asksForMore = (command: Command): boolean =>
  command.options.some(
    (option) => asking.has(option.long!) && command.getOptionValueSource(option.attributeName()) === "cli",
  );

/** What the rows' options were given, or stand for. */
function rowValues(command: Command): OptionValues & SpellingValues {
  const given = command.opts();
  const values: Record<string, unknown> = {};
  for (const [name, { flags, initial }] of optionRows)
    values[name] = given[new Option(flags).attributeName()] ?? initial;
  return values as unknown as OptionValues & SpellingValues;
}

function driverOptions(
  command: Command,
  inputs: readonly Operand[],
  libraryPath: readonly string[],
  set: PassSet,
): DriverOptions {
  const isElf = command.getOptionValue("emit") === "elf";
  const { z, mllvm, ...values } = rowValues(command);
  const effort = values.effort ?? (values.level === "O1" ? "fast" : "full");
  const roundsGiven = command.getOptionValueSource("outlineRounds") === "cli";
  return {
    ...values,
    inputs,
    libraryPath,
    output: isElf && command.getOptionValueSource("o") === "default" ? "a.o" : values.output,
    entryGiven: command.getOptionValueSource("entry") === "cli",
    noUndefined: z.includes("defs"),
    allowMultipleDefinition: values.allowMultipleDefinition || z.includes("muldefs"),
    ipra: mllvm.ipra ?? values.ipra,
    functionSections: mllvm.functionSections ?? values.functionSections,
    dataSections: mllvm.dataSections ?? values.dataSections,
    printRegusage: values.printRegusage || mllvm.printRegisterUsage,
    asksForMore:
      (values.emit !== "asm" && values.emit !== "elf") || mllvm.printRegisterUsage || asksForMore(command),
    effort,
    // Later rounds find little: without them .text is 1.002 to 1.004, the time 0.93 (mawk, Lua).
    outlineRounds: effort === "fast" && !roundsGiven ? 1 : values.outlineRounds,
    passes: readPassOptions(command.opts(), set),
  };
}
