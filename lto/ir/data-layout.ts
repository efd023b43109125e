/**
 * Sizes and alignments of types, from a module's data layout string
 * (LLVM Language Reference, "Data Layout"). All results are in bytes.
 */
import { InputError } from "./errors.js";
import type { Type } from "./types.js";

export interface StructLayout {
  /** Including tail padding. */
  readonly size: number;
  readonly align: number;
  /** Byte offset of each member. */
  readonly offsets: readonly number[];
}

const roundUp = (n: number, align: number): number => Math.ceil(n / align) * align;

export class DataLayout {
  private readonly intAligns = new Map<number, number>([
    [1, 1],
    [8, 1],
    [16, 2],
    [32, 4],
    [64, 4],
  ]);
  private readonly floatAligns = new Map<number, number>([
    [16, 2],
    [32, 4],
    [64, 8],
    [80, 16],
    [128, 16],
  ]);
  private readonly vectorAligns = new Map<number, number>([
    [64, 8],
    [128, 16],
  ]);
  private readonly pointers = new Map<number, { size: number; align: number }>([[0, { size: 8, align: 8 }]]);
  private readonly structs = new Map<Type, StructLayout>();
  /** `allocSize` of integers, by their bits. */
  private readonly intSizes: (number | undefined)[] = [];

  /** @throws InputError on a malformed or big-endian layout. */
  constructor(readonly text: string) {
    for (const part of text.split("-")) if (part !== "") this.parse(part);
  }

  private parse(part: string): void {
    const [head, ...rest] = part.split(":");
    const bytes = (s: string | undefined): number => {
      const bits = Number(s);
      if (s === undefined || !Number.isInteger(bits) || bits % 8 !== 0 || bits > 1 << 16)
        throw new InputError(`malformed data layout component '${part}'`);
      return bits / 8;
    };
    const width = Number(head!.slice(1) || "0");
    switch (head![0]) {
      case "E":
        throw new InputError("big-endian targets are not supported");
      case "i":
        this.intAligns.set(width, bytes(rest[0]));
        break;
      case "f":
        this.floatAligns.set(width, bytes(rest[0]));
        break;
      case "v":
        this.vectorAligns.set(width, bytes(rest[0]));
        break;
      case "p":
        this.pointers.set(width, { size: bytes(rest[0]), align: bytes(rest[1] ?? rest[0]) });
        break;
      default: // e, m, n, S, A, P, G, a, F: nothing that sizes or alignments depend on.
        break;
    }
  }

  private pointer(type: Type): { size: number; align: number } {
    return this.pointers.get(type.addressSpace) ?? this.pointers.get(0)!;
  }

  /** Width in bits of a first-class scalar or vector type. */
  bitWidth(type: Type): number {
    switch (type.kind) {
      case "int":
        return type.bits;
      case "half":
      case "bfloat":
        return 16;
      case "float":
        return 32;
      case "double":
        return 64;
      case "x86_fp80":
        return 80;
      case "fp128":
        return 128;
      case "ptr":
        return this.pointer(type).size * 8;
      case "vector":
        return type.count * this.bitWidth(type.element);
      default:
        return this.allocSize(type) * 8;
    }
  }

  /** Bytes that a store of the type may write. */
  storeSize(type: Type): number {
    switch (type.kind) {
      case "array":
      case "struct":
        return this.allocSize(type);
      default:
        return Math.ceil(this.bitWidth(type) / 8);
    }
  }

  /** Distance between consecutive elements in an array of the type. */
  allocSize(type: Type): number {
    switch (type.kind) {
      case "array":
        return type.count * this.allocSize(type.element);
      case "struct":
        return this.structLayout(type).size;
      case "int":
        return (this.intSizes[type.bits] ??= roundUp(this.storeSize(type), this.abiAlign(type)));
      case "function":
        return 1;
      default:
        return roundUp(this.storeSize(type), this.abiAlign(type));
    }
  }

  abiAlign(type: Type): number {
    switch (type.kind) {
      case "int": {
        const exact = this.intAligns.get(type.bits);
        if (exact !== undefined) return exact;
        // The smallest larger specified width, else the largest specified one.
        let best = -1;
        let largest = 0;
        for (const width of this.intAligns.keys()) {
          if (width > type.bits && (best < 0 || width < best)) best = width;
          if (width > largest) largest = width;
        }
        return this.intAligns.get(best < 0 ? largest : best)!;
      }
      case "half":
      case "bfloat":
      case "float":
      case "double":
      case "x86_fp80":
      case "fp128":
        return this.floatAligns.get(this.bitWidth(type)) ?? 16;
      case "ptr":
        return this.pointer(type).align;
      case "vector": {
        const bits = this.bitWidth(type);
        const exact = this.vectorAligns.get(bits);
        if (exact !== undefined) return exact;
        let align = 1;
        while (align < bits / 8) align *= 2;
        return align;
      }
      case "array":
        return this.abiAlign(type.element);
      case "struct":
        return this.structLayout(type).align;
      default:
        return 1;
    }
  }

  structLayout(type: Type): StructLayout {
    let layout = this.structs.get(type);
    if (layout === undefined) {
      let size = 0;
      let align = 1;
      const offsets: number[] = [];
      for (const member of type.elements) {
        const memberAlign = type.packed ? 1 : this.abiAlign(member);
        size = roundUp(size, memberAlign);
        offsets.push(size);
        size += this.allocSize(member);
        align = Math.max(align, memberAlign);
      }
      layout = { size: roundUp(size, align), align, offsets };
      this.structs.set(type, layout);
    }
    return layout;
  }

  /** Byte offset of member or element `index` of an aggregate. */
  elementOffset(type: Type, index: number): number {
    return type.kind === "struct"
      ? this.structLayout(type).offsets[index]!
      : index * this.allocSize(type.element);
  }

  /** Alignment a global of the type gets when none is given: 16 for large objects, as LLVM does. */
  preferredAlign(type: Type): number {
    const abi = this.abiAlign(type);
    return this.allocSize(type) > 16 && abi < 16 ? 16 : abi;
  }
}
