/**
 * Expected outputs in files. `npm run bless` (the environment variable BLESS=1) writes them anew, to be reviewed as
 * a diff; without it, a missing file fails like a different one.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";

export const blessing = process.env["BLESS"] === "1";

/** Holds `actual` against the contents of `file`. */
export function expectFile(actual: string, file: string): void {
  if (blessing) writeFileSync(file, actual);
  else if (!existsSync(file)) expect.fail(`${file} is missing; npm run bless writes it`);
  else expect(actual, file).toBe(readFileSync(file, "utf8"));
}
