/**
 * Every function of clang's headers of scalars and of 16 bytes is compiled; those that this machine can run give what clang's
 * code gives. The headers come with a system clang. `npm run intrinsics` does the same for all headers.
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

/** Results are the same each time, and harm nobody. By header, the feature in /proc/cpuinfo. */
const running: Readonly<Record<string, string>> = {
  "xmmintrin.h": "sse2",
  "emmintrin.h": "sse2",
  "pmmintrin.h": "pni",
  "tmmintrin.h": "ssse3",
  "smmintrin.h": "sse4_2",
  "ammintrin.h": "sse4a",
  "__wmmintrin_aes.h": "aes",
  "__wmmintrin_pclmul.h": "pclmulqdq",
  "shaintrin.h": "sha_ni",
  "gfniintrin.h": "gfni",
  "popcntintrin.h": "popcnt",
  "lzcntintrin.h": "abm",
  "bmiintrin.h": "bmi1",
  "bmi2intrin.h": "bmi2",
  "adcintrin.h": "sse2",
  "adxintrin.h": "adx",
  "crc32intrin.h": "sse4_2",
};
/** The rest are compiled: they change the machine, wait, or are not the same twice. */
const compiled =
  `cetintrin cldemoteintrin clflushoptintrin clwbintrin clzerointrin enqcmdintrin fxsrintrin hresetintrin ia32intrin immintrin invpcidintrin
  movdirintrin mwaitxintrin pkuintrin ptwriteintrin rdpruintrin rdseedintrin rtmintrin serializeintrin tsxldtrkintrin
  uintrintrin waitpkgintrin wbnoinvdintrin xsavecintrin xsaveintrin xsaveoptintrin xsavesintrin xtestintrin`
    .split(/\s+/)
    .map((name) => `${name}.h`);

/** Not theirs to run: state of the machine, memory that nobody gave, pointers as values, undefined results. */
const unrun =
  /^_mm_(?:get|set)csr|^_MM_|undefined|malloc|free|_mm_monitor|_mm_mwait|maskmove|clflush|_m_maskmov|prefetch|_tpause|i_si64$|loadu?_si(?:16|32|64)$/;

/** Options of clang, and the features in /proc/cpuinfo. */
const features: Readonly<Record<string, string>> = {
  "-msse4.2": "sse4_2",
  "-msse4a": "sse4a",
  "-maes": "aes",
  "-mpclmul": "pclmulqdq",
  "-msha": "sha_ni",
  "-mgfni": "gfni",
  "-mcrc32": "sse4_2",
};
const flags = Object.keys(features);
const cpu = readFileSync("/proc/cpuinfo", "utf8");
const has = (feature: string): boolean => new RegExp(`\\b${feature}\\b`).test(cpu);
/** clang makes use of what it is told that the machine has, in other functions, too. */
const runFlags = flags.filter((flag) => has(features[flag]!));

describe.skipIf(clang === undefined)("functions of clang's headers", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await headerFolder(clang!);
  });
  const callers = (header: string) =>
    headerFunctions(folder, header)
      .filter(({ parameters, result }) => ![...parameters, result].some((t) => /__m(?:256|512|mask)/.test(t)))
      .flatMap(callersOf);

  test.each([...Object.keys(running), ...compiled])("%s", async (header) => {
    const good = await accepted(clang!, callers(header), flags, dir);
    expect(good.length).toBeGreaterThan(0);
    const text = readFileSync(join(dir, "all.ll"), "utf8");
    const symbols = good.map(({ symbol }) => symbol);
    expect(await refusals(pool, text, dir, symbols)).toEqual([]);
    const feature = running[header];
    if (feature === undefined || !has(feature)) return;
    const run = good.filter(({ of }) => !unrun.test(of.name));
    for (const level of ["O2", "Oz"])
      expect([...(await compareWithClang(clang!, run, runFlags, level, pool, dir))]).toEqual([]);
  });
});
