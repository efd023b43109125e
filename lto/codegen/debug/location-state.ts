/** What data flow over a function's code knows at a place: which locations hold which values, and what each variable is. */

/** In numbers of marks: nothing is known. */
export const nowhere = -1;
/** Locations are numbered: registers, then spill slots, as many as there are bits in the words of a value's set. */
export const registerPlaces = 32;

export const lowestBit = (bits: number): number => (bits === 0 ? -1 : 31 - Math.clz32(bits & -bits));

export class State {
  /** @param places of each value, `words` words: the locations that hold it */
  constructor(
    readonly words: number,
    readonly places: Int32Array,
    readonly marks: Int32Array,
  ) {}
  static empty(words: number, values: number, subjects: number): State {
    return new State(words, new Int32Array(words * values), new Int32Array(subjects).fill(nowhere));
  }
  copy(): State {
    return new State(this.words, this.places.slice(), this.marks.slice());
  }
  /** Becomes what another one is. */
  become({ places, marks }: State): void {
    this.places.set(places);
    this.marks.set(marks);
  }
  clearRegisters(): void {
    for (let i = 0; i < this.places.length; i += this.words) this.places[i] = 0;
  }
  /** What both say. @returns whether something is lost */
  meet(other: State, keepsRegisters: boolean): boolean {
    const { places, words } = this;
    let changed = false;
    for (let i = 0; i < places.length; i++) {
      const known = places[i]!;
      if (known === 0) continue;
      const both = !keepsRegisters && i % words === 0 ? 0 : known & other.places[i]!;
      if (both === known) continue;
      changed = true;
      places[i] = both;
    }
    for (let s = 0; s < this.marks.length; s++) {
      if (this.marks[s] === nowhere || this.marks[s] === other.marks[s]) continue;
      this.marks[s] = nowhere;
      changed = true;
    }
    return changed;
  }
}

/** The first slot among a value's places, which are words from one number to before another; -1: there is none. */
export function lowestSlot(places: readonly number[], from: number, to: number): number {
  for (let w = from; w < to; w++)
    if (places[w] !== 0) return registerPlaces * (w - from) + lowestBit(places[w]!);
  return nowhere;
}
