/**
 * What an upstream package needs: where it comes from, how its sources become lists of compilations, and what is
 * run to see that the programs behave.
 *
 * A check is a shell script. It runs once with the programs of the reference compiler and once with those under
 * test, in fresh folders; the outputs must be equal and, where the package brings expected results of its own, the
 * script compares with them and fails by itself; it has to succeed with the reference. In the script `$NAME_` (upper
 * case, other signs as _) is the path of program NAME, `$SRC` the package's folder and `$TESTS` this project's test/differential folder.
 */
import type { CapturedProgram } from "../capture.js";
import type { Unit } from "../toolchain.js";

export interface Check {
  readonly name: string;
  readonly script: string;
  /** Time limit in seconds; 240 unless given. */
  readonly seconds?: number;
}

export interface Recipe {
  readonly name: string;
  /** Name of the Debian source package. */
  readonly debian: string;
  /** The program that benchmarks measure. */
  readonly main: string;
  /** Prepares the writable copy `dir` of the source and returns the programs by name. */
  prepare(dir: string): Promise<Map<string, CapturedProgram>>;
  /** The checks; `dir` is the prepared folder. */
  checks(dir: string): readonly Check[];
  /**
   * A script as in checks that runs the main program alone, for about a second, to count instructions; by default the
   * first check.
   */
  readonly workload?: string;
  /** True for another way to build a package that is there already: not among all. */
  readonly variant?: boolean;
}

/** Compilations of the files below `dir` with the same flags. */
export function unitsOf(dir: string, files: readonly string[], flags: readonly string[], cwd = dir): Unit[] {
  return files.map((f) => ({ source: `${dir}/${f}`, cwd, flags: [...flags, "-w"] }));
}

/** A program that consists of the given compilations. */
export function program(units: readonly Unit[], libs: readonly string[] = []): CapturedProgram {
  return { units, libs, objects: [] };
}
