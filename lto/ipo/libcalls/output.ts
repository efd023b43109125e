/**
 * Rules on functions of `stdio.h`, where nobody reads what they return (but `sprintf`'s, which is known).
 *
 * For size the function with the shortest call is taken, also where it counts the string again that it is given:
 *
 *     fwrite("usage", 1, 5, f)   →   fputs("usage", f)        two arguments fewer
 *     fputs("x", f)              →   fputc('x', f)            no string
 *     fprintf(f, "usage")        →   fputs("usage", f)        no `al`
 *
 * For speed those that know the length (`fwrite`). A string without its last character is a new string, which only pays
 * where the old one goes with the call: not for size.
 */
import { Op } from "../../ir/instructions.js";
import { i8, i32 } from "../../ir/types.js";
import { constI32, constInt, type Value } from "../../ir/values.js";
import type { Change, Emitted, LibraryCall, Maker, Rule, RuleContext } from "./calls.js";
import { argument, is, isBestCopied, lengthOf } from "./strings.js";

const percent = 37;
const newline = 10;
/** Whether a format is what it prints. */
const isLiteral = (format: Uint8Array): boolean => !format.includes(percent);
const isText = (format: Uint8Array, text: string): boolean =>
  format.length === text.length && format.every((byte, i) => byte === text.charCodeAt(i));

/** A character as `int`. */
const character = (byte: number): Value => constI32(byte);
/** Nothing is left of the call; nobody reads its result. */
const nothing: Change = () => null;

/** Another function is called; null where it must not be. */
function instead(context: RuleContext, name: Emitted, ...args: readonly Value[]): Change | null {
  if (!context.mayCall(name)) return null;
  return (make) => {
    make.library(name, args);
    return null;
  };
}

/** The argument after a format that has one conversion, if it is the type that this takes. */
function converted(call: LibraryCall, at: number, kind: "ptr" | "int"): Value | null {
  if (call.data.argumentCount !== at + 1) return null;
  const value = argument(call, at);
  return value.type.kind === kind && (kind === "ptr" || value.type.bits === 32) ? value : null;
}

/** Unread. */
function print(text: Uint8Array, context: RuleContext): Change | null {
  if (text.length === 0) return nothing;
  if (text.length === 1) return instead(context, "putchar", character(text[0]!));
  if (text.at(-1) !== newline || context.isSmall || !context.mayCall("puts")) return null;
  return (make) => {
    make.library("puts", [make.string(text.subarray(0, -1))]);
    return null;
  };
}

export const printf: Rule = (call, context) => {
  const format = context.stringAt(argument(call, 0));
  if (format === null) return null;
  let change: Change | null = null;
  if (call.data.argumentCount === 1 && isLiteral(format)) change = print(format, context);
  else if (call.data.argumentCount === 1 && isText(format, "%%")) change = print(format.subarray(1), context);
  else if (isText(format, "%s\n")) {
    const string = converted(call, 1, "ptr");
    if (string !== null) change = instead(context, "puts", string);
  } else if (isText(format, "%c")) {
    const char = converted(call, 1, "int");
    if (char !== null) change = instead(context, "putchar", char);
  } else if (isText(format, "%s")) {
    const string = converted(call, 1, "ptr");
    const text = string === null ? null : context.stringAt(string);
    if (text !== null) change = print(text, context);
  }
  return change === null || context.isUsed(call) ? null : change;
};

export const puts: Rule = (call, context) => {
  if (context.stringAt(argument(call, 0))?.length !== 0 || context.isUsed(call)) return null;
  return instead(context, "putchar", character(newline));
};

/** Writes a known text to a stream; null where no function is better than the one that is called. */
function write(
  address: Value,
  text: Uint8Array,
  stream: Value,
  from: "fputs" | "fprintf",
  context: RuleContext,
): Change | null {
  if (text.length === 0) return nothing;
  if (text.length === 1) return instead(context, "fputc", character(text[0]!), stream);
  if (!context.isSmall)
    return instead(context, "fwrite", address, context.size(text.length), context.size(1), stream);
  return from === "fputs" ? null : instead(context, "fputs", address, stream);
}

export const fprintf: Rule = (call, context) => {
  const stream = argument(call, 0);
  const at = argument(call, 1);
  const format = context.stringAt(at);
  if (format === null) return null;
  let change: Change | null = null;
  if (call.data.argumentCount === 2 && isLiteral(format))
    change = write(at, format, stream, "fprintf", context);
  else if (isText(format, "%c")) {
    const char = converted(call, 2, "int");
    if (char !== null) change = instead(context, "fputc", char, stream);
  } else if (isText(format, "%s")) {
    const string = converted(call, 2, "ptr");
    const text = string === null ? null : context.stringAt(string);
    if (text !== null) change = write(string!, text, stream, "fprintf", context);
    if (string !== null && change === null) change = instead(context, "fputs", string, stream);
  }
  return change === null || context.isUsed(call) ? null : change;
};

export const fputs: Rule = (call, context) => {
  const text = context.stringAt(argument(call, 0));
  if (text === null) return null;
  const change = write(argument(call, 0), text, argument(call, 1), "fputs", context);
  return change === null || context.isUsed(call) ? null : change;
};

export const fwrite: Rule = (call, context) => {
  const at = argument(call, 0);
  const stream = argument(call, 3);
  const length = lengthOf(argument(call, 1)) * lengthOf(argument(call, 2));
  if (length === 0) return is(context.size(0));
  if (Number.isNaN(length) || context.isUsed(call)) return null;
  if (length === 1) {
    if (!context.mayCall("fputc")) return null;
    return (make) => {
      const byte = make.build.load(i8, at, 1);
      make.library("fputc", [make.build.cast(Op.ZExt, byte, i32), stream]);
      return null;
    };
  }
  // The string has to end where the bytes do.
  if (!context.isSmall || context.stringAt(at)?.length !== length) return null;
  return instead(context, "fputs", at, stream);
};

/** What becomes of a format and one argument that are written into memory; the length is known where it is a number. */
function copyText(
  call: LibraryCall,
  context: RuleContext,
  to: Value,
  from: Value,
  text: Uint8Array | null,
): Change | null {
  if (text !== null && isBestCopied(text.length + 1, context))
    return (make) => {
      make.transfer("memcpy", to, from, text.length + 1);
      return constI32(text.length);
    };
  if (!context.mayCall("strcpy") || (text === null && context.isUsed(call))) return null;
  return (make) => {
    make.library("strcpy", [to, from]);
    return text === null ? null : constI32(text.length);
  };
}

function storeCharacter(make: Maker, to: Value, char: Value): Value {
  const { build } = make;
  build.store(build.cast(Op.Trunc, char, i8), to, 1);
  build.store(constInt(i8, 0), build.byteOffset(to, 1), 1);
  return constI32(1);
}

export const sprintf: Rule = (call, context) => {
  const to = argument(call, 0);
  const format = context.stringAt(argument(call, 1));
  if (format === null) return null;
  if (call.data.argumentCount === 2)
    return isLiteral(format) ? copyText(call, context, to, argument(call, 1), format) : null;
  if (isText(format, "%s")) {
    const string = converted(call, 2, "ptr");
    return string === null ? null : copyText(call, context, to, string, context.stringAt(string));
  }
  const char = isText(format, "%c") ? converted(call, 2, "int") : null;
  return char === null ? null : (make) => storeCharacter(make, to, char);
};

/** Of more it says that it cannot tell how much it wrote. */
const mostRoom = 0x7fffffff;
/** Where what is written is known and fits. */
export const snprintf: Rule = (call, context) => {
  const to = argument(call, 0);
  const room = lengthOf(argument(call, 1));
  const format = context.stringAt(argument(call, 2));
  if (format === null || !(room <= mostRoom)) return null;
  let from: Value | null = null;
  if (call.data.argumentCount === 3 && isLiteral(format)) from = argument(call, 2);
  else if (isText(format, "%s")) from = converted(call, 3, "ptr");
  const text = from === null ? null : context.stringAt(from);
  if (text === null) return null;
  if (room === 0) return is(constI32(text.length));
  return text.length < room ? copyText(call, context, to, from!, text) : null;
};
