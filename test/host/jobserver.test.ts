/** Make's jobserver: how much is done at the same time under a real make, and that what it lends comes back. */
import { spawn, spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { placeIn } from "../../bin/host/jobserver.js";
import { Slots } from "../../bin/host/slots.js";
import { builtCommands, builtPackage } from "../support/built.js";

const built = builtPackage();
const command = builtCommands();
const folder = mkdtempSync(join(tmpdir(), "jobserver-"));
const file = (name: string): string => join(folder, name);
const hasMake = spawnSync("make", ["--version"]).status === 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Does six things, eight of which might be done at the same time, and says how many were. */
const script = (): string => `
import { Slots } from ${JSON.stringify(join(built(), "dist/bin/host/slots.js"))};
const slots = new Slots(8, process.env);
let running = 0, most = 0;
await slots.run(6, async () => {
  most = Math.max(most, ++running);
  if (process.argv[2] === "killed") process.kill(process.pid, "SIGTERM");
  await new Promise((wake) => setTimeout(wake, 100));
  running--;
});
slots.close();
console.log("most", most);
`;

beforeAll(() => writeFileSync(file("script.mjs"), script()));

/** @returns what it said, on both streams */
function make(makefile: string, ...args: string[]): string {
  writeFileSync(file("Makefile"), makefile);
  const env = { ...process.env, NODE: process.execPath, MAKEFLAGS: "" };
  const { stdout, stderr, status } = spawnSync("make", args, { cwd: folder, encoding: "utf8", env });
  expect(status).toBe(0);
  // What make says where tokens are missing or too many in the end.
  expect(stderr).not.toMatch(/INTERNAL/);
  return stdout + stderr;
}

const mostIn = (log: string): number => {
  let running = 0;
  let most = 0;
  for (const word of log.trim().split(/\s+/)) {
    running += word === "+" ? 1 : -1;
    most = Math.max(most, running);
  }
  return most;
};

it.each<[string | undefined, ReturnType<typeof placeIn>]>([
  [undefined, null],
  ["", null],
  ["k -j8", null],
  [" -j8 --jobserver-auth=3,4", [3, 4]],
  ["--jobserver-fds=5,6 -j", [5, 6]],
  ["-j4 --jobserver-auth=3,4 --jobserver-auth=fifo:/tmp/GMfifo7", "/tmp/GMfifo7"],
  ["-j4 --jobserver-auth=-2,-2", null],
  ["-j4 --jobserver-auth=3", null],
  ["-j4 -- X=--jobserver-auth=1,2", null],
])("MAKEFLAGS=%s names a jobserver or none", (flags, place) =>
  expect(placeIn({ MAKEFLAGS: flags })).toEqual(place),
);

describe("without a jobserver", () => {
  const slots = (): Slots => new Slots(3, {});
  const wait = (milliseconds: number): Promise<void> => new Promise((wake) => setTimeout(wake, milliseconds));

  it("as much is done as was asked for, and results are in order", async () => {
    let running = 0;
    let most = 0;
    const results = await slots().run(7, async (index) => {
      most = Math.max(most, ++running);
      await wait(10 * (7 - index));
      running--;
      return index * index;
    });
    expect([most, results]).toEqual([3, [0, 1, 4, 9, 16, 25, 36]]);
    expect(await slots().run(0, async () => 1)).toEqual([]);
  });

  it("the first failure in order counts, when those that had begun are over", async () => {
    const over: number[] = [];
    const run = slots().run(9, async (index) => {
      await wait(30 - 10 * index);
      over.push(index);
      if (index > 0) throw new Error(`${index}`);
    });
    await expect(run).rejects.toThrow("1");
    expect(over).toEqual([2, 1, 0]);
  });
});

describe.skipIf(!hasMake)("under make", () => {
  it("one thing is done for the recipe, and others for tokens, which come back", () => {
    expect(make("all:\n\t+@$(NODE) script.mjs\n", "-j3")).toMatch(/most 3/);
    expect(make("all: a b\na b:\n\t+@$(NODE) script.mjs\n", "-j2")).toMatch(/most [12]\n.*most [12]/s);
    expect(make("all: a b\na b:\n\t+@$(NODE) script.mjs\n", "-j1")).toMatch(/most 6/);
  });

  it("nothing is taken where the recipe is not let near it", () => {
    expect(make("all:\n\t@$(NODE) script.mjs\n", "-j3")).toMatch(/most 6/);
  });

  it("tokens come back from a process that is killed", () => {
    // The second needs what the first has held.
    const rule = "all: b\nb: a\n\t+@$(NODE) script.mjs\na:\n\t-+@$(NODE) script.mjs killed\n";
    const said = make(rule, "-j3");
    expect(said).toMatch(/Terminated/);
    expect(said).toMatch(/most 3/);
  });

  it("a distributor has as many processes as make lends", () => {
    const jobs = Array.from({ length: 6 }, () => ({ args: [], inputs: [], outputs: [] }));
    const job = ["/bin/sh", "-c", `echo + >> ${file("log")}; sleep 0.15; echo - >> ${file("log")}`];
    writeFileSync(file("jobs.json"), JSON.stringify({ common: { args: job, inputs: [] }, jobs }));
    const recipe = `all:\n\t+@$(NODE) ${command("tsc-lto")} distribute -j 8 jobs.json\n`;
    for (const [n, most] of [
      [2, 2],
      [4, 4],
    ]) {
      rmSync(file("log"), { force: true });
      make(recipe, `-j${n}`);
      expect(mostIn(readFileSync(file("log"), "utf8"))).toBe(most);
    }
  });

  it("links in threads, and by a distributor, give the same bytes", () => {
    const functions = Array.from(
      { length: 24 },
      (_, n) =>
        `define i32 @f${n}(i32 %x) noinline {\n${Array.from({ length: 50 }, (_, i) => `  %m${i} = xor i32 ${i === 0 ? "%x" : `%m${i - 1}`}, ${n * i + 7}\n  call void asm sideeffect "", ""()\n`).join("")}  ret i32 %m49\n}\n`,
    );
    writeFileSync(file("p.ll"), functions.join(""));
    const link = `$(NODE) ${command("tsc-lto")} -r p.ll`;
    const words = "--parallel-threshold 0";
    make(
      `all: a b c d\na:\n\t+@${link} -j1 -o a.s\nb:\n\t+@${link} -j4 ${words} -o b.s\nc:\n\t+@${link} -j4 ${words} --cache-dir cache -o c.s\nd:\n\t+@${link} --thinlto-distributor=$(NODE) --thinlto-distributor-arg=${command("tsc-lto")} --thinlto-distributor-arg=distribute --thinlto-remote-compiler=$(NODE) --thinlto-remote-compiler-prepend-arg=${command("tsc-lto")} -o d.s\n`,
      "-j2",
    );
    const expected = readFileSync(file("a.s"), "utf8");
    for (const name of ["b.s", "c.s", "d.s"]) expect(readFileSync(file(name), "utf8")).toBe(expected);
  });
});

it("a jobserver in a file system is used as well (make 4.4 and later)", async () => {
  const fifo = file("fifo");
  expect(spawnSync("mkfifo", [fifo]).status).toBe(0);
  const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    writeSync(fd, "xy");
    const env = { ...process.env, MAKEFLAGS: ` -j3 --jobserver-auth=fifo:${fifo}` };
    const child = spawn(process.execPath, [file("script.mjs")], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let out = "";
    child.stdout.on("data", (bytes) => (out += bytes));
    await new Promise((ended) => child.on("close", ended));
    expect(out).toBe("most 3\n");
    const tokens = Buffer.alloc(8);
    expect(readSync(fd, tokens)).toBe(2);
    expect(tokens.toString("latin1", 0, 2).split("").sort().join("")).toBe("xy");
    for (const auth of [`fifo:${file("none")}`, `fifo:${file("script.mjs")}`]) {
      const alone = { ...process.env, MAKEFLAGS: ` -j3 --jobserver-auth=${auth}` };
      expect(spawnSync(process.execPath, [file("script.mjs")], { env: alone, encoding: "utf8" }).stdout).toBe(
        "most 6\n",
      );
    }
  } finally {
    closeSync(fd);
  }
});
