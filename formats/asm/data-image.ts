/**
 * Constants as bytes and relocations: the image of an initialiser.
 *
 * A constant is written into a byte array of its allocation size; what the assembler or linker must compute
 * (addresses, differences of addresses) becomes an entry of a list. Padding and undefined values are zero.
 * Linear in the size of the initialiser.
 * Source: LLVM Language Reference, "Constants"; System V ABI AMD64, section 3.1.2 (layout).
 */
import type { DataLayout } from "../../lto/ir/data-layout.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Type } from "../../lto/ir/types.js";
import type { Constant, ConstExpr } from "../../lto/ir/values.js";
import { type Address, evaluate, integerOf } from "./const-eval.js";

export interface Relocation {
  readonly offset: number;
  readonly size: number;
  readonly value: Address;
}

export interface DataImage {
  readonly bytes: Uint8Array;
  /** By rising offset. */
  readonly relocations: readonly Relocation[];
}

/** Whether some of it depends on where the program is loaded. Distances do not. */
export const dependsOnPlace = ({ relocations }: DataImage): boolean =>
  relocations.some(({ value }) => value.minus === null);

/** @throws InputError on a constant that no object file can hold */
export function dataImage(constant: Constant, layout: DataLayout): DataImage {
  const size = layout.allocSize(constant.type);
  if (size > 0x7fffffff) throw new InputError("initialiser of 2 GB or more");
  const writer = new ImageWriter(new Uint8Array(size), layout);
  writer.write(constant, 0);
  writer.relocations.sort((a, b) => a.offset - b.offset);
  return writer;
}

/** All bits of the constant are zero, without building an image. */
export function isZeroConstant(constant: Constant): boolean {
  switch (constant.valueKind) {
    case "zero":
    case "undef":
      return true;
    case "int":
      return constant.value === 0n;
    case "float":
      return constant.bits === 0n;
    case "data":
      return constant.bytes.every((b) => b === 0);
    case "aggregate":
      return constant.elements.every(isZeroConstant);
    default:
      return false;
  }
}

class ImageWriter implements DataImage {
  readonly relocations: Relocation[] = [];
  constructor(
    readonly bytes: Uint8Array,
    private readonly layout: DataLayout,
  ) {}

  write(constant: Constant, at: number): void {
    switch (constant.valueKind) {
      case "zero":
      case "undef":
      case "none":
        return;
      case "int":
        this.integer(
          BigInt.asUintN(constant.type.bits, constant.value),
          at,
          this.layout.storeSize(constant.type),
        );
        return;
      case "float":
        this.integer(constant.bits, at, this.layout.storeSize(constant.type));
        return;
      case "data":
        this.bytes.set(constant.bytes, at);
        return;
      case "aggregate":
        this.aggregate(constant.type, constant.elements, at);
        return;
      default:
        this.expression(constant, at);
    }
  }

  private integer(value: bigint, at: number, size: number): void {
    let rest = value;
    for (let i = 0; i < size && rest !== 0n; i += 4) {
      let word = Number(rest & 0xffffffffn);
      for (let j = i; j < Math.min(i + 4, size); j++) {
        this.bytes[at + j] = word & 0xff;
        word >>>= 8;
      }
      rest >>= 32n;
    }
  }

  private aggregate(type: Type, elements: readonly Constant[], at: number): void {
    if (type.kind === "vector") {
      this.vector(type, elements, at);
      return;
    }
    if (type.kind === "struct") {
      const { offsets } = this.layout.structLayout(type);
      for (let i = 0; i < elements.length; i++) this.write(elements[i]!, at + offsets[i]!);
      return;
    }
    const stride = this.layout.allocSize(type.element);
    for (let i = 0; i < elements.length; i++) this.write(elements[i]!, at + i * stride);
  }

  /** Vector elements are packed by their bits. */
  private vector(type: Type, elements: readonly Constant[], at: number): void {
    const bits = this.layout.bitWidth(type.element);
    if (bits % 8 === 0) {
      for (let i = 0; i < elements.length; i++) this.write(elements[i]!, at + (i * bits) / 8);
      return;
    }
    let packed = 0n;
    elements.forEach((element, i) => {
      packed |= BigInt.asUintN(bits, integerOf(element, this.layout)) << BigInt(i * bits);
    });
    this.integer(packed, at, this.layout.storeSize(type));
  }

  /** Anything that has a value only the linker may know. */
  private expression(constant: Constant, at: number): void {
    const { type } = constant;
    if (type.isAggregate || type.isVector) {
      this.wideExpression(constant, at);
      return;
    }
    const size = this.layout.storeSize(type);
    const value = evaluate(constant, this.layout);
    if (value.plus === null && value.minus === null) {
      this.integer(BigInt.asUintN(size * 8, value.offset), at, size);
      return;
    }
    if (size !== 1 && size !== 2 && size !== 4 && size !== 8)
      throw new InputError(`address in an initialiser of type ${type}`);
    this.relocations.push({ offset: at, size, value });
  }

  /** A bit cast of one aggregate or vector to another: the same bytes. */
  private wideExpression(constant: Constant, at: number): void {
    const inner = constant as ConstExpr;
    const operand = constant.valueKind === "expr" && inner.operands.length === 1 ? inner.operands[0]! : null;
    if (operand === null || this.layout.storeSize(operand.type) !== this.layout.storeSize(constant.type))
      throw new InputError(`unsupported constant expression of type ${constant.type}`);
    this.write(operand, at);
  }
}
