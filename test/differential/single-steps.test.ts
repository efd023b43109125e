/**
 * The stack from every instruction: programs run in single steps, and the platform's unwinder finds all frames, return
 * addresses and preserved registers (test/tools/stepping.ts). First that the stepper sees what is wrong in descriptions
 * that are wrong on purpose.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { anyClangOption } from "../support/clang.js";
import { inThisProcess, temporaryFolder } from "../support/command.js";
import { hasCxxLibrary } from "../tools/fixtures.js";
import { mustRun } from "../tools/process.js";
import { buildStepper, namesOf, runInSteps, type Steps } from "../tools/stepping.js";
import { ours, type Unit } from "../tools/toolchain.js";

const scratch = temporaryFolder();
const stepper = await buildStepper(scratch);

/** Steps a whole program. */
async function stepped(exe: string, strict: boolean): Promise<{ steps: Steps; status: number; out: string }> {
  const { result, steps } = await runInSteps(stepper, exe, { limit: 1_000_000, strict, timeoutMs: 60_000 });
  if (steps === undefined) throw new Error(`no report; status ${result.status}`);
  return { steps, status: result.status, out: result.stdout.toString("latin1") };
}

/** `main`, with values of its own in rbx and r12, calls `f`, whose lines are given. It returns what `f` does. */
const assembly = (lines: readonly string[]): string =>
  `.globl main
main: .cfi_startproc
  push %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset %rbx, -16
  push %r12
  .cfi_def_cfa_offset 24
  .cfi_offset %r12, -24
  sub $8, %rsp
  .cfi_def_cfa_offset 32
  mov $77, %ebx
  mov $88, %r12d
  call f
  add $8, %rsp
  .cfi_def_cfa_offset 24
  pop %r12
  .cfi_def_cfa_offset 16
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
f:
${lines.map((line) => `  ${line}\n`).join("")}.section .note.GNU-stack,"",@progbits
`;

describe("the stepper", () => {
  const saved = ".cfi_offset %rbx, -16";
  const pushed = ".cfi_def_cfa_offset 16";
  const popped = ".cfi_def_cfa_offset 8";
  const right = [
    ".cfi_startproc",
    "push %rbx",
    pushed,
    saved,
    "mov $5, %ebx",
    "lea 2(%rbx), %eax",
    "pop %rbx",
    popped,
    "ret",
    ".cfi_endproc",
  ];
  const without = (line: string): string[] => right.filter((other) => other !== line);
  const instead = (line: string, other: string): string[] => right.map((l) => (l === line ? other : l));
  const rbp = without(saved).map((line) => line.replace("rbx", "rbp").replace("ebx", "ebp"));

  const run = async (name: string, lines: readonly string[], strict: boolean): Promise<Steps> => {
    const source = join(scratch, "case.s");
    writeFileSync(source, assembly(lines));
    const exe = join(scratch, name);
    await mustRun(["cc", "-pie", source, "-o", exe]);
    const { steps, status } = await stepped(exe, strict);
    expect(status).toBe(7);
    return steps;
  };

  it("is content where nothing is wrong", async () => {
    // Ten instructions with main's frame alone, five with two.
    const steps = { steps: 15, frames: 20, misses: 0, told: [] };
    expect(await run("right", right, true)).toEqual({ ...steps, registers: 120 });
    // main's frame alone was called from outside.
    expect(await run("right", right, false)).toEqual({ ...steps, registers: 90 });
    // What a caller keeps in a register is its own affair, if nobody outside of the program has to find it.
    const mine = instead(saved, ".cfi_undefined %rbx");
    expect((await run("undefined", mine, false)).misses).toBe(0);
  });

  const unwinderFails = "the CFA of a frame before which the unwinder fails is 0";
  const cases: readonly [wrong: string, lines: string[], strict: boolean, miss: string][] = [
    ["a push that is not described", without(pushed), true, `f+1 frame 0: ${unwinderFails}`],
    ["a pop that is not described", without(popped), true, "f+10 frame 0: CFA is"],
    ["a register that is said to be kept", without(saved), true, "f+6 frame 0: rbx is 5 instead of 4d"],
    ["a register in another place", instead(saved, ".cfi_offset %rbx, -8"), true, "f+1 frame 0: rbx is"],
    [
      "the wrong register",
      instead(saved, ".cfi_offset %r12, -16"),
      true,
      "f+1 frame 0: r12 is 4d instead of 58",
    ],
    ["a return address that is not one", instead(saved, ".cfi_offset %rip, -16"), true, "f+1 frame 0: "],
    [
      "no description",
      right.filter((line) => !line.startsWith(".cfi")),
      true,
      "f+0 frame 0: the CFA of a frame that is not found",
    ],
    [
      "a register that the caller from outside has lost",
      rbp,
      false,
      "f+6 frame 1: rbp is 5 instead of 2b2b2b2b2b2b2b2b",
    ],
  ];
  for (const [wrong, lines, strict, miss] of cases)
    it(`sees ${wrong}`, async () => {
      const name = wrong.replaceAll(" ", "-");
      const steps = await run(name, lines, strict);
      const [first] = steps.told;
      const [place] = await namesOf(join(scratch, name), [first!.offset]);
      expect(`${place} ${first!.what}`.slice(0, miss.length)).toBe(miss);
    });
});

const clang = [anyClangOption];

describe("programs of which every instruction can be unwound from", () => {
  const build = async (name: string, units: readonly Unit[], level: string, options: readonly string[]) => {
    const dir = join(scratch, `${name}-${level}`);
    mkdirSync(dir);
    const tool = ours(["-j1", ...options], clang, inThisProcess(scratch));
    const exe = join(dir, "program");
    const libs = units[0]!.source.endsWith(".cpp") ? ["-lstdc++"] : [];
    const made = await tool.build({ units, level, libs, exe, dir: join(dir, "build"), pie: true });
    expect(made.message).toBe("");
    return exe;
  };
  const check = async (exe: string, strict: boolean): Promise<void> => {
    const wanted = await mustRun([exe]);
    const { steps, status, out } = await stepped(exe, strict);
    const places = await namesOf(
      exe,
      steps.told.map(({ offset }) => offset),
    );
    expect(steps.told.map(({ what }, i) => `${places[i]} ${what}`)).toEqual([]);
    expect({ misses: steps.misses, status, out }).toEqual({
      misses: 0,
      status: 0,
      out: wanted.stdout.toString("latin1"),
    });
    expect(steps.steps).toBeGreaterThan(1000);
    expect(steps.frames).toBeGreaterThan(steps.steps);
    expect(steps.registers).toBeGreaterThanOrEqual(strict ? steps.frames * 6 : steps.steps * 6);
  };
  const cases: readonly [folder: string, name: string, level: string, options: string[]][] = [
    ["c", "ipra-tail", "Oz", []],
    ["c", "ipra-frames", "O0", []],
    ["c", "varargs-define", "O2", ["--no-ipra", "--no-outline"]],
    ["cpp", "throw-frames", "O2", []],
    ["cpp", "throw-registers", "Oz", []],
  ];
  for (const [folder, name, level, options] of cases)
    it.skipIf(folder === "cpp" && !hasCxxLibrary())(`${name} at -${level} ${options.join(" ")}`, async () => {
      const source = join(import.meta.dirname, "..", "..", "fixtures", folder, `${name}.${folder}`);
      await check(await build(name, [{ source, flags: ["-w"] }], level, options), options.length > 0);
    });
});
