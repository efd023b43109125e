/** Interpreters: Lua, SQLite's shell, mawk. Checks are scripts of ours in test/differential. */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeWrappers, readCapture, runBuild } from "../capture.js";
import { mustRun } from "../process.js";
import { projectRoot } from "../root.js";
import { systemCompiler } from "../toolchain.js";
import type { Check, Recipe } from "./recipe.js";
import { program, unitsOf } from "./recipe.js";

/** One check for every script with the ending in a folder of test/differential. */
function scripts(folder: string, ending: string, command: (file: string) => string): Check[] {
  const dir = join(projectRoot(), "test", "differential", folder);
  const files = existsSync(dir)
    ? readdirSync(dir)
        .filter((f) => f.endsWith(ending))
        .sort()
    : [];
  return files.map((f) => ({ name: f, script: `${command(`$TESTS/${folder}/${f}`)} || echo "status $?"` }));
}

export const lua: Recipe = {
  name: "lua",
  debian: "lua5.4",
  main: "lua",
  async prepare(dir) {
    const src = join(dir, "src");
    const files = readdirSync(src)
      .filter((f) => f.endsWith(".c") && f !== "luac.c" && f !== "ltests.c")
      .sort();
    // Debian's patch includes a header that its own build generates from the multiarch triplet.
    writeFileSync(join(src, "lua5.4-deb-multiarch.h"), '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"\n');
    const flags = ["-std=gnu99", "-DLUA_COMPAT_5_3", "-DLUA_USE_LINUX"];
    return new Map([["lua", program(unitsOf(src, files, flags), ["-lm", "-ldl"])]]);
  },
  checks: () => scripts("lua", ".lua", (f) => `$LUA_ ${f}`),
};

const sqliteFlags = [
  "-DSQLITE_THREADSAFE=0",
  "-DSQLITE_ENABLE_FTS5",
  "-DSQLITE_ENABLE_RTREE",
  "-DSQLITE_ENABLE_MATH_FUNCTIONS",
  "-DSQLITE_ENABLE_DBSTAT_VTAB",
  "-DSQLITE_OMIT_LOAD_EXTENSION",
  "-DHAVE_USLEEP",
  "-I.",
];

export const sqlite3: Recipe = {
  name: "sqlite3",
  debian: "sqlite3",
  main: "sqlite3",
  async prepare(dir) {
    await mustRun(
      ["sh", "-e", "-c", "./configure --disable-tcl --disable-readline && make sqlite3.c shell.c sqlite3.h"],
      {
        cwd: dir,
        env: { CC: systemCompiler(), CFLAGS: "-O1 -w" },
      },
    );
    return new Map([["sqlite3", program(unitsOf(dir, ["sqlite3.c", "shell.c"], sqliteFlags), ["-lm"])]]);
  },
  checks: () => scripts("sqlite", ".sql", (f) => `$SQLITE3_ -batch test.db < ${f} 2>&1`),
};

/** SQLite from its separate files, about a hundred, instead of the amalgamation. */
export const sqliteFiles: Recipe = {
  ...sqlite3,
  name: "sqlite3-files",
  async prepare(dir) {
    const script =
      "./configure --disable-tcl --disable-readline --disable-amalgamation && make .target_source shell.c sqlite3.h";
    await mustRun(["sh", "-e", "-c", script], { cwd: dir, env: { CC: systemCompiler(), CFLAGS: "-O1 -w" } });
    const tsrc = join(dir, "tsrc");
    const left = new Set(["shell.c", "geopoly.c", "fts3_test.c", "tclsqlite.c", "icu.c", "fts5parse.c"]);
    const files = readdirSync(tsrc)
      .filter((f) => f.endsWith(".c") && !left.has(f))
      .sort();
    const flags = [...sqliteFlags, "-I..", "-DSQLITE_CORE"];
    const units = [...unitsOf(tsrc, files, flags), ...unitsOf(dir, ["shell.c"], sqliteFlags)];
    return new Map([["sqlite3", program(units, ["-lm"])]]);
  },
};

export const mawk: Recipe = {
  name: "mawk",
  debian: "mawk",
  main: "mawk",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    await runBuild(dir, "./configure; make mawk", wrappers);
    return readCapture(wrappers, ["mawk"]);
  },
  checks: () =>
    scripts(
      "awk",
      ".awk",
      (f) => `seq 1 300 | awk '{ print $1, $1 * 7 % 13, "word" $1 % 5 }' > data; $MAWK_ -f ${f} data 2>&1`,
    ),
};
