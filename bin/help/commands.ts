/** Every command, described for manual pages and completions: from the tables that their parsers are made of. */
import type { Command } from "commander";
import { ccOptions } from "../cc/option-table.js";
import type { Way } from "../host/linker-table.js";
import { linkerTable, spellingsOf } from "../host/linker-table.js";
import { type DescribedGroup, describeOption, describeOptions } from "../lto/help.js";
import { makeCommand } from "../lto/options.js";
import { subcommands } from "../lto/subcommands.js";

export interface DescribedCommand {
  /** As it is called; of a subcommand two words. */
  readonly name: string;
  /** What it is, in a line. */
  readonly brief: string;
  /** What follows the name. */
  readonly usage: string;
  /** Paragraphs. */
  readonly description: readonly string[];
  readonly groups: readonly DescribedGroup[];
  /** Its first word may be one of these. */
  readonly subcommands: readonly DescribedCommand[];
  readonly exitCodes: readonly (readonly [code: string, meaning: string])[];
  /** An option that lists clang's options, for completions. */
  readonly asksClang?: true;
}

const plainCodes = [
  ["0", "done"],
  ["1", "an error in the input or the output; nothing is written"],
] as const;
const usageCode = ["2", "wrong usage"] as const;

/**
 * tsc-lto with its subcommands, tsc-cc, tsc-c++ and ld.tsc-lto.
 * @param parsers those of the subcommands
 */
export function allCommands(parsers: readonly Command[]): readonly DescribedCommand[] {
  const parser = makeCommand("");
  return [
    {
      name: "tsc-lto",
      brief: "link-time optimizer",
      usage: "[options] [inputs…]",
      description: [
        parser.description(),
        "Inputs are IR objects of tsc-cc, LLVM bitcode (LLVM 15 to 22), .ll and .tir text, archives of all of these, and the symbols of native objects and shared libraries. The output is linked by a compiler driver: tsc-lto a.o b.o -o prog.s && cc prog.s -o prog.",
        "The first word may be one of the subcommands, which measure programs and say why they are as they are.",
      ],
      groups: describeOptions(parser),
      subcommands: parsers.map(describeSubcommand),
      exitCodes: [...plainCodes, usageCode],
    },
    ...(["tsc-cc", "tsc-c++"] as const).map(
      (name): DescribedCommand => ({
        name,
        brief: `${name === "tsc-cc" ? "C" : "C++"} compiler driver for link-time optimisation with tsc-lto`,
        usage: "[options] file…",
        description: [
          "Compiles C and C++ with clang to IR objects for tsc-lto; without -c, links them to a program, tsc-c++ with the C++ library. It takes clang's options, and those below.",
        ],
        groups: ccOptions,
        subcommands: [],
        exitCodes: [
          ["0", "done"],
          ["1", "an error; clang's code where clang fails"],
        ],
        asksClang: true,
      }),
    ),
    {
      name: "ld.tsc-lto",
      brief: "linker for compiler drivers that optimises with tsc-lto",
      usage: "[options of the linker] [inputs…]",
      description: [
        "Stands where a compiler driver expects its linker (clang -fuse-ld=, gcc -B): IR among the inputs becomes one native object, and the system's ld, or that of TSC_LTO_LD, links it with the rest. What is not named below goes to the linker as it came.",
      ],
      groups: linkerGroups(),
      subcommands: [],
      exitCodes: plainCodes,
    },
  ];
}

function describeSubcommand(command: Command): DescribedCommand {
  const words = command.registeredArguments.map((argument) => ({
    flags: argument.name(),
    text: argument.description,
    ...(argument.argChoices === undefined ? {} : { choices: argument.argChoices }),
  }));
  return {
    name: `tsc-lto ${command.name()}`,
    brief: subcommands.get(command.name())!,
    usage: command.usage(),
    description: [command.description()],
    groups: [
      { heading: "Words", rows: words },
      { heading: "Options", rows: optionsOf(command) },
    ].filter(({ rows }) => rows.length > 0),
    subcommands: [],
    exitCodes: [...plainCodes, usageCode, ["3", "a budget does not hold"]],
  };
}

const optionsOf = (command: Command) => [
  ...command.options.map(describeOption),
  { flags: "-h, --help", text: "show these options" },
];

const headings: Readonly<Record<Way, string>> = {
  done: "Done by tsc-lto, and no linker is told",
  accepted: "Accepted: there is nothing to be done",
  refused: "Refused, by name",
  both: "Both do their part",
  translated: "Translated for linkers that do not have them",
};

function linkerGroups(): DescribedGroup[] {
  return (["done", "both", "translated", "accepted", "refused"] as const).map((way) => ({
    heading: headings[way],
    rows: linkerTable
      .filter((row) => row.way === way)
      .map((row) => ({ flags: spellingsOf(row).join(", "), text: row.text })),
  }));
}
