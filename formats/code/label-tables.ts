/** Tells tables of jumps from tables of functions, in data that holds distances. */
import type { CodeSection } from "./object.js";
import { firstAfter } from "./search.js";

/** Relocation types whose value is relative to the place, System V ABI AMD64 table 4.10. */
export const R_X86_64_PC32 = 2;
export const R_X86_64_PLT32 = 4;

/**
 * Tables of distances from themselves to places in functions. Other tables hold distances of functions from the entries:
 * what is added to the symbol is the start of a function for each of these.
 * @param starts where tables begin, ascending
 * @param functionAt the function that an address lies in
 */
export function tablesOfLabels(
  { relocations }: CodeSection,
  starts: readonly number[],
  functionAt: (section: number, address: number) => { readonly start: number } | null,
): ReadonlySet<number> {
  const found = new Set<number>();
  for (const { offset, type, symbol, addend } of relocations) {
    const table = starts[firstAfter(starts, offset) - 1];
    if (type !== R_X86_64_PC32 || symbol.section < 0 || table === undefined) continue;
    const to = symbol.value + addend;
    const isLabel = functionAt(symbol.section, to - (offset - table)) !== null;
    if (isLabel && functionAt(symbol.section, to)?.start !== to) found.add(table);
  }
  return found;
}
