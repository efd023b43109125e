/**
 * Where the project, its commands and the cache of third-party material are.
 *
 * Corpora (upstream packages, test suites, random programs) are never part of the tree: they live in a cache
 * directory, `$TSC_LTO_CACHE` or `~/.cache/tsc-lto`, which can be removed at any time.
 */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** The folder that holds this project's package.json: the working directory or the nearest one above it. */
export function projectRoot(): string {
  for (let dir = process.cwd(); ; dir = dirname(dir)) {
    const file = join(dir, "package.json");
    if (
      existsSync(file) &&
      (JSON.parse(readFileSync(file, "utf8")) as { name?: string }).name === "tsc-lto"
    ) {
      return dir;
    }
    if (dir === dirname(dir)) throw new Error("run this inside the project's folder");
  }
}

/** A folder below the cache directory, made when it is missing. */
export function cacheDir(...path: string[]): string {
  const base = process.env["TSC_LTO_CACHE"] ?? join(homedir(), ".cache", "tsc-lto");
  const dir = join(base, ...path);
  mkdirSync(dir, { recursive: true });
  return dir;
}

/** The first of the named programs that is on PATH. */
export function findProgram(...names: string[]): string | undefined {
  for (const name of names) {
    for (const dir of name === "" ? [] : (process.env["PATH"] ?? "").split(":")) {
      if (dir !== "" && existsSync(join(dir, name))) return join(dir, name);
    }
  }
  return undefined;
}
