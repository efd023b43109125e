/**
 * The value table: what a value id means. Ids count the module's globals and constants first; while a
 * function is decoded, its arguments, constants and instructions follow them.
 */
import { InputError } from "../../../lto/ir/errors.js";
import { type Constant, isConstant, type Value } from "../../../lto/ir/values.js";

/** A constant whose operands are not all known yet. */
export class PendingConstant {
  readonly valueKind = "pending";
  busy = false;
  constructor(readonly make: (constants: ConstantLookup) => Constant) {}
}

/** Gives a pending constant its operands. */
export interface ConstantLookup {
  constant(id: number): Constant;
}

export type Slot = Value | PendingConstant;

export class ValueTable {
  private readonly shared: Slot[] = [];
  private local: Slot[] = [];
  private inFunction = false;

  /** Number of values so far, and the id of the next one. */
  get size(): number {
    return this.shared.length + this.local.length;
  }

  push(slot: Slot): void {
    if (this.inFunction) this.local.push(slot);
    else this.shared.push(slot);
  }

  get(id: number): Slot | undefined {
    const shared = this.shared;
    const count = shared.length;
    return id < count ? shared[id] : this.local[id - count];
  }

  set(id: number, value: Value): void {
    const count = this.shared.length;
    if (id < count) this.shared[id] = value;
    else this.local[id - count] = value;
  }

  /** Runs `decode` with local ids, which are forgotten afterwards. */
  withLocals<T>(decode: () => T): T {
    if (this.inFunction) throw new Error("a function is decoded inside another");
    this.inFunction = true;
    try {
      return decode();
    } finally {
      this.inFunction = false;
      this.local = [];
    }
  }

  /** A module-level constant that is known already. */
  moduleConstant(id: number): Constant {
    const value = this.shared[id];
    if (value === undefined || value.valueKind === "pending" || !isConstant(value))
      throw new InputError(`malformed bitcode: value ${id} is not a constant`);
    return value;
  }
}
