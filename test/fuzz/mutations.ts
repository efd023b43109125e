/** Damage to files of each kind: anywhere in the bytes, and where the format has its counts, lengths and tokens. */

import { Packr, Unpackr } from "msgpackr";
import type { Random } from "../support/random.js";
import { type BitBlock, damageTree, readTree, writeTree } from "./bitcode-tree.js";

export type Format = "bitcode" | "text" | "object" | "archive" | "elf" | "list" | "script" | "response";

export interface Seed {
  readonly name: string;
  readonly format: Format;
  readonly bytes: Uint8Array;
}

const trees = new WeakMap<Seed, BitBlock[]>();
const treeOf = (seed: Seed): BitBlock[] => {
  let tree = trees.get(seed);
  if (tree === undefined) trees.set(seed, (tree = readTree(seed.bytes)));
  return tree;
};

/** A damaged copy of `seed`, with pieces of `donor`, a seed of the same format. */
export function mutate(seed: Seed, donor: Seed, random: Random): Uint8Array {
  // One time in three, damage that knows nothing of the format.
  if (random.oneIn(3)) return damageBytes(seed.bytes, donor.bytes, random);
  switch (seed.format) {
    case "bitcode": {
      const tree = structuredClone(treeOf(seed));
      for (let n = 1 + random.below(2); n > 0; n--) damageTree(tree, treeOf(donor), random);
      return writeTree(tree);
    }
    case "text":
    case "list":
    case "script":
    case "response":
      return damageText(seed.bytes, donor.bytes, random);
    case "object":
      return damageObject(seed.bytes, donor.bytes, random);
    case "archive":
      return damageDigits(seed.bytes, random);
    case "elf":
      return damageFields(seed.bytes, random);
  }
}

/** Flips bits, sets bytes, cuts, doubles and deletes ranges, splices in parts of `donor`. */
export function damageBytes(base: Uint8Array, donor: Uint8Array, random: Random): Uint8Array {
  if (base.length === 0) return donor;
  const at = random.below(base.length);
  const length = 1 + random.below(Math.min(random.oneIn(4) ? 4096 : 32, base.length - at));
  const before = base.subarray(0, at);
  switch (random.below(7)) {
    case 0:
      return before.slice();
    case 1:
      return join(before, base.subarray(at + length));
    case 2:
      return join(before, base.subarray(at, at + length), base.subarray(at));
    case 3: {
      const from = random.below(donor.length);
      return join(before, donor.subarray(from, from + length), base.subarray(at + random.below(2) * length));
    }
    case 4: {
      const copy = base.slice();
      copy.fill(random.pick([0, 0xff, 0x20, 0x80]), at, at + length);
      return copy;
    }
    default: {
      const copy = base.slice();
      for (let n = 1 + random.below(4); n > 0; n--) {
        const place = random.below(copy.length);
        copy[place] = random.oneIn(2) ? copy[place]! ^ (1 << random.below(8)) : random.below(256);
      }
      return copy;
    }
  }
}

const join = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

/** Tokens of every text format here: quoted names whole, runs of letters and digits, single signs, blanks. */
const pieces = /[%@$!#]?"[^"\n]*"|[%@$!#]?[-\w.$]+|[^\s\w]|\s+/g;
const numbers =
  "0 1 2 7 8 16 31 32 33 63 64 65 128 -1 4294967296 9007199254740993 1e300 0x7FF0000000000001".split(" ");
const types =
  "i1 i8 i16 i32 i64 i128 i17 i65 i200 half float double x86_fp80 fp128 ptr void metadata token".split(" ");

function damageText(base: Uint8Array, donor: Uint8Array, random: Random): Uint8Array {
  const tokens = Buffer.from(base).toString("utf8").match(pieces) ?? [];
  const others = Buffer.from(donor).toString("utf8").match(pieces) ?? [" "];
  for (let left = 1 + random.below(3); left > 0 && tokens.length > 0; left--) {
    const at = random.below(tokens.length);
    const old = tokens[at]!;
    switch (random.below(10)) {
      case 0:
        tokens.splice(at, 1 + random.below(3));
        break;
      case 1:
        tokens.splice(at, 0, old);
        break;
      case 2: {
        const other = random.below(tokens.length);
        [tokens[at], tokens[other]] = [tokens[other]!, old];
        break;
      }
      case 3: {
        const from = random.below(others.length);
        tokens.splice(at, random.below(3), ...others.slice(from, from + 1 + random.below(20)));
        break;
      }
      case 4:
        tokens[at] = random.pick(others);
        break;
      default: {
        // Most valid text comes from a change of one number, type or value to another.
        const kind = /^-?\d/.test(old) ? numbers : types.includes(old) ? types : null;
        if (kind !== null) tokens[at] = random.pick(kind);
        else if (/^[%@]/.test(old)) tokens[at] = random.pick(tokens.filter((t) => t[0] === old[0]));
        else if (/^\w+$/.test(old))
          tokens[at] = random.pick(others.filter((t) => /^\w+$/.test(t)).concat("x"));
      }
    }
  }
  return Buffer.from(tokens.join(""));
}

const packing = { useRecords: false, mapsAsObjects: true, variableMapSize: true, bundleStrings: false };

/** Damages one of the parts of an object (formats/OBJECT.md); the header stays right. */
function damageObject(base: Uint8Array, donor: Uint8Array, random: Random): Uint8Array {
  const parts = partsOf(base);
  // Few objects have debug information, the last part.
  const which = random.below(parts[3]!.length > 0 ? 4 : 3);
  if (which === 0 && random.oneIn(2)) {
    const tables = new Unpackr(packing).unpack(parts[0]!) as unknown[];
    damageValue(tables, random);
    parts[0] = new Packr(packing).pack(tables);
  } else parts[which] = damageBytes(parts[which]!, partsOf(donor)[which]!, random);
  const header = base.slice(0, 28);
  const view = new DataView(header.buffer);
  parts.forEach((part, i) => {
    view.setUint32(12 + 4 * i, part.length, true);
  });
  return join(header, ...parts);
}

function partsOf(object: Uint8Array): Uint8Array[] {
  const view = new DataView(object.buffer, object.byteOffset);
  let at = 28;
  return [12, 16, 20, 24].map((field) => object.subarray(at, (at += view.getUint32(field, true))));
}

/** Walks down to a random place of nested arrays and changes what is there. */
function damageValue(list: unknown[], random: Random): void {
  if (list.length === 0) return;
  const at = random.below(list.length);
  const value = list[at];
  if (Array.isArray(value) && !random.oneIn(10)) {
    damageValue(value, random);
    return;
  }
  const kind = random.below(6);
  if (kind === 0) list.splice(at, 1);
  else if (kind === 1) list.splice(at, 0, structuredClone(value));
  else if (kind === 2) list[at] = list[random.below(list.length)];
  else if (typeof value === "number")
    list[at] = random.pick([value + 1, value - 1, 0, 2 ** 31, 2 ** 40, 255]);
  else if (typeof value === "string")
    list[at] = random.pick(["", "main", `${value}x`, "llvm.used", "\u0000"]);
  else list[at] = random.below(256);
}

/** Archives keep their numbers in decimal digits. */
function damageDigits(base: Uint8Array, random: Random): Uint8Array {
  const copy = base.slice();
  const digits = [...copy.keys()].filter((i) => copy[i]! >= 0x30 && copy[i]! <= 0x39);
  for (let n = 1 + random.below(3); n > 0; n--)
    copy[random.pick(digits)] = random.oneIn(5) ? random.below(128) : 0x30 + random.below(10);
  return copy;
}

/** ELF's fields are aligned integers of 2, 4 or 8 bytes, at the beginning and the end of a small file. */
function damageFields(base: Uint8Array, random: Random): Uint8Array {
  const copy = base.slice();
  const view = new DataView(copy.buffer);
  for (let n = 1 + random.below(2); n > 0; n--) {
    const size = random.pick([2, 4, 8]);
    const span = Math.min(copy.length, 1024) - 8;
    const at = (random.oneIn(4) ? random.below(64) : copy.length - 8 - random.below(span)) & -size;
    const old = size === 2 ? view.getUint16(at, true) : view.getUint32(at, true);
    const value = random.pick([
      old + 1,
      old - 1,
      old + 64,
      0,
      1,
      copy.length,
      0xffff,
      0x7fffffff,
      0xffffffff,
    ]);
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    if (size === 8 && random.oneIn(4)) view.setUint32(at + 4, random.pick([1, 0xffffffff]), true);
  }
  return copy;
}
