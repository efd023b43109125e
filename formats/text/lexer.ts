/**
 * Tokens of LLVM assembly (LLVM Language Reference, "Identifiers" and "Simple Constants").
 *
 * The whole text is cut into parallel arrays of kinds and extents once, so that the parser can visit
 * definitions out of order without copying. Linear in the text.
 */
import { InputError } from "../../lto/ir/errors.js";

export const enum Tok {
  Eof,
  /** A bare word: keyword, opcode, type. */
  Word,
  /** `%name` or `%"name"`; the extent is the name without quotes. */
  Local,
  /** `%12`. */
  LocalNumber,
  Global,
  GlobalNumber,
  /** `$name`. */
  Comdat,
  /** `#12`. */
  AttributeGroup,
  /** `#dbg_value` and its like. */
  DebugRecord,
  /** `!name` or `!12`. */
  Metadata,
  /** A `!` followed by neither name nor number. */
  Bang,
  /** `name:`, `"name":` or `12:`; the extent is the name without quotes and colon. */
  Label,
  /** Decimal integer, with sign. */
  Integer,
  /** `u0x…` or `s0x…`. */
  HexInteger,
  /** A decimal fraction, or bits in hexadecimal. */
  Float,
  /** `"…"`; the extent is the inside. */
  Text,
  /** `c"…"`. */
  Bytes,
  /** `x"…"`. */
  HexBytes,
  Equals,
  Comma,
  Star,
  OpenSquare,
  CloseSquare,
  OpenBrace,
  CloseBrace,
  OpenAngle,
  CloseAngle,
  OpenParen,
  CloseParen,
  Bar,
  Colon,
  Dots,
}

/** Tokens of a text; the last one is `Eof`. */
export interface Tokens {
  readonly text: string;
  readonly count: number;
  readonly kinds: Uint8Array;
  /** Extents in UTF-16 units. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** 1 for names that were written in quotes. */
  readonly quoted: Uint8Array;
}

/** Character classes, as bits. */
const Digit = 1;
const Letter = 2;
const Hex = 4;
/** `-`, `$` and `.`, which names may contain but keywords may not. */
const NamePunctuation = 8;
const NameStart = Letter | NamePunctuation;
const NamePart = NameStart | Digit;

const classes = new Uint8Array(128);
for (const c of "0123456789") classes[c.charCodeAt(0)]! |= Digit | Hex;
for (const c of "abcdefABCDEF") classes[c.charCodeAt(0)]! |= Hex;
for (const c of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") classes[c.charCodeAt(0)]! |= Letter;
for (const c of "-$.") classes[c.charCodeAt(0)]! |= NamePunctuation;

const punctuation = new Uint8Array(128);
for (const [c, tok] of [
  ["=", Tok.Equals],
  [",", Tok.Comma],
  ["*", Tok.Star],
  ["[", Tok.OpenSquare],
  ["]", Tok.CloseSquare],
  ["{", Tok.OpenBrace],
  ["}", Tok.CloseBrace],
  ["<", Tok.OpenAngle],
  [">", Tok.CloseAngle],
  ["(", Tok.OpenParen],
  [")", Tok.CloseParen],
  ["|", Tok.Bar],
  [":", Tok.Colon],
] as const)
  punctuation[c.charCodeAt(0)] = tok;

/** Line of a position in the text, counted from 1. */
export function lineOf(text: string, at: number): number {
  let line = 1;
  for (let i = text.indexOf("\n"); i >= 0 && i < at; i = text.indexOf("\n", i + 1)) line++;
  return line;
}

/** @throws InputError on a character or string that no token can start or end with */
export function tokenize(text: string): Tokens {
  return new Lexer(text).run();
}

class Lexer {
  private kinds: Uint8Array;
  private starts: Int32Array;
  private ends: Int32Array;
  private quoted: Uint8Array;
  private count = 0;

  constructor(private readonly text: string) {
    const capacity = (text.length >> 2) + 16;
    this.kinds = new Uint8Array(capacity);
    this.starts = new Int32Array(capacity);
    this.ends = new Int32Array(capacity);
    this.quoted = new Uint8Array(capacity);
  }

  run(): Tokens {
    let at = 0;
    while ((at = this.skipBlank(at)) < this.text.length) at = this.token(at);
    this.push(Tok.Eof, this.text.length, this.text.length);
    return {
      text: this.text,
      count: this.count,
      kinds: this.kinds,
      starts: this.starts,
      ends: this.ends,
      quoted: this.quoted,
    };
  }

  private push(kind: Tok, start: number, end: number, quoted = 0): void {
    if (this.count === this.kinds.length) this.grow();
    this.kinds[this.count] = kind;
    this.starts[this.count] = start;
    this.ends[this.count] = end;
    this.quoted[this.count++] = quoted;
  }

  private grow(): void {
    const capacity = this.count * 2;
    const copy = <T extends Uint8Array | Int32Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.kinds = copy(this.kinds, new Uint8Array(capacity));
    this.starts = copy(this.starts, new Int32Array(capacity));
    this.ends = copy(this.ends, new Int32Array(capacity));
    this.quoted = copy(this.quoted, new Uint8Array(capacity));
  }

  private fail(at: number, message: string): never {
    throw new InputError(`line ${lineOf(this.text, at)}: ${message}`);
  }

  /** End of the run of characters of the given classes that starts at `at`. */
  private runOf(at: number, mask: number): number {
    const { text } = this;
    for (; at < text.length; at++) {
      const c = text.charCodeAt(at);
      if (c >= 128 || (classes[c]! & mask) === 0) break;
    }
    return at;
  }

  private is(at: number, mask: number): boolean {
    const c = this.text.charCodeAt(at); // NaN past the end: no class.
    return c < 128 && (classes[c]! & mask) !== 0;
  }

  private skipBlank(at: number): number {
    const { text } = this;
    for (; at < text.length; at++) {
      const c = text.charCodeAt(at);
      if (c === 0x3b) {
        const end = text.indexOf("\n", at);
        if (end < 0) return text.length;
        at = end;
      } else if (c === 0x5e) {
        // A summary entry, `^3 = gv: (…)`; it has nothing that the module does not, and takes one line.
        const end = text.indexOf("\n", at);
        if (end < 0) return text.length;
        at = end;
      } else if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) break;
    }
    return at;
  }

  /** Position of the quote that closes the string opened at `at`. */
  private closingQuote(at: number): number {
    const end = this.text.indexOf('"', at + 1);
    if (end < 0) this.fail(at, "unterminated string");
    return end;
  }

  /** Lexes the token at `at`. @returns where it ends */
  private token(at: number): number {
    const { text } = this;
    const c = text.charCodeAt(at);
    switch (c) {
      case 0x25: // %
        return this.sigil(at, Tok.Local, Tok.LocalNumber);
      case 0x40: // @
        return this.sigil(at, Tok.Global, Tok.GlobalNumber);
      case 0x24: // $, which may also start a label.
        if (text.charCodeAt(this.runOf(at, NamePart)) === 0x3a) return this.word(at, c);
        return this.sigil(at, Tok.Comdat, Tok.Comdat);
      case 0x23: // #
        return this.hash(at);
      case 0x21: // !
        return this.bang(at);
      case 0x22: {
        const end = this.closingQuote(at);
        if (text.charCodeAt(end + 1) === 0x3a) {
          this.push(Tok.Label, at + 1, end, 1);
          return end + 2;
        }
        this.push(Tok.Text, at + 1, end);
        return end + 1;
      }
    }
    if (c < 128) {
      const mark = punctuation[c]!;
      if (mark !== 0) {
        this.push(mark, at, at + 1);
        return at + 1;
      }
      if ((classes[c]! & NamePart) !== 0 || c === 0x2b) return this.word(at, c);
    }
    this.fail(at, `unexpected character '${String.fromCodePoint(text.codePointAt(at)!)}'`);
  }

  private sigil(at: number, named: Tok, numbered: Tok): number {
    const { text } = this;
    const next = at + 1;
    if (text.charCodeAt(next) === 0x22) {
      const end = this.closingQuote(next);
      this.push(named, next + 1, end, 1);
      return end + 1;
    }
    if (this.is(next, NameStart)) {
      const end = this.runOf(next, NamePart);
      this.push(named, next, end);
      return end;
    }
    const end = this.runOf(next, Digit);
    if (end === next || named === numbered) this.fail(at, `'${text[at]}' without a name`);
    this.push(numbered, next, end);
    return end;
  }

  private hash(at: number): number {
    const digits = this.runOf(at + 1, Digit);
    if (digits > at + 1) {
      this.push(Tok.AttributeGroup, at + 1, digits);
      return digits;
    }
    const end = this.runOf(at + 1, Letter | Digit);
    if (end === at + 1) this.fail(at, "'#' without a number");
    this.push(Tok.DebugRecord, at + 1, end);
    return end;
  }

  private bang(at: number): number {
    const { text } = this;
    let end = at + 1;
    if (this.is(end, NamePart) || text.charCodeAt(end) === 0x5c)
      for (;;) {
        end = this.runOf(end, NamePart);
        if (text.charCodeAt(end) !== 0x5c) break;
        end++; // An escaped character of a name.
      }
    this.push(end === at + 1 ? Tok.Bang : Tok.Metadata, at + 1, end);
    return end;
  }

  /** A word, number or unquoted label. */
  private word(at: number, c: number): number {
    const { text } = this;
    const nameEnd = this.runOf(at, NamePart);
    if (nameEnd > at && text.charCodeAt(nameEnd) === 0x3a) {
      this.push(Tok.Label, at, nameEnd);
      return nameEnd + 1;
    }
    if ((classes[c]! & Letter) !== 0) return this.bareWord(at);
    if (c === 0x2e && text.startsWith("...", at)) {
      this.push(Tok.Dots, at, at + 3);
      return at + 3;
    }
    return this.number(at);
  }

  private bareWord(at: number): number {
    const { text } = this;
    const end = this.runOf(at, Letter | Digit);
    const first = text.charCodeAt(at);
    if (end === at + 1 && (first === 0x63 || first === 0x78) && text.charCodeAt(end) === 0x22) {
      const close = this.closingQuote(end);
      this.push(first === 0x63 ? Tok.Bytes : Tok.HexBytes, end + 1, close);
      return close + 1;
    }
    if (
      (first === 0x75 || first === 0x73) &&
      text.startsWith("0x", at + 1) &&
      this.runOf(at + 3, Hex) === end
    ) {
      this.push(Tok.HexInteger, at, end);
      return end;
    }
    this.push(Tok.Word, at, end);
    return end;
  }

  private number(at: number): number {
    const { text } = this;
    if (text.startsWith("0x", at)) {
      let start = at + 2;
      if ("KLMHR".includes(text[start] ?? " ")) start++;
      const end = this.runOf(start, Hex);
      if (end === start) this.fail(at, "malformed number");
      this.push(Tok.Float, at, end);
      return end;
    }
    const signed = text[at] === "-" || text[at] === "+" ? at + 1 : at;
    let end = this.runOf(signed, Digit);
    if (end === signed) this.fail(at, `unexpected character '${text[at]}'`);
    if (text[end] !== ".") {
      this.push(Tok.Integer, at, end);
      return end;
    }
    end = this.runOf(end + 1, Digit);
    if (text[end] === "e" || text[end] === "E") {
      const exponent = text[end + 1] === "-" || text[end + 1] === "+" ? end + 2 : end + 1;
      if (this.is(exponent, Digit)) end = this.runOf(exponent, Digit);
    }
    this.push(Tok.Float, at, end);
    return end;
  }
}
