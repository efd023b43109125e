/**
 * What became of the symbols of a program from one build to the next.
 *
 * Symbols are matched by name; several of one name in the order of the files. Of what is left over, functions with the
 * same code are taken to be renamed, and then those whose names differ only in what compilers append to them. Sorting aside,
 * linear.
 */
import { type SizeReport, type SymbolReport, totalOf } from "./schema.js";

export type Change = "new" | "gone" | "grown" | "shrunk" | "renamed" | "moved";

export interface Difference {
  /** Its name now; of one that is gone what it was. */
  readonly name: string;
  /** What it was called before, if not so. */
  readonly oldName: string | null;
  readonly change: Change;
  readonly before: number;
  readonly after: number;
  readonly file: string | null;
  readonly oldFile: string | null;
}

/** Everything that changed, the largest differences first; what is only moved or renamed comes last. */
export function differences(before: SizeReport, after: SizeReport): Difference[] {
  const old = entries(before);
  const now = entries(after);
  const pairs: [SymbolReport, SymbolReport][] = [];
  const match = (keyOf: (symbol: SymbolReport) => string | null): void => {
    const waiting = new Map<string, SymbolReport[]>();
    for (const symbol of old) {
      const key = keyOf(symbol);
      if (key === null) continue;
      const list = waiting.get(key);
      if (list === undefined) waiting.set(key, [symbol]);
      else list.push(symbol);
    }
    for (const symbol of [...now]) {
      const key = keyOf(symbol);
      const other = key === null ? undefined : waiting.get(key)?.shift();
      if (other === undefined) continue;
      pairs.push([other, symbol]);
      old.delete(other);
      now.delete(symbol);
    }
  };
  // Local functions of one name are in different files.
  match(({ name, file, kind }) => (file === undefined ? null : `${kind} ${name} ${file}`));
  match(({ name, kind }) => `${kind} ${name}`);
  match(({ hash, bytes }) => (hash === undefined ? null : `${hash} ${bytes.code}`));
  match(({ name, kind }) => (kind === "rest" ? null : `${kind} ${plainName(name)}`));
  const result = pairs.flatMap(([a, b]) => {
    const change = changeOf(a, b);
    return change === null ? [] : [difference(change, a, b)];
  });
  for (const symbol of old) result.push(difference("gone", symbol, null));
  for (const symbol of now) result.push(difference("new", null, symbol));
  const weight = ({ before: a, after: b }: Difference): number => Math.abs(b - a);
  return result.sort((a, b) => weight(b) - weight(a) || (a.name < b.name ? -1 : Number(a.name > b.name)));
}

const entries = ({ symbols }: SizeReport): Set<SymbolReport> =>
  new Set(symbols.filter(({ bytes }) => totalOf(bytes) > 0));

/** A name without what compilers append to tell copies and parts apart, and without numbers that count lambdas or strings. */
export function plainName(name: string): string {
  const plain = name.replace(
    /(?:\.(?:llvm|part|isra|constprop|cold|clone|bound|merged|\d+|[\da-f]{8,}))+$/,
    "",
  );
  return plain === "" ? name : plain;
}

function changeOf(a: SymbolReport, b: SymbolReport): Change | null {
  const growth = totalOf(b.bytes) - totalOf(a.bytes);
  if (growth !== 0) return growth > 0 ? "grown" : "shrunk";
  if (a.name !== b.name) return "renamed";
  return a.file !== undefined && b.file !== undefined && a.file !== b.file ? "moved" : null;
}

function difference(change: Change, a: SymbolReport | null, b: SymbolReport | null): Difference {
  const name = (b ?? a)!.name;
  return {
    name,
    oldName: a !== null && a.name !== name ? a.name : null,
    change,
    before: a === null ? 0 : totalOf(a.bytes),
    after: b === null ? 0 : totalOf(b.bytes),
    file: (b ?? a)!.file ?? null,
    oldFile: a?.file ?? null,
  };
}
