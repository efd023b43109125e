/**
 * The package as its users get it: packed, installed in another folder, imported by its name, type-checked against its
 * declarations, with worker threads, in processes of their own.
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtPackage } from "../support/built.js";

const root = resolve(import.meta.dirname, "../..");
const built = builtPackage();
const folder = mkdtempSync(join(tmpdir(), "tsc-lto-package-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(command: string, args: readonly string[], cwd = folder) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  return { status, stdout, stderr };
}
const done = { status: 0, stdout: "", stderr: "" };

/** Runs a module of the consumer's. */
function node(name: string, source: string, ...options: string[]) {
  writeFileSync(join(folder, name), source);
  return run(process.execPath, [...options, name]);
}

beforeAll(() => {
  // A package file would go astray if it were listed by mistake.
  const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { files: string[] };
  expect(files).toContain("dist");
  const packed = run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], built());
  expect(packed.status, packed.stderr).toBe(0);
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@types"), { recursive: true });
  expect(run("tar", ["-xzf", packed.stdout.trim(), "-C", modules])).toEqual(done);
  expect(run("mv", [join(modules, "package"), join(modules, "tsc-lto")])).toEqual(done);
  for (const name of [
    "@yowasp",
    "commander",
    "iced-x86",
    "msgpackr",
    "piscina",
    "@types/node",
    "undici-types",
  ])
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  copyFileSync(join(root, "fixtures/bitcode/older-15.bc"), join(folder, "a.o"));
  writeFileSync(
    join(folder, "b.ll"),
    `declare i32 @f(i32)
define i32 @main() {
  %r = call i32 @f(i32 7)
  ret i32 %r
}
define i32 @pure(ptr %p) {
  ret i32 42
}
`,
  );
}, 240_000);

/** The example of the manual. */
function example(): string {
  const [, text] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, "MANUAL.md"), "utf8"))!;
  return text!;
}

describe("the manual's example", () => {
  it("is well typed, whatever the compiler is told to check", () => {
    writeFileSync(join(folder, "example.ts"), example());
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
    const how = [
      ...strict,
      "--module",
      "nodenext",
      "--target",
      "es2023",
      "--lib",
      "es2023",
      "--types",
      "node",
    ];
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { status, stdout } = run(process.execPath, [tsc, ...how, "--skipLibCheck", "false", "example.ts"]);
    expect(stdout).toBe("");
    expect(status).toBe(0);
  }, 120_000);

  it("links a program that runs", () => {
    const ir = join(folder, "node_modules/tsc-lto/bin/tsc-lto");
    const object = [ir, "b.ll", "-r", "--emit=object", "-o", "b.o"];
    expect(run(process.execPath, object)).toEqual(done);
    const { status, stdout, stderr } = run(process.execPath, ["example.js"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toBe("read\nlink\npasses\nplan\ncompile\ncomplete\nprogram steps\nemit\ndata\n");
    expect(run("cc", ["-no-pie", "prog.s", "-o", "prog"])).toEqual(done);
    expect(run(join(folder, "prog"), []).status).toBe(42);
  }, 60_000);

  it("tells of an error", () => {
    writeFileSync(join(folder, "b.o"), "garbage");
    const { status, stderr } = run(process.execPath, ["example.js"]);
    expect({ status, stderr }).toEqual({ status: 1, stderr: "b.o: unknown file type\n" });
  }, 60_000);
});

/** A program of some size, another for every number. */
const programs = `
const functions = (n, count) => Array.from({ length: count }, (_, i) => {
  const lines = Array.from({ length: 40 }, (_, k) =>
    \`  %v\${k + 1} = mul i64 %v\${k}, \${n + i + k + 3}\\n  store volatile i64 %v\${k + 1}, ptr @sink\\n\`);
  const call = i === 0 ? "" : \`  %c = call i64 @f\${i - 1}(i64 %v40)\\n\`;
  return \`define internal i64 @f\${i}(i64 %v0) noinline {\\n\${lines.join("")}\${call}  ret i64 %\${i === 0 ? "v40" : "c"}\\n}\\n\`;
});
export const program = (n, count) => [{ name: "p.ll", bytes: Buffer.from(
  \`@sink = global i64 0\\n\${functions(n, count).join("")}define i64 @main(i64 %n) {\\n  %r = call i64 @f\${count - 1}(i64 %n)\\n  ret i64 %r\\n}\\n\`) }];
`;

describe("a program that links", () => {
  beforeAll(() => writeFileSync(join(folder, "programs.js"), programs));

  it("uses worker threads, and aborts them", () => {
    const source = `
      import { existsSync, readdirSync } from "node:fs";
      import { link } from "tsc-lto";
      import { program } from "./programs.js";
      const inputs = program(0, 100);
      const threads = { jobs: 2, parallelThreshold: 0 };
      const phases = new Set();
      const many = await link(inputs, { ...threads, progress: (phase) => phases.add(phase) });
      const one = await link(inputs, { jobs: 1 });
      console.log(many.text === one.text, [...phases].join());
      for (const at of ["plan", "compile"]) {
        const controller = new AbortController();
        const progress = (phase) => phase === at && setImmediate(() => controller.abort());
        const started = link(inputs, { ...threads, output: "aborted.s", signal: controller.signal, progress });
        console.log(await started.then(() => "linked", (e) => e.name), existsSync("aborted.s"));
      }
      const refused = [{ name: "r.ll", bytes: Buffer.from("define x86_regcallcc i32 @main() {\\n  ret i32 0\\n}\\n") }];
      console.log(await link(refused, threads).catch((e) => [e.name, e.construct, e.where].join()));
      console.log(readdirSync(".").filter((name) => name.startsWith(".")).length);
    `;
    expect(node("threads.js", source)).toEqual({
      status: 0,
      stderr: "",
      stdout: [
        "true read,link,passes,plan,compile,complete,emit,data",
        "AbortError false",
        "AbortError false",
        "UnsupportedError,calling convention 92, x86_regcallcc,function 'main'",
        "0\n",
      ].join("\n"),
    });
  }, 120_000);

  it("links again and again without keeping anything", () => {
    const source = `
      import { link } from "tsc-lto";
      import { program } from "./programs.js";
      const inputs = program(0, 12);
      const listeners = () => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
      const used = () => (gc(), gc(), process.memoryUsage().heapUsed);
      const heaps = [];
      const texts = new Set();
      let before;
      for (let i = 0; i < 80; i++) {
        texts.add((await link(inputs, { jobs: 1 })).text);
        // What differs from link to link must go as well.
        await link(program(i * 1000, 12), { jobs: 1, output: "again.s" });
        // By then the engine has compiled what it will.
        if (i === 39) before = listeners();
        if (i === 39 || i === 59 || i === 79) heaps.push(used());
      }
      console.log(texts.size, listeners() - before);
      // The engine compiles now and then what it has not yet; what stays of each link does so in both stretches.
      console.log(Math.round(Math.min(heaps[1] - heaps[0], heaps[2] - heaps[1]) / 20 / 1024));
    `;
    const { status, stdout, stderr } = node("again.js", source, "--expose-gc");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const [texts, kibibytes] = stdout.split("\n");
    expect(texts).toBe("1 0");
    // A single body that stayed would be more; the whole of a link is some megabytes.
    expect(Number(kibibytes)).toBeLessThan(48);
  }, 240_000);

  it("handles signals itself", () => {
    const source = `
      import { link } from "tsc-lto";
      import { program } from "./programs.js";
      let caught = 0;
      process.on("SIGINT", () => caught++);
      const output = "signalled.s";
      const progress = (phase, done, total) => done === total && process.kill(process.pid, "SIGINT");
      await link(program(0, 30), { jobs: 1, output, progress });
      await new Promise((wake) => setTimeout(wake, 50));
      console.log(caught > 0, process.listenerCount("SIGINT"), process.listenerCount("SIGTERM"));
    `;
    expect(node("signals.js", source)).toEqual({ status: 0, stderr: "", stdout: "true 1 0\n" });
  }, 60_000);
});
