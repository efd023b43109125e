/** What does units of work: threads, a distributor, workers on other machines. */

/** A unit on its way. */
export interface SentUnit {
  readonly bytes: Uint8Array;
  /** `unitDigest` of the bytes. */
  readonly digest: string;
  /** IR instructions. */
  readonly size: number;
  /** Of the entries that are asked for. */
  readonly keys: ReadonlySet<string>;
}

/** Code that others have made, by the key of its entry. */
export interface CodeStore {
  /** @returns the bytes of entries that are there */
  find(keys: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>;
  /** For others; at some time before the engine is closed. */
  keep(key: string, entry: Uint8Array): void;
}

export interface UnitEngine {
  /** Units that it does at the same time, as far as it knows. */
  readonly parallel: number;
  readonly store?: CodeStore;
  /**
   * Asks whether there is anybody for units now; absent: there always is.
   * @returns what tells it, to whoever has units then: it may warn that there is nobody
   */
  isThere?(): Promise<() => boolean>;
  /**
   * Does units. Those that it cannot do, whatever the reason, it leaves: the link does them itself.
   * @param take checks an answer, and uses it; false: it is none. It may be called again for a unit, whatever it has returned
   * @throws the reason of the signal, and InputError when the engine cannot be used at all
   */
  run(units: readonly SentUnit[], take: (index: number, answer: Uint8Array) => boolean): Promise<void>;
  close(): Promise<void>;
}
