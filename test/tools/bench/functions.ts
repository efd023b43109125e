/**
 * One program's functions, ours beside the other side's, by how much larger ours are. Functions that only one side
 * has (inlined, dropped, split) are summed in a line of their own, so that inlining does not pass for a loss or a
 * gain.
 */
import { programSizes } from "../elf-size.js";
import type { Recipe } from "../packages/recipe.js";
import { prepare } from "../prepared.js";
import type { Toolchain } from "../toolchain.js";
import type { BenchOptions } from "./measure.js";
import { build } from "./measure.js";
import { formatRatio, printTable } from "./tables.js";

/** Prints the list for each package, `top` lines of it. */
export async function compareFunctions(
  recipes: readonly Recipe[],
  mine: Toolchain,
  other: Toolchain,
  top: number,
  options: BenchOptions,
): Promise<void> {
  for (const recipe of recipes) {
    const p = await prepare(recipe);
    const sizes = [];
    for (const tool of [mine, other]) {
      const { exe, result } = await build(p, tool, options);
      if (result.failed !== undefined) throw new Error(`${tool.name}: ${result.failed}: ${result.message}`);
      sizes.push(programSizes(exe));
    }
    const [left, right] = [sizes[0]!, sizes[1]!];
    const rows: [string, number, number][] = [];
    let [onlyLeft, onlyRight, common] = [0, 0, 0];
    for (const [name, size] of left.functions) {
      const theirs = right.functions.get(name);
      if (theirs === undefined) onlyLeft += size;
      else {
        rows.push([name, size, theirs]);
        common += size - theirs;
      }
    }
    for (const [name, size] of right.functions) if (!left.functions.has(name)) onlyRight += size;
    rows.sort((x, y) => y[1] - y[2] - (x[1] - x[2]) || (x[0] < y[0] ? -1 : 1));
    const [t1, t2] = [left.code, right.code];
    const ratio = formatRatio(t1 / t2);
    console.log(`\n${recipe.name}: .text ratio ${ratio}, ${t1} (${mine.name}) against ${t2} (${other.name})`);
    const signed = (n: number) => (n < 0 ? String(n) : `+${n}`);
    const shown = rows
      .slice(0, top)
      .map(([n, x, y]) => [n, formatRatio(x / y), signed(x - y), String(x), String(y)]);
    printTable([["function", "ratio", "difference", mine.name, other.name], ...shown]);
    console.log(`${rows.length} functions on both sides: ${signed(common)} bytes`);
    const only = `only ${mine.name}: ${onlyLeft} bytes; only ${other.name}: ${onlyRight} bytes`;
    console.log(`${only} (inlined or dropped)`);
  }
}
