/** All upstream packages by name, and the ones used when none is named. */
import { bzip2, gzip, lz4, zlib, zstd } from "./compression.js";
import { lua, mawk, sqlite3, sqliteFiles } from "./languages.js";
import type { Recipe } from "./recipe.js";
import { expat, grep, libpng } from "./text.js";

export const recipes: readonly Recipe[] = [
  lua,
  bzip2,
  zlib,
  sqlite3,
  gzip,
  lz4,
  expat,
  mawk,
  grep,
  libpng,
  zstd,
  sqliteFiles,
];

/** The packages of the given names, or the four that every change is checked with. */
export function selectRecipes(names: readonly string[]): Recipe[] {
  if (names.includes("all")) return [...recipes];
  const wanted = names.length > 0 ? names : ["lua", "bzip2", "zlib", "sqlite3"];
  return wanted.map((n) => {
    const r = recipes.find((x) => x.name === n);
    if (r === undefined)
      throw new Error(`no package '${n}'; there are: ${recipes.map((x) => x.name).join(" ")}`);
    return r;
  });
}
