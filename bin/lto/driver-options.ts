/**
 * What a link is told, by the command line (options.ts) or by a program (bin/api.ts). Options are named as on the
 * command line, in camel case; what they do is said there, and in the tables of MANUAL.md.
 */
import type { CodegenOptions, OptimizationLevel } from "../../lto/codegen/program/options.js";
import type { RelocationModel } from "../../lto/codegen/target.js";
import type { PassOptions } from "../../lto/pass/options.js";
import type { Operand } from "./operands.js";

export type EmitKind = "asm" | "ir" | "object" | "machine";

export interface DriverOptions {
  readonly inputs: readonly Operand[];
  /** Where `-l` looks (`-L`). */
  readonly libraryPath: readonly string[];
  /** `-`: nowhere, the contents are wanted. */
  readonly output: string;
  readonly emit: EmitKind;
  /** `-O`; null: what each function was compiled for. */
  readonly level: OptimizationLevel | null;
  /** null: what the modules say. */
  readonly relocationModel: RelocationModel | null;
  readonly jobs: number;
  /** IR instructions from which on worker threads are used. */
  readonly parallelThreshold: number;
  /** Where code is kept for later links; null: nowhere. */
  readonly cacheDir: string | null;
  /** Bytes that the files there may take. */
  readonly cacheSize: number;
  readonly entry: string;
  /** The entry was asked for, so that its absence is worth a word. */
  readonly entryGiven: boolean;
  /** Definitions that stay visible; may be globs. */
  readonly export: readonly string[];
  /** Files of such names. */
  readonly exportList: readonly string[];
  /** Symbols to take as referenced. */
  readonly undefined: readonly string[];
  readonly shared: boolean;
  readonly relocatable: boolean;
  readonly exportDynamic: boolean;
  readonly excludeLibs: readonly string[];
  /** The program is linked with the compiler's default libraries, too. */
  readonly defaultLibs: boolean;
  readonly ltoWholeProgramVisibility: boolean;
  readonly versionScript: readonly string[];
  readonly noUndefined: boolean;
  readonly allowMultipleDefinition: boolean;
  readonly wrap: readonly string[];
  /** `symbol=expression` */
  readonly defsym: readonly string[];
  /** Linker scripts. */
  readonly script: readonly string[];
  /** 0: no limit. */
  /** Debug information that is left out is not worth a word. */
  readonly stripDebug: boolean;
  /** Options ask for more than the output: checks, reports, other forms. */
  readonly asksForMore: boolean;
  readonly errorLimit: number;
  readonly regalloc: CodegenOptions["allocator"];
  readonly coalesce: CodegenOptions["coalesce"];
  /** null: by the goal of each function. */
  readonly spillCost: CodegenOptions["spillCost"];
  readonly checkRegalloc: boolean;
  readonly checkIpra: boolean;
  readonly checkPacking: boolean;
  readonly ipra: boolean;
  readonly shrinkWrap: boolean;
  readonly baseRegister: boolean;
  readonly sharedEpilogues: boolean;
  readonly boundVariableArguments: boolean;
  readonly fallThrough: boolean;
  readonly sharedUnwind: boolean;
  readonly outline: boolean;
  readonly outlineRounds: number;
  /** Separated by commas; see `OutlineForm`. */
  readonly outlineForms: string;
  /** Percent of the program's instructions that may be compiled on trial. */
  readonly inlineEffort: number;
  readonly functionSections: boolean;
  readonly dataSections: boolean;
  readonly verify: boolean;
  readonly stackTrace: boolean;
  readonly passes: PassOptions;
  readonly printMachine: "select" | "allocate" | "finish" | null;
  readonly printRegusage: boolean;
}
