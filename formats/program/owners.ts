/**
 * Which symbol each byte of a section belongs to.
 *
 * A byte is the innermost symbol's that covers it: the one that starts last, of those the one that ends first. Several
 * names of one range are one owner, of which a global name is the first. What no symbol with a size covers belongs to a
 * symbol without one before it (functions of assembly), is padding, or has no name. Linear after sorting.
 */
import type { Addresses } from "./addresses.js";
import { type Image, type ImageSection, type ImageSymbol, Machine, SectionFlag } from "./image.js";

/** A symbol that bytes belong to. */
export interface Owner {
  readonly name: string;
  /** Further names of the same bytes. */
  readonly aliases: string[];
  readonly address: number;
  readonly size: number;
  readonly isLocal: boolean;
  readonly section: ImageSection;
  /** The source that the symbol table names; of local symbols only. */
  readonly source: string | null;
}

/** Bytes side by side that belong to the same. */
export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly owner: Owner | "padding" | "unnamed";
}

/** Marks of assemblers for tools: where code of one kind or data starts. */
const isMapping = (name: string): boolean => /^\$[atdx](\.|$)/.test(name);
/** What linkers and the C library's files name to mark a place, not what lies there. */
const marks =
  /^(?:_?end|_?edata|_?etext|__bss_start(?:__)?|__TMC_END__|(?:__)?data_start|__GNU_EH_FRAME_HDR|__EH_FRAME_BEGIN__|__FRAME_END__|__(?:start|stop)_.*|__(?:pre)?(?:init|fini)_array_(?:start|end))$/;

/** Padding between symbols is shorter than the largest usual alignment. */
const longestPadding = 64;

interface Placed {
  readonly symbol: ImageSymbol;
  readonly start: number;
  readonly end: number;
}

/** The owners of a section's bytes, in order, without gaps. */
export function segmentsOf(
  image: Image,
  addresses: Addresses,
  section: ImageSection,
  symbols: readonly ImageSymbol[],
): Segment[] {
  const from = addresses.of(section);
  const to = from + section.size;
  const placed: Placed[] = [];
  const points: Placed[] = [];
  for (const symbol of symbols) {
    const start = addresses.ofSymbol(symbol);
    if (start === undefined || start < from || start >= to || !isName(symbol)) continue;
    const end = Math.min(start + symbol.size, to);
    if (end > start) placed.push({ symbol, start, end });
    else if (claims(symbol, section)) points.push({ symbol, start, end });
  }
  placed.sort((a, b) => a.start - b.start || b.end - a.end || compareNames(a.symbol, b.symbol));
  points.sort((a, b) => a.start - b.start || compareNames(a.symbol, b.symbol));
  const makeOwner = ({ symbol, start, end }: Placed): Owner => ({
    name: symbol.name,
    aliases: [],
    address: start,
    size: end - start,
    isLocal: symbol.binding === 0,
    section,
    source: symbol.file,
  });
  const segments: Segment[] = [];
  const open: { readonly owner: Owner; readonly end: number }[] = [];
  let at = from;
  let nextPoint = 0;
  /** Nothing with a size covers it. */
  const fill = (end: number): void => {
    while (nextPoint < points.length && points[nextPoint]!.start < at) nextPoint++;
    while (at < end) {
      const point = points[nextPoint];
      if (point !== undefined && point.start === at) {
        let next = nextPoint + 1;
        while (next < points.length && points[next]!.start === at) next++;
        const limit = Math.min(end, points[next]?.start ?? end);
        const owner = makeOwner({ ...point, end: limit });
        for (let i = nextPoint + 1; i < next; i++) owner.aliases.push(points[i]!.symbol.name);
        segments.push({ start: at, end: limit, owner });
        nextPoint = next;
        at = limit;
      } else {
        const limit = Math.min(end, point?.start ?? end);
        const bytes = section.bytes.subarray(at - from, limit - from);
        segments.push({
          start: at,
          end: limit,
          owner: isPadding(image, section, bytes, limit - at) ? "padding" : "unnamed",
        });
        at = limit;
      }
    }
  };
  const advance = (end: number): void => {
    while (at < end) {
      const top = open.at(-1);
      if (top === undefined) fill(end);
      else if (top.end <= at) open.pop();
      else {
        const limit = Math.min(top.end, end);
        segments.push({ start: at, end: limit, owner: top.owner });
        at = limit;
      }
    }
  };
  for (const place of placed) {
    advance(place.start);
    const top = open.at(-1);
    if (top !== undefined && top.owner.address === place.start && top.end === place.end) {
      if (top.owner.name !== place.symbol.name) top.owner.aliases.push(place.symbol.name);
    } else open.push({ owner: makeOwner(place), end: place.end });
  }
  advance(to);
  return segments;
}

/** Functions, variables, thread-local ones, and labels of assembly. */
const isName = ({ name, type }: ImageSymbol): boolean =>
  name !== "" && (type <= 2 || type === 6 || type === 10) && !isMapping(name);

/** Whether bytes that follow a symbol without a size are its. */
const claims = ({ name, type }: ImageSymbol, { flags }: ImageSection): boolean =>
  !marks.test(name) && (type !== 0 || (flags & SectionFlag.Code) !== 0);

/** Global names first, then weak ones, then local ones, each by name. */
function compareNames(a: ImageSymbol, b: ImageSymbol): number {
  const rank = ({ binding }: ImageSymbol): number => (binding === 1 ? 0 : binding === 0 ? 2 : 1);
  return rank(a) - rank(b) || (a.name < b.name ? -1 : Number(a.name > b.name));
}

function isPadding({ machine }: Image, { flags }: ImageSection, bytes: Uint8Array, size: number): boolean {
  if (size >= longestPadding) return false;
  if (bytes.every((byte) => byte === 0)) return true;
  if ((flags & SectionFlag.Code) === 0) return false;
  return x86Machines.has(machine) ? isX86Padding(bytes) : machine === Machine.arm && size < 4;
}

const x86Machines: ReadonlySet<number> = new Set([3, 62]);

/** `nop` in all its lengths, and `int3`. */
function isX86Padding(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; ) {
    const start = at;
    while (bytes[at] === 0x66 || bytes[at] === 0x2e) at++;
    if (bytes[at] === 0x90 || bytes[at] === 0xcc || bytes[at] === 0) at++;
    else if (bytes[at] === 0x0f && bytes[at + 1] === 0x1f) {
      const form = bytes[at + 2] ?? 0;
      // mod 0 to 2 with a displacement of 0, 1 and 4 bytes, and one byte more with a scaled index.
      at += 3 + [0, 1, 4, 0][form >> 6]! + ((form & 7) === 4 && form < 0xc0 ? 1 : 0);
    } else return false;
    if (at === start) return false;
  }
  return true;
}
