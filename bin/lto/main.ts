/**
 * `tsc-lto`: link, optimise, generate code, write one file.
 *
 * Exit codes: 0 done, 1 error in the input or the output, 2 wrong usage. Diagnostics go to standard error in
 * lld's form; the output appears whole or not at all.
 */
import { CommanderError } from "commander";
import { InputError } from "../../lto/ir/errors.js";
import { formatCounts, formatRules, formatTimes } from "../../lto/pass/report.js";
import { type PassSet, productPasses, rulesOf } from "../../lto/pipeline/registry.js";
import { machineRules } from "../../lto/targets.js";
import { reportFault } from "../host/fault.js";
import { type Host, processHost, refuseLostBytes } from "../host/host.js";
import { OutputError } from "../host/system-errors.js";
import { ownPackage } from "../package.js";
import type { DriverOptions } from "./driver-options.js";
import { InputErrors, LinkError } from "./errors.js";
import { type JobResult, runJob } from "./job.js";
import { makeCommand, parseOptions } from "./options.js";
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
  const log = (text: string): void => host.stderr(Buffer.from(text));
  if (subcommands.has(args[0] ?? "")) {
    const { runSubcommand } = await import("../size/main.js");
    return runSubcommand(args, host);
  }
  let options: DriverOptions;
  try {
    refuseLostBytes(args);
    options = parse(args, host, set);
  } catch (e) {
    if (e instanceof CommanderError) return e.exitCode === 0 ? 0 : 2;
    if (e instanceof InputError) log(`tsc-lto: error: ${e.message}\n`);
    else reportFault("tsc-lto", e, host);
    return e instanceof InputError && !(e instanceof OutputError) ? 2 : 1;
  }
  if (options.inputs.length === 0) {
    log("tsc-lto: error: no input files\n");
    return 2;
  }
  try {
    const result = await runJob(options, {
      host,
      set,
      scheduler: runToCompletion,
      diagnose: ({ severity, message }) => log(`tsc-lto: ${severity}: ${message}\n`),
      print: log,
    });
    log(reportText(result, options, set));
    if (result.contents !== null) host.stdout(result.contents);
    if (looksLikeProgram(options))
      log(
        `tsc-lto: warning: ${options.output} holds assembly, which cc links if it is called .s; --emit elf writes an object\n`,
      );
    return 0;
  } catch (e) {
    if (e instanceof InputErrors) for (const error of e.errors) log(errorText(error));
    else if (e instanceof InputError) log(errorText(e));
    // What there is to say of a link error was said when it was found.
    else if (!(e instanceof LinkError)) reportFault("tsc-lto", e, host, options.stackTrace);
    return 1;
  }
}

/** Assembly goes to a file whose name is a program's, an object's or a library's. */
const looksLikeProgram = ({ emit, output, nativeModules }: DriverOptions): boolean =>
  emit === "asm" &&
  nativeModules === null &&
  /^(?!-$|\/dev\/)(?:.*\/)?(?:[^./]+|[^/]*\.(?:o|out|so|exe|elf))$/.test(output);

const errorText = ({ file, message }: InputError): string =>
  `tsc-lto: error: ${file === undefined ? "" : `${file}: `}${message}\n`;

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

function parse(args: readonly string[], host: Host, set: PassSet): DriverOptions {
  const command = makeCommand(ownPackage().version, set)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.stdout(Buffer.from(text)),
      writeErr: (text) => host.stderr(Buffer.from(text.replace(/^error:/, "tsc-lto: error:"))),
    });
  return parseOptions(command, args, set);
}
