/** Metadata of a bitcode module: numbers of strings, constants and nodes, in this order, and their blocks. */
import { bytesOfText } from "../../lto/ir/byte-text.js";
import type { DILocation, FieldNode } from "../../lto/ir/debug/nodes.js";
import type { Func, GlobalValue, GlobalVariable, Module } from "../../lto/ir/module.js";
import type { Constant } from "../../lto/ir/values.js";
import type { Attachment, NodeOperand } from "../metadata.js";
import { MetadataNodes } from "../metadata.js";
import { type BitWriter, packedLengths } from "./bit-stream.js";
import { BlockId, MetadataCode } from "./codes.js";
import type { ConstantTable, ModuleNumbers } from "./constants.js";
import { DebugNodes } from "./debug-nodes.js";

/** The kind of attachment by which functions, variables and instructions have debug information. */
const debugKind = "dbg";

export class MetadataNumbers {
  readonly nodes: MetadataNodes;
  readonly debug: DebugNodes;
  private readonly kinds = new Map<string, number>();
  private readonly strings = new Map<string, number>();
  /** The number in the table of constants, and the type, of each constant. */
  private readonly values = new Map<number, number>();
  private readonly types: number[] = [];
  private readonly ofGlobals: [global: number, attachments: Attachment[], debug: readonly FieldNode[]][] = [];
  private units: readonly FieldNode[] = [];
  private named: [name: string, nodes: number[]][] = [];

  constructor(private readonly module: ModuleNumbers) {
    const isListed = (global: GlobalValue): boolean => module.globals.has(global);
    this.nodes = new MetadataNodes(isListed);
    this.debug = new DebugNodes(module.version, isListed);
  }

  /** Takes what is said of a global outside of functions. */
  addGlobal(global: Func | GlobalVariable): void {
    const attachments = this.nodes.ofGlobal(global);
    const debug =
      global.kind === "variable" ? global.debug : global.subprogram === null ? [] : [global.subprogram];
    if (attachments.length + debug.length === 0) return;
    this.addKinds(attachments);
    this.addDebug(debug);
    this.ofGlobals.push([this.module.globals.get(global)!, attachments, debug]);
  }

  /** Takes what is attached as debug information. */
  addDebug(nodes: readonly FieldNode[]): void {
    for (const node of nodes) this.debug.add(node);
    if (nodes.length > 0 && !this.kinds.has(debugKind)) this.kinds.set(debugKind, this.kinds.size);
  }

  addKinds(attachments: readonly Attachment[]): void {
    for (const [kind] of attachments) if (!this.kinds.has(kind)) this.kinds.set(kind, this.kinds.size);
  }

  addString(text: string): void {
    if (!this.strings.has(text)) this.strings.set(text, this.strings.size);
  }

  /** Gives all else its numbers, once all nodes are there. @param constants the module's, which gets those in nodes */
  close(module: Module, constants: ConstantTable): void {
    this.named = this.nodes.ofModule(module);
    const addValue = (value: Constant): void => {
      const number = constants.of(value);
      if (this.values.has(number)) return;
      this.values.set(number, this.values.size);
      this.types.push(this.module.types.of(value.type));
    };
    for (const { operands } of this.nodes.nodes)
      for (const operand of operands) {
        if (operand.kind === "string") this.addString(operand.text);
        if (operand.kind === "value") addValue(operand.value);
      }
    this.units = module.debugUnits ?? [];
    for (const unit of this.units) this.debug.add(unit);
    this.debug.close((text) => this.addString(text), addValue);
    this.constants = constants;
  }
  private constants: ConstantTable | null = null;

  /** The number of what may stand in a node, or be an operand of a call. */
  of(operand: NodeOperand): number {
    switch (operand.kind) {
      case "string":
        return this.strings.get(operand.text)!;
      case "value":
        return this.ofValue(operand.value);
      case "node":
        return this.strings.size + this.values.size + operand.node;
    }
  }

  private ofValue(value: Constant): number {
    return this.strings.size + this.values.get(this.constants!.of(value))!;
  }
  private get firstDebugNode(): number {
    return this.strings.size + this.values.size + this.nodes.nodes.length;
  }

  /** Of all that the module has. */
  get size(): number {
    return this.firstDebugNode + this.debug.size;
  }

  /** The number of a node of debug information. */
  ofDebug(node: FieldNode): number {
    return this.firstDebugNode + this.debug.of(node);
  }

  /** [kind, node, …] */
  debugNumbers(nodes: readonly FieldNode[]): number[] {
    return nodes.flatMap((node) => [this.kinds.get(debugKind)!, this.ofDebug(node)]);
  }

  /** The record of an instruction's location: line, column, scope, call, whether nobody wrote it. */
  placeNumbers({ line, column, scope, inlinedAt, isImplicitCode }: DILocation): number[] {
    const number = (node: FieldNode | null): number => (node === null ? 0 : this.ofDebug(node) + 1);
    return [line, column, number(scope), number(inlinedAt), isImplicitCode ? 1 : 0];
  }

  /** [kind, node, …] */
  attachmentNumbers(attachments: readonly Attachment[]): number[] {
    return attachments.flatMap(([kind, node]) => [this.kinds.get(kind)!, this.of({ kind: "node", node })]);
  }

  write(w: BitWriter): void {
    if (this.kinds.size > 0)
      w.block(BlockId.MetadataKind, () => {
        for (const [kind, number] of this.kinds) w.text(MetadataCode.Kind, kind, number);
      });
    if (this.size === 0) return;
    w.block(BlockId.Metadata, () => {
      this.writeStrings(w);
      [...this.values.keys()].forEach((number, i) => {
        w.record(MetadataCode.Value, [this.types[i]!, number]);
      });
      for (const { isDistinct, operands } of this.nodes.nodes)
        w.record(
          isDistinct ? MetadataCode.DistinctNode : MetadataCode.Node,
          operands.map((operand) => this.of(operand) + 1),
        );
      this.debug.write(w, this.firstDebugNode, {
        string: (text) => this.strings.get(text)!,
        constant: (value) => this.ofValue(value),
      });
      const named = (name: string, nodes: readonly number[]): void => {
        w.text(MetadataCode.Name, name);
        w.record(MetadataCode.NamedNode, nodes);
      };
      for (const [name, nodes] of this.named)
        named(
          name,
          nodes.map((node) => this.of({ kind: "node", node })),
        );
      if (this.units.length > 0)
        named(
          "llvm.dbg.cu",
          this.units.map((unit) => this.ofDebug(unit)),
        );
      for (const [global, attachments, debug] of this.ofGlobals)
        w.record(MetadataCode.GlobalDeclAttachment, [
          global,
          ...this.attachmentNumbers(attachments),
          ...this.debugNumbers(debug),
        ]);
    });
  }

  /** [count, offset of the characters, blob of lengths and characters] */
  private writeStrings(w: BitWriter): void {
    if (this.strings.size === 0) return;
    const texts = [...this.strings.keys()].map(bytesOfText);
    const lengths = packedLengths(texts.map((text) => text.length));
    w.defineBlob(MetadataCode.Strings, 2);
    w.blob([texts.length, lengths.length], Buffer.concat([lengths, ...texts]));
  }
}
