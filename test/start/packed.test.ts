/** The package as npm packs it, in an empty folder: everything that it needs is in it, and the README's commands work. */
import { spawnSync } from "node:child_process";
import {
  cpSync,
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
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtPackage } from "../support/built.js";

const root = resolve(import.meta.dirname, "../..");
const packageJson = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly files: readonly string[];
  readonly man: readonly string[];
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
};
const built = builtPackage();
let folder: string;
let tarball: string;
const installed = (...path: string[]): string => join(folder, "project/node_modules/tsc-lto", ...path);

function run(command: string, args: readonly string[], cwd: string) {
  const path = `${join(folder, "project/node_modules/.bin")}:${process.env["PATH"]}`;
  const env = { ...process.env, PATH: path, XDG_CACHE_HOME: join(folder, "cache") };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8", env });
  return { status, stdout, stderr };
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tsc-lto-packed-"));
  const source = join(folder, "source");
  const modules = join(folder, "project/node_modules");
  mkdirSync(source);
  mkdirSync(join(modules, ".bin"), { recursive: true });
  for (const file of ["package.json", ...packageJson.files.filter((each) => !/^!|^dist/.test(each))])
    cpSync(join(root, file), join(source, file), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(source, "node_modules"));
  const node = (...args: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: source, encoding: "utf8" });
    expect({ args, status, stderr }).toMatchObject({ status: 0 });
  };
  cpSync(join(built(), "dist"), join(source, "dist"), { recursive: true, preserveTimestamps: true });
  node(join(source, "dist/bin/write-help.js"));
  const packing = run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], source);
  expect(packing).toMatchObject({ status: 0 });
  tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"))!;
  mkdirSync(installed());
  expect(
    run("tar", ["-xf", join(folder, tarball), "--strip-components=1", "-C", installed()], folder).status,
  ).toBe(0);
  // What npm install does besides, without asking a registry.
  for (const name of readdirSync(join(root, "node_modules")))
    if (!name.startsWith(".")) symlinkSync(join(root, "node_modules", name), join(modules, name));
  for (const [name, file] of Object.entries(packageJson.bin))
    symlinkSync(installed(file), join(modules, ".bin", name));
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the packed package", () => {
  it("compiles, links and shows sizes in an empty folder", () => {
    const project = join(folder, "project");
    writeFileSync(
      join(project, "a.c"),
      'int puts(const char *);\nint half(int);\nint main(void) { return puts("hello") < half(2); }\n',
    );
    writeFileSync(join(project, "b.c"), "int half(int x) { return x / 2; }\n");
    const done = expect.objectContaining({ status: 0, stderr: "" });
    expect(run("tsc-cc", ["--clang=embedded", "-Oz", "-c", "a.c", "b.c"], project)).toEqual(done);
    expect(run("tsc-cc", ["a.o", "b.o", "-o", "hello", "-Wl,--size-report=%.size.json"], project)).toEqual(
      done,
    );
    expect(run("./hello", [], project)).toMatchObject({ status: 0, stdout: "hello\n" });
    const sizes = run("tsc-lto", ["size", "hello", "--by", "file"], project);
    expect(sizes).toEqual(done);
    expect(sizes.stdout).toContain("a.c");
    expect(run("tsc-lto", ["size", "hello", "--html", "hello.html"], project)).toEqual(done);
  });

  it("has its manual pages, completions and documents", () => {
    for (const name of [
      ...packageJson.man,
      "MANUAL.md",
      "dist/share/bash-completion/completions/tsc-lto",
      "dist/page/page.js",
    ])
      expect(existsSync(installed(name)), name).toBe(true);
    const packed = run("tar", ["-tf", tarball], folder).stdout;
    expect(packed).toContain("package/dist/bundle/lto/");
    expect(packed).not.toMatch(
      /^package\/(?:dist\/(?:tools|support|measure|bundle\/cache)|test|node_modules)\//m,
    );
  });

  it("runs the demo", () => {
    const { status, stdout, stderr } = run("npm", ["run", "--silent", "demo"], installed());
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("The output is as expected");
  });

  it("is a module for programs", () => {
    const program =
      'import { link } from "tsc-lto"; console.log((await link([{ name: "a.ll", bytes: Buffer.from("define i32 @main() { ret i32 7 }") }])).text);';
    const { status, stdout } = run(
      process.execPath,
      ["--input-type=module", "-e", program],
      join(folder, "project"),
    );
    expect(status).toBe(0);
    expect(stdout).toContain("main:");
  });
});
