/** A folder for what tests build once for all of them, in one run; gone with the run. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    builds: string;
  }
}

export default function setup({ provide }: TestProject): () => void {
  // Below node_modules, so that programs there find their dependencies.
  const cache = join(resolve(import.meta.dirname, "../.."), "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const builds = mkdtempSync(join(cache, "built-"));
  provide("builds", builds);
  return () => rmSync(builds, { recursive: true, force: true });
}
