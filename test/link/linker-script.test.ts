/** Symbols that the system linker defines itself, by `--defsym` or in a script: they are its own in every use. */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { linkerOptions } from "../../bin/host/linker-options.js";
import { readLinkerScript } from "../../lto/link/index.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

describe("a script's symbols", () => {
  const names = (text: string) => {
    const { assigned, mentioned } = readLinkerScript(text);
    return `${assigned.join(" ")} / ${mentioned.join(" ")}`;
  };

  it.each([
    ["a=b", "a / b"],
    ["a = b + 0x10 * c-4;", "a / b c"],
    ["a-=1; a2<<=b;c|=d", "a a2 c / a a2 b c d"],
    ["x = a == b ? c : d >= 2;", "x / a b c d"],
    ["/* y = 1; */ x = 1; /* z", "x / "],
    ['"a b" = "c";', "a b / c"],
    [". = . + 4; end$1 = .;", "end$1 / "],
    ["PROVIDE(p = q); PROVIDE_HIDDEN (r = s); HIDDEN(t = u);", "t / PROVIDE p q PROVIDE_HIDDEN r s HIDDEN u"],
    ["*lib/*.o(.data) x = 1; /* y */", "x / lib .o .data"],
    ["ENTRY(boot) EXTERN(a b)", " / ENTRY boot EXTERN a b"],
    ["SECTIONS { .text : { start = .; *(.text) } >rom }", "start / SECTIONS .text rom"],
  ])("%s", (text, expected) => {
    expect(names(text)).toBe(expected);
  });

  it("say where programs start", () => {
    expect(readLinkerScript("MEMORY { } ENTRY ( boot ) SECTIONS { }").entry).toBe("boot");
    expect(readLinkerScript('/* ENTRY(a) */ ENTRY("b.c")').entry).toBe("b.c");
    expect(readLinkerScript("RE_ENTRY(x)").entry).toBeNull();
  });

  it("names what it includes", () => {
    expect(readLinkerScript('INCLUDE a.ld\nINCLUDE "b c.ld"; /* INCLUDE d.ld */ x = 1;').included).toEqual([
      "a.ld",
      "b c.ld",
    ]);
  });
});

describe("a program without main", () => {
  const source = (entry: string): string => `define i32 @helper(i32 %x) noinline {
  %1 = mul i32 %x, 77
  ret i32 %1
}
define void @${entry}(i32 %x) {
  %1 = call i32 @helper(i32 %x)
  call void @out(i32 %1)
  ret void
}
declare void @out(i32)
`;
  const linked = async (entry: string, script: string): Promise<string> => {
    writeFileSync(path("start.ll"), source(entry));
    writeFileSync(path("start.ld"), script);
    const words = ["-T", path("start.ld"), "--no-default-libs", "--emit=ir", "-o", "-", path("start.ll")];
    const { code, out, err } = await tscLto(words, { cwd: folder });
    expect([code, err]).toEqual([0, ""]);
    return out;
  };

  it.each([
    ["reset", "ENTRY(reset)"],
    ["_start", ""],
  ])("is closed where it starts at %s", async (entry, script) => {
    const text = await linked(entry, script);
    expect(text).toMatch(new RegExp(`define (?:dso_local )?void @${entry}`));
    expect(text).not.toMatch(/define (?!internal)[^\n]*@helper/);
  });

  it("is open where it starts elsewhere", async () => {
    expect(await linked("reset", "ENTRY(native)")).toMatch(/define (?!internal)[^\n]*@helper/);
  });
});

describe("in a program", () => {
  const program = `define i32 @one() {
  ret i32 1
}
define i32 @ten() {
  ret i32 10
}
define i32 @spare() {
  ret i32 7
}
@v = constant i32 1
@w = constant [2 x i32] [i32 2, i32 5]
declare i32 @late()
declare i32 @printf(ptr, ...)
@text = private constant [10 x i8] c"%d %d %d\\0A\\00"
define i32 @main() {
  %a = call i32 @one()
  %b = load i32, ptr @v
  %c = call i32 @late()
  call i32 (ptr, ...) @printf(ptr @text, i32 %a, i32 %b, i32 %c)
  ret i32 0
}
`;
  const libc = execFileSync("cc", ["-print-file-name=libc.so.6"], { encoding: "utf8" }).trim();
  beforeAll(() => writeFileSync(path("p.ll"), program));

  async function output(linker: readonly string[], options: readonly string[]): Promise<string> {
    const given = linkerOptions(linker);
    const { err } = await tscLto([path("p.ll"), ...given, ...options, "-o", path("p.s")], {
      cwd: folder,
      env: {},
    });
    expect(err).toBe("");
    const words = linker.map((word) => `-Wl,${word}`);
    execFileSync("cc", ["-no-pie", path("p.s"), ...words, "-o", path("p")], { cwd: folder });
    return spawnSync(path("p"), { encoding: "utf8" }).stdout;
  }

  it.each(["-O0", "-O2", "-Oz"])("%s: --defsym goes before what modules define", async (level) => {
    const words = ["--defsym=one=ten", "--defsym=v=w", "--defsym=late=spare"];
    expect(await output(words, [level, "-z", "defs", libc])).toBe("10 2 7\n");
    expect(await output(words, [level, "--relocation-model=pic"])).toBe("10 2 7\n");
  });

  it("a symbol may be moved from where it was", async () => {
    expect(await output(["--defsym=w=w+4", "--defsym=v=w", "--defsym=late=ten"], ["-Oz"])).toBe("1 5 10\n");
  });

  it("scripts, and what they include", async () => {
    writeFileSync(path("outer.ld"), "INCLUDE inner.ld\nPROVIDE(v = w); /* v = w; */\n");
    writeFileSync(path("inner.ld"), "one = ten;\nlate = DEFINED(nothing) ? nothing : spare;\n");
    const at = process.cwd();
    const options = [`--script=${path("outer.ld")}`, "-L", folder, "-Oz", "-o", path("s.s"), path("p.ll")];
    expect((await tscLto(options, { cwd: at, env: {} })).err).toBe("");
    execFileSync("cc", ["-no-pie", path("s.s"), "outer.ld", "-o", path("s")], { cwd: folder });
    expect(spawnSync(path("s"), { encoding: "utf8" }).stdout).toBe("10 1 7\n");
  });

  it("complains of what it cannot read", async () => {
    const error = async (...args: string[]) =>
      (await tscLto([path("p.ll"), ...args, "-o", path("e.s")], { cwd: folder, env: {} })).err;
    expect(await error("--defsym", "one")).toContain(
      "error: --defsym: expected SYMBOL=EXPRESSION, got 'one'",
    );
    expect(await error("-T", path("none.ld"))).toContain(`cannot open ${path("none.ld")}`);
  });
});

it("spellings of the linker's options", () => {
  expect(
    linkerOptions(["-T", "a.ld", "-Tb.ld", "--script=c.ld", "-Ttext=0x1000", "-Tdata", "0x2000"]),
  ).toEqual(["a.ld", "b.ld", "c.ld"].flatMap((file) => ["--script", file]));
  expect(linkerOptions(["--defsym", "a=b", "-defsym=c=d+1"])).toEqual(["--defsym=a=b", "--defsym=c=d+1"]);
});
