/**
 * Metadata: named nodes (module flags, dependent libraries), the strings that some intrinsics take as operands, and
 * what is attached to instructions and globals as hints.
 *
 * Method: a METADATA block is only indexed, that is, the bit position of each entry is noted, and entries
 * are decoded when asked for. LLVM writes such an index itself into large blocks, so that the debug
 * information of a big module is jumped over; small blocks are scanned. O(entries), not O(their size).
 *
 * A function's own block numbers its entries after the module's.
 */

import { MetadataCode } from "../../../formats/bitcode/codes.js";
import { textOfBytes } from "../../../lto/ir/byte-text.js";
import { InputError, UnsupportedError } from "../../../lto/ir/errors.js";
import {
  HintReader,
  type MetadataEntry,
  type MetadataGraph,
  typeName,
} from "../../../lto/ir/hints/from-metadata.js";
import { attachmentFates, refusedAttachment } from "../../../lto/ir/metadata-names.js";
import type { Constant } from "../../../lto/ir/values.js";
import { type AbbreviationScope, type BitReader, Entry } from "./bitstream.js";
import type { ValueTable } from "./value-table.js";

/** A run of consecutive entries. */
interface Run {
  readonly first: number;
  readonly count: number;
}
interface StringRun extends Run {
  readonly kind: "strings";
  /** Byte positions: of the lengths, of the characters, and the end. */
  readonly lengths: number;
  readonly characters: number;
  readonly end: number;
  /** Where each string starts, relative to `characters`; made on first use. */
  starts: Uint32Array | null;
  readonly decoded: Map<number, string>;
}
interface RecordRun extends Run {
  readonly kind: "records";
  /** Bit position of each record. */
  readonly positions: readonly number[];
  readonly scope: AbbreviationScope;
  readonly end: number;
}

const other: MetadataEntry = { kind: "other" };
const malformed = (what: string): InputError => new InputError(`malformed bitcode: ${what}`);

export class MetadataReader implements MetadataGraph {
  private runs: (StringRun | RecordRun)[] = [];
  private count = 0;
  /** Answers of `text`, since one node may be an operand of many calls. */
  private readonly texts = new Map<number, string | null>();
  /** Names of the kinds of attachments that become hints or are refused, by number. */
  private readonly kinds = new Map<number, string>();
  /** [global, kind, entry, kind, entry, …] of each global that is no function with a body. */
  readonly globalAttachments: number[][] = [];
  /** The number of the kind `dbg`; -1: nothing is attached by that name. */
  private debugKind = -1;
  /** Of `DIAssignID`. */
  private assignmentKind = -1;
  readonly hints = new HintReader(this);
  source = "";
  /** Entries of each named node. */
  readonly named = new Map<string, readonly number[]>();

  constructor(
    /** A reader of its own, so that asking for metadata disturbs no other reading. */
    private readonly reader: BitReader,
    private readonly values: ValueTable,
  ) {}

  /** Indexes the METADATA block whose header is at `pos`. */
  index(pos: number, blockId: number): void {
    const { reader } = this;
    reader.enterAt(pos, blockId);
    const scope = reader.scope;
    const end = reader.end;
    let positions: number[] = [];
    const flush = (): void => {
      this.add(positions, scope, end);
      positions = [];
    };
    let name: string | null = null;
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) break;
      if (entry === Entry.SubBlock) {
        reader.skip();
        continue;
      }
      switch (reader.code) {
        case MetadataCode.Name:
          name = reader.text(0);
          continue;
        case MetadataCode.NamedNode:
          if (name !== null) this.named.set(name, operandNumbers(reader, 0));
          name = null;
          continue;
        case MetadataCode.Strings:
          flush();
          this.addStrings(reader);
          continue;
        case MetadataCode.IndexOffset:
          flush();
          this.useIndex(scope, end);
          continue;
        case MetadataCode.Kind:
          this.addKind(reader);
          continue;
        case MetadataCode.GlobalDeclAttachment:
          this.globalAttachments.push(operandNumbers(reader, 0));
          continue;
        case MetadataCode.Index:
          continue;
        default:
          positions.push(reader.entryPos);
      }
    }
    flush();
  }

  /** Reads the METADATA_KIND block whose header is at `pos`. */
  readKinds(pos: number, blockId: number): void {
    const { reader } = this;
    reader.enterAt(pos, blockId);
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) return;
      if (entry === Entry.SubBlock) reader.skip();
      else if (reader.code === MetadataCode.Kind) this.addKind(reader);
    }
  }

  private addKind(reader: BitReader): void {
    const name = reader.count > 1 ? reader.text(1) : "";
    if (name === "dbg") this.debugKind = reader.number(0);
    if (name === "DIAssignID") this.assignmentKind = reader.number(0);
    const fate = attachmentFates.get(name);
    if (fate === "read" || fate === "refused") this.kinds.set(reader.number(0), name);
  }

  /**
   * The attachments [kind, entry] of a record from one of its operands on that become hints.
   * @throws UnsupportedError for those that are refused
   */
  attachments(record: readonly number[], from: number): (readonly [string, number])[] {
    const list: (readonly [string, number])[] = [];
    for (let i = from; i + 1 < record.length; i += 2) {
      const kind = this.kinds.get(record[i]!);
      if (kind === undefined) continue;
      const refused = refusedAttachment(kind);
      if (refused !== null) throw new UnsupportedError(refused);
      list.push([kind, record[i + 1]!]);
    }
    return list;
  }

  /** The entries that a record attaches by the name `dbg`, from one of its operands on. */
  debugAttachments(record: readonly number[], from: number): number[] {
    const entries: number[] = [];
    for (let i = from; i + 1 < record.length; i += 2)
      if (record[i] === this.debugKind) entries.push(record[i + 1]!);
    return entries;
  }

  /** The entry that links an instruction to assignments; -1: none. */
  assignmentOf(record: readonly number[]): number {
    for (let i = 1; i + 1 < record.length; i += 2)
      if (record[i] === this.assignmentKind) return record[i + 1]!;
    return -1;
  }

  /** The records of the METADATA_ATTACHMENT block whose header is at `pos`. */
  attachmentRecords(pos: number, blockId: number): number[][] {
    const { reader } = this;
    const records: number[][] = [];
    reader.enterAt(pos, blockId);
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) return records;
      if (entry === Entry.SubBlock) reader.skip();
      else if (reader.code === MetadataCode.Attachment) records.push(operandNumbers(reader, 0));
    }
  }

  private add(positions: readonly number[], scope: AbbreviationScope, end: number): void {
    if (positions.length === 0) return;
    this.runs.push({ kind: "records", first: this.count, count: positions.length, positions, scope, end });
    this.count += positions.length;
  }

  private addStrings(reader: BitReader): void {
    const count = reader.count > 0 ? reader.number(0) : -1;
    const offset = reader.count > 1 ? reader.number(1) : -1;
    const lengths = reader.blobStart;
    const end = reader.blobEnd;
    // Each length takes at least six bits.
    if (!(count >= 0 && offset >= 0 && offset <= end - lengths && count * 6 <= offset * 8))
      throw malformed("metadata strings");
    const characters = lengths + offset;
    this.runs.push({
      kind: "strings",
      first: this.count,
      count,
      lengths,
      characters,
      end,
      starts: null,
      decoded: new Map(),
    });
    this.count += count;
  }

  /** Jumps to the index that a record [low, high] of the distance announced, and takes it over. */
  private useIndex(scope: AbbreviationScope, end: number): void {
    const { reader } = this;
    if (reader.count < 2) throw malformed("offset of a metadata index");
    const base = reader.pos;
    const target = base + reader.number(0) + reader.number(1) * 2 ** 32;
    if (!(target <= end)) throw malformed("offset of a metadata index");
    reader.pos = target;
    if (reader.advance() !== Entry.Record || reader.code !== MetadataCode.Index)
      throw malformed("metadata index");
    const positions: number[] = [];
    let at = base;
    for (let i = 0; i < reader.count; i++) {
      at += reader.number(i);
      if (!(at < target)) throw malformed("metadata index");
      positions.push(at);
    }
    this.add(positions, scope, end);
  }

  /** Adds the blocks of a function, whose headers are at `blocks`. @returns what `leaveFunction` needs */
  enterFunction(blocks: readonly number[], blockId: number): number {
    const mark = this.runs.length;
    this.hints.enterFunction(this.count);
    for (const pos of blocks) this.index(pos, blockId);
    return mark;
  }

  /** Forgets the blocks of a function. */
  leaveFunction(mark: number): void {
    if (this.runs.length > mark) this.count = this.runs[mark]!.first;
    this.runs.length = mark;
    this.texts.clear();
  }

  private run(id: number): StringRun | RecordRun {
    const { runs } = this;
    let low = 0;
    let high = runs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (runs[middle]!.first <= id) low = middle;
      else high = middle - 1;
    }
    const run = runs[low];
    if (run === undefined || !(id >= run.first && id < run.first + run.count))
      throw malformed(`undefined metadata ${id}`);
    return run;
  }

  /**
   * A string, or the bit position of the record of an id, which distinguishes it from those of other functions. The record
   * is the one that `record` shows, until something else is asked for.
   */
  locate(id: number): string | number {
    const run = this.run(id);
    const index = id - run.first;
    if (run.kind === "strings") return this.string(run, index);
    const position = run.positions[index]!;
    this.reader.recordAt(position, run.scope, run.end);
    return position;
  }
  get record(): BitReader {
    return this.reader;
  }
  /** As `locate`, but nothing is read; -1 where it is a string. */
  positionOf(id: number): number {
    const run = this.run(id);
    return run.kind === "strings" ? -1 : run.positions[id - run.first]!;
  }
  /** The value of a number of the table of values, which may be one of the function that is being decoded. */
  value(id: number): unknown {
    return this.values.get(id);
  }

  /** The entry of an id. */
  entry(id: number): MetadataEntry {
    const run = this.run(id);
    const index = id - run.first;
    if (run.kind === "strings") return { kind: "string", text: this.string(run, index) };
    const { reader } = this;
    reader.recordAt(run.positions[index]!, run.scope, run.end);
    switch (reader.code) {
      case MetadataCode.StringOld:
        return { kind: "string", text: reader.text(0) };
      case MetadataCode.Node:
      case MetadataCode.DistinctNode:
        return {
          kind: "node",
          distinct: reader.code === MetadataCode.DistinctNode,
          operands: operandNumbers(reader, 1).map((n) => (n < 0 ? null : n)),
        };
      case MetadataCode.Value:
        return { kind: "value", value: this.constant(reader.count > 1 ? reader.number(1) : -1) };
      default:
        return other;
    }
  }

  private constant(id: number): Constant | null {
    const slot = this.values.get(id);
    const kind = slot?.valueKind;
    return kind === "int" || kind === "float" || kind === "global" ? (slot as Constant) : null;
  }

  private string(run: StringRun, index: number): string {
    let text = run.decoded.get(index);
    if (text === undefined) {
      const starts = (run.starts ??= this.stringStarts(run));
      const from = run.characters + starts[index]!;
      text = textOfBytes(this.reader.bytes.subarray(from, run.characters + starts[index + 1]!));
      run.decoded.set(index, text);
    }
    return text;
  }

  /** The lengths are a run of six-bit variable-width numbers. */
  private stringStarts(run: StringRun): Uint32Array {
    const { reader } = this;
    reader.pos = run.lengths * 8;
    reader.end = run.characters * 8;
    const available = run.end - run.characters;
    const starts = new Uint32Array(run.count + 1);
    let at = 0;
    for (let i = 0; i < run.count; i++) {
      at += reader.vbr(6);
      if (!(at <= available)) throw malformed("metadata strings");
      starts[i + 1] = at;
    }
    return starts;
  }

  /** The string that an entry is or, for a node, begins with; the name of a type without a string. */
  text(id: number): string | null {
    let text = this.texts.get(id);
    if (text === undefined) this.texts.set(id, (text = this.decodeText(id)));
    return text;
  }

  private decodeText(id: number): string | null {
    const entry = this.entry(id);
    if (entry.kind === "string") return entry.text;
    if (entry.kind !== "node") return null;
    const first = entry.operands[0];
    if (first === undefined) return typeName(this, id);
    if (first === null) return null;
    const inner = this.entry(first);
    return inner.kind === "string" ? inner.text : null;
  }
}

/** All operands less `bias`. */
function operandNumbers(reader: BitReader, bias: number): number[] {
  const numbers: number[] = [];
  for (let i = 0; i < reader.count; i++) numbers.push(reader.number(i) - bias);
  return numbers;
}
