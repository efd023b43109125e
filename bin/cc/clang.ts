/** Runs in which clang does all: preprocessing, `--version`, precompiled headers and the like. */
import type { Input } from "../../frontend/clang/command-line.js";
import { report } from "../host/host.js";
import type { Invocation } from "./compile.js";

/** Clang's exit code. */
export async function runClang(invocation: Invocation): Promise<number> {
  const { command, choice } = invocation;
  // The embedded compiler runs one job at a time.
  if (choice.kind === "system" || command.inputs.length < 2) return runOnce(invocation, command.all);
  let exitCode = 0;
  for (const input of command.inputs) {
    const code = await runOnce(invocation, withOnly(input, command.all, command.inputs));
    if (exitCode === 0) exitCode = code;
  }
  return exitCode;
}

/** `words` with all inputs but `kept` left out; options' values that look the same stay. */
function withOnly(kept: Input, words: readonly string[], inputs: readonly Input[]): string[] {
  const others = inputs.filter((input) => input !== kept).map((input) => input.path);
  const result: string[] = [];
  for (const word of words) {
    const at = others.indexOf(word);
    if (at < 0) result.push(word);
    else others.splice(at, 1);
  }
  return result;
}

async function runOnce({ host, command, compiler }: Invocation, args: readonly string[]): Promise<number> {
  const result = await compiler.run({
    args,
    cwd: host.cwd,
    env: host.env,
    stdin: command.inputs.some((input) => input.path === "-") ? host.stdin() : undefined,
    bitcodeIn: undefined,
    source: command.inputs[0]?.path ?? "clang",
    dependencies: undefined,
    printsDependencies: args.some((a) => a === "-M" || a === "-MM"),
  });
  host.stdout(result.stdout);
  host.stderr(result.stderr);
  if (result.error !== undefined) report(host, "error", result.error);
  return result.exitCode;
}
