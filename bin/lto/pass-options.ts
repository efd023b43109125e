/** The options of passes and of their runner, from the registry to the command line and back. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { InputError } from "../../lto/ir/errors.js";
import { noPassOptions, type PassOption, type PassOptions, passOptions } from "../../lto/pass/options.js";
import { arrangedPasses } from "../../lto/pipeline/pipelines.js";
import { isSkippable, machineSteps, type PassSet, rulesOf } from "../../lto/pipeline/registry.js";
import { machineRules } from "../../lto/targets.js";
import { formerPassNames } from "./former-names.js";

/** Adds every option to the parser. */
export function addPassOptions(command: Command, set: PassSet): Command {
  for (const { name, option, offOption } of set.passes)
    if (offOption !== undefined) {
      command.option(`--no-${name}`, offOption);
      command.addOption(new Option(`--${name}`).hideHelp());
    } else if (option !== undefined) command.option(`--${name}`, option, false);
  for (const option of passOptions) command.addOption(parserOption(option, set));
  return command;
}

function parserOption({ name, value, kind, choices, description }: PassOption, set: PassSet): Option {
  const option = new Option(value === "" ? `--${name}` : `--${name} ${value}`, description);
  switch (kind) {
    case "switch":
      return option.default(false);
    case "number":
      return option.argParser((text: string) => count(text, /^\d{1,9}$/));
    case "signed":
      return option.argParser((text: string) => count(text, /^-?\d{1,9}$/));
    case "passes":
      return option.argParser((text: string, previous: readonly string[] = []) => [
        ...previous,
        ...names(text, name.startsWith("print-"), set),
      ]);
    case "rules":
      return option.argParser((text: string, previous: readonly string[] = []) => [
        ...previous,
        ...ruleNames(text, set),
      ]);
    case "choice":
      return option.choices(choices!).preset(choices![0]!);
    case "pattern":
      return option.argParser(pattern);
    case "text":
      return option;
  }
}

function count(text: string, form: RegExp): number {
  if (!form.test(text)) throw new InvalidArgumentError("expected a number.");
  return Number(text);
}

function pattern(text: string): string {
  try {
    new RegExp(text);
  } catch {
    throw new InvalidArgumentError("expected a regular expression.");
  }
  return text;
}

function names(text: string, prints: boolean, { passes }: PassSet): string[] {
  const list = text
    .split(",")
    .filter((name) => name !== "")
    .map((name) => formerPassNames.get(name) ?? name);
  const known = [...passes, ...(prints ? [] : machineSteps)].map((pass) => pass.name);
  for (const name of list)
    if (!(prints && name === "all") && !known.includes(name))
      throw new InvalidArgumentError(`there is no pass '${name}'; passes are ${known.join(", ")}.`);
  return list;
}

function ruleNames(text: string, set: PassSet): string[] {
  const list = text.split(",").filter((name) => name !== "");
  const known = [...rulesOf(set), ...machineRules].map((rule) => rule.name);
  for (const name of list)
    if (!known.includes(name))
      throw new InvalidArgumentError(`there is no rule '${name}'; like it are ${likeName(name, known)}.`);
  return list;
}

/** Those of the names that have most pairs of letters in common with one, the most alike first. */
function likeName(name: string, known: readonly string[]): string {
  const pairs = (word: string): Set<string> => new Set([...word].map((_, i) => word.slice(i, i + 2)));
  const own = pairs(name);
  const alike = (other: string): number => {
    const others = pairs(other);
    const common = [...others].filter((pair) => own.has(pair)).length;
    return (2 * common) / (own.size + others.size);
  };
  return [...known]
    .sort((a, b) => alike(b) - alike(a))
    .slice(0, 5)
    .join(", ");
}

/** @param parsed as commander returns it @throws InputError for passes that cannot be skipped, or have a fixed place */
export function readPassOptions(parsed: Readonly<Record<string, unknown>>, set: PassSet): PassOptions {
  const result: Record<string, unknown> = { ...noPassOptions };
  for (const { key } of passOptions) if (parsed[key] !== undefined) result[key] = parsed[key];
  const enabled = set.passes.filter((p) => p.option !== undefined && parsed[camelCase(p.name)] === true);
  const off = set.passes.filter((p) => p.offOption !== undefined && parsed[camelCase(p.name)] === false);
  const options = { ...result, enabled: enabled.map((p) => p.name) } as unknown as PassOptions;
  const skipPass = [...options.skipPass, ...off.map((p) => p.name)];
  for (const name of skipPass)
    if (!isSkippable(name, set)) throw new InputError(`code generation needs pass '${name}'`);
  const free = arrangedPasses(set.pipelines);
  for (const name of options.passOrder ?? [])
    if (!free.has(name)) throw new InputError(`pass '${name}' is none of ${[...free].join(", ")}`);
  return { ...options, skipPass };
}

const camelCase = (name: string): string =>
  name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
