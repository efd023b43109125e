/** Bytes of addresses, and where addresses may be. */

/**
 * Where what the program defines may be, as far as code counts on it (the platform's code models): `low`, where the word of
 * a plain constant holds its address, as linked; `near`, wherever it is loaded, but all of it within reach of an
 * instruction; or anywhere.
 */
export type Addresses = "low" | "near" | "anywhere";

/** What an instruction takes for the place that it goes to in memory: a distance in bytes from what a register holds. */
export interface AddressCosts {
  /** Distances from `nearFrom`, which is not positive, to `nearTo`, which is not negative, are near. */
  readonly nearFrom: number;
  readonly nearTo: number;
  /** Bytes that an access takes for a distance of 0, for a near one, and for all others. */
  readonly zero: number;
  readonly near: number;
  readonly far: number;
  /** Bytes of an address as a value: a copy of the register, or the sum without what the distance takes. */
  readonly copy: number;
  readonly sum: number;
  /** Bytes of setting a register to a place near another one, and the same at a function's start for a parameter, which is often copied anyhow. */
  readonly set: number;
  readonly setParameter: number;
  /** Distances that are less than this in size leave symbols and frames in reach, and those that are in reach at all. */
  readonly farthestBias: number;
  readonly farthest: number;
  /** Bytes of a step by elements of so many bytes, besides the access. */
  step(stride: number): number;
}

/** Bytes of constants and of data beside the code. */
export interface ConstantCosts {
  /** Values from `smallFrom` to `smallTo` take fewer bytes in an instruction than others. */
  readonly smallFrom: number;
  readonly smallTo: number;
  /** Bytes of an instruction's own for a small constant, and for others and addresses. */
  readonly small: number;
  readonly large: number;
  /** Bytes by which the store of a constant of `bits` is shorter once it has 8. */
  narrowerStore(bits: number): number;
  /** Bytes of a relocation that is made at load time. */
  readonly relocation: number;
  /**
   * Bytes by which a load becomes longer that reads fewer bytes and makes the value of them: the low half of an address,
   * a distance to what it lies in, one where 0 stands for null, or an integer of `to` bits where it had `from`.
   * @param isOperand the load was an operand of the instruction that uses it
   */
  narrowedLoad(
    how: "low" | "distance" | "distance or null" | "integer",
    from: number,
    to: number,
    isOperand: boolean,
  ): number;
}

/** A distance that takes more bytes than a near one. */
export const isFar = ({ nearFrom, nearTo }: AddressCosts, distance: number): boolean =>
  distance < nearFrom || distance > nearTo;
/** How many distances are near. */
export const nearRange = ({ nearFrom, nearTo }: AddressCosts): number => nearTo - nearFrom + 1;
/** In the encoding of an access. */
export const distanceBytes = (costs: AddressCosts, distance: number): number =>
  distance === 0 ? costs.zero : isFar(costs, distance) ? costs.far : costs.near;
/** Of an address as a value. */
export const addressBytes = (costs: AddressCosts, distance: number): number =>
  distance === 0 ? costs.copy : costs.sum + distanceBytes(costs, distance);
/** What a far access, or setting a far place, takes more than a near one. */
export const farBytes = ({ near, far }: AddressCosts): number => far - near;
