/**
 * Entries of subprograms: those that have code, those that were inlined, which have an entry of their own that tells what
 * the inlined ones have in common, and those that only something else is in; with their blocks and variables.
 *
 * Blocks that have neither variables nor labels are left out, as LLVM does. A variable whose place is not known has an entry all
 * the same; a label does not, which is no place to stop at then.
 */
import type { CodeRange, FunctionDebugInfo, ScopeInstance } from "../../lto/codegen/debug/function-info.js";
import {
  type DebugNode,
  type DICompileUnit,
  type DILabel,
  type DILexicalBlock,
  type DILocalVariable,
  type DISubprogram,
  isLocalScope,
  type LocalScope,
  membersOf,
} from "../../lto/ir/debug/nodes.js";
import { SectionBytes } from "./bytes.js";
import { addCallSites } from "./call-sites.js";
import { At, DwOp, Emission, Flag, Tag } from "./constants.js";
import type { Context, UnitEntries } from "./context.js";
import { Entry } from "./entries.js";
import { putLength, type RangeLists } from "./range-lists.js";
import type { Scopes, Types } from "./types.js";

type Block = DISubprogram | DILexicalBlock;

/** Local variables and labels that sources have, by the scope that they are in. */
type Retained = ReadonlyMap<DebugNode, readonly (DILocalVariable | DILabel)[]>;

/** What the inlined copies of a subprogram have in common, or what is there in their place. */
interface Common {
  readonly entry: Entry;
  readonly blocks: Map<DebugNode, Entry>;
  readonly variables: Map<DILocalVariable | DILabel, Entry>;
}

export class CodeEntries implements Scopes {
  /** Of those that were inlined. */
  private readonly abstracts = new Map<DISubprogram, Common>();
  /** Of those that have code of their own: the first, if there are several. */
  private readonly concretes = new Map<DISubprogram, Common>();
  /** Of those that have neither. */
  private readonly others = new Map<DISubprogram, Entry>();
  /** Entries of what has code, by symbol. */
  private readonly bySymbol = new Map<string, Entry>();
  /** Symbols of code that was outlined. */
  private readonly pieces = new Set<string>();
  private readonly retainedOf = new Map<DISubprogram, Retained>();

  constructor(
    private readonly context: Context,
    private readonly types: Types,
    private readonly ranges: RangeLists,
    /** Subprograms of functions that are elsewhere, by symbol. */
    private readonly elsewhere: ReadonlyMap<string, DISubprogram>,
  ) {}

  // ── Scopes ──

  parent(scope: DebugNode | null, unit: UnitEntries): Entry {
    const { context } = this;
    switch (scope?.kind) {
      case undefined:
      case "DIFile":
      case "DICompileUnit":
        return unit.root;
      case "DINamespace":
      case "DIModule":
      case "DICommonBlock": {
        const known = unit.own.get(scope);
        if (known !== undefined) return known;
        const tag =
          scope.kind === "DINamespace"
            ? Tag.Namespace
            : scope.kind === "DIModule"
              ? Tag.Module
              : Tag.CommonBlock;
        const entry = this.parent(scope.scope, unit).add(new Entry(tag));
        unit.own.set(scope, entry);
        entry.text(At.Name, scope.name);
        if (scope.kind === "DINamespace" && scope.exportSymbols) entry.flag(At.ExportSymbols);
        if (scope.kind === "DICommonBlock") context.place(entry, unit, scope.file, scope.line);
        if (scope.kind === "DIModule") {
          entry.text(At.LlvmConfigMacros, scope.configMacros);
          entry.text(At.LlvmIncludePath, scope.includePath);
          entry.text(At.LlvmApinotes, scope.apinotes);
          context.place(entry, unit, scope.file, scope.line);
          if (scope.isDecl) entry.flag(At.Declaration);
        }
        return entry;
      }
      case "DISubprogram":
        return this.subprogram(scope, unit);
      case "DILexicalBlock":
      case "DILexicalBlockFile":
        return this.parent(scope.scope, unit);
      default:
        return this.types.entry(scope!, unit) ?? unit.root;
    }
  }

  variable(node: DebugNode): Entry | null {
    if (node.kind !== "DILocalVariable") return this.context.shared.get(node) ?? null;
    for (const list of [this.concretes, this.abstracts])
      for (const { variables } of list.values()) {
        const entry = variables.get(node);
        if (entry !== undefined) return entry;
      }
    return null;
  }

  /** The entry of a subprogram that something else is in, or that a `using` names. */
  subprogram(node: DISubprogram, unit: UnitEntries): Entry {
    if (node.unit === null) return this.types.method(node, unit);
    const known = this.abstracts.get(node)?.entry ?? this.concretes.get(node)?.entry ?? this.others.get(node);
    if (known !== undefined) return known;
    const own = this.context.unitOf(node.unit);
    const entry = new Entry(Tag.Subprogram);
    this.others.set(node, entry);
    this.outer(node, own).add(entry);
    this.context.defer(() => this.types.subprogram(entry, node, own));
    return entry;
  }

  /** Where the entry of a definition stands: those that were declared elsewhere stand in the unit itself. */
  private outer(node: DISubprogram, unit: UnitEntries): Entry {
    return node.declaration === null ? this.parent(node.scope, unit) : unit.root;
  }

  // ── Functions ──

  /** Makes the entries that others may lead to, before anything leads to them. */
  declare(functions: readonly FunctionDebugInfo[]): void {
    const inlined = (scopes: readonly ScopeInstance[]): void => {
      for (const { scope, call, children } of scopes) {
        if (call !== null && scope.kind === "DISubprogram") this.abstract(scope);
        inlined(children);
      }
    };
    for (const { root } of functions) if (root !== null) inlined(root.children);
  }

  private abstract(node: DISubprogram): void {
    if (node.unit === null || this.abstracts.has(node)) return;
    const unit = this.context.unitOf(node.unit);
    const entry = new Entry(Tag.Subprogram);
    const common: Common = { entry, blocks: new Map(), variables: new Map() };
    this.abstracts.set(node, common);
    this.context.defer(() => {
      this.types.subprogram(entry, node, unit, isMinimal(unit.node));
      entry.number(At.Inline, 1);
      const retained = this.retained(node);
      this.abstractScope(node, entry, common, retained, unit);
    });
  }

  /** Abstract subprograms stand where they are declared once all of them are known. */
  place(): void {
    for (const [node, { entry }] of this.abstracts)
      this.outer(node, this.context.unitOf(node.unit!)).add(entry);
  }

  /** Variables of the source, by scope, and the scopes that have some in them. */
  private retained(node: DISubprogram): Retained {
    let found = this.retainedOf.get(node) as Map<DebugNode, (DILocalVariable | DILabel)[]> | undefined;
    if (found !== undefined) return found;
    found = new Map();
    this.retainedOf.set(node, found);
    for (const member of membersOf(node.retainedNodes)) {
      if (member.kind !== "DILocalVariable" && member.kind !== "DILabel") continue;
      const scope = blockOf(member.scope);
      if (scope === null) continue;
      const list = found.get(scope);
      if (list === undefined) found.set(scope, [member]);
      else list.push(member);
    }
    return found;
  }

  /** Blocks of the source that have variables: those in a scope directly, with blocks without any looked through. */
  private blocksIn(scope: Block, retained: Retained): DILexicalBlock[] {
    return [...retained.keys()].filter((block): block is DILexicalBlock => {
      if (block.kind !== "DILexicalBlock") return false;
      let at = blockOf(block.scope);
      while (at !== null && at !== scope && at.kind === "DILexicalBlock" && !retained.has(at))
        at = blockOf(at.scope);
      return at === scope;
    });
  }

  private abstractScope(
    scope: Block,
    entry: Entry,
    common: Common,
    retained: Retained,
    unit: UnitEntries,
  ): void {
    for (const variable of inOrder(retained.get(scope) ?? [])) {
      const child = entry.add(new Entry(tagOf(variable)));
      common.variables.set(variable, child);
      this.describe(child, variable, unit);
    }
    for (const block of this.blocksIn(scope, retained)) {
      const child = entry.add(new Entry(Tag.LexicalBlock));
      common.blocks.set(block, child);
      this.abstractScope(block, child, common, retained, unit);
    }
  }

  private describe(entry: Entry, variable: DILocalVariable | DILabel, unit: UnitEntries): void {
    entry.text(At.Name, variable.name);
    this.context.place(entry, unit, variable.file, variable.line);
    if (variable.kind === "DILabel") return;
    this.types.typed(entry, variable.type, unit);
    if ((variable.flags & Flag.Artificial) !== 0) entry.flag(At.Artificial);
    if (variable.align > 0) entry.udata(At.Alignment, variable.align / 8);
  }

  /** The entry of a function's code. */
  code(info: FunctionDebugInfo, fallback: UnitEntries | null): void {
    const { root, range } = info;
    const node = root?.scope.kind === "DISubprogram" ? root.scope : null;
    if (node === null) {
      if (info.fn === null && fallback !== null) this.outlined(info, fallback);
      return;
    }
    if (node.unit === null) return;
    const unit = this.context.unitOf(node.unit);
    this.ranges.ofUnit(unit, range);
    const minimal = isMinimal(node.unit);
    // As LLVM has it: nothing that line tables don't tell, unless something was inlined.
    if (minimal && !this.abstracts.has(node) && !hasInlined(root!)) return;
    const entry = new Entry(Tag.Subprogram);
    const abstract = this.abstracts.get(node);
    (abstract === undefined ? this.outer(node, unit) : unit.root).add(entry);
    this.bySymbol.set(info.symbol, entry);
    entry.address(At.LowPc, range.begin);
    putLength(entry, range);
    if (!minimal) {
      const base = new SectionBytes();
      base.byte(DwOp.CallFrameCfa);
      entry.expression(At.FrameBase, base);
    }
    const common: Common = { entry, blocks: new Map(), variables: new Map() };
    if (!this.concretes.has(node)) this.concretes.set(node, common);
    this.context.defer(() => {
      if (abstract !== undefined) entry.entry(At.AbstractOrigin, abstract.entry);
      else this.types.subprogram(entry, node, unit, minimal);
      if (minimal) this.children(root!, entry, unit, range, null, null);
      else {
        const retained = this.retained(node);
        this.scope(root!, entry, { unit, range, common, retained });
        if (node.type?.types?.operands.at(-1) === null && (node.type.types.operands.length ?? 0) > 1)
          entry.add(new Entry(Tag.UnspecifiedParameters));
        if ((node.flags & Flag.AllCallsDescribed) !== 0) this.calls(entry, info, unit);
      }
    });
  }

  /** Code that an outliner made of pieces: a name for it. */
  private outlined(info: FunctionDebugInfo, unit: UnitEntries): void {
    if (isMinimal(unit.node)) return;
    const { symbol, range } = info;
    this.ranges.ofUnit(unit, range);
    const entry = unit.root.add(new Entry(Tag.Subprogram));
    entry.address(At.LowPc, range.begin);
    putLength(entry, range);
    entry.text(At.Name, pieceName(symbol));
    entry.flag(At.Artificial);
    this.bySymbol.set(symbol, entry);
    this.pieces.add(symbol);
    this.context.defer(() => this.calls(entry, info, unit));
  }

  /** Says what a function calls, once all that has code has its entry. */
  private calls(entry: Entry, { calls }: FunctionDebugInfo, unit: UnitEntries): void {
    const entryOf = (symbol: string): Entry | null => {
      const declared = this.elsewhere.get(symbol);
      return this.bySymbol.get(symbol) ?? (declared === undefined ? null : this.subprogram(declared, unit));
    };
    addCallSites(entry, calls, this.context.version, entryOf, (symbol) => this.pieces.has(symbol));
  }

  /** What a scope has: variables, labels, blocks, what was inlined. */
  private scope(instance: ScopeInstance, entry: Entry, inside: Inside): void {
    const { scope } = instance;
    const located = new Map(instance.variables.map((place) => [place.variable, place]));
    const all = new Set([...(inside.retained.get(scope) ?? []), ...located.keys()]);
    for (const variable of inOrder([...all])) {
      if (variable.kind === "DILabel") continue;
      const isKnown = located.has(variable);
      // Of an inlined copy, what is nowhere is said by the common entry.
      if (!isKnown && inside.isInlined === true) continue;
      const child = entry.add(new Entry(tagOf(variable)));
      if (inside.isInlined !== true) inside.common?.variables.set(variable, child);
      const abstract = this.abstractVariable(variable);
      if (abstract !== null) child.entry(At.AbstractOrigin, abstract);
      else this.describe(child, variable, inside.unit);
      if (isKnown) this.ranges.locations(child, located.get(variable)!, inside.range);
    }
    for (const { label, place } of instance.labels) {
      const child = entry.add(new Entry(Tag.Label));
      const abstract = this.abstractVariable(label);
      if (abstract !== null) child.entry(At.AbstractOrigin, abstract);
      else this.describe(child, label, inside.unit);
      child.address(At.LowPc, place);
    }
    this.children(
      instance,
      entry,
      inside.unit,
      inside.range,
      inside.retained,
      inside.common,
      inside.isInlined,
    );
  }

  private children(
    instance: ScopeInstance,
    entry: Entry,
    unit: UnitEntries,
    range: CodeRange,
    retained: Retained | null,
    common: Common | null,
    isInlined = false,
  ): void {
    for (const child of this.inSourceOrder(instance.children, retained)) {
      if (child.call !== null && child.scope.kind === "DISubprogram") {
        this.inlined(child, entry, unit, range);
        continue;
      }
      if (retained === null || !this.hasVariables(child, retained, isInlined)) {
        // Its own children are of this scope.
        this.children(child, entry, unit, range, retained, common, isInlined);
        continue;
      }
      const block = entry.add(new Entry(Tag.LexicalBlock));
      const origin = this.abstractBlock(child.scope);
      if (origin !== null) block.entry(At.AbstractOrigin, origin);
      this.ranges.put(block, child.ranges, range);
      this.scope(child, block, { unit, range, common, retained, isInlined });
    }
  }

  /**
   * Blocks stand in the order of the source in each copy of a subprogram, not in that of the code: who counts them, as
   * `llvm-dwarfdump --statistics` does, takes the same block for another one else.
   */
  private inSourceOrder(
    children: readonly ScopeInstance[],
    retained: Retained | null,
  ): readonly ScopeInstance[] {
    if (retained === null || children.length < 2) return children;
    let ranks = this.ranksOf.get(retained);
    if (ranks === undefined) {
      ranks = new Map([...retained.keys()].map((scope, rank) => [scope, rank]));
      this.ranksOf.set(retained, ranks);
    }
    const rankOf = ({ scope }: ScopeInstance): number => ranks.get(scope) ?? Number.MAX_SAFE_INTEGER;
    return [...children].sort((a, b) => rankOf(a) - rankOf(b));
  }
  private readonly ranksOf = new Map<Retained, ReadonlyMap<DebugNode, number>>();

  private hasVariables(child: ScopeInstance, retained: Retained, isInlined: boolean): boolean {
    if (child.variables.length + child.labels.length > 0) return true;
    return !isInlined && (retained.get(child.scope)?.some(({ kind }) => kind === "DILocalVariable") ?? false);
  }

  private abstractVariable(variable: DILocalVariable | DILabel): Entry | null {
    const scope = subprogramAbove(variable.scope);
    return scope === null ? null : (this.abstracts.get(scope)?.variables.get(variable) ?? null);
  }
  private abstractBlock(block: Block): Entry | null {
    const scope = subprogramAbove(block);
    return scope === null ? null : (this.abstracts.get(scope)?.blocks.get(block) ?? null);
  }

  private inlined(instance: ScopeInstance, parent: Entry, unit: UnitEntries, range: CodeRange): void {
    const { scope, call } = instance;
    const abstract = scope.kind === "DISubprogram" ? this.abstracts.get(scope) : undefined;
    if (abstract === undefined || scope.kind !== "DISubprogram") return;
    const entry = parent.add(new Entry(Tag.InlinedSubroutine));
    entry.entry(At.AbstractOrigin, abstract.entry);
    this.ranges.put(entry, instance.ranges, range);
    const file = call!.scope?.file ?? null;
    if (file !== null) entry.number(At.CallFile, this.context.lines.file(unit.node, file));
    entry.number(At.CallLine, call!.line);
    if (call!.column > 0) entry.number(At.CallColumn, call!.column);
    if (isMinimal(unit.node)) {
      this.children(instance, entry, unit, range, null, null, true);
      return;
    }
    const retained = this.retained(scope);
    this.scope(instance, entry, { unit, range, common: null, retained, isInlined: true });
  }

  // ── What else is in scopes ──

  /** What `using` and the like name. */
  imported(node: DebugNode, unit: UnitEntries): Entry | null {
    if (node.kind !== "DIImportedEntity") return null;
    const known = this.context.shared.get(node);
    if (known !== undefined) return known;
    const target = this.importable(node.entity, unit);
    if (target === null) return null;
    const entry = new Entry(node.tag);
    this.context.shared.set(node, entry);
    this.parent(node.scope, unit).add(entry);
    this.context.place(entry, unit, node.file, node.line);
    entry.entry(At.Import, target);
    entry.text(At.Name, node.name);
    for (const element of membersOf(node.elements)) {
      const inner = this.imported(element, unit);
      // Those of a renaming list stand in it.
      if (inner !== null && inner.parent !== entry) inner.moveTo(entry);
    }
    return entry;
  }

  private importable(node: DebugNode | null, unit: UnitEntries): Entry | null {
    switch (node?.kind) {
      case undefined:
        return null;
      case "DINamespace":
      case "DIModule":
        return this.parent(node, unit);
      case "DISubprogram":
        return this.subprogram(node, unit);
      case "DIImportedEntity":
        return this.imported(node, unit);
      case "DIGlobalVariable":
        return this.context.shared.get(node) ?? null;
      case "DIDerivedType":
        if ((node.flags & Flag.StaticMember) !== 0) return this.types.staticMember(node, unit);
        return this.types.entry(node, unit);
      default:
        return this.types.entry(node!, unit);
    }
  }
}

/** What debuggers show: one name for all of a kind, which symbols tell apart. */
const pieceName = (symbol: string): string => symbol.replace(/^(outlined(?:\.epilogue)?)\..*/, "$1");

interface Inside {
  readonly unit: UnitEntries;
  /** Of the function. */
  readonly range: CodeRange;
  /** Takes the entries of variables; null where they are another subprogram's. */
  readonly common: Common | null;
  readonly retained: Retained;
  readonly isInlined?: boolean;
}

export const isMinimal = (unit: DICompileUnit): boolean => unit.emissionKind === Emission.LineTablesOnly;

const hasInlined = ({ children }: ScopeInstance): boolean =>
  children.some((child) => child.call !== null || hasInlined(child));

function tagOf(node: DILocalVariable | DILabel): Tag {
  if (node.kind === "DILabel") return Tag.Label;
  return node.arg > 0 ? Tag.FormalParameter : Tag.Variable;
}

/** Which parameter it is; beyond all of them for what is none. */
const rank = (node: DILocalVariable | DILabel): number =>
  node.kind === "DILabel" || node.arg === 0 ? Number.MAX_SAFE_INTEGER : node.arg;

/** Parameters first, in their order. */
const inOrder = (nodes: readonly (DILocalVariable | DILabel)[]): (DILocalVariable | DILabel)[] =>
  [...nodes].sort((a, b) => rank(a) - rank(b));

/** The block or subprogram of a scope: what only changes the file is looked through. */
function blockOf(scope: DebugNode | null): Block | null {
  let at = scope;
  while (at?.kind === "DILexicalBlockFile") at = at.scope;
  return at?.kind === "DILexicalBlock" || at?.kind === "DISubprogram" ? at : null;
}

function subprogramAbove(scope: LocalScope | null): DISubprogram | null {
  let at: DebugNode | null = scope;
  while (isLocalScope(at) && at.kind !== "DISubprogram") at = at.scope;
  return at?.kind === "DISubprogram" ? at : null;
}
