/**
 * The package as `npm run build` makes it, for tests of what cannot run from the sources: programs of their own, worker
 * threads. It is built once in a run of the tests, for the first file that asks; nobody may change it. With bundles a
 * command starts in a quarter of the time that it takes without.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, renameSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, inject } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const commands = ["bin/tsc-cc", "bin/clang-only.sh", "bin/tsc-lto", "bin/tsc-ld"] as const;

/** Arranges for the build. @returns the path of a command, to be run by node, once tests run */
export function builtCommands(): (command: "tsc-cc" | "tsc-lto" | "tsc-ld") => string {
  const built = builtPackage();
  return (command) => join(built(), "bin", command);
}

/** Arranges for the build. @returns the path of the package, once tests run */
export function builtPackage(): () => string {
  const built = packagePath();
  beforeAll(() => buildOnce(built), 240_000);
  return () => built;
}

const packagePath = (): string => join(inject("builds"), "package");

/** A module of the package, by its path below `dist`, for tests that run it in their process. Node loads it, not vitest. */
export async function builtModule<Module>(path: string): Promise<Module> {
  const built = packagePath();
  await buildOnce(built);
  return import(pathToFileURL(join(built, "dist", path)).href) as Promise<Module>;
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
  const node = (program: string, args: readonly string[], cwd: string) =>
    spawnSync(process.execPath, [join(root, "node_modules", program), ...args], { cwd, encoding: "utf8" });
  // Type errors are another test's business.
  node("typescript/bin/tsc", ["-p", "tsconfig.build.json", "--outDir", join(unfinished, "dist")], root);
  const { status, stderr } = node(
    "rolldown/bin/cli.mjs",
    ["-c", join(root, "rolldown.config.ts")],
    unfinished,
  );
  // Those who wait shall not do so for ever.
  renameSync(unfinished, built);
  if (status !== 0) throw new Error(`bundling: ${stderr}`);
}
