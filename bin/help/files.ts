/** Manual pages and completions as files, for who packs this program. */
import type { Command } from "commander";
import { allCommands } from "./commands.js";
import { completion, completionFiles, shells } from "./completion.js";
import { manualPage, pageName } from "./roff.js";

/** The manual pages, by file name. @param parsers those of the subcommands */
export function allPages(parsers: readonly Command[]): ReadonlyMap<string, string> {
  const commands = allCommands(parsers).flatMap((command) => [command, ...command.subcommands]);
  return new Map(commands.map((command) => [pageName(command), manualPage(command, commands)]));
}

/** Everything, by its path below a folder such as /usr/share. @param parsers those of the subcommands */
export function sharedFiles(parsers: readonly Command[]): ReadonlyMap<string, string> {
  const commands = allCommands(parsers);
  return new Map([
    ...[...allPages(parsers)].map(([name, text]) => [`man/man1/${name}`, text] as const),
    ...shells.map((shell) => [completionFiles[shell], completion(shell, commands)] as const),
  ]);
}
