/** Our commands as they are installed: by their names, in a folder for PATH. */
import { existsSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { cacheDir, projectRoot } from "./root.js";

/** @param purpose the folder's in the cache */
export function commandsOnPath(purpose: string): string {
  const folder = cacheDir(purpose, "bin");
  for (const name of ["tsc-cc", "tsc-c++", "tsc-lto", "tsc-llvm-ar", "tsc-llvm-ranlib"]) {
    const [link, target] = [join(folder, name), join(projectRoot(), "bin", name)];
    // A folder on PATH that changes has the launcher look for clang again.
    if (existsSync(link) && realpathSync(link) === realpathSync(target)) continue;
    rmSync(link, { force: true });
    symlinkSync(target, link);
  }
  return folder;
}
