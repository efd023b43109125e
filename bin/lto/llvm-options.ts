/**
 * `-mllvm OPTION`: the options of LLVM's code generator that mean something here. They are spelled as there, with
 * one dash or two, and what is not known is an error, as in lld. `-plugin-opt=-OPTION` is the same, also as in lld.
 *
 * Those that are options of tsc-lto under another name (lto/pass/options.ts) are replaced among the words of the command
 * line; the others have meanings of their own.
 */
import { InvalidArgumentError } from "commander";
import { InputError } from "../../lto/ir/errors.js";
import { passOptions } from "../../lto/pass/options.js";

export interface LlvmOptions {
  /** `-enable-ipra`: null when it was not given. */
  readonly ipra: boolean | null;
  /** `-print-regusage`. */
  readonly printRegisterUsage: boolean;
  /** `-function-sections`, `-data-sections`, which clang passes on: null when they were not given. */
  readonly functionSections: boolean | null;
  readonly dataSections: boolean | null;
}

export const noLlvmOptions: LlvmOptions = {
  ipra: null,
  printRegisterUsage: false,
  functionSections: null,
  dataSections: null,
};

/** What each option sets. */
const own = {
  "enable-ipra": "ipra",
  "print-regusage": "printRegisterUsage",
  "function-sections": "functionSections",
  "data-sections": "dataSections",
} as const satisfies Record<string, keyof LlvmOptions>;
const isOwn = (name: string | undefined): name is keyof typeof own =>
  name !== undefined && Object.hasOwn(own, name);

/** LLVM's spellings of a boolean value; an option alone means true. */
const booleans: ReadonlyMap<string | undefined, boolean> = new Map([
  [undefined, true],
  ...["", "1", "true", "True", "TRUE"].map((text) => [text, true] as const),
  ...["0", "false", "False", "FALSE"].map((text) => [text, false] as const),
]);

/** Adds one option to those before it; the last of a kind counts. @throws InvalidArgumentError naming the option */
export function addLlvmOption(text: string, previous: LlvmOptions): LlvmOptions {
  const [, name, value] = /^--?([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (!isOwn(name)) throw new InvalidArgumentError(`unknown option of LLVM; known are ${known.join(", ")}.`);
  const on = booleans.get(value);
  if (on === undefined) throw new InvalidArgumentError(`'${value}' is no boolean value; use true or false.`);
  return { ...previous, [own[name]]: on };
}

/** Whether `-mllvm` takes it. */
export function isKnownLlvmOption(text: string): boolean {
  const [, name] = /^--?([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  return isOwn(name) || (name !== undefined && known.includes(`-${name}`));
}

const known = [
  ...Object.keys(own).map((name) => `-${name}`),
  ...passOptions.flatMap((option) => option.llvm.map((name) => `-${name}`)),
  "-print-before-all",
  "-print-after-all",
];

/** Replaces options of LLVM by this program's own, where they have the same meaning. @throws InputError without value */
export function translateLlvmOptions(words: readonly string[]): string[] {
  const result: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const [, plugin, joined] = /^--?(?:mllvm|(plugin-opt))(?:=(.*))?$/s.exec(word) ?? [];
    if (joined === undefined && !/^--?(mllvm|plugin-opt)$/.test(word)) {
      result.push(word);
      continue;
    }
    const option = joined ?? words[++i];
    if (option === undefined) throw new InputError(`argument to '${word}' is missing`);
    if (plugin !== undefined && !option.startsWith("-"))
      throw new InputError(
        `unknown plug-in option '${option}': only options of LLVM, with a dash, are taken`,
      );
    result.push(...(ownSpelling(option) ?? [`--mllvm=${option}`]));
  }
  return result;
}

/** The option in this program's words; null if it has none. */
function ownSpelling(text: string): string[] | null {
  const [, name, value] = /^--?([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (name === undefined) return null;
  if (name === "print-before-all" || name === "print-after-all") return [`--${name.slice(0, -4)}=all`];
  const option = passOptions.find(({ llvm }) => llvm.includes(name));
  if (option === undefined) return null;
  if (option.kind !== "switch")
    return [value === undefined ? `--${option.name}` : `--${option.name}=${value}`];
  const on = booleans.get(value);
  if (on === undefined) throw new InputError(`'${value}' is no boolean value of -${name}; use true or false`);
  return on ? [`--${option.name}`] : [];
}
