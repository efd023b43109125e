/** Manual pages, in the macros of man(7). */
import { environment } from "../lto/environment.js";
import { ownPackage } from "../package.js";
import type { DescribedCommand } from "./commands.js";

const titleOf = ({ name }: DescribedCommand): string => name.replaceAll(" ", "-");

/** The file of a page: `tsc-lto-size.1`. */
export const pageName = (command: DescribedCommand): string => `${titleOf(command)}.1`;

/** The page of a command. @param others commands to refer to */
export function manualPage(command: DescribedCommand, others: readonly DescribedCommand[]): string {
  const { name, brief, usage, description, groups, subcommands, exitCodes } = command;
  const title = titleOf(command);
  const see = others.filter((other) => other !== command);
  const lines = [
    `.TH ${title.toUpperCase()} 1 "" "tsc-lto ${ownPackage().version}" "User Commands"`,
    ".SH NAME",
    `${escaped(title)} \\- ${escaped(brief)}`,
    ".SH SYNOPSIS",
    `.B ${escaped(name)}`,
    escaped(usage),
    ".SH DESCRIPTION",
    ...description.flatMap((paragraph, i) => [...(i === 0 ? [] : [".PP"]), escaped(paragraph)]),
    ...(subcommands.length === 0 ? [] : [".SH SUBCOMMANDS"]),
    ...subcommands.flatMap((one) => [".TP", `.B ${escaped(one.name)}`, escaped(one.brief)]),
    ".SH OPTIONS",
    ...groups.flatMap(({ heading, rows }) => [
      `.SS ${escaped(heading)}`,
      ...rows.flatMap(({ flags, text }) => [".TP", `.B ${escaped(flags)}`, escaped(text)]),
    ]),
    ".SH EXIT STATUS",
    ...exitCodes.flatMap(([code, meaning]) => [".TP", `.B ${code}`, escaped(meaning)]),
    ".SH ENVIRONMENT",
    ...environment.flatMap(([variable, meaning]) => [".TP", `.B ${variable}`, escaped(meaning)]),
    ".SH SEE ALSO",
    see
      .map((other) => `.BR ${escaped(titleOf(other))} (1)`)
      .join(",\n")
      .replaceAll("),\n", ") ,\n"),
  ];
  return `${lines.join("\n")}\n`;
}

/** Text as a line of roff: no request, and dashes that can be copied. Quotation marks end a macro's argument. */
const escaped = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replaceAll("…", "\\&...")
    .replace(/^[.']/, "\\&$&");
