/** What does units of work: threads, a distributor, workers on other machines. */

/** A unit on its way. */
export interface SentUnit {
  readonly bytes: Uint8Array;
  /** `unitDigest` of the bytes. */
  readonly digest: string;
  /** IR instructions. */
  readonly size: number;
}

export interface UnitEngine {
  /** Units that it does at the same time, as far as it knows. */
  readonly parallel: number;
  /**
   * Does units. Those that it cannot do, whatever the reason, it leaves: the link does them itself.
   * @param take checks an answer, and uses it; false: it is none, so another try may be worth while. Called at most once
   *   more for a unit after it has returned true
   * @throws the reason of the signal, and InputError when the engine cannot be used at all
   */
  run(units: readonly SentUnit[], take: (index: number, answer: Uint8Array) => boolean): Promise<void>;
  close(): Promise<void>;
}

/** How an engine talks to who runs the link. */
export interface EngineServices {
  readonly signal: AbortSignal | undefined;
  /** For who wants to know what the link does. */
  tell(text: string): void;
  warn(message: string): void;
}
