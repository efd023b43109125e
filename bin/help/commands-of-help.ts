/** `tsc-lto man` and `tsc-lto completion`: what people read, and shells. */
import { Argument } from "commander";
import { InputError } from "../../lto/ir/errors.js";
import type { AddSubcommand } from "../size/main.js";
import { allCommands } from "./commands.js";
import { completion, type Shell, shells } from "./completion.js";
import { allPages } from "./files.js";

export const addMan: AddSubcommand = (command, { print }, finish) => {
  command
    .command("man")
    .description(
      "Write a manual page on standard output, for man -l -; npm links them where it installs for all.",
    )
    .argument("[page]", "tsc-lto, tsc-lto-size, tsc-cc, ld.tsc-lto, …", "tsc-lto")
    .action((page: string) => {
      const pages = allPages(command.commands);
      const found = pages.get(`${page.replace(/\.1$/, "")}.1`);
      if (found === undefined)
        throw new InputError(
          `there is no manual page '${page}'; pages are ${[...pages.keys()].map((name) => name.replace(/\.1$/, "")).join(", ")}`,
        );
      print(found);
      finish(0);
    });
};

export const addCompletion: AddSubcommand = (command, { print }, finish) => {
  command
    .command("completion")
    .description("Write completions of the commands on standard output, for a shell to read.")
    .addArgument(new Argument("<shell>", "whose").choices(shells))
    .action((shell: Shell) => {
      print(completion(shell, allCommands(command.commands)));
      finish(0);
    });
};
