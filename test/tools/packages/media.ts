/** Programs that compute: libpng's own test and libjpeg-turbo on pixels, libtommath's test on long integers. */
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Recipe } from "./recipe.js";
import { program, unitsOf } from "./recipe.js";

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

/** libjpeg-turbo's C code, without its assembly; configured by hand as cmake would. */
export const libjpeg: Recipe = {
  name: "libjpeg",
  debian: "libjpeg-turbo",
  main: "djpeg",
  async prepare(dir) {
    const config = [
      "JPEG_LIB_VERSION 62",
      "LIBJPEG_TURBO_VERSION 2.1.5",
      "LIBJPEG_TURBO_VERSION_NUMBER 2001005",
    ];
    const switches = ["C_ARITH_CODING_SUPPORTED", "D_ARITH_CODING_SUPPORTED", "MEM_SRCDST_SUPPORTED"];
    const lines = [...config, ...switches.map((s) => `${s} 1`), "BITS_IN_JSAMPLE 8"];
    writeFileSync(join(dir, "jconfig.h"), lines.map((l) => `#define ${l}\n`).join(""));
    const internal = ['BUILD "0"', "INLINE inline", "THREAD_LOCAL __thread", 'PACKAGE_NAME "libjpeg-turbo"'];
    const more = ['VERSION "2.1.5"', "SIZEOF_SIZE_T 8", "HAVE_BUILTIN_CTZL 1"];
    const rest = "#define FALLTHROUGH __attribute__((fallthrough));\n";
    writeFileSync(
      join(dir, "jconfigint.h"),
      [...internal, ...more].map((l) => `#define ${l}\n`).join("") + rest,
    );
    const version = readFileSync(join(dir, "jversion.h.in"), "latin1");
    writeFileSync(join(dir, "jversion.h"), version.replaceAll(/@\w+@/g, "0"), "latin1");
    const parts =
      /^(jcolext|jccolext|jdcolext|jdcol565|jdmrgext|jdmrg565|jcstest|jpegtran|jstdhuff|jdatadst-tj|jdatasrc-tj)\.c$/;
    const library = readdirSync(dir)
      .filter((f) => /^j.*\.c$/.test(f) && !parts.test(f))
      .sort();
    const flags = ["-I.", "-DPPM_SUPPORTED", "-DBMP_SUPPORTED", "-DGIF_SUPPORTED", "-DTARGA_SUPPORTED"];
    const make = (files: string[]) => program(unitsOf(dir, [...library, ...files], flags), ["-lm"]);
    const readers = ["cdjpeg.c", "rdgif.c", "rdppm.c", "rdbmp.c", "rdtarga.c", "rdswitch.c"];
    const writers = ["cdjpeg.c", "wrppm.c", "wrbmp.c", "wrgif.c", "wrtarga.c", "rdcolmap.c"];
    return new Map([
      ["cjpeg", make(["cjpeg.c", ...readers])],
      ["djpeg", make(["djpeg.c", ...writers])],
      ["jpegtran", make(["jpegtran.c", "cdjpeg.c", "rdswitch.c", "transupp.c"])],
    ]);
  },
  workload:
    "for o in -bmp '-gif -colors 16' '-dct float' '-scale 3/8'; do $DJPEG_ $o $SRC/testimages/testorig.jpg > /dev/null; done",
  checks: () => [
    {
      name: "compression",
      script: `
for f in $SRC/testimages/testorig.ppm $SRC/testimages/vgl_5674_0098.bmp $SRC/testimages/vgl_6434_0018a.bmp; do
  for o in "-quality 90" "-dct fast -progressive" "-dct float -arithmetic" "-grayscale -restart 1" "-sample 1x1 -optimize" "-quality 30 -sample 2x1 -smooth 20" "-rgb -dct int"; do
    $CJPEG_ $o -outfile out.jpg $f; cksum < out.jpg; $DJPEG_ -ppm out.jpg | cksum
  done
done`,
    },
    {
      name: "decompression",
      script: `
for f in testorig testimgari testimgint; do
  for o in -bmp "-gif -colors 16" "-gif0 -dither ordered" "-targa -grayscale" "-dct fast -nosmooth" "-dct float" "-scale 1/2" "-scale 1/8" "-scale 3/8" "-scale 11/8" "-rgb565 -bmp" "-onepass -colors 64 -dither fs" "-crop 14x14+13+13" "-nosmooth -dct fast -ppm"; do
    $DJPEG_ $o $SRC/testimages/$f.jpg | cksum
  done
done`,
    },
    {
      name: "transformations",
      script: `
for o in "-rotate 90 -trim" "-flip vertical" "-transpose -perfect" "-crop 48x32+16+16" -progressive -arithmetic "-grayscale -optimize" "-transverse -copy all" "-wipe 40x40+8+8"; do
  $JPEGTRAN_ $o $SRC/testimages/testorig.jpg 2>&1 | cksum
done`,
    },
  ],
};

export const libtommath: Recipe = {
  name: "libtommath",
  debian: "libtommath",
  main: "mptest",
  async prepare(dir) {
    const files = readdirSync(dir)
      .filter((f) => f.startsWith("bn_") && f.endsWith(".c"))
      .sort();
    const units = unitsOf(dir, [...files, "demo/shared.c", "demo/test.c"], ["-I."]);
    return new Map([["mptest", program(units)]]);
  },
  checks: () => [
    {
      name: "upstream test",
      script: "$MPTEST_ 2>&1 | grep -v -i seed | tr '\\r' '\\n' | tail -60",
      seconds: 400,
    },
  ],
};
