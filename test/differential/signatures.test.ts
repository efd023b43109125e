/** Random signatures across the boundary to native code, both ways; `npm run signatures` tries many. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { inThisProcess, temporaryFolder } from "../support/command.js";
import { mustRun } from "../tools/process.js";
import { findProgram } from "../tools/root.js";
import { signatureProgram } from "../tools/signature-programs.js";
import { clangOption, findClang, systemClang } from "../tools/toolchain.js";

const dir = temporaryFolder();
const execute = inThisProcess(dir);

/** Builds a program whose file `mine` is ours, and runs it: what it says. */
async function built(
  seed: number,
  native: string,
  mine: "first" | "second",
  level: string,
  machine: readonly string[] = [],
): Promise<string> {
  const registerBytes = machine.length > 0 ? 32 : 16;
  const program = signatureProgram(seed, 8, !native.includes("gcc"), registerBytes);
  const other = mine === "first" ? "second" : "first";
  for (const name of ["first", "second"] as const) writeFileSync(join(dir, `${name}.c`), program[name]);
  await mustRun([
    native,
    "-O2",
    "-w",
    ...machine,
    "-fPIE",
    "-c",
    join(dir, `${other}.c`),
    "-o",
    join(dir, "native.o"),
  ]);
  const [object, assembly] = [join(dir, "ours.o"), join(dir, "ours.s")];
  for (const step of [
    ["tsc-cc", `-${level}`, "-w", ...machine, ...clangOption(), "-c", join(dir, `${mine}.c`), "-o", object],
    ["tsc-lto", `-${level}`, object, join(dir, "native.o"), "-o", assembly],
  ]) {
    const { status, stderr } = await execute(step);
    expect(stderr).toBe("");
    expect(status).toBe(0);
  }
  await mustRun(["cc", "-no-pie", assembly, join(dir, "native.o"), "-o", join(dir, "program")]);
  // It ends with another status where anything is not what it should be.
  return (await mustRun([join(dir, "program")])).stdout.toString();
}

const gcc = findProgram("gcc");
it.skipIf(gcc === undefined).each([
  ["first", "O0"],
  ["second", "O2"],
] as const)("gcc's, and the %s side ours at -%s", async (mine, level) => {
  expect(await built(1, gcc!, mine, level)).toMatch(/^[1-9]\d{3,} checks\n$/);
});
it.skipIf(findClang() === undefined)("clang's, and the first side ours at -Oz", async () => {
  expect(await built(2, systemClang(), "first", "Oz")).toMatch(/^[1-9]\d{3,} checks\n$/);
});

/** What is executed has to be there. */
const hasAvx2 =
  existsSync("/proc/cpuinfo") && /^flags.* avx2( |$)/m.test(readFileSync("/proc/cpuinfo", "utf8"));
it.skipIf(gcc === undefined || !hasAvx2).each([
  ["first", "O0"],
  ["second", "O2"],
  ["first", "Oz"],
] as const)("gcc's with AVX2, and the %s side ours at -%s", async (mine, level) => {
  expect(await built(5, gcc!, mine, level, ["-mavx2"])).toMatch(/^[1-9]\d{3,} checks\n$/);
});
it.skipIf(findClang() === undefined || !hasAvx2)(
  "clang's with AVX, and the second side ours at -O2",
  async () => {
    expect(await built(6, systemClang(), "second", "O2", ["-mavx"])).toMatch(/^[1-9]\d{3,} checks\n$/);
  },
);
