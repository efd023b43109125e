/** Rules on functions of `string.h`: results that constant strings tell, and shorter calls for the same. */
import { Op } from "../../ir/instructions.js";
import { i8, i32 } from "../../ir/types.js";
import { ConstZero, constI32, type Value } from "../../ir/values.js";
import type { Change, LibraryCall, Maker, Rule, RuleContext } from "./calls.js";

/** The call is a value that is there already, or a constant. */
export const is =
  (value: Value): Change =>
  () =>
    value;
/** A place so many bytes after an address. */
const behind =
  (address: Value, bytes: number): Change =>
  (make) =>
    make.build.byteOffset(address, bytes);
const nullPointer = (call: LibraryCall): Change => is(new ConstZero(call.type));
export const argument = (call: LibraryCall, index: number): Value => call.operands[index + 1]!;
/** A constant length, or NaN. */
export const lengthOf = (value: Value): number =>
  value.valueKind === "int" && value.num >= 0 ? value.num : Number.NaN;
/** The low byte of a constant that a function takes for a character, or -1. */
const charOf = (value: Value): number =>
  value.valueKind === "int" ? Number(BigInt.asUintN(8, value.value)) : -1;

const firstByte = (make: Maker, address: Value): Value =>
  make.build.cast(Op.ZExt, make.build.load(i8, address, 1), i32);

/** The sign of the difference of the first bytes that differ; both sides as far as they are compared. */
function compareBytes(a: Uint8Array, b: Uint8Array, length: number): number {
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i]! < b[i]! ? -1 : 1;
  return 0;
}
/** With the end that belongs to it. */
const withEnd = (string: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(string.length + 1);
  bytes.set(string);
  return bytes;
};

export const strlen: Rule = (call, context) => {
  const string = context.stringAt(argument(call, 0));
  return string === null ? null : is(context.size(string.length));
};

export const strnlen: Rule = (call, context) => {
  const most = lengthOf(argument(call, 1));
  if (most === 0) return is(context.size(0));
  const string = context.stringAt(argument(call, 0));
  return string === null || Number.isNaN(most) ? null : is(context.size(Math.min(most, string.length)));
};

/** `strcmp`, and `strncmp` of at most so many characters. */
function compareStrings(call: LibraryCall, context: RuleContext, most: number): Change | null {
  const [a, b] = [argument(call, 0), argument(call, 1)];
  if (a === b || most === 0) return is(constI32(0));
  if (Number.isNaN(most)) return null;
  const [x, y] = [context.stringAt(a), context.stringAt(b)];
  if (x !== null && y !== null) {
    const length = Math.min(most, x.length + 1, y.length + 1);
    return is(constI32(compareBytes(withEnd(x), withEnd(y), length)));
  }
  // Only the sign of what a comparison gives is said.
  if (y !== null && y.length === 0) return (make) => firstByte(make, a);
  if (x !== null && x.length === 0) return (make) => make.build.sub(constI32(0), firstByte(make, b));
  return null;
}
export const strcmp: Rule = (call, context) => compareStrings(call, context, Number.POSITIVE_INFINITY);
export const strncmp: Rule = (call, context) => compareStrings(call, context, lengthOf(argument(call, 2)));

/** `memcmp` and `bcmp`. */
export const memcmp: Rule = (call, context) => {
  const [a, b] = [argument(call, 0), argument(call, 1)];
  if (a === b) return is(constI32(0));
  const length = lengthOf(argument(call, 2));
  if (length === 0) return is(constI32(0));
  if (length === 1) return (make) => make.build.sub(firstByte(make, a), firstByte(make, b));
  const [x, y] = [context.bytesAt(a), context.bytesAt(b)];
  if (x === null || y === null || !(length <= x.length && length <= y.length)) return null;
  return is(constI32(compareBytes(x, y, length)));
};

export const strchr: Rule = (call, context) => {
  const [s, c] = [argument(call, 0), charOf(argument(call, 1))];
  const string = context.stringAt(s);
  if (c < 0 || string === null) return null;
  const at = withEnd(string).indexOf(c);
  return at < 0 ? nullPointer(call) : behind(s, at);
};
export const strrchr: Rule = (call, context) => {
  const [s, c] = [argument(call, 0), charOf(argument(call, 1))];
  const string = context.stringAt(s);
  if (c < 0 || string === null) return null;
  const at = withEnd(string).lastIndexOf(c);
  return at < 0 ? nullPointer(call) : behind(s, at);
};
export const memchr: Rule = (call, context) => {
  const [s, c, length] = [argument(call, 0), charOf(argument(call, 1)), lengthOf(argument(call, 2))];
  if (length === 0) return nullPointer(call);
  const bytes = context.bytesAt(s);
  if (c < 0 || bytes === null || Number.isNaN(length)) return null;
  const at = bytes.indexOf(c);
  if (at >= 0 && at < length) return behind(s, at);
  // After the variable it would be undefined behaviour.
  return length <= bytes.length ? nullPointer(call) : null;
};
export const strstr: Rule = (call, context) => {
  const [s, what] = [argument(call, 0), argument(call, 1)];
  if (s === what) return is(s);
  const searched = context.stringAt(what);
  if (searched === null) return null;
  if (searched.length === 0) return is(s);
  const string = context.stringAt(s);
  if (string === null) return null;
  const at = Buffer.from(string).indexOf(searched);
  return at < 0 ? nullPointer(call) : behind(s, at);
};

/** How many characters at the start are in a set, or are not. */
const span =
  (isIn: boolean): Rule =>
  (call, context) => {
    const [string, set] = [context.stringAt(argument(call, 0)), context.stringAt(argument(call, 1))];
    if (string?.length === 0) return is(context.size(0));
    if (isIn && set?.length === 0) return is(context.size(0));
    if (string === null || set === null) return null;
    let n = 0;
    while (n < string.length && set.includes(string[n]!) === isIn) n++;
    return is(context.size(n));
  };
export const strspn = span(true);
export const strcspn = span(false);

/**
 * Whether a copy of a constant string is best made by a copy of known length: always for speed; for size where stores of
 * immediate operands take its place, since the length is one more argument.
 */
export function isBestCopied(length: number, context: RuleContext): boolean {
  return !context.isSmall || length === 1 || length === 2 || length === 4 || length === 8;
}

/** `strcpy`, and `stpcpy`, which gives the end. */
const copyString =
  (givesEnd: boolean): Rule =>
  (call, context) => {
    const [to, from] = [argument(call, 0), argument(call, 1)];
    if (to === from && !givesEnd) return is(to);
    const string = context.stringAt(from);
    if (string === null || !isBestCopied(string.length + 1, context)) return null;
    return (make) => {
      make.transfer("memcpy", to, from, string.length + 1);
      return givesEnd ? make.build.byteOffset(to, string.length) : to;
    };
  };
export const strcpy = copyString(false);
export const stpcpy = copyString(true);

/** `strcat` and `strncat` of nothing. */
export const strcat: Rule = (call, context) => {
  const isNothing = context.stringAt(argument(call, 1))?.length === 0;
  return isNothing ? is(argument(call, 0)) : null;
};

/** Functions that the code generator knows as operations. */
const transfer =
  (kind: "memcpy" | "memmove"): Rule =>
  (call) =>
  (make) => {
    const to = argument(call, 0);
    make.transfer(kind, to, argument(call, 1), argument(call, 2));
    return to;
  };
export const memcpy = transfer("memcpy");
export const memmove = transfer("memmove");
export const memset: Rule = (call) => (make) => {
  const to = argument(call, 0);
  make.fill(to, make.build.cast(Op.Trunc, argument(call, 1), i8), argument(call, 2));
  return to;
};
