/**
 * The commands as programs of their own, built for a test: what needs worker threads cannot run from the sources.
 * Each test file that uses it builds once.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const commands = ["bin/tsc-cc", "bin/tsc-lto", "bin/tsc-ld"] as const;

/** Arranges for the build and its removal. @returns the path of a command, to be run by node, once tests run */
export function builtCommands(): (command: "tsc-cc" | "tsc-lto" | "tsc-ld") => string {
  const built = builtPackage();
  return (command) => join(built(), "bin", command);
}

/** Arranges for the build and its removal. @returns the path of a package without bundles, once tests run */
export const builtPackage = (): (() => string) => buildPackage(false);

/** The same with bundles. */
export const bundledPackage = (): (() => string) => buildPackage(true);

function buildPackage(withBundles: boolean): () => string {
  let built = "";
  beforeAll(() => {
    // Below node_modules, so that the program finds its dependencies.
    const cache = join(root, "node_modules/.cache");
    mkdirSync(cache, { recursive: true });
    built = mkdtempSync(join(cache, "built-"));
    mkdirSync(join(built, "bin"));
    for (const file of [...commands, "package.json"]) copyFileSync(join(root, file), join(built, file));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    // Type errors are another test's business.
    spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", join(built, "dist")], {
      cwd: root,
    });
    if (!withBundles) return;
    const rolldown = join(root, "node_modules/rolldown/bin/cli.mjs");
    const { status, stderr } = spawnSync(
      process.execPath,
      [rolldown, "-c", join(root, "rolldown.config.ts")],
      { cwd: built, encoding: "utf8" },
    );
    if (status !== 0) throw new Error(`bundling: ${stderr}`);
  }, 240_000);
  afterAll(() => rmSync(built, { recursive: true, force: true }));
  return () => built;
}
