/** Instructions that GNU as does not know have the bytes that clang's assembler gives them. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { recentMnemonics, withRecentAsBytes } from "../../formats/asm/x64/recent-instructions.js";
import { temporaryFolder } from "../support/command.js";
import { findProgram } from "../tools/root.js";

const clang = findProgram(process.env["CLANG"] ?? "clang-22", "clang-22");
const dir = temporaryFolder();

/** Operands, of which each mnemonic takes some. */
function shapes(): string[] {
  const out: string[] = [];
  const widths = ["xxx", "yyy", "zzz", "yzz", "xyy", "yyx", "xy", "yx", "zy", "yz"];
  for (const [i, width] of widths.entries()) {
    // Each of a register's five bits is set and clear in each place.
    const [a, b, c] = [
      [1, 2, 3],
      [25, 14, 30],
      [7, 31, 8],
    ][i % 3]!;
    const [first, second, third] = [a, b, c].map((n, at) => `%${width[at] ?? width[1]}mm${n}`);
    if (width.length === 3) {
      for (const tail of ["", " {%k7} {z}"])
        out.push(`${first}, ${second}, ${third}${tail}`, `$3, ${first}, ${second}, ${third}${tail}`);
      out.push(`{ru-sae}, ${first}, ${second}, ${third}`, `$1, {sae}, ${first}, ${second}, ${third} {%k5}`);
      out.push(`$4, ${first}, ${second}, %k6 {%k4}`, `$4, ${first}, %k2`);
      out.push(`(%r13), ${second}, ${third}`, `%r10d, %tmm7, ${third}`, `$77, %tmm6, ${third}`);
    }
    out.push(
      `${first}, ${second} {%k3}`,
      `$129, ${first}, ${second}`,
      `{rz-sae}, ${first}, ${second} {%k2}{z}`,
    );
    out.push(`$1, {sae}, ${first}, ${second}`, `{sae}, ${first}, ${second}`);
    out.push(`(${["%rax", "%rsp", "%rbp", "%r12"][i % 4]}), ${second}`, `(%r9), ${first} {%k1} {z}`);
    out.push(`${first}, %r9d`, `{sae}, ${first}, %rdi`);
  }
  for (const general of ["%al", "%sil", "%r9b", "%ax", "%eax", "%r9d", "%rdi", "%r15"])
    for (const base of ["%rax", "%rsp", "%r13"])
      out.push(`${general}, (${base})`, `(${base}), ${general}`, `(${base})`);
  for (const [a, b, c] of [
    [1, 2, 3],
    [9, 14, 11],
  ])
    out.push(
      `%xmm${a}, %ymm${b}`,
      `%xmm${a}, %xmm${b}`,
      `%ymm${a}, %ymm${b}`,
      `%xmm${a}, %ymm${b}, %ymm${c}`,
    );
  out.push("%tmm2, %tmm3, %tmm4", "(%rax,%rbx), %tmm5", "(%r13,%r9,1), %tmm5");
  return out;
}

/** What clang says of lines, and its code if it accepts them all: 16 bytes for each. */
function assemble(lines: readonly string[]): { said: string; code: Buffer } {
  const [text, object, code] = ["all.s", "all.o", "all.bin"].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(text, lines.map((line) => `.p2align 4, 0; ${line}\n`).join(""));
  const options = ["-cc1as", "-triple", "x86_64-linux-gnu", "-filetype", "obj", "-o", object];
  const { status, stderr } = spawnSync(clang!, [...options, text], { encoding: "utf8", maxBuffer: 1 << 28 });
  if (status !== 0) return { said: stderr, code: Buffer.alloc(0) };
  execFileSync("objcopy", ["-O", "binary", "-j", ".text", object, code]);
  return { said: "", code: readFileSync(code) };
}

describe.skipIf(clang === undefined)("instructions as bytes", () => {
  test("each has clang's", () => {
    const lines = recentMnemonics().flatMap((name) => shapes().map((shape) => `${name} ${shape}`));
    const ours = new Map<string, readonly string[]>();
    for (const line of lines) {
      const text = withRecentAsBytes(line);
      const bytes = /^\.byte (.*) \/\* /.exec(text)?.[1];
      if (bytes !== undefined) ours.set(line, bytes.split(", "));
    }
    const candidates = [...ours.keys()];
    const { said } = assemble(candidates);
    const wrong = new Set([...said.matchAll(/all\.s:(\d+):\d+: error/g)].map((m) => Number(m[1]) - 1));
    const accepted = candidates.filter((_, i) => !wrong.has(i));
    const { code, said: more } = assemble(accepted);
    expect(more.slice(0, 500)).toBe("");
    const different = accepted.flatMap((line, i) => {
      const theirs = code.subarray(16 * i, 16 * i + 16);
      const made = ours.get(line)!.map((text) => Number(text));
      return [...theirs].every((byte, at) => byte === (made[at] ?? 0))
        ? []
        : [`${line}: ${ours.get(line)} for ${theirs.toString("hex")}`];
    });
    expect(different).toEqual([]);
    const done = new Set(accepted.map((line) => /\w+/.exec(line)![0]));
    expect(recentMnemonics().filter((name) => !done.has(name))).toEqual([]);
  });
});
