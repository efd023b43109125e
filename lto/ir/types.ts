/**
 * The type system of the IR: LLVM's, with opaque pointers only.
 *
 * Types are interned for the life of the process, so `===` is type equality. Struct names carry no meaning
 * in an opaque-pointer world and are dropped: a struct type is its element list and its packing.
 */

export type TypeKind =
  | "void"
  | "int"
  | "half"
  | "bfloat"
  | "float"
  | "double"
  | "x86_fp80"
  | "fp128"
  | "ptr"
  | "label"
  | "metadata"
  | "token"
  | "array"
  | "vector"
  | "struct"
  | "function";

/** Bits of each kind of floating-point number. */
export const floatBits: Readonly<Record<string, number>> = {
  half: 16,
  bfloat: 16,
  float: 32,
  double: 64,
  x86_fp80: 80,
  fp128: 128,
};

/**
 * One interned type. A single runtime shape for every kind keeps property loads monomorphic; fields that do
 * not apply to a kind hold their neutral value.
 */
export class Type {
  constructor(
    readonly id: number,
    readonly kind: TypeKind,
    /** `int`: width in bits. */
    readonly bits: number,
    /** `array`, `vector`: element count. */
    readonly count: number,
    /** `ptr`: address space. */
    readonly addressSpace: number,
    /** `array`, `vector`: [element]; `struct`: members; `function`: [result, ...parameters]. */
    readonly elements: readonly Type[],
    /** `struct`: laid out without padding. `function`: takes variable arguments. */
    readonly flag: boolean,
  ) {}

  /** Element type of an array or vector. */
  get element(): Type {
    return this.elements[0]!;
  }
  get packed(): boolean {
    return this.flag;
  }
  get isVarArg(): boolean {
    return this.flag;
  }
  get result(): Type {
    return this.elements[0]!;
  }
  get parameters(): readonly Type[] {
    return this.elements.slice(1);
  }
  /** Integer of exactly `bits` bits (any integer when omitted). */
  isInt(bits?: number): boolean {
    return this.kind === "int" && (bits === undefined || this.bits === bits);
  }
  get isPointer(): boolean {
    return this.kind === "ptr";
  }
  get isVector(): boolean {
    return this.kind === "vector";
  }
  get isFloat(): boolean {
    switch (this.kind) {
      case "half":
      case "bfloat":
      case "float":
      case "double":
      case "x86_fp80":
      case "fp128":
        return true;
      default:
        return false;
    }
  }
  get isAggregate(): boolean {
    return this.kind === "array" || this.kind === "struct";
  }
  /** The element type of a vector, else the type itself. */
  get scalar(): Type {
    return this.kind === "vector" ? this.elements[0]! : this;
  }

  /** LLVM assembly spelling. */
  toString(): string {
    switch (this.kind) {
      case "int":
        return `i${this.bits}`;
      case "ptr":
        return this.addressSpace === 0 ? "ptr" : `ptr addrspace(${this.addressSpace})`;
      case "array":
        return `[${this.count} x ${this.element}]`;
      case "vector":
        return `<${this.count} x ${this.element}>`;
      case "struct": {
        const body = this.elements.length === 0 ? "{}" : `{ ${this.elements.join(", ")} }`;
        return this.packed ? `<${body}>` : body;
      }
      case "function": {
        const params = this.parameters.map(String);
        if (this.isVarArg) params.push("...");
        return `${this.result} (${params.join(", ")})`;
      }
      default:
        return this.kind;
    }
  }
}

const table = new Map<string, Type>();

function intern(
  key: string,
  kind: TypeKind,
  bits: number,
  count: number,
  addressSpace: number,
  elements: readonly Type[],
  flag: boolean,
): Type {
  let type = table.get(key);
  if (type === undefined) {
    type = new Type(table.size, kind, bits, count, addressSpace, elements, flag);
    table.set(key, type);
  }
  return type;
}

const simple = (kind: TypeKind): Type => intern(kind, kind, 0, 0, 0, [], false);

export const voidType = simple("void");
export const halfType = simple("half");
export const bfloatType = simple("bfloat");
export const floatType = simple("float");
export const doubleType = simple("double");
export const fp80Type = simple("x86_fp80");
export const fp128Type = simple("fp128");
export const labelType = simple("label");
export const metadataType = simple("metadata");
export const tokenType = simple("token");

/** Integer type of `bits` bits, 1 ≤ bits ≤ 2^23. */
export const intType = (bits: number): Type => intern(`i${bits}`, "int", bits, 0, 0, [], false);
export const pointerType = (addressSpace = 0): Type =>
  intern(`p${addressSpace}`, "ptr", 0, 0, addressSpace, [], false);
export const arrayType = (count: number, element: Type): Type =>
  intern(`[${count},${element.id}`, "array", 0, count, 0, [element], false);
export const vectorType = (count: number, element: Type): Type =>
  intern(`<${count},${element.id}`, "vector", 0, count, 0, [element], false);
export const structType = (elements: readonly Type[], packed = false): Type =>
  intern(`{${packed ? "p" : ""}${elements.map((e) => e.id).join(",")}`, "struct", 0, 0, 0, elements, packed);
export const functionType = (result: Type, parameters: readonly Type[], varArg = false): Type =>
  intern(
    `(${varArg ? "v" : ""}${result.id},${parameters.map((e) => e.id).join(",")}`,
    "function",
    0,
    0,
    0,
    [result, ...parameters],
    varArg,
  );

export const i1 = intType(1);
export const i8 = intType(8);
export const i16 = intType(16);
export const i32 = intType(32);
export const i64 = intType(64);
export const i128 = intType(128);
export const ptr = pointerType(0);
