/**
 * tsc-lto for programs: `import { link } from "tsc-lto"`.
 *
 * What a link prints as a command it returns as values here, and its errors are thrown; it writes nothing but the files
 * it was told to. Links do not know of each other: there may be any number, one after the other or at the same time,
 * and each gives the same bytes as the command. In this thread a link lets the event loop run every few milliseconds;
 * large programs are compiled in worker threads as well.
 */

import type { CodegenStatistics } from "../lto/codegen/program/statistics.js";
import { InputError, InternalError } from "../lto/ir/errors.js";
import type { Diagnostic } from "../lto/link/index.js";
import type { PassOptions } from "../lto/pass/options.js";
import type { PassCount, PassTime } from "../lto/pass/report.js";
import { productPasses } from "../lto/pipeline/registry.js";
import { processHost } from "./host/host.js";
import { FileError, isSystemError, reasonOf } from "./host/system-errors.js";
import type { DriverOptions } from "./lto/driver-options.js";
import { InputErrors, LinkError, OptionError } from "./lto/errors.js";
import { type JobResult, runJob } from "./lto/job.js";
import type { Operand } from "./lto/operands.js";
import type { messageNames } from "./lto/option-table.js";
import { list } from "./lto/option-words.js";
import { readOptionValues } from "./lto/options.js";
import { clobberedRegisters } from "./lto/register-usage.js";
import { type Phase, type ProgressListener, YieldingScheduler } from "./lto/scheduler.js";
import { ownPackage } from "./package.js";

export { InputError, InternalError, UnsupportedError } from "../lto/ir/errors.js";
export { InputErrors, LinkError, OptionError } from "./lto/errors.js";
export type EmitKind = DriverOptions["emit"];
export type { CodegenStatistics, Diagnostic, PassCount, PassTime, Phase, ProgressListener };

/** Version of this package. */
export const version: string = ownPackage().version;

/** How an input takes part; by default it does as a whole, and of an archive what is needed. */
export interface InputMode {
  /** Take every member of an archive. */
  readonly wholeArchive?: boolean;
  /** Link it only when it is needed, like a member of an archive. */
  readonly lazy?: boolean;
}

/** An input in memory. What it is, its contents say; of text the name, which ends in `.ll` or `.tir`. */
export interface BytesInput extends InputMode {
  /** In messages. Members of a thin archive are looked for in its folder. */
  readonly name: string;
  /** Not to be changed before the link has ended. */
  readonly bytes: Uint8Array;
}

/** An input in a file. */
export interface FileInput extends InputMode {
  readonly path: string;
}

/** A library to be looked for in `libraryPath`, as `-l` does. */
export interface LibraryInput extends InputMode {
  /** `m` of `libm.a` and `libm.so`, or a file name after a colon. */
  readonly library: string;
  /** Only archives. */
  readonly static?: boolean;
}

/** What can be linked: a path, or one of these. */
export type Input = string | BytesInput | FileInput | LibraryInput;

/** The options of the command, by their long names in camel case. */
type CommandOptions = Partial<
  Omit<
    DriverOptions,
    | "inputs"
    | "output"
    | "entryGiven"
    | "asksForMore"
    | "stackTrace"
    | "passes"
    | (typeof messageNames)[number]
  >
>;

/**
 * Options. Those of the command have its defaults and meanings; relative paths start from the process's working
 * directory. `level` is `-O`, `enabled` names passes with an option of their own, `stats` and `timePasses` have their
 * part of the result filled, and what `print…` and `optBisectLimit` print is in `LinkResult.log`.
 */
export interface LinkOptions extends CommandOptions, Partial<PassOptions> {
  /**
   * The file to write: it appears as a whole when the link has succeeded; otherwise there is none, also none of an
   * earlier link. Without it the contents are in the result.
   */
  readonly output?: string;
  /** Ends the link soon after it is aborted, with the signal's reason as the error and no output. */
  readonly signal?: AbortSignal;
  /** Told some times a second how far the link is. What it throws ends the link. */
  readonly progress?: ProgressListener;
}

/** What options asked for besides the output. */
export interface LinkReport {
  /** Of `stats`. */
  readonly statistics: {
    /** Null where no code was wanted (`emit`: ir, object). */
    readonly code: CodegenStatistics | null;
    /** What passes count; of the threads together. */
    readonly passes: readonly PassCount[];
  } | null;
  /** Of `timePasses`, in milliseconds. The times of threads are added up. */
  readonly times: {
    readonly phases: readonly { readonly name: string; readonly milliseconds: number }[];
    readonly passes: readonly PassTime[];
  } | null;
  /** Of `printRegusage`: the names of the registers that a call of each function may change. */
  readonly registerUsage: ReadonlyMap<string, readonly string[]> | null;
}

/** The outcome of a link that succeeded. */
export interface LinkResult extends LinkReport {
  /** The output: assembly, or what `emit` asks for. Empty if it is in a file. */
  readonly bytes: Uint8Array;
  /** The same as text, decoded when it is asked for; of `emit: "object"` it makes no sense. */
  readonly text: string;
  /** Warnings. */
  readonly diagnostics: readonly Diagnostic[];
  /** What options had printed on the way. */
  readonly log: string;
}

/**
 * Links IR objects, LLVM bitcode, text IR, and archives of these, with the symbols of native objects, into one
 * program, optimises it, and generates its code.
 * @throws OptionError for unknown options, values that they cannot have, and inputs that are none of `Input`;
 *   InputError for files that cannot be read or written and contents that are malformed, with the file in `file`
 *   (InputErrors, if there are several), as UnsupportedError with the `construct` for what is not supported;
 *   LinkError for inputs that do not go together, with `diagnostics`;
 *   InternalError for faults of this program, with what it did in `where`;
 *   the reason of the signal, when that is aborted
 */
export async function link(inputs: readonly Input[], options: LinkOptions = {}): Promise<LinkResult> {
  const { output, signal, progress, libraryPath, ...given } = options;
  signal?.throwIfAborted();
  const driver: DriverOptions = {
    ...readOptionValues(given),
    inputs: operandsOf(inputs),
    libraryPath: list("libraryPath", libraryPath ?? []),
    output: output === undefined ? "-" : pathWord("output", output),
  };
  const diagnostics: Diagnostic[] = [];
  const log: string[] = [];
  const own = new CallerErrors(progress);
  let result: JobResult;
  try {
    result = await runJob(driver, {
      host: processHost(),
      set: productPasses,
      scheduler: new YieldingScheduler(signal, own.listener),
      diagnose: (diagnostic) => void diagnostics.push(diagnostic),
      print: (text) => void log.push(text),
    });
  } catch (e) {
    throw e === own.error || (signal?.aborted === true && e === signal.reason) ? e : typedError(e);
  }
  const bytes = result.contents ?? new Uint8Array();
  return {
    bytes,
    get text() {
      return new TextDecoder().decode(bytes);
    },
    diagnostics,
    log: log.join(""),
    ...reportOf(result, driver),
  };
}

/** What the caller's progress listener throws is the caller's business. */
class CallerErrors {
  error: unknown = this;
  constructor(private readonly progress: ProgressListener | undefined) {}

  readonly listener: ProgressListener = (phase, done, total) => {
    try {
      this.progress?.(phase, done, total);
    } catch (e) {
      this.error = e;
      throw e;
    }
  };
}

/** `-` is a name like others here. */
function pathWord(what: string, path: unknown): string {
  if (typeof path !== "string") throw new OptionError(`${what}: expected a string`);
  return path === "-" ? "./-" : path;
}

function operandsOf(inputs: readonly Input[]): Operand[] {
  if (!Array.isArray(inputs) || inputs.length === 0) throw new OptionError("no inputs");
  return inputs.map(operandOf);
}

function operandOf(input: Input): Operand {
  if (typeof input !== "object" || input === null) return operandOf({ path: input });
  const { wholeArchive = false, lazy = false } = input;
  const mode = { wholeArchive, lazy, isLibrary: false, static: false };
  if ("library" in input) {
    const name = pathWord("library", input.library);
    return { ...mode, name, isLibrary: true, static: input.static ?? false };
  }
  if (!("bytes" in input)) return { ...mode, name: pathWord("input", input.path) };
  const { name, bytes } = input;
  if (!(bytes instanceof Uint8Array)) throw new OptionError(`input ${name}: expected bytes as a Uint8Array`);
  return { ...mode, name: pathWord("name of an input", name), bytes };
}

function reportOf({ code, passes, phases }: JobResult, options: DriverOptions): LinkReport {
  const { stats, timePasses } = options.passes;
  const usage = options.printRegusage && options.ipra ? code?.usage : undefined;
  return {
    statistics: stats ? { code: code?.statistics ?? null, passes: passes.counts } : null,
    times: timePasses ? { phases, passes: passes.times } : null,
    registerUsage:
      usage === undefined ? null : new Map(usage.map(([name, mask]) => [name, clobberedRegisters(mask)])),
  };
}

/** With the file, also where the message names it already. */
const named = (e: InputError): InputError => (e instanceof FileError ? e.inFile(e.path) : e);

/** Errors of the system are those of an input or output; what is of no type is a fault. */
function typedError(e: unknown): unknown {
  if (e instanceof InputErrors) return new InputErrors(e.errors.map(named));
  if (e instanceof InputError) return named(e);
  if (e instanceof InternalError || e instanceof LinkError || e instanceof OptionError) return e;
  if (isSystemError(e)) return new InputError(reasonOf(e), e.path);
  const { message, stack } = e instanceof Error ? e : new Error(String(e));
  return new InternalError(message, "while linking", stack);
}
