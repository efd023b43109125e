/** What the subcommands have in common: forms of their output, numbers. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { TableForm } from "./table.js";

/** Adds the forms of the output. @param json what is in it */
export const addForms = (command: Command, json: string): Command =>
  command
    .addOption(new Option("--json", json).conflicts(["csv", "markdown"]))
    .addOption(new Option("--csv", "tables as CSV").conflicts(["json", "markdown"]))
    .addOption(new Option("--markdown", "tables as Markdown").conflicts(["json", "csv"]));

export const formOf = ({
  csv,
  markdown,
}: {
  readonly csv?: boolean;
  readonly markdown?: boolean;
}): TableForm => (csv === true ? "csv" : markdown === true ? "markdown" : "text");

export function parseNumber(word: string): number {
  if (!/^\d{1,9}$/.test(word)) throw new InvalidArgumentError("expected a number.");
  return Number(word);
}
