/** Metadata as text: attachments, and the nodes they refer to, which stand at the end of the module. */
import type { Hints } from "../../lto/ir/hints.js";
import type { Inst } from "../../lto/ir/instructions.js";
import type { Func, GlobalVariable, Module } from "../../lto/ir/module.js";
import { type Attachment, type MetadataNode, MetadataNodes, type NodeOperand } from "../metadata.js";
import { escapeText } from "./escape.js";
import { type Names, typedText } from "./print-constants.js";

const attachmentText = ([kind, node]: Attachment): string => `!${kind} !${node}`;

export class MetadataText {
  private readonly nodes: MetadataNodes;

  constructor(private readonly names: Names) {
    this.nodes = new MetadataNodes((global) => names.globals.has(global));
  }

  /** `, !kind !N` for each hint. */
  ofInstruction(inst: Inst, hints: Hints): string {
    return this.nodes
      .ofInstruction(inst, hints)
      .map((attachment) => `, ${attachmentText(attachment)}`)
      .join("");
  }

  /** `!kind !N` for each fact of a global. */
  ofGlobal(global: Func | GlobalVariable): string[] {
    return this.nodes.ofGlobal(global).map(attachmentText);
  }

  /** `!name = …` of the module's named nodes. */
  named(module: Module): string[] {
    return this.nodes
      .ofModule(module)
      .map(([name, nodes]) => `!${name} = !{${nodes.map((node) => `!${node}`).join(", ")}}`);
  }

  /** `!N = …` of all nodes. */
  lines(): string[] {
    return this.nodes.nodes.map((node, i) => `!${i} = ${this.nodeText(node)}`);
  }

  private nodeText({ isDistinct, operands }: MetadataNode): string {
    const text = `!{${operands.map((operand) => this.operandText(operand)).join(", ")}}`;
    return isDistinct ? `distinct ${text}` : text;
  }

  private operandText(operand: NodeOperand): string {
    switch (operand.kind) {
      case "string":
        return `!"${escapeText(operand.text)}"`;
      case "node":
        return `!${operand.node}`;
      case "value":
        return typedText(operand.value, this.names);
    }
  }
}
