/**
 * The commands as programs of their own, built for tests: what needs worker threads cannot run from the sources.
 * They are built once in a run of the tests, for the first file that asks; nobody may change them.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, inject } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const commands = ["bin/tsc-cc", "bin/tsc-lto", "bin/tsc-ld"] as const;

/** Arranges for the build. @returns the path of a command, to be run by node, once tests run */
export function builtCommands(): (command: "tsc-cc" | "tsc-lto" | "tsc-ld") => string {
  const built = builtPackage();
  return (command) => join(built(), "bin", command);
}

/** Arranges for the build. @returns the path of a package without bundles, once tests run */
export function builtPackage(): () => string {
  const built = join(inject("builds"), "package");
  beforeAll(() => buildOnce(built), 240_000);
  return () => built;
}

/** Arranges for a package with bundles and its removal. @returns its path, once tests run */
export function bundledPackage(): () => string {
  const built = builtPackage();
  const bundled = join(inject("builds"), "bundled");
  beforeAll(() => {
    cpSync(built(), bundled, { recursive: true });
    const rolldown = join(root, "node_modules/rolldown/bin/cli.mjs");
    const { status, stderr } = spawnSync(
      process.execPath,
      [rolldown, "-c", join(root, "rolldown.config.ts")],
      { cwd: bundled, encoding: "utf8" },
    );
    if (status !== 0) throw new Error(`bundling: ${stderr}`);
  }, 240_000);
  afterAll(() => rmSync(bundled, { recursive: true, force: true }));
  return () => bundled;
}

/** Test files run at the same time: one builds, the others wait. */
async function buildOnce(built: string): Promise<void> {
  if (existsSync(built)) return;
  const unfinished = `${built}.tmp`;
  try {
    mkdirSync(unfinished);
  } catch {
    while (!existsSync(built)) await new Promise((wake) => setTimeout(wake, 50));
    return;
  }
  mkdirSync(join(unfinished, "bin"));
  for (const file of [...commands, "package.json"]) copyFileSync(join(root, file), join(unfinished, file));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  // Type errors are another test's business.
  spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", join(unfinished, "dist")], {
    cwd: root,
  });
  renameSync(unfinished, built);
}
