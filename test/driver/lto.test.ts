/** The command `tsc-lto` as a whole: what it says of bad input, and what its options keep. */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ownPackage } from "../../bin/package.js";
import { formatVersion } from "../../formats/object/container.js";
import { writeObject } from "../../formats/object/index.js";
import { parseModule } from "../../formats/text/index.js";
import { elf } from "../archive/elf-writer.js";
import { tscLto } from "../support/command.js";

const folder = mkdtempSync(join(tmpdir(), "tsc-lto-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = (name: string): string => join(folder, name);
const write = (name: string, contents: string | Uint8Array): void => writeFileSync(path(name), contents);

const fn = (name: string, body = "", linkage = ""): string =>
  `define ${linkage} void @${name}() {\n${body}  ret void\n}\n`;
const call = (name: string): string => `  call void @${name}()\n`;
const program = `declare void @f()\n${fn("unused")}${fn("main", call("f"))}`;

beforeAll(() => {
  write("main.ll", program);
  write("f.ll", fn("f") + fn("g"));
  write("f2.ll", fn("f") + fn("g"));
  write("library.ll", fn("visible") + fn("other") + fn("x1"));
  write("f.o", writeObject(parseModule(fn("f"), "f.c")));
});

/** Runs the command with words in which names of files stand for those in the test's folder. */
async function run(line: string): Promise<{ code: number; err: string; out: string }> {
  const words = line
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => word.replaceAll("%", `${folder}/`));
  const { code, out, err } = await tscLto(words, { cwd: folder, env: {} });
  return { code, err: err.replaceAll(`${folder}/`, ""), out };
}

/** Global symbols of the assembly on standard output. @param warning all that is said */
async function globalsOf(line: string, warning = ""): Promise<string[]> {
  const { code, err, out } = await run(`${line} -o -`);
  expect(err).toBe(warning);
  expect(code).toBe(0);
  return [...out.matchAll(/^\s*\.globl\s+(\S+)/gm)].map((m) => m[1]!).sort();
}

describe("errors", () => {
  const header = (bytes: number[]): Uint8Array => Uint8Array.from(bytes);
  const cases: [what: string, file: string, contents: () => string | Uint8Array | null, message: string][] = [
    ["missing", "missing.o", () => null, "cannot open missing.o: No such file or directory"],
    ["empty", "empty.o", () => "", "empty.o: file is empty"],
    ["text", "text.o", () => "hello\n", "text.o: unknown file type"],
    ["cut object", "cut.o", () => readFileSync(path("f.o")).subarray(0, 60), "cut.o: truncated object"],
    [
      "newer object",
      "new.o",
      () => {
        const bytes = Buffer.from(readFileSync(path("f.o")));
        bytes[8] = 9;
        return bytes;
      },
      `new.o: object format 9 is newer than this program, which reads ${formatVersion}`,
    ],
    [
      "older object",
      "old.o",
      () => {
        const bytes = Buffer.from(readFileSync(path("f.o")));
        bytes[8] = formatVersion - 1;
        return bytes;
      },
      `old.o: object format ${formatVersion - 1} is older than this program, which reads ${formatVersion}: compile it again`,
    ],
    ["bitcode", "b.bc", () => header([0x42, 0x43, 0xc0, 0xde]), "b.bc: malformed bitcode: no module"],
    [
      "GCC's objects",
      "gcc.o",
      () => elf([["__gnu_lto_slim", 0x11, 0, 0xfff2, 1, 1]], [".gnu.lto_.opts"]),
      "gcc.o: GCC LTO object: its intermediate code cannot be read (compile with clang or tsc-cc)",
    ],
    [
      "cut ELF",
      "elf.o",
      () => elf([["f", 0x12, 0, 1, 0, 1]]).subarray(0, 100),
      "elf.o: malformed ELF file: the section table lies outside of the file",
    ],
    ["archive", "bad.a", () => "!<arch>\nabc", "bad.a: malformed archive: the last header is cut short"],
    ["syntax", "bad.ll", () => "define x", "bad.ll: line 1: expected a type"],
  ];
  it.each(cases)("%s", async (_, file, contents, message) => {
    const bytes = contents();
    if (bytes !== null) write(file, bytes);
    write("out.s", "of an earlier run");
    const { code, err } = await run(`%${file} -o %out.s`);
    expect(err).toContain(`tsc-lto: error: ${message}`);
    expect(err.trim().split("\n")).toHaveLength(1);
    expect(code).toBe(1);
    expect(existsSync(path("out.s"))).toBe(false);
  });

  it("a directory", async () => {
    expect(await run("%. -o %out.s")).toMatchObject({
      code: 1,
      err: "tsc-lto: error: cannot open .: Is a directory\n",
    });
  });

  it("of all inputs at once", async () => {
    const { err } = await run("%missing.o %empty.o %text.o");
    expect(err.trim().split("\n")).toHaveLength(3);
  });

  it("duplicate symbols, all of them with both files", async () => {
    expect((await run("%main.ll %f.ll %f2.ll -o %out.s")).err).toBe(
      "tsc-lto: error: duplicate symbol: f\n>>> defined in f.ll\n>>> defined in f2.ll\n" +
        "tsc-lto: error: duplicate symbol: g\n>>> defined in f.ll\n>>> defined in f2.ll\n",
    );
  });

  it("undefined symbols when asked", async () => {
    expect((await run("%main.ll -o %out.s")).code).toBe(0);
    for (const option of ["--no-undefined", "-z defs"])
      expect((await run(`%main.ll -o %out.s ${option}`)).err).toBe(
        "tsc-lto: error: undefined symbol: f\n>>> referenced by main.ll:(function main)\n",
      );
    expect((await run("%f.ll -o %out.s --no-undefined")).err).toBe(
      "tsc-lto: error: undefined symbol: main\n>>> referenced by the program's start-up code\n",
    );
    expect((await run("%f.ll -o %out.s --no-undefined --shared")).code).toBe(0);
  });

  it("an entry that is not there is worth a warning", async () => {
    const { code, err } = await run("%f.ll -e start -o %out.s");
    expect([code, err]).toEqual([
      0,
      "tsc-lto: warning: cannot find entry symbol start; all visible definitions stay\n",
    ]);
  });

  it("outputs that cannot be written", async () => {
    mkdirSync(path("folder"), { recursive: true });
    expect((await run("%f.ll -o %no/where.s")).err).toBe(
      "tsc-lto: error: cannot open output file no/where.s: No such file or directory\n",
    );
    expect((await run("%f.ll -o %folder")).err).toBe(
      "tsc-lto: error: cannot open output file folder: Is a directory\n",
    );
  });

  it("an output that is an input, under any name, which stays as it is", async () => {
    write("same.ll", fn("f"));
    if (!existsSync(path("link.ll"))) symlinkSync(path("same.ll"), path("link.ll"));
    const { code, err } = await run("%same.ll %missing.o -o %link.ll");
    expect([code, err]).toEqual([1, "tsc-lto: error: output file link.ll is also an input\n"]);
    expect(readFileSync(path("same.ll"), "utf8")).toBe(fn("f"));
  });

  it("wrong usage has another code", async () => {
    for (const line of ["", "--frobnicate %f.ll", "-l", "%f.ll -O9", "%f.ll --emit nothing"])
      expect((await run(line)).code, line).toBe(2);
  });

  it("leave no temporary files", () => {
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  });
});

describe("what stays visible", () => {
  it("of a program: its entry and what is exported", async () => {
    write("list.txt", "# names\nunu*\n");
    expect(await globalsOf("%main.ll %f.ll")).toEqual(["main"]);
    expect(await globalsOf("%main.ll %f.ll --export g")).toEqual(["g", "main"]);
    expect(await globalsOf("%main.ll %f.ll --export-list %list.txt")).toEqual(["main", "unused"]);
    expect(await globalsOf("%main.ll %f.ll --dynamic-list %list.txt -u g")).toEqual(["g", "main", "unused"]);
    expect(await globalsOf("%main.ll %f.ll -e unused")).toEqual(["unused"]);
    expect(await globalsOf("%main.ll %f.ll -E")).toEqual(["f", "g", "main", "unused"]);
  });

  it("of anything else: all that is visible, but for version scripts", async () => {
    write("v.map", 'V1 { global: vis*; extern "C" { x?; }; /* no */ local: *; };\nV2 { visible2; } V1;\n');
    expect(await globalsOf("%library.ll")).toEqual(["other", "visible", "x1"]);
    expect(await globalsOf("--shared %library.ll")).toEqual(["other", "visible", "x1"]);
    expect(await globalsOf("--shared %library.ll --version-script %v.map")).toEqual(["visible", "x1"]);
    write("bad.map", "{ global: a;");
    expect((await run("--shared %library.ll --version-script %bad.map")).err).toBe(
      "tsc-lto: error: bad.map: version script: '}' is missing\n",
    );
    write("bad.txt", "one two\n");
    expect((await run("%f.ll --export-list %bad.txt")).err).toBe(
      "tsc-lto: error: bad.txt: line 1: 'one two' is not a symbol name\n",
    );
  });
});

describe("inputs", () => {
  const archive = (name: string, bytes: Uint8Array): Uint8Array => {
    const head = `${`${name}/`.padEnd(16)}${"0".padEnd(32)}${`${bytes.length}`.padEnd(10)}\`\n`;
    return Buffer.concat([Buffer.from(`!<arch>\n${head}`), bytes, Buffer.alloc(bytes.length % 2, "\n")]);
  };
  beforeAll(() => {
    write("libf.a", archive("f.o", writeObject(parseModule(fn("f"), "f.c"))));
    write("libg.a", archive("g.o", writeObject(parseModule(fn("g"), "g.c"))));
  });

  const noG = "tsc-lto: warning: --export g: nothing defines it\n";

  it("libraries are found in the folders of -L, in order with the rest", async () => {
    const start = "%main.ll --export g --no-undefined";
    expect(await globalsOf(`${start} -L %. -l f`, noG)).toEqual(["main"]);
    expect(await globalsOf(`-lf ${start} -L%. -l:libg.a`, noG)).toEqual(["main"]);
    expect((await run("%f.ll -lnone -o %out.s")).err).toBe("tsc-lto: error: unable to find library -lnone\n");
  });

  it("whole archives and lazy objects hold from where they stand", async () => {
    const start = "%main.ll --export g --no-undefined";
    expect(await globalsOf(`${start} --whole-archive %libg.a --no-whole-archive %libf.a`)).toEqual([
      "g",
      "main",
    ]);
    expect(await globalsOf(`${start} %libg.a --whole-archive %libf.a`, noG)).toEqual(["main"]);
    expect(
      await globalsOf(
        `${start} --push-state --whole-archive %libf.a --pop-state --start-group %libg.a --end-group`,
        noG,
      ),
    ).toEqual(["main"]);
    // Both define f and g; taken together they would clash.
    expect(await globalsOf(`${start} %f.ll --start-lib %f2.ll --end-lib`)).toEqual(["g", "main"]);
  });

  it("response files are quoted as in GNU's tools, and may be nested", async () => {
    write("one.rsp", `'${path("main.ll")}' "${path("f.ll")}"\n@${path("two.rsp")}`);
    write("two.rsp", "--export\tg");
    expect(await globalsOf("@%one.rsp")).toEqual(["g", "main"]);
    write("loop.rsp", `@${path("loop.rsp")}`);
    expect((await run("@%loop.rsp")).err).toContain("tsc-lto: error: ");
  });
});

it("places in thread-local variables may be constants, as LLVM 15 has them", async () => {
  write(
    "tls.ll",
    `@buffer = thread_local global [40 x i8] zeroinitializer
define ptr @place(i1 %c) {
  store i8 1, ptr getelementptr inbounds ([40 x i8], ptr @buffer, i64 0, i64 33)
  %p = select i1 %c, ptr getelementptr inbounds ([40 x i8], ptr @buffer, i64 0, i64 16), ptr @buffer
  ret ptr %p
}
`,
  );
  const models = { static: /buffer@tpoff/, pie: /buffer@tpoff/, pic: /buffer@tlsgd/ };
  for (const [model, expected] of Object.entries(models)) {
    const { code, err, out } = await run(`--verify --relocation-model ${model} %tls.ll -o -`);
    expect([code, err]).toEqual([0, ""]);
    expect(out.toLowerCase()).toMatch(expected);
    expect(out).toMatch(/16\(|\$16|\+16/);
  }
});

it("the package is found", () => {
  expect(existsSync(join(ownPackage().directory, "bin/tsc-lto"))).toBe(true);
  expect(ownPackage().version).toMatch(/^\d+\.\d+\.\d+/);
});
