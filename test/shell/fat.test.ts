/** Objects that have IR beside machine code: which of both is linked, and that each alone is a program's. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { embeddedIrOf, isIr } from "../../bin/host/contents.js";
import { readElf } from "../../formats/elf.js";
import { defaultEmbeddedIr, type EmbeddedIrPolicy, irOf } from "../../formats/elf-ir.js";
import { ascii, elf } from "../archive/elf-writer.js";
import { removeWorkspaces, Workspace } from "../cc/driver.js";
import { findProgram } from "../tools/root.js";
import { builtDriver } from "./built-driver.js";

removeWorkspaces();
const driver = builtDriver();

const file = (...names: string[]): [string, number, number, number, number, number][] =>
  names.map((name) => [name, 4, 0, 0xfff1, 0, 0]);
const contents = (): Uint8Array => ascii("bitcode");

describe("the IR that is taken of an object", () => {
  const form = (bytes: Uint8Array, name: string, policy: EmbeddedIrPolicy): string | null =>
    irOf(readElf(bytes, name), name, policy)?.form ?? null;
  const fat = elf(file("a.c"), [".llvm.lto"], 1, contents);
  const embedded = elf(file("a.c"), [".llvmbc"], 1, contents);

  it("is that of fat objects, unless machine code is asked for", () => {
    expect(form(fat, "a.o", defaultEmbeddedIr)).toBe("bitcode");
    expect(form(fat, "a.o", { ...defaultEmbeddedIr, fat: false })).toBeNull();
    expect(form(fat, "a.o", { ...defaultEmbeddedIr, embedded: "none" })).toBe("bitcode");
  });

  it("is embedded bitcode of Rust's libraries, of all objects or of none", () => {
    expect(form(embedded, "libstd.rlib(std.o)", defaultEmbeddedIr)).toBe("bitcode");
    expect(form(embedded, "libstd.a(std.o)", defaultEmbeddedIr)).toBeNull();
    expect(form(embedded, "std.o", { fat: true, embedded: "all" })).toBe("bitcode");
    expect(form(embedded, "libstd.rlib(std.o)", { fat: true, embedded: "none" })).toBeNull();
    // A byte marks objects that were compiled so that they have none.
    const mark = elf(file("a.c"), [".llvmbc"], 1, () => new Uint8Array(1));
    expect(form(mark, "libstd.rlib(std.o)", defaultEmbeddedIr)).toBeNull();
  });

  it("is none of what was joined from several objects, which need not all have had any", () => {
    expect(form(elf(file("a.c", "b.c"), [".llvm.lto"], 1, contents), "a.o", defaultEmbeddedIr)).toBeNull();
  });

  it("is none of a shared library", () => {
    expect(form(elf([], [".llvm.lto"], 3, contents), "a.so", defaultEmbeddedIr)).toBeNull();
  });

  it("is what drivers go by, as their linkers are told", () => {
    const words = (...list: string[]) => isIr(fat, "a.o", embeddedIrOf(list));
    expect(words()).toBe(true);
    expect(words("--no-fat-lto-objects")).toBe(false);
    expect(words("--no-fat-lto-objects", "--fat-lto-objects")).toBe(true);
    const bitcode = (...list: string[]) => isIr(embedded, "a.o", embeddedIrOf(list));
    expect(bitcode()).toBe(false);
    expect(bitcode("--embedded-bitcode=all")).toBe(true);
    expect(bitcode("--embedded-bitcode=all", "--no-embedded-bitcode")).toBe(false);
    expect(isIr(embedded, "l.rlib(a.o)", embeddedIrOf(["--no-embedded-bitcode"]))).toBe(false);
  });
});

const clang = findProgram("clang-22") ?? "";

describe.skipIf(clang === "")("-ffat-lto-objects", () => {
  const w = new Workspace({
    "lib.c":
      '#include <stdio.h>\nint twice(int x) { return 2 * x; }\nvoid show(void) { printf("%d\\n", twice(21)); }\n',
    "main.c": "void show(void);\nint main(void) { show(); return 0; }\n",
  });
  const run = (program: string, ...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: w.directory, encoding: "utf8" });
    return `${status} ${stdout}${stderr}`;
  };
  const cc = async (...args: string[]): Promise<void> => {
    expect(driver(w, args, { clang })).toMatchObject({ code: 0, stderr: "" });
  };
  const hasTwice = (program: string): boolean => / twice$/m.test(run("nm", program));

  it("makes objects that every linker takes, and tsc-lto by their IR", async () => {
    await cc("-O2", "-c", "-ffat-lto-objects", "-MD", "-MT", "target", "lib.c");
    expect(w.text("lib.d")).toMatch(/^target: lib\.c/);
    const object = readElf(w.read("lib.o"), "lib.o");
    expect([object.isShell, object.fatBitcode!.length > 100]).toEqual([false, true]);
    expect(run("readelf", "-SsW", "lib.o")).toMatch(
      /LOOS\+0xfff4c0c .* E .*FUNC +GLOBAL DEFAULT +\d+ twice/s,
    );
    expect(run("ar", "rcs", "lib.a", "lib.o")).toBe("0 ");
    expect(run("cc", "main.c", "lib.a", "-o", "native")).toBe("0 ");
    expect(run("./native")).toBe("0 42\n");
    await cc("-O2", "main.c", "lib.a", "-o", "program");
    expect([run("./program"), hasTwice("program")]).toEqual(["0 42\n", false]);
    await cc("-O2", "-Wl,--no-fat-lto-objects", "main.c", "lib.a", "-o", "program");
    expect([run("./program"), hasTwice("program")]).toEqual(["0 42\n", true]);
  }, 60_000);

  it("is off where -fno-fat-lto-objects comes later, and means nothing where no object stays", async () => {
    await cc("-O2", "-c", "-ffat-lto-objects", "-fno-fat-lto-objects", "lib.c", "-o", "slim.o");
    expect(readElf(w.read("slim.o"), "slim.o").isShell).toBe(true);
    await cc("-O2", "-ffat-lto-objects", "main.c", "lib.c", "-o", "program");
    expect(run("./program")).toBe("0 42\n");
  }, 60_000);

  it("needs a compiler that makes machine code", async () => {
    expect(await w.run(["-c", "-ffat-lto-objects", "lib.c", "-o", "none.o"])).toMatchObject({
      code: 1,
      stderr:
        "tsc-cc: error: -ffat-lto-objects needs a system clang: the embedded one makes no machine code\n",
    });
    expect(w.list()).not.toContain("none.o");
  });

  it("of clang's own is read too", async () => {
    expect(run(clang, "-O2", "-flto", "-ffat-lto-objects", "-c", "lib.c", "-o", "clang.o")).toBe("0 ");
    await cc("-O2", "main.c", "clang.o", "-o", "program");
    expect([run("./program"), hasTwice("program")]).toEqual(["0 42\n", false]);
  }, 60_000);

  it("as -fembed-bitcode is read where that is asked for", async () => {
    expect(run(clang, "-O2", "-fembed-bitcode", "-c", "lib.c", "-o", "embedded.o")).toBe("0 ");
    await cc("-O2", "main.c", "embedded.o", "-o", "program");
    expect([run("./program"), hasTwice("program")]).toEqual(["0 42\n", true]);
    await cc("-O2", "-Wl,--embedded-bitcode=all", "main.c", "embedded.o", "-o", "program");
    expect([run("./program"), hasTwice("program")]).toEqual(["0 42\n", false]);
    // Plug-ins of binutils for old versions complain of the bitcode, and leave the object out of the index.
    expect(run(findProgram("llvm-ar-22") ?? "ar", "rcs", "lib.rlib", "embedded.o")).toMatch(/^0 /);
    await cc("-O2", "main.c", "lib.rlib", "-o", "program");
    expect([run("./program"), hasTwice("program")]).toEqual(["0 42\n", false]);
    await cc("-O2", "-Wl,--no-embedded-bitcode", "main.c", "lib.rlib", "-o", "program");
    expect([run("./program"), hasTwice("program")]).toEqual(["0 42\n", true]);
  }, 60_000);
});

describe("adding a section", () => {
  it("is refused where the compiler wrote another format", async () => {
    const { withSection } = await import("../../formats/elf-edit.js");
    const section = { name: ".llvm.lto", type: 1, flags: 0, bytes: ascii("bitcode") };
    for (const bytes of [ascii("nothing"), elf([]).slice(0, 70)])
      expect(() => withSection(bytes, section)).toThrow();
    const w = new Workspace();
    writeFileSync(w.path("a.o"), withSection(elf(file("a.c"), [".text"]), section));
    const read = readElf(w.read("a.o"), "a.o");
    expect([Buffer.from(read.fatBitcode!).toString(), read.files]).toEqual(["bitcode", 1]);
  });
});
