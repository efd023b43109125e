/**
 * Compilers and link-time optimizers as exchangeable sets of commands.
 *
 * A toolchain turns a list of source files into an executable and says at which stage it failed. The project's
 * own (`ours`) is compared with the plain compilers; `llvm` (clang, llvm-link, llc) is a stand-in for `ours` with
 * which the tools themselves can be tested.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { assembleAndLink } from "./native.js";
import type { RunOptions, RunResult } from "./process.js";
import { mapLimit, run } from "./process.js";
import { findProgram, projectRoot } from "./root.js";

export interface Unit {
  /** Absolute path of the source file. */
  readonly source: string;
  /** The working directory of the compilation; that of the source unless given. */
  readonly cwd?: string;
  /** Options without a level of optimization and without -c, -o. */
  readonly flags: readonly string[];
}

export interface BuildJob {
  readonly units: readonly Unit[];
  /** O0, O1, O2, O3, Os or Oz. */
  readonly level: string;
  /** Native objects and archives that are linked as they are. */
  readonly objects?: readonly string[];
  /** As -lm. */
  readonly libs: readonly string[];
  readonly exe: string;
  /** A folder of this build alone. */
  readonly dir: string;
  readonly pie: boolean;
  readonly jobs?: number;
  /** Measure the whole-program step. */
  readonly measure?: boolean;
  /** Options added to the whole-program step. */
  readonly ltoFlags?: readonly string[];
  readonly timeoutMs?: number;
}

export type Stage = "compile" | "lto" | "assemble" | "native link";

export interface BuildResult {
  /** Undefined when the executable was built. */
  readonly failed?: Stage;
  /** True when the tool itself said that it does not support the input. */
  readonly unsupported: boolean;
  /** The first lines of what the failing command wrote. */
  readonly message: string;
  /** CPU seconds and peak KiB of the whole-program step, when measured. */
  readonly cpuSeconds: number;
  readonly peakKiB: number;
}

export interface Toolchain {
  readonly name: string;
  /** Toolchains with the same word here make the same objects. */
  readonly objectKind: string;
  /** Compiles the units into `job.dir`: the objects' paths, or the first failure. */
  compile(job: BuildJob): Promise<string[] | BuildResult>;
  /** Everything from the objects to the executable. */
  link(job: BuildJob, objects: readonly string[]): Promise<BuildResult>;
  /** Both steps. */
  build(job: BuildJob): Promise<BuildResult>;
}

type Steps = Pick<Toolchain, "compile" | "link">;

function fromSteps(name: string, objectKind: string, steps: Steps): Toolchain {
  return {
    name,
    objectKind,
    ...steps,
    async build(job) {
      const objects = await steps.compile(job);
      return Array.isArray(objects) ? steps.link(job, objects) : objects;
    },
  };
}

const built: BuildResult = { unsupported: false, message: "", cpuSeconds: Number.NaN, peakKiB: Number.NaN };

/** What a failing command says of itself. */
export function failure(stage: Stage, result: RunResult): BuildResult {
  const text = (result.stderr || result.stdout.toString("utf8")).trim();
  const unsupported = result.status === 1 && /\bunsupported:/i.test(text);
  const first = result.timedOut
    ? `timed out; ${text}`
    : result.status > 1
      ? `status ${result.status}; ${text}`
      : text;
  const message = first.split("\n").slice(0, 12).join("\n").slice(0, 2000);
  return { ...built, failed: stage, unsupported, message };
}

/** How a toolchain's commands are run: as processes unless another way is given. */
export type Execute = (command: readonly string[], options: RunOptions) => Promise<RunResult>;

/** Compiles every unit to `dir/N.o`; the objects, or the first failure. */
async function compileAll(
  job: BuildJob,
  command: (unit: Unit, object: string) => string[],
  execute: Execute = run,
): Promise<string[] | BuildResult> {
  mkdirSync(job.dir, { recursive: true });
  const results = await mapLimit(job.units, job.jobs ?? 1, async (unit, i) => {
    const object = join(job.dir, `${i}.o`);
    const options: RunOptions = unit.cwd === undefined ? {} : { cwd: unit.cwd };
    return {
      object,
      result: await execute(command(unit, object), { ...options, timeoutMs: job.timeoutMs ?? 600_000 }),
    };
  });
  const bad = results.find((r) => r.result.status !== 0);
  return bad === undefined ? results.map((r) => r.object) : failure("compile", bad.result);
}

/** Compilation by a driver such as clang or gcc. */
function driverCompile(cc: string, flags: readonly string[]): Steps["compile"] {
  return (job) =>
    compileAll(job, (u, o) => [
      cc,
      `-${job.level}`,
      ...flags,
      job.pie ? "-fPIE" : "-fno-pie",
      ...u.flags,
      "-c",
      u.source,
      "-o",
      o,
    ]);
}

/** A driver that compiles and links natively; `flags` go to both steps. */
export function driver(name: string, cc: string, flags: readonly string[] = []): Toolchain {
  return fromSteps(name, [cc, ...flags].join(" "), {
    compile: driverCompile(cc, flags),
    async link(job, objects) {
      const inputs = [...objects, ...(job.objects ?? []), ...job.libs];
      const pic = job.pie ? "-pie" : "-no-pie";
      const r = await run([cc, `-${job.level}`, ...flags, pic, ...inputs, "-o", job.exe], {
        measure: job.measure ?? false,
        timeoutMs: job.timeoutMs ?? 600_000,
      });
      if (r.status !== 0) return failure("native link", r);
      return { ...built, cpuSeconds: r.cpuSeconds, peakKiB: r.peakKiB };
    },
  });
}

/** clang with lld's LTO; what is measured is the process of ld.lld alone. */
function clangLto(name: string, cc: string, linkFlags: readonly string[]): Toolchain {
  return fromSteps(name, `${cc} -flto`, {
    compile: driverCompile(cc, ["-flto"]),
    async link(job, objects) {
      const inputs = [...objects, ...(job.objects ?? []), ...job.libs];
      const pic = job.pie ? "-pie" : "-no-pie";
      const link = [
        cc,
        `-${job.level}`,
        "-flto",
        ...linkFlags,
        "-fuse-ld=lld",
        pic,
        ...inputs,
        "-o",
        job.exe,
      ];
      const shown = await run([...link, "-###"]);
      const line = shown.stderr.split("\n").find((l) => /ld\.lld/.test(l) && l.includes("crt1.o"));
      if (line === undefined) return failure("native link", { ...shown, status: 127 });
      const argv = line.match(/"(?:[^"\\]|\\.)*"/g)!.map((w) => w.slice(1, -1).replace(/\\(.)/g, "$1"));
      const r = await run(argv, { measure: job.measure ?? false, timeoutMs: job.timeoutMs ?? 600_000 });
      if (r.status !== 0) return failure("lto", r);
      return { ...built, cpuSeconds: r.cpuSeconds, peakKiB: r.peakKiB };
    },
  });
}

/** The shape of the project's commands: compile to IR objects, one whole-program step to assembly, then as and ld. */
function assemblyMaker(
  name: string,
  objectKind: string,
  compile: (unit: Unit, object: string, job: BuildJob) => string[],
  optimize: (objects: readonly string[], asm: string, job: BuildJob) => string[],
  execute: Execute = run,
): Toolchain {
  return fromSteps(name, objectKind, {
    compile: (job) => compileAll(job, (u, o) => compile(u, o, job), execute),
    async link(job, objects) {
      const asm = join(job.dir, "program.s");
      const timeoutMs = job.timeoutMs ?? 600_000;
      const lto = await execute(optimize(objects, asm, job), { measure: job.measure ?? false, timeoutMs });
      if (lto.status !== 0) return failure("lto", lto);
      const native = await assembleAndLink(asm, job.exe, job);
      if (native.result.status !== 0) return failure(native.stage, native.result);
      return { ...built, cpuSeconds: lto.cpuSeconds, peakKiB: lto.peakKiB };
    },
  });
}

/** This project's commands, with options added to each, run as processes or in another way. */
export function ours(
  ltoFlags: readonly string[] = [],
  ccFlags: readonly string[] = [],
  execute: Execute = run,
): Toolchain {
  const bin = join(projectRoot(), "bin");
  return assemblyMaker(
    ["ours", ...ltoFlags].join(" "),
    ["ours", ...ccFlags].join(" "),
    (unit, object, job) => [
      join(bin, "tsc-cc"),
      "-c",
      unit.source,
      "-o",
      object,
      `-${job.level}`,
      job.pie ? "-fPIE" : "-fno-pie",
      ...ccFlags,
      ...unit.flags,
    ],
    (objects, asm, job) => [
      join(bin, "tsc-lto"),
      ...objects,
      "-o",
      asm,
      `-${job.level}`,
      ...ltoFlags,
      ...(job.ltoFlags ?? []),
    ],
    execute,
  );
}

/** Our passes, and clang's code generator. @param words of the machine: its target, how it is linked */
export function oursThroughLlvm(
  words: readonly string[],
  ltoFlags: readonly string[],
  execute: Execute,
): Toolchain {
  const { objectKind, compile } = ours([], [...clangOption(), ...words], execute);
  return fromSteps("ours-llvm", objectKind, {
    compile,
    async link(job, objects) {
      const [bitcode, object] = [join(job.dir, "program.bc"), join(job.dir, "program.o")];
      const timeoutMs = job.timeoutMs ?? 600_000;
      const lto = join(projectRoot(), "bin", "tsc-lto");
      const flags = ["--emit=bitcode", "--undefined", "_start", ...ltoFlags, ...(job.ltoFlags ?? [])];
      const made = await execute([lto, ...objects, ...flags, "-o", bitcode], { timeoutMs });
      if (made.status !== 0) return failure("lto", made);
      const generate = [systemClang(), ...words, `-${job.level}`, "-w", "-x", "ir", "-c", bitcode];
      const generated = await run([...generate, "-o", object], { timeoutMs });
      if (generated.status !== 0) return failure("assemble", generated);
      const r = await run([systemClang(), ...words, "-pie", object, ...job.libs, "-o", job.exe], {
        timeoutMs,
      });
      return r.status === 0 ? built : failure("native link", r);
    },
  });
}

/**
 * Ours without anything that looks across files or functions: tsc-lto on each object by itself, with every global
 * definition kept and every call by the platform's convention; then as and a native link, as after `clang -c`.
 */
export function oursPerFile(ccFlags: readonly string[], execute: Execute = run): Toolchain {
  const whole = ours([], ccFlags, execute);
  const lto = join(projectRoot(), "bin", "tsc-lto");
  return fromSteps("ours-per-file", whole.objectKind, {
    compile: (job) => whole.compile(job),
    async link(job, objects) {
      const timeoutMs = job.timeoutMs ?? 600_000;
      const native = await mapLimit(objects, job.jobs ?? 1, async (object, i) => {
        const asm = join(job.dir, `${i}.s`);
        const to = join(job.dir, `${i}.native.o`);
        const flags = ["-r", "--no-ipra", "-j1", `-${job.level}`, ...(job.ltoFlags ?? [])];
        const made = await execute([lto, object, ...flags, "-o", asm], { timeoutMs });
        if (made.status !== 0) return failure("lto", made);
        const assembled = await run(["as", "-o", to, asm], { timeoutMs });
        return assembled.status === 0 ? to : failure("assemble", assembled);
      });
      const bad = native.find((r) => typeof r !== "string");
      if (bad !== undefined) return bad as BuildResult;
      const inputs = [...(native as string[]), ...(job.objects ?? []), ...job.libs];
      const r = await run(["cc", job.pie ? "-pie" : "-no-pie", ...inputs, "-o", job.exe], { timeoutMs });
      return r.status === 0 ? built : failure("native link", r);
    },
  });
}

/** clang, llvm-link and llc with the same interface as the project's commands. */
function standIn(): Toolchain {
  const llc = { O0: "-O0", O1: "-O1", O3: "-O3" } as Readonly<Record<string, string>>;
  const script =
    'set -e; asm=$1; level=$2; pic=$3; shift 3; $LINK "$@" -o "$asm.bc"; $LLC $level -relocation-model=$pic "$asm.bc" -o "$asm"';
  return assemblyMaker(
    "llvm",
    "llvm",
    (unit, object, job) => [
      systemClang(),
      "-c",
      "-emit-llvm",
      unit.source,
      "-o",
      object,
      `-${job.level}`,
      job.pie ? "-fPIE" : "-fno-pie",
      ...unit.flags,
    ],
    (objects, asm, job) => [
      "env",
      `LINK=${findProgram("llvm-link-19", "llvm-link")}`,
      `LLC=${findProgram("llc-19", "llc")}`,
      "sh",
      "-c",
      script,
      "sh",
      asm,
      llc[job.level] ?? "-O2",
      job.pie ? "pic" : "static",
      ...objects,
    ],
  );
}

/** The clang that `CLANG` names, else 19, which tests install, else the newest on PATH; undefined on a machine that has none. */
export function findClang(): string | undefined {
  const wanted = process.env["CLANG"];
  if (wanted !== undefined) return findProgram(wanted);
  return findProgram(
    "clang-19",
    "clang-22",
    "clang-21",
    "clang-20",
    "clang-18",
    "clang-17",
    "clang-16",
    "clang-15",
    "clang",
  );
}

/** The clang that references are built with. @throws Error when there is none */
export function systemClang(): string {
  const clang = findClang();
  if (clang === undefined) throw new Error("no clang on PATH (Debian package: clang-19)");
  return clang;
}

/** A compiler for what a package's own build compiles: clang, else the system's cc. */
export function systemCompiler(): string {
  return findClang() ?? "cc";
}

/** What outputs are compared with: plain clang, or gcc on a machine without one. */
export function referenceToolchain(): Toolchain {
  return toolchain(findClang() === undefined ? "gcc" : "clang");
}

/** tsc-cc's option that names the clang it runs, if there is one: saves it the search. */
export function clangOption(): string[] {
  const clang = findClang();
  return clang === undefined ? [] : [`--clang=${clang}`];
}

/**
 * Options of tsc-cc: the clang to run, and with `raw` to leave the bitcode as clang's front end made it, for the level
 * that is asked for but before all of its passes. Then what clang's passes usually tidy away reaches ours.
 */
export function compilerOptions(raw: boolean, clang: readonly string[] = clangOption()): string[] {
  return raw ? [...clang, "-Xclang", "-disable-llvm-passes"] : [...clang];
}

/** A toolchain by its name, as the tools' --tool option takes it. @throws Error when `raw` is nothing it knows */
export function toolchain(name: string, raw = false): Toolchain {
  if (raw && !name.startsWith("ours"))
    throw new Error(`--raw is for this project's own compiler, not for '${name}'`);
  const flags = compilerOptions(raw);
  switch (name) {
    case "ours":
      return ours([], flags);
    case "ours-no-ipra":
      return { ...ours(["--no-ipra"], flags), name };
    case "ours-per-file":
      return oursPerFile(flags);
    case "ours-embedded":
      return { ...ours([], compilerOptions(raw, ["--clang=embedded"])), name };
    case "llvm":
      return standIn();
    case "clang":
      return driver("clang", systemClang());
    case "clang-lto":
      return clangLto("clang-lto", systemClang(), []);
    case "clang-lto-ipra":
      return clangLto("clang-lto-ipra", systemClang(), ["-Wl,-mllvm,-enable-ipra"]);
    case "gcc":
      return driver("gcc", "gcc");
    case "gcc-lto":
      return driver("gcc-lto", "gcc", ["-flto"]);
    case "gcc-lto-no-ipra":
      return driver("gcc-lto-no-ipra", "gcc", ["-flto", "-fno-ipa-ra"]);
    default:
      throw new Error(`unknown toolchain '${name}'`);
  }
}
