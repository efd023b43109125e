/** Units of work done by threads of this process: for links that keep their functions in a cache. */
import { Piscina } from "piscina";
import type { Slots } from "../host/slots.js";
import { threadFile } from "../lto/thread-file.js";
import type { WorkerAnswer, WorkerTask } from "../lto/worker-protocol.js";
import type { SentUnit, UnitEngine } from "./engine.js";

export class ThreadEngine implements UnitEngine {
  private readonly pool: Piscina<WorkerTask, WorkerAnswer>;

  constructor(
    private readonly slots: Slots,
    private readonly signal: AbortSignal | undefined,
  ) {
    const filename = threadFile();
    this.pool = new Piscina({ filename, minThreads: 1, maxThreads: slots.most, workerData: null });
    signal?.addEventListener("abort", this.stop);
  }

  get parallel(): number {
    return this.slots.most;
  }

  private readonly stop = (): void => void this.pool.destroy();

  async run(units: readonly SentUnit[], take: (index: number, answer: Uint8Array) => boolean): Promise<void> {
    const { pool, signal, slots } = this;
    await slots.run(units.length, async (index) => {
      const answer = await pool.run({ kind: "unit", bytes: units[index]!.bytes });
      if (answer instanceof Uint8Array) take(index, answer);
    });
    signal?.throwIfAborted();
  }

  async close(): Promise<void> {
    this.signal?.removeEventListener("abort", this.stop);
    await this.pool.destroy();
  }
}
