/**
 * Debug information of a bitcode module: nodes as the records of METADATA blocks, in the layout of LLVM 22, of which older
 * versions have the beginning. What an older version has no field for is left out.
 *
 * Which field is where `lto/ir/debug/schema.ts` says; the reader (frontend/llvm/bitcode/debug-nodes.ts) has the same layouts.
 * Source: LLVM's BitcodeWriter, and the records as llvm-as of LLVM 15 to 22 writes them.
 */
import type { DebugNode, DILocation, FieldNode } from "../../lto/ir/debug/nodes.js";
import { debugSchema, type Field, fieldsOf, type SchemaKind } from "../../lto/ir/debug/schema.js";
import { Uniquer } from "../../lto/ir/debug/unique.js";
import { UnsupportedError } from "../../lto/ir/errors.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { type Constant, constI64 } from "../../lto/ir/values.js";
import { type BitWriter, signed } from "./bit-stream.js";

type Values = Record<string, unknown>;
type Operand = number | bigint;

/** Versions that are the first with a kind. */
const kindVersions: Partial<Record<SchemaKind, number>> = {
  DIAssignID: 16,
  DISubrangeType: 21,
  DIFixedPointType: 21,
};

/** Bits of the first operand that say which layout a record has. */
const marks: Partial<Record<SchemaKind, number>> = {
  DISubrange: 2 << 1,
  DICompositeType: 2,
  DISubroutineType: 2,
  DISubprogram: 2 | 4,
  DIGlobalVariable: 2 << 1,
  DILocalVariable: 2,
  DIExpression: 3 << 1,
};

/** Operands that records have at least: all that LLVM 15 knows, whose readers want just these. */
const lengths: Partial<Record<SchemaKind, number>> = {
  DILocation: 6,
  GenericDINode: 4,
  DIBasicType: 7,
  DIDerivedType: 14,
  DICompositeType: 22,
  DICompileUnit: 22,
  DISubprogram: 19,
  DILabel: 5,
  DIFile: 5,
  DISubrangeType: 13,
  DIFixedPointType: 8,
};

/** Versions that are the first with an operand, of those after these. */
const operandVersions: Partial<Record<SchemaKind, Readonly<Record<number, number>>>> = {
  DIBasicType: { 7: 20, 8: 22, 9: 22, 10: 22, 11: 22 },
  DIDerivedType: { 14: 19 },
  DICompositeType: { 22: 20, 23: 21, 24: 21, 25: 21 },
  DICompileUnit: { 22: 22 },
  DILabel: { 5: 21, 6: 21 },
};

/** Tags of derived types that came later, and what was there before: static members, and templates of names for types. */
const newerTags: ReadonlyMap<number, { readonly from: number; readonly before: number }> = new Map([
  [0x34, { from: 18, before: 0x0d }],
  [0x43, { from: 19, before: 0x16 }],
]);

/** From this version on a `DIDerivedType` with annotations has one operand more. */
const pointerAuthentication = 19;
/** The first version in which a size may be a node. */
const sizesAsNodes = 21;
const noSuspend = (1n << 64n) - 1n;

/** Numbers of what nodes lead to; each is one less than operands have, where 0 is none. */
export interface NodeNumbers {
  readonly string: (text: string) => number;
  readonly constant: (value: Constant) => number;
}

/** Nodes in the order of their numbers: those that were asked for, with all that they lead to. */
export class DebugNodes {
  private readonly uniquer = new Uniquer();
  private readonly numbers = new Map<DebugNode, number>();
  private readonly list: FieldNode[] = [];

  /** @param isListed whether the module has a global */
  constructor(
    private readonly version: number,
    private readonly isListed: (global: GlobalValue) => boolean,
  ) {}

  get size(): number {
    return this.list.length;
  }

  /** A location's scope and call become nodes; it is none itself. */
  addPlace({ scope, inlinedAt }: DILocation): void {
    if (scope !== null) this.add(scope);
    if (inlinedAt !== null) this.add(inlinedAt);
  }

  add(node: FieldNode): void {
    const chosen = this.uniquer.of(node);
    if (this.numbers.has(chosen)) return;
    const first = kindVersions[chosen.kind];
    if (first !== undefined && first > this.version)
      throw new UnsupportedError(`${chosen.kind} in bitcode for LLVM ${this.version}`);
    this.numbers.set(chosen, this.list.push(chosen) - 1);
  }

  /** Takes all that nodes lead to. @param string gets each string @param constant gets each constant */
  close(string: (text: string) => void, constant: (value: Constant) => void): void {
    const visit = (operand: DebugNode | null): void => {
      if (operand === null) return;
      if (operand.kind === "string") string(operand.text);
      else if (operand.kind !== "constant") this.add(operand);
      else if (this.isWritten(operand.value)) constant(operand.value);
    };
    // More come while it runs.
    for (const node of this.list) {
      const values = node as unknown as Values;
      const isMixed = hasSizeNode(node);
      for (const [name, { type }] of fieldsOf(node.kind)) {
        const value = values[name];
        if (type === "string" && value !== "") string(value as string);
        else if (type === "node" || (type === "size" && typeof value === "object")) visit(value as DebugNode);
        else if (type === "nodes")
          for (const operand of value as readonly (DebugNode | null)[]) visit(operand);
        else if (type === "size" && isMixed && value !== 0) constant(constI64(value as number));
      }
    }
  }

  private isWritten(value: Constant): boolean {
    return value.valueKind !== "global" || this.isListed(value);
  }

  /** By order, from 0 on. */
  of(node: FieldNode): number {
    return this.numbers.get(this.uniquer.of(node))!;
  }

  /** @param base the number of the first one among all metadata */
  write(w: BitWriter, base: number, numbers: NodeNumbers): void {
    for (const node of this.list)
      w.record(debugSchema[node.kind].code, new RecordOperands(node, this, base, numbers, this.version).list);
  }

  /** One more than the number; 0 for none, and for globals that are gone. */
  operand(node: DebugNode | null, base: number, { string, constant }: NodeNumbers): number {
    if (node === null) return 0;
    if (node.kind === "string") return string(node.text) + 1;
    if (node.kind === "constant") return this.isWritten(node.value) ? constant(node.value) + 1 : 0;
    return base + this.of(node) + 1;
  }
}

/** A node whose size or offset is another node: then all such fields are. */
const hasSizeNode = (node: FieldNode): boolean =>
  fieldsOf(node.kind).some(
    ([name, { type }]) => type === "size" && typeof (node as unknown as Values)[name] === "object",
  );

class RecordOperands {
  readonly list: Operand[];

  constructor(
    private readonly node: FieldNode,
    private readonly nodes: DebugNodes,
    private readonly base: number,
    private readonly numbers: NodeNumbers,
    version: number,
  ) {
    const { kind } = node;
    const isMixed = hasSizeNode(node);
    if (isMixed && version < sizesAsNodes)
      throw new UnsupportedError(`a size that is computed, of ${kind}, in bitcode for LLVM ${version}`);
    const sizeMark = isMixed ? (kind === "DICompositeType" ? 4 : 2) : 0;
    this.list = kind === "tuple" ? [] : [Number(node.distinct) | (marks[kind] ?? 0) | sizeMark];
    const shift = kind === "tuple" ? -1 : 0;
    for (const [name, field] of fieldsOf(kind))
      if (field.at >= 0) this.put(field.at + shift, (node as unknown as Values)[name], field, name, isMixed);
    this.special();
    if (kind === "DIDerivedType") this.useTag(version);
    this.trim(version);
  }

  private operand(node: DebugNode | null): number {
    return this.nodes.operand(node, this.base, this.numbers);
  }

  private put(at: number, value: unknown, { type }: Field, name: string, isMixed: boolean): void {
    const { list } = this;
    while (list.length < at) list.push(0);
    switch (type) {
      case "node": {
        const number = this.operand(value as DebugNode | null);
        // A location has no number for "none".
        list[at] = this.node.kind === "DILocation" && name === "scope" ? number - 1 : number;
        return;
      }
      case "string":
        list[at] = value === "" ? 0 : this.numbers.string(value as string) + 1;
        return;
      case "number":
        list[at] = value as number;
        return;
      case "signed":
        list[at] = BigInt.asUintN(64, BigInt(value as number));
        return;
      case "boolean":
        list[at] = Number(value);
        return;
      case "bigint":
        list[at] = BigInt.asUintN(64, value as bigint);
        return;
      case "size":
        if (typeof value !== "number") list[at] = this.operand(value as DebugNode);
        else if (!isMixed || value === 0) list[at] = value;
        else list[at] = this.numbers.constant(constI64(value)) + 1;
        return;
      case "bigints":
        for (const item of value as readonly bigint[]) list.push(BigInt.asUintN(64, item));
        return;
      case "nodes":
        for (const item of value as readonly (DebugNode | null)[]) list.push(this.operand(item));
    }
  }

  /** What is no field of its own. */
  private special(): void {
    const { node, list } = this;
    const mark = (bits: number): void => {
      list[0] = Number(list[0]) | bits;
    };
    switch (node.kind) {
      case "DIEnumerator": {
        const { value, isUnsigned } = node;
        mark((isUnsigned ? 2 : 0) | 4);
        const bits = widthOf(value, isUnsigned);
        list[1] = bits;
        list.push(...wide(value, bits));
        return;
      }
      case "DICompileUnit":
        list[1] = node.language;
        if (node.sourceLanguageVersion < 0) return;
        list[1] = BigInt(node.language) | (1n << 63n);
        list[22] = node.sourceLanguageVersion;
        return;
      case "DISubprogram":
        // Locations say nothing of the groups that such functions' lines depend on.
        list.length = Math.min(list.length, 20);
        return;
      case "DILocation":
        list.length = 6;
        return;
      case "DINamespace":
        if (node.exportSymbols) mark(2);
        return;
      case "DILabel":
        if (node.isArtificial) mark(2);
        list[6] = node.coroSuspendIdx === 0 ? noSuspend : node.coroSuspendIdx - 1;
        return;
      case "DIFixedPointType":
        list.push(BigInt.asUintN(64, BigInt(node.factor)));
        for (const value of [node.numerator, node.denominator]) {
          const bits = widthOf(value, false);
          const words = wide(value, bits);
          list.push((BigInt(words.length) << 32n) | BigInt(bits), ...words);
        }
    }
  }

  /** Leaves out what says nothing at the end, and what the version does not know. */
  private trim(version: number): void {
    const { list, node } = this;
    const { kind } = node;
    const known = operandVersions[kind];
    const least = lengths[kind];
    if (least === undefined || kind === "GenericDINode" || kind === "DIFixedPointType") return;
    if (known !== undefined)
      for (let at = least; at < list.length; at++) if ((known[at] ?? 0) > version) list.length = at;
    if (kind === "DIDerivedType" && version >= pointerAuthentication && node.annotations !== null) return;
    while (list.length > least && this.isBlankAt(list.length - 1)) list.pop();
  }

  /** Derived types under the tags that the version knows them by. */
  private useTag(version: number): void {
    const newer = newerTags.get(Number(this.list[1]));
    if (newer !== undefined && version < newer.from) this.list[1] = newer.before;
  }

  private isBlankAt(at: number): boolean {
    const { list, node } = this;
    if (node.kind === "DICompositeType" && at === 24) return node.enumKind === 0xffffffff;
    if (node.kind === "DILabel" && at === 6) return list[at] === noSuspend;
    return Number(list[at]) === 0;
  }
}

/** Bits of an integer whose width nobody says. */
function widthOf(value: bigint, isUnsigned: boolean): number {
  const wrapped = isUnsigned ? BigInt.asUintN : BigInt.asIntN;
  let bits = 64;
  while (wrapped(bits, value) !== value) bits += 64;
  return bits;
}

/** Words of 64 bits, each with its sign in the lowest bit. */
function wide(value: bigint, bits: number): bigint[] {
  const words: bigint[] = [];
  for (let at = 0; at < bits; at += 64) words.push(signed(BigInt.asIntN(64, value >> BigInt(at))));
  return words;
}
