/** The ELF shell of IR objects, before the tools that read it: binutils, linkers, and LLVM's tools where they are installed. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { readOperand } from "../../bin/lto/inputs.js";
import { isElf, readElf } from "../../formats/elf.js";
import { STB_GLOBAL, STB_LOCAL, STT_FILE, STT_FUNC } from "../../formats/elf-constants.js";
import { type ElfMachine, writeRelocatable } from "../../formats/elf-writer.js";
import { isObject, writeObject } from "../../formats/object/index.js";
import { writeShell } from "../../formats/object-shell.js";
import { parseModule } from "../../formats/text/index.js";
import { InputError } from "../../lto/ir/errors.js";
import { removeWorkspaces, Workspace } from "../cc/driver.js";
import { builtDriver } from "./built-driver.js";

removeWorkspaces();
const driver = builtDriver();

const source = `
__attribute__((visibility("hidden"))) int hidden = 3;
static int local(int x) { static int counter; counter += x; return x * 3 + hidden + counter; }
static int (*volatile pointer)(int) = local;
int common __attribute__((common));
const int constant = 5;
int zero;
const char *const names[] = {"a", "b"};
extern int undefined;
extern int weak_undefined __attribute__((weak));
__attribute__((weak)) int weak(void) { return undefined; }
__attribute__((weak)) int weak_variable = 3;
__thread int of_thread = 4;
__thread int zero_of_thread;
extern int alias(void) __attribute__((alias("weak")));
static int target(void) { return 1; }
static void *resolver(void) { return target; }
int indirect(void) __attribute__((ifunc("resolver")));
__asm__(".globl from_assembly\\nfrom_assembly: ret\\n.weak weak_from_assembly\\nweak_from_assembly = 5\\n");
int in_section __attribute__((section("somewhere"))) = 1;
int main(int c, char **v) {
  return pointer(c) + weak() + common + of_thread + zero_of_thread + indirect() + (&weak_undefined ? weak_undefined : 0);
}
`;

/** Null where there is no such program. */
function tool(w: Workspace, name: string, ...args: string[]): { status: number; text: string } | null {
  const { status, stdout, stderr, error } = spawnSync(name, args, { cwd: w.directory, encoding: "utf8" });
  return error === undefined ? { status: status!, text: stdout + stderr } : null;
}

/** Name and kind of each symbol, sorted. */
const symbolsOf = (w: Workspace, program: string, file: string): string[] =>
  tool(w, program, "-f", "posix", file)!
    .text.split("\n")
    .map((line) => line.split(" ").slice(0, 2).join(" "))
    // What code generation alone asks for.
    .filter((line) => !/^(?:$|__lto_object|_GLOBAL_OFFSET_TABLE_|__tls_get_addr)/.test(line))
    .map((line) => line.replace(/^counter\.\d /, "local.counter "))
    .sort();

/** The error of reading a file as an input of a link; undefined: none. */
function complaint(path: string, bytes: Uint8Array): string | undefined {
  const operand = { isLibrary: false, wholeArchive: false, lazy: false, static: false };
  try {
    readOperand({ ...operand, name: path, bytes }, []);
    return undefined;
  } catch (e) {
    if (!(e instanceof InputError)) throw e;
    return `${e.file}: ${e.message}`;
  }
}

const w = new Workspace({
  "a.c": source,
  "main.c": "int twice(int); int main(int c, char **v) { return twice(c); }",
  "sub/twice.c": "int twice(int x) { return x * 2; }",
});

beforeAll(async () => {
  for (const args of [["a.c"], ["main.c"], ["sub/twice.c", "-o", "twice.o"]])
    expect((await w.run(["-O1", "-fPIC", "-c", ...args])).stderr).toBe("");
}, 60_000);

describe("the symbol table", () => {
  it("is that of a compiler's object", () => {
    expect(tool(w, "cc", "-O1", "-fPIC", "-fno-common", "-c", "a.c", "-o", "native.o")!.text).toBe("");
    const expected = symbolsOf(w, "nm", "native.o");
    expect(expected).toContain("local.counter b");
    expect(symbolsOf(w, "nm", "a.o")).toEqual(expected);
  });

  it("has sizes of variables, visibilities, and the name of the source without folders", () => {
    const { symbols, files } = readElf(w.read("a.o"), "a.o");
    expect(files).toBe(1);
    const of = (name: string) => symbols.find((symbol) => symbol.name === name);
    expect(of("hidden")).toMatchObject({ visibility: "hidden", size: 4, defined: true });
    expect(of("names")).toMatchObject({ size: 16, tls: false });
    expect(of("common")).toMatchObject({ common: true, size: 4, align: 4 });
    expect(of("of_thread")).toMatchObject({ tls: true, size: 4 });
    expect(of("weak_undefined")).toMatchObject({ weak: true, defined: false });
    expect(tool(w, "readelf", "-sW", "twice.o")!.text).toMatch(/FILE +LOCAL +DEFAULT +ABS twice\.c$/m);
  });

  it("is read by the other tools", () => {
    expect(tool(w, "ar", "rcs", "lib.a", "twice.o", "a.o")!.text).toBe("");
    expect(tool(w, "ranlib", "lib.a")!.text).toBe("");
    expect(tool(w, "nm", "-s", "lib.a")!.text).toMatch(/^twice in twice\.o$/m);
    expect(tool(w, "size", "a.o")!.status).toBe(0);
    expect(tool(w, "objdump", "-t", "a.o")!.text).toMatch(/g +F \.text\t0+ main$/m);
    expect(tool(w, "file", "a.o")?.text ?? "relocatable").toContain("relocatable");
    const llvm = tool(w, "llvm-nm", "a.o");
    if (llvm !== null) expect(llvm.text).toContain(" T main\n");
  });
});

describe("linkers that know nothing of it", () => {
  const options = [[], ["-shared"], ["-shared", "--gc-sections"], ["-pie"], ["--gc-sections", "-e", "main"]];
  for (const linker of ["ld", "ld.gold", "ld.lld", "ld.lld-22", "mold"])
    it.skipIf(spawnSync(linker, ["-v"]).error !== undefined)(`refuse it: ${linker}`, () => {
      for (const words of options) {
        const { status, text } = tool(w, linker, ...words, "main.o", "twice.o", "-o", "program")!;
        expect([words, status]).not.toEqual([words, 0]);
        expect(text).toContain("__lto_object_without_machine_code_needs_tsc_lto");
      }
    });

  it("join several with -r as if they were an archive", () => {
    for (const linker of ["ld", "ld.lld", "ld.lld-22", "mold"]) {
      if (tool(w, linker, "-r", "main.o", "twice.o", "-o", "joined.o") === null) continue;
      const operand = { isLibrary: false, wholeArchive: false, lazy: false, static: false };
      const inputs = readOperand({ ...operand, name: w.path("joined.o") }, []);
      const names = inputs.map((input) => (input.kind === "module" ? input.module.sourceName : input.kind));
      expect(names).toEqual(["main.c", "sub/twice.c"]);
    }
  });

  it("cannot join it with machine code unseen", () => {
    w.write("data.s", ".globl given\n.data\ngiven: .long 1\n");
    w.write("nothing.s", '.file "nothing.c"\n.comm given,4\n');
    for (const name of ["data", "nothing"]) {
      expect(tool(w, "as", `${name}.s`, "-o", `${name}.o`)!.text).toBe("");
      expect(tool(w, "ld", "-r", "main.o", `${name}.o`, "-o", "joined.o")!.status).toBe(0);
      expect(complaint("joined.o", w.read("joined.o"))).toMatch(/^joined\.o: IR joined with /);
    }
  });
});

describe("strip", () => {
  const linked = async (name: string): Promise<string> => {
    const { code, stderr } = driver(w, ["-O1", "main.o", name, "-o", "program"]);
    return `${code} ${stderr}`;
  };
  it("leaves the IR, whatever it takes", async () => {
    for (const option of ["-g", "--strip-unneeded", "--strip-all"]) {
      expect(tool(w, "strip", option, "twice.o", "-o", "stripped.o")!.text).toBe("");
      expect(await linked("stripped.o")).toBe("0 ");
      expect(tool(w, "./program")!.status).toBe(2);
    }
  }, 60_000);

  it("that takes the IR too leaves what is refused", () => {
    expect(tool(w, "objcopy", "-R", ".tsc_lto", "twice.o", "bare.o")!.text).toBe("");
    expect(complaint("bare.o", w.read("bare.o"))).toBe(
      "bare.o: object of tsc-cc without its IR, which some tool has removed",
    );
  });
});

describe("the file", () => {
  it("follows from the source alone", async () => {
    const before = w.read("twice.o");
    expect((await w.run(["-O1", "-fPIC", "-c", "sub/twice.c", "-o", "again.o"])).code).toBe(0);
    expect(w.read("again.o").equals(before)).toBe(true);
  }, 60_000);

  it("is the bare object with -fno-elf-objects, which is read as before", async () => {
    expect(
      (await w.run(["-O1", "-fPIC", "-c", "-fno-elf-objects", "sub/twice.c", "-o", "bare.o"])).code,
    ).toBe(0);
    expect(isObject(w.read("bare.o"))).toBe(true);
    expect([...w.read("bare.o")]).toEqual([...w.object("twice.o")]);
    expect((await w.run(["-c", "-fno-elf-objects", "-felf-objects", "main.c", "-o", "bare.o"])).code).toBe(0);
    expect(isElf(w.read("bare.o"))).toBe(true);
    expect((await w.run(["-O1", "-c", "-fno-elf-objects", "main.c", "-o", "bare.o"])).code).toBe(0);
    expect(driver(w, ["-O1", "bare.o", "twice.o", "-o", "program"])).toMatchObject({ code: 0, stderr: "" });
  }, 60_000);

  it("is one of the machine that the module is for, and refused by its linkers", () => {
    const layouts = {
      "i686-linux-gnu": "e-p:32:32",
      "armv7-linux-gnueabihf": "e-p:32:32",
      "aarch64-linux-gnu": "e",
      "riscv64-linux-gnu": "e",
      "x86_64-linux-gnux32": "e-p:32:32",
    };
    const emulations = ["elf_i386", "armelf_linux_eabi", "aarch64linux", "elf64lriscv", "elf32_x86_64"];
    for (const [i, [triple, layout]] of Object.entries(layouts).entries()) {
      const text = `target datalayout = "${layout}"\ntarget triple = "${triple}"\ndefine void @f() {\n  ret void\n}\n`;
      const module = parseModule(text, "a.ll");
      writeFileSync(w.path("foreign.o"), writeShell(module, writeObject(module))!);
      expect(complaint("foreign.o", w.read("foreign.o"))).toBeUndefined();
      expect(tool(w, "readelf", "-sW", "foreign.o")!.text).toMatch(/FUNC +GLOBAL DEFAULT +1 f$/m);
      const linked = tool(w, "ld.lld-22", "-m", emulations[i]!, "-e", "f", "foreign.o", "-o", "program");
      if (linked === null) continue;
      expect(linked.status).toBe(1);
      expect(linked.text).toContain("undefined hidden symbol: __lto_object_without_machine_code");
    }
  });

  it("of a machine without a row is the bare object", () => {
    const module = parseModule(
      'target triple = "sparc64-linux-gnu"\ndefine void @f() {\n  ret void\n}\n',
      "a.ll",
    );
    expect(writeShell(module, writeObject(module))).toBeNull();
  });

  it("has one error however it is damaged", () => {
    const whole = new Uint8Array(readFileSync(w.path("twice.o")));
    expect(complaint("twice.o", whole)).toBeUndefined();
    let refused = 0;
    const check = (bytes: Uint8Array): void => {
      const text = complaint("twice.o", bytes);
      if (text === undefined) return;
      refused++;
      expect(text).toMatch(/^twice\.o: [^\n]+$/);
    };
    for (let size = 0; size < whole.length; size++) check(whole.subarray(0, size));
    expect(refused).toBe(whole.length);
    for (let at = 0; at < whole.length; at++)
      for (const value of [0, 0xff, whole[at]! ^ 4]) {
        const damaged = whole.slice();
        damaged[at] = value;
        check(damaged);
      }
    expect(refused).toBeGreaterThan(whole.length);
  });
});

describe("relocatable files of other classes and byte orders", () => {
  const machines: readonly (readonly [string, RegExp, ElfMachine])[] = [
    ["i386", /Intel 80386/, { machine: 3, flags: 0, bits: 32, littleEndian: true, rela: false }],
    ["PowerPC", /PowerPC/, { machine: 20, flags: 0, bits: 32, littleEndian: false, rela: true }],
    ["S/390", /IBM S\/390/, { machine: 22, flags: 0, bits: 64, littleEndian: false, rela: true }],
    ["AArch64", /AArch64/, { machine: 183, flags: 0, bits: 64, littleEndian: true, rela: true }],
  ];
  for (const [name, words, machine] of machines)
    it(`are read by readelf: ${name}`, () => {
      const symbol = { visibility: 0, value: 0, size: 0 };
      const section = { name: ".text", type: 1, flags: 6, align: 4, bytes: new Uint8Array(4) };
      const bytes = writeRelocatable(
        machine,
        [{ ...section, relocations: [{ offset: 0, type: 1, symbol: "undefined" }] }],
        [
          { ...symbol, name: "undefined", binding: STB_GLOBAL, type: 0, section: 0 },
          { ...symbol, name: "a.c", binding: STB_LOCAL, type: STT_FILE, section: 0xfff1 },
          { ...symbol, name: "defined", binding: STB_GLOBAL, type: STT_FUNC, section: ".text", size: 4 },
        ],
      );
      writeFileSync(w.path("machine.o"), bytes);
      const { status, text } = tool(w, "readelf", "-hrsW", "machine.o")!;
      expect(status).toBe(0);
      expect(text).toMatch(words);
      expect(text).not.toMatch(/[Ww]arning|[Ee]rror/);
      expect(text).toMatch(/1: 0+ +0 FILE +LOCAL +DEFAULT +ABS a\.c/);
      expect(text).toMatch(/3: 0+ +4 FUNC +GLOBAL DEFAULT +1 defined/);
      expect(text).toMatch(/^0+ +0*201 .* undefined|^0+ +0*200000001 .* undefined/m);
    });
});
