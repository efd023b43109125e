/**
 * Type-based alias analysis: what the types of two accesses say on whether they can touch one place
 * (LLVM Language Reference, "'tbaa' Metadata").
 *
 * A tag says: an access of type `access` that lies `offset` bytes into an object of type `base`. A type has members,
 * by offset; what a scalar derives from is its member at offset 0, so that walking members from any type ends at the
 * root of a type system. In the newer form of the metadata (`sized`) types and accesses have sizes as well, and the
 * derivation (`parent`) is apart from the members.
 *
 * Types and tags are interned for the life of the process: equal ones, of whatever module, are one object, and so two
 * modules' type systems are one where their roots have one name. Types below roots without a name are not expressed.
 *
 * Queries walk from the base down to the access: linear in nesting times log(members).
 */
let types = 0;

export class TbaaType {
  readonly id = types++;
  constructor(
    readonly name: string,
    /** Newer form only: the type it derives from; null for the root. */
    readonly parent: TbaaType | null,
    readonly members: readonly TbaaType[],
    /** In bytes, ascending. */
    readonly offsets: readonly number[],
    /** Newer form only, else empty: bytes of each member. */
    readonly sizes: readonly number[],
    /** Newer form only, else -1: bytes of the type. */
    readonly size: number,
  ) {}
  /** Of the newer form. Roots are of both. */
  get sized(): boolean {
    return this.size >= 0;
  }
  get isRoot(): boolean {
    return this.members.length === 0 && this.parent === null;
  }
  /** The type it derives from, or in the older form its first member; null for a root. */
  get above(): TbaaType | null {
    return this.parent ?? (this.sized ? null : (this.members[0] ?? null));
  }
}

let tags = 0;

export class TbaaTag {
  readonly id = tags++;
  constructor(
    readonly base: TbaaType,
    readonly access: TbaaType,
    /** Of the access in the base, in bytes. */
    readonly offset: number,
    /** Newer form only, else -1: bytes of the access. */
    readonly size: number,
    /** Nothing writes this memory while it can be accessed so. */
    readonly constant: boolean,
  ) {}
}

/** By number. */
const allTags: TbaaTag[] = [];
/** The tag of a number, if there is one. */
export const tagOfId = (id: number): TbaaTag | undefined => allTags[id];

const typeTable = new Map<string, TbaaType>();
const tagTable = new Map<string, TbaaTag>();

/** The type of these parts; see `TbaaType`. */
export function tbaaType(
  name: string,
  parent: TbaaType | null,
  members: readonly TbaaType[],
  offsets: readonly number[],
  sizes: readonly number[] = [],
  size = -1,
): TbaaType {
  const parts = members.map((m, i) => `${m.id}@${offsets[i]}${size < 0 ? "" : `+${sizes[i]}`}`);
  const key = `${size},${parent === null ? "" : parent.id},${parts.join()},${name}`;
  let type = typeTable.get(key);
  if (type === undefined)
    typeTable.set(key, (type = new TbaaType(name, parent, members, offsets, sizes, size)));
  return type;
}

/** The tag of these parts; see `TbaaTag`. */
export function tbaaTag(
  base: TbaaType,
  access: TbaaType,
  offset: number,
  size = -1,
  constant = false,
): TbaaTag {
  const key = `${base.id},${access.id},${offset},${size},${constant}`;
  let tag = tagTable.get(key);
  if (tag === undefined) {
    tag = new TbaaTag(base, access, offset, size, constant);
    tagTable.set(key, tag);
    allTags.push(tag);
  }
  return tag;
}

/** Whether accesses with these tags can touch one place. */
export function tbaaMayAlias(a: TbaaTag | null, b: TbaaTag | null): boolean {
  if (a === b || a === null || b === null) return true;
  const common = commonType(a.access, b.access);
  // Different type systems say nothing of each other.
  if (common === null) return true;
  return reaches(a, b, common) ?? reaches(b, a, common) ?? false;
}

/** What holds of an access that may be either of two; null when nothing does. */
export function commonTag(a: TbaaTag | null, b: TbaaTag | null): TbaaTag | null {
  if (a === b || a === null || b === null) return a === b ? a : null;
  const common = commonType(a.access, b.access);
  if (common === null || common.isRoot) return null;
  if (!common.sized) return tbaaTag(common, common, 0, -1, a.constant && b.constant);
  return tbaaTag(common, common, 0, Math.max(a.size, b.size), a.constant && b.constant);
}

/** The nearest type that both derive from. */
function commonType(a: TbaaType, b: TbaaType): TbaaType | null {
  if (a === b) return a;
  const seen = new Set<TbaaType>();
  for (let t: TbaaType | null = a; t !== null; t = t.above) seen.add(t);
  for (let t: TbaaType | null = b; t !== null; t = t.above) if (seen.has(t)) return t;
  return null;
}

/**
 * Whether the access of `outer` may be one to a part of what `inner` accesses: false when the walk from the base of
 * `outer` shows that they lie apart, null when it does not meet the base of `inner` at all.
 */
function reaches(outer: TbaaTag, inner: TbaaTag, common: TbaaType): boolean | null {
  if (outer.access === outer.base && outer.access === common) return true;
  const { sized } = outer.base;
  let type: TbaaType | null = outer.base;
  let offset = outer.offset;
  while (type !== null) {
    if (type === inner.base)
      return (
        overlap(offset, outer.size, inner.offset, inner.size) ||
        type === outer.access ||
        inner.base === inner.access
      );
    if (sized && type === outer.access) break;
    const at = memberAt(type, offset);
    // Nothing there: past the root, or metadata that does not fit itself.
    if (at < 0 && !type.isRoot) return true;
    offset -= at < 0 ? 0 : type.offsets[at]!;
    type = at < 0 ? null : type.members[at]!;
  }
  // An aggregate that is accessed as a whole has all its members accessed.
  return sized && type !== null && hasMember(type, inner.base, new Set()) ? true : null;
}

const overlap = (a: number, aSize: number, b: number, bSize: number): boolean =>
  aSize < 0 || bSize < 0 ? a === b : a < b + bSize && b < a + aSize;

/** The last member that starts at or before an offset, or -1. */
function memberAt({ offsets }: TbaaType, offset: number): number {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsets[middle]! <= offset) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function hasMember(type: TbaaType, wanted: TbaaType, seen: Set<TbaaType>): boolean {
  if (type === wanted) return true;
  if (seen.has(type)) return false;
  seen.add(type);
  return type.members.some((member) => hasMember(member, wanted, seen));
}
