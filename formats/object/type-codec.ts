/**
 * Type tables: each entry names its parts by the indices of earlier entries, so a table cannot be cyclic.
 *
 * Nesting deeper than `maxTypeDepth` is refused both ways: code that walks types recursively relies on it.
 */
import { InputError } from "../../lto/ir/errors.js";
import {
  arrayType,
  bfloatType,
  doubleType,
  floatType,
  fp80Type,
  fp128Type,
  functionType,
  halfType,
  i1,
  i8,
  i16,
  i32,
  i64,
  i128,
  intType,
  labelType,
  metadataType,
  pointerType,
  ptr,
  structType,
  type Type,
  tokenType,
  vectorType,
  voidType,
} from "../../lto/ir/types.js";
import { type ByteReader, ByteWriter } from "./bytes.js";

/** Types whose code stands alone; the position is the code. Append only, below `Code.Int`. */
const simpleTypes: readonly Type[] = [
  voidType,
  halfType,
  bfloatType,
  floatType,
  doubleType,
  fp80Type,
  fp128Type,
  labelType,
  metadataType,
  tokenType,
  i1,
  i8,
  i16,
  i32,
  i64,
  i128,
  ptr,
];
const simpleCodes = new Map(simpleTypes.map((type, code) => [type, code]));

const Code = {
  Int: 64,
  Pointer: 65,
  Array: 66,
  Vector: 67,
  Struct: 68,
  PackedStruct: 69,
  Function: 70,
  VarArgFunction: 71,
} as const;

const maxTypeDepth = 256;
const maxIntBits = 1 << 23;

export class TypeTableWriter {
  private readonly indices = new Map<Type, number>();
  private readonly depths: number[] = [];
  private readonly out = new ByteWriter();

  /** By index. */
  readonly entries: Type[] = [];

  /** Index of `type`, which is entered with its parts on first use. */
  index(type: Type): number {
    const known = this.indices.get(type);
    return known !== undefined ? known : this.add(type);
  }

  private add(type: Type): number {
    const { out } = this;
    let depth = 0;
    const parts = type.elements.map((element) => {
      const index = this.index(element);
      depth = Math.max(depth, this.depths[index]! + 1);
      return index;
    });
    if (depth > maxTypeDepth) throw new InputError("types are nested too deep");
    const simple = simpleCodes.get(type);
    if (simple !== undefined) out.byte(simple);
    else
      switch (type.kind) {
        case "int":
          out.byte(Code.Int);
          out.uint(type.bits);
          break;
        case "ptr":
          out.byte(Code.Pointer);
          out.uint(type.addressSpace);
          break;
        case "array":
        case "vector":
          out.byte(type.kind === "array" ? Code.Array : Code.Vector);
          out.uint(type.count);
          out.uint(parts[0]!);
          break;
        case "struct":
        case "function": {
          const plain = type.kind === "struct" ? Code.Struct : Code.Function;
          out.byte(type.flag ? plain + 1 : plain);
          out.uint(parts.length);
          for (const part of parts) out.uint(part);
          break;
        }
        default:
          throw new Error(`no object code for type ${type}`);
      }
    const index = this.indices.size;
    this.indices.set(type, index);
    this.entries.push(type);
    this.depths.push(depth);
    return index;
  }

  write(out: ByteWriter): void {
    out.uint(this.indices.size);
    out.append(this.out);
  }
}

/** Whether values of the type can exist in memory or registers: what arrays, structs and results hold. */
function isFirstClass(type: Type): boolean {
  return (
    type.kind !== "void" && type.kind !== "label" && type.kind !== "function" && type.kind !== "metadata"
  );
}

/** Reads what `TypeTableWriter.write` wrote. @throws InputError on malformed data */
export function readTypeTable(reader: ByteReader): Type[] {
  const count = reader.count("types");
  const types: Type[] = [];
  const depths: number[] = [];
  let depth = 0;
  const part = (): Type => {
    const index = reader.below(types.length, "type");
    depth = Math.max(depth, depths[index]! + 1);
    return types[index]!;
  };
  for (let i = 0; i < count; i++) {
    depth = 0;
    types.push(readType(reader, part));
    if (depth > maxTypeDepth) throw new InputError("types are nested too deep");
    depths.push(depth);
  }
  return types;
}

function readType(reader: ByteReader, part: () => Type): Type {
  const code = reader.byte();
  const simple = simpleTypes[code];
  if (simple !== undefined) return simple;
  switch (code) {
    case Code.Int: {
      const bits = reader.uint();
      if (bits < 1 || bits > maxIntBits) throw new InputError(`an integer type has ${bits} bits`);
      return intType(bits);
    }
    case Code.Pointer:
      return pointerType(reader.below(1 << 24, "address space"));
    case Code.Array: {
      const length = reader.long();
      const element = part();
      if (!isFirstClass(element)) throw new InputError(`an array of ${element}`);
      return arrayType(length, element);
    }
    case Code.Vector: {
      const length = reader.uint();
      const element = part();
      if (length < 1) throw new InputError("a vector of no elements");
      if (element.kind !== "int" && element.kind !== "ptr" && !element.isFloat)
        throw new InputError(`a vector of ${element}`);
      return vectorType(length, element);
    }
    case Code.Struct:
    case Code.PackedStruct: {
      const length = reader.count("members");
      const members: Type[] = [];
      for (let i = 0; i < length; i++) {
        const member = part();
        if (!isFirstClass(member)) throw new InputError(`a structure with a member of type ${member}`);
        members.push(member);
      }
      return structType(members, code === Code.PackedStruct);
    }
    case Code.Function:
    case Code.VarArgFunction: {
      const length = reader.count("parts");
      if (length < 1) throw new InputError("a function type without a result");
      const result = part();
      if (result.kind !== "void" && !isFirstClass(result))
        throw new InputError(`a function type with result ${result}`);
      const parameters: Type[] = [];
      for (let i = 1; i < length; i++) {
        const parameter = part();
        if (!isFirstClass(parameter) && parameter.kind !== "metadata")
          throw new InputError(`a function type with a parameter of type ${parameter}`);
        parameters.push(parameter);
      }
      return functionType(result, parameters, code === Code.VarArgFunction);
    }
    default:
      throw new InputError(`unknown type code ${code}`);
  }
}
