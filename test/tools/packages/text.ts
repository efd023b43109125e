/** Text processing: expat's xmlwf, grep, libpng's own test (as the one that computes on pixels). */
import { writeFileSync } from "node:fs";
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

export const libpng: Recipe = {
  name: "libpng",
  debian: "libpng1.6",
  main: "pngtest",
  async prepare(dir) {
    const library = [
      "png",
      "pngerror",
      "pngget",
      "pngmem",
      "pngpread",
      "pngread",
      "pngrio",
      "pngrtran",
      "pngrutil",
      "pngset",
      "pngtrans",
      "pngwio",
      "pngwrite",
      "pngwtran",
      "pngwutil",
    ];
    const { copyFileSync } = await import("node:fs");
    copyFileSync(join(dir, "scripts", "pnglibconf.h.prebuilt"), join(dir, "pnglibconf.h"));
    const flags = ["-I.", "-DPNG_INTEL_SSE_OPT=0"];
    const units = unitsOf(
      dir,
      [...library, "pngtest"].map((n) => `${n}.c`),
      flags,
    );
    return new Map([["pngtest", program(units, ["-lz", "-lm"])]]);
  },
  checks: () => [
    {
      name: "upstream pngtest",
      script: "cp $SRC/pngtest.png .; $PNGTEST_ pngtest.png out.png | grep -v -i version; cksum < out.png",
    },
    {
      name: "upstream images",
      script:
        "for f in $SRC/contrib/pngsuite/*.png; do $PNGTEST_ $f out.png > log 2>&1 || true; tail -1 log; cksum < out.png; done",
    },
  ],
};
