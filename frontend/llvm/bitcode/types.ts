/**
 * The type table of a bitcode module: type ids to interned types.
 *
 * Method: records are kept as they come and a type is built on first use, because typed pointers (LLVM 14)
 * may refer to later entries; a pointer's own type is opaque and its pointee is only looked up for the few
 * old records that need it. Each type is built once.
 *
 * A type that is nested too deeply, or too large to exist in a 48-bit address space, or has too many
 * members, is rejected here, so that later phases may recurse over types and add up sizes.
 */

import { TypeCode } from "../../../formats/bitcode/codes.js";
import { InputError, UnsupportedError } from "../../../lto/ir/errors.js";
import {
  arrayType,
  bfloatType,
  doubleType,
  floatType,
  fp80Type,
  fp128Type,
  functionType,
  halfType,
  intType,
  labelType,
  metadataType,
  pointerType,
  structType,
  type Type,
  tokenType,
  vectorType,
  voidType,
} from "../../../lto/ir/types.js";
import { type BitReader, Entry } from "./bitstream.js";

const maxDepth = 500;
const maxMembers = 1 << 20;
const maxBytes = 2 ** 47;
const maxIntBits = 1 << 23;
const maxVector = 1 << 20;

interface TypeRecord {
  readonly code: number;
  /** Operands as numbers, inexact above 2^53. */
  readonly operands: readonly number[];
  state: "raw" | "busy" | "done";
  type: Type | null;
  depth: number;
  members: number;
  /** An upper bound. */
  bytes: number;
}

/** What may be a value of its own, stored in memory or put in an aggregate. */
export function isSized(type: Type): boolean {
  switch (type.kind) {
    case "void":
    case "label":
    case "metadata":
    case "token":
    case "function":
      return false;
    default:
      return true;
  }
}

export class TypeTable {
  private readonly records: TypeRecord[] = [];

  /** Reads the TYPE block that `reader` met. */
  read(reader: BitReader): void {
    reader.enter();
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) return;
      if (entry === Entry.SubBlock) {
        reader.skip();
        continue;
      }
      if (reader.code === TypeCode.NumEntry || reader.code === TypeCode.StructName) continue;
      const operands: number[] = [];
      for (let i = 0; i < reader.count; i++) operands.push(reader.number(i));
      this.records.push({
        code: reader.code,
        operands,
        state: "raw",
        type: null,
        depth: 0,
        members: 1,
        bytes: 0,
      });
    }
  }

  /** The type of an id. @throws InputError for a bad id or type, UnsupportedError for an exotic type. */
  get(id: number): Type {
    const record = this.records[id];
    return record !== undefined && record.type !== null ? record.type : this.build(id, 0).type!;
  }

  /** A type of which values in memory may exist. */
  sized(id: number): Type {
    const type = this.get(id);
    if (!isSized(type)) throw new InputError(`malformed bitcode: a value of type ${type}`);
    return type;
  }

  /** The pointee of a typed pointer, null for an opaque one. */
  pointee(id: number): Type | null {
    const record = this.records[id];
    if (record?.code !== TypeCode.Pointer || record.operands.length < 1) return null;
    return this.get(record.operands[0]!);
  }

  private build(id: number, level: number): TypeRecord {
    const record = this.records[id];
    if (record === undefined) throw new InputError(`malformed bitcode: undefined type ${id}`);
    if (record.state === "busy") throw new InputError("malformed bitcode: a type contains itself");
    if (record.state === "raw") {
      if (level > maxDepth) throw new InputError("types are nested too deeply");
      record.state = "busy";
      try {
        record.type = this.make(record, level + 1);
      } finally {
        record.state = record.type === null ? "raw" : "done";
      }
      if (record.depth > maxDepth) throw new InputError("types are nested too deeply");
      if (record.members > maxMembers || record.bytes > maxBytes) throw new InputError(`a type is too large`);
    }
    return record;
  }

  /** A part of an aggregate, whose measures go into `whole`. */
  private part(whole: TypeRecord, id: number, times: number, level: number): Type {
    const part = this.build(id, level);
    whole.depth = Math.max(whole.depth, part.depth + 1);
    whole.members += part.members;
    whole.bytes += (part.bytes + 16) * times;
    if (whole.members > maxMembers || whole.bytes > maxBytes) throw new InputError("a type is too large");
    return part.type!;
  }

  private member(whole: TypeRecord, id: number, times: number, level: number): Type {
    const type = this.part(whole, id, times, level);
    if (!isSized(type)) throw new InputError(`malformed bitcode: an aggregate of ${type}`);
    return type;
  }

  private make(record: TypeRecord, level: number): Type {
    const { operands } = record;
    record.bytes = 16;
    switch (record.code) {
      case TypeCode.Void:
        return voidType;
      case TypeCode.Float:
        return floatType;
      case TypeCode.Double:
        return doubleType;
      case TypeCode.Half:
        return halfType;
      case TypeCode.BFloat:
        return bfloatType;
      case TypeCode.X86Fp80:
        return fp80Type;
      case TypeCode.Fp128:
        return fp128Type;
      case TypeCode.Label:
        return labelType;
      case TypeCode.Metadata:
        return metadataType;
      case TypeCode.Token:
        return tokenType;
      case TypeCode.Integer: {
        const bits = operands[0] ?? 0;
        if (bits < 1 || bits > maxIntBits) throw new InputError("malformed bitcode: integer width");
        record.bytes = Math.ceil(bits / 8) * 2;
        return intType(bits);
      }
      case TypeCode.OpaquePointer:
        return addressSpace(operands[0]);
      case TypeCode.Pointer:
        return addressSpace(operands[1]);
      case TypeCode.Array:
        return this.array(record, level);
      case TypeCode.Vector:
        return this.vector(record, level);
      case TypeCode.StructAnon:
      case TypeCode.StructNamed:
        return structType(
          operands.slice(1).map((id) => this.member(record, id, 1, level)),
          (operands[0] ?? 0) !== 0,
        );
      case TypeCode.Opaque: // Only ever the type of an external variable: nothing depends on its size.
        return structType([]);
      case TypeCode.Function:
        return this.func(record, operands.slice(1), level);
      case TypeCode.FunctionOld:
        return this.func(record, operands.slice(2), level);
      default:
        throw new UnsupportedError(exoticTypes.get(record.code) ?? `type record ${record.code}`);
    }
  }

  private array(record: TypeRecord, level: number): Type {
    const [count, element] = record.operands;
    if (count === undefined || element === undefined) throw new InputError("malformed bitcode: array type");
    if (count > maxBytes) throw new InputError("a type is too large");
    return arrayType(count, this.member(record, element, count, level));
  }

  private vector(record: TypeRecord, level: number): Type {
    const [count, element, scalable] = record.operands;
    if (scalable !== undefined && scalable !== 0) throw new UnsupportedError("scalable vector");
    if (element === undefined || !(count! >= 1)) throw new InputError("malformed bitcode: vector type");
    if (count! > maxVector) throw new InputError("a type is too large");
    const type = this.member(record, element, count!, level);
    if (type.kind !== "int" && type.kind !== "ptr" && !type.isFloat)
      throw new InputError(`malformed bitcode: a vector of ${type}`);
    return vectorType(count!, type);
  }

  private func(record: TypeRecord, ids: readonly number[], level: number): Type {
    if (ids.length < 1) throw new InputError("malformed bitcode: function type");
    const [result, ...parameters] = ids.map((id) => this.part(record, id, 1, level));
    if (result!.kind !== "void" && result!.kind !== "token" && !isSized(result!))
      throw new InputError(`malformed bitcode: a function that returns ${result}`);
    for (const parameter of parameters)
      if (parameter.kind === "void" || parameter.kind === "function")
        throw new InputError(`malformed bitcode: a parameter of type ${parameter}`);
    return functionType(result!, parameters, record.operands[0] !== 0);
  }
}

const exoticTypes = new Map<number, string>([
  [TypeCode.PpcFp128, "type ppc_fp128"],
  [TypeCode.X86Mmx, "type x86_mmx"],
  [TypeCode.X86Amx, "type x86_amx"],
  [TypeCode.Target, "target extension type"],
  [TypeCode.Byte, "byte type"],
]);

function addressSpace(space = 0): Type {
  if (space >= 1 << 24) throw new InputError("malformed bitcode: address space");
  return pointerType(space);
}
