/** The compile step: sources to IR objects, several at a time. */
import { existsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import {
  type CommandLine,
  cxxMode,
  defaultOutput,
  type Input,
  replaceExtension,
  takesNextWord,
} from "../../frontend/clang/command-line.js";
import { InputError } from "../../lto/ir/errors.js";
import { type Host, report } from "../host/host.js";
import { inputWord } from "../host/input-words.js";
import { OutputFile } from "../host/output-file.js";
import { Slots } from "../host/slots.js";
import { isSystemError, reasonOf } from "../host/system-errors.js";
import { runTool } from "../host/tools.js";
import type { Compiler } from "./compiler.js";
import { type CompilerChoice, majorOf } from "./compilers.js";
import { coverageOptions } from "./instrumentation.js";
import type { Job, JobResult } from "./job.js";

/** An input and the object to make of it. */
export interface Compilation {
  readonly input: Input;
  /** The object: a path as the user wrote it, or would have; or, not for assembly, who takes it. */
  readonly output: string | ((object: Uint8Array) => void);
  /** The output that a dependency file is named after and names as its target. */
  readonly namedAfter: string;
}

/** What the steps of one run of the driver share. */
export interface Invocation {
  readonly host: Host;
  readonly command: CommandLine;
  readonly choice: CompilerChoice;
  readonly compiler: Compiler;
  /** Jobs at one time. */
  readonly parallel: number;
}

/** The compilations of `-c`. @throws InputError as clang does for `-o` with several inputs */
export function planObjects(command: CommandLine): Compilation[] {
  const inputs = command.inputs.filter((input) => input.kind !== "object");
  if (command.output !== undefined && inputs.length > 1)
    throw new InputError("cannot specify -o when generating multiple output files");
  return inputs.map((input) => {
    const output = command.output ?? defaultOutput(input.path, "o");
    return { input, output, namedAfter: output };
  });
}

/** The inputs that do not exist. */
export function missingInputs(inputs: readonly Input[], cwd: string): string[] {
  return inputs.map((i) => i.path).filter((path) => path !== "-" && !existsSync(resolve(cwd, path)));
}

/**
 * Compiles all; diagnostics come out in the order of the inputs. A failure does not stop the others, as with clang.
 * @returns clang's exit code of the first failure, 1 for errors of our own, else 0
 */
export async function compileAll(
  invocation: Invocation,
  compilations: readonly Compilation[],
): Promise<number> {
  let exitCode = 0;
  const results = compilations.map(() => undefined as JobResult | undefined);
  let reported = 0;
  const { host, parallel } = invocation;
  const slots = new Slots(host.workers ? parallel : 1, host.env);
  const compile = async (i: number): Promise<void> => {
    results[i] = await compileOne(invocation, compilations[i]!);
    for (; reported < results.length && results[reported] !== undefined; reported++) {
      const result = results[reported]!;
      host.stdout(result.stdout);
      host.stderr(result.stderr);
      if (result.warning !== undefined) report(host, "warning", result.warning);
      if (result.error !== undefined) report(host, "error", result.error);
      if (exitCode === 0) exitCode = result.exitCode;
    }
  };
  try {
    await slots.run(compilations.length, compile);
  } finally {
    slots.close();
  }
  if (exitCode !== 0) hintMissingHeaders(invocation, results);
  return exitCode;
}

async function compileOne(invocation: Invocation, compilation: Compilation): Promise<JobResult> {
  const { host, command } = invocation;
  const { input } = compilation;
  if (input.kind === "assembly") return assemble(invocation, compilation);
  let output: OutputFile | undefined;
  try {
    if (typeof compilation.output === "string") output = new OutputFile(compilation.output, host.cwd);
    const dependencies = dependencyFile(command, compilation);
    const temporaries = temporariesOf(invocation, compilation);
    await temporaries?.preprocess();
    const result = await invocation.compiler.run({
      args: [
        ...frontEndOptions(invocation),
        ...inliningOptions(invocation),
        ...variableOptions(invocation),
        ...dependencyOptions(command, compilation, dependencies),
        ...coverageOptions(command, input, compilation.namedAfter, host.cwd),
        "-c",
        "-emit-llvm",
        ...(input.language === undefined ? [] : ["-x", input.language]),
        inputWord(input.path), // In its inner stages clang takes a dash for an option even after `--`.
      ],
      cwd: host.cwd,
      env: host.env,
      stdin: input.path === "-" ? host.stdin() : undefined,
      bitcodeIn: output?.directory ?? tmpdir(),
      ...machineCode(invocation, compilation),
      bare: typeof compilation.output === "function" || command.writesBareObjects,
      keepsBitcode: temporaries !== null,
      source: input.path,
      dependencies:
        dependencies === undefined || dependencies === "-" ? undefined : resolve(host.cwd, dependencies),
      printsDependencies: dependencies === "-",
    });
    if (result.exitCode !== 0) {
      output?.discard();
      return result;
    }
    const object = result.object!;
    temporaries?.keep(result);
    if (typeof compilation.output === "function") compilation.output(object);
    else if (compilation.output === "-") return { ...result, stdout: object };
    else await output!.write(object);
    return result;
  } catch (e) {
    output?.discard();
    return failure(e);
  }
}

/** Options that say what a source means. */
function frontEndOptions(invocation: Invocation): string[] {
  const { command } = invocation;
  return [
    ...(command.cxx ? [cxxMode] : []),
    ...colourOptions(invocation),
    ...command.compile,
    // In link mode options may be for the linker alone, as far as clang can tell.
    ...(command.mode === "link" ? ["-Qunused-arguments"] : []),
  ];
}

/** What `-save-temps` keeps of a compilation; null where it was not given. */
function temporariesOf(
  invocation: Invocation,
  { input, output, namedAfter }: Compilation,
): { preprocess(): Promise<void>; keep(result: JobResult): void } | null {
  const { host, command, compiler } = invocation;
  if (command.saveTemps === undefined || input.path === "-") return null;
  const folder = command.saveTemps === "obj" ? dirname(resolve(host.cwd, namedAfter)) : host.cwd;
  const path = (extension: string): string => join(folder, defaultOutput(input.path, extension));
  const keepFile = (extension: string, bytes: Uint8Array): void => {
    // What is preprocessed already is its own source.
    if (path(extension) !== resolve(host.cwd, input.path)) writeFileSync(path(extension), bytes);
  };
  return {
    preprocess: async () => {
      const isCxx = command.cxx || /\.(?:cc|cp|cxx|cpp|CPP|c\+\+|C|CC|CXX|C\+\+|ii)$/.test(input.path);
      const words = optionsFor(frontEndOptions(invocation), /^(?!-M)/);
      const language = input.language === undefined ? [] : ["-x", input.language];
      const { exitCode, stdout } = await compiler.run({
        args: [...words, "-E", ...language, inputWord(input.path)],
        cwd: host.cwd,
        env: host.env,
        stdin: undefined,
        bitcodeIn: undefined,
        source: input.path,
        dependencies: undefined,
        printsDependencies: false,
        captured: true,
      });
      // What is wrong with the source the compilation says.
      if (exitCode === 0) keepFile(isCxx ? "ii" : "i", stdout);
    },
    keep: ({ bitcode, object }) => {
      if (bitcode !== undefined) keepFile("bc", bitcode);
      if (typeof output === "function" && object !== undefined) keepFile("o", object);
    },
  };
}

/**
 * Variables in memory are said to be there once, as clang itself does with -flto. Else it tracks what is assigned to each, by
 * which the memory is right only where stores that belong to it are known.
 */
function variableOptions({ command, choice }: Invocation): string[] {
  const hasDebug = command.compile.some((word) => /^-g(?!0$|no-)/.test(word));
  // Older ones know no such word, and do not track by themselves.
  const tracks = choice.kind === "embedded" || majorOf(choice.version) >= 17;
  return hasDebug && tracks ? ["-Xclang", "-fexperimental-assignment-tracking=disabled"] : [];
}

/** Machine code that the object is to have. Only a system clang makes any. */
function machineCode({ command, choice }: Invocation, { output }: Compilation): Pick<Job, "machineCode"> {
  const isFat = command.fat && typeof output === "string";
  if (choice.kind === "embedded") {
    if (isFat)
      throw new InputError("-ffat-lto-objects needs a system clang: the embedded one makes no machine code");
    return {};
  }
  if (command.refusesUnsupported && !isFat) return {};
  // What is written, and where, concerns sources.
  const options = optionsFor(command.compile, /^(?!-M)/);
  return { machineCode: { wanted: isFat ? "beside" : "instead", options } };
}

/** The result for an error of ours, or of the disk. @throws what is neither */
function failure(e: unknown): JobResult {
  if (!(e instanceof InputError) && !isSystemError(e)) throw e;
  const message = e instanceof InputError ? e.message : reasonOf(e);
  const file = e instanceof InputError ? e.file : undefined;
  const error = file === undefined ? message : `${file}: ${message}`;
  return { exitCode: 1, stdout: new Uint8Array(), stderr: new Uint8Array(), error };
}

/** Options of the compile step that also matter to assembly, in the form every compiler driver takes. */
const assemblyOption = /^-(D|U|I|i|m|g|x|pthread|nostdinc|MD|MMD|MP|MT|MQ|v$)/;

/** Assembly becomes a native object: by clang, or where only the embedded one is there, by `cc`. */
async function assemble(invocation: Invocation, compilation: Compilation): Promise<JobResult> {
  const { host, command, choice } = invocation;
  const { input } = compilation;
  let file: OutputFile | undefined;
  try {
    if (typeof compilation.output !== "string") throw new Error("an assembler writes files");
    file = new OutputFile(compilation.output, host.cwd);
    const options = choice.kind === "system" ? command.compile : optionsFor(command.compile, assemblyOption);
    const args = [
      ...options,
      ...dependencyOptions(command, compilation, dependencyFile(command, compilation)),
      ...command.assemble,
      "-c",
      "-o",
      file.temporary(),
      ...(input.language === undefined ? [] : ["-x", input.language]),
      inputWord(input.path),
    ];
    const result = await runTool(choice.kind === "system" ? choice.path : "cc", args, host, {
      live: false,
      stdin: input.path === "-" ? host.stdin() : undefined,
    });
    if (result.exitCode === 0) await file.commit();
    else file.discard();
    return result;
  } catch (e) {
    file?.discard();
    return failure(e);
  }
}

/**
 * Lets clang inline only what is always to be inlined, and local functions with one call, without a word to that on the
 * functions: what is inlined in several files can no longer be folded when they are linked. No default: C's inline functions
 * without an external definition anywhere are undefined when nothing inlines them.
 */
function inliningOptions({ command, choice }: Invocation): string[] {
  const { level } = command;
  if (!command.defersInlining || (level !== "s" && level !== "z")) return [];
  // A threshold that was given counts.
  if (command.compile.some((word) => /^(-mllvm=)?--?inline(hint)?-threshold\b/.test(word))) return [];
  // Clang takes 15 000 off what a local function with one call costs, and at -Os thresholds times three at first. The
  // embedded one asserts that none is negative; with 0 it inlines such functions as well.
  const threshold = choice.kind === "embedded" ? 0 : level === "z" ? -10_000 : -4000;
  return ["-mllvm", `-inline-threshold=${threshold}`, "-mllvm", `-inlinehint-threshold=${threshold}`];
}

/** The options that `wanted` accepts, with their values. */
export function optionsFor(options: readonly string[], wanted: RegExp): string[] {
  const result: string[] = [];
  for (let i = 0; i < options.length; i++) {
    const count = takesNextWord(options[i]!) ? 2 : 1;
    if (wanted.test(options[i]!)) result.push(...options.slice(i, i + count));
    i += count - 1;
  }
  return result;
}

/** Clang's options for colours. */
export const colourOption = /^-f(no-)?(color-diagnostics|diagnostics-color)/;

function colourOptions({ host, command }: Invocation): string[] {
  const chosen = command.compile.some((o) => colourOption.test(o));
  return host.colour && !chosen ? ["-fcolor-diagnostics"] : [];
}

/** Where `-MD` puts the dependencies, as clang names the file; undefined without `-MD`. */
function dependencyFile(command: CommandLine, compilation: Compilation): string | undefined {
  if (command.dependencies === undefined) return undefined;
  return command.dependencies.file ?? replaceExtension(compilation.namedAfter, "d");
}

/** Clang would name file and target after its `-o`, which is a temporary file here. */
function dependencyOptions(
  command: CommandLine,
  compilation: Compilation,
  file: string | undefined,
): string[] {
  if (file === undefined) return [];
  return ["-MF", file, ...(command.dependencies?.hasTarget ? [] : ["-MQ", compilation.namedAfter])];
}

/** The embedded compiler has no C library of its own; without the machine's, its diagnostics may puzzle. */
function hintMissingHeaders(
  { host, choice, command }: Invocation,
  results: readonly (JobResult | undefined)[],
): void {
  if (choice.kind !== "embedded" || existsSync("/usr/include/stdio.h")) return;
  if (command.compile.some((o) => o.startsWith("--sysroot") || o === "-nostdinc" || o === "-isysroot"))
    return;
  const text = results.map((r) => Buffer.from(r?.stderr ?? []).toString("latin1")).join("");
  if (!/fatal error: .*file not found/.test(text)) return;
  report(
    host,
    "note",
    "the embedded compiler uses the C library's headers of this machine, and /usr/include has none; " +
      "install them (Debian and Ubuntu: libc6-dev)",
  );
}
