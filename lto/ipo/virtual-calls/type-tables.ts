/**
 * Tables of virtual functions by the types that they are tables of (`!type`), and what asks about them: the intrinsics
 * `llvm.type.test` and `llvm.type.checked.load`.
 *
 * A type's name stands for a class; its list are all address points (places that objects' table pointers point to) of
 * tables of the class and of those derived from it. A call of a virtual function asks first whether the pointer is one
 * of these, or loads and asks at once; that it is promised of pointers that are only assumed to be.
 */
import { isExact } from "../../analysis/exact.js";
import { baseObject } from "../../analysis/references.js";
import type { ModuleSummary } from "../../analysis/summary.js";
import { valueAt } from "../../ir/fold/load.js";
import { type CallInst, type Inst, Op } from "../../ir/instructions.js";
import { type Intrinsic, intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import type { Func, GlobalValue, GlobalVariable, Module } from "../../ir/module.js";
import { ptr } from "../../ir/types.js";
import type { Constant } from "../../ir/values.js";

/** Where objects of a type point to: bytes into a global. */
export interface AddressPoint<G extends GlobalValue = GlobalVariable> {
  readonly global: G;
  readonly offset: number;
}

const noPoints: readonly AddressPoint[] = [];

/** What has a type, by the type's name. */
export function byType<G extends GlobalVariable | Func>(
  globals: readonly G[],
): Map<string, AddressPoint<G>[]> {
  const points = new Map<string, AddressPoint<G>[]>();
  for (const global of globals)
    for (const { name, offset } of global.typeIds) {
      const list = points.get(name);
      if (list === undefined) points.set(name, [{ global, offset }]);
      else list.push({ global, offset });
    }
  return points;
}

/** The tables of each type. */
export class TypeTables {
  private readonly points: ReadonlyMap<string, readonly AddressPoint[]>;

  constructor(private readonly module: Module) {
    this.points = byType(module.variables);
  }

  of(type: string): readonly AddressPoint[] {
    return this.points.get(type) ?? noPoints;
  }

  /**
   * The functions that a table entry `offset` bytes after the address point of any object of a type can be; null where
   * somebody else may have more. Functions that only say that there is none (pure virtual ones) are never called.
   */
  functionsAt(type: string, offset: number): Func[] | null {
    const found = new Set<Func>();
    for (const { global, offset: start } of this.of(type)) {
      if (!isClosed(global, this.module)) return null;
      const entry = valueAt(this.module.dataLayout, global.initializer!, start + offset, ptr);
      if (entry === null || entry.valueKind !== "global") return null;
      const fn = functionOf(entry);
      if (fn === null) return null;
      if (!isPure(fn)) found.add(fn);
    }
    return [...found];
  }
}

/** All that calls through the table is in the program, and the table is what its initialiser says. */
export const isClosed = (table: GlobalVariable, { isPartial }: Module): boolean =>
  table.vcallVisibility > (isPartial ? 1 : 0) &&
  table.isConstant &&
  !table.externallyInitialized &&
  isExact(table);

/** The function that an entry of a table is. */
function functionOf(entry: GlobalValue): Func | null {
  if (entry.kind === "function") return entry;
  if (entry.kind !== "alias" || !isExact(entry)) return null;
  const { aliasee } = entry;
  const base = baseObject(entry);
  return aliasee === base && base.kind === "function" ? base : null;
}

const isPure = (fn: Func): boolean =>
  fn.isDeclaration && (fn.name === "__cxa_pure_virtual" || fn.name === "__cxa_deleted_virtual");

/** Module flag: each call of a virtual function of a hidden class is a checked load. */
export const virtualFunctionFlag = "Virtual Function Elim";

/** What a call of one of the intrinsics asks. */
export interface TypeQuery {
  readonly call: CallInst;
  readonly kind: "test" | "load" | "relative-load";
  /** Null: not known. */
  readonly type: string | null;
  /** Of the entry, from the pointer; null where it is computed, 0 for a test. */
  readonly offset: number | null;
}

const kinds = new Map<Intrinsic, TypeQuery["kind"]>([
  [intrinsics["type.test"], "test"],
  [intrinsics["public.type.test"], "test"],
  [intrinsics["type.checked.load"], "load"],
  [intrinsics["type.checked.load.relative"], "relative-load"],
]);

export const isAssumption = (inst: Inst): inst is CallInst =>
  inst.op === Op.Call && intrinsicOf(inst.operands[0]!) === intrinsics.assume;

/** The bodies that ask about types. */
export function askingFunctions(module: Module, { symbols }: ModuleSummary): Func[] {
  const asks = new Set<number>();
  module.globals.forEach((global, index) => {
    const intrinsic = intrinsicOf(global);
    if (intrinsic !== null && kinds.has(intrinsic)) asks.add(index);
  });
  if (asks.size === 0) return [];
  return module.globals.filter(
    (global, index): global is Func =>
      global.kind === "function" && symbols[index]!.calls.some((callee) => asks.has(callee)),
  );
}

/** The questions in a body. */
export function typeQueries(fn: Func): TypeQuery[] {
  const found: TypeQuery[] = [];
  for (const { insts } of fn.view().blocks)
    for (const inst of insts) {
      if (inst.op !== Op.Call) continue;
      const intrinsic = intrinsicOf(inst.operands[0]!);
      const kind = intrinsic === null ? undefined : kinds.get(intrinsic);
      if (kind === undefined) continue;
      const name = inst.operands[kind === "test" ? 2 : 3]!;
      const type = name.valueKind === "metadata" ? name.text : null;
      found.push({ call: inst, kind, type, offset: kind === "test" ? 0 : numberOf(inst.operands[2]!) });
    }
  return found;
}

const numberOf = (value: { readonly valueKind: string }): number | null =>
  value.valueKind === "int" ? (value as Extract<Constant, { valueKind: "int" }>).num : null;
