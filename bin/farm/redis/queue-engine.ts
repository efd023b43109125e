/**
 * A link's side of a farm on Redis: units become jobs of a queue (BullMQ) that workers of the same build take, and code that
 * links and workers have made is found by its key.
 *
 * A queue only says that something is done; what counts is what is found under the keys then, checked like any answer. So jobs
 * done twice, late or never, events that are lost and a Redis that forgets cost time only: jobs that are not known any more are
 * sent again, and where nothing moves for long the link does the rest itself, with a warning. It is an error when the
 * farm cannot be reached to begin with.
 */
import { randomBytes } from "node:crypto";
import type { Queue, QueueEvents } from "bullmq";
import { encodeAnswer } from "../../../formats/unit/unit.js";
import { InputError } from "../../../lto/ir/errors.js";
import { buildId } from "../../lto/cache-files.js";
import { BlobFiles } from "../blob-files.js";
import {
  type Blob,
  type BlobStore,
  codeBlob,
  codeLifetime,
  codeName,
  codeOf,
  unitLifetime,
  unitName,
} from "../blobs.js";
import type { CodeStore, SentUnit, UnitEngine } from "../engine.js";
import type { RedisAddress } from "./address.js";
import { RedisBlobs } from "./blobs.js";
import { connect, inTime, liveWorkers, patientOptions } from "./connection.js";
import {
  keyPrefix,
  kindOf,
  priorityOf,
  queueName,
  type UnitJob,
  type UnitResult,
  type WorkerRow,
} from "./names.js";
import { farmPackages, type Redis } from "./packages.js";

export interface FarmOptions {
  readonly address: RedisAddress;
  /** As it was given, for messages. */
  readonly name: string;
  /** Where blobs are; null: in Redis. */
  readonly directory: string | null;
  /** 0 (first) to 9. */
  readonly urgency: number;
  readonly signal: AbortSignal | undefined;
  readonly tell: (text: string) => void;
  readonly warn: (message: string) => void;
  readonly reached: (done: number, total: number) => void;
}

/** Units are cut for so many at least. */
const leastParallel = 8;
/** Milliseconds without a sign from the queue after which it is asked. */
const silence = 2000;
/** Milliseconds that Redis may be away. */
const patience = 30_000;
/** Milliseconds in which some unit of this link has to be done. */
const longestWait = 300_000;
const mostAttempts = 3;
/** Times that a unit is sent. */
const mostSendings = 3;
/** Seconds that a queue knows what has become of a job. */
const jobMemory = 600;
/** Jobs that are asked after at a time. */
const askedAtOnce = 256;
/** Milliseconds for what is done in the end. */
const farewell = 5000;

/** Units on their way. */
interface Round {
  readonly units: readonly SentUnit[];
  /** Jobs that are waited for, and the unit of each. */
  readonly jobs: Map<string, number>;
  readonly sendings: number[];
  /** Jobs that are over, with what they have said. */
  readonly over: { id: string; done: boolean }[];
  wake: () => void;
  lastSign: number;
  lastDone: number;
}

export class QueueEngine implements UnitEngine {
  private readonly build = buildId().toString("hex");
  private readonly kind: string;
  private readonly link = randomBytes(8).toString("hex");
  private round: Round | null = null;
  private counter = 0;
  private kept: Blob[] = [];
  /** What is still said of rounds that are over; never rejects. */
  private readonly tidying: Promise<unknown>[] = [];
  /** The farm is not used any more. */
  private isLost = false;
  private hasWarned = false;
  /** Keys of what it has given: need not be sent back. */
  private readonly given = new Set<string>();

  private constructor(
    private readonly options: FarmOptions,
    private readonly redis: Redis,
    private readonly blobs: BlobStore,
    private readonly queue: Queue<UnitJob, UnitResult>,
    private readonly events: QueueEvents,
    readonly parallel: number,
  ) {
    this.kind = kindOf(this.build, options.directory !== null);
    // What is wrong with connections shows where they are used.
    queue.on("error", () => {});
    events.on("error", () => {});
    events.on("completed", ({ jobId }) => this.ended(jobId, true));
    events.on("failed", ({ jobId, failedReason }) => {
      if (this.round?.jobs.has(jobId) === true) options.tell(`a job of the farm failed: ${failedReason}`);
      this.ended(jobId, false);
    });
  }

  /** @throws InputError when it cannot be used */
  static async open(options: FarmOptions): Promise<QueueEngine> {
    const { bull, io } = await farmPackages();
    const { address, name } = options;
    const redis = await connect(io, address, name);
    try {
      const kind = kindOf(buildId().toString("hex"), options.directory !== null);
      // Before there is a queue, whose connections would have to be ended.
      const blobs = options.directory === null ? new RedisBlobs(redis) : BlobFiles.make(options.directory);
      const { now: start, workers: all } = await liveWorkers(redis);
      const workers = all.filter((worker) => worker.kind === kind);
      const parallel = workers.reduce((sum, { jobs }) => sum + jobs, 0);
      const shared = { connection: patientOptions(address), prefix: keyPrefix };
      const queue = new bull.Queue<UnitJob, UnitResult>(queueName(kind), shared);
      // What happens from now on, whenever it begins to listen.
      const events = new bull.QueueEvents(queueName(kind), { ...shared, lastEventId: `${start}-0` });
      options.tell(`farm ${name}: ${workers.length} workers of this build, ${parallel} units at a time`);
      return new QueueEngine(options, redis, blobs, queue, events, Math.max(leastParallel, parallel));
    } catch (e) {
      redis.disconnect();
      throw new InputError(`cannot use the farm ${name}: ${(e as Error).message}`);
    }
  }

  readonly store: CodeStore = {
    find: (keys) => this.find(keys),
    keep: (key, entry) => {
      if (!this.given.has(key)) this.kept.push(codeBlob(key, entry));
    },
  };

  async run(units: readonly SentUnit[], take: (index: number, answer: Uint8Array) => boolean): Promise<void> {
    const { signal } = this.options;
    if (this.isLost) return;
    const round: Round = {
      units,
      jobs: new Map(),
      sendings: units.map(() => 0),
      over: [],
      wake: () => {},
      lastSign: Date.now(),
      lastDone: Date.now(),
    };
    const wake = (): void => round.wake();
    signal?.addEventListener("abort", wake);
    try {
      this.round = round;
      if (await inTime(this.send(round, [...units.keys()]), patience)) await this.wait(round, take);
      else this.leave("it takes no jobs");
    } catch (e) {
      this.leave((e as Error).message);
    } finally {
      signal?.removeEventListener("abort", wake);
      this.round = null;
      // Nobody waits for that but `close`.
      this.tidying.push(this.cancel(round));
    }
    signal?.throwIfAborted();
  }

  async isThere(): Promise<() => boolean> {
    if (this.isLost) return () => false;
    try {
      const { workers } = await liveWorkers(this.redis);
      return () => this.hasMine(workers);
    } catch (e) {
      return () => {
        this.leave((e as Error).message);
        return false;
      };
    }
  }

  /** Whether some of the workers do units of this link; warns if not. */
  private hasMine(workers: readonly WorkerRow[]): boolean {
    if (workers.some(({ kind }) => kind === this.kind)) return true;
    const others = `its ${workers.length} workers`;
    if (workers.length === 0) this.warnOnce("it has no workers");
    else if (!workers.some(({ kind }) => kind.startsWith(this.build)))
      this.warnOnce(`${others} are of other builds of tsc-lto, or run by another Node`);
    else
      this.warnOnce(
        this.options.directory === null
          ? `${others} have their code in files (--farm-directory)`
          : `${others} have their code in Redis (--directory)`,
      );
    return false;
  }

  private async send(round: Round, indices: readonly number[]): Promise<void> {
    const { units, jobs, sendings } = round;
    // Code for others goes along.
    await Promise.all([
      this.sendKept(),
      this.blobs.put(
        indices.map((i): Blob => [unitName(units[i]!.digest, this.link), units[i]!.bytes]),
        unitLifetime,
      ),
    ]);
    const sent = indices.map((i) => {
      const jobId = `${this.link}-${this.counter++}`;
      jobs.set(jobId, i);
      sendings[i]!++;
      const { digest, size, keys } = units[i]!;
      return {
        name: "unit",
        data: { unit: digest, link: this.link, size, functions: keys.size },
        opts: {
          jobId,
          priority: priorityOf(this.options.urgency, size),
          attempts: mostAttempts,
          backoff: { type: "fixed", delay: 100 },
          removeOnComplete: { age: jobMemory },
          removeOnFail: { age: jobMemory },
        },
      };
    });
    await this.queue.addBulk(sent);
  }

  private ended(id: string, done: boolean): void {
    const { round } = this;
    if (round === null) return;
    // Another link's: there is life in the farm.
    round.lastSign = Date.now();
    if (!round.jobs.has(id)) return;
    round.over.push({ id, done });
    round.wake();
  }

  private async wait(round: Round, take: (index: number, answer: Uint8Array) => boolean): Promise<void> {
    let away = 0;
    while (round.jobs.size > 0) {
      if (round.over.length === 0) await pause(round, silence / 2);
      if (this.options.signal?.aborted === true) return;
      try {
        await this.takeOver(round, take);
        if (Date.now() - round.lastSign >= silence) await this.ask(round);
        away = 0;
      } catch (e) {
        away ||= Date.now();
        if (Date.now() - away > patience) throw e;
        await pause(round, silence / 2);
      }
      if (this.isLost) return;
      if (Date.now() - round.lastDone > longestWait)
        return this.leave(`nothing was done for ${longestWait / 1000} s`);
    }
  }

  /** Takes what jobs that are over have made. */
  private async takeOver(round: Round, take: (index: number, answer: Uint8Array) => boolean): Promise<void> {
    const { units, jobs, over } = round;
    const indices = over.flatMap(({ id, done }) => (done && jobs.has(id) ? [jobs.get(id)!] : []));
    const keys = indices.flatMap((i) => [...units[i]!.keys]);
    const found = keys.length === 0 ? new Map<string, Uint8Array>() : await this.find(keys);
    for (const i of new Set(indices)) {
      const unit = units[i]!;
      const entries = [...unit.keys].flatMap((key) => {
        const entry = found.get(key);
        return entry === undefined ? [] : [[key, entry] as const];
      });
      take(i, encodeAnswer({ build: this.build, unit: unit.digest, entries }));
      round.lastDone = Date.now();
    }
    for (const { id } of over.splice(0)) {
      const index = jobs.get(id);
      // A unit that was sent again is done by whichever comes first.
      for (const [other, i] of jobs) if (i === index) jobs.delete(other);
    }
    this.options.reached(units.length - jobs.size, units.length);
  }

  /** Nothing was heard for a while: what has become of the jobs? */
  private async ask(round: Round): Promise<void> {
    if (!this.hasMine((await liveWorkers(this.redis)).workers))
      return this.leave("it has no workers any more");
    const lost: number[] = [];
    for (const [id, index] of [...round.jobs].slice(0, askedAtOnce)) {
      const state = await this.queue.getJobState(id);
      if (state === "completed" || state === "failed") round.over.push({ id, done: state === "completed" });
      else if (state === "unknown") {
        round.jobs.delete(id);
        if (round.sendings[index]! < mostSendings) lost.push(index);
      }
    }
    round.lastSign = Date.now();
    if (lost.length === 0) return;
    this.options.tell(`${lost.length} jobs of the farm are lost: sent again`);
    await this.send(round, lost);
  }

  /** Of the code that is there, what is whole. */
  private async find(keys: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    if (this.isLost) return found;
    let blobs: readonly (Uint8Array | null)[];
    try {
      blobs = await this.blobs.get(keys.map(codeName));
    } catch (e) {
      if (this.round !== null) throw e;
      this.leave((e as Error).message);
      return found;
    }
    for (const [i, key] of keys.entries()) {
      const blob = blobs[i];
      if (blob === null || blob === undefined) continue;
      try {
        found.set(key, codeOf(key, blob));
        this.given.add(key);
      } catch (e) {
        if (!(e instanceof InputError)) throw e;
        this.options.tell(`a blob of the farm is refused: ${e.message}`);
      }
    }
    return found;
  }

  private async sendKept(): Promise<void> {
    const { kept } = this;
    this.kept = [];
    if (kept.length > 0 && !this.isLost) await this.blobs.put(kept, codeLifetime);
  }

  /** Jobs that nobody waits for any more are not begun. */
  private async cancel({ units, jobs }: Round): Promise<void> {
    const names = units.map(({ digest }) => unitName(digest, this.link));
    const tidy = async (): Promise<void> => {
      for (const id of jobs.keys()) await this.queue.remove(id);
      await this.blobs.remove(names);
    };
    if (!this.isLost) await inTime(tidy(), farewell);
  }

  /** The link does what is left, and all that follows, itself. */
  private leave(why: string): void {
    if (this.options.signal?.aborted !== true) this.warnOnce(why);
    this.isLost = true;
  }

  private warnOnce(why: string): void {
    if (!this.hasWarned)
      this.options.warn(`the farm ${this.options.name} does not compile for this link: ${why}`);
    this.hasWarned = true;
  }

  async close(): Promise<void> {
    await Promise.all([...this.tidying, this.isLost ? null : inTime(this.sendKept(), farewell)]);
    await inTime(Promise.all([this.events.close(), this.queue.close()]), farewell);
    await Promise.allSettled([this.events.disconnect(), this.queue.disconnect()]);
    this.redis.disconnect();
  }
}

/** Until a job is over, the link is to end, or so many milliseconds have passed. */
function pause(round: Round, milliseconds: number): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    round.wake = () => {
      clearTimeout(timer);
      done();
    };
  });
}
