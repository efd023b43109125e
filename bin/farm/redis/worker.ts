/**
 * A worker of a farm: takes units of this very build from a queue in Redis (BullMQ), has threads compile them, and puts the code
 * where every link of this build finds it. It keeps nothing: killed at whatever moment, another takes over what it had.
 *
 * The main thread only waits, so that it says in time that its jobs are alive. Code is stored before a job counts as done; both
 * may happen twice, with the same bytes.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Job, Worker } from "bullmq";
import { Piscina } from "piscina";
import { decodeAnswer, unitDigest } from "../../../formats/unit/unit.js";
import { reasonOf } from "../../host/system-errors.js";
import { buildId } from "../../lto/cache-files.js";
import { threadFile } from "../../lto/thread-file.js";
import type { WorkerAnswer, WorkerTask } from "../../lto/worker-protocol.js";
import { BlobFiles } from "../blob-files.js";
import { type BlobStore, codeBlob, codeLifetime, unitName } from "../blobs.js";
import type { RedisAddress } from "./address.js";
import { RedisBlobs } from "./blobs.js";
import { connect, inTime, patientOptions } from "./connection.js";
import {
  keyPrefix,
  kindOf,
  millisecondsOf,
  queueName,
  type UnitJob,
  type UnitResult,
  workerLifetime,
  workerPulse,
  workerRow,
  workersKey,
} from "./names.js";
import { type BullMq, farmPackages, type Redis } from "./packages.js";

export interface FarmWorkerOptions {
  readonly address: RedisAddress;
  /** For messages. */
  readonly name: string;
  /** Where its links have their blobs; null: in Redis. */
  readonly directory: string | null;
  /** Units at a time. */
  readonly jobs: number;
  /** Seconds without a job after which it ends; 0: never. */
  readonly idleTimeout: number;
  /** What is said of each job. */
  readonly tell: (text: string) => void;
  readonly complain: (message: string) => void;
}

/** Milliseconds without a word from a worker after which others take its jobs, and how often they look. */
const lockDuration = 5000;
const stalledInterval = 2000;
/** Times that a job may be taken over before it is given up: what it asks ends its workers. */
const mostTakeovers = 3;
/** Milliseconds that a job may take: hundreds of times what the largest units need. */
const jobTimeout = 300_000;
/** Milliseconds between looks for files that nobody asks for any more. */
const sweepInterval = 3_600_000;
/** Milliseconds until Redis is no longer waited for at the end. */
const farewell = 2000;

/** Works until a signal ends it, or there is nothing to do for long. @throws InputError when the farm cannot be used */
export async function workForFarm(options: FarmWorkerOptions): Promise<void> {
  const { bull, io } = await farmPackages();
  const files = options.directory === null ? null : BlobFiles.make(options.directory);
  const redis = await connect(io, options.address, options.name);
  const worker = new FarmWorker(options, bull, redis, files);
  try {
    await worker.run();
  } finally {
    await worker.close();
  }
}

class FarmWorker {
  private readonly build = buildId().toString("hex");
  private readonly id = `${hostname()}-${process.pid}-${randomBytes(4).toString("hex")}`;
  private readonly kind: string;
  private readonly blobs: BlobStore;
  private readonly pool: Piscina<WorkerTask, WorkerAnswer>;
  private readonly worker: Worker<UnitJob, UnitResult>;
  private lastWork = Date.now();
  private active = 0;
  private complaint = "";
  private end: () => void = () => {};

  constructor(
    private readonly options: FarmWorkerOptions,
    private readonly bull: BullMq,
    private readonly redis: Redis,
    private readonly files: BlobFiles | null,
  ) {
    const { address, jobs } = options;
    this.kind = kindOf(this.build, files !== null);
    this.blobs = files ?? new RedisBlobs(redis);
    this.pool = new Piscina({ filename: threadFile(), minThreads: 1, maxThreads: jobs, workerData: null });
    this.worker = new bull.Worker<UnitJob, UnitResult>(queueName(this.kind), (job) => this.work(job), {
      connection: patientOptions(address),
      prefix: keyPrefix,
      name: this.id,
      autorun: false,
      concurrency: jobs,
      lockDuration,
      stalledInterval,
      maxStalledCount: mostTakeovers,
    });
    // Redis may go and come back: said once each.
    this.worker.on("error", ({ message }) => this.complain(message));
  }

  async run(): Promise<void> {
    const { tell, name, jobs } = this.options;
    await this.pulse();
    const ended = new Promise<void>((end) => {
      this.end = end;
    });
    const stop = (): void => this.end();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, stop);
    // From now on signals end it well.
    tell(`worker ${this.id} of build ${this.build}: ${jobs} units at a time, from ${name}`);
    const sweep = setInterval(() => this.sweep(), sweepInterval);
    const pulse = setInterval(() => void this.pulse(), workerPulse);
    try {
      await Promise.race([ended, this.worker.run()]);
    } finally {
      clearInterval(pulse);
      clearInterval(sweep);
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, stop);
    }
  }

  private sweep(): void {
    try {
      this.files?.sweep();
    } catch (e) {
      this.options.complain(`cannot tidy up the directory: ${reasonOf(e)}`);
    }
  }

  /** Says that this worker is there. */
  private async pulse(): Promise<void> {
    const { idleTimeout, jobs } = this.options;
    try {
      const now = millisecondsOf(await this.redis.time());
      const row = workerRow({ kind: this.kind, id: this.id, jobs });
      const rows = this.redis.pipeline().zadd(workersKey, now, row);
      await rows.zremrangebyscore(workersKey, "-inf", now - 10 * workerLifetime).exec();
      if (this.complaint !== "") this.options.tell("the farm is there again");
      this.complaint = "";
    } catch (e) {
      this.complain((e as Error).message);
    }
    if (idleTimeout > 0 && this.active === 0 && Date.now() - this.lastWork > 1000 * idleTimeout) this.end();
  }

  private complain(message: string): void {
    if (this.complaint === "") this.options.complain(`the farm ${this.options.name} fails: ${message}`);
    this.complaint = message;
  }

  private async work(job: Job<UnitJob, UnitResult>): Promise<UnitResult> {
    this.active++;
    try {
      const done = await this.compile(job.data);
      this.options.tell(
        `unit ${job.data.unit.slice(0, 12)} of ${job.data.size} instructions: ${done.functions} functions`,
      );
      return done;
    } catch (e) {
      this.options.complain(`job ${job.id}: ${(e as Error).message}`);
      throw e;
    } finally {
      this.active--;
      this.lastWork = Date.now();
    }
  }

  private async compile({ unit, link }: UnitJob): Promise<UnitResult> {
    const { UnrecoverableError } = this.bull;
    const [bytes] = await this.blobs.get([unitName(unit, link)]);
    // Sent again, it is another job.
    if (bytes === null || bytes === undefined) throw new UnrecoverableError("its unit is gone");
    if (unitDigest(bytes) !== unit) throw new UnrecoverableError("its unit is damaged");
    const answer = await this.pool.run({ kind: "unit", bytes }, { signal: AbortSignal.timeout(jobTimeout) });
    if (!(answer instanceof Uint8Array)) throw new UnrecoverableError("its unit cannot be compiled");
    const { entries } = decodeAnswer(answer);
    await this.blobs.put(
      entries.map(([key, entry]) => codeBlob(key, entry)),
      codeLifetime,
    );
    return { functions: entries.length };
  }

  /** What is being done is done, unless Redis or a signal is in the way. */
  async close(): Promise<void> {
    const { redis, worker } = this;
    let hurry: () => void = () => {};
    const interrupted = new Promise<void>((done) => {
      hurry = done;
    });
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, hurry);
    try {
      await inTime(
        redis.zrem(workersKey, workerRow({ kind: this.kind, id: this.id, jobs: this.options.jobs })),
        farewell,
      );
      await inTime(Promise.race([worker.close(), interrupted]), jobTimeout);
      await inTime(worker.close(true), farewell);
    } finally {
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, hurry);
      await worker.disconnect();
      redis.disconnect();
      await this.pool.destroy();
    }
  }
}
