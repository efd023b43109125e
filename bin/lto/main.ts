/**
 * `tsc-lto`: link, optimise, generate code, write one file.
 *
 * Exit codes: 0 done, 1 error in the input or the output, 2 wrong usage. Diagnostics go to standard error in
 * lld's form; the output appears whole or not at all.
 */
import { CommanderError } from "commander";
import { InputError, UnsupportedError } from "../../lto/ir/errors.js";
import { formatCounts, formatRules, formatTimes } from "../../lto/pass/report.js";
import { type PassSet, productPasses, rulesOf } from "../../lto/pipeline/registry.js";
import { machineRules } from "../../lto/targets.js";
import { reportFault } from "../host/fault.js";
import { type Host, processHost, refuseLostBytes } from "../host/host.js";
import { formatMessage, isColoured, type Message, type MessageStyle, usualStyle } from "../host/messages.js";
import { FileError, OutputError } from "../host/system-errors.js";
import { ownPackage } from "../package.js";
import type { DriverOptions } from "./driver-options.js";
import { InputErrors, LinkError } from "./errors.js";
import { type JobResult, runJob } from "./job.js";
import { makeCommand, parseOptions } from "./options.js";
import type { ShownProgress } from "./progress.js";
import { formatRegisterUsage } from "./register-usage.js";
import { runToCompletion } from "./scheduler.js";
import { formatStatistics } from "./statistics.js";
import { subcommands } from "./subcommands.js";
import { formatPhases } from "./timer.js";

/** @param set the passes there are, and where they run */
export async function main(
  args: readonly string[],
  host: Host = processHost(),
  set: PassSet = productPasses,
): Promise<number> {
  const talk = new Talk(host, args);
  if (subcommands.has(args[0] ?? "")) {
    const { runSubcommand } = await import("../size/main.js");
    return runSubcommand(args, host);
  }
  let options: DriverOptions;
  try {
    refuseLostBytes(args);
    options = parse(args, host, set, talk);
  } catch (e) {
    if (e instanceof CommanderError) return e.exitCode === 0 ? 0 : 2;
    if (e instanceof InputError) talk.say({ severity: "error", message: e.message });
    else reportFault("tsc-lto", e, host, false, talk.style);
    return e instanceof InputError && !(e instanceof OutputError) ? 2 : 1;
  }
  talk.style = styleOf(options, host);
  if (options.inputs.length === 0) {
    talk.say({ severity: "error", message: "no input files" });
    return 2;
  }
  const progress = await progressOf(options, host);
  talk.beforeAll = () => progress?.clear();
  try {
    const result = await runJob(options, {
      host,
      set,
      scheduler: progress ?? runToCompletion,
      diagnose: (diagnostic) => talk.say(diagnostic),
      print: (text) => talk.print(text),
      ...(options.verbose ? { tell: (text: string) => talk.print(`tsc-lto: ${text}\n`) } : {}),
    });
    talk.print(reportText(result, options, set));
    if (result.contents !== null) host.stdout(result.contents);
    if (options.verbose) talk.print(`tsc-lto: writes ${options.output}\n`);
    if (looksLikeProgram(options))
      talk.say({
        severity: "warning",
        message: `${options.output} holds assembly, which cc links if it is called .s; --emit elf writes an object`,
      });
    return 0;
  } catch (e) {
    progress?.clear();
    if (e instanceof InputErrors) for (const error of e.errors) talk.say(messageOf(error));
    else if (e instanceof InputError) talk.say(messageOf(e));
    // What there is to say of a link error was said when it was found.
    else if (!(e instanceof LinkError)) reportFault("tsc-lto", e, host, options.stackTrace, talk.style);
    return 1;
  } finally {
    progress?.clear();
  }
}

/** Standard error, where messages and what options want to see do not run into the line of progress. */
class Talk {
  style: MessageStyle;
  beforeAll: () => void = () => {};

  /** @param args tell how to complain of the command line itself */
  constructor(
    private readonly host: Host,
    args: readonly string[],
  ) {
    this.style = { ...usualStyle(host), json: args.includes("--json") };
  }

  say(message: Message): void {
    this.print(formatMessage("tsc-lto", message, this.style));
  }

  print(text: string): void {
    if (text === "") return;
    this.beforeAll();
    this.host.stderr(Buffer.from(text));
  }
}

const styleOf = ({ colorDiagnostics, json, quiet }: DriverOptions, host: Host): MessageStyle => ({
  colour: isColoured(colorDiagnostics, host),
  json,
  quiet,
});

/** Null where no progress is shown. */
async function progressOf(options: DriverOptions, host: Host): Promise<ShownProgress | null> {
  const { progress, quiet, json, verbose } = options;
  if (
    progress === "never" ||
    (progress === "auto" && (quiet || json || verbose || (host.columns ?? null) === null))
  )
    return null;
  const { ShownProgress } = await import("./progress.js");
  return new ShownProgress(
    (text) => host.stderr(Buffer.from(text)),
    host.columns ?? Number(host.env["COLUMNS"] ?? 80),
  );
}

/** Assembly goes to a file whose name is a program's, an object's or a library's. */
const looksLikeProgram = ({ emit, output, nativeModules }: DriverOptions): boolean =>
  emit === "asm" &&
  nativeModules === null &&
  /^(?!-$|\/dev\/)(?:.*\/)?(?:[^./]+|[^/]*\.(?:o|out|so|exe|elf))$/.test(output);

const messageOf = (e: InputError): Message => ({
  severity: "error",
  file: e.file,
  named: e instanceof FileError ? e.path : undefined,
  construct: e instanceof UnsupportedError ? e.construct : undefined,
  message: e.message,
});

/** What options want to know in the end. */
function reportText({ code, passes, phases }: JobResult, options: DriverOptions, set: PassSet): string {
  const { stats, timePasses } = options.passes;
  const parts: string[] = [];
  if (code !== null && stats) parts.push(formatStatistics(code.statistics));
  if (code !== null && options.printRegusage && options.ipra) parts.push(formatRegisterUsage(code.usage));
  if (stats)
    parts.push(
      formatCounts(passes.counts, set.passes),
      formatRules(passes.rules, [...rulesOf(set), ...machineRules]),
    );
  if (timePasses) parts.push(formatPhases(phases), formatTimes(passes.times));
  return parts.join("");
}

function parse(args: readonly string[], host: Host, set: PassSet, talk: Talk): DriverOptions {
  const command = makeCommand(ownPackage().version, set)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.stdout(Buffer.from(text)),
      writeErr: (text) =>
        /^error:/.test(text)
          ? talk.say({ severity: "error", message: text.replace(/^error: */, "").trimEnd() })
          : talk.print(text),
    });
  return parseOptions(command, args, set);
}
