/** Linker scripts and `--defsym`, which are the system linker's to carry out: tsc-lto must know which symbols they change. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import { readLinkerScript } from "../../lto/link/index.js";
import type { DriverOptions } from "./driver-options.js";

/** What --defsym and linker scripts, with what they include, assign, mention and keep, and where they say that programs start. */
export function scriptSymbols(
  { defsym, script, libraryPath }: DriverOptions,
  textOf: (file: string) => string,
): { assigned: string[]; mentioned: string[]; kept: string[]; entry: string | null } {
  const assigned = [];
  const mentioned = [];
  const kept = [];
  let entry: string | null = null;
  const directories = ["", ...libraryPath];
  const files = new Set(script);
  const texts = function* () {
    for (const definition of defsym) {
      if (!/^[^=]+=./.test(definition))
        throw new InputError(`--defsym: expected SYMBOL=EXPRESSION, got '${definition}'`);
      yield definition;
    }
    // Sets are walked in the order of insertion, members that come in on the way too.
    for (const file of files) yield textOf(file);
  };
  for (const text of texts()) {
    const found = readLinkerScript(text);
    assigned.push(...found.assigned);
    mentioned.push(...found.mentioned);
    kept.push(...found.kept);
    entry = found.entry ?? entry;
    for (const name of found.included) {
      const paths = directories.map((directory) => join(directory, name));
      files.add(paths.find((path) => existsSync(path)) ?? name);
    }
  }
  return { assigned, mentioned, kept, entry };
}
