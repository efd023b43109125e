/** What the main thread and its workers say to each other. Everything is plain data. */
import type { PoolContents } from "../../formats/asm/index.js";
import type { PackedFunction } from "../../lto/codegen/pack/format.js";
import type { FunctionFacts } from "../../lto/codegen/program/facts.js";
import type {
  Component,
  Decisions,
  PrintedFunction,
  PublishedMask,
} from "../../lto/codegen/program/function-compilers.js";
import type { FunctionNumber } from "../../lto/codegen/program/numbering.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import type { SessionPlan } from "../../lto/codegen/program/plan.js";
import type { FunctionStatistics } from "../../lto/codegen/program/statistics.js";
import { InputError, InternalError, UnsupportedError } from "../../lto/ir/errors.js";
import type { PassReport } from "../../lto/pass/report.js";
import type { Report, ReportRequests } from "./reports.js";

/** What a worker is started with. */
export interface WorkerSetup {
  /** The linked module in the object format. */
  readonly object: SharedArrayBuffer;
  readonly file: string;
  readonly options: CodegenOptions;
  readonly plan: SessionPlan;
  readonly reports: ReportRequests;
  /** From 1 on. */
  readonly thread: number;
  /** See `CodegenPasses`. */
  readonly origin: number;
  readonly earlierRuns: number;
}

export type WorkerTask =
  | {
      readonly kind: "allocate";
      /** Published since the worker's last task. */
      readonly masks: readonly PublishedMask[];
      readonly components: readonly Component[];
    }
  | { readonly kind: "complete"; readonly decisions: Decisions; readonly numbers: readonly FunctionNumber[] }
  | { readonly kind: "collect"; readonly numbers: readonly FunctionNumber[] }
  | {
      readonly kind: "replace";
      readonly functions: readonly (readonly [FunctionNumber, PackedFunction])[];
    }
  | { readonly kind: "emit"; readonly numbers: readonly FunctionNumber[] }
  /** What there is besides texts, when all are printed. */
  | { readonly kind: "rest" }
  /** For a thread that was started with no module: does a unit of work. */
  | { readonly kind: "unit"; readonly bytes: Uint8Array };

/** The result for one component or function, or why there is none; the worker stops at the first failure. */
export type Attempt<T> = ({ readonly result: T } | { readonly failure: Failure }) & {
  readonly reports: readonly Report[];
};
export interface Printed {
  readonly printed: PrintedFunction;
  readonly machineInstructions: number;
}
export interface Rest {
  /** The literal pool of all that the worker printed. */
  readonly constants: PoolContents;
  readonly passes: PassReport;
}
export type WorkerAnswer =
  | Attempt<FunctionFacts[]>[]
  | Attempt<FunctionStatistics>[]
  | Attempt<Printed>[]
  | PackedFunction[]
  | undefined
  | Rest
  /** To a unit; null: it could not be done. */
  | Uint8Array
  | null;

/** An error as plain data: classes do not survive the way between threads. */
export interface Failure {
  /** Input that is bad, not a fault of this program. */
  readonly ofInput: boolean;
  readonly message: string;
  readonly file: string | undefined;
  readonly fn: string | undefined;
  readonly origin: number | undefined;
  /** What is not supported, if that is the error. */
  readonly construct: string | undefined;
  readonly stack: string | undefined;
  /** Of an internal error, or of what is not supported. */
  readonly where: string | undefined;
}

export function attempt<T>(work: () => T): { readonly result: T } | { readonly failure: Failure } {
  try {
    return { result: work() };
  } catch (e) {
    const { message, stack } = e as Error;
    const { file, fn, origin }: Partial<InputError> = e instanceof InputError ? e : {};
    const where = e instanceof InternalError || e instanceof UnsupportedError ? e.where : undefined;
    const construct = e instanceof UnsupportedError ? e.construct : undefined;
    return {
      failure: { ofInput: e instanceof InputError, message, file, fn, origin, construct, stack, where },
    };
  }
}

/** The error that the worker met. */
export function errorOf(failure: Failure): Error {
  const { ofInput, message, file, fn, origin, construct, stack, where } = failure;
  if (!ofInput) return new InternalError(message, where ?? "in a worker thread", stack);
  const error =
    construct === undefined ? new InputError(message, file) : new UnsupportedError(construct, where, file);
  return Object.assign(error, {
    message,
    ...(fn === undefined ? {} : { fn }),
    ...(origin === undefined ? {} : { origin }),
  });
}
