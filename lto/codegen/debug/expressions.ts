/**
 * Places of variables as DWARF expressions: bytes of what debuggers compute. Source: DWARF 5, 2.5 and 2.6.
 *
 * A value's register holds anything above the value's bits, so operations that look at upper bits get a value that was
 * extended before.
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

/** Their lower bits follow from the lower bits of what they work on. */
const lowBitsOnly = new Set<number>([
  Dw.And,
  Dw.Or,
  Dw.Xor,
  Dw.Plus,
  Dw.Minus,
  Dw.Mul,
  Dw.Shl,
  Dw.Dup,
  Dw.Swap,
]);
const plain = new Set<number>([
  Dw.Shr,
  Dw.Shra,
  Dw.Deref,
  0x1b,
  0x1d,
  0x1f,
  0x20,
  0x29,
  0x2a,
  0x2b,
  0x2c,
  0x2d,
  0x2e,
]);

/** How many of the low bits of the value at the top of the stack are right, and what those above should be. */
interface Width {
  readonly bits: number;
  readonly encoding: number;
}
const whole: Width = { bits: 64, encoding: Encoding.Unsigned };

function extend(out: Bytes, { bits, encoding }: Width): void {
  if (encoding === Encoding.Signed) out.signExtend(bits);
  else out.zeroExtend(bits);
}

/** Appends operations. @returns how much of the result is right; null where something has no equivalent */
function operations(out: Bytes, expression: Expression, first: Width): Width | null {
  let width = first;
  let isNamed = false;
  for (let i = 0; i < expression.length; ) {
    const op = expression[i]!;
    const a = expression[i + 1]!;
    const b = expression[i + 2]!;
    if (op === Dw.Convert) {
      if (isNamed && a > width.bits) extend(out, width);
      // The first of two says what the value is taken for.
      width = { bits: Math.min(a, isNamed ? a : width.bits), encoding: b };
      isNamed = !isNamed;
      i += 3;
      continue;
    }
    if (lowBitsOnly.has(op)) {
      out.op(op);
      i++;
    } else if (op === Dw.PlusUconst) {
      out.op(op).uleb(a);
      i += 2;
    } else if (op === Dw.Constu) {
      out.unsigned(a);
      i += 2;
    } else if (op === Dw.Consts) {
      out.number(BigInt(a));
      i += 2;
    } else if (op >= Op.Lit0 && op < Op.Reg0) {
      out.op(op);
      i++;
    } else if (op === Dw.DerefSize) {
      extend(out, width);
      out.op(op).op(a);
      width = { bits: 8 * a, encoding: Encoding.Unsigned };
      i += 2;
    } else if (op === Dw.TagOffset) {
      i += 2;
    } else if (op === Dw.ExtractBitsZext || op === Dw.ExtractBitsSext) {
      extend(out, width);
      if (a > 0) out.unsigned(a).op(Dw.Shr);
      if (op === Dw.ExtractBitsSext) out.signExtend(b);
      else out.zeroExtend(b);
      width = whole;
      i += 3;
    } else if (plain.has(op)) {
      extend(out, op === Dw.Shra ? { ...width, encoding: Encoding.Signed } : width);
      out.op(op);
      width = whole;
      i++;
    } else return null;
  }
  return width;
}

/**
 * The bytes of the location of a variable, or a part of it; null if it cannot be said.
 * @param expression without its fragment @param isAddress the value is the variable's address
 */
export function locationBytes(
  place: ValuePlace,
  expression: Expression,
  isAddress: boolean,
): readonly number[] | null {
  const { length } = expression;
  const isComputed = length > 0 && expression[length - 1] === Dw.StackValue;
  const isMemory = isAddress || (length > 0 && expression[length - 1] === Dw.Deref);
  // Values that are computed say so.
  if (length > 0 && !isComputed && !isMemory && place.kind !== "address") return null;
  const steps = isComputed || (isMemory && !isAddress) ? expression.slice(0, -1) : expression;
  const out = new Bytes();
  const bits = place.kind === "address" ? 64 : place.bits;
  if (bits > 64 && (steps.length > 0 || isMemory || place.kind === "constant")) return null;
  if (!isMemory && isTruncation(steps) && bits % 8 === 0) {
    const simple = plainLocation(out, place);
    if (simple !== null) return simple;
  }
  // Debuggers compute with general registers.
  if (place.kind === "register" && place.register > lastGeneral) return null;
  let width: Width = { bits, encoding: Encoding.Unsigned };
  switch (place.kind) {
    case "register":
      out.based({ register: place.register, offset: 0 });
      break;
    case "arrival":
      out.arrival(place.register);
      break;
    case "memory":
      out.based(place.at);
      if (bits > 32) out.op(Dw.Deref);
      else out.op(Dw.DerefSize).op(bits > 16 ? 4 : bits > 8 ? 2 : 1);
      break;
    case "address":
      out.based(place.at);
      break;
    case "constant":
      out.number(numberOf(place));
      width = whole;
      break;
  }
  const result = operations(out, steps, width);
  if (result === null) return null;
  if (result.bits % 8 !== 0 || (isMemory && result.bits < 64)) extend(out, result);
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
