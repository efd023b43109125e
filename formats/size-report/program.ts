/** The size report of a finished program: all its loaded bytes, with what a link's report and a linker's map say of them. */
import type { Image } from "../program/image.js";
import type { Owner } from "../program/owners.js";
import { attribute, type Part, type Use, useOf } from "../program/parts.js";
import type { MapFile } from "./map-file.js";
import { reportFormat, reportVersion, type SizeReport, type SymbolReport } from "./schema.js";

export interface ProgramSources {
  readonly link: SizeReport | null;
  readonly map: MapFile | null;
  /** Of code, for comparisons; null: not wanted. */
  readonly hashOf: ((image: Image, code: Uint8Array, address: number) => string) | null;
}

type Counts = Partial<Record<Use, number>>;

/** @param file as messages name it @throws InputError for malformed files */
export function programReport(image: Image, file: string, { link, map, hashOf }: ProgramSources): SizeReport {
  const { sections, owners, parts, addresses } = attribute(image);
  const known = new Map((link?.symbols ?? []).map((symbol) => [symbol.name, symbol]));
  // The object that the link's output was assembled to has a passing name; the report knows a better one.
  const linked = new Set<string>();
  for (const { name, address } of map === null ? [] : owners)
    if (known.has(name)) linked.add(map!.fileAt(address) ?? "");
  linked.delete("");
  const fileAt = (address: number): string | null => {
    const object = map?.fileAt(address) ?? null;
    return object !== null && linked.has(object) ? link!.file : object;
  };
  const counts = new Map<Owner, Counts>();
  const rest = new Map<string, SymbolReport & { readonly bytes: Counts }>();
  for (const part of parts) {
    const { owner, use, size } = part;
    let bytes: Counts;
    if (typeof owner === "string") bytes = restOf(rest, part, owner, fileAt(part.address)).bytes;
    else {
      bytes = counts.get(owner) ?? {};
      counts.set(owner, bytes);
    }
    bytes[use] = (bytes[use] ?? 0) + size;
  }
  const used = new Set<string>();
  const symbols = owners.map((owner): SymbolReport => {
    const record = recordOf(owner, known, used);
    const { section, address, size } = owner;
    // What is made of code of several files is no single one's.
    const file = record === undefined ? (fileAt(address) ?? owner.source) : record.file;
    const from = address - addresses.of(section);
    const isCode = (counts.get(owner)!.code ?? 0) > 0 && hashOf !== null;
    return {
      ...record,
      name: owner.name,
      kind: record?.kind ?? (useOf(section) === "code" ? "function" : "variable"),
      bytes: counts.get(owner)!,
      ...withinCode(record, counts.get(owner)!),
      section: section.name,
      ...(owner.aliases.length === 0 ? {} : { aliases: owner.aliases }),
      ...(owner.isLocal ? { local: true } : {}),
      ...(file === null || file === undefined ? {} : { file }),
      ...(isCode ? { hash: hashOf(image, section.bytes.subarray(from, from + size), address) } : {}),
    };
  });
  // What the link knows of and the program has no symbol for: constants, code that the system's linker dropped.
  for (const symbol of known.values()) if (!used.has(symbol.name)) symbols.push({ ...symbol, bytes: {} });
  return {
    format: reportFormat,
    version: reportVersion,
    kind: "program",
    file,
    sections: sections.map((section) => ({
      name: section.name,
      size: section.size,
      use: useOf(section),
    })),
    symbols: [...symbols, ...rest.values()],
    ...(link?.origins === undefined ? {} : { origins: link.origins }),
    decisions: link?.decisions ?? [],
  };
}

/** Where the linker left out code, or another function has its name, origins may be of more than there is. */
function withinCode(record: SymbolReport | undefined, { code = 0 }: Counts): Pick<SymbolReport, "origins"> {
  if (record?.origins === undefined) return {};
  let left = code;
  const origins = record.origins.map(([origin, bytes]) => {
    const kept = Math.min(bytes, left);
    left -= kept;
    return [origin, kept] as const;
  });
  return { origins };
}

/** What the link says of an owner; of several local symbols of a name the first is its. */
function recordOf(
  { name, aliases }: Owner,
  known: ReadonlyMap<string, SymbolReport>,
  used: Set<string>,
): SymbolReport | undefined {
  for (const one of [name, ...aliases]) {
    const record = known.get(one);
    if (record === undefined || used.has(one)) continue;
    used.add(one);
    return record;
  }
  return undefined;
}

/** The entry for bytes of one section and object that are no symbol's. */
function restOf(
  rest: Map<string, SymbolReport & { readonly bytes: Counts }>,
  { section }: Part,
  why: string,
  file: string | null,
): SymbolReport & { readonly bytes: Counts } {
  const key = `${why} ${section.index} ${file ?? ""}`;
  let entry = rest.get(key);
  if (entry === undefined) {
    entry = {
      name: `[${why} ${section.name}]`,
      kind: "rest",
      bytes: {},
      section: section.name,
      ...(file === null ? {} : { file }),
    };
    rest.set(key, entry);
  }
  return entry;
}
