/**
 * The embedded compiler: clang for WebAssembly from the package `@yowasp/clang`, run on the machine's files.
 *
 * The package's own entry point copies a whole directory tree in and out of each run and takes `..` in a path for
 * `.`. So its module is run here on a host of our own (wasi.ts): headers are read when the compiler opens them,
 * outputs land where clang puts them, and diagnostics and `__FILE__` show paths as the user wrote them. Only the
 * compiler's own headers (stddef.h and so on) are not on the disk but under `resourceDirectory`.
 *
 * The module has clang's front end and LLVM's optimiser, but no x86 code generator: it makes bitcode for x86-64,
 * not native objects. Cost: 0.3 s to load the module once per process, 0.4 s for the first run and 0.1 s for
 * each further one. Breaks if the package renames the two files that are read here.
 */
import { openSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { InputError } from "../../lto/ir/errors.js";
import { readTar } from "./tar.js";
import { runWasi, type VirtualDirectory } from "./wasi.js";
import { type WasmModule, WebAssembly } from "./webassembly.js";

/** Where the compiler sees its own headers. Nothing is there on the disk. */
export const resourceDirectory = "/@yowasp/clang";

/** Environment variables that change what clang does; others do not reach it. */
const environment = [
  "CPATH",
  "C_INCLUDE_PATH",
  "CPLUS_INCLUDE_PATH",
  "SOURCE_DATE_EPOCH",
  "DEPENDENCIES_OUTPUT",
  "CCC_OVERRIDE_OPTIONS",
  "TZ",
];

/** Compiled code of the compiler and the place of its resources. May be posted to workers, which share the code. */
export interface EmbeddedCompiler {
  readonly module: WasmModule;
  /** Path of the archive of the compiler's headers. */
  readonly resources: string;
}

export interface EmbeddedRun {
  /** Absolute path that relative paths start from. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** All of standard input. */
  readonly stdin?: Uint8Array;
  readonly stdout: (bytes: Uint8Array) => void;
  readonly stderr: (bytes: Uint8Array) => void;
}

/** The newest V8 these settings were tried with; a later one might not know them, and would say so on stderr. */
const newestKnownV8 = 13;

function tuneEngine(): void {
  if (Number.parseInt(process.versions.v8, 10) > newestKnownV8) return;
  // A run lasts a second or so. By default V8 spends several on optimising the module's code in that time; with a
  // budget (bytes executed in a function before it is optimised) 100 times larger only long runs pay for it.
  setFlagsFromString("--wasm-tiering-budget=180000000");
  // Most of the module's functions never run; each is then checked when it first does.
  setFlagsFromString("--wasm-lazy-validation");
}

/**
 * Reads and compiles the embedded compiler.
 * @throws InputError when the package is not installed or not complete.
 */
export async function loadEmbeddedCompiler(): Promise<EmbeddedCompiler> {
  tuneEngine();
  try {
    const directory = dirname(createRequire(import.meta.url).resolve("@yowasp/clang"));
    const code = readFileSync(join(directory, "llvm.core.wasm"));
    return { module: await WebAssembly.compile(code), resources: join(directory, "llvm-resources.tar") };
  } catch (e) {
    throw new InputError(
      `the embedded compiler (npm package @yowasp/clang) cannot be loaded: ${(e as Error).message}`,
    );
  }
}

let headers: VirtualDirectory | undefined;

/** The compiler's own headers, without the C++ library and the C library, which are for WebAssembly. */
function resourceHeaders(archive: string): VirtualDirectory {
  headers ??= readTar(
    openSync(archive, "r"),
    (path) => path.startsWith("include/") && !/^include\/(c\+\+|wasm32|\w*_wrappers)/.test(path),
  );
  return headers;
}

/** Options that the driver hands to LLVM's back end for x86, which is not there; the dialect is the front end's, too. */
const withoutBackEnd = (arg: string): readonly string[] => {
  const dialect = /^-masm=(intel|att)$/.exec(arg)?.[1];
  return dialect === undefined ? [arg] : ["-Xclang", `-inline-asm=${dialect}`];
};

/**
 * Runs the clang driver with `args` (without the program's name); its exit code. The target is x86-64 Linux unless
 * `args` name another. One job only: the driver cannot start processes, so it cannot link or assemble.
 * @throws Error when the compiler crashes.
 */
export function runEmbeddedClang(
  compiler: EmbeddedCompiler,
  args: readonly string[],
  run: EmbeddedRun,
): number {
  const fixed = [
    "--target=x86_64-linux-gnu",
    "--sysroot=/",
    "-resource-dir",
    resourceDirectory,
    "-working-directory",
    run.cwd,
    // Release builds of clang do so by default; names of values would only make bitcode larger.
    "-fdiscard-value-names",
  ];
  return runWasi(compiler.module, {
    args: ["llvm", "clang", ...fixed, ...args.flatMap(withoutBackEnd)],
    env: Object.fromEntries(environment.map((name) => [name, run.env[name]])),
    mounts: new Map([[resourceDirectory, resourceHeaders(compiler.resources)]]),
    stdin: run.stdin,
    stdout: run.stdout,
    stderr: run.stderr,
  });
}
