/**
 * Numbers of origins of code (`Origins`), by what they mean. Programs have hundreds of thousands of them: each place of a
 * function at each call that it was inlined at. So they are rows of numbers, found by hashing; as objects in maps they took four times
 * as much.
 */
import type { DILocation } from "./debug/nodes.js";
import type { GlobalValue } from "./module.js";
import type { CodeOrigin } from "./origins.js";

const enum Row {
  Fn,
  Into,
  Place,
  Copy,
  Size,
}

/** Numbers of things, from 0 on. */
class Numbered<T> {
  readonly all: T[] = [];
  private readonly numbers = new Map<T, number>();
  of(item: T): number {
    let number = this.numbers.get(item);
    if (number === undefined) this.numbers.set(item, (number = this.all.push(item) - 1));
    return number;
  }
}

export class OriginTable {
  private readonly fns = new Numbered<GlobalValue>();
  private readonly places = new Numbered<DILocation | null>();
  private rows = new Int32Array(16 * Row.Size);
  /** Numbers of the table are from 1 on. */
  length = 0;
  /** Numbers where their hashes lead, or after that; 0: nothing. A power of two, half of them unused. */
  private slots = new Int32Array(64);

  /** The number of the first origin with these fields; a new one if there is none. */
  number(fn: GlobalValue, into: number, place: DILocation | null): number {
    const f = this.fns.of(fn);
    const p = this.places.of(place);
    const { rows, slots } = this;
    const mask = slots.length - 1;
    let slot = hash(f, into, p) & mask;
    for (let number = slots[slot]!; number !== 0; number = slots[slot]!) {
      const at = (number - 1) * Row.Size;
      if (rows[at + Row.Fn] === f && rows[at + Row.Into] === into && rows[at + Row.Place] === p)
        return number;
      slot = (slot + 1) & mask;
    }
    const number = this.add(f, into, p, 0);
    slots[slot] = number;
    if (2 * this.length > slots.length) this.grow();
    return number;
  }

  /** A new number, which `number` will not find. */
  another(fn: GlobalValue, into: number, place: DILocation | null, copy: number): number {
    return this.add(this.fns.of(fn), into, this.places.of(place), copy);
  }

  private add(fn: number, into: number, place: number, copy: number): number {
    const at = this.length * Row.Size;
    if (at === this.rows.length) {
      const larger = new Int32Array(2 * at);
      larger.set(this.rows);
      this.rows = larger;
    }
    this.rows[at + Row.Fn] = fn;
    this.rows[at + Row.Into] = into;
    this.rows[at + Row.Place] = place;
    this.rows[at + Row.Copy] = copy;
    return ++this.length;
  }

  private grow(): void {
    const { slots: old, rows } = this;
    const slots = new Int32Array(2 * old.length);
    const mask = slots.length - 1;
    for (const number of old) {
      if (number === 0) continue;
      const at = (number - 1) * Row.Size;
      let slot = hash(rows[at + Row.Fn]!, rows[at + Row.Into]!, rows[at + Row.Place]!) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number;
    }
    this.slots = slots;
  }

  fnOf(number: number): GlobalValue {
    return this.fns.all[this.rows[(number - 1) * Row.Size + Row.Fn]!]!;
  }
  intoOf(number: number): number {
    return this.rows[(number - 1) * Row.Size + Row.Into]!;
  }
  placeOf(number: number): DILocation | null {
    return this.places.all[this.rows[(number - 1) * Row.Size + Row.Place]!]!;
  }
  copyOf(number: number): number {
    return this.rows[(number - 1) * Row.Size + Row.Copy]!;
  }
  origin(number: number): CodeOrigin {
    return {
      fn: this.fnOf(number),
      into: this.intoOf(number),
      place: this.placeOf(number),
      copy: this.copyOf(number),
    };
  }
}

function hash(fn: number, into: number, place: number): number {
  const mixed = Math.imul(fn, 0x9e3779b1) ^ Math.imul(into, 0x85ebca6b) ^ Math.imul(place, 0xc2b2ae35);
  return mixed ^ (mixed >>> 15);
}
