/**
 * Every function of clang's headers from AVX to the smaller parts of AVX-512 is compiled; where this machine can run them they
 * give what clang's code gives. `npm run intrinsics` does the same for all headers.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { inThisProcess, temporaryFolder } from "../support/command.js";
import { callersOf, headerFunctions } from "../tools/header-functions.js";
import {
  accepted,
  compareWithClang,
  headerFolder,
  otherInstructions,
  refusals,
} from "../tools/intrinsics.js";
import { findProgram } from "../tools/root.js";

const clang = findProgram(process.env["CLANG"] ?? "clang-22", "clang-22");
const dir = temporaryFolder();
const pool = { execute: inThisProcess(dir) };

const avx2 = ["-mavx2", "-mfma", "-mf16c"];
const avx512 = (name: string): string[] => ["f", "bw", "dq", "vl", name].map((part) => `-mavx512${part}`);

/** Of the same with registers of 256 bits alone. */
const without512: Readonly<Record<string, readonly string[]>> = {
  "vaesintrin.h": [...avx2, "-mvaes"],
  "vpclmulqdqintrin.h": [...avx2, "-mvpclmulqdq"],
  "gfniintrin.h": [...avx2, "-mgfni"],
};

/** By header, the features in /proc/cpuinfo and the options. Results are the same each time, and harm nobody. */
const headers: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  "f16cintrin.h": ["f16c", avx2],
  "fmaintrin.h": ["fma", avx2],
  "avxvnniintrin.h": ["avx_vnni", [...avx2, "-mavxvnni"]],
  "avx512cdintrin.h": ["avx512cd", avx512("cd")],
  "avx512dqintrin.h": ["avx512dq", avx512("dq")],
  "avx512vlcdintrin.h": ["avx512cd", avx512("cd")],
  "avx512vbmiintrin.h": ["avx512vbmi", avx512("vbmi")],
  "avx512vbmivlintrin.h": ["avx512vbmi", avx512("vbmi")],
  "avx512vbmi2intrin.h": ["avx512_vbmi2", avx512("vbmi2")],
  "avx512vnniintrin.h": ["avx512_vnni", avx512("vnni")],
  "avx512vlvnniintrin.h": ["avx512_vnni", avx512("vnni")],
  "avx512ifmaintrin.h": ["avx512ifma", avx512("ifma")],
  "avx512bitalgintrin.h": ["avx512_bitalg", avx512("bitalg")],
  "avx512vpopcntdqintrin.h": ["avx512_vpopcntdq", avx512("vpopcntdq")],
  "avx512bf16intrin.h": ["avx512_bf16", avx512("bf16")],
  "vaesintrin.h": ["vaes", ["-mvaes", ...avx512("f")]],
  "vpclmulqdqintrin.h": ["vpclmulqdq", ["-mvpclmulqdq", ...avx512("f")]],
  "gfniintrin.h": ["gfni", ["-mgfni", ...avx512("f")]],
};

/** Tiles by their numbers, which headers have as macros. */
const tiles = `#include <immintrin.h>
#define CHECKED(name, features, ...) __attribute__((target("amx-tile," features))) void name(char *out, char *in) { \\
    _tile_loadconfig(in); _tile_zero(2); _tile_loadd(0, in, 64); _tile_stream_loadd(1, in, 32); __VA_ARGS__; \\
    _tile_stored(2, out, 64); _tile_storeconfig(out + 1024); _tile_release(); }
CHECKED(bytes, "amx-int8", _tile_dpbssd(2, 0, 1); _tile_dpbsud(2, 1, 0); _tile_dpbusd(3, 0, 2); _tile_dpbuud(2, 3, 4))
CHECKED(halves, "amx-bf16,amx-fp16", _tile_dpbf16ps(2, 0, 1); _tile_dpfp16ps(2, 1, 0))
CHECKED(quarters, "amx-fp8", _tile_dpbf8ps(2, 0, 1); _tile_dpbhf8ps(2, 1, 0); _tile_dphbf8ps(2, 7, 0); _tile_dphf8ps(2, 1, 6))
CHECKED(others, "amx-tf32,amx-complex,amx-movrs", _tile_mmultf32ps(2, 0, 1); _tile_cmmimfp16ps(2, 1, 0); _tile_cmmrlfp16ps(2, 0, 5);
  _tile_loaddrs(3, in, 64); _tile_stream_loaddrs(4, in, 64))
`;

/** Results that are undefined, or in the order of additions. */
const unrun = /undefined|cast[ps][ids]\d+_|reduce_(?:add|mul)_p/;

const cpu = readFileSync("/proc/cpuinfo", "utf8");

describe.skipIf(clang === undefined)("functions of clang's headers of wide vectors", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await headerFolder(clang!);
  });

  test.each([
    ...Object.entries(headers).map(([header, [feature, flags]]) => [header, feature, flags] as const),
    ...Object.entries(without512).map(([header, flags]) => [header, headers[header]![0], flags] as const),
  ])("%s: %s, %s", async (header, feature, flags) => {
    const callers = headerFunctions(folder, header).flatMap(callersOf);
    const good = await accepted(clang!, callers, flags, dir);
    expect(good.length).toBeGreaterThan(0);
    const text = readFileSync(join(dir, "all.ll"), "utf8");
    const symbols = good.map(({ symbol }) => symbol);
    expect(await refusals(pool, text, dir, symbols)).toEqual([]);
    // There are processors with instructions of a header and without AVX-512.
    const wide = flags.map((flag) => flag.slice(2)).filter((name) => /^avx512(f|bw|dq|vl)$/.test(name));
    if (![feature, ...wide].every((name) => new RegExp(`\\b${name}\\b`).test(cpu))) return;
    const run = good.filter(({ of }) => !unrun.test(of.name));
    expect([...(await compareWithClang(clang!, run, flags, "O2", pool, dir))]).toEqual([]);
  });

  test("tiles by their numbers: clang's instructions", async () => {
    const source = join(dir, "tiles.c");
    writeFileSync(source, tiles);
    execFileSync(clang!, ["-O1", "-S", "-emit-llvm", source, "-o", join(dir, "all.ll")]);
    expect([...(await otherInstructions(clang!, pool, dir))]).toEqual([]);
  });

  // Of processors that are rare, or to come: instructions and operands, the way that `npm run intrinsics -- --compare` looks at all.
  test.each(["avx10_2_512niintrin.h", "sm3intrin.h"])("%s: clang's instructions", async (header) => {
    const callers = headerFunctions(folder, header).flatMap(callersOf);
    const good = await accepted(clang!, callers, [], dir);
    expect(good.length).toBeGreaterThan(0);
    expect([...(await otherInstructions(clang!, pool, dir))]).toEqual([]);
  });
});
