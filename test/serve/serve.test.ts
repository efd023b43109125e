/**
 * The service: commands do the same with it as without, and whatever happens to it, they do it still. `KILLS=50 LINKS=200 npx
 * vitest run test/serve/serve` kills its processes at fifty random moments, and links two hundred times.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { frame, kinds } from "../../bin/serve/protocol.js";
import { builtPackage } from "../support/built.js";
import { type Command, type Run, Service, slowProgram, type Way } from "./service.js";

const kills = Number(process.env["KILLS"] ?? 3);
const links = Number(process.env["LINKS"] ?? 10);
const built = builtPackage();
const service = new Service(built);
const { work } = service;
const file = (name: string): string => join(work, name);

const small = (n: number): string =>
  `define i32 @main(i32 %0) {\n  %2 = mul i32 %0, ${n}\n  %3 = add i32 %2, 1\n  ret i32 %3\n}\n`;
const slow = ["-r", "slow.ll", "-o", "slow.s"];
let expected: Buffer;

beforeAll(() => {
  for (const n of [3, 5, 7]) writeFileSync(file(`p${n}.ll`), small(n));
  writeFileSync(
    file("q.ll"),
    `declare i32 @missing(i32)\n${small(3).replace("ret i32 %3", "%4 = tail call i32 @missing(i32 %3)\n  ret i32 %4")}`,
  );
  writeFileSync(file("bad.ll"), "define i32 @main( {\n");
  writeFileSync(file("slow.ll"), slowProgram(40));
  writeFileSync(file("words"), "p3.ll -o\nwords.s\n");
  expect(service.run("lto", slow, { server: "off" })).toMatchObject({ status: 0, stderr: "" });
  expected = readFileSync(file("slow.s"));
  for (const [name, from] of [
    ["p.o", "p3.ll"],
    ["q.o", "q.ll"],
  ])
    expect(service.run("lto", [from!, "--emit=object", "-r", "-o", name!], { server: "off" }).status).toBe(0);
}, 240_000);

beforeEach(() => {
  rmSync(file("slow.s"), { force: true });
});

/** With the service and without: the same. @returns what it was */
function same(
  command: Command,
  args: readonly string[],
  outputs: readonly string[] = [],
  way: Way = {},
): Run {
  const results = (["off", "on"] as const).map((server) => {
    for (const name of outputs) rmSync(file(name), { force: true });
    const run = service.run(command, args, { ...way, server });
    const made = outputs.map((name) =>
      existsSync(file(name))
        ? [statSync(file(name)).mode & 0o777, readFileSync(file(name)).toString("base64")]
        : null,
    );
    // Compilers' names for temporary files are random.
    const stderr = run.stderr.replace(/\bcc\w{6}\.o\b/g, "cc.o");
    return { run: { ...run, stderr }, made, left: service.left() };
  });
  expect(results[1]).toEqual(results[0]);
  return results[1]!.run;
}

describe("a command that the service runs", () => {
  it("gives the same bytes, messages and exit codes", async () => {
    expect(service.run("lto", ["serve", "-j1"]).status).toBe(0);
    expect(same("lto", ["p3.ll", "-o", "p.s"], ["p.s"]).status).toBe(0);
    expect(same("lto", ["p3.ll", "-o", "-"]).stdout).toMatch(/^main:/m);
    expect(same("lto", ["missing.o", "-o", "p.s"], ["p.s"]).status).toBe(1);
    expect(same("lto", ["bad.ll", "-o", "p.s"], ["p.s"]).stderr).toMatch(/bad\.ll/);
    expect(same("lto", ["p3.ll", "p5.ll", "-o", "p.s"], ["p.s"]).stderr).toMatch(/main/);
    expect(same("lto", ["--no-such-option"]).status).toBe(2);
    expect(same("lto", ["--help"]).stdout).toMatch(/^Usage/);
    expect(same("lto", ["p3.ll", "-o", "p.out"], ["p.out"]).stderr).toMatch(/warning/);
    expect(same("lto", ["--json", "q.ll", "--no-undefined", "-o", "p.s"], ["p.s"]).stderr).toMatch(/^\{/);
    expect(same("lto", ["@words"], ["words.s"]).status).toBe(0);
    expect(same("ld", ["--version"]).stdout).toMatch(/^tsc-lto/);
    expect(same("ld", ["-shared", "p.o", "-o", "p.so"], ["p.so"]).status).toBe(0);
    expect(same("ld", ["-shared", "missing.o", "-o", "p.so"], ["p.so"]).status).toBe(1);
    expect(same("cc", ["p.o", "-o", "p"], ["p"]).status).toBe(0);
    expect(same("cc", ["q.o", "-o", "q"], ["q"]).stderr).toMatch(/missing/);
    expect(same("cc", ["missing.c", "-o", "q"], ["q"]).status).toBe(1);
    // All that was the service's doing.
    const { stdout } = service.run("lto", ["serve", "--status"]);
    expect(Number(/ (\d+) commands/.exec(stdout)?.[1])).toBe(16);
    expect(spawnSync(file("p"), ["x"]).status).toBe(7);
  });

  it("has the client's directory, environment and mask for new files, and leaves them to no other", () => {
    const other = join(service.folder, "other");
    mkdirSync(other);
    writeFileSync(join(other, "p3.ll"), small(9));
    same("lto", ["p3.ll", "-o", "p.s"], ["p.s"], { first: "umask 077" });
    expect(statSync(file("p.s")).mode & 0o777).toBe(0o600);
    expect(service.run("lto", ["p3.ll", "-o", "-"], { cwd: other }).stdout).toBe(
      service.run("lto", ["p3.ll", "-o", "-"], { cwd: other, server: "off" }).stdout,
    );
    const record = join(service.folder, "records");
    mkdirSync(record);
    same("cc", ["p.o", "-o", "p"], ["p"], { env: { TSC_LTO_RECORD: record } });
    expect(readdirSync(record).length).toBe(2);
    same("lto", ["p3.ll", "-o", "p.s"], ["p.s"]);
    expect(statSync(file("p.s")).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(readdirSync(record).length).toBe(2);
  });

  it("may wait for several programs that end at the same time", () => {
    const tools = join(service.folder, "tools");
    mkdirSync(tools);
    for (let version = 15; version <= 22; version++)
      writeFileSync(
        join(tools, `clang-${version}`),
        `#!/bin/sh\n[ "$1" = --version ] || exit 1\necho "Debian clang version ${version}.0.0"\n`,
        { mode: 0o755 },
      );
    writeFileSync(file("x.c"), "int x;\n");
    // Where nothing can be kept, all are asked for their versions each time.
    const env = {
      PATH: `${tools}:${process.env["PATH"]}`,
      CLANG: "",
      TSC_LTO_CLANG: "",
      XDG_CACHE_HOME: "/dev/null",
    };
    const compile = (server: "off" | "on"): number | null =>
      service.run("cc", ["-c", "x.c", "-o", "x.o"], { env, server }).status;
    const alone = compile("off");
    expect([compile("on"), compile("on")]).toEqual([alone, alone]);
    rmSync(file("x.o"), { force: true });
    rmSync(file("x.c"));
  });

  it("says what standard output does not take, and that files cannot grow", () => {
    expect(same("lto", ["p3.ll", "-o", "-"], [], { stdout: openSync("/dev/full", "w") }).stderr).toBe(
      "tsc-lto: error: cannot write to standard output: No space left on device\n",
    );
    const before = service.left();
    expect(same("lto", slow, ["slow.s"], { first: "ulimit -f 1" }).stderr).toMatch(/File too large/);
    expect(service.left()).toEqual(before);
  });

  it("gives the same bytes whatever was linked before, and memory stays as it is", () => {
    const names = [3, 5, 7].map((n) => `p${n}.ll`);
    const alone = names.map((name) => service.run("lto", [name, "-o", "-"], { server: "off" }).stdout);
    const memory: number[] = [];
    for (let i = 0; i < links; i++) {
      expect(service.run("lto", [names[i % 3]!, "-o", "-"]).stdout).toBe(alone[i % 3]);
      if (i % 3 === 0) expect(service.run("lto", slow).status).toBe(0);
      memory.push(Number(/ (\d+) MB/.exec(service.run("lto", ["serve", "--status"]).stdout)?.[1]));
    }
    expect(readFileSync(file("slow.s")).equals(expected)).toBe(true);
    if (links >= 100) {
      const late = memory.slice(links / 2);
      console.log(`MB after links: ${memory.filter((_, i) => i % 20 === 19).join(" ")}`);
      expect(Math.max(...late)).toBeLessThan(1.3 * Math.max(...memory.slice(0, links / 2)));
    }
  });
});

describe("TSC_LTO_SERVER", () => {
  it("is auto: the first link starts the service, and does not wait", async () => {
    await service.end();
    expect(service.run("lto", slow, { server: "auto" })).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(file("slow.s")).equals(expected)).toBe(true);
    expect(await service.until(() => service.workers().length > 0)).toBe(true);
    expect(service.run("lto", ["serve", "--status"]).stdout).toMatch(/ 0 commands/);
    expect(service.run("lto", slow, { server: "auto" })).toMatchObject({ status: 0, stderr: "" });
    expect(service.run("lto", ["serve", "--status"]).stdout).toMatch(/ 1 command /);
  });

  it("is off, or empty: nobody is asked; and says so where it is anything else", async () => {
    await service.end();
    const link = ["p3.ll", "-o", "p.s"];
    expect(service.run("lto", link, { server: "off" }).stderr).toBe("");
    expect(service.run("lto", link, { env: { TSC_LTO_SERVER: "" } }).stderr).toBe("");
    expect(service.run("lto", link, { env: { TSC_LTO_SERVER: "yes" } })).toMatchObject({
      status: 0,
      stderr: "tsc-lto: warning: TSC_LTO_SERVER=yes: expected auto, on or off\n",
    });
    expect(service.processes()).toEqual([]);
  });
});

describe("tsc-lto serve", () => {
  it("starts one service, says what it does, and ends it", async () => {
    await service.end();
    expect(service.run("lto", ["serve", "--status"])).toMatchObject({ status: 1, stdout: "no service\n" });
    expect(service.run("lto", ["serve"]).stdout).toMatch(/^process \d+, /);
    expect(service.run("lto", ["serve"]).stdout).toMatch(/^there is one already: process/);
    const second = service.run("lto", ["serve", "--foreground"]);
    expect([second.status, second.stderr]).toEqual([1, expect.stringMatching(/there is a service already/)]);
    expect(service.run("lto", ["serve", "--stop"]).status).toBe(0);
    expect(await service.until(() => service.processes().length === 0)).toBe(true);
    expect(readdirSync(service.socketFolder())).toEqual([]);
    expect(service.run("lto", ["serve", "--idle-timeout", "soon"]).status).toBe(2);
  });

  it("ends by itself when nobody asks, and by a signal, and leaves no file", async () => {
    for (const end of [() => {}, () => process.kill(service.supervisors()[0]!.pid, "SIGTERM")]) {
      expect(service.run("lto", ["serve", "--idle-timeout", "1"]).status).toBe(0);
      end();
      expect(await service.until(() => service.processes().length === 0)).toBe(true);
      expect(readdirSync(service.socketFolder())).toEqual([]);
    }
  });

  it("replaces a process whose memory has grown", async () => {
    expect(service.run("lto", ["serve", "--memory-limit", "1m", "-j1"]).status).toBe(0);
    const seen = new Set<number>();
    for (const _ of "123") {
      expect(service.run("lto", slow)).toMatchObject({ status: 0, stderr: "" });
      for (const { pid } of service.workers()) seen.add(pid);
      await service.until(() => service.workers().length === 0);
    }
    expect(readFileSync(file("slow.s")).equals(expected)).toBe(true);
    expect(service.supervisors().length).toBe(1);
    await service.end();
  });

  it.skipIf(!existsSync("/bin/bash"))("keeps no file open of whoever started it", () => {
    const way = { shell: "/bin/bash", first: "exec 9>lock 200>lock" };
    expect(service.run("lto", ["serve"], way).status).toBe(0);
    expect(service.processes().length).toBeGreaterThan(0);
    for (const { pid } of service.processes()) {
      const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
      expect(open.filter((path) => path.endsWith("/lock"))).toEqual([]);
    }
    rmSync(file("lock"));
  });
});

describe("a service that is broken", () => {
  const linksAnyway = (server: "auto" | "on", message: string | RegExp): void => {
    const begin = Date.now();
    const { status, stderr } = service.run("lto", slow, { server });
    expect(status).toBe(0);
    expect(stderr).toMatch(message);
    expect(readFileSync(file("slow.s")).equals(expected)).toBe(true);
    rmSync(file("slow.s"));
    // Five seconds, and the link.
    expect(Date.now() - begin).toBeLessThan(40_000);
  };

  it("whose folder is open to others: it is not used, and that is said", async () => {
    await service.end();
    mkdirSync(service.socketFolder());
    chmodSync(service.socketFolder(), 0o755);
    linksAnyway("auto", /^$/);
    linksAnyway("on", /^tsc-lto: warning: linking without the service: .*mode 0700\n$/);
    expect(service.run("lto", ["serve"])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/mode 0700/),
    });
    expect(service.processes()).toEqual([]);
    rmSync(service.socketFolder(), { recursive: true });
  });

  it("for whose files there is no room: that is said at once", async () => {
    await service.end();
    const way = { first: "ulimit -f 0" };
    const begin = Date.now();
    const started = service.run("lto", ["serve"], way);
    expect([started.status, started.stderr]).toEqual([
      1,
      expect.stringMatching(/^tsc-lto: error: no service: cannot write .*starting: File too large\n$/),
    ]);
    expect(service.run("lto", ["serve", "--foreground"], way)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^tsc-lto: error: cannot listen in .*: File too large\n$/),
    });
    expect(Date.now() - begin).toBeLessThan(20_000);
    expect(readdirSync(service.socketFolder())).toEqual([]);
    linksAnyway("on", /^$/);
  });

  it("of which only the socket is left: it is started anew", async () => {
    expect(service.run("lto", ["serve"]).status).toBe(0);
    process.kill(service.supervisors()[0]!.pid, "SIGKILL");
    expect(await service.until(() => service.processes().length === 0)).toBe(true);
    expect(existsSync(service.socket())).toBe(true);
    linksAnyway("auto", /^$/);
    expect(await service.until(() => service.workers().length > 0)).toBe(true);
    linksAnyway("on", /^$/);
    expect(service.run("lto", ["serve", "--status"]).stdout).toMatch(/ 1 command /);
  });

  it("by what listens in its place: silence, garbage, large frames, another token, an end", async () => {
    expect(service.run("lto", ["serve"]).status).toBe(0);
    const path = service.socket();
    const token = readFileSync(path.replace(/sock$/, "token"), "latin1");
    process.kill(service.supervisors()[0]!.pid, "SIGKILL");
    const welcome = frame(kinds.welcome, token.slice(32));
    const ways: [(socket: Socket) => void, RegExp][] = [
      [() => {}, /does not answer/],
      [(socket) => socket.write(welcome), /does not answer/],
      [(socket) => socket.write("HTTP/1.1 200 OK\r\n\r\n"), /protocol|token/],
      [(socket) => socket.write(Buffer.concat([welcome, Buffer.alloc(9, 255)])), /protocol/],
      [(socket) => socket.write(frame(kinds.welcome, "0".repeat(32))), /does not know its token/],
      [(socket) => socket.write(frame(kinds.done, Buffer.of(0))), /does not know its token/],
      [(socket) => socket.write(Buffer.concat([welcome, frame(kinds.done)])), /protocol/],
      [
        (socket) =>
          socket.write(Buffer.concat([welcome, frame(kinds.out, "half")])).valueOf() && socket.end(),
        /ended/,
      ],
      [(socket) => socket.destroy(), /ended|EPIPE|ECONNRESET/],
    ];
    for (const [way, message] of ways) {
      rmSync(path, { force: true });
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        socket.on("error", () => {});
        socket.resume();
        way(socket);
      });
      await new Promise<void>((resolve) => void server.listen(path, resolve));
      const child = service.start("lto", ["p3.ll", "-o", "-"]);
      let out = "";
      let err = "";
      child.stdout!.on("data", (bytes) => (out += bytes));
      child.stderr!.on("data", (bytes) => (err += bytes));
      const status = await new Promise((resolve) => child.on("close", resolve));
      expect([status, out]).toEqual([0, service.run("lto", ["p3.ll", "-o", "-"], { server: "off" }).stdout]);
      expect(err).toMatch(message);
      server.close();
    }
    await service.end();
  });

  it("because another build is: both have theirs", async () => {
    const other = new Service(() => copy);
    const copy = join(dirname(built()), `other-${process.pid}`);
    cpSync(built(), copy, { recursive: true });
    try {
      expect(service.run("lto", ["serve"]).status).toBe(0);
      const env = { XDG_RUNTIME_DIR: service.runtime };
      expect(other.run("lto", ["serve", "--status"], { env }).stdout).toBe("no service\n");
      expect(other.run("lto", ["serve"], { env }).stdout).toMatch(/^process/);
      expect(readdirSync(service.socketFolder()).filter((name) => name.endsWith(".sock")).length).toBe(2);
      expect(other.run("lto", ["serve", "--stop"], { env }).status).toBe(0);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
});

describe("a hostile client", () => {
  const opened = (): Promise<{ socket: Socket; closed: Promise<number>; got: () => Buffer }> => {
    const socket = connect(service.socket());
    const parts: Buffer[] = [];
    const begin = Date.now();
    socket.on("error", () => {});
    socket.on("data", (chunk) => parts.push(chunk));
    const closed = new Promise<number>((resolve) => socket.on("close", () => resolve(Date.now() - begin)));
    return new Promise((resolve) =>
      socket.on("connect", () => resolve({ socket, closed, got: () => Buffer.concat(parts) })),
    );
  };
  const hello = (): Buffer => {
    const token = readFileSync(service.socket().replace(/sock$/, "token"), "latin1");
    const name = service.socket().replace(/^.*\/|\.sock$/g, "");
    return frame(kinds.hello, `${name} ${token.slice(0, 32)}`);
  };

  it("gets nothing, and keeps nobody else from links", async () => {
    await service.end();
    expect(service.run("lto", ["serve"]).status).toBe(0);
    const wrong = Buffer.from(hello());
    wrong[wrong.length - 1]! ^= 1;
    const words: (Buffer | string)[] = [
      "GET / HTTP/1.1\r\n\r\n",
      Buffer.alloc(100_000, 255),
      Buffer.concat([Buffer.from([0, 0, 0, 127, kinds.hello]), Buffer.alloc(1000)]),
      wrong,
      frame(kinds.request, "{}"),
      frame(kinds.control, "stop"),
    ];
    for (const bytes of words) {
      const { socket, closed, got } = await opened();
      socket.write(bytes);
      await closed;
      expect(got().length).toBe(0);
    }
    // Those who know the token.
    const known = [
      frame(kinds.request, "no JSON"),
      frame(kinds.request, JSON.stringify({ command: "lto" })),
      Buffer.concat([Buffer.from([255, 255, 255, 127, kinds.request]), Buffer.alloc(100)]),
      frame(kinds.control, "format the disk"),
      frame(kinds.done, "x"),
    ];
    for (const bytes of known) {
      const { socket, closed } = await opened();
      socket.write(Buffer.concat([hello(), bytes]));
      await closed;
    }
    // And those who say nothing, or say it slowly.
    const silent = await Promise.all([opened(), opened(), opened()]);
    silent[1]!.socket.write(hello().subarray(0, 7));
    silent[2]!.socket.write(Buffer.concat([hello(), frame(kinds.request, "{}").subarray(0, 4)]));
    expect(service.run("lto", slow)).toMatchObject({ status: 0, stderr: "" });
    for (const { closed } of silent) expect(await closed).toBeLessThan(20_000);
    expect(service.supervisors().length).toBe(1);
  });

  it("that does not read its answer keeps nobody from theirs", async () => {
    const { socket } = await opened();
    socket.pause();
    const env = { PATH: "/usr/bin:/bin" };
    const request = {
      command: "lto",
      args: ["-r", "slow.ll", "-o", "-"],
      cwd: work,
      env,
      umask: 0o22,
      colour: false,
    };
    socket.write(Buffer.concat([hello(), frame(kinds.request, JSON.stringify(request))]));
    expect(service.run("lto", slow)).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(file("slow.s")).equals(expected)).toBe(true);
    socket.destroy();
  });
});

describe("whoever is killed in the middle of a link", () => {
  const closed = (child: ReturnType<Service["start"]>): Promise<[number | null, string | null]> =>
    new Promise((resolve) => child.on("close", (code, signal) => resolve([code, signal])));
  let duration = 0;

  beforeAll(async () => {
    await service.end();
    expect(service.run("lto", ["serve", "-j1"]).status).toBe(0);
    service.run("lto", slow);
    const begin = Date.now();
    service.run("lto", slow);
    duration = Date.now() - begin;
  }, 240_000);

  it.each<[string, Command, readonly string[]]>([
    ["tsc-lto", "lto", slow],
    ["ld.tsc-lto", "ld", ["-r", "slow.o", "-o", "slow.s"]],
  ])(
    "%s: a worker or the service: the client does it itself",
    async (_, command, args) => {
      service.run("lto", ["-r", "slow.ll", "--emit=object", "-o", "slow.o"], { server: "off" });
      service.run(command, args, { server: "off" });
      const right = readFileSync(file("slow.s"));
      rmSync(file("slow.s"));
      const before = service.left();
      for (let i = 0; i < kills; i++) {
        if (service.supervisors().length === 0) service.run("lto", ["serve", "-j1"]);
        // A process that was killed is replaced when there is something to do.
        if (service.workers().length === 0) service.run(command, args);
        const child = service.start(command, args, "auto");
        const end = closed(child);
        await wait(Math.random() * duration);
        const victim = i % 2 === 0 ? service.workers()[0] : service.supervisors()[0];
        if (victim !== undefined) process.kill(victim.pid, "SIGKILL");
        expect(await end).toEqual([0, null]);
        expect(readFileSync(file("slow.s")).equals(right)).toBe(true);
        rmSync(file("slow.s"));
        await service.until(() => service.left().length === before.length);
        expect(service.left()).toEqual(before);
      }
      rmSync(file("slow.o"));
    },
    120_000 + kills * 10_000,
  );

  it("the client: the link ends, and nothing is left", async () => {
    if (service.supervisors().length === 0) service.run("lto", ["serve", "-j1"]);
    const before = service.left();
    for (let i = 0; i < kills; i++) {
      const signal = (["SIGKILL", "SIGINT", "SIGTERM"] as const)[i % 3]!;
      const child = service.start("lto", slow);
      const end = closed(child);
      await wait(duration * (0.1 + 0.4 * Math.random()));
      child.kill(signal);
      const [code, how] = await end;
      if (code === 0) rmSync(file("slow.s"));
      else expect(how).toBe(signal);
      await service.until(() => service.left().length === before.length);
      // The link has not gone on without its client.
      expect(service.run("lto", ["serve", "--status"]).stdout).toMatch(/, 0 busy, /);
      expect(service.left()).toEqual(before);
      // And the next one is served.
      expect(service.run("lto", slow)).toMatchObject({ status: 0, stderr: "" });
      expect(readFileSync(file("slow.s")).equals(expected)).toBe(true);
      rmSync(file("slow.s"));
    }
  });
});
