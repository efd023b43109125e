/**
 * Prepared packages: fetched, unpacked, configured, with their lists of compilations; kept in the cache, and built
 * and checked with any toolchain from there.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CapturedProgram } from "./capture.js";
import { debianSource } from "./debian.js";
import type { Check, Recipe } from "./packages/recipe.js";
import { run } from "./process.js";
import { cacheDir, projectRoot } from "./root.js";
import type { BuildJob, BuildResult, Toolchain } from "./toolchain.js";

export interface Prepared {
  readonly recipe: Recipe;
  readonly dir: string;
  readonly programs: ReadonlyMap<string, CapturedProgram>;
}

/** The package ready to be compiled; made at the first call, later read from the cache. */
export async function prepare(recipe: Recipe): Promise<Prepared> {
  const dir = join(cacheDir("prepared"), recipe.name);
  const list = `${dir}.json`;
  if (!existsSync(list)) {
    const source = await debianSource(recipe.debian);
    rmSync(dir, { recursive: true, force: true });
    cpSync(source, dir, { recursive: true, preserveTimestamps: true });
    const programs = await recipe.prepare(dir);
    writeFileSync(`${list}.new`, JSON.stringify([...programs], null, 1));
    renameSync(`${list}.new`, list);
  }
  const programs = new Map(JSON.parse(readFileSync(list, "utf8")) as [string, CapturedProgram][]);
  return { recipe, dir, programs };
}

/** Builds one program of a package. The executable is `dir/NAME`. */
export function buildProgram(
  prepared: Prepared,
  name: string,
  tool: Toolchain,
  level: string,
  dir: string,
  options: Partial<BuildJob> = {},
): Promise<BuildResult> {
  const p = prepared.programs.get(name);
  if (p === undefined) throw new Error(`${prepared.recipe.name} has no program ${name}`);
  mkdirSync(dir, { recursive: true });
  return tool.build({
    units: p.units,
    level,
    libs: p.libs,
    objects: p.objects,
    exe: join(dir, name),
    dir: join(dir, `${name}.build`),
    pie: true,
    ...options,
  });
}

/** What a check printed, and its exit status. */
export async function transcript(prepared: Prepared, check: Check, programs: string): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), "check-"));
  const env: Record<string, string> = {
    SRC: prepared.dir,
    TESTS: join(projectRoot(), "test", "differential"),
    LC_ALL: "C",
    TZ: "UTC",
  };
  for (const name of prepared.programs.keys()) env[variableName(name)] = join(programs, name);
  const r = await run(["sh", "-e", "-c", check.script], {
    cwd,
    env,
    timeoutMs: (check.seconds ?? 240) * 1000,
  });
  rmSync(cwd, { recursive: true, force: true });
  const clean = (r.stdout.toString("latin1") + r.stderr).replaceAll(programs, "").replaceAll(cwd, "");
  return `${clean}\nstatus ${r.timedOut ? "timed out" : r.status}\n`;
}

/** The shell variable of a program. It ends in _ because gzip and bzip2 take options from variables of their names. */
export function variableName(program: string): string {
  return `${program.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_`;
}
