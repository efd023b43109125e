/**
 * Features that come with others. clang names all of them in a function's `target-features`, other front ends the one asked for.
 * Source: Intel SDM volume 1, 5; LLVM's X86.td.
 */
const comesWith: Readonly<Record<string, readonly string[]>> = {
  ssse3: ["sse3"],
  "sse4.1": ["ssse3"],
  "sse4.2": ["sse4.1"],
  avx: ["sse4.2"],
  avx2: ["avx"],
  avx512f: ["avx2"],
  fma: ["avx"],
  f16c: ["avx"],
  sse4a: ["sse3"],
  vaes: ["avx2", "aes"],
  vpclmulqdq: ["avx", "pclmul"],
  avx512bw: ["avx512f"],
  avx512dq: ["avx512f"],
  avx512vl: ["avx512f"],
};

const closed = new Map<string, ReadonlySet<string>>();

/** The features of a `target-features` attribute, and all that come with them. */
export function allFeatures(attribute: string): ReadonlySet<string> {
  let found = closed.get(attribute);
  if (found !== undefined) return found;
  const made = new Set<string>();
  const add = (name: string): void => {
    if (made.has(name)) return;
    made.add(name);
    for (const other of comesWith[name] ?? []) add(other);
  };
  for (const word of attribute.split(",")) if (word.startsWith("+")) add(word.slice(1));
  found = made;
  closed.set(attribute, found);
  return found;
}
