/**
 * The type tags of a module (`lto/ir/hints/tbaa.ts`): types, each after those it mentions, then tags. Bodies name tags
 * by their number in this table.
 */
import { InputError } from "../../lto/ir/errors.js";
import { type TbaaTag, type TbaaType, tbaaTag, tbaaType } from "../../lto/ir/hints/tbaa.js";
import { type ByteReader, ByteWriter } from "./bytes.js";

/** Bits of a type's first number. */
const Kind = { Sized: 1, Parent: 2 } as const;

export class TagTableWriter {
  private readonly types = new Map<TbaaType, number>();
  private readonly tags = new Map<TbaaTag, number>();
  private readonly typeBytes = new ByteWriter();
  private readonly tagBytes = new ByteWriter();

  /** Number of a tag, which is entered on first use. */
  index(tag: TbaaTag): number {
    let index = this.tags.get(tag);
    if (index === undefined) {
      const base = this.type(tag.base);
      const access = this.type(tag.access);
      const { tagBytes: out } = this;
      out.uint(base);
      out.uint(access);
      out.uint(tag.offset);
      out.uint(tag.size + 1);
      out.byte(tag.constant ? 1 : 0);
      index = this.tags.size;
      this.tags.set(tag, index);
    }
    return index;
  }

  private type(type: TbaaType): number {
    const known = this.types.get(type);
    if (known !== undefined) return known;
    const parent = type.parent === null ? -1 : this.type(type.parent);
    const members = type.members.map((member) => this.type(member));
    const { typeBytes: out } = this;
    out.uint((type.sized ? Kind.Sized : 0) | (parent >= 0 ? Kind.Parent : 0));
    out.string(type.name);
    if (parent >= 0) out.uint(parent);
    if (type.sized) out.uint(type.size);
    out.uint(members.length);
    members.forEach((member, i) => {
      out.uint(member);
      out.uint(type.offsets[i]!);
      if (type.sized) out.uint(type.sizes[i]!);
    });
    const index = this.types.size;
    this.types.set(type, index);
    return index;
  }

  write(out: ByteWriter): void {
    out.uint(this.types.size);
    out.append(this.typeBytes);
    out.uint(this.tags.size);
    out.append(this.tagBytes);
  }
}

/** Reads what `TagTableWriter.write` wrote. @throws InputError on malformed data */
export function readTagTable(reader: ByteReader): TbaaTag[] {
  const types: TbaaType[] = [];
  const type = (): TbaaType => types[reader.below(types.length, "type of an access")]!;
  for (let left = reader.count("types of accesses", 3); left > 0; left--) types.push(readType(reader, type));
  const tags: TbaaTag[] = [];
  for (let left = reader.count("type tags", 5); left > 0; left--) {
    const base = type();
    const access = type();
    const offset = reader.long();
    const size = reader.long() - 1;
    const constant = reader.below(2, "flag") === 1;
    if (base.sized !== access.sized || access.sized !== size >= 0) throw new InputError("malformed type tag");
    tags.push(tbaaTag(base, access, offset, size, constant));
  }
  return tags;
}

function readType(reader: ByteReader, type: () => TbaaType): TbaaType {
  const kind = reader.below(4, "kind of type");
  const name = reader.string();
  const isSized = (kind & Kind.Sized) !== 0;
  const parent = (kind & Kind.Parent) === 0 ? null : type();
  if (isSized !== (parent !== null)) throw new InputError("malformed type of accesses");
  const size = isSized ? reader.long() : -1;
  const members: TbaaType[] = [];
  const offsets: number[] = [];
  const sizes: number[] = [];
  let previous = 0;
  for (let left = reader.count("members", 2); left > 0; left--) {
    members.push(type());
    const offset = reader.long();
    if (offset < previous) throw new InputError("members out of order");
    previous = offset;
    offsets.push(offset);
    if (isSized) sizes.push(reader.long());
  }
  return tbaaType(name, parent, members, offsets, sizes, size);
}
