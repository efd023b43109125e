/**
 * virtual-function-elim: virtual functions that no call reaches.
 *
 * A table of virtual functions mentions all functions of its class, and so keeps them. Where every call through a table
 * is seen (`-fvirtual-function-elimination`: it is a `llvm.type.checked.load`, which names the type and the entry), an
 * entry that no call in code that is reached asks for is null instead, and its function goes with the others that
 * nothing reaches.
 *
 * Method: reachability as in `globaldce`, but that a table shows its entries only where a reached function has asked for
 * them: a question is remembered for tables that are reached later, and the other way round. Linear in mentions,
 * questions and their tables.
 *
 * Proof obligations:
 *  - the program was compiled so that all calls through tables are such questions (module flag `Virtual Function Elim`,
 *    in every module), and the table says that nobody else calls through it (`!vcall_visibility`);
 *  - a question with a computed offset (pointers to members) asks for all entries of its type's tables; one that does not
 *    say its type, for all there are;
 *  - a table that code reads by its own address shows all;
 *  - only functions count as entries: type information and offsets stay.
 */

import { keepOnly, reachableGlobals } from "../../analysis/reachable.js";
import { visitGlobals } from "../../analysis/references.js";
import { globalIndices, type ModuleSummary } from "../../analysis/summary.js";
import { variableOf } from "../../analysis/variable-uses.js";
import { elementOf, memberCount } from "../../ir/fold/aggregates.js";
import { memberOffset } from "../../ir/fold/bits.js";
import { withValueAt } from "../../ir/fold/load.js";
import { type BodyView, Op } from "../../ir/instructions.js";
import type { GlobalValue, GlobalVariable, Module } from "../../ir/module.js";
import { finish } from "../../ir/steps.js";
import { ptr } from "../../ir/types.js";
import { type Constant, zeroOf } from "../../ir/values.js";
import { summary } from "../../pass/analyses.js";
import type { ModulePass } from "../../pass/pass.js";
import { askingFunctions, isClosed, TypeTables, typeQueries, virtualFunctionFlag } from "./type-tables.js";

/** A table some of whose entries may go: its functions by offset, those asked for, and all else that it mentions. */
interface Table {
  readonly entries: ReadonlyMap<number, GlobalValue>;
  readonly others: readonly GlobalValue[];
  readonly asked: Set<number>;
  isLive: boolean;
}
/** Asked for: an entry of a type's tables, or all of them. */
interface Question {
  readonly type: string;
  readonly offset: number | null;
}

class Elimination {
  private readonly tables = new Map<GlobalValue, Table>();
  private readonly types: TypeTables;
  private readonly questions = new Map<GlobalValue, Question[]>();

  constructor(
    private readonly module: Module,
    private readonly known: ModuleSummary,
  ) {
    this.types = new TypeTables(module);
  }

  /** @returns whether some question does not say what it asks for */
  private readQuestions(): boolean {
    for (const fn of askingFunctions(this.module, this.known)) {
      const asked: Question[] = [];
      for (const { kind, type, offset } of typeQueries(fn)) {
        if (kind === "test") continue;
        if (type === null || kind === "relative-load") return true;
        asked.push({ type, offset });
      }
      fn.release();
      if (asked.length > 0) this.questions.set(fn, asked);
    }
    return false;
  }

  private readTables(): void {
    for (const variable of this.module.variables) {
      if (
        variable.typeIds.length === 0 ||
        !isClosed(variable, this.module) ||
        this.module.pinned.has(variable)
      )
        continue;
      const entries = new Map<number, GlobalValue>();
      const others: GlobalValue[] = [];
      this.split(variable.initializer!, 0, entries, others);
      this.tables.set(variable, { entries, others, asked: new Set(), isLive: false });
    }
    const indices = globalIndices(this.module);
    const isTable = new Uint8Array(this.module.globals.length);
    for (const table of this.tables.keys()) isTable[indices.get(table)!] = 1;
    this.module.globals.forEach((global, index) => {
      if (global.kind !== "function" || global.isDeclaration) return;
      const { references } = this.known.symbols[index]!;
      if (references.some((other) => isTable[other] === 1)) global.peek((body) => this.exclude(body));
    });
  }

  /** Forgets tables that a body reads without asking. */
  private exclude({ blocks }: BodyView): void {
    for (const { insts } of blocks)
      for (const inst of insts) {
        if (inst.op !== Op.Load && inst.op !== Op.GetElementPtr) continue;
        const table = variableOf(inst.operands[0]!);
        if (table !== null) this.tables.delete(table);
      }
  }

  private split(
    constant: Constant,
    at: number,
    entries: Map<number, GlobalValue>,
    others: GlobalValue[],
  ): void {
    const { type } = constant;
    if (type.isAggregate && constant.valueKind === "aggregate")
      for (let i = 0; i < memberCount(type); i++) {
        const offset = memberOffset(this.module.dataLayout, type, i)!;
        this.split(elementOf(constant, i)!, at + offset, entries, others);
      }
    else if (constant.valueKind === "global" && (constant.kind === "function" || constant.kind === "alias"))
      entries.set(at, constant);
    else visitGlobals(constant, (global) => others.push(global));
  }

  run(): { functions: number; removed: number } {
    if (this.readQuestions()) return { functions: 0, removed: 0 };
    this.readTables();
    if (this.tables.size === 0) return { functions: 0, removed: 0 };
    const { symbols } = this.known;
    const before = [...this.module.globals];
    const indices = globalIndices(this.module);
    const live = finish(
      reachableGlobals(this.module, this.module.pinned, (global, show) => {
        const table = this.tables.get(global);
        if (table !== undefined) {
          table.isLive = true;
          for (const other of table.others) show(other);
          for (const offset of table.asked) show(table.entries.get(offset)!);
          return;
        }
        const { calls, references } = symbols[indices.get(global)!]!;
        for (const callee of calls) show(before[callee]!);
        for (const reference of references) show(before[reference]!);
        for (const question of this.questions.get(global) ?? []) this.ask(question, show);
      }),
    );
    let functions = 0;
    for (const [global, table] of this.tables)
      if (table.isLive) functions += this.clear(global as GlobalVariable, table, live);
    return { functions, removed: keepOnly(this.module, live) };
  }

  private ask({ type, offset }: Question, show: (global: GlobalValue) => void): void {
    for (const { global, offset: start } of this.types.of(type)) {
      const table = this.tables.get(global);
      if (table === undefined) continue;
      const places = offset === null ? table.entries.keys() : [start + offset];
      for (const place of places) {
        const entry = table.entries.get(place);
        if (entry === undefined || table.asked.has(place)) continue;
        table.asked.add(place);
        if (table.isLive) show(entry);
      }
    }
  }

  /** Makes entries null whose functions are gone. */
  private clear(variable: GlobalVariable, { entries }: Table, live: ReadonlySet<GlobalValue>): number {
    let cleared = 0;
    for (const [offset, entry] of entries) {
      if (live.has(entry)) continue;
      const { initializer } = variable;
      variable.initializer = withValueAt(this.module.dataLayout, initializer!, offset, zeroOf(ptr))!;
      cleared++;
    }
    return cleared;
  }
}

export const virtualFunctionElim: ModulePass = {
  name: "virtual-function-elim",
  level: "module",
  description: "removes virtual functions that no call asks for, where the program was compiled to show all",
  counters: { entries: "entries of tables that nothing asks for", removed: "globals removed" },
  requires: [summary],
  preserves: [],
  run(module, context) {
    if (module.isPartial || module.flag(virtualFunctionFlag) !== 1) return false;
    const { functions, removed } = new Elimination(module, context.ofModule(summary)).run();
    context.count("entries", functions);
    context.count("removed", removed);
    return functions + removed > 0;
  },
};
