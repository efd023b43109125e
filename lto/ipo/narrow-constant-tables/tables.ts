/**
 * Tables that the same code accesses, as one: whatever reaches the same place must keep one shape.
 *
 * Union-find (Steensgaard, Points-to Analysis in Almost Linear Time, POPL 1996), for places in elements: what a pointer
 * field points to is one table, too, or nothing that is one.
 */
import type { Inst } from "../../ir/instructions.js";
import type { Func, GlobalVariable } from "../../ir/module.js";
import type { Shape } from "./shape.js";

/** What is looked at, to be told of where it is why a table stays; null: initialisers. */
export interface Scene {
  fn: Func | null;
  inst: Inst | null;
}

/** A place in a table: bytes from the start of an element. */
export interface Place {
  readonly table: Table;
  readonly place: number;
}

/** What is known of a field. */
export interface FieldFacts {
  /** Of integers. */
  least: bigint;
  largest: bigint;
  /** What it holds cannot be written in fewer bytes. */
  isWide: boolean;
  /** Of pointers: some are null. */
  hasNulls: boolean;
  /** How many are not. */
  addresses: number;
  /** Some are of functions, or of blocks. */
  hasCode: boolean;
  /** What its pointers lead to, if that is in a table. */
  content: Place | null;
  /** It also points to what is in no table. */
  hasStrays: boolean;
}

export class Table {
  readonly variables: GlobalVariable[] = [];
  readonly facts: FieldFacts[];
  /** Something is done with it that is not understood. */
  private hopeless = false;
  private parent: Table | null = null;

  /** Where it was given up. */
  reason: Scene | null = null;

  constructor(
    readonly shape: Shape,
    private readonly scene: Scene,
  ) {
    this.facts = shape.fields.map(({ kind }) => ({
      least: 0n,
      largest: 0n,
      isWide: kind === "rest",
      hasNulls: false,
      addresses: 0,
      hasCode: false,
      content: null,
      hasStrays: false,
    }));
  }

  /** The one that stands for all that it was joined with. */
  get leader(): Table {
    let at: Table = this;
    while (at.parent !== null) {
      if (at.parent.parent !== null) at.parent = at.parent.parent;
      at = at.parent;
    }
    return at;
  }
  get isUnsafe(): boolean {
    return this.leader.hopeless;
  }
  /** It stays as it is, and what its fields point to can be reached by who knows whom. */
  markUnsafe(): void {
    const work: Table[] = [this];
    for (let table = work.pop(); table !== undefined; table = work.pop()) {
      const { leader } = table;
      if (leader.hopeless) continue;
      leader.hopeless = true;
      leader.reason = { ...this.scene };
      for (const { content } of leader.facts) if (content !== null) work.push(content.table);
    }
  }

  /** A field points into a table. */
  pointTo(field: number, to: Place): void {
    const facts = this.leader.facts[field]!;
    if (facts.content === null) facts.content = to;
    else same(facts.content, to);
    // Which may have joined this one with others.
    if (this.isUnsafe || this.leader.facts[field]!.hasStrays) to.table.markUnsafe();
  }
  /** A field points to what is in no table. */
  stray(field: number): void {
    const facts = this.leader.facts[field]!;
    facts.hasStrays = true;
    facts.content?.table.markUnsafe();
  }

  /** Another leader becomes one with this leader. @param pending what has to be one now, too */
  absorb(other: Table, pending: [Place, Place][]): void {
    other.parent = this;
    for (const variable of other.variables) this.variables.push(variable);
    this.facts.forEach((own, field) => {
      const more = other.facts[field]!;
      if (more.least < own.least) own.least = more.least;
      if (more.largest > own.largest) own.largest = more.largest;
      own.isWide ||= more.isWide;
      own.hasNulls ||= more.hasNulls;
      own.addresses += more.addresses;
      own.hasCode ||= more.hasCode;
      own.hasStrays ||= more.hasStrays;
      if (own.content === null) own.content = more.content;
      else if (more.content !== null) pending.push([own.content, more.content]);
      if (own.hasStrays) own.content?.table.markUnsafe();
    });
    if (!this.hopeless && !other.hopeless) return;
    this.hopeless = false;
    this.markUnsafe();
  }
}

/** Two places are one for some code. @returns whether something was not known */
export function same(a: Place, b: Place): boolean {
  let isNews = false;
  const pending: [Place, Place][] = [[a, b]];
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [one, other] = pair;
    const [first, second] = [one.table.leader, other.table.leader];
    if (first !== second && first.shape.element === second.shape.element) {
      first.absorb(second, pending);
      isNews = true;
    }
    if (first.leader === second.leader && one.place === other.place) continue;
    isNews ||= !first.isUnsafe || !second.isUnsafe;
    first.markUnsafe();
    second.markUnsafe();
  }
  return isNews;
}
