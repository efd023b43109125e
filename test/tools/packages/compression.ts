/** Compressors: bzip2, zlib, gzip, lz4, zstd, xz. Checks are round trips, and the packages' own samples. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { makeWrappers, readCapture, runBuild } from "../capture.js";
import { systemCompiler } from "../toolchain.js";
import type { Check, Recipe } from "./recipe.js";
import { program, unitsOf } from "./recipe.js";

/** Writes files of several kinds into the current folder: text, repetitive, random-like, empty, one byte. */
const makeInputs = `
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "line %d of the text, square %d\\n", i, i * i }' > text
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "ab" }' > repetitive
awk 'BEGIN { x = 12345; for (i = 0; i < 60000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%c", 32 + int(x / 65536) % 95 } }' > noise
: > empty
printf x > byte
cat text noise repetitive noise > mixture
FILES="text repetitive noise empty byte mixture"
`;

export const bzip2: Recipe = {
  name: "bzip2",
  debian: "bzip2",
  main: "bzip2",
  async prepare(dir) {
    const library = ["blocksort", "huffman", "crctable", "randtable", "compress", "decompress", "bzlib"];
    const flags = ["-D_FILE_OFFSET_BITS=64"];
    const files = (names: string[]) =>
      unitsOf(
        dir,
        names.map((n) => `${n}.c`),
        flags,
      );
    return new Map([
      ["bzip2", program(files([...library, "bzip2"]))],
      ["bzip2recover", program(files(["bzip2recover"]))],
    ]);
  },
  checks(): Check[] {
    return [
      {
        name: "upstream samples",
        script: `
for i in 1 2 3; do
  case $i in 3) small=-ds ;; 2) small=-d ;; 1) small=-d ;; esac
  $BZIP2_ -$i < $SRC/sample$i.ref > sample$i.rb2; cmp $SRC/sample$i.bz2 sample$i.rb2
  $BZIP2_ $small < $SRC/sample$i.bz2 > sample$i.tst; cmp sample$i.tst $SRC/sample$i.ref
done
echo same`,
      },
      {
        name: "round trips",
        script: `${makeInputs}
for f in $FILES; do for level in 1 9; do
  $BZIP2_ -k -c -$level $f > $f.bz2; $BZIP2_ -t $f.bz2; $BZIP2_ -dc $f.bz2 | cmp - $f; $BZIP2_ -dsc $f.bz2 | cmp - $f; cksum < $f.bz2
done; done`,
      },
      {
        name: "damaged input",
        script: `
head -c 3000 $SRC/sample1.bz2 > cut.bz2; $BZIP2_ -tv cut.bz2 2>&1 || echo "status $?"
{ head -c 2000 $SRC/sample2.bz2; printf XXXX; tail -c +2005 $SRC/sample2.bz2; } > bad.bz2; $BZIP2_ -t bad.bz2 2>&1 || echo "status $?"
cp $SRC/sample1.bz2 r.bz2; $BZIP2RECOVER_ r.bz2 > /dev/null 2>&1 || echo "status $?"; ls`,
      },
    ];
  },
};

export const zlib: Recipe = {
  name: "zlib",
  debian: "zlib",
  main: "minigzip",
  async prepare(dir) {
    const library = [
      "adler32",
      "crc32",
      "deflate",
      "infback",
      "inffast",
      "inflate",
      "inftrees",
      "trees",
      "zutil",
      "compress",
      "uncompr",
      "gzclose",
      "gzlib",
      "gzread",
      "gzwrite",
    ];
    const flags = ["-D_LARGEFILE64_SOURCE=1", "-DHAVE_UNISTD_H", "-DHAVE_STDARG_H", "-I."];
    const units = unitsOf(
      dir,
      library.map((n) => `${n}.c`),
      flags,
    );
    const one = (name: string) => program([...units, ...unitsOf(dir, [`test/${name}.c`], flags)]);
    return new Map([
      ["minigzip", one("minigzip")],
      ["example", one("example")],
      ["infcover", one("infcover")],
    ]);
  },
  workload: `${makeInputs}
for f in text noise; do $MINIGZIP_ -6 < $f > p; $MINIGZIP_ -d < p | cmp - $f; done`,
  checks(): Check[] {
    return [
      { name: "upstream example", script: "$EXAMPLE_" },
      { name: "upstream infcover", script: "$INFCOVER_ 2>&1" },
      { name: "upstream minigzip", script: 'echo "hello world" | $MINIGZIP_ | $MINIGZIP_ -d' },
      {
        name: "round trips",
        script: `${makeInputs}
for f in $FILES; do for level in 1 6 9 h f r; do
  $MINIGZIP_ -$level < $f > $f.gz; $MINIGZIP_ -d < $f.gz | cmp - $f; cksum < $f.gz
done; done`,
      },
    ];
  },
};

export const gzip: Recipe = {
  name: "gzip",
  debian: "gzip",
  main: "gzip",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    await runBuild(dir, "./configure --disable-dependency-tracking; make gzip || make", wrappers);
    return readCapture(wrappers, ["gzip"]);
  },
  workload: `${makeInputs}
for f in text noise; do $GZIP_ -6 -c < $f > p; $GZIP_ -dc < p | cmp - $f; done`,
  checks(): Check[] {
    return [
      {
        name: "round trips",
        script: `${makeInputs}
for f in $FILES; do for level in 1 6 9; do
  $GZIP_ -n -c -$level $f > $f.gz; $GZIP_ -t $f.gz; $GZIP_ -dc $f.gz | cmp - $f; cksum < $f.gz
done; done
$GZIP_ -l text.gz mixture.gz
head -c 1000 text.gz > cut.gz; $GZIP_ -t cut.gz 2>&1 | sed 's/.*cut.gz/cut.gz/'; $GZIP_ --version | head -1 | sed 's/.*gzip/gzip/'`,
      },
    ];
  },
};

export const lz4: Recipe = {
  name: "lz4",
  debian: "lz4",
  main: "lz4",
  async prepare(dir) {
    const list = (d: string) =>
      readdirSync(join(dir, d))
        .filter((f) => f.endsWith(".c"))
        .sort()
        .map((f) => `${d}/${f}`);
    const flags = ["-Ilib", "-DXXH_NAMESPACE=LZ4_"];
    return new Map([["lz4", program(unitsOf(dir, [...list("lib"), ...list("programs")], flags))]]);
  },
  workload: `${makeInputs}
for f in text noise; do $LZ4_ -q -9 -c < $f > p; $LZ4_ -q -dc < p | cmp - $f; done`,
  checks(): Check[] {
    return [
      {
        name: "round trips",
        script: `${makeInputs}
for f in $FILES; do for level in 1 3 9 12; do
  $LZ4_ -q -f -$level $f $f.lz4; $LZ4_ -q -t $f.lz4; $LZ4_ -q -d -c $f.lz4 | cmp - $f; cksum < $f.lz4
done; done
$LZ4_ -q -f -BD -B4 --content-size mixture; $LZ4_ -q -dc mixture.lz4 | cmp - mixture; cksum < mixture.lz4`,
      },
    ];
  },
};

export const zstd: Recipe = {
  name: "zstd",
  debian: "zstd",
  main: "zstd",
  async prepare(dir) {
    const list = (d: string) =>
      readdirSync(join(dir, d))
        .filter((f) => f.endsWith(".c"))
        .sort()
        .map((f) => `${d}/${f}`);
    const flags = [
      "-Ilib",
      "-Ilib/common",
      "-Iprograms",
      "-DZSTD_DISABLE_ASM",
      "-DXXH_NAMESPACE=ZSTD_",
      "-DDYNAMIC_BMI2=0",
    ];
    const files = ["common", "compress", "decompress", "dictBuilder"].flatMap((d) => list(`lib/${d}`));
    return new Map([["zstd", program(unitsOf(dir, [...files, ...list("programs")], flags), ["-lpthread"])]]);
  },
  workload: `${makeInputs}
for f in text noise; do $ZSTD_ -q -6 -c < $f > p; $ZSTD_ -q -dc < p | cmp - $f; done`,
  checks(): Check[] {
    return [
      {
        name: "round trips",
        script: `${makeInputs}
for f in $FILES; do for level in 1 3 9 19; do
  $ZSTD_ -q -f -$level $f -o $f.zst; $ZSTD_ -q -t $f.zst; $ZSTD_ -q -d -c $f.zst | cmp - $f; cksum < $f.zst
done; done
split -b 2000 text part; $ZSTD_ -q --train part* -o dict --maxdict=4000 2>/dev/null; cksum < dict
$ZSTD_ -q -f -D dict byte -o d.zst; $ZSTD_ -q -d -c -D dict d.zst | cmp - byte`,
      },
    ];
  },
};

export const xz: Recipe = {
  name: "xz",
  debian: "xz-utils",
  main: "xz",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    // Its carry-less multiplication needs vector extensions past SSE2.
    const configure =
      "./configure --disable-dependency-tracking --disable-nls --disable-shared --disable-scripts --disable-doc --disable-clmul-crc";
    await runBuild(dir, `${configure}; make -C src/liblzma; make -C src/xz`, wrappers);
    return readCapture(wrappers, ["xz"]);
  },
  workload: `${makeInputs}
for f in text; do $XZ_ -T1 -3 -c < $f > p; $XZ_ -dc < p | cmp - $f; done`,
  checks(): Check[] {
    return [
      {
        name: "upstream files",
        script: `
for f in $SRC/tests/files/good*.xz $SRC/tests/files/good*.lzma $SRC/tests/files/good*.lz; do
  echo "\${f##*/}"; $XZ_ -dc $f | cksum || true; $XZ_ -l $f 2>/dev/null | tail -1 | cut -c1-60
done
for f in $SRC/tests/files/bad* $SRC/tests/files/unsupported*; do $XZ_ -dcqq $f 2>&1 | cksum; $XZ_ -tqq $f || echo "status $?"; done`,
      },
      {
        name: "round trips",
        script: `${makeInputs}
for f in $FILES; do for options in -0 -6 -9e "--format=lzma -3" "--check=sha256 --x86 --lzma2=preset=2" "--delta=dist=4 --lzma2=mf=bt2,mode=normal"; do
  $XZ_ -T1 -k -c $options $f > $f.xz; $XZ_ -t $f.xz; $XZ_ -dc $f.xz | cmp - $f; cksum < $f.xz
done; done`,
      },
    ];
  },
};
