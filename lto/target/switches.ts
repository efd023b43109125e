/** When a switch becomes a table of addresses, and when tests. */
export interface SwitchCosts {
  /** Ranges of values with one target each, from which on they may share a table. */
  readonly leastRanges: number;
  /** Of a hundred entries of a table, how many tests it has to save at least. */
  readonly leastTests: number;
  /** Ranges up to which tests stand one after the other; of more, the middle one is tested first. */
  readonly longestChain: number;
}
