/**
 * Upstream programs as they are built for other machines, and what they do there: scripts whose output has to be the
 * same with every compiler. Programs without an operating system read and write files by name only.
 */
import { bzip2, zlib } from "../packages/compression.js";
import { duktape, lua, mujs } from "../packages/languages.js";
import type { Recipe } from "../packages/recipe.js";
import { picosat } from "../packages/solvers.js";
import { cmark, expat } from "../packages/text.js";
import type { Unit } from "../toolchain.js";

export interface Program {
  readonly recipe: Recipe;
  /** What of its compilations changes where there is no operating system; null: nothing of the program. */
  bare?(unit: Unit): Unit | null;
  readonly script: string;
}

const without = (unit: Unit, pattern: RegExp, more: readonly string[] = []): Unit => ({
  ...unit,
  flags: [...unit.flags.filter((flag) => !pattern.test(flag)), ...more],
});

const text = `awk 'BEGIN { for (i = 0; i < 4000; i++) printf "line %d of the text, square %d\\n", i, i * i }' > text`;

export const programs: readonly Program[] = [
  {
    recipe: lua,
    bare: (unit) => without(unit, /^-DLUA_USE_LINUX$/),
    // What it prints of addresses, times and the system differs.
    script:
      'for f in numbers strings tables closures coroutines; do $LUA_ $TESTS/lua/$f.lua 2>&1 || echo "status $?"; done',
  },
  {
    recipe: bzip2,
    script: `${text}; $BZIP2_ -k -9 text; cksum < text.bz2; mv text kept; $BZIP2_ -d text.bz2; cmp text kept; cp $SRC/sample1.bz2 s.bz2; $BZIP2_ -d -s s.bz2; cmp s $SRC/sample1.ref; echo same`,
  },
  {
    recipe: zlib,
    script: `${text}; cp text kept; $MINIGZIP_ -9 text; cksum < text.gz; $MINIGZIP_ -d text.gz; cmp text kept; $MINIGZIP_ -h text; cksum < text.gz; echo same`,
  },
  {
    recipe: mujs,
    script: 'for f in $TESTS/js/*.js; do $MUJS_ $f 2>&1 || echo "status $?"; done',
  },
  { recipe: picosat, script: picosat.checks("").find(({ name }) => name === "formulas")!.script },
  {
    recipe: expat,
    bare: (unit) =>
      unit.source.endsWith("/unixfilemap.c")
        ? {
            ...without(unit, /^-DHAVE_(?:MMAP|GETRANDOM)$|URANDOM/, ["-DXML_POOR_ENTROPY"]),
            source: unit.source.replace("unixfilemap", "readfilemap"),
          }
        : without(unit, /^-DHAVE_(?:MMAP|GETRANDOM)$|URANDOM/, ["-DXML_POOR_ENTROPY"]),
    script: `
awk 'BEGIN { print "<?xml version=\\"1.0\\"?>\\n<!DOCTYPE r [<!ENTITY e \\"expanded &lt;\\"><!ATTLIST i k CDATA \\"d\\">]>\\n<r xmlns:n=\\"urn:x\\">"
  for (i = 0; i < 300; i++) printf "<i n:a=\\"%d\\"><![CDATA[<raw %d>]]>&e;&#x41;<!-- c --><?pi x?>t\\303\\251xt</i>\\n", i, i
  print "</r>" }' > good.xml
$XMLWF_ good.xml; mkdir out meta; $XMLWF_ -d out -n good.xml; cksum < out/good.xml; $XMLWF_ -m -d meta good.xml; cksum < meta/good.xml
printf '<a><b></a>' > bad.xml; $XMLWF_ bad.xml || echo "status $?"`,
  },
  {
    recipe: cmark,
    script:
      "for to in html xml man latex commonmark; do $CMARK_ -t $to --width 40 $SRC/README.md | cksum; done; $CMARK_ --smart $SRC/test/spec.txt | cksum",
  },
  {
    recipe: duktape,
    script: 'for f in $TESTS/js/*.js; do $DUK_ $f 2>&1 || echo "status $?"; done',
  },
];

/** @throws Error when there is none of the name */
export function programNamed(name: string): Program {
  const found = programs.find(({ recipe }) => recipe.name === name);
  if (found === undefined)
    throw new Error(
      `no program '${name}'; there are: ${programs.map(({ recipe }) => recipe.name).join(" ")}`,
    );
  return found;
}

/** The compilations of a program for a kind of machine. */
export const unitsFor = (program: Program, units: readonly Unit[], isBare: boolean): Unit[] =>
  units.flatMap((unit) => (isBare ? (program.bare?.(unit) ?? unit) : unit));

/** What C libraries without an operating system lack, for programs that ask for it in vain. */
export const stubsSource = `#include <sys/stat.h>
#include <string.h>
#include <time.h>
#define STUB __attribute__((weak))
STUB int fchmod(int a, mode_t b) { return 0; }
STUB int fchown(int a, uid_t b, gid_t c) { return 0; }
STUB int chmod(const char *a, mode_t b) { return 0; }
STUB int chown(const char *a, uid_t b, gid_t c) { return 0; }
STUB int utime(const char *a, void *b) { return 0; }
STUB int stat(const char *a, struct stat *b) { memset(b, 0, sizeof *b); b->st_mode = S_IFREG | 0644; b->st_nlink = 1; return 0; }
STUB int lstat(const char *a, struct stat *b) { return stat(a, b); }
#ifdef __arm__
/* What newlib says of every file is that it is a device. */
int _fstat(int, struct stat *);
int fstat(int a, struct stat *b) { int r = _fstat(a, b); if (a > 2) b->st_mode = S_IFREG | 0644; return r; }
#endif
STUB int getrusage(int a, void *b) { memset(b, 0, 32); return 0; }
STUB void *popen(const char *a, const char *b) { return 0; }
STUB int pclose(void *a) { return -1; }
STUB void *signal(int a, void *b) { return 0; }
STUB int system(const char *a) { return -1; }
STUB unsigned alarm(unsigned a) { return 0; }
STUB int rename(const char *a, const char *b) { return -1; }
STUB clock_t clock(void) { return 0; }
`;
