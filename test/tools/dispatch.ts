/**
 * `npm run dispatch [-- library…]`: libraries that choose by the processor what computes (dispatch-recipes.ts), built as they are by their
 * own build systems with `CC=tsc-cc` and with clang's link-time optimisation, both at -O3: their tests, that the functions for wide
 * registers are reached (a breakpoint of GDB's), and processor time in turn.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandsOnPath } from "./commands.js";
import { debianSource } from "./debian.js";
import { type DispatchRecipe, dispatchRecipes, type TimedCommand } from "./dispatch-recipes.js";
import type { DispatchFigure, DispatchFigures, MeasuredCommand } from "./measurements/dispatch.js";
import { parseCommandLine } from "./options.js";
import { mustRun, run } from "./process.js";
import { cacheDir, findProgram, projectRoot } from "./root.js";
import { makeTally } from "./tally.js";
import { systemCompiler } from "./toolchain.js";

const usage = `usage: npm run dispatch -- [library…] [options]
  library        of ${dispatchRecipes.map(({ name }) => name.split(" ")[0]).join(", ")} (default: all)
  --rounds N     runs of each side, of which the least counts (default 7)
  --source DIR   of the one library that is named, instead of Debian's; without it, libraries that Debian does not have are left out
  --out FILE     put what was measured in a file of figures, beside what it has of others
  --jobs N       jobs of a build at a time`;

const { values, words } = parseCommandLine(
  {
    out: { type: "string" },
    source: { type: "string" },
    rounds: { type: "string", default: "7" },
  },
  usage,
);
const rounds = Number(values["rounds"]);
const chosen = dispatchRecipes.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.split(" ")[0] === word),
);
if (chosen.length === 0 || (values["source"] !== undefined && chosen.length !== 1)) {
  console.error(usage);
  process.exit(2);
}

const clang = systemCompiler();
const version = /-\d+$/.exec(clang)?.[0] ?? "";
const rust = (options: readonly string[]): string => options.map((option) => `-C${option}`).join(" ");

/** What a build finds in its environment. */
const environments = {
  ours: {
    CC: "tsc-cc",
    CXX: "tsc-c++",
    CFLAGS: "-O3 -flto",
    CXXFLAGS: "-O3 -flto",
    LDFLAGS: "-flto",
    AR: "ar",
    RANLIB: "ranlib",
    RUSTFLAGS: rust(["linker-plugin-lto", "linker=tsc-cc", "link-arg=-Wl,--tsc-lto=-O3"]),
  },
  clang: {
    CC: clang,
    CXX: clang.replace(/clang(?=-\d+$|$)/, "clang++"),
    CFLAGS: "-O3 -flto",
    CXXFLAGS: "-O3 -flto",
    LDFLAGS: "-flto -fuse-ld=lld",
    AR: `llvm-ar${version}`,
    RANLIB: `llvm-ranlib${version}`,
    NM: `llvm-nm${version}`,
    RUSTFLAGS: rust([
      "linker-plugin-lto",
      `linker=${clang}`,
      "link-arg=-fuse-ld=lld",
      "link-arg=-flto",
      "link-arg=-O3",
    ]),
  },
} as const;
type Side = keyof typeof environments;
const sides: readonly Side[] = ["ours", "clang"];
const path = `${commandsOnPath("dispatch")}:${process.env["PATH"]}`;

/** The folder of a library's source, which nobody changes. */
async function sourceOf({ source }: DispatchRecipe): Promise<string> {
  if (values["source"] !== undefined) return String(values["source"]);
  if ("debian" in source) return debianSource(source.debian);
  if ("repository" in source) throw new Error(`no --source of ${source.repository}`);
  const dir = cacheDir("packaged", source.packages[0]!);
  if (!existsSync(join(dir, "usr"))) {
    await mustRun(["apt-get", "-q", "download", ...source.packages], { cwd: dir });
    for (const file of readdirSync(dir).filter((name) => name.endsWith(".deb")))
      await mustRun(["dpkg-deb", "-x", file, "."], { cwd: dir });
  }
  return execFileSync("sh", ["-c", `ls -d ${source.folder}`], { cwd: dir, encoding: "utf8" })
    .trim()
    .split("\n")
    .map((folder) => join(dir, folder))[0]!;
}

const environmentOf = (side: Side): Record<string, string> => ({
  ...(process.env as Record<string, string>),
  ...environments[side],
  PATH: path,
  LC_ALL: "C",
  JOBS: String(values["jobs"]),
  DRIVERS: join(projectRoot(), "fixtures/dispatch"),
});

async function build(recipe: DispatchRecipe, source: string, dir: string, side: Side): Promise<void> {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  cpSync(source, dir, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  await mustRun(["sh", "-ec", recipe.build], { cwd: dir, env: environmentOf(side), timeoutMs: 3_600_000 });
}

/** The widest registers of the first function that is reached of those that are to be; null: none is. */
async function reached(
  { command, reaches }: TimedCommand,
  dir: string,
): Promise<{ name: string; widest: string } | null> {
  const steps = ["set confirm off", "break main", "run", `rbreak ${reaches}`, "continue", "disassemble"];
  const { stdout } = await run(
    [
      "gdb",
      "-q",
      "-nx",
      "-batch",
      ...steps.flatMap((step) => ["-ex", step]),
      "--args",
      ...command.split(" "),
    ],
    { cwd: dir, env: environmentOf("clang"), timeoutMs: 120_000 },
  );
  const text = stdout.toString("latin1");
  const last = [...text.matchAll(/^Breakpoint \d+, (?:0x[0-9a-f]+ in )?([^(\n]+?)(?: \(|$)/gm)].at(-1)?.[1];
  const code = /Dump of assembler code for function (.*):\n([\s\S]*?)End of assembler dump/.exec(text);
  if (last === undefined || code === null || last === "main") return null;
  const widest = ["zmm", "ymm", "xmm"].find((register) => code[2]!.includes(`%${register}`));
  // Without the hash that rustc adds to names.
  return { name: last.replace(/::h[0-9a-f]{16}$/, ""), widest: widest ?? "general" };
}

interface Timed {
  readonly seconds: number;
  readonly output: string;
}
async function timed({ command }: TimedCommand, dir: string, side: Side): Promise<Timed> {
  const result = await run(command.split(" "), { cwd: dir, env: environmentOf(side), measure: true });
  if (result.status !== 0) throw new Error(`${command} with ${side}: status ${result.status}`);
  return {
    seconds: result.cpuSeconds,
    output: result.stdout.toString("latin1").replace(/.*(?:time|Time|MB\/s).*\n/g, ""),
  };
}

const { report, finish } = makeTally();

/** One command on both sides, in turn. @returns null: the function for the processor is not reached */
async function measure(
  each: TimedCommand,
  dirs: Readonly<Record<Side, string>>,
  what: string,
): Promise<MeasuredCommand | null> {
  const least = { ours: Number.POSITIVE_INFINITY, clang: Number.POSITIVE_INFINITY };
  const outputs = { ours: "", clang: "" };
  for (let round = 0; round < rounds; round++)
    for (const side of sides) {
      const { seconds, output } = await timed(each, dirs[side], side);
      least[side] = Math.min(least[side], seconds);
      outputs[side] = output;
    }
  const at = await reached(each, dirs.ours);
  const ratio = Math.round((1000 * least.ours) / least.clang) / 1000;
  report(at !== null, `${what}: reaches ${at === null ? each.reaches : `${at.name}, ${at.widest}`}`);
  const seconds = sides.map((side) => least[side].toFixed(2));
  report(outputs.ours === outputs.clang, `${what}: ${seconds[0]} s, clang's ${seconds[1]} s, ${ratio}`);
  return at === null ? null : { title: each.title, reached: at.name, widest: at.widest, ratio };
}

const figures: Record<string, DispatchFigure> = {};

for (const recipe of chosen) {
  if ("repository" in recipe.source && values["source"] === undefined) {
    console.log(`skip ${recipe.name}: no --source of ${recipe.source.repository}`);
    continue;
  }
  const missing = [...recipe.needs, "gdb"].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) {
    console.log(`skip ${recipe.name}: no ${missing.join(", ")}`);
    continue;
  }
  const dirs = { ours: "", clang: "" };
  const passed: Side[] = [];
  try {
    const source = await sourceOf(recipe);
    for (const side of sides) {
      dirs[side] = join(cacheDir("dispatch", recipe.name.split(" ")[0]!), side);
      await build(recipe, source, dirs[side], side);
      const env = environmentOf(side);
      const { status } = await run(["sh", "-ec", recipe.check], {
        cwd: dirs[side],
        env,
        timeoutMs: 3_600_000,
      });
      if (status === 0) passed.push(side);
      report(
        status === 0 || side === "clang",
        `${recipe.name}: tests with ${side}`,
        status === 0 ? "" : `status ${status}`,
      );
    }
  } catch (e) {
    report(false, recipe.name, (e as Error).message.slice(-600));
    continue;
  }
  const commands: MeasuredCommand[] = [];
  for (const each of recipe.timed) {
    try {
      const measured = await measure(each, dirs, `${recipe.name}, ${each.title}`);
      if (measured !== null) commands.push(measured);
    } catch (e) {
      report(false, `${recipe.name}, ${each.title}`, (e as Error).message);
    }
  }
  figures[recipe.name] = { tests: passed.includes("ours"), commands };
}

if (typeof values["out"] === "string") {
  const file = values["out"];
  const before = existsSync(file)
    ? (JSON.parse(readFileSync(file, "utf8")) as DispatchFigures).libraries
    : {};
  const all = { ...before, ...figures };
  const out: DispatchFigures = {
    commit: execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim(),
    command: `npm run dispatch -- --out ${file}`,
    libraries: Object.fromEntries(
      dispatchRecipes.flatMap(({ name }) => (all[name] ? [[name, all[name]]] : [])),
    ),
  };
  writeFileSync(file, `${JSON.stringify(out, null, 1)}\n`);
}
finish();
