/** Random functions of vector operations against clang's code of the same IR; `npm run vector-functions` tries many. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { inThisProcess, temporaryFolder } from "../support/command.js";
import { mustRun } from "../tools/process.js";
import { findClang, systemClang } from "../tools/toolchain.js";
import { vectorLevels, vectorMain } from "../tools/vector-levels.js";
import { vectorModule } from "../tools/vector-programs.js";

const dir = temporaryFolder();
const execute = inThisProcess(dir);
const cpuinfo = existsSync("/proc/cpuinfo") ? readFileSync("/proc/cpuinfo", "utf8") : "";
const flags = new Set((/^flags\s*:(.*)$/m.exec(cpuinfo)?.[1] ?? "").trim().split(" "));
const functions = 12;

const linesOf = async (...objects: string[]): Promise<string[]> => {
  const exe = join(dir, "program");
  await mustRun(["cc", join(dir, "main.o"), ...objects, "-lm", "-o", exe]);
  return (await mustRun([exe])).stdout.toString().split("\n");
};

it.skipIf(findClang() === undefined).each([
  ["SSE2", "SSSE3", "O2"],
  ["SSE41", "SSE42", "O0"],
  ["SSE41", "SSE42", "Oz"],
  ["AVX", "AVX2", "O2"],
  ["SKX", "ICL", "Oz"],
] as const)("%s and %s at -%s", async (first, second, level) => {
  const chosen = vectorLevels.flatMap(({ name, needs }, i) =>
    (name === first || name === second) && needs.every((flag) => flags.has(flag)) ? [i] : [],
  );
  // The machine may have none of them.
  if (chosen.length === 0) return;
  const isWide = flags.has("avx512f");
  writeFileSync(join(dir, "functions.ll"), vectorModule(8, functions, chosen));
  writeFileSync(join(dir, "main.c"), vectorMain(functions, isWide));
  const wide = isWide ? ["-mavx512f"] : [];
  await mustRun(["cc", "-O1", ...wide, "-c", join(dir, "main.c"), "-o", join(dir, "main.o")]);
  const theirs = join(dir, "clang.o");
  await mustRun([systemClang(), "-w", "-O1", "-c", join(dir, "functions.ll"), "-o", theirs]);
  const assembly = join(dir, "ours.s");
  const { status, stderr } = await execute([
    "tsc-lto",
    "-r",
    `-${level}`,
    "--verify",
    join(dir, "functions.ll"),
    "-o",
    assembly,
  ]);
  expect(stderr).toBe("");
  expect(status).toBe(0);
  await mustRun(["cc", "-c", assembly, "-o", join(dir, "ours.o")]);
  const expected = await linesOf(theirs);
  expect(expected.length).toBe(9 * functions + 1);
  expect(await linesOf(join(dir, "ours.o"))).toEqual(expected);
});
