/**
 * Ranges of code in which variables have places, as rows of numbers: functions have thousands of them, which wait until all of
 * the program is written.
 */
import { type Composed, ofAll } from "./expressions.js";

/** What stands where in a row. */
export const enum RangeField {
  /** Instructions, by their positions in the code, at which the location is right: from this one. */
  From,
  To,
  /** 1: before `To` is a call that changes the place: while it runs, nothing is there. */
  EndsInCall,
  /** Number of the location in the function's table. */
  Location,
  /** A bit for each register that the location names. */
  Registers,
  Count,
}

/** What stands where in the row of a variable. */
export const enum VariableField {
  /** As in `DebugRecord`. */
  Variable,
  Origin,
  /** Number of the location that is right in the whole function; -1: there are ranges. */
  Location,
  /** Where its ranges begin and end, in numbers. */
  First,
  End,
  Count,
}

/** Where variables are. Plain data: small arrays of their own for each would be mostly heads. */
export interface LocatedVariables {
  /** Rows of variables. */
  readonly variables: Int32Array;
  /** Rows of ranges, those of each variable in order. */
  readonly ranges: Int32Array;
  /** What numbers of locations mean. */
  readonly locations: readonly Composed[];
}

/** Variables of a function in the making. */
export class VariableList {
  readonly locations = new LocationTable();
  private readonly variables: number[] = [];
  private readonly ranges: number[] = [];

  whole(variable: number, origin: number, location: number): void {
    this.variables.push(variable, origin, location, 0, 0);
  }
  /** @param rows of ranges */
  add(variable: number, origin: number, rows: readonly number[]): void {
    const first = this.ranges.length;
    for (let i = 0; i < rows.length; i++) this.ranges.push(rows[i]!);
    this.variables.push(variable, origin, -1, first, this.ranges.length);
  }
  get isEmpty(): boolean {
    return this.variables.length === 0;
  }
  located(): LocatedVariables {
    return {
      variables: Int32Array.from(this.variables),
      ranges: Int32Array.from(this.ranges),
      locations: this.locations.all,
    };
  }
}

/** The locations of a function's variables, each once. */
export class LocationTable {
  readonly all: Composed[] = [];
  private readonly numbers = new Map<string, number>();

  number(location: Composed): number {
    const { bytes, described } = location;
    const key = described === Number.POSITIVE_INFINITY ? bytes.join() : `${bytes.join()} ${described}`;
    let number = this.numbers.get(key);
    if (number === undefined) this.numbers.set(key, (number = this.all.push(location) - 1));
    return number;
  }

  /** Of what has no place. */
  get nothing(): number {
    return this.number(ofAll([]));
  }
}

/** A list of numbers that keeps its room when it is emptied. */
export class NumberList {
  readonly items: number[] = [];
  length = 0;

  push(item: number): void {
    this.items[this.length++] = item;
  }
  /** In whatever order what is left is then. */
  remove(item: number): void {
    const at = this.items.indexOf(item);
    if (at < 0 || at >= this.length) return;
    this.items[at] = this.items[--this.length]!;
  }
  includes(item: number): boolean {
    for (let i = 0; i < this.length; i++) if (this.items[i] === item) return true;
    return false;
  }
}
