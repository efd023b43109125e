/**
 * Workers for measuring what is around the work: they have seen a link once, and how long each of its units took; from then on they
 * sleep so long and give what came of it. So a machine of two cores has as many of them as one likes.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "bullmq";
import { Redis } from "ioredis";
import { projectRoot } from "../root.js";

/** What is used of the built program; tools are built apart from it. */
interface Built {
  readonly compileUnit: (bytes: Uint8Array) => Uint8Array;
  readonly decodeAnswer: (bytes: Uint8Array) => { entries: (readonly [string, Uint8Array])[] };
  readonly codeBlob: (key: string, entry: Uint8Array) => readonly [string, Uint8Array];
  readonly buildId: () => Buffer;
}

async function built(): Promise<Built> {
  const from = (file: string): Promise<unknown> =>
    import(pathToFileURL(join(projectRoot(), "dist", file)).href);
  const parts = [
    "bin/farm/compile-unit.js",
    "formats/unit/unit.js",
    "bin/farm/blobs.js",
    "bin/lto/cache-files.js",
  ];
  return Object.assign({}, ...(await Promise.all(parts.map(from)))) as Built;
}

/** Milliseconds; they compile where they say that they are there, and are late then. */
const hour = 3_600_000;

/** Links have to run from the same files. */
export const sameFiles = { TSC_LTO_BUNDLE: "no" } as const;

export interface SeenUnit {
  /** In the order in which jobs were made, which is that of phases. */
  readonly job: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly instructions: number;
  readonly blobs: readonly (readonly [string, Uint8Array])[];
}

export class Sleepers {
  readonly seen = new Map<string, SeenUnit>();
  /** Units that nobody had seen: they were compiled. */
  unseen = 0;
  private readonly workers: Worker[] = [];
  private readonly redis: Redis;
  private pulse: NodeJS.Timeout | undefined;

  private constructor(
    private readonly path: string,
    private readonly program: Built,
  ) {
    this.redis = new Redis(path);
  }

  static async make(address: string): Promise<Sleepers> {
    return new Sleepers(address.replace("unix://", ""), await built());
  }

  /** @param pace how long they sleep against what was measured */
  async start(count: number, pace: number): Promise<void> {
    const build = this.program.buildId().toString("hex");
    const beat = async (): Promise<void> => {
      const [seconds] = await this.redis.time();
      await this.redis.zadd("tsc-lto:workers", Number(seconds) * 1000 + hour, `${build} ${count} sleepers`);
    };
    await beat();
    this.pulse = setInterval(() => void beat(), 3000);
    for (let i = 0; i < count; i++) {
      const worker = new Worker(`units-${build}`, (job) => this.work(job.id!, job.data, pace), {
        connection: { path: this.path },
        prefix: "tsc-lto",
      });
      worker.on("error", () => {});
      this.workers.push(worker);
    }
    await Promise.all(this.workers.map((worker) => worker.waitUntilReady()));
  }

  async stop(): Promise<void> {
    clearInterval(this.pulse);
    await this.redis.del("tsc-lto:workers");
    await Promise.all(this.workers.splice(0).map((worker) => worker.close(true)));
  }
  async close(): Promise<void> {
    await this.stop();
    this.redis.disconnect();
  }

  private async work(
    id: string,
    { unit, link, size }: { unit: string; link: string; size: number },
    pace: number,
  ): Promise<{ functions: number }> {
    const bytes = await this.redis.getBuffer(`tsc-lto:blob:unit-${unit}-${link}`);
    if (bytes === null) throw new Error("the unit is gone");
    let known = this.seen.get(unit);
    if (known === undefined) {
      this.unseen++;
      const start = process.cpuUsage();
      const answer = this.program.compileUnit(bytes);
      const { user, system } = process.cpuUsage(start);
      const { entries } = this.program.decodeAnswer(answer);
      known = {
        job: Number(id.split("-")[1]),
        seconds: (user + system) / 1e6,
        bytes: bytes.length + answer.length,
        instructions: size,
        blobs: entries.map(([key, entry]) => this.program.codeBlob(key, entry)),
      };
      this.seen.set(unit, known);
    } else await new Promise((done) => setTimeout(done, known!.seconds * pace * 1000));
    const commands = this.redis.pipeline();
    for (const [name, blob] of known.blobs)
      commands.set(`tsc-lto:blob:${name}`, Buffer.from(blob), "EX", 3600);
    await commands.exec();
    return { functions: known.blobs.length };
  }
}
