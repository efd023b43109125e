/** Holds ARCHITECTURE.md's rules: which folder may import which, no circles, and how long a file may get. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { circles, exportsOf, type Import, importsOf, root, sources } from "./import-graph.js";

const layers = ["lto", "frontend", "formats", "bin"] as const;
type Layer = (typeof layers)[number];

/** What each layer may import from, besides itself. */
const allowed: Readonly<Record<Layer, readonly Layer[]>> = {
  lto: [],
  frontend: ["lto", "formats"],
  formats: ["lto"],
  bin: ["lto", "frontend", "formats"],
};
/**
 * What each folder of `lto/` may import from, besides itself. Files that lie in `lto/` itself put the folders
 * together and may import all; no folder imports them.
 */
const allowedInside: Readonly<Record<string, readonly string[]>> = {
  ir: [],
  target: ["ir"],
  verify: ["ir", "analysis"],
  analysis: ["ir", "target"],
  link: ["ir", "verify", "analysis"],
  outline: [],
  pass: ["ir", "target", "verify", "analysis"],
  opt: ["ir", "analysis", "pass"],
  ipo: ["ir", "target", "analysis", "outline", "pass", "opt"],
  codegen: ["ir", "target", "verify", "analysis", "outline", "pass"],
  pipeline: ["pass", "opt", "ipo", "codegen"],
  x64: ["ir", "target", "analysis", "codegen"],
  foreign: ["ir", "target"],
};
/** Modules of Node that touch the disk, processes or threads: none of lto's business. */
const impure = /^node:(fs|child_process|worker_threads|process|os|net|http)/;
const maximumLines = 700;

const files = layers.flatMap(sources);
const imports: ReadonlyMap<string, readonly Import[]> = new Map(files.map((file) => [file, importsOf(file)]));
const layerOf = (file: string): string => file.split("/")[0]!;
/** `ir` of `lto/ir/types.ts`; "" of a file in `lto/` itself. */
const folderOf = (file: string): string => (file.split("/").length > 2 ? file.split("/")[1]! : "");

/** Words that only x86 has: architectures, registers, instruction sets. LLVM's type `x86_fp80` is IR. */
const x86Words =
  /x64|x86(?!_fp80)|amd64|x87|\b(?:[re][abcd]x|[re][sd]i|[re][sb]p|r(?:8|9|1[0-5])|[xyz]mm\d*|rip\w*|eflags|mxcsr|sse\w*|mmx)\b/gi;
/** Where the names of targets belong, and why. */
const mayNameTargets = new Map([
  ["lto/targets.ts", "the table of targets"],
  ["lto/targets-by-triple.ts", "what is known of them by name"],
  ["formats/asm/targets.ts", "the table of printers"],
  ["lto/link/target.ts", "reads target triples"],
  ["lto/ir/layout-upgrade.ts", "reads data layouts of older LLVMs, by triple"],
  ["lto/link/asm-syntax.ts", "reads the assembly of modules, by triple"],
  ["lto/link/gnu-asm.ts", "writes the assembly of modules as the assembler takes it, by triple"],
  ["lto/link/module-asm.ts", "reads the assembly of modules, with its prefixes of instructions"],
  ["lto/link/runtime-symbols.ts", "names of routines that code generation calls"],
  ["lto/ir/intrinsics.ts", "reads the mangling of LLVM's types"],
]);

/** The text of a file without its comments. */
const codeOf = (file: string): string =>
  readFileSync(join(root, file), "utf8").replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, "");

describe("architecture", () => {
  it.each(layers)("%s imports only what it may", (layer) => {
    const wrong: string[] = [];
    const own = files.filter((file) => layerOf(file) === layer);
    expect(own.length).toBeGreaterThan(0);
    for (const file of own)
      for (const { target, isOwn } of imports.get(file)!) {
        if (isOwn) {
          const other = layerOf(target) as Layer;
          if (other !== layer && layers.includes(other) && !allowed[layer].includes(other))
            wrong.push(`${file} → ${target}`);
        } else if (layer === "lto" || (layer === "formats" && impure.test(target)))
          wrong.push(`${file} → ${target}`);
      }
    expect(wrong).toEqual([]);
  });

  it.each(Object.keys(allowedInside))("lto/%s imports only what it may", (folder) => {
    const wrong: string[] = [];
    const own = files.filter((file) => layerOf(file) === "lto" && folderOf(file) === folder);
    for (const file of own)
      for (const { target, isOwn } of imports.get(file)!) {
        if (!isOwn || layerOf(target) !== "lto" || folderOf(target) === folder) continue;
        if (!allowedInside[folder]!.includes(folderOf(target))) wrong.push(`${file} → ${target}`);
      }
    expect(wrong).toEqual([]);
  });

  it("every folder of lto has its rule", () => {
    const folders = new Set(files.filter((file) => layerOf(file) === "lto").map(folderOf));
    folders.delete("");
    expect([...folders].filter((folder) => allowedInside[folder] === undefined)).toEqual([]);
  });

  it("only what belongs to a target imports its files", () => {
    const own = /^(lto\/x64|formats\/asm\/x64|formats\/code)\//;
    const tables = ["lto/targets.ts", "formats/asm/targets.ts"];
    const wrong = files
      .filter((file) => !own.test(file) && !tables.includes(file))
      .flatMap((file) => imports.get(file)!.map(({ target }) => ({ file, target })))
      .filter(({ target }) => /\/x64\//.test(target))
      .map(({ file, target }) => `${file} → ${target}`);
    expect(wrong).toEqual([]);
  });

  it("target-neutral code names nothing that only one machine has", () => {
    const own = /^(lto\/x64|formats\/asm\/x64)\//;
    const wrong = files
      .filter((file) => /^(lto|formats\/asm)\//.test(file) && !own.test(file) && !mayNameTargets.has(file))
      .flatMap((file) => [...codeOf(file).matchAll(x86Words)].map(([word]) => `${file}: ${word}`));
    expect(wrong).toEqual([]);
    for (const file of mayNameTargets.keys()) expect(codeOf(file).search(x86Words), file).toBeGreaterThan(-1);
  });

  it("neutral code names no machine that LLVM generates code for", () => {
    const words =
      /\b(?:riscv|rv(?:32|64)|aarch64|arm64|thumb|cortex|mips|loongarch|powerpc|ppc64|wasm|hexagon)(?!_)/gi;
    const own =
      /^(?:lto\/(?:foreign\/|targets|link\/|ir\/(?:intrinsics|layout-upgrade))|frontend\/|formats\/program\/image)/;
    const wrong = files
      .filter((file) => /^(?:lto|formats)\//.test(file) && !own.test(file))
      .flatMap((file) => [...codeOf(file).matchAll(words)].map(([word]) => `${file}: ${word}`));
    expect(wrong).toEqual([]);
  });

  it("no file imports itself at run time, by whatever way", () => {
    const graph = new Map(
      [...imports].map(([file, list]) => [
        file,
        list.filter((i) => i.isOwn && i.kind === "run").map((i) => i.target),
      ]),
    );
    expect(circles(graph)).toEqual([]);
  });

  it("what is exported is used by another file", () => {
    /** What others start: commands, and the package. */
    const entries = /^bin\/(?:\w+\/entry|\w+\/worker|api|demo|warm-up|write-help)\.ts$/;
    const used = new Map<string, Set<string> | null>();
    for (const file of [...files, ...sources("test")])
      for (const { target, isOwn, names } of importsOf(file)) {
        if (!isOwn || used.get(target) === null) continue;
        if (names === null) used.set(target, null);
        else used.set(target, new Set([...(used.get(target) ?? []), ...names]));
      }
    const unused = files
      .filter((file) => !entries.test(file) && used.get(file) !== null)
      .flatMap((file) => exportsOf(file).map((name) => ({ file, name })))
      .filter(({ file, name }) => used.get(file)?.has(name) !== true)
      .map(({ file, name }) => `${file}: ${name}`);
    expect(unused).toEqual([]);
  });

  it("what is found as import is a file", () => {
    const known = new Set(files);
    const unknown = [...imports].flatMap(([file, list]) =>
      list.filter((i) => i.isOwn && !known.has(i.target)).map((i) => `${file} → ${i.target}`),
    );
    expect(unknown).toEqual([]);
  });

  it(`no source file is longer than ${maximumLines} lines`, () => {
    const long = [...files, ...sources("test")]
      .map((file) => ({ file, lines: readFileSync(join(root, file), "utf8").split("\n").length }))
      .filter(({ lines }) => lines > maximumLines);
    expect(long).toEqual([]);
  });
});
