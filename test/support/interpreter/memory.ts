/** Values as bits, each of which may be poison, and the memory of the test interpreter, each byte of which may be. */
import type { DataLayout } from "../../../lto/ir/data-layout.js";
import type { Type } from "../../../lto/ir/types.js";
import { bitWidth, mask, type Scalar, wrap } from "./bits.js";
import type { Val } from "./interpreter.js";
import { Undefined } from "./scalar-ops.js";

/** Bits, and which of them are poison: those are 0 in the first. */
export interface Bits {
  readonly bits: bigint;
  readonly poison: bigint;
}

/** A scalar or vector, the first lane lowest. */
export function toBits(type: Type, value: Val): Bits {
  const width = bitWidth(type.scalar);
  const lanes = Array.isArray(value) ? (value as Scalar[]) : [value];
  let bits = 0n;
  let poison = 0n;
  lanes.forEach((lane, i) => {
    const by = BigInt(i * width);
    if (lane === null) poison |= mask(width) << by;
    else bits |= lane << by;
  });
  return { bits, poison };
}

/** A scalar or vector; a lane is poison if one of its bits is. */
export function fromBits(type: Type, { bits, poison }: Bits): Val {
  const width = bitWidth(type.scalar);
  const lane = (i: number): Scalar => {
    const by = BigInt(i * width);
    return wrap(poison >> by, width) !== 0n ? null : wrap(bits >> by, width);
  };
  return type.kind === "vector" ? Array.from({ length: type.count }, (_, i) => lane(i)) : lane(0);
}

export class Memory {
  readonly bytes: Uint8Array;
  /** By byte: 1 if it is of poison. */
  readonly poisoned: Uint8Array;
  /** Otherwise a program that stores poison does something undefined. */
  holdsPoison = false;

  constructor(
    private readonly layout: DataLayout,
    size: number,
  ) {
    this.bytes = new Uint8Array(size);
    this.poisoned = new Uint8Array(size);
  }

  load(type: Type, address: number): Val {
    if (type.isAggregate) {
      const count = type.kind === "array" ? type.count : type.elements.length;
      return Array.from({ length: count }, (_, i) =>
        this.load(
          type.kind === "array" ? type.element : type.elements[i]!,
          address + this.layout.elementOffset(type, i),
        ),
      );
    }
    const size = Math.ceil(bitWidth(type) / 8);
    this.check(address, size);
    let bits = 0n;
    let poison = 0n;
    for (let i = size - 1; i >= 0; i--) {
      bits = (bits << 8n) | BigInt(this.bytes[address + i]!);
      poison = (poison << 8n) | (this.poisoned[address + i] === 0 ? 0n : 255n);
    }
    return fromBits(type, { bits, poison });
  }

  store(type: Type, value: Val, address: number): void {
    if (type.isAggregate) {
      (value as Val[]).forEach((v, i) => {
        const member = type.kind === "array" ? type.element : type.elements[i]!;
        this.store(member, v, address + this.layout.elementOffset(type, i));
      });
      return;
    }
    let { bits, poison } = toBits(type, value);
    if (poison !== 0n && !this.holdsPoison) throw new Undefined("poison in memory");
    const size = Math.ceil(bitWidth(type) / 8);
    this.check(address, size);
    for (let i = 0; i < size; i++) {
      this.bytes[address + i] = Number(bits & 0xffn);
      this.poisoned[address + i] = (poison & 0xffn) === 0n ? 0 : 1;
      bits >>= 8n;
      poison >>= 8n;
    }
  }

  /** Bytes of which none is poison. */
  read(from: number, to: number): number[] {
    if (this.poisoned.subarray(from, to).includes(1)) throw new Undefined("poison is looked at");
    return [...this.bytes.subarray(from, to)];
  }
  write(to: number, bytes: readonly number[]): void {
    this.bytes.set(bytes, to);
    this.poisoned.fill(0, to, to + bytes.length);
  }
  fill(to: number, byte: number, length: number): void {
    this.bytes.fill(byte, to, to + length);
    this.poisoned.fill(0, to, to + length);
  }
  copy(to: number, from: number, length: number): void {
    this.bytes.copyWithin(to, from, from + length);
    this.poisoned.copyWithin(to, from, from + length);
  }

  /** Bytes in hexadecimal, those of poison as "..". */
  shown(from: number, to: number): string {
    const text = Buffer.from(this.bytes.subarray(from, to)).toString("hex");
    if (!this.poisoned.subarray(from, to).includes(1)) return text;
    return text.replace(/../g, (byte, at: number) => (this.poisoned[from + at / 2] === 0 ? byte : ".."));
  }

  private check(address: number, size: number): void {
    if (address < 0 || address + size > this.bytes.length) throw new Error("interpreter: wild address");
  }
}

/** Whether memory as `shown` is what the other was, where that was not poison. */
export function refinesMemory(first: string, second: string): boolean {
  if (first === second || !first.includes(".")) return first === second;
  return (
    first.length === second.length && [...first].every((digit, i) => digit === "." || digit === second[i])
  );
}
