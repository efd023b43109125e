/**
 * Debian source packages that are built as they are, by their own build systems. Commands are for a shell in a copy of the source;
 * `$CC`, `$CFLAGS` and the like are in its environment, `$JOBS` is how many jobs may run.
 */
export interface BuildRecipe {
  /** The name of the Debian source package, or of a program of ours. */
  readonly debian: string;
  /** Where it is in this project, if it is ours. */
  readonly folder?: string;
  readonly system: "libtool" | "configure" | "cmake" | "meson" | "make" | "cargo";
  /** It is a program or library of C++. */
  readonly cxx?: true;
  /** Once for all compilers: what a package maintainer does before the build. */
  readonly prepare?: string;
  readonly configure: string;
  readonly build: string;
  /** Its own tests. */
  readonly check: string;
  /** Globs of what is installed, relative to the copy: of each the first file that is there is measured. */
  readonly files: readonly string[];
  /** Programs that have to be there. */
  readonly needs?: readonly string[];
}

const autotools = {
  prepare: "[ -x configure ] || autoreconf -fi",
  configure: "./configure --disable-silent-rules",
  build: "make -j$JOBS",
  check: "make -k check",
};
const libtool = (debian: string, files: readonly string[], more: Partial<BuildRecipe> = {}): BuildRecipe => ({
  debian,
  system: "libtool",
  ...autotools,
  needs: ["autoreconf", "libtoolize", "make"],
  files,
  ...more,
});

/** CMake takes the archiver from its own variables. */
const cmakeTools = `\${AR:+-DCMAKE_AR=$(command -v $AR) -DCMAKE_RANLIB=$(command -v $RANLIB)}`;
const cmake = (
  debian: string,
  files: readonly string[],
  options = "",
  more: Partial<BuildRecipe> = {},
): BuildRecipe => ({
  debian,
  system: "cmake",
  configure: `cmake -S . -B b -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=ON ${cmakeTools} ${options}`,
  build: "cmake --build b -j$JOBS",
  check: "cd b && ctest --output-on-failure",
  needs: ["cmake", "make"],
  files,
  ...more,
});

const meson = (
  debian: string,
  files: readonly string[],
  options = "",
  more: Partial<BuildRecipe> = {},
): BuildRecipe => ({
  debian,
  system: "meson",
  configure: `meson setup b --buildtype=plain ${options}`,
  build: "ninja -C b -j$JOBS",
  check: "meson test -C b",
  needs: ["meson", "ninja"],
  files,
  ...more,
});

export const buildRecipes: readonly BuildRecipe[] = [
  libtool("libyaml", ["src/.libs/libyaml-0.so.?.*"]),
  libtool("jansson", ["src/.libs/libjansson.so.?.*"]),
  libtool("libogg", ["src/.libs/libogg.so.?.*"]),
  libtool("popt", ["src/.libs/libpopt.so.?.*"]),
  libtool("libexif", ["libexif/.libs/libexif.so.??.*"], {
    configure: "./configure --disable-silent-rules --disable-docs --disable-nls",
    needs: ["autoreconf", "libtoolize", "autopoint", "make"],
  }),
  libtool("lzo2", ["src/.libs/liblzo2.so.?.*"], { configure: "./configure --enable-shared" }),
  libtool("libtasn1-6", ["lib/.libs/libtasn1.so.?.*", "src/.libs/asn1Parser"], {
    configure: "./configure --disable-silent-rules --disable-doc --disable-gtk-doc",
  }),
  libtool("expat", ["expat/lib/.libs/libexpat.so.?.*", "expat/xmlwf/.libs/xmlwf"], {
    prepare: "cd expat && autoreconf -fi",
    configure: "cd expat && ./configure --disable-silent-rules --without-docbook",
    build: "make -C expat -j$JOBS",
    check: "make -C expat -k check",
  }),
  libtool("pcre2", [".libs/libpcre2-8.so.?.*", ".libs/pcre2grep"]),
  libtool("libpng1.6", [".libs/libpng16.so.??.*"]),
  libtool("xz-utils", ["src/liblzma/.libs/liblzma.so.?.*", "src/xz/.libs/xz"], {
    configure: "./configure --disable-silent-rules --disable-nls",
  }),
  {
    debian: "gzip",
    system: "configure",
    ...autotools,
    build: "make -j$JOBS MAKEINFO=true",
    check: "make -k check MAKEINFO=true",
    needs: ["make"],
    files: ["gzip"],
  },
  cmake("cjson", ["b/libcjson.so.?.*"], "-DENABLE_CUSTOM_COMPILER_FLAGS=OFF"),
  cmake("cmark", ["b/src/cmark", "b/src/libcmark.so.?.*"]),
  cmake("lz4", ["b/lz4", "b/liblz4.so.?.*"], "", {
    configure: `cmake -S build/cmake -B b -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=ON ${cmakeTools}`,
    check: "printf 'some text %d\\n' 1 2 3 4 > t && ./b/lz4 -f t t.lz4 && ./b/lz4 -d -f t.lz4 u && cmp t u",
  }),
  cmake("brotli", ["b/brotli", "b/libbrotlienc.so.?.*", "b/libbrotlidec.so.?.*"]),
  cmake("yajl", ["b/yajl-*/lib/libyajl.so.?.*"]),
  cmake("pugixml", ["b/libpugixml.so.?.*"], "-DPUGIXML_BUILD_TESTS=ON", { cxx: true }),
  cmake("tinyxml2", ["b/libtinyxml2.so.?.*", "b/libtinyxml2.so.??"], "", { cxx: true }),
  cmake("double-conversion", ["b/libdouble-conversion.so.?.*"], "-DBUILD_TESTING=ON", { cxx: true }),
  meson("libjsoncpp", ["b/libjsoncpp.so.??"], "", { cxx: true }),
  meson("fribidi", ["b/lib/libfribidi.so.?.*", "b/bin/fribidi"], "-Ddocs=false"),
  {
    debian: "zlib",
    system: "configure",
    configure: "./configure",
    build: "make -j$JOBS",
    check: "make test",
    needs: ["make"],
    files: ["libz.so.?.*"],
  },
  {
    // Ours: Debian's programs in Rust need many packages of crates.
    debian: "words",
    folder: "fixtures/rust/program",
    system: "cargo",
    configure: "cargo metadata --offline --format-version 1 > metadata.json",
    build: "cargo build --release --offline -j$JOBS",
    check: [
      "cargo test --release --offline --workspace -j$JOBS 2>&1 | grep ^test",
      "for form in plain json none; do ./target/release/words $form 30 < counting/src/lib.rs || echo status $?; done",
      "printf 'a\\377' | ./target/release/words || echo status $?",
    ].join("\n"),
    needs: ["cargo", "rustc"],
    files: ["target/release/words"],
  },
  {
    debian: "busybox",
    system: "make",
    // What it cannot find out of kernels newer than it.
    prepare: "make defconfig && sed -i 's/^CONFIG_TC=y/# CONFIG_TC is not set/' .config",
    configure: "yes '' | make oldconfig CC=$CC HOSTCC=cc",
    build: 'make -j$JOBS CC=$CC HOSTCC=cc CONFIG_EXTRA_CFLAGS="$CFLAGS" CONFIG_EXTRA_LDFLAGS="$LDFLAGS"',
    check:
      "cd testsuite && PATH=$PWD/..:$PATH ./runtest -v cut sort sed awk grep tr uniq head tail printf expr",
    needs: ["make"],
    files: ["busybox_unstripped"],
  },
];
