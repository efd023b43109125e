/** The type table of a bitcode module: numbers for types, parts before wholes. */
import type { Type } from "../../lto/ir/types.js";
import type { BitWriter } from "./bit-stream.js";
import { BlockId, TypeCode } from "./codes.js";

const scalars: Readonly<Record<string, TypeCode>> = {
  void: TypeCode.Void,
  half: TypeCode.Half,
  bfloat: TypeCode.BFloat,
  float: TypeCode.Float,
  double: TypeCode.Double,
  x86_fp80: TypeCode.X86Fp80,
  fp128: TypeCode.Fp128,
  label: TypeCode.Label,
  metadata: TypeCode.Metadata,
  token: TypeCode.Token,
};

export class TypeNumbers {
  private readonly numbers = new Map<Type, number>();

  /** The number of a type, given when it is first asked for. */
  of(type: Type): number {
    let number = this.numbers.get(type);
    if (number === undefined) {
      for (const part of type.elements) this.of(part);
      this.numbers.set(type, (number = this.numbers.size));
    }
    return number;
  }

  write(w: BitWriter): void {
    w.block(BlockId.Type, () => {
      w.record(TypeCode.NumEntry, [this.numbers.size]);
      for (const type of this.numbers.keys()) this.writeType(w, type);
    });
  }

  private writeType(w: BitWriter, type: Type): void {
    const parts = type.elements.map((part) => this.of(part));
    switch (type.kind) {
      case "int":
        return w.record(TypeCode.Integer, [type.bits]);
      case "ptr":
        return w.record(TypeCode.OpaquePointer, [type.addressSpace]);
      case "array":
        return w.record(TypeCode.Array, [type.count, ...parts]);
      case "vector":
        return w.record(TypeCode.Vector, [type.count, ...parts]);
      case "struct":
        return w.record(TypeCode.StructAnon, [type.packed ? 1 : 0, ...parts]);
      case "function":
        return w.record(TypeCode.Function, [type.isVarArg ? 1 : 0, ...parts]);
      default:
        return w.record(scalars[type.kind]!, []);
    }
  }
}
