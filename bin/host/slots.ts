/**
 * What is done at the same time: as much as was asked for, and where Make's jobserver lends it, no more than that. One thing is
 * always done, for whoever was started may do that; others when there is a token. Tokens are held only while something is done.
 */
import { Jobserver } from "./jobserver.js";

/** Milliseconds after which tokens that others have given back are looked for. */
const look = 50;

export class Slots {
  private jobserver: Jobserver | null | undefined;

  /**
   * @param most at the same time
   * @param env says where a jobserver is
   */
  constructor(
    readonly most: number,
    private readonly env: Readonly<Record<string, string | undefined>>,
  ) {}

  /**
   * Does each of `count` things.
   * @returns what they gave @throws what the first that failed has thrown, when those that had begun are over
   */
  async run<T>(count: number, task: (index: number) => Promise<T>): Promise<T[]> {
    const results = new Array<T>(count);
    const failures = new Map<number, unknown>();
    let next = 0;
    let running = 0;
    let wake = (): void => {};
    const start = (): void => {
      const index = next++;
      running++;
      void (async () => task(index))()
        .then(
          (result) => void (results[index] = result),
          (e: unknown) => void failures.set(index, e),
        )
        .finally(() => {
          running--;
          this.giveBeyond(running);
          wake();
        });
    };
    while (running > 0 || (next < count && failures.size === 0)) {
      while (next < count && failures.size === 0 && this.hasRoom(running)) start();
      const isWaiting = next < count && running < this.most && failures.size === 0;
      await new Promise<void>((resolve) => {
        const timer = isWaiting ? setTimeout(resolve, look) : undefined;
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (failures.size > 0) throw failures.get(Math.min(...failures.keys()));
    return results;
  }

  close(): void {
    this.jobserver?.close();
    this.jobserver = undefined;
  }

  private hasRoom(running: number): boolean {
    if (running === 0) return true;
    if (running >= this.most) return false;
    if (this.jobserver === undefined) this.jobserver = Jobserver.open(this.env);
    return this.jobserver === null || this.jobserver.held >= running || this.jobserver.take();
  }

  private giveBeyond(running: number): void {
    while ((this.jobserver?.held ?? 0) > Math.max(0, running - 1)) this.jobserver!.give();
  }
}
