/** Programs given as folders of bitcode that somebody compiled already. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

export interface BitcodeFolder {
  readonly name: string;
  /** Its object files, by name. */
  readonly objects: readonly string[];
}

const objectsIn = (dir: string): string[] =>
  existsSync(dir) && statSync(dir).isDirectory()
    ? readdirSync(dir)
        .filter((file) => /\.(o|bc)$/.test(file))
        .sort()
        .map((file) => join(dir, file))
    : [];

/**
 * The programs of a folder, by name: DIR/PROGRAM/LEVEL/*.o, or DIR/PROGRAM/*.o for every level.
 * @param wanted names; empty: all
 * @throws Error where there is no program, or not one of the wanted
 */
export function bitcodeFolders(dir: string, level: string, wanted: readonly string[]): BitcodeFolder[] {
  if (!existsSync(dir)) throw new Error(`${dir}: no such folder`);
  const found: BitcodeFolder[] = [];
  for (const name of wanted.length > 0 ? wanted : readdirSync(dir).sort()) {
    const ofLevel = objectsIn(join(dir, name, level));
    const objects = ofLevel.length > 0 ? ofLevel : objectsIn(join(dir, name));
    if (objects.length > 0) found.push({ name, objects });
    else if (wanted.length > 0) throw new Error(`${join(dir, name)}: no bitcode at ${level}`);
  }
  if (found.length === 0) throw new Error(`${dir}: no programs at ${level}`);
  return found;
}
