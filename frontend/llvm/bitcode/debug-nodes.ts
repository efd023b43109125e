/**
 * Debug information: the nodes that module and functions refer to, from the records of METADATA blocks.
 *
 * Whoever asks for a node gets it with all that it leads to. Each record becomes one node, whoever asks; a function's own
 * nodes too, however often it is decoded. Which field is where `lto/ir/debug/schema.ts` says for LLVM 22; what earlier
 * versions wrote otherwise is brought into that order first.
 *
 * Method: a node is made before its fields are read, which a list of what is to do has done, so that circles and depth do
 * not matter. Chains that others walk to their end (scopes, calls) are checked to have one. O(records).
 */
import { MetadataCode } from "../../../formats/bitcode/codes.js";
import { checkChains } from "../../../lto/ir/debug/chains.js";
import {
  blankNode,
  type DebugConstant,
  type DebugNode,
  type DebugString,
  type DICompileUnit,
  type FieldNode,
} from "../../../lto/ir/debug/nodes.js";
import {
  debugSchema,
  type Field,
  fieldsOf,
  type SchemaKind,
  schemaKinds,
} from "../../../lto/ir/debug/schema.js";
import { InputError, UnsupportedError } from "../../../lto/ir/errors.js";
import type { Func, GlobalValue, GlobalVariable } from "../../../lto/ir/module.js";
import { type Constant, ConstUndef, isConstant, type Value } from "../../../lto/ir/values.js";
import type { MetadataReader } from "./metadata.js";

const malformed = (what: string): InputError => new InputError(`malformed bitcode: ${what}`);
const older = (what: string): UnsupportedError =>
  new UnsupportedError(`debug information of LLVM 10 or older (${what})`);

const kindOfCode = new Map(schemaKinds.map((kind): [number, SchemaKind] => [debugSchema[kind].code, kind]));
kindOfCode.set(MetadataCode.DistinctNode, "tuple");

/** A copy of a record, in the layout of LLVM 22. */
class DebugRecord {
  /** @param operands as bigints only those that numbers are too small for */
  constructor(private readonly operands: readonly (number | bigint)[]) {}
  get count(): number {
    return this.operands.length;
  }
  big(at: number): bigint {
    return BigInt(this.operands[at] ?? 0);
  }
  has(at: number): boolean {
    return at >= 0 && at < this.operands.length;
  }
  /** @throws InputError when it is no safe integer */
  number(at: number): number {
    const value = this.operands[at] ?? 0;
    if (typeof value !== "number") throw malformed("number in debug information");
    return value;
  }
  /** The low bit is the sign. */
  rotated(at: number): bigint {
    return rotated(this.big(at));
  }
  /** The mark of position 0. */
  get mark(): number {
    return Number(this.operands[0] ?? 0) & 0xff;
  }
  /** With other operands from `at` on. */
  replaced(at: number, remove: number, ...by: number[]): DebugRecord {
    const changed = [...this.operands];
    changed.splice(at, remove, ...by);
    return new DebugRecord(changed);
  }
}

const rotated = (value: bigint): bigint =>
  (value & 1n) === 0n ? value >> 1n : value === 1n ? -(1n << 63n) : -(value >> 1n);

type Mutable = Record<string, unknown>;

interface Pending {
  readonly node: FieldNode;
  readonly record: DebugRecord;
}

export class DebugNodeReader {
  /** By the bit position of the record. */
  private readonly nodes = new Map<number, DebugNode>();
  private readonly strings = new Map<string, DebugString>();
  private pending: Pending[] = [];

  /** @param map what stands for a global that nodes mention; null: nothing does any more */
  constructor(
    private readonly metadata: MetadataReader,
    private readonly map: (global: GlobalValue) => GlobalValue | null,
  ) {}

  /** The node of an entry, with all that it leads to. @throws InputError when it is malformed or something else */
  node(id: number): DebugNode {
    const asked = this.shell(id);
    if (this.pending.length === 0) return asked;
    const made: FieldNode[] = [];
    try {
      // More may come while it runs.
      for (const { node, record } of this.pending) {
        this.fill(node, record);
        made.push(node);
      }
    } finally {
      this.pending = [];
    }
    checkChains(made);
    return asked;
  }

  /** The compile units of the module. */
  units(): DICompileUnit[] {
    return (this.metadata.named.get("llvm.dbg.cu") ?? []).map((id) => this.nodeOf(id, "DICompileUnit"));
  }

  /** Gives a global what is attached to it: entries. */
  attach(global: Func | GlobalVariable, entries: readonly number[]): void {
    if (entries.length === 0) return;
    if (global.kind === "function") global.subprogram = this.nodeOf(entries[0]!, "DISubprogram");
    else global.debug = entries.map((entry) => this.nodeOf(entry, "DIGlobalVariableExpression"));
  }

  /** A node of a kind. @throws InputError when it is of another */
  nodeOf<K extends SchemaKind>(id: number, kind: K): Extract<DebugNode, { kind: K }> {
    const node = this.node(id);
    if (node.kind !== kind) throw malformed(`${node.kind} where ${kind} should be`);
    return node as Extract<DebugNode, { kind: K }>;
  }

  /** The node of an entry, whose fields are read later. */
  private shell(id: number): DebugNode {
    const known = this.nodes.get(this.metadata.positionOf(id));
    if (known !== undefined) return known;
    const located = this.metadata.locate(id);
    if (typeof located === "string") return this.text(located);
    const node = this.newShell();
    this.nodes.set(located, node);
    return node;
  }

  private text(text: string): DebugString {
    let node = this.strings.get(text);
    if (node === undefined) this.strings.set(text, (node = { kind: "string", text }));
    return node;
  }

  private newShell(): DebugNode {
    const { record: reader } = this.metadata;
    const { code } = reader;
    if (code === MetadataCode.StringOld) return this.text(reader.text(0));
    if (code === MetadataCode.Value) return this.constant(reader.count > 1 ? reader.number(1) : -1);
    const kind = kindOfCode.get(code);
    if (kind === undefined) throw new UnsupportedError(`metadata record ${code} in debug information`);
    const { count } = reader;
    const first = kind === "tuple" ? 1 : 0;
    const operands = new Array<number | bigint>(first + count);
    if (first > 0) operands[0] = 0;
    for (let i = 0; i < count; i++) {
      const small = reader.number(i);
      operands[first + i] = Number.isSafeInteger(small) ? small : reader.big(i);
    }
    const record = current(kind, new DebugRecord(operands));
    const distinct =
      kind === "tuple"
        ? code === MetadataCode.DistinctNode
        : kind === "DICompileUnit" || (record.mark & 1) !== 0;
    const node = blankNode(kind, distinct, fieldsOf(kind));
    this.pending.push({ node, record });
    return node;
  }

  private constant(id: number): DebugConstant {
    const value = this.metadata.value(id) as Value | undefined;
    if (value === undefined || !isConstant(value)) throw malformed("constant in debug information");
    if (value.valueKind !== "global") return { kind: "constant", value: value as Constant };
    return { kind: "constant", value: this.map(value) ?? new ConstUndef(value.type, false) };
  }

  private fill(node: FieldNode, record: DebugRecord): void {
    const into = node as unknown as Mutable;
    const fields = fieldsOf(node.kind);
    for (let f = 0; f < fields.length; f++) {
      const name = fields[f]![0];
      const field = fields[f]![1];
      if (record.has(field.at)) into[name] = this.value(node, name, field, record);
    }
    special(node.kind, into, record);
  }

  private value(node: FieldNode, name: string, field: Field, record: DebugRecord): unknown {
    const { at } = field;
    switch (field.type) {
      case "node":
        // A location has no number for "none".
        return node.kind === "DILocation" && name === "scope"
          ? this.operand(record.number(at) + 1, field, node)
          : this.operand(record.number(at), field, node);
      case "string":
        return this.stringOf(record.number(at));
      case "number":
        return record.number(at);
      case "signed":
        return Number(BigInt.asIntN(32, record.big(at)));
      case "boolean":
        return record.number(at) !== 0;
      case "bigint":
        return record.big(at);
      case "size":
        return this.size(node, record, at);
      case "bigints": {
        const list: bigint[] = [];
        for (let i = at; i < record.count; i++) list.push(record.big(i));
        return list;
      }
      case "nodes": {
        const list: (DebugNode | null)[] = [];
        for (let i = at; i < record.count; i++) list.push(this.operand(record.number(i), field, node));
        return list;
      }
    }
  }

  private operand(number: number, { of }: Field, user: FieldNode): DebugNode | null {
    if (number === 0) return null;
    const node = this.shell(number - 1);
    if (of.length > 0 && !of.includes(node.kind)) throw malformed(`${node.kind} in a field of ${user.kind}`);
    return node;
  }

  private stringOf(number: number): string {
    if (number === 0) return "";
    const node = this.shell(number - 1);
    if (node.kind !== "string") throw malformed(`${node.kind} where a string should be`);
    return node.text;
  }

  /** A number, or from LLVM 21 on an entry: a constant mostly. */
  private size(node: FieldNode, record: DebugRecord, at: number): number | DebugNode {
    const asEntry = (record.mark & (node.kind === "DICompositeType" ? 4 : 2)) !== 0;
    if (!asEntry) return record.number(at);
    const number = record.number(at);
    if (number === 0) return 0;
    const value = this.shell(number - 1);
    if (value.kind !== "constant") return value;
    if (value.value.valueKind !== "int" || !(value.value.num >= 0))
      throw malformed("size in debug information");
    return value.value.num;
  }
}

/** A record in the layout of LLVM 22. @throws UnsupportedError for those of LLVM 10 and older */
function current(kind: SchemaKind, record: DebugRecord): DebugRecord {
  const version = record.mark >> 1;
  switch (kind) {
    case "DISubrange":
      if (version !== 2) throw older("DISubrange");
      return record;
    case "DIStringType":
      return record.count === 8 ? record.replaced(5, 0, 0) : record;
    case "DIDerivedType":
      // One operand less might be either of the last two; it is neither for LLVM.
      return record.count === 14 ? record.replaced(13, 1) : record;
    case "DIModule":
      return record.count < 8 ? record.replaced(1, 0, 0) : record;
    case "DINamespace":
      return record.count === 5 ? record.replaced(2, 1) : record;
    case "DITemplateValueParameter":
      return record.count === 5 ? record.replaced(4, 0, 0) : record;
    case "DIGlobalVariable":
      if (version === 0) throw older("DIGlobalVariable");
      return version === 1 ? record.replaced(9, 2, record.number(10), 0) : record;
    case "DILocalVariable":
      return (record.mark & 2) === 0 && record.count > 8 ? record.replaced(1, 1) : record;
    case "DISubprogram":
      if ((record.mark & 4) === 0) throw older("DISubprogram");
      return record;
    case "DIExpression":
      if (version !== 3) throw older("DIExpression");
      return record;
    case "DIImportedEntity":
      return record.count < 7 ? record.replaced(4, 1, 0) : record;
    case "DIFile":
      return record.has(4) && (record.number(3) === 0 || record.number(4) === 0)
        ? record.replaced(3, 2, 0, 0)
        : record;
    default:
      return record;
  }
}

/** What is no field of its own. */
function special(kind: SchemaKind, into: Mutable, record: DebugRecord): void {
  const { mark } = record;
  switch (kind) {
    case "DIEnumerator":
      into.isUnsigned = (mark & 2) !== 0;
      into.value =
        (mark & 4) === 0
          ? record.rotated(1)
          : wide(record, 3, record.count - 3, record.number(1), (mark & 2) !== 0);
      return;
    case "DISubprogram":
      if (((into.spFlags as number) & 8) !== 0) into.distinct = true;
      return;
    case "DICompileUnit": {
      const language = record.big(1);
      const versioned = language >> 63n !== 0n;
      into.language = Number(language & 0xffffn);
      if (versioned) into.sourceLanguageVersion = record.number(22);
      return;
    }
    case "DINamespace":
      into.exportSymbols = (mark & 2) !== 0;
      return;
    case "DILabel":
      into.isArtificial = (mark & 2) !== 0;
      if (record.has(6) && record.big(6) <= 0xffffffffn) into.coroSuspendIdx = record.number(6) + 1;
      return;
    case "DIFixedPointType": {
      into.factor = Number(BigInt.asIntN(32, record.big(8)));
      let at = 9;
      for (const name of ["numerator", "denominator"]) {
        const words = Number(record.big(at) >> 32n);
        into[name] = wide(record, at + 1, words, Number(record.big(at) & 0xffffffffn), false);
        at += 1 + words;
      }
      return;
    }
  }
}

/** An integer of several words, each with its sign in the low bit. */
function wide(record: DebugRecord, at: number, words: number, bits: number, unsigned: boolean): bigint {
  if (!(words >= 0 && words <= record.count - at && bits <= 1 << 16))
    throw malformed("integer in debug information");
  let value = 0n;
  for (let i = words - 1; i >= 0; i--) value = (value << 64n) | BigInt.asUintN(64, record.rotated(at + i));
  return unsigned ? BigInt.asUintN(bits, value) : BigInt.asIntN(bits, value);
}
