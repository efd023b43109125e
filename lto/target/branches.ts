/** Branches before layout knows their length. */
export interface BranchCosts {
  /** Bytes of a short branch: what most become. */
  readonly short: number;
  /** Bytes that a short branch reaches over, whichever way it leads. */
  readonly reach: number;
  /** Bytes of an instruction that names a place in its own function. */
  readonly boundAddress: number;
}
