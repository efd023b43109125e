/**
 * The entries of a linked program: a compile unit for each source that has some, as LLVM's link-time optimisation writes
 * them, with types where they were asked for first.
 */
import type { ProgramDebugInfo, ScopeInstance } from "../../lto/codegen/debug/function-info.js";
import { type DICompileUnit, type DISubprogram, membersOf } from "../../lto/ir/debug/nodes.js";
import { Uniquer } from "../../lto/ir/debug/unique.js";
import type { GlobalValue, Module } from "../../lto/ir/module.js";
import { CodeEntries, isMinimal } from "./code-entries.js";
import { At, Emission, Form } from "./constants.js";
import { Context, type LineNumbers, type UnitEntries } from "./context.js";
import { AddressPool, InfoWriter, type Unit } from "./entries.js";
import { GlobalEntries } from "./global-entries.js";
import { RangeLists } from "./range-lists.js";
import { Types } from "./types.js";

/** DWARF 5's number of a language that DWARF 6 calls by another; versions choose among those of C and C++. */
const olderLanguages = new Map<number, number>([
  [0x01, 0x0d],
  [0x03, 0x1d],
  [0x04, 0x1a],
  [0x05, 0x2e],
  [0x0c, 0x1c],
  [0x0f, 0x10],
  [0x10, 0x11],
  [0x14, 0x1e],
]);

const labels = {
  info: ".Ldebug_info",
  abbreviations: ".Ldebug_abbrev",
  strings: ".Ldebug_str_offsets",
  addresses: ".Ldebug_addr",
};

/** Entries, and what they refer to in other sections. */
export interface ProgramEntries {
  readonly units: readonly Unit[];
  readonly ranges: RangeLists;
  readonly addresses: AddressPool;
  /** DWARF's. */
  readonly version: number;
}

/**
 * The entries of a program: nothing in them leads to what they were made of.
 * @param elsewhere subprograms of functions that are not in the program, by the names that calls have for them
 * @param version DWARF's: 4 or 5
 * @param symbol a global as the assembler takes it; null: it has no place in the program @param collect is called now and then
 */
export function debugEntries(
  module: Module,
  { functions, places }: ProgramDebugInfo,
  elsewhere: ReadonlyMap<string, DISubprogram>,
  lines: LineNumbers,
  version: number,
  symbol: (global: GlobalValue) => string | null,
  collect: () => void = () => {},
): ProgramEntries {
  const uniquer = new Uniquer();
  const addresses = new AddressPool();
  const context = new Context(version, lines, uniquer, addresses, symbol, collect);
  const ranges = new RangeLists(version, addresses, places);
  const types = new Types(context);
  const declared = new Map([...elsewhere].map(([name, node]) => [name, uniquer.of(node)] as const));
  const code = new CodeEntries(context, types, ranges, declared);
  types.useScopes(code);
  const units = (module.debugUnits ?? []).filter(
    ({ emissionKind }) => emissionKind === Emission.Full || emissionKind === Emission.LineTablesOnly,
  );
  for (const unit of units) context.unitOf(uniquer.of(unit));
  for (const { root } of functions) if (root !== null) unify(root, uniquer);

  const known = new Set(units);
  const described = functions.filter(({ root }) => root === null || hasEntries(root, known));
  code.declare(described);
  code.place();
  context.run();
  for (const unit of [...context.units]) unitAttributes(unit, context, version);
  const globals = new GlobalEntries(context, types, code);
  globals.collect(module);
  const [first] = units;
  for (const info of described) code.code(info, first === undefined ? null : context.unitOf(first));
  context.run();
  for (const unit of [...context.units])
    if (!isMinimal(unit.node)) content(unit, context, types, code, globals);
  context.run();
  context.finish();

  const written = [...context.units].filter((unit) => unit.root.children.length > 0 || ranges.hasCode(unit));
  ranges.putUnits();
  ranges.arrange(written.map(({ root }) => root));
  const { rangesBase } = ranges;
  for (const { root } of written) {
    if (version < 5) break;
    root.put(At.AddrBase, Form.SecOffset, labels.addresses);
    if (rangesBase !== null) root.put(At.RnglistsBase, Form.SecOffset, rangesBase);
  }
  return { units: written.map(({ unit }) => unit), ranges, addresses, version };
}

/** Writes the sections of entries as text for the assembler, a part at a time. */
export function writeEntries(
  { units, ranges, addresses, version }: ProgramEntries,
  write: (text: string) => void,
): void {
  if (units.length === 0) return;
  new InfoWriter(version, addresses).write(units, labels, write);
  ranges.write(write);
  if (version >= 5) write(addresses.section(labels.addresses));
}

/** The nodes that scopes lead to, as the program has them. */
function unify({ scope, call, children, variables }: ScopeInstance, uniquer: Uniquer): void {
  uniquer.of(scope);
  if (call?.scope?.file != null) uniquer.of(call.scope.file);
  for (const { variable } of variables) uniquer.of(variable);
  for (const child of children) unify(child, uniquer);
}

function hasEntries({ scope }: ScopeInstance, units: ReadonlySet<DICompileUnit>): boolean {
  return scope.kind === "DISubprogram" && scope.unit !== null && units.has(scope.unit);
}

/**
 * In clang's order: valgrind 3.19, which knows no `strx` and takes it for nothing, finds the place of the lines wrong by three
 * bytes, which does no harm to the first unit where the base of the strings stands before it.
 */
function unitAttributes({ node, root }: UnitEntries, { lines }: Context, version: number): void {
  root.text(At.Producer, node.producer);
  const language =
    node.sourceLanguageVersion < 0 ? node.language : (olderLanguages.get(node.language) ?? node.language);
  root.put(At.Language, Form.Data2, language);
  if (node.file !== null) root.text(At.Name, node.file.filename);
  if (version >= 5) root.put(At.StrOffsetsBase, Form.SecOffset, labels.strings);
  const table = lines.label(node);
  if (table !== null) root.put(At.StmtList, Form.SecOffset, table);
  if (node.file !== null) root.text(At.CompDir, node.file.directory);
}

/** What a unit has whether there is code or not. */
function content(
  unit: UnitEntries,
  context: Context,
  types: Types,
  code: CodeEntries,
  globals: GlobalEntries,
): void {
  const { node } = unit;
  globals.unit(unit);
  for (const type of membersOf(node.enums)) types.entry(type, unit);
  for (const retained of membersOf(node.retainedTypes))
    if (retained.kind === "DISubprogram") code.subprogram(retained, unit);
    else types.entry(retained, unit);
  for (const imported of membersOf(node.imports)) code.imported(imported, unit);
  context.run();
}
