/** Makers of programs: the Tiny C Compiler, NASM, Berkeley Yacc. */
import { makeWrappers, readCapture, runBuild } from "../capture.js";
import { systemCompiler } from "../toolchain.js";
import type { Recipe } from "./recipe.js";

/** tcc: its tests run programs from memory (-run); it compiles itself too. */
export const tcc: Recipe = {
  name: "tcc",
  debian: "tcc",
  main: "tcc",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    await runBuild(dir, './configure --cc="$CC" --ar="$AR"; make ONE_SOURCE=no tcc libtcc1.a', wrappers);
    return readCapture(wrappers, ["tcc"]);
  },
  workload: "cd $SRC; $TCC_ -B$SRC -DONE_SOURCE=1 -c tcc.c -o $OLDPWD/a.o",
  checks: () => [
    {
      name: "upstream tests2",
      script: `
cp $SRC/tests/tests2/* .
for f in [0-9]*.c; do
  t=\${f%.c}; options=; run=-run
  case $t in
    34_*|73_*|98_*|99_*|106_*|112_*|113_*|114_*|115_*|116_*|117_*|42_*|104_*|108_*|60_errors*) continue ;;
    76_*) options=-fdollars-in-identifiers ;;
    96_nodata*) options=-dt ;;
  esac
  timeout 20 $TCC_ -B$SRC -I$SRC/include $options $run $f > out 2>&1 < /dev/null || echo "status $?"
  if cmp -s out $t.expect; then echo "$t as expected"; else echo "$t differs"; fi
done`,
    },
    {
      name: "preprocessor",
      script:
        "cp $SRC/tests/pp/* .; for f in *.c *.S; do $TCC_ -B$SRC -E -P $f 2>&1 || echo status $?; done | cksum",
    },
    {
      name: "compiles itself",
      script: `
cd $SRC
$TCC_ -B$SRC -I$SRC/include -DONE_SOURCE=1 -c tcc.c -o "$OLDPWD/a.o"; $TCC_ -B$SRC -g -b -DONE_SOURCE=1 -c tcc.c -o "$OLDPWD/b.o"
$TCC_ -B$SRC -c tests/asmtest.S -o "$OLDPWD/c.o"; cd "$OLDPWD"; cksum a.o b.o c.o; $TCC_ -B$SRC a.o -o again -ldl -lm; cksum < again`,
    },
  ],
};

export const nasm: Recipe = {
  name: "nasm",
  debian: "nasm",
  main: "nasm",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    await runBuild(dir, "./configure; make nasm ndisasm", wrappers);
    return readCapture(wrappers, ["nasm", "ndisasm"]);
  },
  workload:
    "cd $SRC/travis/test; for f in a*.asm; do $NASM_ -f elf64 $f -o $OLDPWD/out > /dev/null 2>&1 || true; done",
  checks: () => [
    {
      name: "upstream sources",
      script: `
cp -r $SRC/travis/test/* . 2>/dev/null || true
rm -f $(grep -il "__?*\\(utc_\\)*\\(time\\|date\\|posix\\)" *.asm)
for f in *.asm; do for kind in bin elf32 elf64 macho64 win64 obj; do
  rm -f out; $NASM_ -f $kind -O0 $f -o out > messages 2>&1 || echo "status $?"
  case $kind in obj|win64) : ;; *) test -f out && cksum < out ;; esac; grep -v -i "date|time" messages | cksum
  $NASM_ -f $kind -Ox $f -o out -l list > messages 2>&1 || true; grep -v -i "date|time" messages | cksum
done; done`,
    },
    {
      name: "disassembly",
      script: `
awk 'BEGIN { x = 99; for (i = 0; i < 60000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%c", 1 + int(x / 65536) % 126 } }' > noise
for bits in 16 32 64; do $NDISASM_ -b $bits noise | cksum; done; $NDISASM_ -b 64 $NASM_ 2>/dev/null | head -c 0; $NDISASM_ -b 32 -s 17 -e 5 noise | head -40`,
    },
  ],
};

export const byacc: Recipe = {
  name: "byacc",
  debian: "byacc",
  main: "yacc",
  async prepare(dir) {
    const wrappers = makeWrappers(`${dir}.wrappers`, systemCompiler());
    await runBuild(dir, "./configure --enable-btyacc; make yacc", wrappers);
    return readCapture(wrappers, ["yacc"]);
  },
  workload: "for f in $SRC/test/*.y; do $YACC_ -v -b out $f > /dev/null 2>&1 || true; done",
  checks: () => [
    {
      name: "upstream tests",
      script: `
mkdir -p p; cp -r $SRC/test p/test; cp $SRC/config.h p; cp $YACC_ p/yacc; cd p/test; sh ./run_test.sh 2>&1 | sed "s,$PWD,,g" | grep -v -e "UTC 2" -e "^[*-][*-][*-] "`,
    },
    {
      name: "grammars",
      script: `
cp $SRC/test/*.y .; for f in *.y; do for options in -d "-v -g" "-l -r -t" "-B -i" "-P -p zz"; do rm -f y.*; $YACC_ $options $f 2>&1 || echo "status $?"; cat y.* 2>/dev/null | cksum; done; done`,
    },
  ],
};
