/** Connections to a farm's Redis, and what is asked of all of them. */
import { InputError } from "../../../lto/ir/errors.js";
import type { RedisAddress } from "./address.js";
import { millisecondsOf, type WorkerRow, workerLifetime, workerOf, workersKey } from "./names.js";
import type { IoRedis, Redis } from "./packages.js";

/** Milliseconds for a connection to be made, and between attempts to make it again. */
const connectTimeout = 10_000;
const slowestRetry = 1000;
/** Milliseconds that a command may take, where it does not wait for work. */
const commandTimeout = 20_000;

/** For commands that are answered at once: what cannot be sent, or is not answered, fails. */
const promptOptions = (address: RedisAddress) => ({
  ...address,
  connectTimeout,
  commandTimeout,
  maxRetriesPerRequest: 3,
  retryStrategy,
});
/** For the queue's, of which some wait for work, and all may wait for Redis to come back. */
export const patientOptions = (address: RedisAddress) => ({
  ...address,
  connectTimeout,
  maxRetriesPerRequest: null,
  retryStrategy,
});

function retryStrategy(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 10), slowestRetry);
}

/** @param name of the address, for messages @throws InputError when it cannot be reached, or lets nobody in */
export async function connect(
  { Redis: Client }: IoRedis,
  address: RedisAddress,
  name: string,
): Promise<Redis> {
  const redis = new Client({ ...promptOptions(address), lazyConnect: true });
  // Of what ends a connection whoever uses it hears.
  redis.on("error", () => {});
  // It would try again for long; and where a password is wrong, it waits for questions to be answered that never are.
  const refused = new Promise<never>((_, failed) => {
    redis.once("error", failed);
  });
  try {
    await Promise.race([redis.connect().then(() => redis.ping()), refused]);
  } catch (e) {
    redis.disconnect();
    throw new InputError(`cannot use the farm ${name}: ${(e as Error).message || String(e)}`);
  }
  return redis;
}

/**
 * Workers, of all builds, that were heard of lately, and Redis's time in milliseconds. One way: those who end without a word are
 * in the set for some minutes, so it is hardly larger than what is looked for.
 */
export async function liveWorkers(
  redis: Redis,
): Promise<{ readonly now: number; readonly workers: readonly WorkerRow[] }> {
  const questions = redis.pipeline().time().zrange(workersKey, 0, -1, "WITHSCORES");
  const answers = ((await questions.exec()) ?? []).map(([error, answer]) => {
    if (error !== null) throw error;
    return answer as string[];
  });
  const [time = [], rows = []] = answers;
  const now = millisecondsOf(time);
  const workers = rows.flatMap((row, i) =>
    i % 2 === 0 && Number(rows[i + 1]) >= now - workerLifetime ? [workerOf(row)] : [],
  );
  return { now, workers };
}

/** Waits for something for so long. @returns whether it came in time; false also when it failed */
export async function inTime(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((done) => {
    timer = setTimeout(() => done(false), milliseconds);
  });
  try {
    return await Promise.race([
      work.then(
        () => true,
        () => false,
      ),
      late,
    ]);
  } finally {
    clearTimeout(timer);
  }
}
