/** tsc-cc as a program of its own: link steps run another one, which cannot be of the sources. */
import { spawnSync } from "node:child_process";
import type { Outcome, Workspace } from "../cc/driver.js";
import { builtCommands } from "../support/built.js";
import { anyClang } from "../support/clang.js";

/** Arranges for the build. @returns runs the driver in a workspace, with the clang given or any that is there */
export function builtDriver(): (
  w: Workspace,
  args: readonly string[],
  options?: { readonly clang?: string; readonly env?: Readonly<Record<string, string>> },
) => Outcome {
  const command = builtCommands();
  return (w, args, { clang = anyClang, env = {} } = {}) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [command("tsc-cc"), `--clang=${clang}`, ...args],
      { cwd: w.directory, encoding: "utf8", env: { ...process.env, ...env } },
    );
    return { code: status!, stdout, stderr };
  };
}
