/**
 * Every function of clang's headers from AVX to the smaller parts of AVX-512 is compiled; where this machine can run them they
 * give what clang's code gives. `npm run intrinsics` does the same for all headers.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { inThisProcess, temporaryFolder } from "../support/command.js";
import { callersOf, headerFunctions } from "../tools/header-functions.js";
import { accepted, compareWithClang, headerFolder, refusals } from "../tools/intrinsics.js";
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
    if (!new RegExp(`\\b${feature}\\b`).test(cpu)) return;
    const run = good.filter(({ of }) => !unrun.test(of.name));
    expect([...(await compareWithClang(clang!, run, flags, "O2", pool, dir))]).toEqual([]);
  });
});
