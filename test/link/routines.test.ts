/** Run-time routines that the program defines itself, and that go where no code calls them. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isRoutine, type LinkInput, type LinkOptions } from "../../lto/link/index.js";
import { temporaryFolder, tscLto } from "../support/command.js";
import { archive, ir, link, native, symbol } from "./harness.js";

/** A C library of which each function is a member. */
const definitions: Readonly<Record<string, string>> = {
  sin: "double @sin(double %x) {\n %r = call double @sin_help(double %x)\n ret double %r\n}",
  sin_help: "double @sin_help(double %x) noinline {\n %r = fmul double %x, 3.0\n ret double %r\n}",
  cos: "double @cos(double %x) {\n ret double %x\n}",
  floor: "double @floor(double %x) {\n ret double %x\n}",
  fmod: "double @fmod(double %x, double %y) {\n ret double %x\n}",
  memcpy: "ptr @memcpy(ptr %a, ptr %b, i64 %n) {\n ret ptr %a\n}",
  memcmp: "i32 @memcmp(ptr %a, ptr %b, i64 %n) {\n ret i32 0\n}",
  abort: "void @abort() {\n call void @raise(i32 6)\n ret void\n}",
  raise: "void @raise(i32 %n) noinline {\n store volatile i32 %n, ptr null\n ret void\n}",
  __udivti3: "i128 @__udivti3(i128 %a, i128 %b) {\n ret i128 %a\n}",
  // What others look for that no code mentions.
  __asan_default_options: "ptr @__asan_default_options() {\n ret ptr null\n}",
};
const needs: Readonly<Record<string, string>> = {
  sin: "declare double @sin_help(double)\n",
  abort: "declare void @raise(i32)\n",
};
const member = (name: string): string => `${needs[name] ?? ""}define ${definitions[name]}\n`;
const library = (): LinkInput =>
  archive(...Object.keys(definitions).map((name) => ir(`${name}.o`, member(name))));

const main = (body: string, declarations = ""): string =>
  `${declarations}define i32 @main(i32 %n, ptr %p) {\n%x = sitofp i32 %n to double\n${body}\nret i32 0\n}\n`;

describe("at the link", () => {
  const droppable = { droppable: (name: string) => isRoutine(name, true) };
  /** Definitions that are left, but for main. */
  const left = (
    source: string,
    options: Partial<LinkOptions> = droppable,
    ...others: LinkInput[]
  ): string[] =>
    link([ir("main.o", source), ...others, library()], options)
      .module.globals.filter((global) => !global.isDeclaration && global.name !== "main")
      .map(({ name }) => name)
      .sort();
  /** What passes may yet make calls of. */
  const asked = ["__asan_default_options", "__udivti3", "abort", "fmod", "memcmp", "memcpy", "raise"];

  it("functions of mathematics go that neither calls nor intrinsics name", () => {
    expect(left(main(""))).toEqual(asked);
    expect(
      left(main("call double @llvm.sin.f64(double %x)", "declare double @llvm.sin.f64(double)\n")),
    ).toEqual([...asked, "sin", "sin_help"].sort());
    expect(left(main("call double @cos(double %x)", "declare double @cos(double)\n"))).toEqual(
      [...asked, "cos"].sort(),
    );
    const pair = "{ double, double } @llvm.sincos.f64(double";
    expect(left(main(`call ${pair} %x)`, `declare ${pair})\n`))).toEqual(
      [...asked, "cos", "sin", "sin_help"].sort(),
    );
    const strict =
      'call double @llvm.experimental.constrained.floor.f64(double %x, metadata !"fpexcept.strict")';
    expect(
      left(main(strict, "declare double @llvm.experimental.constrained.floor.f64(double, metadata)\n")),
    ).toEqual([...asked, "floor"].sort());
  });

  it("those stay that something else may call", () => {
    const all = Object.keys(definitions).sort();
    expect(left(main(""), {})).toEqual(all);
    for (const options of [{ exportDynamic: true }, { entry: "" }, { output: "relocatable" as const }])
      expect(left(main(""), { ...droppable, ...options })).toEqual(all);
    expect(left(main(""), { ...droppable, exports: ["flo*"] })).toEqual([...asked, "floor"].sort());
    const user = native("user.o", [symbol("cos", { defined: false })]);
    expect(left(main(""), droppable, user)).toEqual([...asked, "cos"].sort());
    expect(
      left(main('call void asm sideeffect "call floor", ""()', "declare double @floor(double)\n")),
    ).toEqual([...asked, "floor"].sort());
  });

  it("what a library's own routine would need stays for those calls that would load it", () => {
    const routines = archive(
      native("unwind.o", [symbol("_Unwind_Resume"), symbol("cos", { defined: false })]),
      native("tan.o", [symbol("tan"), symbol("reduce", { defined: false })]),
      native("reduce.o", [symbol("reduce"), symbol("floor", { defined: false })]),
      native("start.o", [symbol("__libc_start_main"), symbol("sin", { defined: false })]),
    );
    // Exceptions are operations, tangents are not; start-up code always runs.
    const always = [...asked, "cos", "sin", "sin_help"].sort();
    expect(left(main(""), droppable, routines)).toEqual(always);
    const tangent = main("call float @llvm.tan.f32(float 1.0)", "declare float @llvm.tan.f32(float)\n");
    expect(left(tangent, droppable, routines)).toEqual(always);
    expect(left(tangent.replaceAll("float", "double").replace("f32", "f64"), droppable, routines)).toEqual(
      [...always, "floor"].sort(),
    );
  });
});

describe("in programs", () => {
  const folder = temporaryFolder();
  const path = (name: string): string => join(folder, name);
  const objects = Object.keys(definitions).map((name) => {
    writeFileSync(path(`${name}.ll`), member(name));
    return name;
  });

  /** Names of the definitions that are in the code. */
  async function names(source: string, ...options: string[]): Promise<string[]> {
    writeFileSync(path("main.ll"), source);
    for (const name of objects)
      expect(
        (
          await tscLto([path(`${name}.ll`), "-r", "--emit=object", "-o", path(`${name}.o`)], {
            cwd: folder,
            env: {},
          })
        ).err,
      ).toBe("");
    const files = objects.map((name) => path(`${name}.o`));
    execFileSync("ar", ["rcS", path("libc.a"), ...files]);
    const { err } = await tscLto([path("main.ll"), path("libc.a"), ...options, "-o", path("main.s")], {
      cwd: folder,
      env: {},
    });
    expect(err).toBe("");
    execFileSync("cc", ["-c", path("main.s"), "-o", path("main.o")]);
    const text = execFileSync("nm", ["-j", "--defined-only", "--extern-only", path("main.o")], {
      encoding: "utf8",
    });
    const undefinedNames = execFileSync("nm", ["-j", "--undefined-only", path("main.o")], {
      encoding: "utf8",
    });
    expect(undefinedNames.split("\n").filter((name) => name in definitions)).toEqual([]);
    return text.split("\n").filter((name) => name !== "" && name !== "main");
  }
  /** The compiler's libraries may call them. */
  const called = ["abort", "memcmp", "memcpy"];
  const always = ["__asan_default_options"];

  describe.each(["-O0", "-O2", "-Oz"])("%s", (level) => {
    it.each<[string, string, string, string[]]>([
      ["nothing", "", "", []],
      ["a remainder", "%r = frem double %x, %x\nstore double %r, ptr %p", "", ["fmod"]],
      [
        "a division of 128 bits",
        "%a = load i128, ptr %p\n%r = udiv i128 %a, 12345678901234567890123\nstore i128 %r, ptr %p",
        "",
        ["__udivti3"],
      ],
      [
        "sine",
        "%r = call double @llvm.sin.f64(double %x)\nstore double %r, ptr %p",
        "declare double @llvm.sin.f64(double)\n",
        ["sin"],
      ],
      [
        "an intrinsic that nobody needs",
        "%r = call double @llvm.sin.f64(double %x)",
        "declare double @llvm.sin.f64(double)\n",
        level === "-O0" ? ["sin"] : [],
      ],
    ])("%s", async (_, body, declarations, expected) => {
      const source = main(body, declarations);
      expect(await names(source, "--no-default-libs", level)).toEqual(
        [...called, ...always, ...expected].sort(),
      );
    });
  });

  it("all stay for what other libraries may call, or other code generators", async () => {
    const all = Object.keys(definitions).filter((name) => name !== "sin_help" && name !== "raise");
    expect(await names(main(""), "--export-dynamic", "-Oz")).toEqual(expect.arrayContaining(all));
    expect(await names(main(""), "--skip-pass=unused-routines", "-Oz", "--no-default-libs")).toEqual(
      [...called, ...always, "__udivti3", "fmod"].sort(),
    );
  });

  it("without libraries but those among the inputs, not even copies stay", async () => {
    const copy = "call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 %m, i1 false)";
    const source = (body: string): string =>
      `declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\ndefine i32 @main(i64 %m, ptr %p, ptr %q) {\n${body}\nret i32 0\n}\n`;
    writeFileSync(path("copy.ll"), source(copy));
    writeFileSync(path("none.ll"), source(""));
    execFileSync("cp", [path("libc.a"), path("libown.a")]);
    execFileSync("ar", ["rcS", path("libgcc.a")]);
    for (const [file, expected] of [
      ["copy.ll", ["memcpy"]],
      ["none.ll", []],
    ] as const) {
      const args = [
        path(file),
        path("libown.a"),
        path("libgcc.a"),
        "--no-default-libs",
        "-O2",
        "-o",
        path("own.s"),
      ];
      expect((await tscLto(args, { cwd: folder, env: {} })).err).toBe("");
      execFileSync("cc", ["-c", path("own.s"), "-o", path("own.o")]);
      const text = execFileSync("nm", ["-j", "--defined-only", "--extern-only", path("own.o")], {
        encoding: "utf8",
      });
      expect(text.split("\n").filter((name) => name !== "" && name !== "main")).toEqual(
        [...always, ...expected].sort(),
      );
    }
  });

  it("what leaving frames needs stays where frames are left", async () => {
    writeFileSync(
      path("unwind.c"),
      "void abort(void), sin(void);\nvoid _Unwind_Resume(void *p) { if (p) abort(); else sin(); }\n",
    );
    execFileSync("cc", ["-w", "-c", path("unwind.c"), "-o", path("unwind.o")]);
    execFileSync("cp", [path("libc.a"), path("libown.a")]);
    execFileSync("rm", ["-f", path("libgcc.a")]);
    execFileSync("ar", ["rcs", path("libgcc.a"), path("unwind.o")]);
    const source = (end: string): string => `declare void @f()
declare i32 @personality(...)
define i32 @main() personality ptr @personality {
  invoke void @f() to label %on unwind label %off
on:
  ret i32 0
off:
  %e = landingpad { ptr, i32 } cleanup
  ${end}
}
`;
    for (const [end, expected] of [
      ["ret i32 1", []],
      ["resume { ptr, i32 } %e", ["abort", "sin"]],
    ] as const) {
      writeFileSync(path("leave.ll"), source(end));
      const args = [path("leave.ll"), path("libown.a"), path("libgcc.a"), "--no-default-libs", "-O2"];
      expect((await tscLto([...args, "-o", path("leave.s")], { cwd: folder, env: {} })).err).toBe("");
      execFileSync("cc", ["-c", path("leave.s"), "-o", path("leave.o")]);
      const text = execFileSync("nm", ["-j", "--defined-only", "--extern-only", path("leave.o")], {
        encoding: "utf8",
      });
      expect(
        text.split("\n").filter((name) => name !== "" && name !== "main" && !name.startsWith("DW.ref")),
      ).toEqual([...always, ...expected].sort());
    }
  });
});
