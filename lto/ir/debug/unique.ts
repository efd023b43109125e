/**
 * One program's debug information out of that of its inputs: nodes that say the same become one, as they do where LLVM
 * links modules.
 *
 * - Types with an identifier are one by the one-definition rule; a definition takes a declaration's place. Members and
 *   declarations of their functions are one by their names.
 * - Distinct nodes stay what they are. All others are one where all their fields are.
 *
 * Nodes are changed in place: they lead to those that were chosen. Method: nodes that are compared by their fields wait
 * for what these name; those that are not, and so end every circle that compilers write, are known at once, and their
 * fields are seen to later. Circles of others stay apart. Linear in nodes.
 */
import type { Constant } from "../values.js";
import type { DebugNode, DICompositeType, FieldNode } from "./nodes.js";
import { fieldsOf } from "./schema.js";

const Bit = { FwdDecl: 1 << 2, Definition: 1 << 3 } as const;
const memberTag = 0x0d;

type Mutable = Record<string, unknown>;

export class Uniquer {
  private readonly chosen = new Map<DebugNode, DebugNode>();
  private readonly byKey = new Map<string, DebugNode>();
  private readonly types = new Map<string, DICompositeType>();
  private readonly numbers = new Map<DebugNode, number>();
  /** Chosen nodes whose fields still name others. */
  private waiting: FieldNode[] = [];

  /** The node that stands for one, whose fields lead to such nodes only. */
  of<N extends DebugNode>(node: N): N {
    const known = this.chosen.get(node);
    if (known !== undefined) return known as N;
    const result = this.choose(node);
    for (let next = this.waiting.pop(); next !== undefined; next = this.waiting.pop()) {
      const own = next;
      mapFields(own, (operand) => this.choose(operand));
    }
    return result as N;
  }

  private choose(node: DebugNode): DebugNode {
    const known = this.chosen.get(node) ?? this.atOnce(node);
    if (known !== null) return known;
    const path: DebugNode[] = [node];
    const open = new Set<DebugNode>();
    while (path.length > 0) {
      const at = path[path.length - 1]!;
      if (this.chosen.has(at) && !open.has(at)) path.pop();
      else if (open.has(at)) {
        path.pop();
        open.delete(at);
        this.compare(at as FieldNode);
      } else {
        open.add(at);
        for (const operand of operandsOf(at as FieldNode)) {
          if (this.chosen.has(operand) || this.atOnce(operand) !== null) continue;
          // A circle of nodes without identity: they stay what they are.
          if (open.has(operand)) this.chosen.set(operand, operand);
          else path.push(operand);
        }
      }
    }
    return this.chosen.get(node)!;
  }

  /** What can be said without looking at other nodes; null where that is not enough. */
  private atOnce(node: DebugNode): DebugNode | null {
    if (node.kind === "string") return this.first(`"${node.text}`, node);
    if (node.kind === "constant") return this.first(this.constantKey(node.value), node);
    if (node.kind === "DICompositeType" && node.identifier !== "") return this.typeOf(node);
    if (!node.distinct) return null;
    this.chosen.set(node, node);
    this.waiting.push(node);
    return node;
  }

  private typeOf(type: DICompositeType): DICompositeType {
    const known = this.types.get(type.identifier);
    if (known === undefined) {
      this.types.set(type.identifier, type);
      this.chosen.set(type, type);
      this.waiting.push(type);
      return type;
    }
    this.chosen.set(type, known);
    if ((known.flags & Bit.FwdDecl) !== 0 && (type.flags & Bit.FwdDecl) === 0) {
      Object.assign(known, type);
      this.waiting.push(known);
    }
    return known;
  }

  private first(key: string, node: DebugNode): DebugNode {
    let known = this.byKey.get(key);
    if (known === undefined) this.byKey.set(key, (known = node));
    this.chosen.set(node, known);
    return known;
  }

  /** A node all whose operands were chosen. */
  private compare(node: FieldNode): void {
    mapFields(node, (operand) => this.chosen.get(operand)!);
    if (!this.chosen.has(node)) this.first(this.memberKey(node) ?? this.key(node), node);
  }

  /** What members of types have one definition of have in common; null for all else. */
  private memberKey(node: FieldNode): string | null {
    if (node.kind !== "DISubprogram" && node.kind !== "DIDerivedType") return null;
    const { scope } = node;
    if (scope?.kind !== "DICompositeType" || scope.identifier === "") return null;
    if (node.kind === "DIDerivedType")
      return node.tag === memberTag && node.name !== "" ? `m${this.number(scope)} ${node.name}` : null;
    if (node.linkageName === "" || (node.spFlags & Bit.Definition) !== 0) return null;
    const { templateParams } = node;
    return `f${this.number(scope)} ${templateParams === null ? 0 : this.number(templateParams)} ${node.linkageName}`;
  }

  private key(node: FieldNode): string {
    let key: string = node.kind;
    const from = node as unknown as Mutable;
    for (const [name, { type }] of fieldsOf(node.kind)) {
      const value = from[name];
      key += "\0";
      if (type === "nodes")
        for (const operand of value as readonly (DebugNode | null)[])
          key += `${operand === null ? 0 : this.number(operand)},`;
      else if (typeof value === "object" && value !== null && type !== "bigints")
        key += `n${this.number(value as DebugNode)}`;
      else if (value !== null) key += String(value);
    }
    return key;
  }

  private constantKey(value: Constant): string {
    switch (value.valueKind) {
      case "int":
        return `i${value.type.id} ${value.value}`;
      case "float":
        return `f${value.type.id} ${value.bits}`;
      case "global":
        return `g${value.name} ${value.isLocal ? this.numberOfGlobal(value) : ""}`;
      default:
        return `o${this.numberOfGlobal(value)}`;
    }
  }
  private readonly others = new Map<Constant, number>();
  private numberOfGlobal(value: Constant): number {
    let number = this.others.get(value);
    if (number === undefined) this.others.set(value, (number = this.others.size));
    return number;
  }

  private number(node: DebugNode): number {
    let number = this.numbers.get(node);
    if (number === undefined) this.numbers.set(node, (number = this.numbers.size + 1));
    return number;
  }
}

/** The names of fields that may name nodes, by kind. */
const namingFields = new Map<FieldNode["kind"], readonly string[]>();
function namesIn(kind: FieldNode["kind"]): readonly string[] {
  let names = namingFields.get(kind);
  if (names === undefined) {
    names = [...fieldsOf(kind)].flatMap(([name, { type }]) =>
      type === "node" || type === "nodes" || type === "size" ? [name] : [],
    );
    namingFields.set(kind, names);
  }
  return names;
}

/** What a field names; null: nothing. */
function named(fields: Mutable, name: string): DebugNode | readonly (DebugNode | null)[] | null {
  const value = fields[name];
  return typeof value === "object" ? (value as DebugNode | readonly (DebugNode | null)[] | null) : null;
}

function mapFields(node: FieldNode, map: (operand: DebugNode) => DebugNode): void {
  const fields = node as unknown as Mutable;
  for (const name of namesIn(node.kind)) {
    const value = named(fields, name);
    if (value === null) continue;
    fields[name] =
      "kind" in value ? map(value) : value.map((operand) => (operand === null ? null : map(operand)));
  }
}

/** The nodes that fields name, as often as they do. */
function operandsOf(node: FieldNode): DebugNode[] {
  const operands: DebugNode[] = [];
  for (const name of namesIn(node.kind)) {
    const value = named(node as unknown as Mutable, name);
    if (value === null) continue;
    if ("kind" in value) operands.push(value);
    else for (const operand of value) if (operand !== null) operands.push(operand);
  }
  return operands;
}
