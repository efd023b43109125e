/** tsc-cc and tsc-c++: C and C++ compiler drivers whose objects hold IR, for tsc-lto to link. */
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { type CommandLine, parseCommandLine } from "../../frontend/clang/command-line.js";
import { expandResponseFiles } from "../../frontend/clang/response-file.js";
import { InputError } from "../../lto/ir/errors.js";
import { reportFault } from "../host/fault.js";
import { type Host, processHost, refuseLostBytes, report } from "../host/host.js";
import { readTextFile } from "../host/libraries.js";
import { isSameFile } from "../host/output-file.js";
import { runClang } from "./clang.js";
import { compileAll, type Invocation, missingInputs, planObjects } from "./compile.js";
import { Compiler } from "./compiler.js";
import { type CompilerChoice, chooseCompiler } from "./compilers.js";
import { needsRuntime } from "./instrumentation.js";
import { ccOptions } from "./option-table.js";

/** Columns of options in `--help`. */
const optionWidth = 24;
/** Columns of their texts. */
const textWidth = 70;

function usage(name: string): string {
  const groups = ccOptions.map(({ heading, rows }) => {
    const lines = rows.map(({ flags, text }) => `  ${item(flags, text)}\n`);
    return `${heading}:\n${lines.join("")}`;
  });
  return `Usage: ${name} [options] file...

Compiles C and C++ with clang to IR objects for tsc-lto; without -c, also links them to a program,
as tsc-c++ with the C++ library. The options are clang's (-c, -o, -O2, -D, -I, -MD, ...), and these:

${groups.join("\n")}
Exit status: clang's where clang fails, 1 for other errors.
`;
}

/** An option, and what it does beside it. */
function item(flags: string, text: string): string {
  const lines = [""];
  for (const word of text.split(" "))
    if (lines.at(-1)!.length + word.length < textWidth) lines.push(`${lines.pop()} ${word}`.trimStart());
    else lines.push(word);
  const indent = `\n  ${" ".repeat(optionWidth)}`;
  return flags.length < optionWidth
    ? flags.padEnd(optionWidth) + lines.join(indent)
    : [flags, ...lines].join(indent);
}

/** Runs the driver in this process; its exit code. */
export async function main(args: readonly string[], host = processHost()): Promise<number> {
  return runDriver(args, host);
}

/** Runs the driver; its exit code. @throws nothing for bad input */
export async function runDriver(args: readonly string[], host: Host): Promise<number> {
  try {
    refuseLostBytes(args);
    const command = parseCommandLine(
      expandResponseFiles(args, (path) => readTextFile(resolve(host.cwd, path))),
    );
    if (command.help !== undefined) {
      host.stdout(Buffer.from(usage(command.cxx ? "tsc-c++" : "tsc-cc")));
      if (command.help === "short") return 0;
      host.stdout(Buffer.from("\nOptions of clang:\n"));
      return await runClang(await openInvocation({ ...command, mode: "clang", all: ["-help"] }, host));
    }
    const invocation = await openInvocation(command, host);
    try {
      return await run(invocation);
    } finally {
      await invocation.compiler.close();
    }
  } catch (e) {
    if (!(e instanceof InputError)) reportFault("tsc-cc", e, host);
    else report(host, "error", e.file === undefined ? e.message : `${e.file}: ${e.message}`);
    return 1;
  }
}

async function openInvocation(command: CommandLine, host: Host): Promise<Invocation> {
  const sources = command.inputs.filter((input) => input.kind !== "object").length;
  // A mere link step runs no clang; looking for one would take longer than the rest of the preparations.
  const choice: CompilerChoice =
    command.mode === "link" && sources === 0 && !needsRuntime(command)
      ? { kind: "embedded" }
      : await chooseCompiler(command.clang, host);
  if (command.verbose && sources > 0) host.stderr(Buffer.from(`tsc-cc: compiler: ${describe(choice)}\n`));
  const jobs = command.mode === "clang" ? 1 : (command.jobs ?? availableParallelism());
  const parallel = Math.max(1, Math.min(jobs, sources));
  return { host, command, choice, compiler: new Compiler(choice, host, parallel), parallel };
}

async function run(invocation: Invocation): Promise<number> {
  const { host, command } = invocation;
  if (command.mode === "clang") return runClang(invocation);
  const missing = missingInputs(command.inputs, host.cwd);
  for (const path of missing) report(host, "error", `no such file or directory: '${path}'`);
  if (missing.length > 0) return 1;
  refuseOverwriting(command, host);
  if (command.mode === "compile") return compileObjects(invocation, command);
  const { linkProgram } = await import("./link.js");
  return linkProgram(invocation);
}

/** A failure removes the output, and success replaces it: neither may happen to a source. */
function refuseOverwriting({ inputs, output }: CommandLine, host: Host): void {
  if (output === undefined || output === "-") return;
  for (const { path } of inputs)
    if (path !== "-" && isSameFile(resolve(host.cwd, path), resolve(host.cwd, output)))
      throw new InputError(`input file '${path}' is the same as the output file`);
}

async function compileObjects(invocation: Invocation, command: CommandLine): Promise<number> {
  for (const input of command.inputs)
    if (input.kind === "object") report(invocation.host, "warning", `${input.path}: 'linker' input unused`);
  return compileAll(invocation, planObjects(command));
}

function describe(choice: CompilerChoice): string {
  return choice.kind === "embedded" ? "embedded (@yowasp/clang)" : `${choice.path} (clang ${choice.version})`;
}
