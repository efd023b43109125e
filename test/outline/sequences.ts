/** Random sequences of symbols: runs of new ones, and copies of what was before, as code has them. */

/** A small generator of its own (Marsaglia, "Xorshift RNGs", 2003): two million numbers should take no time. */
function generator(seed: number): () => number {
  let state = (seed + 1) * 0x9e3779b1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** @param barriers share of symbols that are equal to nothing */
export function randomSymbols(seed: number, length: number, alphabet: number, barriers: number): Int32Array {
  const random = generator(seed);
  for (let i = 0; i < 8; i++) random();
  const symbols = new Int32Array(length);
  for (let i = 0; i < length; ) {
    const run = 1 + Math.floor(random() * 12);
    const from = random() < 0.4 ? Math.floor(random() * i) : -1;
    for (let k = 0; k < run && i < length; k++, i++)
      symbols[i] =
        random() < barriers ? -1 : from >= 0 ? symbols[from + k]! : Math.floor(random() ** 3 * alphabet);
  }
  return symbols;
}
