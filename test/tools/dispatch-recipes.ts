/**
 * Libraries that choose by the processor what computes, as they are: how they are built, tested and timed. Commands are for a shell in a
 * copy of the source; `$CC`, `$CFLAGS`, `$LDFLAGS` and the like are in its environment, `$DRIVERS` is `fixtures/dispatch`, `$JOBS` how
 * many jobs may run.
 */
export interface TimedCommand {
  readonly title: string;
  /** Words of a program in the copy and its arguments, a second or so. */
  readonly command: string;
  /** A regular expression of GDB for the functions that are to be reached: those for processors beyond SSE2. */
  readonly reaches: string;
}

export interface DispatchRecipe {
  readonly name: string;
  /** A source package of Debian; packages with sources in them and a folder there; or a repository, whose checkout has to be named. */
  readonly source:
    | { readonly debian: string }
    | { readonly packages: readonly string[]; readonly folder: string }
    | { readonly repository: string };
  readonly build: string;
  /** The library's own tests. */
  readonly check: string;
  readonly timed: readonly TimedCommand[];
  readonly needs: readonly string[];
}

export const dispatchRecipes: readonly DispatchRecipe[] = [
  {
    name: "xxhash",
    source: { debian: "xxhash" },
    build: [
      "make DISPATCH=1 CC=$CC AR=$AR lib xxhsum",
      "$CC $CFLAGS -I. $DRIVERS/xxhash.c -L. -lxxhash -Wl,-rpath,$PWD $LDFLAGS -o drive",
    ].join("\n"),
    check: "make DISPATCH=1 CC=$CC check test-xxhsum-c",
    timed: [
      { title: "64 bits at once", command: "./drive long 500000", reaches: "^XXHL64_.*_avx" },
      { title: "128 bits at once", command: "./drive pair 500000", reaches: "^XXHL128_.*_avx" },
      { title: "in pieces", command: "./drive pieces 400000", reaches: "^XXH3_update_avx" },
    ],
    needs: ["make"],
  },
  {
    name: "BLAKE3 (C)",
    source: { packages: ["librust-blake3-dev"], folder: "usr/share/cargo/registry/blake3-*/c" },
    build: [
      'make -f Makefile.testing CC=$CC CFLAGS="$CFLAGS -DBLAKE3_TESTING"',
      "$CC $CFLAGS -I. $DRIVERS/blake3.c blake3_*.o blake3.c blake3_dispatch.c blake3_portable.c $LDFLAGS -o drive",
      // Its test vectors are not in the package: portable code is what the rest is compared with.
      "$CC -O1 -DBLAKE3_TESTING -DBLAKE3_NO_SSE2 -DBLAKE3_NO_SSE41 -DBLAKE3_NO_AVX2 -DBLAKE3_NO_AVX512 -I. main.c blake3.c blake3_dispatch.c blake3_portable.c -o portable",
      "seq 200000 > longest",
    ].join("\n"),
    check: [
      "for n in 0 1 63 64 65 1023 1024 1025 2048 3073 5000 8192 16384 31744 102400 1000000; do",
      '  head -c $n longest > part; for o in "" "--derive-key context" "--length 200"; do',
      "    ./blake3 $o < part | sort -u > a; ./portable $o < part | sort -u > b; cmp a b; done; done",
    ].join("\n"),
    timed: [
      { title: "whole", command: "./drive whole 6000", reaches: "^blake3_hash_many_avx" },
      { title: "in pieces", command: "./drive pieces 2500", reaches: "^blake3_hash_many_avx" },
    ],
    needs: ["make", "dpkg-deb"],
  },
  {
    name: "libsodium",
    source: { debian: "libsodium" },
    build: [
      "autoreconf -fi",
      "./configure",
      "make -j$JOBS",
      "$CC $CFLAGS -w -Isrc/libsodium/include $DRIVERS/sodium.c src/libsodium/.libs/libsodium.so -Wl,-rpath,$PWD/src/libsodium/.libs $LDFLAGS -o drive",
    ].join("\n"),
    check: "make -j$JOBS check",
    timed: [
      {
        title: "ChaCha20",
        command: "./drive chacha20 40000",
        reaches: "^chacha20_encrypt_bytes",
      },
      { title: "Salsa20", command: "./drive salsa20 40000", reaches: "^salsa20_encrypt_bytes" },
      {
        title: "BLAKE2b",
        command: "./drive blake2b 15000",
        reaches: "^blake2b_compress_avx2",
      },
      { title: "Poly1305", command: "./drive poly1305 50000", reaches: "^poly1305_blocks" },
      { title: "Argon2id", command: "./drive argon2id 60", reaches: "fill_segment_avx" },
      { title: "scrypt", command: "./drive scrypt 36", reaches: "^blockmix_salsa8" },
      {
        title: "AES-256-GCM",
        command: "./drive aes256gcm 40000",
        reaches: "^crypto_aead_aes256gcm_encrypt_detached_afternm$",
      },
    ],
    needs: ["autoreconf", "libtoolize", "make"],
  },
  {
    name: "libdeflate",
    // Debian's of 2022 asks clang for builtins in a way that today's does not answer, and so has no functions for processors.
    source: { repository: "https://github.com/ebiggers/libdeflate" },
    build: [
      'cmake -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O3 -DLIBDEFLATE_BUILD_TESTS=ON -DCMAKE_AR="$(command -v $AR)" -DCMAKE_RANLIB="$(command -v $RANLIB)"',
      "cmake --build build -j$JOBS",
      "$CC $CFLAGS -I. $DRIVERS/libdeflate.c build/libdeflate.a $LDFLAGS -o drive",
      "head -c 200000 lib/deflate_compress.c > data",
    ].join("\n"),
    check: "WRAPPER= TESTDATA=$PWD/data sh scripts/exec_tests.sh build/programs",
    timed: [
      { title: "inflate", command: "./drive decompress 700", reaches: "^deflate_decompress_bmi2" },
      { title: "CRC-32", command: "./drive crc32 50000", reaches: "^crc32_x86_.*pclmulqdq" },
      { title: "Adler-32", command: "./drive adler32 60000", reaches: "^adler32_x86" },
    ],
    needs: ["cmake", "make"],
  },
  {
    name: "zlib-ng",
    source: { repository: "https://github.com/zlib-ng/zlib-ng" },
    build: [
      // It keeps the functions for processors out of link-time optimisation where -fno-lto is an option.
      'cmake -B build -DCMAKE_BUILD_TYPE=Release -DFNO_LTO_AVAILABLE=OFF -DCMAKE_AR="$(command -v $AR)" -DCMAKE_RANLIB="$(command -v $RANLIB)"',
      "cmake --build build -j$JOBS",
      "$CC $CFLAGS -Ibuild $DRIVERS/zlib-ng.c build/libz-ng.a $LDFLAGS -o drive",
    ].join("\n"),
    check: "cd build && ctest -j$JOBS",
    timed: [
      {
        title: "fastest",
        command: "./drive compress 250 1",
        reaches: "^slide_hash_avx2",
      },
      { title: "level 6", command: "./drive compress 25 6", reaches: "^longest_match_avx2" },
      { title: "inflate", command: "./drive decompress 700", reaches: "^inflate_fast_avx2" },
      { title: "CRC-32", command: "./drive crc32 40000", reaches: "^crc32_.*pclmulqdq" },
      { title: "Adler-32", command: "./drive adler32 50000", reaches: "^adler32_avx" },
    ],
    needs: ["cmake", "make"],
  },
  {
    name: "memchr (Rust)",
    source: {
      packages: [
        "memchr",
        // What its tests need.
        ...["quickcheck", "rand", "rand-core", "getrandom", "cfg-if", "libc"],
      ].map((crate) => `librust-${crate}-dev`),
      folder: "usr/share/cargo/registry",
    },
    build: [
      "mv memchr-* memchr",
      // What rustc builds itself with, which nobody else has.
      "sed -i '/^.dependencies.compiler_builtins.$/,/^$/d; /^.dependencies.core.$/,/^$/d; /^rustc-dep-of-std = /,/^]/d' memchr/Cargo.toml",
      "cp -r $DRIVERS/search search",
      "sed -i 's|^memchr = .*|memchr = { path = \"../memchr\" }|' search/Cargo.toml",
      "mkdir .cargo",
      'printf \'[source.crates-io]\nreplace-with = "packaged"\n[source.packaged]\ndirectory = "%s"\n\' $PWD > .cargo/config.toml',
      "cd search && cargo build --offline --release -j$JOBS",
    ].join("\n"),
    check: "cd memchr && cargo test --offline --release -j$JOBS --lib",
    timed: [
      {
        title: "a byte that is not there",
        command: "search/target/release/search absent 1000000",
        reaches: "x86::avx::memchr::h",
      },
      {
        title: "a frequent byte",
        command: "search/target/release/search often 80000",
        reaches: "x86::avx::memchr::h",
      },
      {
        title: "one of three",
        command: "search/target/release/search three 40000",
        reaches: "x86::avx::memchr3::h",
      },
      {
        title: "a word",
        command: "search/target/release/search quick 700000",
        reaches: "memmem::.*x86::avx::",
      },
    ],
    needs: ["cargo", "rustc", "dpkg-deb"],
  },
];
