/**
 * Options as values, for the parser that reads the command line: so there is one list of options, and one place where
 * values are checked. The key of an option is its long name in camel case.
 */
import type { Command, Option } from "commander";
import { passOptions } from "../../lto/pass/options.js";
import { OptionError } from "./errors.js";
import { messageNames, optionRows } from "./option-table.js";

/** Options that are about the command itself, or have another form in a program. */
const commandOnly = new Set<string>([...messageNames, "output", "z", "version", "mllvm", "stackTrace"]);

/** The parser's option for a key; undefined: there is none. */
function optionOf(command: Command, key: string): Option | undefined {
  if (commandOnly.has(key)) return undefined;
  const flags = optionRows.get(key === "noUndefined" ? "z" : key)?.flags;
  return command.options.find((option) =>
    flags === undefined
      ? option.attributeName() === key && key !== "O" && key !== "o"
      : option.flags === flags,
  );
}

/**
 * The words for the parser.
 * @param given values by key; undefined and null stand for an option that is not given
 * @throws OptionError for an unknown key, or a value that is of another type than the option's
 */
export function optionWords(command: Command, given: Readonly<Record<string, unknown>>): string[] {
  const words: string[] = [];
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    if (key === "enabled") {
      words.push(...enabledPasses(command, value));
      continue;
    }
    const option = optionOf(command, key);
    if (option === undefined) throw new OptionError(`unknown option '${key}'`);
    words.push(...(key === "noUndefined" ? switched(key, value, "-zdefs", "") : wordsOf(key, option, value)));
  }
  return words;
}

/** Passes with an option of their own. */
function enabledPasses(command: Command, names: unknown): string[] {
  return list("enabled", names).map((name) => {
    const option = command.options.find(({ long }) => long === `--${name}`);
    if (option === undefined || !option.isBoolean() || passOptions.some((each) => each.name === name))
      throw new OptionError(`option 'enabled': there is no pass '${name}' that is off without it`);
    return `--${name}`;
  });
}

function wordsOf(key: string, option: Option, value: unknown): string[] {
  const name = option.long ?? option.short!;
  if (option.negate) return switched(key, value, "", name);
  if (option.isBoolean()) return switched(key, value, name, "");
  const equals = option.long === undefined ? "" : "=";
  return (repeats(key) ? list(key, value) : [single(key, value)]).map((text) => `${name}${equals}${text}`);
}

function switched(key: string, value: unknown, on: string, off: string): string[] {
  if (typeof value !== "boolean") throw new OptionError(`option '${key}': expected true or false`);
  const word = value ? on : off;
  return word === "" ? [] : [word];
}

const repeats = (key: string): boolean =>
  optionRows.get(key)?.repeats === true ||
  passOptions.some((each) => each.key === key && (each.kind === "passes" || each.kind === "rules"));

/** @throws OptionError for what is no list of strings */
export function list(key: string, value: unknown): string[] {
  if (!Array.isArray(value)) throw new OptionError(`option '${key}': expected an array of strings`);
  return value.map((item: unknown) => {
    if (typeof item !== "string") throw new OptionError(`option '${key}': expected an array of strings`);
    return item;
  });
}

function single(key: string, value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number")
    throw new OptionError(`option '${key}': expected a string or a number`);
  // Levels are spelled as everywhere but after the dash.
  return key === "level" ? String(value).replace(/^O/, "") : String(value);
}
