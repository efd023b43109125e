/**
 * Places of variables as DWARF expressions: bytes of what debuggers compute. Source: DWARF 5, 2.5 and 2.6.
 *
 * A value's register holds anything above the value's bits, so operations that look at upper bits get values that were
 * extended before, each of them.
 */
import { Dw, Encoding, type Expression } from "../../ir/debug-records.js";
/** A distance from a register, by DWARF's number, or (-1) from the CFA. */
export interface FramePlace {
  readonly register: number;
  readonly offset: number;
}

/** Where a value is, or what it is. Registers by DWARF's numbers. */
export type ValuePlace =
  | { readonly kind: "register"; readonly register: number; readonly bits: number }
  /** It was in a register when the function was entered, which debuggers may know from the caller. */
  | { readonly kind: "arrival"; readonly register: number; readonly bits: number }
  /** It lies in memory. */
  | { readonly kind: "memory"; readonly at: FramePlace; readonly bits: number }
  /** It is an address in the frame. */
  | { readonly kind: "address"; readonly at: FramePlace }
  | { readonly kind: "constant"; readonly low: number; readonly high: number; readonly bits: number };

const enum Op {
  Lit0 = 0x30,
  Reg0 = 0x50,
  Breg0 = 0x70,
  Regx = 0x90,
  Fbreg = 0x91,
  Bregx = 0x92,
  Piece = 0x93,
  EntryValue = 0xa3,
  BitPiece = 0x9d,
}

class Bytes {
  readonly list: number[] = [];
  op(byte: number): this {
    this.list.push(byte);
    return this;
  }
  uleb(value: bigint | number): this {
    let rest = BigInt(value);
    do {
      const byte = Number(rest & 0x7fn);
      rest >>= 7n;
      this.list.push(rest === 0n ? byte : byte | 0x80);
    } while (rest !== 0n);
    return this;
  }
  sleb(value: bigint | number): this {
    let rest = BigInt(value);
    for (;;) {
      const byte = Number(rest & 0x7fn);
      rest >>= 7n;
      const isLast = (rest === 0n && (byte & 0x40) === 0) || (rest === -1n && (byte & 0x40) !== 0);
      this.list.push(isLast ? byte : byte | 0x80);
      if (isLast) return this;
    }
  }
  /** What leaves another value behind this one. */
  append({ list }: Bytes): this {
    this.list.push(...list);
    return this;
  }
  unsigned(value: bigint | number): this {
    return value < 32 ? this.op(Op.Lit0 + Number(value)) : this.op(Dw.Constu).uleb(value);
  }
  number(value: bigint): this {
    return value >= 0n ? this.unsigned(value) : this.op(Dw.Consts).sleb(value);
  }
  /** The value of a register and an offset. */
  based({ register, offset }: FramePlace): this {
    if (register < 0) return this.op(Op.Fbreg).sleb(offset);
    if (register < 32) return this.op(Op.Breg0 + register).sleb(offset);
    return this.op(Op.Bregx).uleb(register).sleb(offset);
  }
  /** What a register was when the function was entered. */
  arrival(register: number): this {
    const inner = new Bytes();
    if (register < 32) inner.op(Op.Reg0 + register);
    else inner.op(Op.Regx).uleb(register);
    this.op(Op.EntryValue)
      .uleb(inner.list.length)
      .list.push(...inner.list);
    return this;
  }
  zeroExtend(bits: number): this {
    return bits >= 64 ? this : this.unsigned((1n << BigInt(bits)) - 1n).op(Dw.And);
  }
  signExtend(bits: number): this {
    if (bits >= 64) return this;
    return this.unsigned(64 - bits)
      .op(Dw.Shl)
      .unsigned(64 - bits)
      .op(Dw.Shra);
  }
}

/** How many of the low bits of a value are right, and what those above should be. */
interface Width {
  readonly bits: number;
  readonly encoding: number;
}
const whole: Width = { bits: 64, encoding: Encoding.Unsigned };

/** A value on the debugger's stack: the operations that leave it there. */
interface Entry {
  readonly out: Bytes;
  readonly width: Width;
  /** The first of two conversions was there, which says what the value is taken for. */
  readonly isNamed?: boolean;
}

/** With all bits above those that are right as they should be. */
function extended({ out, width }: Entry, encoding = width.encoding): Bytes {
  if (encoding === Encoding.Signed) out.signExtend(width.bits);
  else out.zeroExtend(width.bits);
  return out;
}

/** Of two values: their lower bits follow from the lower bits of what they work on. */
const lowBitsOnly = new Set<number>([Dw.And, Dw.Or, Dw.Xor, Dw.Plus, Dw.Minus, Dw.Mul]);
const [equal, unequal] = [0x29, 0x2e];
/**
 * Of two values, all bits of which matter, and how the first is extended. Not those of which LLVM does not tell whether they
 * are about numbers with a sign: other comparisons, remainders.
 */
const wholeOnly: ReadonlyMap<number, Encoding> = new Map([
  [Dw.Shr, Encoding.Unsigned],
  [Dw.Shra, Encoding.Signed],
  [0x1b /* div */, Encoding.Signed],
  [equal, Encoding.Unsigned],
  [unequal, Encoding.Unsigned],
]);
const ofOne = new Set<number>([0x1f /* neg */, 0x20 /* not */]);

/** The debugger's stack while it computes a value. */
class Stack {
  private readonly entries: Entry[] = [];

  /** @param first what is there before; null: what is meant is named by number */
  constructor(
    private readonly places: readonly ValuePlace[],
    first: Entry | null,
  ) {
    if (first !== null) this.entries.push(first);
  }

  private push(out: Bytes, width: Width): void {
    this.entries.push({ out, width });
  }
  private pop(): Entry | undefined {
    return this.entries.pop();
  }

  /** @returns what is left in the end; null where something has no equivalent */
  run(expression: Expression): Entry | null {
    for (let i = 0; i < expression.length; ) {
      const operands = this.step(expression[i]!, expression[i + 1]!, expression[i + 2]!);
      if (operands < 0) return null;
      i += 1 + operands;
    }
    return this.entries.length === 1 ? this.entries[0]! : null;
  }

  /** @returns how many operands it has; -1: it has no equivalent */
  private step(op: number, a: number, b: number): number {
    switch (op) {
      case Dw.Arg: {
        const entry = pushed(this.places[a]);
        if (entry === null) return -1;
        this.entries.push(entry);
        return 1;
      }
      case Dw.Constu:
        this.push(new Bytes().unsigned(a), whole);
        return 1;
      case Dw.Consts:
        this.push(new Bytes().number(BigInt(a)), whole);
        return 1;
      case Dw.TagOffset:
        return 1;
    }
    if (op >= Op.Lit0 && op < Op.Reg0) {
      this.push(new Bytes().op(op), whole);
      return 0;
    }
    const top = this.pop();
    if (top === undefined) return -1;
    const { out, width, isNamed = false } = top;
    switch (op) {
      case Dw.Convert: {
        if (isNamed && a > width.bits) extended(top);
        const bits = isNamed ? a : Math.min(a, width.bits);
        this.entries.push({ out, width: { bits: Math.min(bits, 64), encoding: b }, isNamed: !isNamed });
        return 2;
      }
      case Dw.PlusUconst:
        this.push(out.op(op).uleb(a), width);
        return 1;
      case Dw.Deref:
        this.push(extended(top).op(op), whole);
        return 0;
      case Dw.DerefSize:
        this.push(extended(top).op(op).op(a), { bits: 8 * a, encoding: Encoding.Unsigned });
        return 1;
      case Dw.ExtractBitsZext:
      case Dw.ExtractBitsSext:
        extended(top);
        if (a > 0) out.unsigned(a).op(Dw.Shr);
        if (op === Dw.ExtractBitsSext) out.signExtend(b);
        else out.zeroExtend(b);
        this.push(out, whole);
        return 2;
    }
    if (ofOne.has(op)) {
      this.push(out.op(op), width);
      return 0;
    }
    const under = this.pop();
    return under !== undefined && this.binary(op, under, top) ? 0 : -1;
  }

  private binary(op: number, a: Entry, b: Entry): boolean {
    if (lowBitsOnly.has(op)) {
      const { width } = b.width.bits < a.width.bits ? b : a;
      this.push(a.out.append(b.out).op(op), width);
      return true;
    }
    if (op === Dw.Shl) {
      this.push(a.out.append(extended(b, Encoding.Unsigned)).op(op), a.width);
      return true;
    }
    const extension = wholeOnly.get(op);
    if (extension === undefined) return false;
    let [left, right] = [a, b];
    if (op === equal || op === unequal) {
      // Constants may have a sign.
      const bits = Math.min(a.width.bits, b.width.bits);
      [left, right] = [a, b].map(({ out, width }) => ({ out, width: { ...width, bits } })) as [Entry, Entry];
    }
    const amount = op === Dw.Shr || op === Dw.Shra ? Encoding.Unsigned : extension;
    this.push(extended(left, extension).append(extended(right, amount)).op(op), whole);
    return true;
  }
}

/** A value as it comes to the stack; null: debuggers cannot compute with it. */
function pushed(place: ValuePlace | undefined): Entry | null {
  if (place === undefined) return null;
  const out = new Bytes();
  const bits = place.kind === "address" ? 64 : place.bits;
  if (bits > 64) return null;
  const width: Width = { bits, encoding: Encoding.Unsigned };
  switch (place.kind) {
    case "register":
      // Debuggers compute with general registers.
      if (place.register > lastGeneral) return null;
      return { out: out.based({ register: place.register, offset: 0 }), width };
    case "arrival":
      return { out: out.arrival(place.register), width };
    case "memory":
      out.based(place.at);
      if (bits > 32) out.op(Dw.Deref);
      else out.op(Dw.DerefSize).op(bits > 16 ? 4 : bits > 8 ? 2 : 1);
      return { out, width };
    case "address":
      return { out: out.based(place.at), width };
    case "constant":
      return { out: out.number(numberOf(place)), width };
  }
}

/**
 * The bytes of the location of a variable, or a part of it; null if it cannot be said.
 * @param places of the values that are named by their numbers, or the only one
 * @param expression without its fragment @param isAddress the value is the variable's address
 */
export function locationBytes(
  places: readonly ValuePlace[],
  expression: Expression,
  isAddress: boolean,
): readonly number[] | null {
  const [place] = places;
  const isList = expression.includes(Dw.Arg);
  if (place === undefined || (!isList && places.length > 1)) return null;
  const { length } = expression;
  const isComputed = length > 0 && expression[length - 1] === Dw.StackValue;
  const isMemory = isAddress || (length > 0 && expression[length - 1] === Dw.Deref);
  // Values that are computed say so.
  if (length > 0 && !isComputed && !isMemory && (isList || place.kind !== "address")) return null;
  const steps = isComputed || (isMemory && !isAddress) ? expression.slice(0, -1) : expression;
  const bits = place.kind === "address" ? 64 : place.bits;
  if (!isList && !isMemory && isTruncation(steps) && bits % 8 === 0) {
    if (bits > 64 && steps.length > 0) return null;
    const simple = plainLocation(new Bytes(), place);
    if (simple !== null) return simple;
  }
  const first = isList ? null : pushed(place);
  if (!isList && first === null) return null;
  const result = new Stack(places, first).run(steps);
  if (result === null) return null;
  const { out, width } = result;
  if (width.bits % 8 !== 0 || (isMemory && width.bits < 64)) extended(result);
  if (!isMemory) out.op(Dw.StackValue);
  return out.list;
}

/** The value of an argument at a call: a register's, as it is or as the caller was entered, and a number; or a constant. */
export function callValueBytes(
  value: bigint | { readonly register: number; readonly offset: number; readonly bytes: 4 | 8 },
  isEntry: boolean,
): readonly number[] {
  const out = new Bytes();
  // What are small negative numbers are so in fewer bytes.
  if (typeof value === "bigint") return out.number(BigInt.asIntN(64, value)).list;
  const { register, offset, bytes } = value;
  if (isEntry) {
    out.arrival(register);
    if (offset > 0) out.op(Dw.PlusUconst).uleb(offset);
    else if (offset < 0) out.number(BigInt(offset)).op(Dw.Plus);
  } else out.based({ register, offset });
  return out.zeroExtend(8 * bytes).list;
}

/** DWARF's number of r15. Source: System V ABI for AMD64, table 3.36. */
const lastGeneral = 15;

/** Taking fewer of a value's bits, all of its bytes: what is read of a place follows from the variable. */
const isTruncation = (steps: Expression): boolean =>
  steps.length === 0 ||
  (steps.length === 6 &&
    steps[0] === Dw.Convert &&
    steps[3] === Dw.Convert &&
    steps[4]! <= steps[1]! &&
    steps[4]! % 8 === 0);

function plainLocation(out: Bytes, place: ValuePlace): readonly number[] | null {
  if (place.kind === "register")
    return place.register < 32
      ? out.op(Op.Reg0 + place.register).list
      : out.op(Op.Regx).uleb(place.register).list;
  return place.kind === "memory" ? out.based(place.at).list : null;
}

function numberOf({ low, high, bits }: { low: number; high: number; bits: number }): bigint {
  return BigInt.asIntN(Math.min(bits, 64), (BigInt(high) << 32n) | BigInt(low >>> 0));
}

/** A part of a variable: its place, or null where that is not known. */
export interface Piece {
  readonly offset: number;
  readonly size: number;
  readonly bytes: readonly number[] | null;
}

/** A location that is made of parts. */
export interface Composed {
  readonly bytes: readonly number[];
  /** Bits of the variable, from its start, that the parts are; what is after them has no place. */
  readonly described: number;
}

/** A location of all of a variable. */
export const ofAll = (bytes: readonly number[]): Composed => ({
  bytes,
  described: Number.POSITIVE_INFINITY,
});

/** The location of a variable of which only parts have places. In bits. */
export function composed(pieces: readonly Piece[]): Composed {
  const out = new Bytes();
  const piece = (size: number): void => {
    if (size % 8 === 0) out.op(Op.Piece).uleb(size / 8);
    else out.op(Op.BitPiece).uleb(size).uleb(0);
  };
  let end = 0;
  for (const { offset, size, bytes } of [...pieces].sort((a, b) => a.offset - b.offset)) {
    if (offset > end) piece(offset - end);
    if (bytes !== null) out.list.push(...bytes);
    piece(size);
    end = offset + size;
  }
  return { bytes: out.list, described: end };
}
