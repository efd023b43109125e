/** A farm on a Redis of this test's own: the output is that of one thread, whatever becomes of workers, blobs and Redis. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { redisAddress } from "../../bin/farm/redis/address.js";
import { keyPrefix, priorityOf, workerOf, workerRow, workersKey } from "../../bin/farm/redis/names.js";
import { builtCommands } from "../support/built.js";
import { edit, linkWords, type Outcome, outcomeOf, unitProgram as unitProgramOf } from "./program.js";
import { hasRedis, RedisServer, WorkerProgram } from "./redis-server.js";

const command = builtCommands();
/** No larger than three phases of units need. */
const callers = 120;
const unitProgram = (change = ""): string => unitProgramOf(change, callers);
const all = 3 * callers + 4;
/** Where nobody compiles units. */
const tiny = unitProgramOf("", 6);
const phases = [2 * callers, callers, all];
const folder = mkdtempSync(join(tmpdir(), "farm-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface FarmOutcome extends Outcome {
  /** Functions that others had made before. */
  readonly known: number;
  readonly here: number;
}

/** @param env besides this process's */
async function link(
  source: string,
  options: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<FarmOutcome> {
  const [input, output] = [join(folder, "in.ll"), join(folder, "out.s")];
  writeFileSync(input, source);
  const args = [command("tsc-lto"), ...linkWords(input, output), ...options];
  const program = spawn(process.execPath, args, { cwd: folder, env: { ...process.env, ...env } });
  let said = "";
  program.stderr.on("data", (text) => {
    said += text;
  });
  const status = await new Promise<number | null>((done) => program.on("close", done));
  const known = Number(/(\d+) functions known to others/.exec(said)?.[1] ?? 0);
  const here = Number(/(\d+) functions here/.exec(said)?.[1] ?? 0);
  return { ...outcomeOf(status, said, output), known, here };
}

describe("addresses of farms", () => {
  const at = (url: string, env = {}) => redisAddress(url, env, folder);

  it("are those of Redis, without passwords", () => {
    expect(at("redis://farm")).toEqual({ host: "farm", port: 6379, db: 0 });
    expect(at("redis://builder@[::1]:7000/3")).toEqual({
      host: "::1",
      port: 7000,
      db: 3,
      username: "builder",
    });
    expect(at("unix:///run/redis.sock?db=2")).toEqual({ path: "/run/redis.sock", db: 2 });
    expect(() => at("redis://builder:secret@farm")).toThrow(
      /^the password of a Redis does not belong in its address/,
    );
    for (const wrong of ["farm:6379", "http://farm", "redis://", "redis://farm/x", "unix://", ""])
      expect(() => at(wrong), wrong).toThrow("is no address of a Redis");
  });

  it("get what is secret from the environment, or files that it names", () => {
    const secret = join(folder, "secret");
    writeFileSync(secret, "open sesame\n");
    expect(at("redis://farm", { TSC_LTO_REDIS_PASSWORD: "p", TSC_LTO_REDIS_USER: "u" })).toMatchObject({
      username: "u",
      password: "p",
    });
    const told = { TSC_LTO_REDIS_PASSWORD_FILE: "secret", TSC_LTO_REDIS_CACERT: secret };
    expect(at("redis://farm", told)).toMatchObject({ password: "open sesame" });
    expect(at("rediss://farm", told)).toMatchObject({ tls: { ca: "open sesame\n" } });
    expect(() => at("rediss://farm", { TSC_LTO_REDIS_KEY: "nowhere" })).toThrow(
      "cannot read nowhere of TSC_LTO_REDIS_KEY: No such file",
    );
  });
});

describe("what is kept in Redis", () => {
  it("says of workers what was said", () => {
    const row = { kind: "ab12", id: "a host-7", jobs: 3 };
    expect(workerOf(workerRow(row))).toEqual(row);
    expect(workerOf("garbage")).toMatchObject({ kind: "garbage", jobs: 1 });
  });

  it("has urgent jobs first, and then large ones", () => {
    const order = [
      priorityOf(0, 100),
      priorityOf(0, 1),
      priorityOf(5, 1e6),
      priorityOf(5, 20),
      priorityOf(9, 1),
    ];
    expect([...order].sort((a, b) => a - b)).toEqual(order);
    expect(order[0]).toBeGreaterThan(0);
    expect(order.at(-1)).toBeLessThan(2 ** 21);
  });
});

describe.skipIf(!hasRedis)("a farm on Redis", () => {
  const server = new RedisServer();
  const plain = { text: "", edited: "", tiny: "" };
  const workers: WorkerProgram[] = [];
  let redis: Redis;
  const farm = [`--farm=${server.address}`];

  const startWorker = async (before: readonly string[], ...options: string[]): Promise<WorkerProgram> => {
    const words = [
      process.execPath,
      command("tsc-lto"),
      "worker",
      "--redis",
      server.address,
      "-j1",
      ...options,
    ];
    const worker = await WorkerProgram.start([...before, ...words]);
    workers.push(worker);
    return worker;
  };
  /** Names of blobs in Redis that begin so. */
  const blobs = (kind: string): Promise<string[]> => redis.keys(`${keyPrefix}:blob:${kind}*`);
  const forget = async (): Promise<void> => {
    const names = await blobs("");
    if (names.length > 0) await redis.del(names);
  };

  beforeAll(async () => {
    await server.start();
    redis = new Redis(server.socket);
    redis.on("error", () => {});
    plain.text = (await link(unitProgram(), ["-j1"])).text;
    plain.edited = (await link(unitProgram(edit), ["-j1"])).text;
    plain.tiny = (await link(tiny, ["-j1"])).text;
    expect(plain.text).not.toBe("");
    expect(plain.tiny).not.toBe("");
  }, 240_000);
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.end("SIGKILL")));
    redis.disconnect();
    await server.close();
  });

  it("without workers of this build leaves the work to the link, and says so", async () => {
    const none = await link(unitProgram(), farm);
    expect(none).toMatchObject({ text: plain.text, came: [] });
    expect(none.said).toContain("does not compile for this link: it has no workers");
    // What the link has made itself is there for others, though.
    expect((await blobs("code-")).length).toBeGreaterThan(all);
    await forget();
    const [seconds] = await redis.time();
    await redis.zadd(workersKey, Number(seconds) * 1000, workerRow({ kind: "00", id: "other", jobs: 64 }));
    const others = await link(unitProgram(), farm);
    expect(others).toMatchObject({ text: plain.text, came: [] });
    expect(others.said).toContain("its 1 workers are of other builds of tsc-lto");
    await redis.del(workersKey);
  }, 240_000);

  it("compiles what is new, and nothing twice", async () => {
    await forget();
    await startWorker([]);
    await startWorker([]);
    const cold = await link(unitProgram(), farm);
    expect(cold).toMatchObject({ text: plain.text, came: phases, known: 0, here: 4 });
    // Units are for this link only.
    expect(await blobs("unit-")).toEqual([]);
    const warm = await link(unitProgram(), farm);
    expect(warm).toMatchObject({ text: plain.text, came: [], known: 2 * all, here: 0 });
    const edited = await link(unitProgram(edit), farm);
    expect(edited).toMatchObject({ text: plain.edited, came: [], here: 4 });
    // What another has edited is known from then on.
    expect(await link(unitProgram(edit), farm)).toMatchObject({ text: plain.edited, here: 0 });
    const cached = await link(unitProgram(), [...farm, "--cache-dir=cache"]);
    expect(cached).toMatchObject({ text: plain.text, known: 2 * all });
    const without = await link(unitProgram(), ["--cache-dir=cache", "--stats"]);
    expect(without.text).toBe(plain.text);
  }, 240_000);

  it("is not believed where its blobs are damaged, cut or another's", async () => {
    // What workers still have in hand, such as a job that another took over, they would write over the damage.
    const before = workers.splice(0);
    for (const worker of before) expect(await worker.end("SIGTERM")).toBe(0);
    const names = await blobs("code-");
    const contents = await redis.mgetBuffer(names);
    for (const [i, name] of names.entries()) {
      const bytes = Buffer.from(contents[i]!);
      if (i % 3 === 0) bytes[Math.floor(bytes.length / 2)]! ^= 4;
      await redis.set(
        name,
        i % 3 === 1 ? bytes.subarray(0, -3) : i % 3 === 2 ? contents[(i + 1) % names.length]! : bytes,
      );
    }
    for (const _ of before) await startWorker([]);
    const outcome = await link(unitProgram(), farm);
    expect(outcome).toMatchObject({ text: plain.text, came: phases });
    expect(outcome.said).toContain("a blob of the farm is refused: code of a function is damaged");
    expect(outcome.said).toContain("a blob of the farm is refused: code of another function");
  }, 240_000);

  it("goes on when workers are killed, and when Redis forgets all", async () => {
    await forget();
    const killed = link(unitProgram(), farm);
    while ((await blobs("unit-")).length === 0) await new Promise((done) => setTimeout(done, 5));
    await workers[0]!.end("SIGKILL");
    expect(await killed).toMatchObject({ text: plain.text, came: phases });
    await forget();
    const restarted = link(unitProgram(), farm);
    while ((await blobs("unit-")).length === 0) await new Promise((done) => setTimeout(done, 5));
    await server.kill();
    await server.start();
    expect(await restarted).toMatchObject({ text: plain.text, status: 0 });
  }, 240_000);

  it("has its blobs in a directory where that is wanted, which --cache-dir shares", async () => {
    const directory = join(folder, "shared");
    const shared = [...farm, `--farm-directory=${directory}`];
    const other = await startWorker([]);
    const refused = await link(unitProgram(), shared);
    expect(refused).toMatchObject({ text: plain.text, came: [] });
    expect(refused.said).toMatch(/its \d+ workers have their code in Redis \(--directory\)/);
    expect(await other.end("SIGTERM")).toBe(0);
    rmSync(directory, { recursive: true });
    const worker = await startWorker([], "--directory", directory);
    expect(await link(unitProgram(), shared)).toMatchObject({ text: plain.text, came: phases, here: 4 });
    const cached = await link(unitProgram(), [`--cache-dir=${directory}`, "-j1", "--stats"]);
    expect(cached.text).toBe(plain.text);
    expect(Number(/(\d+) {2}functions taken from the cache/.exec(cached.said)?.[1])).toBe(all);
    // And what a link without the farm makes the farm has.
    const edited = [`--cache-dir=${directory}`, "-j1"];
    expect((await link(unitProgram(edit), edited)).text).toBe(plain.edited);
    expect(await link(unitProgram(edit), shared)).toMatchObject({
      text: plain.edited,
      known: 2 * all,
      here: 0,
    });
    expect(await worker.end("SIGTERM")).toBe(0);
    const wrong = await link(unitProgram(), [...farm, "--farm-directory=/proc/nowhere"]);
    expect(wrong.said).toMatch(
      /error: cannot use the farm .*cannot write to the farm's directory \/proc\/nowhere/,
    );
  }, 240_000);

  it("ends its workers when they are asked to", async () => {
    await Promise.all(workers.map((worker) => worker.end("SIGTERM")));
    await redis.del(workersKey);
    const worker = await startWorker([]);
    expect(await worker.end("SIGTERM")).toBe(0);
    expect(await redis.zcard(workersKey)).toBe(0);
  }, 60_000);

  const canIsolate = spawnSync("unshare", ["-rmn", "sh", "-c", "mount -t tmpfs none /mnt"]).status === 0;
  it.skipIf(!canIsolate)(
    "has workers that see nothing of the link, and no network (needs unshare)",
    async () => {
      await forget();
      const worker = await startWorker([
        "unshare",
        "-rmn",
        "sh",
        "-c",
        `mount -t tmpfs none ${folder} && exec "$@"`,
        "sh",
      ]);
      expect(await link(unitProgram(), farm)).toMatchObject({ text: plain.text, came: phases });
      expect(await worker.end("SIGTERM")).toBe(0);
    },
    240_000,
  );

  it("ends in an error where it cannot be reached, lets nobody in, or lacks its packages", async () => {
    const missing = await link(tiny, ["--farm=unix:///nowhere/redis.sock"]);
    expect(missing).toMatchObject({ status: 1 });
    expect(missing.said).toMatch(/error: cannot use the farm unix:\/\/\/nowhere\/redis.sock: /);
    const locked = new RedisServer();
    try {
      await locked.start("--requirepass", "sesame");
      const words = [`--farm=${locked.address}`];
      expect((await link(tiny, words)).said).toMatch(/error: cannot use the farm .*NOAUTH/);
      const env = { TSC_LTO_REDIS_PASSWORD: "sesame" };
      expect(await link(tiny, words, env)).toMatchObject({ status: 0, text: plain.tiny });
      const wrong = await link(tiny, words, { TSC_LTO_REDIS_PASSWORD: "parsley" });
      expect(wrong.said).toMatch(/error: cannot use the farm .*WRONGPASS/);
      for (const { said } of [missing, wrong]) expect(said).not.toMatch(/parsley|^\s+at /m);
    } finally {
      await locked.close();
    }
    const hide = join(folder, "hide.cjs");
    writeFileSync(
      hide,
      `const Module = require("node:module");
const resolve = Module._resolveFilename;
Module._resolveFilename = (name, ...rest) => resolve(name === "ioredis" ? "/nowhere/ioredis" : name, ...rest);
`,
    );
    const absent = await link(tiny, farm, { NODE_OPTIONS: `--require=${hide}` });
    expect(absent.said).toContain(
      "error: a farm on Redis needs the package ioredis, which is not installed beside tsc-lto: npm install bullmq@6 ioredis@5",
    );
  }, 240_000);

  const openssl = spawnSync("openssl", ["version"]).status === 0;
  it.skipIf(!openssl)(
    "is reached by TLS with an authority of one's own",
    async () => {
      const [key, certificate] = [join(folder, "key.pem"), join(folder, "cert.pem")];
      const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
      const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
      spawnSync("openssl", [...request, "-keyout", key, "-out", certificate, ...subject]);
      const port = await freePort();
      const files = [
        "--tls-cert-file",
        certificate,
        "--tls-key-file",
        key,
        "--tls-ca-cert-file",
        certificate,
      ];
      const secure = new RedisServer();
      try {
        await secure.start("--tls-port", String(port), "--tls-auth-clients", "no", ...files);
        const words = [`--farm=rediss://localhost:${port}`];
        const trusted = await link(tiny, words, { TSC_LTO_REDIS_CACERT: certificate });
        expect(trusted).toMatchObject({ status: 0, text: plain.tiny });
        expect((await link(tiny, words)).said).toMatch(/error: cannot use the farm rediss:.*certificate/);
      } finally {
        await secure.close();
      }
    },
    120_000,
  );

  it("is not for links that want to see functions compiled, or have a distributor", async () => {
    const seen = await link(tiny, [...farm, "--check-regalloc"]);
    expect(seen.said).toContain("warning: --farm: other options ask to see functions compiled");
    const both = await link(tiny, [...farm, "--thinlto-distributor=/bin/true"]);
    expect(both.said).toContain(
      "error: --thinlto-distributor and --farm: only one of them can have the functions",
    );
  }, 120_000);
});

/** Nobody listens there; somebody else may take it meanwhile, on a machine that others use. */
function freePort(): Promise<number> {
  return new Promise((found) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => found(port));
    });
  });
}
