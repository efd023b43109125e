/** A position among the tokens of a text, with the tests and complaints every parser here makes. */
import { InputError, UnsupportedError } from "../../lto/ir/errors.js";
import { unescapeText } from "./escape.js";
import { lineOf, Tok, type Tokens } from "./lexer.js";

/** Types, constants and named types nest at most this deep; C++ code stays far below. */
export const maxNesting = 200;

export class Cursor {
  pos = 0;
  private nesting = 0;
  constructor(readonly tokens: Tokens) {}

  kind(): Tok {
    return this.tokens.kinds[this.pos]!;
  }
  /** Kind of the token `ahead` positions further. */
  peek(ahead: number): Tok {
    const at = this.pos + ahead;
    return at < this.tokens.count ? this.tokens.kinds[at]! : Tok.Eof;
  }
  /** Text of the current token, or of the one at `pos`. */
  text(pos = this.pos): string {
    const { text, starts, ends } = this.tokens;
    return text.slice(starts[pos]!, ends[pos]!);
  }
  next(): void {
    if (this.pos < this.tokens.count - 1) this.pos++;
  }

  /** @throws InputError that names the line of the token at `pos` */
  fail(message: string, pos = this.pos): never {
    throw new InputError(`line ${this.line(pos)}: ${message}`);
  }
  /** @throws UnsupportedError that names the line of the token at `pos` */
  unsupported(construct: string, pos = this.pos): never {
    const error = new UnsupportedError(construct);
    throw Object.assign(error, { message: `line ${this.line(pos)}: ${error.message}` });
  }
  line(pos = this.pos): number {
    return lineOf(this.tokens.text, this.tokens.starts[pos]!);
  }
  /** Runs a function of the IR that throws an InputError without a line. */
  located<T>(pos: number, compute: () => T): T {
    try {
      return compute();
    } catch (error) {
      if (error instanceof UnsupportedError) this.unsupported(error.construct, pos);
      if (error instanceof InputError) this.fail(error.message, pos);
      throw error;
    }
  }
  /** The current token as messages show it. */
  found(): string {
    if (this.kind() === Tok.Eof) return "the end of the file";
    const { text, starts, ends } = this.tokens;
    // Sigils and quotes lie outside the extent of a name.
    let start = starts[this.pos]!;
    if (start > 0 && /[%@$!#"]/.test(text[start - 1]!)) start--;
    if (text[start] === '"' && start > 0 && /[%@$!]/.test(text[start - 1]!)) start--;
    const shown = text.slice(start, ends[this.pos]!);
    return `'${shown.length > 40 ? `${shown.slice(0, 40)}…` : shown}'`;
  }

  /** Skips a token of the kind if it is next. */
  take(kind: Tok): boolean {
    if (this.tokens.kinds[this.pos] !== kind) return false;
    this.next();
    return true;
  }
  expect(kind: Tok, what: string): void {
    if (!this.take(kind)) this.fail(`expected ${what}, found ${this.found()}`);
  }
  isWord(word: string): boolean {
    const { kinds, starts, ends, text } = this.tokens;
    const start = starts[this.pos]!;
    return (
      kinds[this.pos] === Tok.Word && ends[this.pos]! - start === word.length && text.startsWith(word, start)
    );
  }
  takeWord(word: string): boolean {
    if (!this.isWord(word)) return false;
    this.next();
    return true;
  }
  expectWord(word: string): void {
    if (!this.takeWord(word)) this.fail(`expected '${word}', found ${this.found()}`);
  }
  /** A comma that is not the start of a metadata attachment. */
  takeComma(): boolean {
    if (this.kind() !== Tok.Comma || this.peek(1) === Tok.Metadata) return false;
    this.next();
    return true;
  }
  /** The `, word` of an optional trailing clause. */
  takeClause(word: string): boolean {
    if (this.kind() !== Tok.Comma) return false;
    this.pos++;
    if (this.takeWord(word)) return true;
    this.pos--;
    return false;
  }
  /** A non-negative integer up to `max`. */
  integer(what: string, max = Number.MAX_SAFE_INTEGER): number {
    const isHex = this.kind() === Tok.HexInteger && this.text().startsWith("u");
    if (!isHex && this.kind() !== Tok.Integer) this.fail(`expected ${what}, found ${this.found()}`);
    const value = Number(isHex ? this.text().slice(1) : this.text());
    if (!(value >= 0 && value <= max)) this.fail(`${what} ${this.found()} is out of range`);
    this.next();
    return value;
  }
  /** A power of two up to 2^32: an alignment in bytes. */
  alignment(): number {
    const at = this.pos;
    const value = this.integer("an alignment", 2 ** 32);
    if (value === 0 || !Number.isInteger(Math.log2(value)))
      this.fail(`alignment ${value} is not a power of two`, at);
    return value;
  }
  /** A quoted string, unescaped. */
  string(what: string): string {
    if (this.kind() !== Tok.Text) this.fail(`expected ${what}, found ${this.found()}`);
    const text = unescapeText(this.text());
    this.next();
    return text;
  }
  /** `(N)`. */
  parenthesised(what: string): number {
    this.expect(Tok.OpenParen, "'('");
    const value = this.integer(what, 0xffffff);
    this.expect(Tok.CloseParen, "')'");
    return value;
  }

  /**
   * Key of the name at the current token: its text; names in quotes that look like numbers keep a quote,
   * since `%"1"` and `%1` are different names.
   */
  nameKey(): string {
    const text = this.text();
    if (this.tokens.quoted[this.pos] === 0) return text;
    const name = unescapeText(text);
    return /^[0-9]+$/.test(name) ? `"${name}` : name;
  }

  /** Skips a bracketed group that starts at the current token, whatever is inside. */
  skipGroup(): void {
    const start = this.pos;
    let depth = 0;
    do {
      switch (this.kind()) {
        case Tok.OpenParen:
        case Tok.OpenBrace:
        case Tok.OpenSquare:
        case Tok.OpenAngle:
          depth++;
          break;
        case Tok.CloseParen:
        case Tok.CloseBrace:
        case Tok.CloseSquare:
        case Tok.CloseAngle:
          depth--;
          break;
        case Tok.Eof:
          this.fail("bracket without an end", start);
      }
      this.next();
    } while (depth > 0);
  }

  /** Whether a line break separates the current token from the one before. */
  startsLine(): boolean {
    if (this.pos === 0) return true;
    const { text, starts, ends } = this.tokens;
    const end = text.indexOf("\n", ends[this.pos - 1]!);
    return end >= 0 && end < starts[this.pos]!;
  }

  /** Enters a level of nesting; every call is matched by `leave` unless parsing fails. */
  enter(): void {
    if (++this.nesting > maxNesting) this.fail("nested too deeply");
  }
  leave(): void {
    this.nesting--;
  }
}
