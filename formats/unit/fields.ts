/** Fields that entries and units have in common. */
import {
  highWord,
  lowWord,
  noRegisters,
  type RegisterSet,
  setOfWords,
} from "../../lto/codegen/register-set.js";
import { InputError } from "../../lto/ir/errors.js";
import type { ByteReader, ByteWriter } from "../object/bytes.js";

/** Digests are written in hexadecimal where they are text. */
export function writeHex(out: ByteWriter, text: string): void {
  out.bytes(Buffer.from(text, "hex"));
}
export function readHex(reader: ByteReader): string {
  return Buffer.from(reader.bytesRun()).toString("hex");
}

export function writeList<T>(out: ByteWriter, list: ArrayLike<T>, write: (item: T) => void): void {
  out.uint(list.length);
  for (let i = 0; i < list.length; i++) write(list[i]!);
}
/** @param leastBytes that an item takes */
export function readList<T>(reader: ByteReader, read: () => T, leastBytes = 1): T[] {
  const list: T[] = [];
  for (let left = reader.count("items", leastBytes); left > 0; left--) list.push(read());
  return list;
}

export function writeSet(out: ByteWriter, set: RegisterSet): void {
  out.uint(lowWord(set) >>> 0);
  out.uint(highWord(set) >>> 0);
}
/** @param count of registers that there are */
export function readSet(reader: ByteReader, count: number): RegisterSet {
  const low = reader.uint();
  const high = reader.uint();
  const fits = count >= 32 ? count >= 64 || high < 2 ** (count - 32) : high === 0 && low < 2 ** count;
  if (!fits) throw new InputError("a register that there is not");
  return low === 0 && high === 0 ? noRegisters : setOfWords(low, high);
}

export function writeFlag(out: ByteWriter, flag: boolean): void {
  out.byte(flag ? 1 : 0);
}
export const readFlag = (reader: ByteReader): boolean => reader.below(2, "flag") === 1;

/** 32-bit words, least significant byte first. */
export function writeWords(out: ByteWriter, words: Int32Array): void {
  out.uint(words.length);
  const bytes = new Uint8Array(4 * words.length);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < words.length; i++) view.setInt32(4 * i, words[i]!, true);
  out.raw(bytes);
}
export function readWords(reader: ByteReader): Int32Array {
  const count = reader.count("words", 4);
  const bytes = reader.raw(4 * count);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const words = new Int32Array(count);
  for (let i = 0; i < count; i++) words[i] = view.getInt32(4 * i, true);
  return words;
}

export function writeFloat(out: ByteWriter, value: number): void {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  out.raw(bytes);
}
/** A number that is finite. */
export function readFloat(reader: ByteReader): number {
  const bytes = reader.raw(8);
  const value = new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
  if (!Number.isFinite(value)) throw new InputError("a number that is not finite");
  return value;
}
