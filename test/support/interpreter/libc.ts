/**
 * Functions of the C library as the interpreter's programs see them: what they do to memory, what they return, and which
 * characters they write to which stream, one event a character. Formats know %s, %c and %%.
 */
import type { Type } from "../../../lto/ir/types.js";
import { fromNumber, toNumber, wrap } from "./bits.js";
import type { Val } from "./interpreter.js";
import type { Memory } from "./memory.js";
import { Undefined } from "./scalar-ops.js";

/** Stands for the stream that functions without one write to. */
const standardOutput = "stdout";

export class CLibrary {
  constructor(
    private readonly memory: Memory,
    private readonly events: string[],
  ) {}

  /**
   * @returns the result; undefined where the function is not known, or does what nothing here knows
   * @param answer a result that says nothing
   */
  call(name: string, args: readonly bigint[], result: Type, answer: () => Val): Val | undefined {
    const [a = 0n, b = 0n, c = 0n, d = 0n] = args;
    const at = Number(a);
    const int = (n: number | bigint): bigint => wrap(BigInt(n), result.bits);
    switch (name) {
      case "strlen":
        return int(this.string(a).length);
      case "strnlen":
        return int(c === 0n && b === 0n ? 0 : Math.min(this.upTo(a, Number(b)).length, Number(b)));
      case "strcmp":
        return int(compare([...this.string(a), 0], [...this.string(b), 0]));
      case "strncmp":
        return int(compare(this.upTo(a, Number(c)), this.upTo(b, Number(c))));
      case "memcmp":
      case "bcmp":
        return int(compare(this.bytes(a, c), this.bytes(b, c)));
      case "strchr":
      case "strrchr": {
        const text = [...this.string(a), 0];
        const char = Number(b & 255n);
        return place(a, name === "strchr" ? text.indexOf(char) : text.lastIndexOf(char));
      }
      case "memchr": {
        // Reads no further than it has to.
        for (let i = 0; i < Number(c); i++)
          if (this.bytes(a + BigInt(i), 1n)[0] === Number(b & 255n)) return place(a, i);
        return 0n;
      }
      case "strstr":
        return place(a, Buffer.from(this.string(a)).indexOf(Buffer.from(this.string(b))));
      case "strspn":
      case "strcspn": {
        const set = this.string(b);
        const text = this.string(a);
        const end = text.findIndex((char) => set.includes(char) !== (name === "strspn"));
        return int(end < 0 ? text.length : end);
      }
      case "strcpy":
      case "stpcpy": {
        const text = this.string(b);
        this.write(at, text, Number(b));
        return name === "strcpy" ? a : a + BigInt(text.length);
      }
      case "strcat":
        this.write(at + this.string(a).length, this.string(b), Number(b));
        return a;
      case "memcpy":
      case "memmove":
        this.memory.write(at, this.bytes(b, c));
        return a;
      case "memset":
        this.memory.fill(at, Number(b & 255n), Number(c));
        return a;
      case "isdigit":
        return a >= 48n && a <= 57n ? 1n : 0n;
      case "isascii":
        return a < 128n ? 1n : 0n;
      case "toascii":
        return a & 127n;
      case "abs":
      case "labs": {
        const n = BigInt.asIntN(result.bits, a);
        if (n === -(1n << BigInt(result.bits - 1))) throw new Undefined("abs of the smallest number");
        return int(n < 0n ? -n : n);
      }
      case "sqrt":
      case "sqrtf":
        if (toNumber(result, a) < 0) this.events.push("errno");
        return fromNumber(result, Math.sqrt(toNumber(result, a)));
      case "pow":
      case "powf":
        return fromNumber(result, power(toNumber(result, a), toNumber(result, b)));
      case "realloc":
        if (a !== 0n) return undefined;
        this.events.push(`malloc(${b})`);
        return answer();
      case "free":
        return a === 0n ? null : undefined;
      case "printf":
      case "fprintf":
        return this.printed(
          name === "printf" ? args : args.slice(1),
          name === "printf" ? standardOutput : `${a}`,
          answer,
        );
      case "puts":
        this.print([...this.string(a), 10], standardOutput);
        return answer();
      case "putchar":
        this.print([Number(a & 255n)], standardOutput);
        return answer();
      case "fputs":
        this.print(this.string(a), `${b}`);
        return answer();
      case "fputc":
        this.print([Number(a & 255n)], `${b}`);
        return answer();
      case "fwrite":
        this.print(this.bytes(a, b * c), `${d}`);
        return b * c === 0n ? 0n : c;
      case "sprintf":
      case "snprintf": {
        const isBounded = name === "snprintf";
        const text = this.formatted(args.slice(isBounded ? 2 : 1));
        if (text === null) return undefined;
        // Arguments that are strings; numbers are no addresses of what is written.
        for (const from of args.slice(2)) this.separate(at, Number(from), text.length + 1);
        if (!isBounded) this.write(at, text, -1);
        else if (b > 0n) this.write(at, text.slice(0, Number(b) - 1), -1);
        return int(text.length);
      }
      default:
        return undefined;
    }
  }

  private bytes(address: bigint, count: bigint): number[] {
    const end = Number(address + count);
    if (end > this.memory.bytes.length) throw new Undefined("the library reads outside of memory");
    return this.memory.read(Number(address), end);
  }
  private string(address: bigint): number[] {
    const end = this.memory.bytes.indexOf(0, Number(address));
    if (end < 0) throw new Undefined("a string without end");
    return this.memory.read(Number(address), end + 1).slice(0, -1);
  }
  /** A string with its end, at most so many characters. */
  private upTo(address: bigint, most: number): number[] {
    const bytes: number[] = [];
    for (let i = 0; i < most; i++) {
      const byte = this.bytes(address + BigInt(i), 1n)[0]!;
      if (byte === 0) break;
      bytes.push(byte);
    }
    return bytes;
  }
  private write(to: number, text: readonly number[], from: number): void {
    const size = text.length + 1;
    if (from >= 0 && from < to + size && to < from + size)
      throw new Undefined("a string is copied into itself");
    this.memory.write(to, [...text, 0]);
  }
  private separate(to: number, from: number, size: number): void {
    if (from >= 0 && from < to + size && to < from + size)
      throw new Undefined("a string is copied into itself");
  }
  private print(text: readonly number[], stream: string): void {
    for (const char of text) this.events.push(`${stream}: ${char}`);
  }
  private printed(args: readonly bigint[], stream: string, answer: () => Val): Val | undefined {
    const text = this.formatted(args);
    if (text === null) return undefined;
    this.print(text, stream);
    return answer();
  }
  private formatted(args: readonly bigint[]): number[] | null {
    const text: number[] = [];
    let next = 1;
    const format = this.string(args[0]!);
    for (let i = 0; i < format.length; i++) {
      if (format[i] !== 37) {
        text.push(format[i]!);
        continue;
      }
      switch (String.fromCharCode(format[++i] ?? 0)) {
        case "%":
          text.push(37);
          break;
        case "c":
          text.push(Number(args[next++]! & 255n));
          break;
        case "s":
          text.push(...this.string(args[next++]!));
          break;
        default:
          return null;
      }
    }
    return text;
  }
}

const place = (start: bigint, at: number): bigint => (at < 0 ? 0n : start + BigInt(at));

/** Only the sign counts. */
function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

/** Rounded once where the result is that of one operation. */
const power = (base: number, exponent: number): number => {
  if (exponent === 0 || base === 1) return 1;
  if (exponent === 2) return base * base;
  return exponent === -1 ? 1 / base : base ** exponent;
};
