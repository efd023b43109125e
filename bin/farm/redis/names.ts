/** Keys that farms have in Redis. Everything is below one prefix, so that an ACL can hold users to it. */

export const keyPrefix = "tsc-lto";

/** Jobs for one build: others never see them. */
export const queueName = (build: string): string => `units-${build}`;

/** Workers that there are: a sorted set, `workerRow`s by the time (Redis's, in milliseconds) they were last heard of. */
export const workersKey = `${keyPrefix}:workers`;
/** Milliseconds after which a worker that was not heard of is no more. */
export const workerLifetime = 10_000;
/** And how often they say that they are there. */
export const workerPulse = 3000;

export interface WorkerRow {
  readonly build: string;
  /** Of the worker. */
  readonly id: string;
  /** Units that it does at a time. */
  readonly jobs: number;
}

export const workerRow = ({ build, id, jobs }: WorkerRow): string => `${build} ${jobs} ${id}`;

export function workerOf(row: string): WorkerRow {
  const [build = "", jobs = "", ...id] = row.split(" ");
  return { build, jobs: Math.min(Math.max(1, Number(jobs) || 1), 4096), id: id.join(" ") };
}

/** Milliseconds of a time that Redis tells: clocks of machines differ, its own is one. */
export const millisecondsOf = ([seconds, micros]: readonly (string | number)[]): number =>
  Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);

/** What jobs tell workers. */
export interface UnitJob {
  /** `unitDigest` */
  readonly unit: string;
  /** Whose it is: a link takes its units away when it ends. */
  readonly link: string;
  /** Blobs are in the directory that links and workers share, not in Redis. */
  readonly directory: boolean;
  /** IR instructions. */
  readonly size: number;
  readonly functions: number;
}
/** And workers answer: functions that were compiled. */
export interface UnitResult {
  readonly functions: number;
}

/** Of the most urgent and the least; BullMQ has priorities up to 2^21. */
export const priorityClasses = 10;
const sizesInClass = 200_000;

/** Within a class what takes longest comes first: it is waited for in the end. */
export const priorityOf = (urgency: number, size: number): number =>
  urgency * sizesInClass + Math.max(1, sizesInClass - size);
