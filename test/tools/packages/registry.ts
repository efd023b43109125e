/** All upstream packages by name, and the ones used when none is named. */
import { byacc, nasm, tcc } from "./compilers.js";
import { bzip2, gzip, lz4, xz, zlib, zstd } from "./compression.js";
import { bc, dash, duktape, gawk, lua, mawk, mujs, sqlite3, sqliteFiles } from "./languages.js";
import { libjpeg, libpng, libtommath } from "./media.js";
import type { Recipe } from "./recipe.js";
import { picosat } from "./solvers.js";
import { cmark, expat, grep, m4 } from "./text.js";

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
  xz,
  dash,
  bc,
  mujs,
  duktape,
  tcc,
  nasm,
  byacc,
  gawk,
  m4,
  cmark,
  libjpeg,
  libtommath,
  picosat,
  sqliteFiles,
];

/** The names of all packages, for usage texts. */
export function packageNames(): string {
  return recipes.map((r) => r.name).join(" ");
}

/** The packages of the given names, or the four that every change is checked with. */
export function selectRecipes(names: readonly string[]): Recipe[] {
  if (names.includes("all")) return recipes.filter((r) => r.variant !== true);
  const wanted = names.length > 0 ? names : ["lua", "bzip2", "zlib", "sqlite3"];
  return wanted.map((n) => {
    const r = recipes.find((x) => x.name === n);
    if (r === undefined) throw new Error(`no package '${n}'; there are: ${packageNames()}`);
    return r;
  });
}
