/**
 * The fields of LLVM's specialised metadata nodes: the one table that readers and writers of every form run on, and from
 * which the types of the nodes follow (`nodes.ts`).
 *
 * Fields are named as in LLVM assembly and stand in the order in which it prints them. `at` is the position in the
 * bitcode record that LLVM 22 writes, where position 0 has the mark of distinct nodes; -1: it has no position of its own.
 * Source: LLVM's Language Reference ("Specialized Metadata Nodes"), and the records as LLVM 15 to 22 write them.
 */

export type FieldType =
  /** Another node, or null. */
  | "node"
  /** "" where there is none. */
  | "string"
  /** An unsigned number; those that are names in assembly say of which list. */
  | "number"
  | "signed"
  | "boolean"
  | "bigint"
  /** Bits: a number, or the node that computes it. */
  | "size"
  /** Numbers of any size. */
  | "bigints"
  /** Any number of nodes, the last of a record. */
  | "nodes";

/** What the numbers of a field are called in assembly: lists of DWARF's, or of LLVM's. */
export type NumberNames =
  | "tag"
  | "language"
  | "encoding"
  | "callingConvention"
  | "virtuality"
  | "macro"
  | "flags"
  | "subprogramFlags"
  | "emissionKind"
  | "nameTableKind"
  | "checksumKind"
  | "fixedPointKind";

export interface Field<T extends FieldType = FieldType, K extends string = string> {
  readonly type: T;
  readonly at: number;
  /** Of nodes: the kinds that may stand here; empty for any. */
  readonly of: readonly K[];
  readonly names: NumberNames | null;
  /** What it is where nothing is said, unless that is 0, false, "" or null. */
  readonly otherwise: number | boolean;
}

const field = <T extends FieldType>(type: T, at: number): Field<T, never> => ({
  type,
  at,
  of: [],
  names: null,
  otherwise: 0,
});
const text = (at: number) => field("string", at);
const number = (at: number, otherwise = 0) => ({ ...field("number", at), otherwise });
const named = (at: number, names: NumberNames, otherwise = 0) => ({ ...number(at, otherwise), names });
const truth = (at: number, otherwise = false) => ({ ...field("boolean", at), otherwise });
const any = (at: number) => field("node", at);
const node = <K extends string>(at: number, ...of: K[]): Field<"node", K> => ({ ...field("node", at), of });
const tuple = (at: number) => node(at, "tuple");
const file = (at: number) => node(at, "DIFile");
const size = (at: number) => field("size", at);
const tag = (at: number) => named(at, "tag");
const flags = (at: number) => named(at, "flags");

/** Of types that are made of others, in this order. */
const madeOfTypes = {
  tag: tag(1),
  name: text(2),
  scope: any(5),
  file: file(3),
  line: number(4),
  baseType: any(6),
  size: size(7),
  align: number(8),
  offset: size(9),
};
const bounds = { count: any(1), lowerBound: any(2), upperBound: any(3), stride: any(4) };

/** By kind: the code of its bitcode record, and its fields. */
export const debugSchema = {
  DILocation: {
    code: 7,
    fields: {
      line: number(1),
      column: number(2),
      scope: node(3, "DISubprogram", "DILexicalBlock", "DILexicalBlockFile"),
      inlinedAt: node(4, "DILocation"),
      isImplicitCode: truth(5),
      atomGroup: number(6),
      atomRank: number(7),
    },
  },
  GenericDINode: { code: 12, fields: { tag: tag(1), header: text(3), operands: field("nodes", 4) } },
  DISubrange: { code: 13, fields: bounds },
  DIGenericSubrange: { code: 45, fields: bounds },
  DIEnumerator: {
    code: 14,
    fields: { name: text(2), value: field("bigint", -1), isUnsigned: truth(-1) },
  },
  DIBasicType: {
    code: 15,
    fields: {
      tag: named(1, "tag", 0x24),
      name: text(2),
      scope: any(11),
      file: file(9),
      line: number(10),
      size: size(3),
      align: number(4),
      dataSize: number(8),
      encoding: named(5, "encoding"),
      num_extra_inhabitants: number(7),
      flags: flags(6),
    },
  },
  DIFixedPointType: {
    code: 49,
    fields: {
      tag: named(1, "tag", 0x24),
      name: text(2),
      scope: any(-1),
      file: file(-1),
      line: number(-1),
      size: size(3),
      align: number(4),
      encoding: named(5, "encoding"),
      flags: flags(6),
      fixedPointKind: named(7, "fixedPointKind"),
      factor: field("signed", -1),
      numerator: field("bigint", -1),
      denominator: field("bigint", -1),
    },
  },
  DIStringType: {
    code: 41,
    fields: {
      tag: named(1, "tag", 0x12),
      name: text(2),
      stringLength: any(3),
      stringLengthExpression: any(4),
      stringLocationExpression: any(5),
      size: size(6),
      align: number(7),
      encoding: named(8, "encoding"),
    },
  },
  DIDerivedType: {
    code: 17,
    fields: {
      ...madeOfTypes,
      flags: flags(10),
      extraData: any(11),
      /** One more than the address space; 0 for none. */
      dwarfAddressSpace: number(12),
      annotations: tuple(13),
      /** LLVM's encoding of what `ptrauth` says; 0 for nothing. */
      ptrAuth: number(14),
    },
  },
  DICompositeType: {
    code: 18,
    fields: {
      ...madeOfTypes,
      num_extra_inhabitants: number(22),
      flags: flags(10),
      elements: tuple(11),
      runtimeLang: named(12, "language"),
      vtableHolder: any(13),
      templateParams: tuple(14),
      identifier: text(15),
      discriminator: any(16),
      dataLocation: any(17),
      associated: any(18),
      allocated: any(19),
      rank: any(20),
      annotations: tuple(21),
      specification: any(23),
      enumKind: number(24, 0xffffffff),
      bitStride: any(25),
    },
  },
  DISubrangeType: {
    code: 48,
    fields: {
      name: text(1),
      scope: any(4),
      file: file(2),
      line: number(3),
      size: size(5),
      align: number(6),
      flags: flags(7),
      baseType: any(8),
      lowerBound: any(9),
      upperBound: any(10),
      stride: any(11),
      bias: any(12),
    },
  },
  DISubroutineType: {
    code: 19,
    fields: { flags: flags(1), cc: named(3, "callingConvention"), types: tuple(2) },
  },
  DIFile: {
    code: 16,
    fields: {
      filename: text(1),
      directory: text(2),
      checksumkind: named(3, "checksumKind"),
      checksum: text(4),
      source: text(5),
    },
  },
  DICompileUnit: {
    code: 20,
    fields: {
      language: named(-1, "language"),
      /** With a version, `language` is of DWARF 6's list; -1: it is of DWARF 5's. */
      sourceLanguageVersion: { ...field("signed", -1), otherwise: -1 },
      file: file(2),
      producer: text(3),
      isOptimized: truth(4),
      flags: text(5),
      runtimeVersion: number(6),
      splitDebugFilename: text(7),
      emissionKind: named(8, "emissionKind"),
      enums: tuple(9),
      retainedTypes: tuple(10),
      globals: tuple(12),
      imports: tuple(13),
      macros: tuple(15),
      dwoId: field("bigint", 14),
      splitDebugInlining: truth(16, true),
      debugInfoForProfiling: truth(17),
      nameTableKind: named(18, "nameTableKind"),
      rangesBaseAddress: truth(19),
      sysroot: text(20),
      sdk: text(21),
    },
  },
  DISubprogram: {
    code: 21,
    fields: {
      scope: any(1),
      name: text(2),
      linkageName: text(3),
      file: file(4),
      line: number(5),
      type: node(6, "DISubroutineType"),
      scopeLine: number(7),
      containingType: any(8),
      virtualIndex: number(10),
      thisAdjustment: field("signed", 16),
      flags: flags(11),
      spFlags: named(9, "subprogramFlags"),
      unit: node(12, "DICompileUnit"),
      templateParams: tuple(13),
      declaration: node(14, "DISubprogram"),
      retainedNodes: tuple(15),
      thrownTypes: tuple(17),
      annotations: tuple(18),
      targetFuncName: text(19),
      keyInstructions: truth(20),
    },
  },
  DILexicalBlock: {
    code: 22,
    fields: { scope: any(1), file: file(2), line: number(3), column: number(4) },
  },
  DILexicalBlockFile: { code: 23, fields: { scope: any(1), file: file(2), discriminator: number(3) } },
  DINamespace: { code: 24, fields: { name: text(2), scope: any(1), exportSymbols: truth(-1) } },
  DICommonBlock: {
    code: 44,
    fields: {
      scope: any(1),
      declaration: node(2, "DIGlobalVariable"),
      name: text(3),
      file: file(4),
      line: number(5),
    },
  },
  DIModule: {
    code: 32,
    fields: {
      scope: any(2),
      name: text(3),
      configMacros: text(4),
      includePath: text(5),
      apinotes: text(6),
      file: file(1),
      line: number(7),
      isDecl: truth(8),
    },
  },
  DIMacro: { code: 33, fields: { type: named(1, "macro"), line: number(2), name: text(3), value: text(4) } },
  DIMacroFile: {
    code: 34,
    fields: { type: named(1, "macro", 3), line: number(2), file: file(3), nodes: tuple(4) },
  },
  DITemplateTypeParameter: { code: 25, fields: { name: text(1), type: any(2), defaulted: truth(3) } },
  DITemplateValueParameter: {
    code: 26,
    fields: { tag: named(1, "tag", 0x30), name: text(2), type: any(3), defaulted: truth(4), value: any(5) },
  },
  DIGlobalVariable: {
    code: 27,
    fields: {
      name: text(2),
      linkageName: text(3),
      scope: any(1),
      file: file(4),
      line: number(5),
      type: any(6),
      isLocal: truth(7),
      isDefinition: truth(8),
      templateParams: tuple(10),
      declaration: node(9, "DIDerivedType"),
      align: number(11),
      annotations: tuple(12),
    },
  },
  DILocalVariable: {
    code: 28,
    fields: {
      name: text(2),
      arg: number(6),
      scope: node(1, "DISubprogram", "DILexicalBlock", "DILexicalBlockFile"),
      file: file(3),
      line: number(4),
      type: any(5),
      flags: flags(7),
      align: number(8),
      annotations: tuple(9),
    },
  },
  DILabel: {
    code: 40,
    fields: {
      scope: node(1, "DISubprogram", "DILexicalBlock", "DILexicalBlockFile"),
      name: text(2),
      file: file(3),
      line: number(4),
      column: number(5),
      isArtificial: truth(-1),
      /** One more than what `coroSuspendIdx` says; 0 for nothing. */
      coroSuspendIdx: number(-1),
    },
  },
  /** Operations and their operands, as numbers of DWARF and of LLVM's own (from 0x1000 on). */
  DIExpression: { code: 29, fields: { operations: field("bigints", 1) } },
  DIGlobalVariableExpression: {
    code: 37,
    fields: { var: node(1, "DIGlobalVariable"), expr: node(2, "DIExpression") },
  },
  DIObjCProperty: {
    code: 30,
    fields: {
      name: text(1),
      file: file(2),
      line: number(3),
      setter: text(4),
      getter: text(5),
      attributes: number(6),
      type: any(7),
    },
  },
  DIImportedEntity: {
    code: 31,
    fields: {
      tag: tag(1),
      name: text(5),
      scope: any(2),
      entity: any(3),
      file: file(6),
      line: number(4),
      elements: tuple(7),
    },
  },
  DIAssignID: { code: 47, fields: {} },
  /** `!{…}` */
  tuple: { code: 3, fields: { operands: field("nodes", 1) } },
} as const satisfies Record<string, { code: number; fields: Record<string, Field> }>;

export type DebugSchema = typeof debugSchema;
export type SchemaKind = keyof DebugSchema;

/** The kinds in the order of the table, which only ever grows at its end. */
export const schemaKinds = Object.keys(debugSchema) as SchemaKind[];

/** The fields of a kind, in order. */
export const fieldsOf = (kind: SchemaKind): readonly (readonly [string, Field])[] => fieldLists.get(kind)!;
const fieldLists = new Map(
  schemaKinds.map((kind) => [kind, Object.entries(debugSchema[kind].fields) as [string, Field][]]),
);
