/** The bitcode of the benchmark programs, compiled once by clang and kept in the cache. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Recipe } from "./packages/recipe.js";
import { prepare } from "./prepared.js";
import { cacheDir } from "./root.js";
import { toolchain } from "./toolchain.js";

export interface BenchmarkObjects {
  readonly objects: readonly string[];
  /** Folder for what is made of them. */
  readonly dir: string;
}

/** @throws Error when clang fails */
export async function benchmarkObjects(recipe: Recipe, level: string): Promise<BenchmarkObjects> {
  const prepared = await prepare(recipe);
  const program = prepared.programs.get(recipe.main)!;
  const dir = cacheDir("compare", recipe.name, level);
  const job = { ...program, level, exe: join(dir, "exe"), dir: join(dir, "objects"), pie: false, jobs: 2 };
  mkdirSync(job.dir, { recursive: true });
  const known = program.units.map((_, i) => join(job.dir, `${i}.o`));
  const objects = known.every((o) => existsSync(o)) ? known : await toolchain("clang-lto").compile(job);
  if (!Array.isArray(objects)) throw new Error(`${recipe.name}: ${objects.message}`);
  return { objects, dir };
}
