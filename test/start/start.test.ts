/** Starting the commands: bundles, caches of compiled code, and going on without either. Built for the test. */
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { builtPackage } from "../support/built.js";

const root = resolve(import.meta.dirname, "../..");
const builtOnce = builtPackage();
let built: string;
let caches: string;
let program: string;

beforeAll(() => {
  // Below node_modules, so that the program finds its dependencies.
  const folder = join(root, "node_modules/.cache");
  mkdirSync(folder, { recursive: true });
  built = mkdtempSync(join(folder, "start-test-"));
  // A bundle that is older than the modules is not used.
  cpSync(builtOnce(), built, { recursive: true, preserveTimestamps: true });
  rmSync(join(built, "dist/bundle/cache"), { recursive: true, force: true });
  caches = join(built, "dist/bundle/cache");
  program = join(built, "program.ll");
  writeFileSync(program, "define i32 @main(i32 %0) {\n  %2 = add i32 %0, 1\n  ret i32 %2\n}\n");
}, 240_000);

afterAll(() => rmSync(built, { recursive: true, force: true }));

beforeEach(() => rmSync(caches, { recursive: true, force: true }));

const command = (name: string): string => join(built, "bin", name);
const home = (): string => join(built, "home");

function run(path: string, args: readonly string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(path, args, {
    encoding: "utf8",
    env: { ...process.env, XDG_CACHE_HOME: home(), ...env },
  });
  return { status, stdout, stderr };
}

const link = (env: Record<string, string> = {}) => run(command("tsc-lto"), [program, "-o", "-"], env);
const expected = { status: 0, stderr: "", stdout: expect.stringMatching(/^main:\n(.*\n)+?\s+ret/m) };

/** The largest cache: that of the linker's bundle. */
function cacheFile(folder = caches): string {
  const files = readdirSync(folder).map((name) => join(folder, name));
  return files.sort((a, b) => statSync(b).size - statSync(a).size)[0]!;
}

describe("a bundle", () => {
  it("does what the modules do", () => {
    const bundled = link();
    expect(bundled).toEqual(expected);
    expect(link({ TSC_LTO_BUNDLE: "no" })).toEqual(bundled);
  });

  it("passes exit codes and arguments on, and holds every command", () => {
    expect(run(command("tsc-lto"), ["--no-such-option"]).status).toBe(2);
    expect(run(command("tsc-lto"), [join(built, "missing.o"), "-o", join(built, "a b.s")])).toEqual({
      status: 1,
      stdout: "",
      stderr: `tsc-lto: error: cannot open ${join(built, "missing.o")}: No such file or directory\n`,
    });
    expect(run(command("tsc-ld"), ["--version"]).stdout).toMatch(/^tsc-lto \S+ \(compatible/);
    expect(run(command("tsc-cc"), ["--help"]).stdout).toMatch(/^Usage: tsc-cc/);
  });

  it("holds what a command leads to: the linker's links", () => {
    const object = join(built, "program.o");
    const library = join(built, "program.so");
    expect(run(command("tsc-lto"), [program, "--emit=object", "-o", object]).status).toBe(0);
    expect(run(command("tsc-ld"), ["-shared", object, "-o", library])).toEqual({
      status: 0,
      stdout: "",
      stderr: "",
    });
    expect(readFileSync(library).subarray(1, 4).toString()).toBe("ELF");
  });

  it("starts from any name, in a shell and in Node", () => {
    const other = join(built, "other");
    mkdirSync(join(other, "deep"), { recursive: true });
    symlinkSync("../bin/tsc-lto", join(other, "one"));
    symlinkSync("../one", join(other, "deep/two"));
    for (const path of [join(other, "one"), join(other, "deep/two")])
      expect(run(path, [program, "-o", "-"])).toEqual(expected);
    expect(run(process.execPath, [command("tsc-lto"), program, "-o", "-"])).toEqual(expected);
    const { status } = spawnSync("sh", ["tsc-lto", program, "-o", "-"], { cwd: join(built, "bin") });
    expect(status).toBe(0);
  });

  it("reads no certificates, since it makes no connections", () => {
    const env = { NODE_EXTRA_CA_CERTS: join(built, "missing.pem") };
    expect(run(process.execPath, ["-e", "0"], env).stderr).toContain("missing.pem");
    for (const name of ["tsc-lto", "tsc-cc", "tsc-ld"])
      expect(run(command(name), ["--version"], env)).toMatchObject({ status: 0, stderr: "" });
  });

  it("gives way to newer modules", () => {
    const main = join(built, "dist/bin/lto/main.js");
    const { atime, mtime } = statSync(main);
    utimesSync(main, atime, new Date(Date.now() + 10_000));
    try {
      expect(link()).toEqual(expected);
      expect(() => readdirSync(caches)).toThrow();
    } finally {
      utimesSync(main, atime, mtime);
    }
  });
});

describe("a cache of compiled code", () => {
  it("is made once, and used", () => {
    expect(link()).toEqual(expected);
    const before = statSync(cacheFile());
    expect(link()).toEqual(expected);
    const after = statSync(cacheFile());
    expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
  });

  it("is made again when it is damaged, cut short or writable for others", () => {
    link();
    const good = readFileSync(cacheFile());
    const flipped = [20, good.length >> 2, 3 * (good.length >> 2), good.length - 1].map((at) => {
      const bytes = Buffer.from(good);
      bytes[at]! ^= 1;
      return bytes;
    });
    for (const bytes of [...flipped, good.subarray(0, 1000), good.subarray(0, 7), new Uint8Array(0)]) {
      writeFileSync(cacheFile(), bytes);
      const { ino } = statSync(cacheFile());
      expect(link()).toEqual(expected);
      expect(statSync(cacheFile()).ino).not.toBe(ino);
      expect(statSync(cacheFile()).size).toBeGreaterThan(1000);
    }
    chmodSync(cacheFile(), 0o666);
    expect(link()).toEqual(expected);
    expect(statSync(cacheFile()).mode & 0o022).toBe(0);
  });

  it("that V8 refuses stays, and another is made beside it", () => {
    link();
    const bytes = readFileSync(cacheFile());
    // After three words of header the code stands twice; its third word is V8's hash of its settings.
    for (const start of [12, 12 + bytes.readUInt32LE(4)]) bytes[start + 12]! ^= 1;
    writeFileSync(cacheFile(), bytes);
    const count = readdirSync(caches).length;
    expect(link()).toEqual(expected);
    const names = readdirSync(caches);
    expect(names.length).toBe(count + 1);
    const times = names.map((name) => statSync(join(caches, name)).mtimeMs);
    expect(link()).toEqual(expected);
    expect(readdirSync(caches).map((name) => statSync(join(caches, name)).mtimeMs)).toEqual(times);
  });

  it("is apart for inputs of different sizes", () => {
    const enlarged = (name: string, lines: number): string => {
      const file = join(built, name);
      writeFileSync(file, `${readFileSync(program, "utf8")}${"; nothing\n".repeat(lines)}`);
      return file;
    };
    link();
    const small = readdirSync(caches);
    expect(small.every((name) => name.endsWith("-small"))).toBe(true);
    const { mtimeMs } = statSync(cacheFile());
    // Values of options are no inputs, however long they are.
    const passes = new Array(200).fill("gvn").join(",");
    expect(run(command("tsc-lto"), [program, "--skip-pass", passes, "-o", "-"])).toEqual(expected);
    expect(readdirSync(caches)).toEqual(small);
    expect(run(command("tsc-lto"), [enlarged("usual.ll", 1500), "-o", "-"])).toEqual(expected);
    expect(run(command("tsc-lto"), [enlarged("large.ll", 110_000), "-o", "-"])).toEqual(expected);
    const all = readdirSync(caches);
    expect(all.length).toBe(3 * small.length);
    for (const size of ["usual", "large"])
      expect(all.filter((name) => name.endsWith(`-${size}`)).length).toBe(small.length);
    expect(statSync(join(caches, small[0]!)).mtimeMs).toBe(mtimeMs);
  });

  it("is not made by a run without inputs", () => {
    for (const option of ["--help", "--version"]) expect(run(command("tsc-lto"), [option]).status).toBe(0);
    expect(() => readdirSync(caches)).toThrow();
    link();
    expect(readdirSync(caches).length).toBeGreaterThan(0);
  });

  it("is apart for other settings of Node", () => {
    link();
    const count = readdirSync(caches).length;
    expect(link({ NODE_OPTIONS: "--stack-trace-limit=20" })).toEqual(expected);
    expect(readdirSync(caches).length).toBe(2 * count);
  });

  it("goes to the user's directory where the package cannot be written, or nowhere", () => {
    writeFileSync(caches, "");
    rmSync(home(), { recursive: true, force: true });
    expect(link()).toEqual(expected);
    expect(statSync(join(home(), "tsc-lto")).mode & 0o777).toBe(0o700);
    const file = cacheFile(join(home(), "tsc-lto"));
    const { mtimeMs } = statSync(file);
    expect(link()).toEqual(expected);
    expect(statSync(file).mtimeMs).toBe(mtimeMs);
    expect(link({ XDG_CACHE_HOME: "/dev/null" })).toEqual(expected);
  });

  it("is written by many processes at once", async () => {
    const codes = await Promise.all(
      Array.from(
        { length: 6 },
        () =>
          new Promise<number | null>((done) =>
            spawn(command("tsc-lto"), [program, "-o", "-"], { stdio: "ignore" }).on("close", done),
          ),
      ),
    );
    expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
    expect(readdirSync(caches).filter((name) => name.endsWith(".new"))).toEqual([]);
    const { mtimeMs } = statSync(cacheFile());
    expect(link()).toEqual(expected);
    expect(statSync(cacheFile()).mtimeMs).toBe(mtimeMs);
  });

  it("is not made by a run that fails", () => {
    run(command("tsc-lto"), [join(built, "missing.o")]);
    expect(() => readdirSync(caches)).toThrow();
  });
});
