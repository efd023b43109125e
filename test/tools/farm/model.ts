/**
 * A link on many machines, on paper: what the linking process does itself goes one after the other; units of a phase go to the workers,
 * largest first; a phase begins when the one before is over.
 *
 * A unit takes its worker three ways to Redis and back: to fetch the unit, to leave the code, to say so and get the next job. For
 * a phase the link asks what is known and who is there, sends units, sends jobs, and fetches the last code: four. The first
 * job reaches a worker that waits in two steps, and the list of events is often being asked for just when the last one is
 * added: two more. The link connects, asks how Redis is, whether it may ask, and who is there, in the end leaves code and says
 * good-bye: six. What the link does per phase (cutting, encoding, checking) is in `central`, since it is measured there.
 */
export interface Unit {
  /** Seconds of a worker. */
  readonly seconds: number;
  readonly bytes: number;
}
export interface Farm {
  readonly workers: number;
  /** Seconds to Redis and back. */
  readonly latency: number;
  /** Bytes a second between Redis and the link; absent: no bound. */
  readonly bandwidth?: number;
  /** Seconds that the queue takes for a job, wherever it is done. */
  readonly perJob: number;
}

const waysOfUnit = 3;
const waysOfPhase = 6;
const waysOfLink = 6;

/** Seconds until the last of the units is done. */
export function phaseTime(units: readonly Unit[], { workers, latency, bandwidth, perJob }: Farm): number {
  const free = new Float64Array(Math.max(1, Math.min(workers, units.length)));
  for (const { seconds } of [...units].sort((a, b) => b.seconds - a.seconds)) {
    let first = 0;
    for (let i = 1; i < free.length; i++) if (free[i]! < free[first]!) first = i;
    free[first]! += seconds + waysOfUnit * latency;
  }
  const bytes = units.reduce((sum, unit) => sum + unit.bytes, 0);
  // One queue gives out all jobs, and one line has all bytes; both go on while workers work.
  const shared = Math.max(units.length * perJob, bandwidth === undefined ? 0 : bytes / bandwidth);
  return Math.max(Math.max(...free), shared) + waysOfPhase * latency;
}

/** @param empty phases without units, which ask what is known only */
export function linkTime(
  central: number,
  phases: readonly (readonly Unit[])[],
  empty: number,
  farm: Farm,
): number {
  const alone = central + (waysOfLink + empty) * farm.latency;
  return phases.reduce((sum, units) => sum + phaseTime(units, farm), alone);
}
