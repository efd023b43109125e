/**
 * Debug information as a graph of nodes: LLVM's specialised metadata nodes with the fields that `schema.ts` lists, and what
 * else may stand where a node does: constants and strings.
 *
 * Nodes don't change once the graph that they are in was built. They may lead to each other in circles (a type has
 * members, whose scope it is).
 */
import type { Constant } from "../values.js";
import type { DebugSchema, Field, SchemaKind } from "./schema.js";

/** A constant where a node may stand: the number of elements of an array, the value of a template's parameter. */
export interface DebugConstant {
  readonly kind: "constant";
  /** An integer, a floating-point number, zero, undef or a global. Globals are not kept alive by this. */
  readonly value: Constant;
}
/** A string where a node may stand. */
export interface DebugString {
  readonly kind: "string";
  readonly text: string;
}

interface Values {
  string: string;
  number: number;
  signed: number;
  boolean: boolean;
  bigint: bigint;
  size: DebugSize;
  bigints: readonly bigint[];
  nodes: readonly (DebugNode | null)[];
}
type ValueOf<F> =
  F extends Field<infer T, infer K>
    ? T extends "node"
      ? NodeOfKinds<K> | null
      : T extends keyof Values
        ? Values[T]
        : never
    : never;
type NodeOfKinds<K extends string> = [K] extends [never] ? DebugNode : NodeOf<K & SchemaKind>;

/** Nodes of some kinds. */
export type NodeOf<K extends SchemaKind> = {
  [Kind in K]: {
    readonly kind: Kind;
    /** Equal to no other node. */
    readonly distinct: boolean;
  } & { readonly [F in keyof DebugSchema[Kind]["fields"]]: ValueOf<DebugSchema[Kind]["fields"][F]> };
}[K];

/** A node with fields. */
export type FieldNode = NodeOf<SchemaKind>;
export type DebugNode = FieldNode | DebugConstant | DebugString;
export type DebugKind = DebugNode["kind"];
/** Bits; where they are known only when the program runs, the variable or expression that says it. */
export type DebugSize = number | DebugNode;

export type DILocation = NodeOf<"DILocation">;
export type DISubrange = NodeOf<"DISubrange">;
export type DIEnumerator = NodeOf<"DIEnumerator">;
export type DIBasicType = NodeOf<"DIBasicType">;
export type DIStringType = NodeOf<"DIStringType">;
export type DIDerivedType = NodeOf<"DIDerivedType">;
export type DICompositeType = NodeOf<"DICompositeType">;
export type DISubroutineType = NodeOf<"DISubroutineType">;
export type DIFile = NodeOf<"DIFile">;
export type DICompileUnit = NodeOf<"DICompileUnit">;
export type DISubprogram = NodeOf<"DISubprogram">;
export type DILexicalBlock = NodeOf<"DILexicalBlock">;
export type DILexicalBlockFile = NodeOf<"DILexicalBlockFile">;
export type DINamespace = NodeOf<"DINamespace">;
export type DIGlobalVariable = NodeOf<"DIGlobalVariable">;
export type DIGlobalVariableExpression = NodeOf<"DIGlobalVariableExpression">;
export type DILocalVariable = NodeOf<"DILocalVariable">;
export type DILabel = NodeOf<"DILabel">;
export type DIExpression = NodeOf<"DIExpression">;
export type DIImportedEntity = NodeOf<"DIImportedEntity">;
export type DebugTuple = NodeOf<"tuple">;
/** Where code and variables may be: in a subprogram, or a block of one. */
export type LocalScope = DISubprogram | DILexicalBlock | DILexicalBlockFile;

/** What a list has, without the holes. */
export const membersOf = (list: DebugTuple | null): readonly DebugNode[] =>
  list === null ? [] : list.operands.filter((member) => member !== null);

export const isLocalScope = (node: DebugNode | null): node is LocalScope =>
  node !== null &&
  (node.kind === "DISubprogram" || node.kind === "DILexicalBlock" || node.kind === "DILexicalBlockFile");

/** The subprogram that a local scope is of; null where the chain leads elsewhere. */
export function subprogramOf(scope: LocalScope): DISubprogram | null {
  let at: DebugNode | null = scope;
  while (at !== null && at.kind !== "DISubprogram")
    at = at.kind === "DILexicalBlock" || at.kind === "DILexicalBlockFile" ? at.scope : null;
  return at;
}

/** Bits that a value of a type has; null: not known. Names and qualifiers of types are looked through. */
export function sizeOfType(type: DebugNode | null): number | null {
  let at = type;
  for (let steps = 0; steps < mostNames; steps++) {
    if (at === null || !("size" in at)) return null;
    const size = Number(at.size);
    if (size > 0) return size;
    if (at.kind !== "DIDerivedType") return null;
    at = at.baseType;
  }
  return null;
}
const mostNames = 64;

/** A new node of a kind, all of whose fields are as where nothing is said; the builder of a graph sets the others. */
export function blankNode<K extends SchemaKind>(
  kind: K,
  distinct: boolean,
  fields: readonly (readonly [string, Field])[],
): NodeOf<K> {
  let model = models.get(kind);
  if (model === undefined) models.set(kind, (model = modelOf(kind, fields)));
  const made = { ...model };
  made["distinct"] = distinct;
  return made as NodeOf<K>;
}

/** A node of each kind, of which others are copies: that leaves nothing behind that is collected, and takes a tenth of the time. */
const models = new Map<SchemaKind, Record<string, unknown>>();

function modelOf(kind: SchemaKind, fields: readonly (readonly [string, Field])[]): Record<string, unknown> {
  // The engine has all fields in the object itself where it parses one, and in a list beside it where they are added later.
  const names = ["kind", "distinct", ...fields.map(([name]) => name)];
  const model = JSON.parse(JSON.stringify(Object.fromEntries(names.map((name) => [name, 0]))));
  model["kind"] = kind;
  for (const [name, field] of fields) model[name] = blank(field);
  return model;
}

/** What a field is where nothing is said. */
function blank({ type, otherwise }: Field): unknown {
  switch (type) {
    case "node":
      return null;
    case "string":
      return "";
    case "bigint":
      return 0n;
    case "boolean":
      return otherwise === true;
    case "bigints":
    case "nodes":
      return nothing;
    default:
      return otherwise;
  }
}
const nothing: readonly never[] = [];

/** Whether a field says nothing. */
export const isBlank = (value: unknown, field: Field): boolean =>
  Array.isArray(value) ? value.length === 0 : value === blank(field);
