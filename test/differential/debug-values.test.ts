/**
 * What debug information says of local variables is what the program itself says of them (test/tools/variable-programs.ts),
 * at places all over random programs. The compiler's own passes are left out: what is wrong would be ours.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { anyClangOption } from "../support/clang.js";
import { inThisProcess, temporaryFolder } from "../support/command.js";
import { mustRun } from "../tools/process.js";
import { recordsInMemory } from "../tools/recorded-values.js";
import { findProgram } from "../tools/root.js";
import { outsideSource, variableProgram } from "../tools/variable-programs.js";
import { compare, stopScript, stopsOf } from "../tools/variable-stops.js";

const gdb = findProgram("gdb");
if (gdb === undefined) console.warn("gdb is not there: what it says of variables is not compared");
const clang = [anyClangOption];
const scratch = temporaryFolder();

async function checked(
  seed: number,
  level: string,
): Promise<{ compared: number; wrong: string[]; all: number }> {
  const dir = join(scratch, `${seed}${level}`);
  mkdirSync(dir);
  const at = (name: string): string => join(dir, name);
  const program = variableProgram(seed);
  writeFileSync(at("program.c"), program.text);
  writeFileSync(at("outside.c"), outsideSource);
  await mustRun(["cc", "-w", "-O0", "-fwrapv", "-DTELL", at("program.c"), "-o", at("told")]);
  const lines = (await mustRun([at("told")])).stdout.toString().split("\n");
  await mustRun(["cc", "-w", "-O1", "-c", at("outside.c"), "-o", at("outside.o")]);
  const execute = inThisProcess(dir);
  const raw = ["-Xclang", "-disable-llvm-passes"];
  for (const command of [
    ["tsc-cc", ...clang, "-w", level, ...raw, "-g", "-c", at("program.c"), "-o", at("program.o")],
    ["tsc-lto", at("program.o"), level, "--verify-each", "-o", at("program.s")],
  ]) {
    const { status, stderr } = await execute(command);
    expect(stderr).toBe("");
    expect(status).toBe(0);
  }
  await mustRun(["cc", at("program.s"), at("outside.o"), "-o", at("program")]);
  writeFileSync(at("stops.py"), stopScript(program.places, 100));
  let compared = 0;
  let all = 0;
  const stops = await stopsOf(gdb!, at("stops.py"), at("program"));
  const wrong = stops.flatMap((stop, n) => {
    const found = compare(stop, lines[n]!.split(" "), program.places);
    compared += found.counts.compared;
    all += found.counts.compared + found.counts.optimizedOut + found.counts.unknown;
    return found.wrong.map(({ text }) => text);
  });
  return { compared, wrong, all };
}

describe.skipIf(gdb === undefined)("values of local variables", () => {
  it.each([
    [1, "-O2"],
    [2, "-Oz"],
    [431, "-Oz"],
    [107, "-O1"],
  ])("are never wrong: program %d, %s", async (seed, level) => {
    const { compared, wrong, all } = await checked(seed, level);
    expect(wrong).toEqual([]);
    // Some are known: what is optimised out everywhere would be right, too.
    expect(compared / all).toBeGreaterThan(0.15);
  });

  it("are all known without optimisation", async () => {
    const { compared, wrong, all } = await checked(3, "-O0");
    expect(wrong).toEqual([]);
    expect(compared / all).toBeGreaterThan(0.9);
  });
});

it("notices what is wrong", () => {
  const places = [{ leaves: [{ path: "v1", kind: "integer" as const, size: 2 }], isCall: false }];
  expect(compare(["0", "fffe"], ["0", "fffffffffffffffe"], places).wrong).toEqual([]);
  expect(compare(["0", "-"], ["0", "7"], places).counts.optimizedOut).toBe(1);
  expect(compare(["0", "8"], ["0", "7"], places).wrong).toHaveLength(1);
  expect(() => compare(["1", "8"], ["0", "7"], places)).toThrow("stops at");
});

it("keeps what records say in memory, to tell whose fault a wrong value is", () => {
  const text = [
    "define i16 @f(i16 %0, double %1) !dbg !1 {",
    "    #dbg_value(i16 %0, !2, !DIExpression(), !3)",
    "    #dbg_value(!DIArgList(i16 %0, i64 7), !4, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus), !3)",
    "    #dbg_value(i16 9, !2, !DIExpression(), !3)",
    "  ret i16 %0",
    "}",
  ];
  const [head, , , constant, ...end] = text;
  expect(recordsInMemory(text.join("\n")).split("\n")).toEqual([
    head,
    "  %recorded.0 = alloca i64, align 8",
    "  store volatile i64 0, ptr %recorded.0, align 8",
    "  %recorded.1 = alloca i64, align 8",
    "  store volatile i64 0, ptr %recorded.1, align 8",
    "  store volatile i16 %0, ptr %recorded.0, align 1",
    "    #dbg_value(ptr %recorded.0, !2, !DIExpression(DW_OP_deref), !3)",
    "  store volatile i16 %0, ptr %recorded.1, align 1",
    "    #dbg_value(!DIArgList(ptr %recorded.1, i64 7), !4, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_deref, DW_OP_LLVM_arg, 1, DW_OP_plus), !3)",
    constant,
    ...end,
  ]);
});
