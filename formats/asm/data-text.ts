/**
 * The image of an initialiser as data directives.
 *
 * Runs of zeros become `.zero`, text becomes `.ascii` or `.asciz`, other bytes become words; each relocation
 * is one directive. Linear in the image.
 */

import { UnsupportedError } from "../../lto/ir/errors.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import type { Address, SymbolTerm } from "./const-eval.js";
import type { DataImage, Relocation } from "./data-image.js";
import { escapeBytes, isText } from "./escape.js";
import { addressTakenLabel, type SymbolNames } from "./names.js";

const wordDirective: Readonly<Record<number, string>> = { 1: ".byte", 2: ".short", 4: ".long", 8: ".quad" };
/** Shorter runs of zeros go into the words around them. */
const zeroRun = 16;
const bytesPerLine = 64;

function termText(term: SymbolTerm, names: SymbolNames): string {
  if (term.kind === "block") return addressTakenLabel(term.fn.name, term.block);
  return names.symbol(term.global);
}

/** `plus-minus+offset`. @param suffix of the first */
export function addressText(value: Address, names: SymbolNames, suffix = ""): string {
  let text = value.plus === null ? "" : termText(value.plus, names) + suffix;
  if (value.minus !== null) text += `-${termText(value.minus, names)}`;
  if (value.offset > 0n) text += `+${value.offset}`;
  else if (value.offset < 0n) text += String(value.offset);
  return text;
}

/**
 * A function's distance from the object that says it, where the function may be in another file: that of a stub of the
 * linker's. Assemblers refuse `f@PLT - object`; a stub alone is its distance from where it is written. What is local needs none.
 */
function stubText({ offset: at, size, value }: Relocation, names: SymbolNames, object: GlobalValue): string {
  const { plus, minus, offset } = value;
  if (plus?.kind !== "global" || plus.global.isLocal) return addressText(value, names);
  if (size !== 4 || minus?.kind !== "global" || minus.global !== object)
    throw new UnsupportedError("dso_local_equivalent but for its distance in 32 bits", `@${object.name}`);
  return addressText({ plus, minus: null, offset: offset + BigInt(at) }, names, "@PLT");
}

/** An absolute address has room for any: it needs no stub. */
const needsStub = ({ plus, minus }: Address): boolean =>
  plus !== null && plus.kind === "global" && plus.plt && minus !== null;

/** Directives for the whole image, each on a line. @param object that it is the image of */
export function imageText(image: DataImage, names: SymbolNames, object: GlobalValue): string {
  const { bytes } = image;
  let out = "";
  let at = 0;
  for (const relocation of image.relocations) {
    const { offset, size, value } = relocation;
    out += bytesText(bytes, at, offset);
    const text = needsStub(value) ? stubText(relocation, names, object) : addressText(value, names);
    out += `\t${wordDirective[size]}\t${text}\n`;
    at = offset + size;
  }
  return out + bytesText(bytes, at, bytes.length);
}

/** End of the run of zeros that starts at `from`. */
function zerosEnd(bytes: Uint8Array, from: number, end: number): number {
  let i = from;
  while (i < end && bytes[i] === 0) i++;
  return i;
}

export function bytesText(bytes: Uint8Array, start: number, end: number): string {
  let out = "";
  let at = start;
  // Start of the bytes not yet written.
  let from = start;
  while (at < end) {
    if (bytes[at] !== 0) {
      at++;
      continue;
    }
    const stop = zerosEnd(bytes, at, end);
    if (stop - at >= zeroRun || (stop === end && stop - at > 1)) {
      out += `${runText(bytes, from, at)}\t.zero\t${stop - at}\n`;
      from = stop;
    }
    at = stop;
  }
  return out + runText(bytes, from, end);
}

/** Bytes without long runs of zeros: as text if mostly printable, else as words. */
function runText(bytes: Uint8Array, start: number, end: number): string {
  if (start === end) return "";
  let printable = 0;
  for (let i = start; i < end; i++) if (isText(bytes[i]!)) printable++;
  return printable * 4 >= (end - start) * 3 || end - start < 4
    ? asciiText(bytes, start, end)
    : wordsText(bytes, start, end);
}

function asciiText(bytes: Uint8Array, start: number, end: number): string {
  let out = "";
  for (let at = start; at < end; ) {
    const stop = Math.min(at + bytesPerLine, end);
    const terminated = stop === end && bytes[end - 1] === 0;
    out += terminated
      ? `\t.asciz\t"${escapeBytes(bytes, at, stop - 1)}"\n`
      : `\t.ascii\t"${escapeBytes(bytes, at, stop)}"\n`;
    at = stop;
  }
  return out;
}

function wordsText(bytes: Uint8Array, start: number, end: number): string {
  let out = "";
  let at = start;
  while (end - at >= 4) {
    const stop = Math.min(at + bytesPerLine, at + ((end - at) & ~3));
    let line = "\t.long\t";
    for (let i = at; i < stop; i += 4) {
      const word = (bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)) >>> 0;
      line += i === at ? word : `,${word}`;
    }
    out += `${line}\n`;
    at = stop;
  }
  if (at < end) out += `\t.byte\t${[...bytes.subarray(at, end)].join(",")}\n`;
  return out;
}
