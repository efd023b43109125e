/** Metadata of a bitcode module: numbers of strings, constants and nodes, in this order, and their blocks. */
import { bytesOfText } from "../../lto/ir/byte-text.js";
import type { Func, GlobalVariable, Module } from "../../lto/ir/module.js";
import type { Attachment, NodeOperand } from "../metadata.js";
import { MetadataNodes } from "../metadata.js";
import { type BitWriter, packedLengths } from "./bit-stream.js";
import { BlockId, MetadataCode } from "./codes.js";
import type { ConstantTable, ModuleNumbers } from "./constants.js";

export class MetadataNumbers {
  readonly nodes: MetadataNodes;
  private readonly kinds = new Map<string, number>();
  private readonly strings = new Map<string, number>();
  /** The number in the table of constants, and the type, of each constant. */
  private readonly values = new Map<number, number>();
  private readonly types: number[] = [];
  private readonly ofGlobals: [global: number, attachments: Attachment[]][] = [];
  private named: [name: string, nodes: number[]][] = [];

  constructor(private readonly module: ModuleNumbers) {
    this.nodes = new MetadataNodes((global) => module.globals.has(global));
  }

  /** Takes what is said of a global outside of functions. */
  addGlobal(global: Func | GlobalVariable): void {
    const attachments = this.nodes.ofGlobal(global);
    if (attachments.length === 0) return;
    this.addKinds(attachments);
    this.ofGlobals.push([this.module.globals.get(global)!, attachments]);
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
    for (const { operands } of this.nodes.nodes)
      for (const operand of operands) {
        if (operand.kind === "string") this.addString(operand.text);
        if (operand.kind !== "value") continue;
        const number = constants.of(operand.value);
        if (this.values.has(number)) continue;
        this.values.set(number, this.values.size);
        this.types.push(this.module.types.of(operand.value.type));
      }
    this.constants = constants;
  }
  private constants: ConstantTable | null = null;

  /** The number of what may stand in a node, or be an operand of a call. */
  of(operand: NodeOperand): number {
    switch (operand.kind) {
      case "string":
        return this.strings.get(operand.text)!;
      case "value":
        return this.strings.size + this.values.get(this.constants!.of(operand.value))!;
      case "node":
        return this.strings.size + this.values.size + operand.node;
    }
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
    if (this.strings.size + this.values.size + this.nodes.nodes.length === 0) return;
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
      for (const [name, nodes] of this.named) {
        w.text(MetadataCode.Name, name);
        w.record(
          MetadataCode.NamedNode,
          nodes.map((node) => this.of({ kind: "node", node })),
        );
      }
      for (const [global, attachments] of this.ofGlobals)
        w.record(MetadataCode.GlobalDeclAttachment, [global, ...this.attachmentNumbers(attachments)]);
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
