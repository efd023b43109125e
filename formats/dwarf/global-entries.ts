/**
 * Entries of global variables, with where they are in the linked program: what is not there any more has no place. A
 * variable of the source may be in several globals, a part in each.
 */
import {
  type DIExpression,
  type DIGlobalVariable,
  type DIGlobalVariableExpression,
  membersOf,
} from "../../lto/ir/debug/nodes.js";
import type { GlobalVariable, Module } from "../../lto/ir/module.js";
import { SectionBytes } from "./bytes.js";
import { At, DwOp, Tag } from "./constants.js";
import type { Context, UnitEntries } from "./context.js";
import { Entry } from "./entries.js";
import { appendOperations, appendPiece, type Fragment, fragmentOf, splitOperations } from "./expressions.js";
import type { Scopes, Types } from "./types.js";

interface Part {
  /** Null: the expression says it all. */
  readonly global: GlobalVariable | null;
  readonly expression: DIExpression | null;
  readonly fragment: Fragment | null;
}

export class GlobalEntries {
  private readonly parts = new Map<DIGlobalVariable, Part[]>();

  constructor(
    private readonly context: Context,
    private readonly types: Types,
    private readonly scopes: Scopes,
  ) {}

  /** Takes what the program's variables are. */
  collect(module: Module): void {
    for (const global of module.globals) {
      if (global.kind !== "variable" || this.context.symbol(global) === null) continue;
      for (const described of global.debug) this.add(this.context.uniquer.of(described), global);
    }
  }

  private add({ var: variable, expr }: DIGlobalVariableExpression, global: GlobalVariable | null): void {
    if (variable === null) return;
    const part: Part = { global, expression: expr, fragment: expr === null ? null : fragmentOf(expr) };
    const list = this.parts.get(variable);
    if (list === undefined) this.parts.set(variable, [part]);
    else if (!list.some((other) => other.fragment?.offset === part.fragment?.offset)) list.push(part);
  }

  /** The variables of a unit. */
  unit(unit: UnitEntries): void {
    for (const described of membersOf(unit.node.globals)) {
      if (described.kind !== "DIGlobalVariableExpression" || described.var === null) continue;
      // Values that need no place.
      if (described.expr !== null && isConstant(described.expr)) this.add(described, null);
    }
    for (const described of membersOf(unit.node.globals))
      if (described.kind === "DIGlobalVariableExpression" && described.var !== null)
        this.variable(described.var, unit);
  }

  private variable(node: DIGlobalVariable, unit: UnitEntries): void {
    const { context } = this;
    if (context.shared.has(node)) return;
    const entry = new Entry(Tag.Variable);
    context.shared.set(node, entry);
    if (node.declaration !== null && node.declaration.scope?.kind === "DICompositeType") {
      unit.root.add(entry);
      entry.entry(At.Specification, this.types.staticMember(node.declaration, unit));
      if (node.type !== node.declaration.baseType) this.types.typed(entry, node.type, unit);
    } else {
      this.scopes.parent(node.scope, unit).add(entry);
      entry.text(At.Name, node.name);
      this.types.typed(entry, node.type, unit);
      if (!node.isLocal) entry.flag(At.External);
      context.place(entry, unit, node.file, node.line);
    }
    if (!node.isDefinition) entry.flag(At.Declaration);
    if (node.align > 0) entry.udata(At.Alignment, node.align / 8);
    if (node.templateParams !== null)
      this.types.templateParameters(entry, membersOf(node.templateParams), unit);
    const location = this.location(this.parts.get(node) ?? []);
    if (location !== null) entry.expression(At.Location, location);
    if (node.linkageName !== "" && node.linkageName !== node.name)
      entry.text(At.LinkageName, node.linkageName);
  }

  private location(parts: readonly Part[]): SectionBytes | null {
    const out = new SectionBytes();
    const sorted = [...parts].sort((a, b) => (a.fragment?.offset ?? 0) - (b.fragment?.offset ?? 0));
    let end = 0;
    for (const { global, expression, fragment } of sorted) {
      // A whole beside parts, or parts that overlap: one of them alone is right.
      if (fragment === null ? sorted.length > 1 : fragment.offset < end) return null;
      if (fragment !== null && fragment.offset > end) appendPiece(out, fragment.offset - end);
      if (global !== null) this.address(out, global);
      if (expression !== null && !appendOperations(out, expression)) return null;
      if (fragment === null) continue;
      appendPiece(out, fragment.size);
      end = fragment.offset + fragment.size;
    }
    return out.length === 0 ? null : out;
  }

  private address(out: SectionBytes, global: GlobalVariable): void {
    const symbol = this.context.symbol(global)!;
    if (global.threadLocal === "none") {
      this.context.pushAddress(out, symbol);
      return;
    }
    out.byte(DwOp.Const8u);
    out.hole(`${symbol}@DTPOFF`, 8);
    out.byte(DwOp.GnuPushTlsAddress);
  }
}

/** A value, and not a place. */
function isConstant(expression: DIExpression): boolean {
  const operations = splitOperations(expression);
  const [first] = operations ?? [];
  return first !== undefined && (first[0] === DwOp.Constu || first[0] === DwOp.Consts);
}
