/**
 * Interrupted commands end within a second and leave nothing behind, at whatever moment. `INTERRUPTS=50 npx vitest run
 * test/host/interrupts` tries fifty moments of each command; by default few, since all are random.
 *
 * The second is one of a machine that does nothing else. How much slower this one is at the moment, starts of an empty
 * Node.js around each interrupt tell.
 */
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  forgetTemporary,
  removeTemporary,
  temporaryDirectory,
  temporaryFile,
} from "../../bin/host/interrupts.js";
import { builtCommands } from "../support/built.js";

const command = builtCommands();
const moments = Number(process.env["INTERRUPTS"] ?? 2);
/** Functions of the program: more, where more moments are tried. */
const size = moments > 2 ? 150 : 20;
/** Milliseconds that the start of an empty Node.js takes on a machine that does nothing else, at most. */
const quietStart = 80;

/** Milliseconds of here and now that are a second of a quiet machine; never less than one. */
function second(): number {
  const start = performance.now();
  spawnSync(process.execPath, ["-e", "0"]);
  return 1000 * Math.max(1, (performance.now() - start) / quietStart);
}

const folder = mkdtempSync(join(tmpdir(), "tsc-lto-interrupts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const sources = join(folder, "sources");

beforeAll(() => {
  mkdirSync(sources);
  const body = (n: number): string =>
    Array.from(
      { length: 12 },
      (_, i) => `  if (x % ${n + i + 2}) y[${i}] += x * ${i} + y[${(i + 5) % 12}];\n`,
    ).join("");
  const functions = Array.from(
    { length: size },
    (_, n) =>
      `int f${n}(int x, int *y) {\n${body(n)}  return x + y[0]${n === 0 ? "" : ` + f${n - 1}(x, y)`};\n}\n`,
  ).join("");
  writeFileSync(
    join(sources, "p.c"),
    `${functions}int main(int n, char **v) { int y[12] = {0}; return f${size - 1}(n, y); }\n`,
  );
  // A compiler that does not care for signals; and one that has started others.
  writeFileSync(
    join(sources, "deaf"),
    '#!/bin/sh\ncase $1 in --version) echo clang version 19.0.0; exit ;; esac\ntrap "" INT TERM HUP\nfor i in 1 2 3 4 5 6 7 8 9; do sleep 1; done\n',
  );
  writeFileSync(
    join(sources, "parent"),
    "#!/bin/sh\ncase $1 in --version) echo clang version 19.0.0; exit ;; esac\nsleep 9\n",
  );
  for (const name of ["deaf", "parent"]) chmodSync(join(sources, name), 0o755);
});

interface Run {
  readonly status: number | null;
  readonly signal: string | null;
  /** From the signal to the end, in seconds of a quiet machine. */
  readonly took: number;
  /** Of all, in milliseconds. */
  readonly duration: number;
  readonly stderr: string;
  /** Files in the working directory, hidden ones too, and in that for temporary files. */
  readonly files: string[];
  readonly temporaries: string[];
  /** Contents of the files. */
  readonly contents: Buffer;
  /** Command lines of processes that are still there. */
  readonly processes: string[];
}

let counter = 0;

async function run(
  name: "tsc-cc" | "tsc-lto" | "tsc-ld",
  args: readonly string[],
  after?: number,
): Promise<Run> {
  const mark = `TSC_LTO_TEST=${process.pid}-${counter++}`;
  const cwd = join(folder, `run${counter}`);
  const temporary = join(folder, `tmp${counter}`);
  mkdirSync(cwd);
  mkdirSync(temporary);
  const [key, value] = mark.split("=") as [string, string];
  const env = { ...process.env, TMPDIR: temporary, [key]: value };
  const before = after === undefined ? 0 : second();
  const start = performance.now();
  const child = spawn(process.execPath, [command(name), ...args], {
    cwd,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  let sent = 0;
  const timer = setTimeout(() => {
    sent = performance.now();
    child.kill(counter % 2 === 0 ? "SIGINT" : "SIGTERM");
  }, after ?? 600_000);
  const [status, signal] = await new Promise<[number | null, string | null]>((done) =>
    child.on("exit", (code, by) => done([code, by])),
  );
  clearTimeout(timer);
  const now = performance.now();
  // What has been killed takes a moment to be gone.
  for (let i = 0; i < 40 && processesWith(mark).length > 0; i++)
    await new Promise((wake) => setTimeout(wake, 25));
  const result = {
    status,
    signal,
    took: sent === 0 ? 0 : (now - sent) / Math.max(before, second()),
    duration: now - start,
    stderr,
    files: readdirSync(cwd).sort(),
    contents: Buffer.concat(readdirSync(cwd).map((file) => readFileSync(join(cwd, file)))),
    temporaries: readdirSync(temporary),
    processes: processesWith(mark),
  };
  for (const path of [cwd, temporary]) rmSync(path, { recursive: true });
  return result;
}

function processesWith(mark: string): string[] {
  const read = (path: string): string => {
    try {
      return readFileSync(path, "latin1");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/environ`).split("\0").includes(mark))
    .map((name) => read(`/proc/${name}/cmdline`).replaceAll("\0", " "))
    .filter((line) => line !== ""); // nothing but its entry is left
}

/** Interrupts the command at random moments of the time it takes, which may end before. */
async function interruptAnywhere(
  name: "tsc-cc" | "tsc-lto" | "tsc-ld",
  args: readonly string[],
  output: string,
) {
  // The first run fills caches, which takes longer than all later ones.
  await run(name, args);
  const whole = await run(name, args);
  expect([whole.status, whole.stderr, whole.files, whole.temporaries]).toEqual([0, "", [output], []]);
  let interrupted = 0;
  for (let i = 0; i < moments; i++) {
    // One in each part of the run, so that few are spread, too.
    const moment = ((i + Math.random()) / moments) * whole.duration;
    const { status, signal, took, stderr, files, contents, temporaries, processes } = await run(
      name,
      args,
      moment,
    );
    expect({ stderr, temporaries, processes }, `after ${moment} ms`).toEqual({
      stderr: "",
      temporaries: [],
      processes: [],
    });
    expect(took, `after ${moment} ms`).toBeLessThan(1);
    if (status !== 0) expect([status, signal]).toEqual([null, expect.stringMatching(/^SIG(INT|TERM)$/)]);
    // It may come when all is done, but the process still there.
    if (status === 0 || files.length > 0) {
      expect(files).toEqual([output]);
      expect(contents.equals(whole.contents)).toBe(true);
    } else interrupted++;
  }
  // The time that a run takes is not the same every time, but not so different either.
  expect(interrupted).toBeGreaterThan(0);
}

const source = (): string => join(sources, "p.c");

describe("an interrupt", () => {
  it(
    "ends a compilation",
    () => interruptAnywhere("tsc-cc", ["-O2", "-c", source(), "-o", "p.o"], "p.o"),
    600_000,
  );

  it("ends a link in one thread", async () => {
    const object = join(folder, "p.o");
    const made = await run("tsc-cc", ["-O2", "-c", source(), "-o", object]);
    expect(made.status).toBe(0);
    await interruptAnywhere("tsc-lto", ["-j1", object, "-o", "p.s"], "p.s");
  }, 600_000);

  it(
    "ends a link in several threads",
    () =>
      interruptAnywhere(
        "tsc-lto",
        ["-j2", "--parallel-threshold=1", join(folder, "p.o"), "-o", "p.s"],
        "p.s",
      ),
    600_000,
  );

  it(
    "ends all steps from source to program",
    () => interruptAnywhere("tsc-cc", ["-O1", source(), "-o", "p"], "p"),
    600_000,
  );

  it(
    "ends a link in the linker's place",
    () => interruptAnywhere("tsc-ld", ["-shared", join(folder, "p.o"), "-o", "p.so"], "p.so"),
    600_000,
  );

  it.each(["deaf", "parent"])(
    "ends programs that would go on: %s",
    async (name) => {
      const args = [`--clang=${join(sources, name)}`, "-c", source(), "-o", "p.o"];
      const { took, ...rest } = await run("tsc-cc", args, 1500);
      expect(rest).toMatchObject({ status: null, files: [], temporaries: [], processes: [], stderr: "" });
      expect(took).toBeLessThan(1);
    },
    60_000,
  );
});

describe("a temporary file", () => {
  it("is removed once: what gets its name afterwards is somebody else's", () => {
    const directory = temporaryDirectory(folder, "t-");
    removeTemporary(directory);
    expect(existsSync(directory)).toBe(false);
    mkdirSync(directory);
    removeTemporary(directory);
    expect(existsSync(directory)).toBe(true);

    const file = temporaryFile(folder, ".o");
    forgetTemporary(file);
    removeTemporary(file);
    expect(existsSync(file)).toBe(true);
  });

  it("has a name that no other thread takes, also after it was removed", async () => {
    const module = join(dirname(command("tsc-cc")), "../dist/bin/host/interrupts.js");
    const thread = join(folder, "thread.mjs");
    writeFileSync(
      thread,
      `import { parentPort } from "node:worker_threads";
      import { removeTemporary, temporaryDirectory } from ${JSON.stringify(pathToFileURL(module).href)};
      const names = [];
      for (let i = 0; i < 50; i++) {
        names.push(temporaryDirectory(${JSON.stringify(folder)}, "t-"));
        removeTemporary(names[i]);
      }
      parentPort.postMessage(names);`,
    );
    const run = () =>
      new Promise<string[]>((resolve, reject) => {
        new Worker(thread).on("message", resolve).on("error", reject);
      });
    expect(new Set((await Promise.all([run(), run()])).flat()).size).toBe(100);
  });
});
