/**
 * Which clang compiles: the one the user names (`--clang=`, TSC_LTO_CLANG), else the newest on PATH, else the
 * embedded one.
 */
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import type { Host } from "../host/host.js";
import { removeTemporary, temporaryDirectory } from "../host/interrupts.js";
import { runTool } from "../host/tools.js";
import { type Ability, knownCompiler, rememberCompiler } from "./compiler-choice.js";

/** The oldest LLVM whose bitcode has opaque pointers throughout. */
const oldestVersion = 15;

export type CompilerChoice =
  | { readonly kind: "system"; readonly path: string; readonly version: string }
  | { readonly kind: "embedded" };

/**
 * @param requested value of `--clang=`, if given
 * @throws InputError when the requested compiler does not run, is not clang or is too old
 */
export async function chooseCompiler(requested: string | undefined, host: Host): Promise<CompilerChoice> {
  const named = requested ?? host.env["TSC_LTO_CLANG"] ?? "";
  if (named === "embedded") return { kind: "embedded" };
  if (named !== "") {
    const before = knownCompiler("named-clang", host, named);
    const version = before === undefined ? await clangVersion(named, host) : before.version;
    if (version === undefined) throw new InputError(`'${named}' is not a clang that runs`);
    if (majorOf(version) < oldestVersion)
      throw new InputError(`'${named}' is clang ${version}; at least ${oldestVersion} is needed`);
    if (before === undefined) {
      const able = await abilities(named, version, host);
      rememberCompiler("named-clang", { path: named, version, able }, host);
    }
    return { kind: "system", path: named, version };
  }
  const before = knownCompiler("clang", host);
  if (before !== undefined)
    return before.path === ""
      ? { kind: "embedded" }
      : { kind: "system", path: before.path, version: before.version };
  const found = await Promise.all(
    candidates(host.env["PATH"] ?? "").map(async (path) => ({
      path,
      version: await clangVersion(path, host),
    })),
  );
  let best: CompilerChoice = { kind: "embedded" };
  for (const { path, version } of found) {
    if (version === undefined || majorOf(version) < oldestVersion) continue;
    // Among equals the first on PATH stays.
    if (best.kind === "embedded" || compareVersions(version, best.version) > 0)
      best = { kind: "system", path, version };
  }
  const known =
    best.kind === "embedded"
      ? { path: "", version: "", able: [] }
      : { ...best, able: await abilities(best.path, best.version, host) };
  rememberCompiler("clang", known, host);
  return best;
}

/** The oldest that knows -ffat-lto-objects for every language. */
const oldestFat = 18;

/** What is tried, once a machine: a clang may find no C library, or headers of C++ without the library. */
const trials: readonly (readonly [Ability, readonly string[], string])[] = [
  ["links-c", ["-x", "c"], "#include <stdlib.h>\nint main(void) { return abs(0); }\n"],
  ["links-c++", ["--driver-mode=g++", "-x", "c++"], "#include <new>\nint main() { delete new int; }\n"],
];

async function abilities(path: string, version: string, host: Host): Promise<Ability[]> {
  const directory = temporaryDirectory(tmpdir(), "tsc-cc-");
  try {
    const tried = await Promise.all(
      trials.map(async ([ability, words, source]) => {
        const output = join(directory, ability);
        const options = { live: false, stdin: Buffer.from(source), timeout: 20_000 };
        const { exitCode } = await runTool(path, [...words, "-", "-o", output], host, options);
        return exitCode === 0 && existsSync(output) ? [ability] : [];
      }),
    );
    return [...tried.flat(), ...(majorOf(version) < oldestFat ? [] : (["fat"] as const))];
  } finally {
    removeTemporary(directory);
  }
}

/** Programs on PATH whose name is that of a clang, each file once, in the order of PATH. */
function candidates(path: string): string[] {
  const result: string[] = [];
  const seen = new Set<string>();
  for (const directory of path.split(delimiter)) {
    if (directory === "") continue;
    let names: string[];
    try {
      names = readdirSync(directory).filter((name) => /^clang(-\d+)?$/.test(name));
    } catch {
      continue;
    }
    for (const name of names.sort()) {
      try {
        const real = realpathSync(join(directory, name));
        if (!seen.has(real)) result.push(join(directory, name));
        seen.add(real);
      } catch {
        // A dangling link is no candidate.
      }
    }
  }
  return result;
}

/** `19.1.7`, or undefined when `path` does not run or is another program. */
async function clangVersion(path: string, host: Host): Promise<string | undefined> {
  const { exitCode, stdout } = await runTool(path, ["--version"], host, { live: false, timeout: 20_000 });
  const text = Buffer.from(stdout).toString("utf8");
  return exitCode === 0 ? /clang version (\d+(?:\.\d+)*)/.exec(text)?.[1] : undefined;
}

export function majorOf(version: string): number {
  return Number.parseInt(version, 10);
}

function compareVersions(a: string, b: string): number {
  const x = a.split(".").map(Number);
  const y = b.split(".").map(Number);
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const difference = (x[i] ?? 0) - (y[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
