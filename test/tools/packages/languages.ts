/**
 * Interpreters: Lua, SQLite's shell, mawk, gawk, dash, bc and dc, MuJS, Duktape. Checks are scripts of ours in
 * test/differential, and what the packages bring.
 */
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
  variant: true,
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
  workload:
    "seq 1 3000 | awk '{ print $1, $1 * 7 % 13, \"word\" $1 % 5 }' > data; for f in $TESTS/awk/*.awk; do $MAWK_ -f $f data > /dev/null 2>&1 || true; done",
  checks: () =>
    scripts(
      "awk",
      ".awk",
      (f) => `seq 1 300 | awk '{ print $1, $1 * 7 % 13, "word" $1 % 5 }' > data; $MAWK_ -f ${f} data 2>&1`,
    ),
};

/** Counts which of gawk's own test programs give the expected result (a few depend on the machine). */
const gawkTests = `
export AWKPATH=$SRC/test; cp $SRC/test/* . 2>/dev/null || true
for ok in $SRC/test/*.ok; do
  t=\${ok##*/}; t=\${t%.ok}
  test -f $t.awk || continue
  case $t in *time*|*pid*|*rand*|*devfd*|*net*|*getlnhd|*system*|*rwarray*|*mpfr*|*locale*|*inet*|beginfile*|*dbg*|*pma*|*profile*) continue ;; esac
  if test -f $t.in; then in=$t.in; else in=/dev/null; fi
  if timeout 20 $GAWK_ -f $t.awk < $in > out 2>&1; then :; else echo "EXIT CODE: $?" >> out; fi
  if cmp -s out $ok; then echo "$t as expected"; else echo "$t differs"; fi
done`;

export const gawk: Recipe = {
  name: "gawk",
  debian: "gawk",
  main: "gawk",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    const configure =
      "./configure --disable-dependency-tracking --disable-nls --disable-extensions --disable-mpfr --disable-pma --without-readline";
    await runBuild(dir, `${configure}; make -C support; make gawk`, wrappers);
    return readCapture(wrappers, ["gawk"]);
  },
  workload: `seq 1 300 | sed "s/.*/& word&/" > data; for f in $TESTS/awk/*.awk; do $GAWK_ -f $f data > /dev/null 2>&1 || true; done`,
  checks: () => [{ name: "upstream tests", script: gawkTests }],
};

export const dash: Recipe = {
  name: "dash",
  debian: "dash",
  main: "dash",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    // Debian's patches add a file that its packaging tells automake of.
    const add = "sed -i 's/redir.c show/priv.c &/; s/redir.$(OBJEXT)/priv.$(OBJEXT) &/' src/Makefile.in";
    await runBuild(dir, `${add}; ./configure --disable-dependency-tracking; make`, wrappers);
    return readCapture(wrappers, ["dash"]);
  },
  workload: "for f in $TESTS/sh/*.sh; do $DASH_ $f > /dev/null 2>&1 || true; done",
  checks: () => scripts("sh", ".sh", (f) => `$DASH_ ${f} 2>&1`),
};

export const bc: Recipe = {
  name: "bc",
  debian: "bc",
  main: "bc",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    const make = "make YACC=: LEX=: LEXLIB= CFLAGS='-O0 -w -std=gnu89'";
    await runBuild(
      dir,
      `./configure --disable-dependency-tracking; ${make} -C lib; ${make} -C bc; ${make} -C dc`,
      wrappers,
    );
    return readCapture(wrappers, ["bc", "dc"]);
  },
  workload: "$BC_ -l -q $TESTS/bc/numbers.bc > /dev/null 2>&1",
  checks: () => [
    {
      name: "upstream tests",
      script: `
for f in array arrayp aryprm atan div exp fact jn ln raise sine sqrt sqrt1 sqrt2 testfn; do
  echo $f; timeout 60 $BC_ -l $SRC/Test/$f.b < /dev/null | cksum
done; $BC_ -l $SRC/Test/signum < /dev/null 2>&1 | cksum`,
    },
    ...scripts("bc", ".bc", (f) => `$BC_ -l -q ${f} 2>&1`),
    ...scripts("bc", ".dc", (f) => `$DC_ ${f} 2>&1`),
  ],
};

export const mujs: Recipe = {
  name: "mujs",
  debian: "mujs",
  main: "mujs",
  async prepare(dir) {
    const files = readdirSync(dir)
      .filter((f) => /^(js|utf|regexp|main).*\.c$/.test(f))
      .sort();
    return new Map([["mujs", program(unitsOf(dir, files, ["-std=c99", "-I."]), ["-lm"])]]);
  },
  workload: "for f in $TESTS/js/*.js; do $MUJS_ $f > /dev/null 2>&1 || true; done",
  checks: () => scripts("js", ".js", (f) => `$MUJS_ ${f} 2>&1`),
};

export const duktape: Recipe = {
  name: "duktape",
  debian: "duktape",
  main: "duk",
  async prepare(dir) {
    const files = readdirSync(join(dir, "src-separate"))
      .filter((f) => f.endsWith(".c"))
      .sort()
      .map((f) => `src-separate/${f}`);
    const flags = ["-std=c99", "-Isrc-separate", "-Iexamples/cmdline", "-Iextras/print-alert"];
    const extras = ["examples/cmdline/duk_cmdline.c", "extras/print-alert/duk_print_alert.c"];
    const all = unitsOf(dir, [...files, ...extras], [...flags, "-DDUK_CMDLINE_PRINTALERT_SUPPORT"]);
    return new Map([["duk", program(all, ["-lm"])]]);
  },
  workload: "for f in $TESTS/js/*.js; do $DUK_ $f > /dev/null 2>&1 || true; done",
  checks: () => scripts("js", ".js", (f) => `$DUK_ ${f} 2>&1`),
};
