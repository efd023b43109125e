/** Modules that cannot be compiled here: machine code of the system's clang in their place, with one warning each. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { main as link } from "../../bin/ld/main.js";
import { removeWorkspaces, Workspace } from "../cc/driver.js";
import { tscLto } from "../support/command.js";
import { findProgram } from "../tools/root.js";
import { builtDriver } from "./built-driver.js";

removeWorkspaces();
const driver = builtDriver();

const clang = findProgram("clang-22") ?? "";
const jump =
  'long double y; __asm__ goto("fldz; testl %1, %1; jne %l2" : "=t"(y) : "r"(x) : : yes); return 0; yes: return 1;';

const files = {
  "jumps.c": `
    int other(int);
    static int local(int x) { ${jump} }
    int first(int x) { return local(x) + other(x); }
    int second(int x) { return __builtin_expect(x, 0) ? 7 : 3; }
    int third(int x) { ${jump} }`,
  "main.c": `
    #include <stdio.h>
    int first(int), second(int), third(int);
    static int hidden = 40;
    int other(int x) { return x + hidden; }
    int main(int argc, char **argv) { printf("%d %d %d\\n", first(argc), second(argc), third(argc)); return 0; }`,
  "inlined.c": `int third(int x) { ${jump} }`,
  "twin.c": `int other(int x) { ${jump} }`,
  "starts.c": `
    int first(int), third(int);
    int main(int argc, char **argv) { return first(argc) * 16 + third(argc); }`,
  "caller.c": "int third(int);\nint main(int argc, char **argv) { return third(argc) + 4; }",
  "tiles.c": `
    #include <immintrin.h>
    __attribute__((target("amx-int8,amx-tile"))) void tiles(void *p) {
      __tile1024i a = {16, 64};
      __tile_loadd(&a, p, 64);
      __tile_stored(p, 64, a);
    }
    int main(void) { return 5; }`,
};
const asm = "asm goto with an output '={st}' of type x86_fp80";

describe.skipIf(clang === "")("a module with unsupported constructs", () => {
  const w = new Workspace(files);
  const start = (name = "./program"): string => {
    const { status, stdout } = spawnSync(name, [], { cwd: w.directory, encoding: "utf8" });
    return `${status} ${stdout}`;
  };
  const cc = async (...args: string[]) => driver(w, args, { clang });
  const compile = async (...names: string[]): Promise<void> => {
    for (const name of names)
      expect(await cc("-O2", "-c", `${name}.c`)).toMatchObject({ code: 0, stderr: "" });
  };

  it("is compiled by clang when it is linked, and the others are optimised", async () => {
    await compile("jumps", "main");
    const { code, stderr } = await cc("-O2", "jumps.o", "main.o", "-o", "program");
    expect(stderr).toBe(
      `tsc-lto: warning: jumps.o: ${clang} compiles it, without link-time optimisation; ` +
        `unsupported: ${asm} (in @first); ${asm} (in @third)\n`,
    );
    expect([code, start()]).toEqual([0, "0 42 7 1\n"]);
    // Its code is there as clang makes it, and whom it calls keeps its name.
    const symbols = spawnSync("nm", ["program"], { cwd: w.directory, encoding: "utf8" }).stdout;
    expect(symbols).toMatch(/ T second$/m);
    expect(symbols).toMatch(/ T other$/m);
    expect(symbols).not.toMatch(/ hidden$/m);
  }, 60_000);

  it("is an error with --error-unsupported, for the compiler driver and through the linker's words", async () => {
    for (const word of ["--error-unsupported", "-Wl,--error-unsupported"]) {
      const { code, stderr } = await cc("-O2", word, "jumps.o", "main.o", "-o", "refused");
      expect([code, stderr]).toEqual([1, `tsc-lto: error: jumps.o: unsupported: ${asm} (in @first)\n`]);
    }
    expect(w.list()).not.toContain("refused");
  }, 60_000);

  it("is the one that has the construct, not the one that it is inlined into", async () => {
    await compile("inlined", "caller");
    const { code, stderr } = await cc("-O2", "caller.o", "inlined.o", "-o", "program");
    expect(stderr).toMatch(/^tsc-lto: warning: inlined\.o: .*\n$/);
    expect([code, start()]).toEqual([0, "5 "]);
  }, 60_000);

  it("may have the name of another member of its archive", async () => {
    await compile("jumps", "twin", "starts");
    const make = "mkdir a && cp jumps.o a/same.o && cp twin.o same.o && ar qcs both.a a/same.o same.o";
    expect(spawnSync("sh", ["-c", make], { cwd: w.directory }).status).toBe(0);
    const { code, stderr } = await cc("-O2", "starts.o", "both.a", "-o", "program");
    expect(stderr).toMatch(/^tsc-lto: warning: both\.a\(same\.o\): .*\n.*both\.a\(same\.o #2\): .*\n$/);
    expect([code, start()]).toEqual([0, "33 "]);
  }, 60_000);

  it("may be a member of an archive, of which only what is needed is linked", async () => {
    await compile("jumps", "main", "inlined");
    spawnSync("ar", ["rcs", "lib.a", "jumps.o"], { cwd: w.directory });
    spawnSync("ar", ["rcs", "unused.a", "inlined.o"], { cwd: w.directory });
    const { code, stderr } = await cc("-O2", "main.o", "lib.a", "unused.a", "-o", "program");
    expect(stderr).toMatch(/^tsc-lto: warning: lib\.a\(jumps\.o\): .*\n$/);
    expect([code, start()]).toEqual([0, "0 42 7 1\n"]);
  }, 60_000);

  it("is left out of --native-modules where nothing needs it", async () => {
    await compile("jumps", "main");
    const made = spawnSync(clang, ["-O2", "-flto", "-c", "tiles.c"], { cwd: w.directory });
    expect(made.status).toBe(0);
    spawnSync("ar", ["rcs", "unneeded.a", "tiles.o"], { cwd: w.directory });
    const env = { ...process.env, TSC_LTO_CLANG: clang };
    const inputs = ["jumps.o", "main.o", "unneeded.a"].map((name) => w.path(name));
    const run = (directory: string) =>
      tscLto(["--native-modules", directory, "-o", w.path("program.s"), ...inputs], {
        cwd: w.directory,
        env,
      });
    const { code, err } = await run("native");
    expect([code, err.replaceAll(`${w.directory}/`, "")]).toEqual([
      0,
      expect.stringMatching(
        /^tsc-lto: warning: unneeded\.a\(tiles\.o\): .*\ntsc-lto: warning: jumps\.o: .*\n$/,
      ),
    ]);
    expect(w.list("native")).toEqual(["1.o"]);
    w.write("file", "");
    expect((await run("file/native")).err).toMatch(/cannot write objects to .*: Not a directory\n$/);
  }, 60_000);

  it("has machine code already in a fat object", async () => {
    expect((await cc("-O2", "-c", "-ffat-lto-objects", "jumps.c", "-o", "fat.o")).code).toBe(0);
    const { code, stderr } = await cc("-O2", "fat.o", "main.o", "-o", "program");
    expect(stderr).toMatch(/^tsc-lto: warning: fat\.o: its machine code is linked, .*\n$/);
    expect([code, start()]).toEqual([0, "0 42 7 1\n"]);
  }, 60_000);

  it("is compiled by clang for ld.tsc-lto, from bitcode as it is", async () => {
    const run = (...args: string[]) => spawnSync(clang, args, { cwd: w.directory, encoding: "utf8" });
    for (const name of ["jumps", "main"])
      expect(run("-O2", "-flto", "-c", `${name}.c`, "-o", `${name}.bc.o`).status).toBe(0);
    const linkLine = run("main.bc.o", "jumps.bc.o", "-fuse-ld=lld", "-o", "program", "-###").stderr.split(
      "\n",
    );
    const words = linkLine
      .findLast((line) => line.includes('"-dynamic-linker"'))!
      .match(/"[^"]*"/g)!
      .map((word) => word.slice(1, -1))
      // In this process, whose working directory is another.
      .map((word) => (word.endsWith(".bc.o") ? w.path(word) : word));
    const said: Uint8Array[] = [];
    const host = {
      cwd: w.directory,
      env: { ...process.env, TSC_LTO_CLANG: clang },
      colour: false,
      workers: false,
      stdin: () => new Uint8Array(),
      stdout: () => {},
      stderr: (bytes: Uint8Array) => said.push(bytes),
    };
    const code = await link(words.slice(1), host);
    expect(Buffer.concat(said).toString()).toMatch(
      /^tsc-lto: warning: [^ ]*jumps\.bc\.o: .*@first\); .*@third\)\n$/,
    );
    expect([code, start()]).toEqual([0, "0 42 7 1\n"]);
    const refused = await link(["--error-unsupported", ...words.slice(1)], host);
    expect([refused, Buffer.concat(said).toString()]).toEqual([
      1,
      expect.stringMatching(/\ntsc-lto: error: [^ ]*jumps\.bc\.o: unsupported: asm goto/),
    ]);
  }, 60_000);

  it("that cannot even be read is machine code from the start", async () => {
    expect(await cc("-O2", "-c", "tiles.c")).toEqual({
      code: 0,
      stdout: "",
      stderr:
        "tsc-cc: warning: tiles.c: compiled to machine code, without link-time optimisation; unsupported: type x86_amx\n",
    });
    expect(await cc("tiles.o", "-o", "program")).toMatchObject({ code: 0, stderr: "" });
    expect(start()).toBe("5 ");
    expect(await cc("-O2", "-c", "--error-unsupported", "tiles.c", "-o", "refused.o")).toEqual({
      code: 1,
      stdout: "",
      stderr: "tsc-cc: error: tiles.c: unsupported: type x86_amx\n",
    });
    expect(w.list()).not.toContain("refused.o");
  }, 60_000);
});

describe("without a system clang", () => {
  it("the construct is the error", async () => {
    const w = new Workspace(files);
    expect((await w.run(["-O2", "-c", "jumps.c", "main.c"])).code).toBe(0);
    const options = { clang: "embedded", env: { TSC_LTO_CLANG: "embedded" } };
    const { code, stderr } = driver(w, ["-O2", "jumps.o", "main.o", "-o", "program"], options);
    expect([code, stderr]).toEqual([1, `tsc-lto: error: jumps.o: unsupported: ${asm} (in @first)\n`]);
  }, 60_000);
});
