/** Printed data: what GNU as makes of it, symbol by symbol and byte by byte. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { printModule } from "../../formats/asm/index.js";
import { parseModule } from "../../formats/text/index.js";

const layout =
  'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"\n' +
  'target triple = "x86_64-unknown-linux-gnu"\n';

function print(ir: string, relocation: "static" | "pie" | "pic" = "static"): string {
  return printModule(parseModule(layout + ir, "m.ll"), [], { relocation });
}

/** Assembles and calls `use` with the object's path. */
function assembled<T>(text: string, use: (object: string, dir: string) => T): T {
  const dir = mkdtempSync(join(tmpdir(), "data-"));
  try {
    writeFileSync(join(dir, "m.s"), text);
    execFileSync("as", ["--64", "-o", join(dir, "m.o"), join(dir, "m.s")]);
    return use(join(dir, "m.o"), dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Contents of the object's section as hexadecimal. */
function sectionHex(text: string, section: string): string {
  return assembled(text, (object, dir) => {
    execFileSync("objcopy", ["-O", "binary", "-j", section, object, join(dir, "s")]);
    return readFileSync(join(dir, "s")).toString("hex");
  });
}

/** `type binding visibility section-type` of each named symbol, from readelf. */
function symbols(text: string): Map<string, string> {
  return assembled(text, (object) => {
    const out = new Map<string, string>();
    for (const line of execFileSync("readelf", ["-sW", object], { encoding: "utf8" }).split("\n")) {
      const [, , size, type, binding, visibility, index, ...name] = line.trim().split(/\s+/);
      if (name.length > 0)
        out.set(
          name.join(" "),
          `${type} ${binding} ${visibility} ${size} ${index === "UND" ? "UND" : index === "COM" ? "COM" : "DEF"}`,
        );
    }
    return out;
  });
}

const sections = (text: string): string =>
  assembled(text, (object) => execFileSync("readelf", ["-SW", object], { encoding: "utf8" }));

describe("initialisers", () => {
  test("lay out integers of any width, floats, padding and undefined values", () => {
    const ir = `
@a = global { i8, i24, i1, i16 } { i8 1, i24 -2, i1 true, i16 undef }
@b = global x86_fp80 0xK3FFF8000000000000000
@c = global i128 -1
@d = global <8 x i1> <i1 1, i1 0, i1 1, i1 1, i1 0, i1 0, i1 0, i1 1>
@e = global half 0xH3C00
@f = global <{ i8, i32 }> <{ i8 7, i32 305419896 }>
`;
    const hex = sectionHex(print(ir), ".data");
    expect(hex).toContain("01000000feffff00010000000");
    expect(hex).toContain("0000000000000080ff3f000000000000");
    expect(hex).toContain(`${"ff".repeat(16)}8d`);
    expect(hex).toContain("003c");
    expect(hex).toContain("0778563412");
  });

  test("write strings so that any byte survives", () => {
    const bytes = Array.from({ length: 256 }, (_, i) => `\\${i.toString(16).padStart(2, "0")}`).join("");
    const ir = `@s = global [256 x i8] c"${bytes}"\n@t = global [6 x i8] c"1\\009\\0A\\22\\5C"`;
    const hex = sectionHex(print(ir), ".data");
    expect(hex).toContain(Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0")).join(""));
    expect(hex).toContain("3100390a225c");
  });

  test("express addresses and their differences", () => {
    const ir = `
@x = global [4 x i32] zeroinitializer
@p = global ptr getelementptr inbounds ([4 x i32], ptr @x, i64 0, i64 3)
@q = global i64 ptrtoint (ptr getelementptr (i8, ptr @x, i64 -4) to i64)
@r = constant i32 trunc (i64 sub (i64 ptrtoint (ptr @x to i64), i64 ptrtoint (ptr @r to i64)) to i32)
@n = global i64 sub (i64 ptrtoint (ptr getelementptr (i8, ptr @x, i64 12) to i64), i64 ptrtoint (ptr @x to i64))
`;
    const relocations = assembled(print(ir), (object) =>
      execFileSync("readelf", ["-rW", object], { encoding: "utf8" }),
    );
    expect(relocations).toMatch(/R_X86_64_64\s+\S+ x \+ c/);
    expect(relocations).toMatch(/R_X86_64_64\s+\S+ x - 4/);
    expect(relocations).toMatch(/R_X86_64_PC32\s+\S+ x \+ 0/);
    expect(print(ir)).toMatch(/\nn:\n\t\.ascii\t"\\014"|\nn:\n\t\.long\t12|\nn:\n[^\n]*\n[^\n]*\n/);
  });
});

describe("symbols and sections", () => {
  test("say the distances of functions that may be elsewhere by those of stubs, from their own places", () => {
    const entry = (fn: string): string =>
      `i32 trunc (i64 sub (i64 ptrtoint (ptr dso_local_equivalent @${fn} to i64), i64 ptrtoint (ptr getelementptr inbounds ({ i32, i32, ptr }, ptr @table, i32 0, i32 1) to i64)) to i32)`;
    const ir = `
@table = constant { i32, i32, ptr } { ${entry("elsewhere")}, ${entry("here")}, ptr dso_local_equivalent @elsewhere }
declare void @elsewhere()
define internal void @here() { ret void }`;
    const relocations = assembled(print(ir), (object) =>
      execFileSync("readelf", ["-rW", object], { encoding: "utf8" }),
    );
    expect([...relocations.matchAll(/R_X86_64\S+.*$/gm)].map(([line]) => line.replace(/\s+/g, " "))).toEqual([
      "R_X86_64_PLT32 0000000000000000 elsewhere - 4",
      "R_X86_64_PC32 0000000000000000 here + 0",
      "R_X86_64_64 0000000000000000 elsewhere + 0",
    ]);
    const other = ir.replace("ptr @table, i32 0", "ptr @other, i32 0");
    expect(() => print(`@other = global { i32, i32, ptr } zeroinitializer${other}`)).toThrow(
      "dso_local_equivalent",
    );
  });

  test("have the binding, visibility and section that the IR says", () => {
    const ir = `
$grp = comdat any
@com = common global i32 0, align 4
@tls = thread_local global i32 5
@tbss = internal thread_local global i64 0
@weak = weak hidden global i32 1
@grp = linkonce_odr constant i32 9, comdat
@ext = extern_weak global i32
@use = global ptr @ext
@str = private unnamed_addr constant [4 x i8] c"abc\\00"
@cst = private unnamed_addr constant i64 81985529216486895
@named = global i32 1, section "my_section"
@ro = constant ptr @weak
@alias = protected alias i32, ptr @named
`;
    const text = print(ir, "pie");
    const table = symbols(text);
    expect(table.get("com")).toBe("OBJECT GLOBAL DEFAULT 4 COM");
    expect(table.get("tls")).toBe("TLS GLOBAL DEFAULT 4 DEF");
    expect(table.get("tbss")).toBe("TLS LOCAL DEFAULT 8 DEF");
    expect(table.get("weak")).toBe("OBJECT WEAK HIDDEN 4 DEF");
    expect(table.get("grp")).toBe("OBJECT WEAK DEFAULT 4 DEF");
    expect(table.get("ext")).toBe("NOTYPE WEAK DEFAULT 0 UND");
    expect(table.get("alias")).toBe("OBJECT GLOBAL PROTECTED 4 DEF");
    const list = sections(text);
    expect(list).toMatch(/\.rodata\.str1\.1\s.*\sAMS\s/);
    expect(list).toMatch(/\.rodata\.cst8\s.*\sAM\s/);
    expect(list).toMatch(/\.data\.rel\.ro\s.*\sWA\s/);
    expect(list).toMatch(/\.rodata\.grp\s.*\sAG\s/);
    expect(list).toMatch(/my_section\s.*\sWA\s/);
    expect(list).toMatch(/\.note\.GNU-stack/);
  });

  test("of constructors follow their priorities", () => {
    const ir = `
declare void @f()
declare void @g()
@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @f, ptr null }, { i32, ptr, ptr } { i32 200, ptr @g, ptr null }]
@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"
`;
    const list = sections(print(ir));
    expect(list).toMatch(/\.init_array\s+INIT_ARRAY/);
    expect(list).toMatch(/\.init_array\.00200\s+INIT_ARRAY/);
    expect(list).not.toContain("llvm.");
  });

  test("with odd names stay names", () => {
    const odd = [
      "weird name",
      "a;b",
      "$dollar",
      "1digit",
      "x+y",
      "q\\22uote",
      "eax",
      "%rax",
      "tab\\09",
      ".LBB0_1",
      "back\\5Cslash",
      "semi\\0A.globl evil",
    ];
    const ir = odd.map((name, i) => `@"${name}" = global i32 ${i}`).join("\n");
    const text = print(`${ir}\n@p = global ptr @"x+y"\n`);
    const table = symbols(text);
    expect([...table.values()].filter((v) => v.startsWith("OBJECT GLOBAL")).length).toBe(odd.length + 1);
    expect(table.has("evil")).toBe(false);
    expect(table.has("weird name")).toBe(true);
    expect(table.has("$dollar")).toBe(true);
  });
});
