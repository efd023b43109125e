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
  /** Some are of functions. */
  hasFunctions: boolean;
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
      hasFunctions: false,
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
  get isGivenUp(): boolean {
    return this.leader.hopeless;
  }
  /** It stays as it is, and what its fields point to can be reached by who knows whom. */
  giveUp(): void {
    const leader = this.leader;
    if (leader.hopeless) return;
    leader.hopeless = true;
    leader.reason = { ...this.scene };
    for (const { content } of leader.facts) content?.table.giveUp();
  }

  /** @returns whether something was not known */
  join(other: Table): boolean {
    const [a, b] = [this.leader, other.leader];
    if (a === b) return false;
    if (a.shape.element !== b.shape.element) {
      const changes = !a.hopeless || !b.hopeless;
      a.giveUp();
      b.giveUp();
      return changes;
    }
    b.parent = a;
    a.variables.push(...b.variables);
    b.facts.forEach((more, field) => {
      // Joining what fields point to may join this one with others.
      const own = a.leader.facts[field]!;
      if (more.least < own.least) own.least = more.least;
      if (more.largest > own.largest) own.largest = more.largest;
      own.isWide ||= more.isWide;
      own.hasNulls ||= more.hasNulls;
      own.addresses += more.addresses;
      own.hasFunctions ||= more.hasFunctions;
      if (more.content !== null) a.pointTo(field, more.content);
      if (more.hasStrays) a.stray(field);
    });
    if (b.hopeless) a.giveUp();
    return true;
  }

  /** A field points into a table. @returns whether something was not known */
  pointTo(field: number, to: Place): boolean {
    const leader = this.leader;
    const facts = leader.facts[field]!;
    let changes = facts.content === null;
    if (facts.content === null) facts.content = to;
    else changes = same(facts.content, to);
    if (facts.hasStrays || leader.hopeless) to.table.giveUp();
    return changes;
  }
  /** A field points to what is in no table. */
  stray(field: number): void {
    const facts = this.leader.facts[field]!;
    facts.hasStrays = true;
    facts.content?.table.giveUp();
  }
}

/** Two places are one for some code. @returns whether something was not known */
export function same(a: Place, b: Place): boolean {
  const changes = a.table.join(b.table);
  if (a.place === b.place) return changes;
  const isNews = !a.table.isGivenUp;
  a.table.giveUp();
  b.table.giveUp();
  return changes || isNews;
}
