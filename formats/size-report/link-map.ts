/**
 * What a linker's map does not know of a program that was optimised as a whole, which is one object to it: the files that its
 * symbols are from, what was left out and why, and who mentions what. As text to be added to the map.
 */
import type { Image, ImageSymbol } from "../program/image.js";
import type { SizeReport, SymbolReport } from "./schema.js";

/** Names that are shown of what a piece of code was made of. */
const shownParts = 3;

/** A source, and the object that it was in. */
const fileOf = ({ file, object }: Pick<SymbolReport, "file" | "object">): string =>
  file === undefined ? "" : object === undefined ? file : `${file} (${object})`;

function originOf(symbol: SymbolReport): string {
  const { madeBy, madeOf = [], standsFor = [] } = symbol;
  const parts = [fileOf(symbol)];
  if (madeBy !== undefined) {
    const more = madeOf.length > shownParts ? `, … (${madeOf.length})` : "";
    parts.push(`made by ${madeBy} of ${madeOf.slice(0, shownParts).join(", ")}${more}`);
  }
  if (standsFor.length > 0) parts.push(`also for ${standsFor.join(", ")}`);
  return parts.filter(Boolean).join("; ");
}

const hex = (value: number, width: number): string => `0x${value.toString(16).padStart(width, "0")}`;
const baseName = (path: string): string => path.substring(path.lastIndexOf("/") + 1);

/** Symbols of the program that the report knows. A local one counts where it is from a source that the report knows, too. */
function placesOf(report: SizeReport, image: Image): Map<string, ImageSymbol> {
  const sources = new Set(["tsc-lto", ...report.symbols.map(({ file = "" }) => baseName(file))]);
  const places = new Map<string, ImageSymbol>();
  for (const symbol of image.symbols) {
    if (symbol.section === 0 || symbol.type === 3 || symbol.type === 4) continue;
    if (symbol.binding === 0 && !sources.has(baseName(symbol.file ?? ""))) continue;
    places.set(symbol.name, symbol);
  }
  return places;
}

/** @param image the linked program; addresses that a stripped one does not tell are left blank */
export function mapText(report: SizeReport, image: Image): string {
  const places = placesOf(report, image);
  const addressOf = ({ name }: SymbolReport): number => places.get(name)?.value ?? Number.POSITIVE_INFINITY;
  const rows = report.symbols
    .filter(({ kind, name }) => kind !== "rest" && !name.startsWith("llvm."))
    .sort((a, b) => (addressOf(a) < addressOf(b) ? -1 : addressOf(a) > addressOf(b) ? 1 : 0))
    .map((symbol) => {
      const place = places.get(symbol.name);
      const address = place === undefined ? " ".repeat(18) : hex(place.value, 16);
      const size = place === undefined ? "" : hex(place.size, 1);
      return ` ${address} ${size.padStart(10)} ${symbol.name}: ${originOf(symbol)}\n`;
    });
  const dropped = (report.dropped ?? []).map((each) => ` ${each.name}: ${fileOf(each)}: ${each.why}\n`);
  return [
    "\nCode and data optimised by tsc-lto: where symbols are from\n\n",
    ...rows,
    "\nLeft out by tsc-lto\n\n",
    ...dropped,
  ].join("");
}

/** As GNU ld's table: each symbol with the file that defines it first, then the files whose code mentions it. */
export function crossReferences({ symbols }: SizeReport): string {
  const known = new Map(symbols.map((symbol) => [symbol.name, symbol]));
  const users = new Map<string, Set<string>>();
  for (const user of symbols)
    for (const name of [...(user.calls ?? []), ...(user.mentions ?? [])]) {
      const files = users.get(name) ?? new Set();
      if (fileOf(user) !== "") files.add(fileOf(user));
      users.set(name, files);
    }
  const names = [...new Set([...known.keys(), ...users.keys()])].filter((name) => !name.startsWith("llvm."));
  const rows = names.sort().flatMap((name) => {
    const defined = known.get(name);
    const definer = defined === undefined ? "" : fileOf(defined);
    const files = [
      ...(definer === "" ? [] : [definer]),
      ...[...(users.get(name) ?? [])].filter((file) => file !== definer),
    ];
    return files.map((file, i) => `${(i === 0 ? name : "").padEnd(49)} ${file}\n`);
  });
  return [
    "\nCross Reference Table of what tsc-lto optimised\n\n",
    `${"Symbol".padEnd(49)} File\n`,
    ...rows,
  ].join("");
}
