/** Text processing: expat's xmlwf, grep, m4, cmark. */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeWrappers, readCapture, runBuild } from "../capture.js";
import { systemCompiler } from "../toolchain.js";
import type { Recipe } from "./recipe.js";
import { program, unitsOf } from "./recipe.js";

export const expat: Recipe = {
  name: "expat",
  debian: "expat",
  main: "xmlwf",
  async prepare(dir) {
    const root = join(dir, "expat");
    writeFileSync(join(root, "lib", "expat_config.h"), "");
    const flags = [
      "-Ilib",
      "-DXML_NS=1",
      "-DXML_DTD=1",
      "-DXML_GE=1",
      "-DXML_CONTEXT_BYTES=1024",
      "-DHAVE_GETRANDOM",
      "-DHAVE_MMAP",
      "-DHAVE_UNISTD_H",
      "-DBYTEORDER=1234",
      "-DXML_DEV_URANDOM",
    ];
    const library = ["xmlparse", "xmlrole", "xmltok"].map((n) => `lib/${n}.c`);
    const tool = ["xmlwf", "xmlfile", "codepage", "unixfilemap"].map((n) => `xmlwf/${n}.c`);
    const tests = ["runtests", "minicheck", "chardata", "structdata", "memcheck"].map((n) => `tests/${n}.c`);
    return new Map([
      ["xmlwf", program(unitsOf(root, [...library, ...tool], flags))],
      ["runtests", program(unitsOf(root, [...library, ...tests], flags), ["-lm"])],
    ]);
  },
  workload: `awk 'BEGIN { print "<r>"; for (i = 0; i < 3000; i++) printf "<i a=\\"%d\\">text %d &amp; more</i>\\n", i, i; print "</r>" }' > good.xml; mkdir out; $XMLWF_ -d out -n good.xml`,
  checks: () => [
    { name: "upstream runtests", script: "$RUNTESTS_ -q 2>&1 | tail -3", seconds: 300 },
    {
      name: "documents",
      script: `
awk 'BEGIN { print "<?xml version=\\"1.0\\"?>\\n<!DOCTYPE r [<!ENTITY e \\"expanded &lt;\\"><!ATTLIST i k CDATA \\"d\\">]>\\n<r xmlns:n=\\"urn:x\\">"
  for (i = 0; i < 2000; i++) printf "<i n:a=\\"%d\\"><![CDATA[<raw %d>]]>&e;&#x41;<!-- c --><?pi x?>t\\303\\251xt</i>\\n", i, i
  print "</r>" }' > good.xml
$XMLWF_ good.xml; mkdir out outc; $XMLWF_ -d out good.xml; cksum < out/good.xml; $XMLWF_ -n -c -d outc good.xml; cksum < outc/good.xml
printf '<a><b></a>' > bad.xml; $XMLWF_ bad.xml || echo "status $?"; printf '<a>\\377</a>' > enc.xml; $XMLWF_ enc.xml || echo "status $?"
mkdir meta; $XMLWF_ -m -d meta good.xml; cksum < meta/good.xml`,
    },
  ],
};

export const grep: Recipe = {
  name: "grep",
  debian: "grep",
  main: "grep",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    const configure = "./configure --disable-dependency-tracking --disable-nls --disable-perl-regexp";
    await runBuild(dir, `${configure}; make -C lib; make -C src`, wrappers);
    return readCapture(wrappers, ["grep"]);
  },
  checks: () => [
    {
      name: "patterns",
      script: `
export LC_ALL=C
seq 1 3000 > n; awk 'BEGIN { for (i = 0; i < 3000; i++) print "the quick brown fox", i, "jumps over", i * 7 % 31, (i % 3 ? "Lazy" : "DOG") }' > t
$GREP_ -c 7 n; $GREP_ -E '^(1|22|333)+$' n; $GREP_ -n -i 'dog$' t | tail -2; $GREP_ -w 42 n; $GREP_ -v -c fox t || echo none; $GREP_ -o '[0-9]*3[0-9]' n | cksum
$GREP_ -E 'over (1[0-9]|2) (Lazy|DOG)' t | cksum; $GREP_ -F -e 'fox 12' -e 'fox 99' t | wc -l; $GREP_ -E '(.)\\1\\1' n | head -5; $GREP_ -A1 -B2 -n 1234 n
$GREP_ -E -x '([0-9])[0-9]?\\1' n | tail -3; $GREP_ -q zzz n || echo "status $?"; $GREP_ -E '(' n 2>/dev/null || echo "status $?"; $GREP_ -m 3 -b 55 n
LC_ALL=C.UTF-8 $GREP_ -c '^.\\{2\\}$' n; printf 'na\\303\\257ve\\n' | LC_ALL=C.UTF-8 $GREP_ -E -o 'na.v'; printf 'a\\0b\\n' | $GREP_ -a -c b`,
    },
  ],
};

/** m4 with its manual's examples as checks. */
export const m4: Recipe = {
  name: "m4",
  debian: "m4",
  main: "m4",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    const configure = "./configure --disable-dependency-tracking --disable-nls --without-libsigsegv-prefix";
    await runBuild(dir, `${configure}; make -C lib; make -C src`, wrappers);
    return readCapture(wrappers, ["m4"]);
  },
  workload:
    "cp -r $SRC/examples .; cd examples; for f in foreach reverse forloop wrapfifo capitalize join quote; do $M4_ $f.m4 > /dev/null 2>&1 || true; done",
  checks: () => [
    {
      name: "upstream checks",
      script: `
cp -r $SRC/checks $SRC/examples .; cd checks
sh ./check-them -I ../examples -m $M4_ [0-9]*.[a-z]* > log 2>&1 || true; sed '/^--- \\|^+++ /d; s/m4-tmp[.0-9]*//g' log | grep -v -i version`,
      seconds: 400,
    },
  ],
};

export const cmark: Recipe = {
  name: "cmark",
  debian: "cmark",
  main: "cmark",
  async prepare(dir) {
    const src = join(dir, "src");
    writeFileSync(
      join(src, "config.h"),
      "#include <stdbool.h>\n#define HAVE_STDBOOL_H\n#define HAVE___BUILTIN_EXPECT\n#define HAVE___ATTRIBUTE__\n#define CMARK_ATTRIBUTE(list) __attribute__ (list)\n#define CMARK_INLINE inline\n",
    );
    writeFileSync(join(src, "cmark_export.h"), "#define CMARK_EXPORT\n#define CMARK_NO_EXPORT\n");
    writeFileSync(
      join(src, "cmark_version.h"),
      '#define CMARK_VERSION 0\n#define CMARK_VERSION_STRING "0"\n',
    );
    const files = readdirSync(src)
      .filter((f) => f.endsWith(".c"))
      .sort();
    return new Map([["cmark", program(unitsOf(src, files, ["-std=c99", "-I.", "-DCMARK_STATIC_DEFINE"]))]]);
  },
  workload: "$CMARK_ $SRC/test/spec.txt > /dev/null; $CMARK_ -t latex $SRC/changelog.txt > /dev/null",
  checks: () => [
    {
      name: "documents",
      script: `
for f in $SRC/test/spec.txt $SRC/test/regression.txt $SRC/test/smart_punct.txt $SRC/changelog.txt $SRC/README.md; do
  for to in html xml man latex commonmark; do
    for options in "" --smart "--unsafe --sourcepos --hardbreaks" "--width 40 --safe --nobreaks"; do $CMARK_ -t $to $options $f | cksum; done
  done
done
awk 'BEGIN { for (i = 0; i < 300; i++) printf "[a" ; for (i = 0; i < 500; i++) printf "> * **x_y "; for (i = 0; i < 500; i++) printf "\\140%d\\140", i }' | $CMARK_ | cksum`,
    },
    {
      name: "specification",
      script: `
awk '/^\\140+ example/ { n++; f = "e" n; on = 1; next } /^\\140+$/ && on { on = 0; close(f); next } on && /^\\.$/ { on = 0; close(f); f = ""; next } on { gsub(/\\342\\206\\222/, "\\t"); print > f }' $SRC/test/spec.txt
for f in e*; do $CMARK_ --unsafe $f; done | cksum; ls e* | wc -l; for i in 5 50 150 250; do $CMARK_ --unsafe e$i; done`,
    },
  ],
};
