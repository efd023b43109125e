/**
 * `npm run builds [-- package…]`: builds Debian source packages by their own build systems, as they are, with `CC=tsc-cc
 * CXX=tsc-c++` and with clang's and GCC's link-time optimisation, runs their tests, and prints what is loaded of what they install
 * and the processor time of configuring and building.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildRecipe, buildRecipes } from "./build-recipes.js";
import { commandsOnPath } from "./commands.js";
import { debianSource } from "./debian.js";
import type { BuildFigures } from "./measurements/builds.js";
import { parseCommandLine, splitWords } from "./options.js";
import { mustRun, run } from "./process.js";
import { cacheDir, findProgram, projectRoot } from "./root.js";
import { makeTally } from "./tally.js";

const usage = `usage: npm run builds -- [package…] [options]
  package        ${buildRecipes.map(({ debian }) => debian).join(" ")}
                 (default: all)
  --with NAMES   compilers, separated by spaces: ours clang gcc (default: all)
  --jobs N       jobs of a build at a time
  --out FILE     put what was measured in a file of figures, beside what it has of other packages
  -v             show where the output of each step is`;

interface Tools {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
}

/** What is measured of a build. */
interface Built {
  readonly configureSeconds: number;
  readonly buildSeconds: number;
  /** Allocated bytes in the file, of each that is measured, by the recipe's glob. */
  readonly loaded: ReadonlyMap<string, number>;
  /** Of the package's tests: how they ended and what they counted. */
  readonly tests: string;
}

const { values, words } = parseCommandLine(
  { with: { type: "string", default: "ours clang gcc" }, out: { type: "string" } },
  usage,
);
const jobs = String(values["jobs"]);
const chosen = words.length === 0 ? buildRecipes : words.map(recipeNamed);

function recipeNamed(name: string): BuildRecipe {
  const recipe = buildRecipes.find(({ debian }) => debian === name);
  if (recipe !== undefined) return recipe;
  console.error(`no package '${name}'\n\n${usage}`);
  process.exit(2);
}

/** The newest clang, and the number in its name, if it has one. */
const clang =
  findProgram(...(process.env["CLANG"] ? [process.env["CLANG"]] : []), "clang-22", "clang-19", "clang") ??
  "clang";
const version = /-\d+$/.exec(clang)?.[0] ?? "";

/** Cargo's settings. @param lto what rustc itself does */
const rust = (options: readonly string[], lto: "off" | "fat"): Record<string, string> => ({
  RUSTFLAGS: options.map((option) => `-C${option}`).join(" "),
  CARGO_PROFILE_RELEASE_OPT_LEVEL: "z",
  CARGO_PROFILE_RELEASE_LTO: lto,
});

function ours(): Tools {
  const env = {
    CC: "tsc-cc",
    CXX: "tsc-c++",
    CFLAGS: "-Oz",
    CXXFLAGS: "-Oz",
    // Rust's standard library is built for speed, which is not what is measured here.
    ...rust(["linker-plugin-lto", "linker=tsc-cc", "link-arg=-Wl,--tsc-lto=-Oz"], "off"),
    PATH: `${commandsOnPath("builds")}:${process.env["PATH"]}`,
  };
  // What the launcher finds out of clang once is no package's cost.
  for (const command of ["tsc-cc", "tsc-c++"])
    spawnSync(command, ["-c", "-x", "c", "/dev/null", "-o", "/dev/null"], {
      env: { ...process.env, ...env },
    });
  return { name: "ours", env };
}

const toolsNamed: Readonly<Record<string, () => Tools>> = {
  ours,
  clang: () => ({
    name: "clang",
    env: {
      CC: clang,
      CXX: clang.replace(/clang(-\d+)?$/, "clang++$1"),
      CFLAGS: "-Oz -flto",
      CXXFLAGS: "-Oz -flto",
      LDFLAGS: "-flto -fuse-ld=lld",
      AR: `llvm-ar${version}`,
      RANLIB: `llvm-ranlib${version}`,
      NM: `llvm-nm${version}`,
      ...rust(["linker-plugin-lto", `linker=${clang}`, "link-arg=-fuse-ld=lld"], "off"),
    },
  }),
  gcc: () => ({
    name: "gcc",
    env: {
      CC: "gcc",
      CXX: "g++",
      CFLAGS: "-Os -flto=auto",
      CXXFLAGS: "-Os -flto=auto",
      LDFLAGS: "-flto=auto",
      AR: "gcc-ar",
      RANLIB: "gcc-ranlib",
      NM: "gcc-nm",
      // rustc's own.
      ...rust(["linker=gcc"], "fat"),
    },
  }),
};

/** One build. @throws Error with the end of the output of the step that failed */
async function build(recipe: BuildRecipe, pristine: string, { name, env }: Tools): Promise<Built> {
  const dir = join(cacheDir("builds", recipe.debian), name);
  rmSync(dir, { recursive: true, force: true });
  cpSync(pristine, dir, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  const step = async (what: string, command: string, measured: boolean) => {
    const result = await run(["sh", "-ec", command], {
      cwd: dir,
      env: { ...(process.env as Record<string, string>), JOBS: jobs, LC_ALL: "C", ...env },
      timeoutMs: 3_600_000,
      measure: measured,
    });
    const log = join(dir, `tsc-lto-${what}.log`);
    writeFileSync(log, `${result.stdout.toString("latin1")}\n${result.stderr}`);
    if (values["verbose"] === true) console.log(`     ${recipe.debian} ${name} ${what}: ${log}`);
    if (measured && result.status !== 0)
      throw new Error(
        `${what} with ${name}: status ${result.status}: ${result.stderr.trim().slice(-300)} (${log})`,
      );
    return result;
  };
  const configured = await step("configure", recipe.configure, true);
  const made = await step("build", recipe.build, true);
  const checked = await step("check", recipe.check, false);
  return {
    configureSeconds: configured.cpuSeconds,
    buildSeconds: made.cpuSeconds,
    loaded: loadedOf(recipe, dir),
    tests: [`status ${checked.status}`, ...summaryOf(checked.stdout.toString("latin1"))].join("\n"),
  };
}

function loadedOf({ files }: BuildRecipe, dir: string): Map<string, number> {
  const loaded = new Map<string, number>();
  for (const glob of files) {
    const { stdout } = spawnSync("sh", ["-c", `size $(ls -d ${glob} | head -n 1)`], {
      cwd: dir,
      encoding: "utf8",
    });
    const [text, data] = (stdout.split("\n")[1] ?? "").trim().split(/\s+/).map(Number);
    if (text !== undefined && data !== undefined && text > 0) loaded.set(glob, text + data);
  }
  return loaded;
}

/** Lines that count tests, or tell how one ended: of Automake, CTest, Meson, cargo and busybox; and what our own program prints. */
const summaryOf = (output: string): string[] =>
  output
    .split("\n")
    .filter((line) =>
      /^(?:# )?(?:PASS|FAIL|XPASS|XFAIL|ERROR|SKIP): |^\d+% tests passed|^(?:Ok|Fail|Expected Fail|Timeout): |^test .* \.\.\. |^status \d|^ +\d+ \w|^\{"word"/.test(
        line,
      ),
    )
    .map((line) => line.replace(/\s+/g, " ").trim())
    .sort();

/** Puts figures in a file, in the order of the recipes. */
function keep(file: string): void {
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as BuildFigures).packages : {};
  const known = new Map(Object.entries(before));
  const round = (x: number): number => Math.round(100 * x) / 100;
  for (const { recipe, built } of rows) {
    const [own, byClang, byGcc] = [built.get("ours"), built.get("clang"), built.get("gcc")];
    if (own === undefined) continue;
    known.set(recipe.debian, {
      system: systemOf(recipe),
      loaded: {
        ours: sum(own.loaded),
        ...(byClang && { clang: sum(byClang.loaded) }),
        ...(byGcc && { gcc: sum(byGcc.loaded) }),
      },
      ...(byClang && {
        cpu: {
          configure: round(own.configureSeconds / byClang.configureSeconds),
          build: round(own.buildSeconds / byClang.buildSeconds),
        },
      }),
    });
  }
  const packages = Object.fromEntries(
    buildRecipes.flatMap(({ debian }) => (known.has(debian) ? [[debian, known.get(debian)!]] : [])),
  );
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const figures: BuildFigures = { commit, command: `npm run builds -- --out ${file}`, packages };
  writeFileSync(file, `${JSON.stringify(figures, null, 1)}\n`);
}

const { report, finish } = makeTally();

/** What is different first; nothing where nothing is. */
function difference(expected: string, found: string): string {
  const [x, y] = [expected.split("\n"), found.split("\n")];
  const i = x.findIndex((line, k) => line !== y[k]);
  if (i < 0) return y.length > x.length ? `more: ${y[x.length]}` : "";
  return `${x[i]} with clang, ${y[i] ?? "nothing"} with ours`;
}

const sum = (sizes: ReadonlyMap<string, number>): number => [...sizes.values()].reduce((a, b) => a + b, 0);
const systemOf = ({ system, cxx }: BuildRecipe): string => `${system}${cxx ? ", C++" : ""}`;
const ratio = (a: number, b: number): string => (b > 0 ? (a / b).toFixed(2) : "");

interface Row {
  readonly recipe: BuildRecipe;
  readonly built: ReadonlyMap<string, Built>;
}
const rows: Row[] = [];

for (const recipe of chosen) {
  const missing = (recipe.needs ?? []).filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) {
    console.log(`skip ${recipe.debian}: no ${missing.join(", ")}`);
    continue;
  }
  const pristine = join(cacheDir("builds", recipe.debian), "source");
  const built = new Map<string, Built>();
  try {
    const source =
      recipe.folder === undefined ? await debianSource(recipe.debian) : join(projectRoot(), recipe.folder);
    rmSync(pristine, { recursive: true, force: true });
    mkdirSync(pristine, { recursive: true });
    cpSync(source, pristine, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    if (recipe.prepare !== undefined) await mustRun(["sh", "-ec", recipe.prepare], { cwd: pristine });
  } catch (e) {
    report(false, `${recipe.debian} prepare`, (e as Error).message.slice(-300));
    continue;
  }
  for (const name of splitWords(String(values["with"]))) {
    try {
      built.set(name, await build(recipe, pristine, toolsNamed[name]!()));
      report(true, `${recipe.debian} build with ${name}`);
    } catch (e) {
      // Others' failures are not ours: there is nothing to compare with then.
      if (name === "ours") report(false, `${recipe.debian} build`, (e as Error).message);
      else console.log(`     ${recipe.debian}: ${(e as Error).message}`);
    }
  }
  rows.push({ recipe, built });
  const [own, reference] = [built.get("ours"), built.get("clang") ?? built.get("gcc")];
  if (own === undefined || reference === undefined) continue;
  const detail = difference(reference.tests, own.tests);
  report(detail === "", `${recipe.debian} tests (${own.tests.split("\n").length - 1} lines)`, detail);
  report(own.loaded.size > 0, `${recipe.debian} has ${[...own.loaded.keys()].join(" ")}`);
}

console.log(`
| package | build system | loaded bytes | clang -Oz -flto | gcc -Os -flto | of the smaller | configure, of clang's CPU | build, of clang's CPU |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |`);
const ratios: number[] = [];
for (const { recipe, built } of rows) {
  const [own, byClang, byGcc] = [built.get("ours"), built.get("clang"), built.get("gcc")];
  if (own === undefined) continue;
  const bytes = [byClang, byGcc].flatMap((each) => (each === undefined ? [] : [sum(each.loaded)]));
  const smaller = Math.min(...bytes);
  if (bytes.length > 0 && smaller > 0) ratios.push(sum(own.loaded) / smaller);
  const cells = [
    recipe.debian,
    systemOf(recipe),
    sum(own.loaded),
    byClang === undefined ? "" : sum(byClang.loaded),
    byGcc === undefined ? "" : sum(byGcc.loaded),
    bytes.length === 0 ? "" : ratio(sum(own.loaded), smaller),
    byClang === undefined ? "" : ratio(own.configureSeconds, byClang.configureSeconds),
    byClang === undefined ? "" : ratio(own.buildSeconds, byClang.buildSeconds),
  ];
  console.log(`| ${cells.join(" | ")} |`);
}
if (ratios.length > 0) {
  const mean = Math.exp(ratios.reduce((a, r) => a + Math.log(r), 0) / ratios.length);
  console.log(
    `\ngeometric mean ${mean.toFixed(3)} of the smaller, greatest ${Math.max(...ratios).toFixed(3)}`,
  );
}
if (typeof values["out"] === "string") keep(values["out"]);
finish();
