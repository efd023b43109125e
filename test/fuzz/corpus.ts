/** Valid files of every format that tsc-lto reads, to be damaged. */
import { readdirSync, readFileSync } from "node:fs";
import { writeObject } from "../../formats/object/index.js";
import { writeShell } from "../../formats/object-shell.js";
import { parseModule, printModule } from "../../formats/text/index.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { ownReferences, scanBody } from "../../lto/analysis/references.js";
import type { Func, GlobalValue, Module } from "../../lto/ir/module.js";
import { ascii, type ElfSymbol, elf } from "../archive/elf-writer.js";
import { Generator } from "../object/random-module.js";
import type { Format, Seed } from "./mutations.js";

/** Name of the file that thin archives, export lists and response files mention. */
export const companion = "companion.ll";
export const companionText = `define i32 @helper(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}
define i32 @main() {
  %r = call i32 @helper(i32 2)
  ret i32 %r
}
`;

const raw = (bytes: Uint8Array): boolean => bytes[0] === 0x42 && bytes[1] === 0x43;

/**
 * @param fixtures the folder of that name
 * @param more a folder of further bitcode and text files, or undefined
 */
export function makeCorpus(fixtures: string, more?: string): Seed[] {
  const seeds: Seed[] = [];
  const add = (name: string, format: Format, bytes: Uint8Array): void => {
    seeds.push({ name, format, bytes });
  };
  const files = [`${fixtures}/bitcode`, `${fixtures}/text`, ...(more === undefined ? [] : [more])].flatMap(
    (d) =>
      readdirSync(d)
        .sort()
        .map((name) => [name, new Uint8Array(readFileSync(`${d}/${name}`))] as const),
  );
  for (const [name, bytes] of files) {
    if (name.endsWith(".bc")) {
      if (raw(bytes)) add(name, "bitcode", bytes);
      // The other versions say the same.
      for (const [fn, text] of /-22/.test(name) ? singleFunctions(() => readBitcode(bytes, name)[0]!) : [])
        add(`${name}@${fn}`, "text", Buffer.from(text));
      for (const module of readBitcode(bytes, name).slice(0, 1))
        add(`${name}.o`, "object", writeObject(module));
    } else if (/\.(ll|tir)$/.test(name)) {
      add(name, "text", bytes);
      const parse = (): Module => parseModule(Buffer.from(bytes).toString("utf8"), name);
      add(`${name}.o`, "object", writeObject(parse()));
      for (const [fn, text] of name.endsWith(".ll") ? singleFunctions(parse) : [])
        add(`${name}@${fn}`, "text", Buffer.from(text));
    }
  }
  for (const { name, bytes } of seeds.filter((seed) => seed.name.includes("@"))) {
    const module = parseModule(Buffer.from(bytes).toString("utf8"), name);
    add(`${name}.o`, "object", writeObject(module));
  }
  for (let i = 1; i <= 4; i++) add(`random-${i}.o`, "object", writeObject(new Generator(i).run()));
  const objects = seeds.filter((seed) => seed.format === "object");
  const small = objects.filter((seed) => seed.bytes.length < 20_000);
  const bitcode = seeds.filter((seed) => seed.format === "bitcode" && seed.bytes.length < 20_000);

  const symbols: ElfSymbol[] = [
    ["main", 0x12, 0, 1, 0, 16],
    ["helper", 0x10, 0, 0, 0, 0],
    ["shared_variable", 0x11, 0, 0xfff2, 8, 4],
    ["weak_one", 0x22, 2, 1, 4, 4],
    ["thread_one", 0x16, 0, 2, 0, 4],
  ];
  const native = elf(symbols, [".text", ".tdata"]);
  add("native.o", "elf", native);
  add("native.so", "elf", elf(symbols, [".text"], 3));
  const shelled = parseModule(companionText, companion);
  add("shell.o", "elf", writeShell(shelled, writeObject(shelled))!);
  for (const [i, { bytes }] of bitcode.slice(0, 3).entries())
    add(
      `fat-${i}.o`,
      "elf",
      elf(symbols, [".llvm.lto"], 1, () => bytes),
    );

  add("objects.a", "archive", archive(small.slice(0, 4)));
  add("bitcode.a", "archive", archive(bitcode.slice(0, 3)));
  add(
    "mixed.a",
    "archive",
    archive([small[0]!, { name: "native.o", format: "elf", bytes: native }, bitcode[0]!]),
  );
  add("thin.a", "archive", ascii(`!<thin>\n${header("//", 14)}${companion}/\n${header("/0", 5)}`));

  add("exports.txt", "list", ascii('# what stays\nhelper\n  main # entry\n{ "quoted"; glob*; [a-c]?x; };\n'));
  add("dynamic.txt", "list", ascii("{\n  helper;\n  m*n;\n};\n"));
  const version =
    'V_1 {\n  global: helper; extern "C++" { "f(int)"; ns::*; };\n  local: *;\n};\nV_2 { m[a-z]in; } V_1;\n';
  add("versions.txt", "list", ascii(version));
  const library =
    "/* GNU ld script */\nOUTPUT_FORMAT(elf64-x86-64)\nGROUP ( native.so AS_NEEDED ( /etc/hostname.so ) )\n";
  add("libc.so", "script", ascii(library));
  add("words.so", "script", ascii("INPUT(-lm /lib/libm.so.6) -o x -T script --defsym=a=b+1 -u main\n"));
  add("arguments.rsp", "response", ascii(`--export helper -u "main"\n'${companion}' --wrap foo\\ bar\n`));
  add(
    "options.rsp",
    "response",
    ascii(`${companion} ${companion} --error-limit=3 -r --export=h* -O2 --shared\n`),
  );
  return seeds;
}

/**
 * Each function of a module as a module of its own, as text: what code generation refuses in one of them does not
 * keep it from the others.
 */
function singleFunctions(read: () => Module): [name: string, text: string][] {
  const names = read().functions.flatMap((fn) => (fn.isDeclaration ? [] : [fn.name]));
  return names.map((name) => {
    const module = read();
    const whole = module.functions.find((fn) => fn.name === name)!;
    const needed = new Set<GlobalValue>([whole]);
    const takesBlocks = (fn: Func): boolean =>
      !fn.isDeclaration && fn.view().blocks.some((block) => block.addressTaken);
    const bodies = new Set<GlobalValue>([whole, ...module.functions.filter(takesBlocks)]);
    // Sets are walked in the order of insertion, members that come in on the way too.
    for (const global of needed) {
      const mentioned =
        global.kind === "function" && bodies.has(global) && !global.isDeclaration
          ? scanBody(global, global.view())
          : { calls: [], references: global.kind === "function" ? [] : ownReferences(global) };
      for (const other of [...mentioned.calls, ...mentioned.references]) {
        if (global.kind === "alias" || global.kind === "ifunc") bodies.add(other);
        needed.add(other);
      }
    }
    for (const fn of module.functions) if (!bodies.has(fn)) makeDeclaration(fn);
    const kept = module.globals.filter((global) => needed.has(global));
    module.globals.splice(0, module.globals.length, ...kept);
    return [name, printModule(module)];
  });
}

function makeDeclaration(fn: Func): void {
  fn.dropBody();
  fn.linkage = fn.linkage === "extern_weak" ? "extern_weak" : "external";
  fn.prefix = null;
  fn.prologue = null;
  fn.personality = null;
  fn.comdat = null;
  fn.section = "";
}

const header = (name: string, size: number): string =>
  `${name.padEnd(16)}${"0".padEnd(12)}${"0".padEnd(6)}${"0".padEnd(6)}${"644".padEnd(8)}${`${size}`.padEnd(10)}\`\n`;

/** An archive in GNU's form, with a table of long names. */
function archive(members: readonly Seed[]): Uint8Array {
  const names = members.map((m) => `${m.name}/\n`).join("");
  const parts: Uint8Array[] = [
    ascii(`!<arch>\n${header("//", names.length)}${names}${names.length % 2 ? "\n" : ""}`),
  ];
  let at = 0;
  for (const { name, bytes } of members) {
    parts.push(ascii(header(`/${at}`, bytes.length)), bytes);
    if (bytes.length % 2) parts.push(ascii("\n"));
    at += name.length + 2;
  }
  return new Uint8Array(Buffer.concat(parts));
}
