/** Persistent workers: a build tool at the other end of two pipes, and Bazel itself where there is one. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { builtPackage } from "../support/built.js";
import { type Command, Service, slowProgram } from "./service.js";

const built = builtPackage();
const service = new Service(built);
const { work } = service;
const file = (name: string): string => join(work, name);

const small = (n: number): string =>
  `define i32 @main(i32 %0) {\n  %2 = mul i32 %0, ${n}\n  %3 = add i32 %2, 1\n  ret i32 %3\n}\n`;
const slow = ["-r", "slow.ll", "-o", "slow.s"];
let expected: Buffer;

interface Response {
  readonly exitCode: number;
  readonly output: string;
  readonly requestId: number;
  readonly wasCancelled?: boolean;
}

/** A build tool that speaks JSON. */
class BuildTool {
  readonly child: ChildProcess;
  readonly ended: Promise<[code: number | null, signal: string | null]>;
  stderr = "";
  private text = "";
  private readonly responses: Response[] = [];
  private readonly waiting: ((response: Response) => void)[] = [];

  constructor(startup: readonly string[] = [], command: Command = "lto") {
    const start = join(built(), "dist/bin/start.cjs");
    this.child = spawn(process.execPath, [start, command, ...startup, "--persistent_worker"], {
      cwd: work,
      env: service.environment("off"),
      stdio: "pipe",
    });
    this.child.stdin!.on("error", () => {});
    this.child.stderr!.on("data", (bytes: Buffer) => (this.stderr += bytes));
    this.child.stdout!.on("data", (bytes: Buffer) => {
      const lines = (this.text + bytes).split("\n");
      this.text = lines.pop()!;
      for (const line of lines) {
        const response = JSON.parse(line) as Response;
        const next = this.waiting.shift();
        if (next === undefined) this.responses.push(response);
        else next(response);
      }
    });
    this.ended = new Promise((resolve) => this.child.on("close", (code, signal) => resolve([code, signal])));
  }

  send(request: object): void {
    this.child.stdin!.write(JSON.stringify(request));
  }

  response(): Promise<Response> {
    const response = this.responses.shift();
    return response === undefined
      ? new Promise((resolve) => this.waiting.push(resolve))
      : Promise.resolve(response);
  }

  ask(request: object): Promise<Response> {
    this.send(request);
    return this.response();
  }

  async end(): Promise<void> {
    this.child.stdin!.end();
    expect(await this.ended).toEqual([0, null]);
    expect(service.processes()).toEqual([]);
  }
}

beforeAll(() => {
  for (const n of [3, 5, 7]) writeFileSync(file(`p${n}.ll`), small(n));
  mkdirSync(file("sandbox"));
  writeFileSync(file("sandbox/q.ll"), small(9));
  writeFileSync(file("slow.ll"), slowProgram(40));
  expect(service.run("lto", slow, { server: "off" })).toMatchObject({ status: 0, stderr: "" });
  expected = readFileSync(file("slow.s"));
  rmSync(file("slow.s"));
}, 240_000);

describe("a persistent worker", () => {
  it("runs commands as they would run by themselves, with the words it was started with", async () => {
    const tool = new BuildTool(["--emit", "ir"]);
    for (const n of [3, 5]) {
      const alone = service.run("lto", ["--emit", "ir", `p${n}.ll`, "-o", "-"], { server: "off" });
      expect(await tool.ask({ arguments: [`p${n}.ll`, "-o", "-"] })).toEqual({
        exitCode: 0,
        output: alone.stdout,
        requestId: 0,
      });
    }
    const missing = await tool.ask({ arguments: ["missing.o", "-o", "p.s"] });
    expect(missing).toMatchObject({ exitCode: 1, output: expect.stringMatching(/error: .*missing\.o/) });
    expect(await tool.ask({ arguments: ["--no-such-option"] })).toMatchObject({ exitCode: 2 });
    // Standard input has requests, and nothing else; the command finds it empty.
    expect(await tool.ask({ arguments: ["-", "-o", "p.s"] })).toMatchObject({
      exitCode: 1,
      output: expect.stringMatching(/empty/),
    });
    await tool.end();
    expect(tool.stderr).toBe("");
  });

  it("has several requests at a time, each in its sandbox", async () => {
    const tool = new BuildTool();
    tool.send({ arguments: slow, requestId: 1 });
    tool.send({ arguments: ["q.ll", "-o", "q.s"], requestId: 2, sandboxDir: "sandbox" });
    tool.send({ arguments: ["p3.ll", "-o", "q.s"], requestId: 3, sandboxDir: "none" });
    tool.send({ arguments: ["p7.ll", "-o", "p7.s"], requestId: 4 });
    const responses = [
      await tool.response(),
      await tool.response(),
      await tool.response(),
      await tool.response(),
    ];
    responses.sort((a, b) => a.requestId - b.requestId);
    expect(responses.map(({ requestId, exitCode }) => [requestId, exitCode])).toEqual([
      [1, 0],
      [2, 0],
      [3, 1],
      [4, 0],
    ]);
    expect(responses[2]!.output).toMatch(/none: no such folder/);
    expect(readFileSync(file("slow.s")).equals(expected)).toBe(true);
    expect([existsSync(file("sandbox/q.s")), existsSync(file("q.s")), existsSync(file("p7.s"))]).toEqual([
      true,
      false,
      true,
    ]);
    await tool.end();
    for (const name of ["slow.s", "sandbox/q.s", "p7.s"]) rmSync(file(name));
  });

  it("ends what is taken back, and leaves nothing of it; one response each", async () => {
    const tool = new BuildTool();
    const before = service.left();
    tool.send({ arguments: slow, requestId: 1 });
    tool.send({ requestId: 1, cancel: true });
    tool.send({ requestId: 1, cancel: true });
    tool.send({ requestId: 77, cancel: true });
    expect(await tool.response()).toEqual({ exitCode: 0, output: "", requestId: 1, wasCancelled: true });
    expect(service.left()).toEqual(before);
    // The number is free again; a cancellation that comes late changes nothing.
    expect(await tool.ask({ arguments: slow, requestId: 1 })).toMatchObject({ exitCode: 0, requestId: 1 });
    tool.send({ requestId: 1, cancel: true });
    expect(await tool.ask({ arguments: ["p3.ll", "-o", "p3.s"], requestId: 2 })).toMatchObject({
      requestId: 2,
    });
    expect(readFileSync(file("slow.s")).equals(expected)).toBe(true);
    await tool.end();
    for (const name of ["slow.s", "p3.s"]) rmSync(file(name));
  });

  it("does again what one of its processes did not survive", async () => {
    const tool = new BuildTool();
    expect(await tool.ask({ arguments: ["p3.ll", "-o", "p3.s"] })).toMatchObject({ exitCode: 0 });
    const answer = tool.ask({ arguments: slow });
    for (const { pid } of service.workers()) process.kill(pid, "SIGKILL");
    expect(await answer).toEqual({ exitCode: 0, output: "", requestId: 0 });
    expect(readFileSync(file("slow.s")).equals(expected)).toBe(true);
    await tool.end();
    for (const name of ["slow.s", "p3.s"]) rmSync(file(name));
  });

  it("links by the other commands, too", async () => {
    service.run("lto", ["p3.ll", "--emit=object", "-r", "-o", "p.o"], { server: "off" });
    for (const command of ["cc", "ld"] as const) {
      const tool = new BuildTool([], command);
      const args = command === "cc" ? ["p.o", "-o", "p"] : ["-r", "p.o", "-o", "p"];
      expect(await tool.ask({ arguments: args })).toMatchObject({ exitCode: 0 });
      await tool.end();
      rmSync(file("p"));
    }
    rmSync(file("p.o"));
  });

  it.each<[string, Buffer, RegExp]>([
    ["text", Buffer.from("hello\n"), /a request|field|ends in the middle/],
    ["huge frames", Buffer.from([255, 255, 255, 255, 15, 0, 0]), /a request of 4294967295 bytes/],
    [
      "two with one number",
      Buffer.from('{"arguments":["slow.ll"]}{"arguments":["slow.ll"]}'),
      /under way already/,
    ],
    ["an end in the middle", Buffer.from('{"arguments":['), /ends in the middle/],
  ])("ends with an error when it gets what is no request: %s", async (_, bytes, message) => {
    const tool = new BuildTool();
    tool.child.stdin!.end(bytes);
    expect(await tool.ended).toEqual([1, null]);
    expect(tool.stderr).toMatch(/^tsc-lto: error: --persistent_worker: [^\n]*\n$/);
    expect(tool.stderr).toMatch(message);
    expect(service.processes()).toEqual([]);
  });

  it.each(["SIGTERM", "SIGINT", "SIGKILL"] as const)(
    "leaves nothing when it is ended by %s",
    async (signal) => {
      const tool = new BuildTool();
      expect(await tool.ask({ arguments: ["p3.ll", "-o", "p3.s"] })).toMatchObject({ exitCode: 0 });
      rmSync(file("p3.s"));
      const before = service.left();
      tool.send({ arguments: slow });
      tool.child.kill(signal);
      expect(await tool.ended).toEqual([null, signal]);
      expect(await service.until(() => service.processes().length === 0)).toBe(true);
      expect(service.left()).toEqual(before);
    },
  );
});

const hasBazel = spawnSync("sh", ["-c", "command -v bazel"]).status === 0;

it.skipIf(!hasBazel)("Bazel links in workers: protobuf, JSON, in a sandbox", { timeout: 120_000 }, () => {
  const folder = join(service.folder, "bazel");
  mkdirSync(join(folder, "tools"), { recursive: true });
  copyFileSync(join(import.meta.dirname, "../../fixtures/bazel/tsc_lto.bzl"), join(folder, "tsc_lto.bzl"));
  writeFileSync(join(folder, "WORKSPACE"), "");
  writeFileSync(join(folder, "tools/BUILD"), 'exports_files(["tsc-lto"])\n');
  const tool = `#!/bin/sh\nexec "${process.execPath}" "${built()}/dist/bin/start.cjs" lto "$@"\n`;
  writeFileSync(join(folder, "tools/tsc-lto"), tool, { mode: 0o755 });
  const startup = [`--output_user_root=${join(service.folder, "bazel-output")}`, "--max_idle_secs=10"];
  const bazel = (...args: string[]) =>
    spawnSync("bazel", [...startup, ...args], {
      cwd: folder,
      encoding: "utf8",
      env: service.environment("off"),
    });
  const build = (protocol: string, program: (n: number) => string, ...words: string[]): void => {
    for (const n of [3, 5, 7]) writeFileSync(join(folder, `p${n}.ll`), program(n));
    writeFileSync(
      join(folder, "BUILD"),
      `load("//:tsc_lto.bzl", "tsc_lto_assembly")\n[tsc_lto_assembly(name = "prog%d" % n, srcs = ["p%d.ll" % n], tool = "//tools:tsc-lto", protocol = "${protocol}") for n in [3, 5, 7]]\n`,
    );
    const { status, stderr } = bazel("build", "--strategy=TscLto=worker", ...words, "//...");
    expect([status, stderr]).toEqual([0, expect.stringMatching(/ 3 worker/)]);
    for (const n of [3, 5, 7]) {
      const args = [`p${n}.ll`, "-o", "-"];
      const alone = service.run("lto", args, { server: "off", cwd: folder });
      expect(readFileSync(join(folder, `bazel-bin/prog${n}.s`), "utf8")).toBe(alone.stdout);
    }
  };
  try {
    build("proto", small);
    build("json", (n) => small(n + 100), "--experimental_worker_allow_json_protocol");
    const sandboxed = ["--worker_sandboxing", "--noexperimental_worker_multiplex"];
    build("proto", (n) => small(n + 200), ...sandboxed);
  } finally {
    bazel("clean", "--expunge");
    rmSync(folder, { recursive: true, force: true });
  }
});
