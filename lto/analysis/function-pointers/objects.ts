/**
 * Objects of the pointer analysis, their locations, and what is known of their bytes.
 *
 * An object has a node for each word that is accessed as a pointer at a known offset, made on first access, and two
 * more: `anything`, what was stored at unknown offsets, flows into every word; `everything` is what any word holds.
 * Byte accesses by something other than pointers are remembered as ranges, since words may come later.
 */
import type { FlowGraph } from "./flow-graph.js";
import { leakNode, noNode, unknownNode } from "./nodes.js";

/** Words that a byte access touches now. */
export interface Range {
  readonly words: readonly number[];
  /** The object if the access concerns all of it, else -1. */
  readonly object: number;
}

const nothing: Range = { words: [], object: -1 };
/** An object with more distinct byte ranges is taken as accessed everywhere. */
const maxRanges = 32;
const anyOffset = -1;
/** As the scale of a displacement: anything may be added. */
export const anyScale = -1;

interface TrackedObject {
  readonly size: number;
  /** Bytes of an array element; 0 for what is no array. */
  readonly stride: number;
  readonly anything: number;
  readonly everything: number;
  /** Locations accessed as pointers, by offset. */
  readonly words: Map<number, number>;
  readonly locations: Map<number, number>;
  /** Pairs of start and end. */
  readonly reads: number[];
  readonly writes: number[];
  allRead: boolean;
  allWritten: boolean;
}

export class ObjectTable {
  private readonly objects: TrackedObject[] = [];
  private readonly owner: number[] = [];
  private readonly offsets: number[] = [];

  constructor(
    private readonly graph: FlowGraph,
    /** Bytes of a pointer. */
    private readonly wordBytes: number,
  ) {}

  /**
   * @param size bytes
   * @param stride bytes of an element if it is an array, else 0
   * @returns its number
   */
  create(size: number, stride: number): number {
    const anything = this.graph.addNodes(2);
    const everything = anything + 1;
    this.graph.copy(anything, everything);
    this.objects.push({
      size,
      stride,
      anything,
      everything,
      words: new Map(),
      locations: new Map(),
      reads: [],
      writes: [],
      allRead: false,
      allWritten: false,
    });
    return this.objects.length - 1;
  }

  objectOf(location: number): number {
    return this.owner[location]!;
  }
  anything(object: number): number {
    return this.objects[object]!.anything;
  }
  everything(object: number): number {
    return this.objects[object]!.everything;
  }

  /** The location at an offset; outside of the object it is one of unknown offset. */
  at(object: number, offset: number): number {
    const { size, stride, locations } = this.objects[object]!;
    let place = offset;
    if (!Number.isSafeInteger(offset)) place = anyOffset;
    else if (stride > 0) place = ((offset % stride) + stride) % stride;
    else if (offset < 0 || offset > size) place = anyOffset;
    let location = locations.get(place);
    if (location === undefined) {
      location = this.owner.length;
      this.owner.push(object);
      this.offsets.push(place);
      locations.set(place, location);
    }
    return location;
  }

  /** The location of unknown offset. */
  anywhere(object: number): number {
    return this.at(object, Number.NaN);
  }

  /** @param scale multiples of it are added; 0: none */
  displaced(location: number, bytes: number, scale: number): number {
    const object = this.owner[location]!;
    const { stride } = this.objects[object]!;
    const offset = this.offsets[location]!;
    const known =
      offset !== anyOffset && (scale === 0 || (stride > 0 && scale !== anyScale && scale % stride === 0));
    return known ? this.at(object, offset + bytes) : this.anywhere(object);
  }

  /** The node of the word at a location; `noNode` if its offset is not known or it lies across elements. */
  wordAt(location: number): number {
    const index = this.owner[location]!;
    const object = this.objects[index]!;
    const offset = this.offsets[location]!;
    if (offset === anyOffset || (object.stride > 0 && offset + this.wordBytes > object.stride)) return noNode;
    let word = object.words.get(offset);
    if (word === undefined) {
      word = this.graph.addNodes(1);
      object.words.set(offset, word);
      this.graph.copy(object.anything, word);
      this.graph.copy(word, object.everything);
      if (overlaps(object.reads, offset, this.wordBytes)) this.graph.copy(word, leakNode);
      if (overlaps(object.writes, offset, this.wordBytes)) this.graph.copy(unknownNode, word);
    }
    return word;
  }

  /** Notes that bytes are read as something that is no pointer. */
  read(location: number, bytes: number): Range {
    const index = this.owner[location]!;
    const object = this.objects[index]!;
    if (object.allRead) return nothing;
    const range = this.note(index, location, bytes, object.reads);
    if (range.object >= 0) object.allRead = true;
    // What was stored at unknown offsets may be in these bytes.
    else if (range !== nothing) this.graph.copy(object.anything, leakNode);
    return range;
  }

  /** Notes that bytes are written by something that is no pointer. */
  written(location: number, bytes: number): Range {
    const index = this.owner[location]!;
    const object = this.objects[index]!;
    if (object.allWritten) return nothing;
    const range = this.note(index, location, bytes, object.writes);
    if (range.object >= 0) object.allWritten = true;
    // Whoever copies the object copies these bytes, too.
    else if (range !== nothing) this.graph.copy(unknownNode, object.everything);
    return range;
  }

  private note(index: number, location: number, bytes: number, ranges: number[]): Range {
    const object = this.objects[index]!;
    const start = this.offsets[location]!;
    const end = start + bytes;
    const whole = { words: [], object: index };
    if (start === anyOffset || bytes === 0 || ranges.length >= 2 * maxRanges) return whole;
    if (object.stride > 0 && end > object.stride) return whole;
    for (let i = 0; i < ranges.length; i += 2)
      if (ranges[i]! <= start && end <= ranges[i + 1]!) return nothing;
    ranges.push(start, end);
    const words: number[] = [];
    for (const [offset, word] of object.words)
      if (start < offset + this.wordBytes && offset < end) words.push(word);
    return { words, object: -1 };
  }
}

function overlaps(ranges: readonly number[], offset: number, bytes: number): boolean {
  for (let i = 0; i < ranges.length; i += 2)
    if (ranges[i]! < offset + bytes && offset < ranges[i + 1]!) return true;
  return false;
}
