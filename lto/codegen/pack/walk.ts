/**
 * A packed function looked at in place: where its blocks and instructions lie among the words (format.ts), for what
 * compares and replaces code without making objects of it. Linear, one step an instruction.
 *
 * Breaks if: it differs from pack.ts in what an instruction consists of.
 */
import {
  asmOperands,
  defsShift,
  extras,
  HasClobbers,
  HasDetail,
  HasExtra,
  HasImm,
  HasMem,
  HasSymbol,
  HasTargets,
  HasWideImm,
  IsLarge,
  maxDefs,
  maxUses,
  type PackedFunction,
  propertiesAt,
  symbolKindBits,
  symbolTargets,
  usesShift,
} from "./format.js";

/** Of a call's flags: it leads to a landing pad. */
const unwinds = 16;

/** What the head of a packed function says. */
export interface PackedHead {
  /** Index into `goals`. */
  readonly goal: number;
  /** Bits of `Property`. */
  readonly properties: number;
  readonly blocks: number;
}

/** Words of a text, its length included. */
const textWords = (words: Int32Array, at: number): number => 1 + ((words[at]! + 1) >> 1);

/** Where the number of blocks stands. */
function blockCountAt(words: Int32Array): number {
  // Result registers (2), unpreserved ones (2), incoming bytes (2), block ids.
  let at = 9;
  at += textWords(words, at);
  return at + 1 + 6 * words[at]!;
}

export function packedHead({ words }: PackedFunction): PackedHead {
  return { goal: words[0]!, properties: words[propertiesAt]!, blocks: words[blockCountAt(words)]! };
}

const doubleWords = new Int32Array(2);
const double = new Float64Array(doubleWords.buffer);

/** Blocks by position/** Blocks, by position. */
export interface PackedShape {
  /** `MBlock.frequency` */
  readonly frequencies: Float64Array;
  readonly successors: readonly (readonly number[])[];
  /** The first one, and those that are entered from elsewhere. */
  readonly entries: readonly number[];
}

export function packedShape({ words }: PackedFunction): PackedShape {
  let at = blockCountAt(words);
  const count = words[at++]!;
  const frequencies = new Float64Array(count);
  const successors: number[][] = [];
  const entries = [0];
  for (let b = 0; b < count; b++) {
    // Its number, flags, label; the frequency; successors and predecessors.
    if (b > 0 && words[at + 1]! !== 0) entries.push(b);
    doubleWords[0] = words[at + 3]!;
    doubleWords[1] = words[at + 4]!;
    frequencies[b] = double[0]!;
    at += 5;
    const own: number[] = [];
    for (let n = words[at++]!; n > 0; n--, at++) if (words[at]! >= 0) own.push(words[at]!);
    successors.push(own);
    at += 1 + words[at]!;
  }
  return { frequencies, successors, entries };
}

/** The instruction that starts at `at` is a call. */
export const isCallAt = (words: Int32Array, at: number): boolean =>
  (words[at]! & HasExtra) !== 0 && extras[words[extraStart(words, at)]!] === "call";

/** What a call enters, as packed. -1: no global, or one that is only named; no set of callees. */
export function calledAt(words: Int32Array, at: number): { readonly global: number; readonly set: number } {
  const flags = extraStart(words, at) + 1;
  return { global: (words[flags]! & 8) === 0 ? -1 : Math.max(words[flags + 3]!, -1), set: words[flags + 1]! };
}

const skipGlobal = (words: Int32Array, at: number): number =>
  words[at]! >= 0 ? at + 1 : at + 1 + textWords(words, at + 1);

function skipSymbol(words: Int32Array, at: number): number {
  const kind = symbolTargets[words[at]! >> symbolKindBits]!;
  at++;
  switch (kind) {
    case "global":
      return skipGlobal(words, at);
    case "foreign-block":
      return skipGlobal(words, at) + 1;
    case "constant":
      return at + 2 + ((words[at + 1]! + 3) >> 2);
    case "block":
    case "jump-table":
      return at + 1;
    case "external":
      return at + textWords(words, at);
  }
}

/** Registers count one word each. */
function skipMemory(words: Int32Array, at: number): number {
  const head = words[at]!;
  at += 3 + (head & 1) + ((head >> 1) & 1);
  return (head & 4) !== 0 ? skipSymbol(words, at) : at;
}

const skipWide = (at: number): number => at + 3;

function skipExtra(words: Int32Array, at: number): number {
  switch (extras[words[at]!]!) {
    case "call": {
      const flags = words[at + 1]!;
      at += 4;
      if ((flags & 8) !== 0) at = skipGlobal(words, at);
      return (flags & unwinds) !== 0 ? at + 1 : at;
    }
    case "asm":
      return skipAssembly(words, at + 1);
    case "landing-pad": {
      let n = words[at + 2]!;
      for (at += 3; n > 0; n--) at += words[at]! < 0 ? 2 : 1 + words[at]!;
      return at;
    }
    case "jump-table":
    case "number":
      return at + 2;
    case "unwind":
      return at + 4;
  }
}

function skipAssembly(words: Int32Array, at: number): number {
  at += textWords(words, at);
  at += (words[at]! & 1) === 0 ? 1 : 2;
  for (let n = words[at++]!; n > 0; n--)
    switch (asmOperands[words[at++]!]!) {
      case "def":
      case "use":
        at += 2;
        break;
      case "mem":
        at = words[at]! >= 0 ? at + 1 : skipMemory(words, at + 1);
        break;
      case "imm":
        at = skipWide(at);
        break;
      case "symbol":
        at = skipSymbol(words, at) + 2;
        break;
      case "block":
        at++;
        break;
      case "text":
        at += textWords(words, at);
    }
  return at;
}

/** Where an instruction's registers end. */
function behindRegisters(words: Int32Array, at: number): number {
  const head = words[at]!;
  if ((head & IsLarge) !== 0) return at + 5 + words[at + 2]! + words[at + 3]!;
  return at + 1 + ((head >> defsShift) & maxDefs) + ((head >> usesShift) & maxUses);
}

/** Where what is extra of an instruction starts, or would. */
function extraStart(words: Int32Array, at: number): number {
  const head = words[at]!;
  at = behindRegisters(words, at);
  if ((head & HasMem) !== 0) at = skipMemory(words, at);
  if ((head & HasImm) !== 0) at++;
  if ((head & HasWideImm) !== 0) at = skipWide(at);
  if ((head & HasSymbol) !== 0) at = skipSymbol(words, at);
  if ((head & HasClobbers) !== 0) at++;
  if ((head & HasDetail) !== 0) at++;
  return (head & HasTargets) !== 0 ? at + 1 + words[at]! : at;
}

/** Where the instruction that starts at `at` ends. */
export function skipInstruction(words: Int32Array, at: number): number {
  const start = extraStart(words, at);
  return (words[at]! & HasExtra) !== 0 ? skipExtra(words, start) : start;
}

/** Where the words of a call that leads to a landing pad say so, as bit `unwinds`; -1 for other instructions. */
function unwindingAt(words: Int32Array, at: number): number {
  if ((words[at]! & HasExtra) === 0) return -1;
  const start = extraStart(words, at);
  return extras[words[start]!] === "call" && (words[start + 1]! & unwinds) !== 0 ? start + 1 : -1;
}

/** The position of the landing pad that a call leads to, which is its last word; -1 for other instructions. */
export const landingPadOf = (words: Int32Array, at: number): number =>
  unwindingAt(words, at) < 0 ? -1 : words[skipInstruction(words, at) - 1]!;

/** The words of a call, without its landing pad; null for what leads to none. */
export function withoutLandingPad(words: Int32Array, at: number, end: number): Int32Array | null {
  const place = unwindingAt(words, at);
  if (place < 0) return null;
  const call = words.slice(at, end - 1);
  call[place - at]! &= ~unwinds;
  return call;
}

/** The words of a call that leads to no landing pad, with one. */
export function withLandingPad(words: Int32Array, pad: number): Int32Array {
  const call = new Int32Array(words.length + 1);
  call.set(words);
  call[extraStart(words, 0) + 1]! |= unwinds;
  call[words.length] = pad;
  return call;
}

/** The instruction mentions a symbol, or memory whose displacement takes more than a byte. */
export function mentionsFar(words: Int32Array, at: number): boolean {
  const head = words[at]!;
  if ((head & HasMem) === 0) return (head & HasSymbol) !== 0;
  const memory = behindRegisters(words, at);
  const displacement = words[memory + 1]!;
  return (
    (words[memory]! & 4) !== 0 || (head & HasSymbol) !== 0 || (displacement << 24) >> 24 !== displacement
  );
}

/**
 * The instruction names a block or table of its function, or is inline assembly: it means something else, or is laid
 * out otherwise, in another function.
 */
export function isBound(words: Int32Array, at: number): boolean {
  const head = words[at]!;
  if ((head & HasTargets) !== 0) return true;
  at = behindRegisters(words, at);
  if ((head & HasMem) !== 0) {
    const memory = words[at]!;
    if ((memory & 4) !== 0 && namesPlace(words, at + 3 + (memory & 1) + ((memory >> 1) & 1))) return true;
    at = skipMemory(words, at);
  }
  if ((head & HasImm) !== 0) at++;
  if ((head & HasWideImm) !== 0) at = skipWide(at);
  if ((head & HasSymbol) !== 0) {
    if (namesPlace(words, at)) return true;
    at = skipSymbol(words, at);
  }
  if ((head & HasClobbers) !== 0) at++;
  if ((head & HasDetail) !== 0) at++;
  if ((head & HasExtra) === 0) return false;
  // A call may lead to a landing pad.
  return extras[words[at]!] !== "call" || (words[at + 1]! & unwinds) !== 0;
}

const namesPlace = (words: Int32Array, at: number): boolean => {
  const kind = symbolTargets[words[at]! >> symbolKindBits];
  return kind === "block" || kind === "jump-table" || kind === "foreign-block";
};
