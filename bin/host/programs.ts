/** Programs on PATH. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Host } from "./host.js";

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export const foldersOnPath = ({ env }: Host): string[] => (env["PATH"] ?? "").split(delimiter);

/** The first program of one of these names, folder by folder; undefined when there is none. */
export function findProgram(folders: readonly string[], names: readonly string[]): string | undefined {
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isProgram);
}
