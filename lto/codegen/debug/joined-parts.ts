/** Ranges of a variable made of those of its parts. */
import { composed, ofAll } from "./expressions.js";
import { type LocationTable, RangeField } from "./located-ranges.js";

interface Part {
  /** Bits; an infinite size: all of it. */
  readonly subject: { readonly offset: number; readonly size: number };
  /** Its ranges, as numbers. */
  readonly rows: readonly number[];
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly endsInCall: boolean;
  readonly bytes: readonly number[];
  readonly registers: number;
}

function rangesOf(rows: readonly number[], { all }: LocationTable): Range[] {
  const ranges: Range[] = [];
  for (let at = 0; at < rows.length; at += RangeField.Count)
    ranges.push({
      from: rows[at + RangeField.From]!,
      to: rows[at + RangeField.To]!,
      endsInCall: rows[at + RangeField.EndsInCall] !== 0,
      bytes: all[rows[at + RangeField.Location]!]!.bytes,
      registers: rows[at + RangeField.Registers]!,
    });
  return ranges;
}

/** Ranges of a variable of which parts have ranges of their own: rows. @param locations of theirs; those of the whole are added */
export function joined(of: readonly Part[], locations: LocationTable): number[] {
  const parts = of.map(({ subject, rows }) => ({ subject, ranges: rangesOf(rows, locations) }));
  const ends = new Map<number, boolean>();
  for (const { ranges } of parts)
    for (const { from, to, endsInCall } of ranges) {
      ends.set(from, ends.get(from) ?? false);
      ends.set(to, (ends.get(to) ?? false) || endsInCall);
    }
  const places = [...ends.keys()].sort((a, b) => a - b);
  const next = parts.map(() => 0);
  const found: number[] = [];
  for (let i = 0; i + 1 < places.length; i++) {
    const from = places[i]!;
    const to = places[i + 1]!;
    let endsInCall = false;
    const pieces = parts.flatMap(({ subject, ranges }, p) => {
      while (next[p]! < ranges.length && ranges[next[p]!]!.to <= from) next[p]!++;
      const range = ranges[next[p]!];
      if (range === undefined || range.from > from) return [];
      if (range.endsInCall && range.to === to) endsInCall = true;
      return [{ range, subject }];
    });
    if (pieces.length === 0) continue;
    const [first] = pieces;
    // All of it, by a mark of all of it.
    const location =
      first!.subject.size === Number.POSITIVE_INFINITY
        ? ofAll(first!.range.bytes)
        : composed(pieces.map(({ range, subject }) => ({ ...subject, bytes: range.bytes })));
    const registers = pieces.reduce((all, { range }) => all | range.registers, 0);
    found.push(from, to, endsInCall ? 1 : 0, locations.number(location), registers);
  }
  return found;
}
