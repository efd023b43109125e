/**
 * Attribute groups and attribute lists of a bitcode module: the set of one place, and the sets of a function or call.
 *
 * What the version that is to read them does not know is left out, since attributes only promise; `memory` and `captures`
 * have older forms, which newer versions read as well.
 */
import {
  type AttributeList,
  type AttributeSet,
  type AttributeValue,
  IntegerRange,
} from "../../lto/ir/attributes.js";
import { bytesOfText } from "../../lto/ir/byte-text.js";
import type { Type } from "../../lto/ir/types.js";
import { attributeKinds, kindsOf } from "./attribute-kinds.js";
import { type BitWriter, signed } from "./bit-stream.js";
import { BlockId } from "./codes.js";
import type { TypeNumbers } from "./types.js";

const functionIndex = 0xffffffff;
const groupCode = 3;
const listCode = 2;
/** The versions from which on there are these. */
const memoryVersion = 16;
const capturesVersion = 21;
/** From this one on `memory` tells errno and what only the target knows from the rest. */
const locationsVersion = 22;

/** Stands for all bytes of an object. */
const wholeObject = 0xffffffffffffffffn;

const numbers = new Map(attributeKinds.map((kind, number) => [kind, number]));

/** Memory of arguments, that nobody else sees, and all other: two bits each, 1 read and 2 written. */
const argumentMemory = 0x03;
const inaccessibleMemory = 0x0c;

/** Versions that know how frames may be without a pointer to them, and who else may use its register. */
const reservedFrameVersion = 20;
const unreservedFrameVersion = 22;

/** A value as strong that the version knows: its verifier refuses others. */
function valueFor(key: string, value: string, version: number): string {
  if (key !== "frame-pointer") return value;
  const isUnknown =
    (value === "non-leaf-no-reserve" && version < unreservedFrameVersion) ||
    (value === "reserved" && version < reservedFrameVersion);
  return isUnknown ? "non-leaf" : value;
}

/** What versions before `memory` call it; less exactly where they have no word. */
function retiredMemory(effects: number): string[] {
  if (effects === 0) return ["readnone"];
  const words: string[] = [];
  if ((effects & 0x2a) === 0) words.push("readonly");
  else if ((effects & 0x15) === 0) words.push("writeonly");
  if ((effects & ~argumentMemory) === 0) words.push("argmemonly");
  else if ((effects & ~inaccessibleMemory) === 0) words.push("inaccessiblememonly");
  else if ((effects & ~(argumentMemory | inaccessibleMemory)) === 0)
    words.push("inaccessiblemem_or_argmemonly");
  return words;
}

/** In that form: the version of the form in the top byte; errno before the rest, and two kinds of the target after it. */
function withLocations(effects: number): bigint {
  const rest = effects >> 4;
  const all = (effects & 0x0f) | (rest << 4) | (rest << 6) | (rest << 8) | (rest << 10);
  return (1n << 56n) | BigInt(all);
}

export class AttributeNumbers {
  private readonly groups = new Map<string, readonly (number | bigint)[]>();
  private readonly groupNumbers = new Map<string, number>();
  private readonly lists = new Map<string, number>();
  private readonly known = new Map<AttributeList, number>();
  private readonly kinds: number;

  /** @param version of the LLVM that reads it */
  constructor(
    private readonly types: TypeNumbers,
    private readonly version: number,
  ) {
    this.kinds = kindsOf(version);
  }

  /** The number of a list, from 1 on; 0 for one that says nothing. Given when it is first asked for. */
  of(list: AttributeList): number {
    let number = this.known.get(list);
    if (number === undefined) this.known.set(list, (number = this.numberOf(list)));
    return number;
  }

  private numberOf(list: AttributeList): number {
    const groups = [
      this.group(0, list.result),
      ...list.parameters.map((set, i) => this.group(i + 1, set)),
      this.group(functionIndex, list.fn),
    ].filter((group) => group !== 0);
    if (groups.length === 0) return 0;
    const key = groups.join(",");
    let number = this.lists.get(key);
    if (number === undefined) this.lists.set(key, (number = this.lists.size + 1));
    return number;
  }

  /** The number of a group, from 1 on; 0: it says nothing. */
  private group(index: number, set: AttributeSet): number {
    if (set.isEmpty) return 0;
    const record: (number | bigint)[] = [];
    for (const kind of [...set.kinds.keys()].sort()) this.kind(record, kind, set.kinds.get(kind)!, index);
    for (const key of [...set.strings.keys()].sort()) {
      const value = valueFor(key, set.strings.get(key)!, this.version);
      record.push(value === "" ? 3 : 4, ...bytesOfText(key), 0);
      if (value !== "") record.push(...bytesOfText(value), 0);
    }
    if (record.length === 0) return 0;
    const key = `${index} ${record.join(",")}`;
    let number = this.groupNumbers.get(key);
    if (number === undefined) {
      this.groupNumbers.set(key, (number = this.groupNumbers.size + 1));
      this.groups.set(key, [number, index, ...record]);
    }
    return number;
  }

  private kind(record: (number | bigint)[], kind: string, value: AttributeValue, index: number): void {
    if (kind === "memory" && this.version < memoryVersion && index === functionIndex) {
      for (const word of retiredMemory(Number(value))) record.push(0, numbers.get(word)!);
      return;
    }
    if (kind === "captures" && this.version < capturesVersion) {
      if (Number(value) === 0) record.push(0, numbers.get("nocapture")!);
      return;
    }
    const number = numbers.get(kind);
    if (number === undefined || number >= this.kinds) return;
    if (kind === "memory" && this.version >= locationsVersion) {
      record.push(1, number, withLocations(Number(value)));
      return;
    }
    // It has a size from a later version on than there are numbers for.
    const isWhole = kind === "dead_on_return" && (value === true || value === wholeObject);
    if (kind === "dead_on_return" && !isWhole) return;
    if (value === true || isWhole) record.push(0, number);
    else if (typeof value !== "object") record.push(1, number, BigInt.asUintN(64, BigInt(value)));
    else if (value instanceof IntegerRange) {
      if (value.type.bits <= 64)
        record.push(7, number, value.type.bits, signed(value.from), signed(value.to));
    } else record.push(6, number, this.types.of(value as Type));
  }

  write(w: BitWriter): void {
    if (this.groups.size === 0) return;
    w.block(BlockId.ParamAttrGroup, () => {
      for (const record of this.groups.values()) w.record(groupCode, record);
    });
    w.block(BlockId.ParamAttr, () => {
      for (const key of this.lists.keys()) w.record(listCode, key.split(",").map(Number));
    });
  }
}
