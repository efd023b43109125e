/**
 * Code of a function as bytes: what caches keep, and what those answer who compile functions for a link.
 *
 * Entries mean something under their keys only, in a link by the same build. Reading checks all there is to check without
 * the key: form, counts, ranges, and that the words are a packed function (lto/codegen/pack/check.ts).
 *
 * Layout: the version, the kind; symbols (names, digests of their headers); the packed function (symbol, where its code and
 * its blocks start, words, origins); then what the kind has besides.
 */
import { checkPacked } from "../../lto/codegen/pack/check.js";
import type { PackedFunction } from "../../lto/codegen/pack/format.js";
import type { AllocatedEntry, CodeEntry } from "../../lto/codegen/program/code-cache.js";
import type { CallFacts, FunctionFacts } from "../../lto/codegen/program/facts.js";
import type { CalleeNumber } from "../../lto/codegen/program/numbering.js";
import type { AllocationResult, Target } from "../../lto/codegen/target.js";
import { InputError } from "../../lto/ir/errors.js";
import { ByteReader, ByteWriter } from "../object/bytes.js";
import {
  readFlag,
  readFloat,
  readHex,
  readList,
  readSet,
  readWords,
  writeFlag,
  writeFloat,
  writeHex,
  writeList,
  writeSet,
  writeWords,
} from "./fields.js";

const version = 2;
const kinds = ["allocated", "completed"] as const;

export function encodeEntry(entry: CodeEntry): Uint8Array {
  const out = new ByteWriter(4 * entry.packed.words.length + 512);
  out.byte(version);
  out.byte(kinds.indexOf(entry.kind));
  writeList(out, entry.names, (name) => out.string(name));
  for (const header of entry.headers) writeHex(out, header);
  out.uint(entry.setCount);
  writePacked(out, entry.packed);
  if (entry.kind === "allocated") writeAllocated(out, entry);
  else {
    writeFlag(out, entry.wrapped);
    writeList(out, entry.sets, (place) => out.uint(place));
  }
  return out.finish();
}

/** @throws InputError */
export function decodeEntry(bytes: Uint8Array, target: Target): CodeEntry {
  const reader = new ByteReader(bytes);
  if (reader.byte() !== version) throw new InputError("code of a function in an unknown form");
  const kind = kinds[reader.below(kinds.length, "kind")]!;
  const names = readList(reader, () => reader.string());
  const headers = names.map(() => readHex(reader));
  const setCount = reader.uint();
  const packed = readPacked(reader);
  const counts = checkPacked(packed, { symbols: names.length, sets: setCount, target });
  const symbols = { names, headers, setCount };
  let entry: CodeEntry;
  if (kind === "allocated") {
    entry = {
      kind,
      ...symbols,
      packed,
      ...readAllocated(reader, names.length + setCount, counts.blocks, target),
    };
  } else {
    const wrapped = readFlag(reader);
    const sets = Uint32Array.from(readList(reader, () => reader.uint()));
    if (sets.join() !== counts.sets.join()) throw new InputError("sets of callees that are not in the code");
    entry = { kind, ...symbols, packed, places: Uint32Array.from(counts.globals), sets, wrapped };
  }
  if (reader.remaining !== 0) throw new InputError("trailing bytes after the code of a function");
  return entry;
}

function writePacked(out: ByteWriter, { symbol, words, code, blocks, origins }: PackedFunction): void {
  out.uint(symbol);
  out.uint(code);
  out.uint(blocks);
  writeWords(out, words);
  writeFlag(out, origins !== undefined);
  if (origins !== undefined) writeList(out, origins, (origin) => out.int(origin));
}

function readPacked(reader: ByteReader): PackedFunction {
  const symbol = reader.uint();
  const code = reader.uint();
  const blocks = reader.uint();
  const words = readWords(reader);
  if (!readFlag(reader)) return { symbol, words, code, blocks };
  return { symbol, words, code, blocks, origins: Int32Array.from(readList(reader, () => reader.int())) };
}

/** Of an allocation, in this order. */
const counted = ["spillSlots", "moves", "spills", "reloads", "rematerializations"] as const;

function writeAllocated(
  out: ByteWriter,
  { allocation, frequencies, facts }: Pick<AllocatedEntry, "allocation" | "frequencies" | "facts">,
): void {
  writeSet(out, allocation.written);
  writeSet(out, allocation.usedCalleeSaved);
  for (const name of counted) out.uint(allocation[name]);
  writeFlag(out, frequencies !== undefined);
  if (frequencies !== undefined) writeList(out, frequencies, (frequency) => writeFloat(out, frequency));
  writeSet(out, facts.written);
  for (const flag of [facts.returns, facts.forSize, facts.aligned]) writeFlag(out, flag);
  writeFloat(out, facts.work);
  writeList(out, facts.calls, ({ callee, liveAcross, tail, frequency }) => {
    out.uint(callee);
    writeSet(out, liveAcross);
    writeFlag(out, tail);
    writeFloat(out, frequency);
  });
}

function readAllocated(
  reader: ByteReader,
  callees: number,
  blocks: number,
  { registers }: Target,
): Pick<AllocatedEntry, "allocation" | "frequencies" | "facts"> {
  const set = () => readSet(reader, registers.count);
  const written = set();
  const usedCalleeSaved = set();
  const [spillSlots, moves, spills, reloads, rematerializations] = counted.map(() => reader.uint());
  const allocation: AllocationResult = {
    written,
    usedCalleeSaved,
    spillSlots: spillSlots!,
    moves: moves!,
    spills: spills!,
    reloads: reloads!,
    rematerializations: rematerializations!,
  };
  const frequencies = readFlag(reader)
    ? Float64Array.from(readList(reader, () => readFloat(reader), 8))
    : undefined;
  if (frequencies !== undefined && frequencies.length !== blocks)
    throw new InputError("frequencies of other blocks");
  const writtenByAll = set();
  const [returns, forSize, aligned] = [readFlag(reader), readFlag(reader), readFlag(reader)];
  const work = readFloat(reader);
  const calls = readList(
    reader,
    (): CallFacts => ({
      callee: reader.below(callees, "callee") as CalleeNumber,
      liveAcross: set(),
      tail: readFlag(reader),
      frequency: readFloat(reader),
    }),
    12,
  );
  const facts: FunctionFacts = { written: writtenByAll, returns, forSize, aligned, work, calls };
  return { allocation, frequencies, facts };
}
