/** Copies and fills of memory as single accesses. */

export interface Piece {
  readonly offset: number;
  readonly size: number;
}

/** Splits `length` bytes into access widths, widest first; overlapping accesses save odd tails. */
export function pieces(length: number, widest: number): Piece[] {
  const out: Piece[] = [];
  let offset = 0;
  for (let size = widest; size >= 1; size /= 2) {
    while (length - offset >= size) {
      out.push({ offset, size });
      offset += size;
    }
    const rest = length - offset;
    // One overlapping access of this width instead of several narrower ones.
    if (rest > 0 && length >= size && (rest & (rest - 1)) !== 0) {
      out.push({ offset: length - size, size });
      break;
    }
  }
  return out;
}
