/**
 * Subcommands of `tsc-lto`, which measure programs instead of linking them. They are loaded when the first word names one.
 * Exit codes: 0 done, 1 error in the input, 2 wrong usage, 3 a budget does not hold.
 */
import { Command, CommanderError } from "commander";
import { InputError } from "../../lto/ir/errors.js";
import { addCompileUnit, addDistribute, addWorker } from "../farm/commands.js";
import { addCompletion, addMan } from "../help/commands-of-help.js";
import { reportFault } from "../host/fault.js";
import type { Host } from "../host/host.js";
import { InputErrors, LinkError } from "../lto/errors.js";
import { addServe } from "../serve/serve-command.js";
import { addDiff } from "./diff-command.js";
import { addMeasure } from "./measure-command.js";
import { addSize } from "./size-command.js";
import { addWhy } from "./why-command.js";

/** What a subcommand is run with; it returns the exit code. */
export interface Services {
  readonly host: Host;
  /** To standard output. */
  print(text: string): void;
  /** To standard error, with the program's name. */
  complain(severity: "error" | "warning", message: string): void;
}

/** Adds a subcommand to the command. @param finish takes the exit code of its action */
export type AddSubcommand = (command: Command, services: Services, finish: (code: number) => void) => void;

/** The command with all subcommands, for running them and for the manual. */
export function makeSubcommands(services: Services, finish: (code: number) => void): Command {
  const command = new Command("tsc-lto").helpCommand(false);
  for (const add of [
    addSize,
    addDiff,
    addWhy,
    addMeasure,
    addServe,
    addWorker,
    addDistribute,
    addCompileUnit,
    addMan,
    addCompletion,
  ])
    add(command, services, finish);
  return command;
}

/** @param args the subcommand and its own arguments */
export async function runSubcommand(args: readonly string[], host: Host): Promise<number> {
  const log = (text: string): void => host.stderr(Buffer.from(text));
  let exitCode = 0;
  const services: Services = {
    host,
    print: (text) => host.stdout(Buffer.from(text)),
    complain: (severity, message) => log(`tsc-lto: ${severity}: ${message}\n`),
  };
  const command = makeSubcommands(services, (code) => {
    exitCode = code;
  });
  for (const one of [command, ...command.commands])
    one.exitOverride().configureOutput({
      writeOut: (text) => host.stdout(Buffer.from(text)),
      writeErr: (text) => log(text.replace(/^error:/, "tsc-lto: error:")),
    });
  try {
    await command.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (e) {
    if (e instanceof CommanderError) return e.exitCode === 0 ? 0 : 2;
    if (e instanceof InputErrors) for (const error of e.errors) complain(error);
    else if (e instanceof InputError) complain(e);
    else if (!(e instanceof LinkError)) reportFault("tsc-lto", e, host);
    return 1;
  }

  function complain({ file, message }: InputError): void {
    services.complain("error", `${file === undefined ? "" : `${file}: `}${message}`);
  }
}
