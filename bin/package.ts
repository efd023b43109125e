/** The package this code belongs to, found from wherever the code is: built in `dist/`, or as sources. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

interface Package {
  /** Absolute path of the package's folder. */
  readonly directory: string;
  readonly version: string;
}

let found: Package | undefined;

/** @throws Error when no folder above this file has the package's `package.json` */
export function ownPackage(): Package {
  for (let at = new URL(".", import.meta.url); found === undefined; at = new URL("..", at)) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL("package.json", at), "utf8"));
      if (name === "tsc-lto") found = { directory: fileURLToPath(at), version };
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code !== "ENOENT") throw e;
    }
    if (at.pathname === "/" && found === undefined) throw new Error("package.json is missing");
  }
  return found;
}
