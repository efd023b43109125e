/** Builds of upstream programs for another machine, by clang's link-time optimisation and by ours, from the same bitcode. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Prepared, prepare, variableName } from "../prepared.js";
import { mapLimit, mustRun, run } from "../process.js";
import { cacheDir, projectRoot } from "../root.js";
import { systemClang } from "../toolchain.js";
import type { Machine } from "./machines.js";
import { type Program, stubsSource, unitsFor } from "./programs.js";
import { mapSizes, type Sizes } from "./sizes.js";

export interface Objects {
  readonly program: Program;
  readonly prepared: Prepared;
  readonly machine: Machine;
  readonly level: string;
  readonly dir: string;
  /** Bitcode. */
  readonly files: readonly string[];
  /** Native objects that the link needs besides. */
  readonly native: readonly string[];
}

/** A program that was linked, or why it was not. */
export interface Linked {
  readonly program: string;
  readonly sizes: Sizes | null;
  readonly error: string;
}

/** Compiles the main program of a package. */
export async function compile(
  program: Program,
  machine: Machine,
  level: string,
  jobs: number,
): Promise<Objects> {
  const { recipe } = program;
  const prepared = await prepare(recipe);
  const dir = cacheDir("foreign", machine.name, recipe.name, level);
  const clang = systemClang();
  const words = [...machine.words, ...machine.compile];
  const units = unitsFor(program, prepared.programs.get(recipe.main)!.units, machine.isBare);
  const files = await mapLimit(units, jobs, async ({ source, cwd, flags }, i) => {
    const object = join(dir, `${i}.bc`);
    const command = [clang, ...words, `-${level}`, "-flto", ...flags, "-w", "-c", source, "-o", object];
    await mustRun(command, cwd === undefined ? {} : { cwd });
    return object;
  });
  const sources = machine.link(dir).sources.map(([name, text]) => ({ name, text }));
  if (machine.isBare) sources.push({ name: "stubs", text: stubsSource });
  const native = await mapLimit(sources, 1, async ({ name, text }) => {
    writeFileSync(join(dir, `${name}.c`), text);
    const object = join(dir, `${name}.o`);
    await mustRun([clang, ...words, "-Oz", "-w", "-c", join(dir, `${name}.c`), "-o", object]);
    return object;
  });
  return { program, prepared, machine, level, dir, files, native };
}

/**
 * Links by clang, or by this project where words for its link step are given.
 * @param llvm options of LLVM's for its code generator
 */
export async function link(
  { program, prepared, machine, level, dir, files, native }: Objects,
  ours: readonly string[] | null,
  llvm: readonly string[],
): Promise<Linked> {
  const { before, after } = machine.link(dir);
  const name = ours === null ? "clang" : ["ours", ...ours].join("").replace(/[^\w=-]+/g, "_");
  const output = join(dir, name);
  const map = `${output}.map`;
  const libs = prepared.programs
    .get(program.recipe.main)!
    .libs.filter((lib) => !machine.isBare || !/^-l(?:m|dl)$/.test(lib));
  const clang = systemClang();
  const first = ours === null ? [clang, "-flto", ...llvm.map((word) => `-Wl,-mllvm,${word}`)] : [];
  if (ours !== null) {
    first.push(join(projectRoot(), "bin", "tsc-cc"), `--clang=${clang}`);
    if (/^(?:x86-64)$/.test(machine.name)) first.push("--codegen=llvm");
    first.push(...llvm.flatMap((word) => ["-mllvm", word]), ...ours.map((word) => `-Wl,--tsc-lto=${word}`));
  }
  const inputs = [...before, ...files, ...native, ...libs, ...after];
  const command = [...first, ...machine.words, `-${level}`, `-Wl,-Map=${map}`, ...inputs, "-o", output];
  const { status, stderr } = await run(command);
  if (status !== 0)
    return { program: output, sizes: null, error: stderr.trim().split("\n").slice(0, 8).join("\n") };
  const isOwn = (file: string): boolean => (ours === null ? /\.lto\.o$/ : /program\.o$/).test(file);
  return { program: output, sizes: mapSizes(map, isOwn), error: stderr.trim() };
}

/** What the program's script prints, and its status, with the program on its machine. */
export async function transcript({ program, prepared, machine }: Objects, file: string): Promise<string> {
  const dir = `${file}.run`;
  await mustRun(["rm", "-rf", dir]);
  mkdirSync(dir, { recursive: true });
  const script = `${file}.sh`;
  writeFileSync(script, `#!/bin/sh\n${machine.run(file)}\n`);
  chmodSync(script, 0o755);
  const { main } = program.recipe;
  const env = {
    SRC: prepared.dir,
    TESTS: join(projectRoot(), "test", "differential"),
    LC_ALL: "C",
    TZ: "UTC",
    [variableName(main)]: script,
  };
  const { status, stdout, stderr, timedOut } = await run(["sh", "-e", "-c", program.script], {
    cwd: dir,
    env,
    timeoutMs: 240_000,
  });
  const text = (stdout.toString("latin1") + stderr).replaceAll(file, main);
  return `${text}\nstatus ${timedOut ? "timed out" : status}\n`;
}

/**
 * LLVM's verifier takes what is written for it for valid, and its own assembler and disassembler make the same of it.
 * @returns what is wrong, for each version that is installed
 */
export async function verify({ files, dir }: Objects, versions: readonly number[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const version of versions) {
    const [bitcode, again] = [join(dir, `v${version}.bc`), join(dir, `v${version}.again.bc`)];
    const lto = join(projectRoot(), "bin", "tsc-lto");
    const made = await run([lto, ...files, "--emit=bitcode", `--bitcode-version=${version}`, "-o", bitcode]);
    if (made.status !== 0) {
      wrong.push(`for LLVM ${version}: ${made.stderr.trim().split("\n")[0]}`);
      continue;
    }
    const opt = await run([`opt-${version}`, "-passes=verify", bitcode, "-disable-output"]);
    if (opt.status !== 0) wrong.push(`opt-${version}: ${opt.stderr.trim().slice(0, 300)}`);
    const text = await run([`llvm-dis-${version}`, bitcode, "-o", "-"]);
    const assembled = await run([`llvm-as-${version}`, "-", "-o", again], { input: text.stdout });
    if (assembled.status !== 0) wrong.push(`llvm-as-${version}: ${assembled.stderr.trim().slice(0, 300)}`);
    const second = await run([`llvm-dis-${version}`, again, "-o", "-"]);
    const named = (bytes: Buffer): string =>
      bytes.toString("latin1").replace(/^; ModuleID.*\n(?:source_filename.*\n)?/, "");
    if (named(text.stdout) !== named(second.stdout)) wrong.push(`llvm-dis-${version}: not the same again`);
  }
  return wrong;
}

/** Versions of LLVM whose tools are installed. */
export const installedVersions = (): number[] =>
  [15, 16, 17, 18, 19, 20, 21, 22].filter((n) =>
    ["opt", "llvm-as", "llvm-dis"].every((tool) => existsSync(`/usr/bin/${tool}-${n}`)),
  );
