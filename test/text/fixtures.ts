/** The fixtures of the textual form: NAME.ll as a person or another tool writes it, NAME.tir as we do. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const fixtureFolder = resolve(import.meta.dirname, "../../fixtures/text");

export const fixtureNames: readonly string[] = readdirSync(fixtureFolder)
  .filter((file) => file.endsWith(".ll"))
  .map((file) => file.slice(0, -3))
  .sort();

export const readFixture = (file: string): string => readFileSync(join(fixtureFolder, file), "utf8");
