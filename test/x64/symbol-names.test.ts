/** Symbols with any bytes in their names: the object that GNU as makes has the same names, or the link is refused. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readElf } from "../../formats/elf.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

const odd = [
  'q"uote',
  '"',
  "back\\slash",
  "\\",
  '\\"\\n',
  "space  two\ttab\r",
  "control\x01\x02\x1f\x7f",
  "a,b;c@d",
  "hash#/*c*/'",
  "$x%y(z)",
  "1digit",
  "caf\u00e9 \u{1f600}",
];
const high = [0xff, 0xc3, 0x28, 0x80];

/** As the assembler of LLVM has it. */
const written = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => `\\${byte.toString(16).padStart(2, "0")}`).join("");

const quoted = [...odd.map((name) => Buffer.from(name)), Buffer.from(high)].map(written);

function program(definitions: string): string {
  const uses = quoted.map(
    (name, i) => `
define dso_local void @"f${name}"() section "s${name}" { ret void }
declare void @"g${name}"()
@"v${name}" = dso_local global i32 ${i}
@"w${name}" = external global i32
@"p${name}" = private constant [2 x ptr] [ptr @"f${name}", ptr @"w${name}"]
@"t${name}" = external thread_local global i32
define ptr @use${i}() {
  call void @"f${name}"()
  call void @"g${name}"()
  %v = load i32, ptr @"v${name}"
  store i32 %v, ptr @"w${name}"
  %t = call ptr @llvm.threadlocal.address.p0(ptr @"t${name}")
  store i32 %v, ptr %t
  ret ptr @"p${name}"
}`,
  );
  return `${uses.join("\n")}\n${definitions}\ndeclare ptr @llvm.threadlocal.address.p0(ptr)\n`;
}

/** Names in a string table, as bytes in Latin-1. */
function strings(object: Buffer): Set<string> {
  return new Set(object.toString("latin1").split("\0"));
}

it.each(["static", "pic"])("the names of an object's symbols: %s", async (model) => {
  writeFileSync(path("a.ll"), program(""));
  const options = ["--relocation-model", model, "-O0", "-r"];
  for (const input of ["a.ll", "a.o"]) {
    const assembly = path("a.s");
    const { code, err } = await tscLto([path(input), ...options, "-o", assembly], { cwd: folder, env: {} });
    expect(err).toBe("");
    expect(code).toBe(0);
    const output = execFileSync("as", ["--fatal-warnings", assembly, "-o", path("n.o")], {
      encoding: "utf8",
    });
    expect(output).toBe("");
    const names = strings(readFileSync(path("n.o")));
    for (const prefix of ["f", "g", "v", "w", "t", "s"])
      for (const name of [...odd.map((name) => Buffer.from(name)), Buffer.from(high)]) {
        const expected = `${prefix}${name.toString("latin1")}`;
        expect(names.has(expected), expected).toBe(true);
      }
    expect(readElf(readFileSync(path("n.o")), "n.o").symbols.length).toBeGreaterThan(6 * quoted.length);
    const emit = ["-r", "--emit=object", "-O0", "-o", path("a.o"), path("a.ll")];
    expect((await tscLto(emit, { cwd: folder, env: {} })).err).toBe("");
  }
});

it("names of other bytes are other symbols", async () => {
  writeFileSync(path("l.ll"), `@"\\FF" = global i32 1\n@"\\C3\\BF" = global i32 2\n`);
  const { err, out } = await tscLto([path("l.ll"), "-r", "--emit=ir", "-o", "-"], { cwd: folder, env: {} });
  expect(err).toBe("");
  expect(out).toContain('@"\\FF" = ');
  expect(out).toContain('@"\\C3\\BF" = ');
});

it.each([
  ['@"a\\0Ab" = global i32 1', 'line break or NUL in the symbol name "a\\nb"'],
  [
    '@"a\\22b" = weak global i32 1',
    'quote, backslash, comma, semicolon or @ in the name "a\\"b" of a symbol that may be replaced',
  ],
])("%s is refused", async (text, message) => {
  writeFileSync(path("r.ll"), `${text}\n`);
  const { code, err } = await tscLto([path("r.ll"), "-r", "-o", "-"], { cwd: folder, env: {} });
  expect(err.replaceAll(`${folder}/`, "")).toBe(`tsc-lto: error: r.ll: unsupported: ${message}\n`);
  expect(code).toBe(1);
});

it("arguments that are no UTF-8 are refused", async () => {
  const { code, err } = await tscLto([path("r.ll"), "-o", path("\ufffd.s")], { cwd: folder, env: {} });
  expect(err).toBe(`tsc-lto: error: argument '${path("\ufffd.s")}' is not valid UTF-8\n`);
  expect(code).toBe(2);
});

it("lists of exports and version scripts name symbols by their bytes", async () => {
  // One after the other, since the first makes the file no UTF-8 as a whole.
  const names = [Buffer.from("odd\xff\xc3(", "latin1"), Buffer.from("café"), Buffer.from("plain")];
  const define = (name: Buffer): string => `define void @"${written(name)}"() { ret void }\n`;
  const text = [...names, Buffer.from("other\xff", "latin1")].map(define).join("");
  writeFileSync(path("exports.ll"), text);
  const exported = async (option: string, list: Buffer): Promise<string[]> => {
    writeFileSync(path("list"), list);
    const output = path("exports.s");
    const args = [option, path("list"), "--shared", "-O0", path("exports.ll"), "-o", output];
    expect((await tscLto(args, { cwd: folder, env: {} })).err).toBe("");
    execFileSync("as", [output, "-o", path("exports.o")]);
    return readElf(readFileSync(path("exports.o")), "exports.o")
      .symbols.filter((symbol) => symbol.name !== "")
      .map((symbol) => symbol.name)
      .sort();
  };
  const lines = (separator: string): Buffer =>
    Buffer.concat(names.flatMap((name) => [name, Buffer.from(separator)]));
  const script = Buffer.concat([Buffer.from("{ global: "), lines("; "), Buffer.from("local: *; };\n")]);
  const wanted = ["café", "odd\udcff\udcc3(", "plain"];
  expect(await exported("--version-script", script)).toEqual(wanted);
  expect(await exported("--export-list", lines("\n"))).toEqual(expect.arrayContaining(wanted));
});

it("symbols of native objects are known by their bytes", async () => {
  const name = Buffer.from("odd\xff", "latin1");
  writeFileSync(
    path("user.s"),
    Buffer.concat([Buffer.from('.globl "other"\n"other": jmp "'), name, Buffer.from('"\n')]),
  );
  execFileSync("as", [path("user.s"), "-o", path("user.o")]);
  writeFileSync(
    path("used.ll"),
    `define void @"${written(name)}"() { ret void }\ndefine i32 @main() { ret i32 0 }\n`,
  );
  const output = path("used.s");
  expect((await tscLto([path("used.ll"), path("user.o"), "-o", output], { cwd: folder, env: {} })).err).toBe(
    "",
  );
  execFileSync("as", [output, "-o", path("used.o")]);
  const { symbols } = readElf(readFileSync(path("used.o")), "used.o");
  expect(symbols.map((symbol) => symbol.name)).toContain("odd\udcff");
});
