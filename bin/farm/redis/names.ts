/** Keys that farms have in Redis. Everything is below one prefix, so that an ACL can hold users to it. */

export const keyPrefix = "tsc-lto";

/**
 * Who may do a link's jobs: workers of its build that have their blobs where it has them. Others never see them.
 * @param inFiles blobs are in a directory, not in Redis
 */
export const kindOf = (build: string, inFiles: boolean): string => (inFiles ? `${build}-files` : build);

export const queueName = (kind: string): string => `units-${kind}`;

/** Workers that there are: a sorted set, `workerRow`s by the time (Redis's, in milliseconds) they were last heard of. */
export const workersKey = `${keyPrefix}:workers`;
/** Milliseconds after which a worker that was not heard of is no more. */
export const workerLifetime = 10_000;
/** And how often they say that they are there. */
export const workerPulse = 3000;

export interface WorkerRow {
  /** `kindOf` */
  readonly kind: string;
  /** Of the worker. */
  readonly id: string;
  /** Units that it does at a time. */
  readonly jobs: number;
}

export const workerRow = ({ kind, id, jobs }: WorkerRow): string => `${kind} ${jobs} ${id}`;

export function workerOf(row: string): WorkerRow {
  const [kind = "", jobs = "", ...id] = row.split(" ");
  return { kind, jobs: Math.min(Math.max(1, Number(jobs) || 1), 4096), id: id.join(" ") };
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
