/**
 * `npm run demo`: builds the program in fixtures/demo with nothing but this package and the machine's `cc`, runs it
 * against its expected output, and compares code sizes with builds that do without whole-program optimisation.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chooseCompiler } from "./cc/compilers.js";
import { processHost } from "./host/host.js";
import { ownPackage } from "./package.js";

const root = ownPackage().directory;
const demo = join(root, "fixtures/demo");
const sources = readdirSync(demo)
  .filter((name) => name.endsWith(".c"))
  .sort();

/** A way to build the program. */
interface Build {
  readonly title: string;
  /** Leaves the program as `program` in `directory`; an exception says that the tools for it are missing. */
  readonly run: (directory: string, program: string) => void;
  /** Without it the demo has failed. */
  readonly required: boolean;
}

/** The clang that tsc-cc would take, if the machine has one. */
const found = await chooseCompiler(undefined, processHost());
const clang = found.kind === "system" ? found.path : "clang";

const builds: readonly Build[] = [
  { title: "tsc-lto, whole program (-Oz)", required: true, run: wholeProgram },
  { title: "tsc-lto, file by file (-Oz)", required: false, run: fileByFile },
  { title: "cc -Os, file by file", required: false, run: native("cc", "-Os") },
  { title: "cc -Os -flto", required: false, run: native("cc", "-Os", "-flto") },
  { title: "clang -Oz, file by file", required: false, run: native(clang, "-Oz") },
];

const sourcePaths = sources.map((name) => join(demo, name));
const objects = sources.map((name) => name.replace(/\.c$/, ".o"));

process.exitCode = main();

function main(): number {
  const directory = mkdtempSync(join(tmpdir(), "tsc-lto-demo-"));
  try {
    const lines = sourcePaths.reduce(
      (sum, path) => sum + readFileSync(path, "utf8").split("\n").length - 1,
      0,
    );
    console.log(`Program: fixtures/demo, ${sources.length} C files, ${lines} lines\n`);
    const rows: [string, number][] = [];
    for (const [i, build] of builds.entries()) {
      const program = join(directory, `program${i}`);
      try {
        build.run(directory, program);
        checkOutput(program);
        rows.push([build.title, textSize(readFileSync(program))]);
      } catch (e) {
        if (build.required) throw e;
        rows.push([build.title, Number.NaN]);
      }
    }
    console.log("\nThe output is as expected, in every build below.\n");
    printTable(rows);
    return 0;
  } catch (e) {
    console.error(`demo: error: ${(e as Error).message}`);
    return 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function wholeProgram(directory: string, program: string): void {
  show("tsc-cc --clang=embedded -Oz -c *.c");
  tool(
    directory,
    process.execPath,
    join(root, "bin/tsc-cc"),
    "--clang=embedded",
    "-Oz",
    "-c",
    ...sourcePaths,
  );
  show("tsc-lto *.o -o program.s");
  tool(directory, process.execPath, join(root, "bin/tsc-lto"), ...objects, "-o", "program.s");
  show("cc program.s -o program -lm");
  tool(directory, "cc", "program.s", "-o", program, "-lm");
  show("./program queries.txt stations.json -s -i 1");
}

/** The same objects, but tsc-lto sees one at a time and must keep all that other files may refer to. */
function fileByFile(directory: string, program: string): void {
  const assembly = objects.map((object) => {
    const output = object.replace(/\.o$/, ".s");
    tool(directory, process.execPath, join(root, "bin/tsc-lto"), "--relocatable", object, "-o", output);
    return output;
  });
  tool(directory, "cc", ...assembly, "-o", program, "-lm");
}

function native(compiler: string, ...options: string[]): Build["run"] {
  return (directory, program) => tool(directory, compiler, ...options, ...sourcePaths, "-o", program, "-lm");
}

function show(command: string): void {
  console.log(`$ ${command}`);
}

/** @throws Error when the program fails; what it said is then part of the message */
function tool(directory: string, program: string, ...args: string[]): void {
  const { status, error, stderr } = spawnSync(program, args, { cwd: directory, encoding: "utf8" });
  if (error !== undefined) throw new Error(`cannot run ${program}: ${error.message}`);
  if (status !== 0) throw new Error(`${program} ${args[0]} failed:\n${stderr}`);
}

/** The queries have errors in them on purpose, so the program ends with status 1. */
function checkOutput(program: string): void {
  const args = ["queries.txt", "stations.json", "-s", "-i", "1"];
  const { status, signal, stdout } = spawnSync(program, args, { cwd: demo, maxBuffer: 1 << 26 });
  if (status !== 1) throw new Error(`the program ended with ${signal ?? `status ${status}`}`);
  const expected = readFileSync(join(demo, "expected.txt"));
  if (!expected.equals(stdout)) {
    let at = 0;
    while (at < expected.length && expected[at] === stdout[at]) at++;
    const line = expected.subarray(0, at).toString("latin1").split("\n").length;
    throw new Error(`the output differs from fixtures/demo/expected.txt at line ${line}`);
  }
}

/**
 * Bytes of the section `.text` of an ELF64 file. Layout: System V ABI, chapter 4: the section header table is at
 * e_shoff (40), with e_shentsize (58), e_shnum (60) and e_shstrndx (62).
 */
function textSize(elf: Buffer): number {
  const table = Number(elf.readBigUInt64LE(40));
  const section = (index: number) => table + index * elf.readUInt16LE(58);
  const names = Number(elf.readBigUInt64LE(section(elf.readUInt16LE(62)) + 24));
  for (let i = 0; i < elf.readUInt16LE(60); i++) {
    const name = names + elf.readUInt32LE(section(i));
    if (elf.toString("latin1", name, name + 6) === ".text\0")
      return Number(elf.readBigUInt64LE(section(i) + 32));
  }
  throw new Error("the program has no section .text");
}

function printTable(rows: readonly (readonly [string, number])[]): void {
  const base = rows[0]![1];
  const width = Math.max(...rows.map(([title]) => title.length));
  console.log(`${"build".padEnd(width)}   .text, bytes   relative`);
  for (const [title, size] of rows) {
    const cells = Number.isNaN(size)
      ? "not available".padStart(15)
      : `${String(size).padStart(15)} ${(size / base).toFixed(3).padStart(10)}`;
    console.log(title.padEnd(width) + cells);
  }
}
