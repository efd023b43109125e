/**
 * Functions that are made of final code (outlined code, shared epilogues): they have no more than the functions asked for
 * that their code comes from, and where code is asked to be what they are not, none is made.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();

const user = (n: number, asked: string): string => `
define void @user${n}(i32 %x, i32 %y) minsize optsize nounwind ${asked} {
  store volatile i32 ${n}, ptr @own
  %1 = call i32 @value(i32 %x)
  %2 = call i32 @value(i32 %y)
  %3 = call i32 @value(i32 %1)
  store volatile i32 11111, ptr @a
  store volatile i32 22222, ptr @b
  store volatile i32 33333, ptr @a
  store volatile i32 44444, ptr @b
  %4 = call i32 @value(i32 %3)
  %5 = call i32 @value(i32 %4)
  store volatile i32 %x, ptr @a
  store volatile i32 %y, ptr @a
  store volatile i32 %1, ptr @a
  store volatile i32 %2, ptr @a
  store volatile i32 %3, ptr @a
  store volatile i32 %4, ptr @a
  store volatile i32 %5, ptr @b
  ret void
}`;
const program = (asked: string, flags: string): string => `
target triple = "x86_64-unknown-linux-gnu"
@own = global i32 0
@a = global i32 0
@b = global i32 0
declare i32 @value(i32) nounwind
${Array.from({ length: 12 }, (_, i) => user(i + 1, asked)).join("")}
${flags}`;

interface Made {
  /** Text of each made function, from its label to its end. */
  readonly code: readonly string[];
  /** How many frames are described. */
  readonly described: number;
}

async function made(asked: string, ...options: string[]): Promise<Made> {
  return madeOf(program(asked, ""), ...options);
}
async function madeOf(text: string, ...options: string[]): Promise<Made> {
  const [source, output] = [join(folder, "in.ll"), join(folder, "out.s")];
  writeFileSync(source, text);
  const args = ["-Oz", "--only-passes=dce,branch-marks", "--relocatable", ...options, source, "-o", output];
  expect(await tscLto(args, { cwd: folder })).toEqual({ code: 0, out: "", err: "" });
  const assembly = readFileSync(output, "utf8");
  return {
    code: [...assembly.matchAll(/^(outlined\.\S+):\n[\s\S]*?\.size\t\1/gm)].map(([code]) => code),
    described: assembly.match(/\.cfi_startproc/g)?.length ?? 0,
  };
}
const isEpilogue = (code: string): boolean => code.startsWith("outlined.epilogue");

describe("what nobody asks for", () => {
  it.each([
    { what: "outlined code", options: [], isWanted: (text: string) => !isEpilogue(text) },
    { what: "shared epilogues", options: ["--no-outline"], isWanted: isEpilogue },
  ])("is not there in $what", async ({ options, isWanted }) => {
    const { code, described } = await made("", ...options);
    expect(code.some(isWanted)).toBe(true);
    expect(described).toBe(0);
    for (const text of code) expect(text).not.toMatch(/endbr64|int3|nop|__fentry__|\.section|\.p2align/);
  });
});

describe("what functions ask for", () => {
  it("unwind tables: made functions have them, too", async () => {
    const plain = await made("uwtable", "--no-outline");
    const { code, described } = await made("uwtable");
    expect(plain.described).toBeGreaterThan(0);
    expect(code.length).toBeGreaterThan(0);
    expect(described).toBeGreaterThan(0);
  });
  it("marks at entries: nothing but calls and jumps lead to made functions", async () => {
    const flag = '!llvm.module.flags = !{!0}\n!0 = !{i32 8, !"cf-protection-branch", i32 1}\n';
    const { code } = await madeOf(program("", flag));
    expect(
      readFileSync(join(folder, "out.s"), "utf8").match(/^user\d+:\n(?:#.*\n)?\tendbr64/gm),
    ).toHaveLength(12);
    expect(code.length).toBeGreaterThan(0);
    for (const text of code) expect(text).not.toContain("endbr64");
  });
  it("bytes to be replaced at entries are those of the functions", async () => {
    const { code } = await made('"patchable-function-entry"="5"');
    expect(code.length).toBeGreaterThan(0);
    for (const text of code) expect(text).not.toMatch(/nop|patchable/);
  });
  it.each([
    "fn_ret_thunk_extern",
    "nooutline",
    '"zero-call-used-regs"="used-gpr"',
    '"target-features"="+harden-sls-ret,+harden-sls-ijmp"',
    '"target-features"="+retpoline-indirect-branches,+retpoline-indirect-calls"',
    '"fentry-call"="true"',
    'section ".init.text"',
  ])("%s: none is made", async (asked) => expect((await made(asked)).code).toEqual([]));
});

describe("entries that set arguments", () => {
  const calls = Array.from(
    { length: 6 },
    (_, n) => `define i32 @f${n}(i32 %x) ASKED {
  %1 = call i32 (ptr, ...) @printf(ptr @text, i32 %x)
  %2 = add i32 %x, ${n}
  ret i32 %2
}
`,
  ).join("");
  const text = (asked: string): string => `
target triple = "x86_64-unknown-linux-gnu"
@text = private constant [4 x i8] c"%d\\0A\\00"
declare i32 @printf(ptr, ...)
${calls.replaceAll("ASKED", `minsize optsize ${asked}`)}`;
  const described = async (asked: string): Promise<[entries: number, frames: number]> => {
    const [source, output] = [join(folder, "bound.ll"), join(folder, "bound.s")];
    writeFileSync(source, text(asked));
    const { code } = await tscLto(
      ["-Oz", "--only-passes=constant-argument-thunks", "--relocatable", source, "-o", output],
      {
        cwd: folder,
      },
    );
    expect(code).toBe(0);
    let isOpen = false;
    let entries = 0;
    let frames = 0;
    for (const line of readFileSync(output, "utf8").split("\n"))
      if (/^printf\.bound.*:/.test(line)) {
        entries++;
        if (isOpen) frames++;
      } else if (line.includes(".cfi_startproc")) isOpen = true;
      else if (line.includes(".cfi_endproc")) isOpen = false;
    return [entries, frames];
  };
  it("are described only where callers are, though the callee may unwind", async () => {
    expect(await described("nounwind")).toEqual([1, 0]);
    expect(await described("")).toEqual([1, 1]);
    expect(await described("nounwind uwtable")).toEqual([1, 1]);
  });
});
