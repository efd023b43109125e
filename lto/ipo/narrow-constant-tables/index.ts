/**
 * narrow-constant-tables: fields of tables take no more bytes than what they hold.
 *
 *     static const struct { const char *name; int size; } kinds[] = { { "int", 4 }, { "char", 1 } };
 *
 * An element has 5 bytes for 16: a pointer is four bytes, where all addresses are below 2^31 or code and data are moved
 * together (then it needs no relocation at load time any more, which takes 24 bytes), and no size here takes more than one.
 * Programs that print, parse or dispatch have many such tables, which are loaded as much as code is.
 *
 * Method: the pointers into each table are followed through all functions whose callers are known (flow.ts), tables that
 * meet are one (tables.ts), and where every access is a plain load of a field, all of them change (rewrite.ts) if that
 * saves more bytes of data than extending what is loaded takes of code. Linear, in few rounds over the bodies concerned.
 *
 * Proof obligations:
 *  - every access is seen: the variable is local, defined here, not pinned, in no section, comdat or thread, and of
 *    no type that others look for; its address is nowhere but in what is followed, and in pointer fields of tables;
 *  - nothing is written: contents are what initialisers say;
 *  - wherever a pointer may lead into a table, it leads into one of the same shape, at the same place of an element, or is
 *    null: what merges, is passed or returned is checked at the end. So each step and each load has one new meaning;
 *  - the order of elements stays, and only addresses of the same place in them are compared; all steps are by whole elements,
 *    or known, and none times their size wraps (`inbounds`, or too short for it): 2^60 + 1 steps of 16 bytes are one, of 5 not;
 *    fields that nobody loads are gone, but no table is without any;
 *  - loads give the values that they gave: integers come back by the one extension that all of a field do. Undef is some
 *    value. Pointers lead to symbols that are defined in the program and by nobody else, by fewer than 2^20 bytes forwards,
 *    in a small code model (`Addresses`): they come back by zero extension where addresses are low, else as distances from
 *    the field, of which 0 is null, since none leads to its own table, nor to the end of what may lie before it;
 *  - where code calls what it loads, or may find functions after it, pointers stay: who follows calls through pointers
 *    would not see them. (Functions whose addresses go elsewhere anybody may call.)
 *  - parameters, results and loaded pointers that lead into tables lose what is claimed of alignment and of bytes that can
 *    be read.
 */

import { saysItIsLarge } from "../../analysis/large-data.js";
import { baseObject, visitGlobals, visitOwnConstants } from "../../analysis/references.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { placeOf } from "../../ir/fold/addresses.js";
import { type BodyView, opNames } from "../../ir/instructions.js";
import {
  type Func,
  type GlobalValue,
  type GlobalVariable,
  isReference,
  type Module,
} from "../../ir/module.js";
import type { Constant, Value } from "../../ir/values.js";
import { callGraph, summary } from "../../pass/analyses.js";
import { isForSize, type ModulePass, type ProgramContext } from "../../pass/pass.js";
import { words } from "../../pass/remarks.js";
import { type Places, PointerFlow } from "./flow.js";
import { addUses, type Narrowing, narrow, type TableUses } from "./narrowing.js";
import { Rewriter } from "./rewrite.js";
import { Shape, visitFields } from "./shape.js";
import { Table } from "./tables.js";

/** Pointers may lead so many bytes after a symbol. */
const farthest = 1n << 20n;
/** Bytes of tables that are worth a remark. */
const leastToldOf = 64;
/** After so many rounds all are given up; each joins tables that were joined by nothing but what the one before found. */
const mostRounds = 20;

class TableShrinker {
  private readonly tables = new Map<GlobalVariable, Table>();
  private readonly closed = new Set<Value>();
  private readonly callers = new Map<Func, readonly Func[]>();
  private readonly flow: PointerFlow;
  /** The last one at each user; in the last round over all of them nothing new was found. */
  private lastLook = new Map<Func, { readonly body: BodyView; readonly places: Places }>();
  private readonly layout: DataLayout;
  /** Variables that lead to functions. */
  private leading: ReadonlySet<GlobalValue> = new Set();

  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
  ) {
    this.layout = module.dataLayout;
    this.flow = new PointerFlow(this.layout, this.tables, this.closed);
  }

  run(): boolean {
    this.findTables();
    if (this.tables.size === 0) return false;
    this.findCallers();
    if (this.context.addresses !== "anywhere") this.leading = this.findLeading();
    for (const global of this.module.globals)
      if (this.flow.tableOf(global) === undefined)
        visitOwnConstants(global, (constant) => this.flow.escape(constant));
    for (const pinned of this.module.pinned) this.flow.tableOf(pinned)?.markUnsafe();
    for (const [variable, table] of this.tables) this.readContents(variable, table);
    const users = this.followPointers();
    const chosen = this.choose(users);
    this.tellOfRest();
    if (chosen.size === 0) return false;
    const placesIn = (fn: Func, body: BodyView): Places => this.placesIn(fn, body);
    new Rewriter(this.flow, chosen, placesIn).run(users, (fn) => this.context.bodyDone(fn));
    this.context.count("shrunk", chosen.size);
    return true;
  }

  private findTables(): void {
    for (const variable of this.module.variables) {
      if (!variable.isLocal || variable.initializer === null || variable.externallyInitialized) continue;
      if (variable.threadLocal !== "none" || variable.section !== "" || variable.comdat !== null) continue;
      if (
        variable.codeModel !== null ||
        variable.typeIds.length > 0 ||
        variable.type.addressSpace !== 0 ||
        !variable.valueType.isAggregate
      )
        continue;
      const shape = Shape.of(variable.valueType, this.layout);
      if (shape !== null) this.tables.set(variable, new Table(shape, this.flow.scene));
    }
  }

  private findCallers(): void {
    const { symbolOf, openToCallers, addressTaken, callers } = this.context.ofModule(callGraph);
    const { globals } = this.module;
    for (let node = 0; node < symbolOf.length; node++) {
      const fn = globals[symbolOf[node]!]! as Func;
      if (openToCallers[node] === 1 || addressTaken[node] === 1 || isOpaque(fn)) continue;
      this.closed.add(fn);
      const list = callers.items.subarray(callers.start[node]!, callers.start[node + 1]!);
      this.callers.set(
        fn,
        Array.from(list, (caller) => globals[symbolOf[caller]!] as Func),
      );
    }
  }

  private readContents(variable: GlobalVariable, table: Table): void {
    // Reading one may have joined others.
    table.leader.variables.push(variable);
    const { shape } = table;
    const isKnown = visitFields(variable.initializer!, shape, (number, value) => {
      const { kind } = shape.fields[number]!;
      const fact = table.leader.facts[number]!;
      if (kind === "pointer") this.readPointer(variable, table, number, value);
      else if (kind === "integer" && value.valueKind === "int") {
        if (value.value < fact.least) fact.least = value.value;
        if (value.value > fact.largest) fact.largest = value.value;
      } else if (value.valueKind !== "undef") {
        fact.isWide = true;
        this.flow.escape(value);
      }
    });
    if (!isKnown) table.markUnsafe();
  }

  private readPointer(variable: GlobalVariable, table: Table, field: number, value: Constant): void {
    const { valueKind } = value;
    if (valueKind === "undef") return;
    if (valueKind === "zero") {
      table.leader.facts[field]!.hasNulls = true;
      return;
    }
    const at = this.flow.pointerOf(value);
    if (at === null) table.stray(field);
    else table.pointTo(field, at);
    const facts = table.leader.facts[field]!;
    facts.addresses++;
    const isCode =
      value.valueKind === "blockaddress" || (value.valueKind === "global" && value.kind === "function");
    facts.hasCode ||= isCode;
    if (!this.isInReach(value, variable)) facts.isWide = true;
  }

  /** Whether an address is one of a function, or of data that leads to none, and is defined in the program. */
  private isInReach(address: Constant, from: GlobalVariable): boolean {
    const { addresses } = this.context;
    if (addresses === "anywhere") return false;
    // A block that is dropped later has a number for an address.
    if (address.valueKind === "blockaddress") return addresses === "low";
    const { base, offset } = placeOf(this.layout, address);
    if (base?.valueKind !== "global" || offset < 0n || offset >= farthest) return false;
    if (base.kind === "alias" || base.kind === "ifunc" || isReference(base)) return false;
    // Libraries are linked so only to what nobody else can mean. No distance is 0: not to the table, nor to an end, where it may be.
    if (addresses === "near" && !base.isLocal && base.visibility === "default") return false;
    if (base.kind === "function") return base === address;
    if (addresses === "near" && (base === from || offset >= this.layout.allocSize(base.valueType)))
      return false;
    if (base.kind === "variable" && saysItIsLarge(base) === true) return false;
    return base.threadLocal === "none" && !this.leading.has(base);
  }

  /** Variables that lead to functions, directly or by way of others. */
  private findLeading(): ReadonlySet<GlobalValue> {
    const leading = new Set<GlobalValue>();
    const mentionedBy = new Map<GlobalValue, GlobalVariable[]>();
    for (const variable of this.module.variables) {
      if (variable.initializer === null) continue;
      visitGlobals(variable.initializer, (global) => {
        const other = baseObject(global) ?? global;
        if (other.kind !== "variable") leading.add(variable);
        else if (!mentionedBy.has(other)) mentionedBy.set(other, [variable]);
        else mentionedBy.get(other)!.push(variable);
      });
    }
    // A set goes on with what is added to it meanwhile.
    for (const variable of leading) for (const other of mentionedBy.get(variable) ?? []) leading.add(other);
    return leading;
  }

  /** @returns the functions that have to do with tables */
  private followPointers(): Func[] {
    const { flow } = this;
    const users = new Set<Func>();
    const opaque: Func[] = [];
    const { symbols } = this.context.ofModule(summary);
    const tables = Uint8Array.from(this.module.globals, (g) => (flow.tableOf(g) === undefined ? 0 : 1));
    const isTable = (index: number): boolean => tables[index] === 1;
    this.module.globals.forEach((fn, symbol) => {
      if (fn.kind !== "function" || fn.isDeclaration) return;
      if (isOpaque(fn)) opaque.push(fn);
      else {
        // Others get to tables along calls only. Data may be called, too.
        const { references, calls } = symbols[symbol]!;
        if ((references.some(isTable) || calls.some(isTable)) && this.look(fn)) users.add(fn);
      }
    });
    for (let round = 0; flow.hasNews && this.isAnyLeft(); round++) {
      if (round === mostRounds) for (const table of this.tables.values()) table.markUnsafe();
      // First along calls; then once more all who have to do with tables, since tables that were joined say more.
      for (const fn of this.alongCalls()) users.add(fn);
      flow.hasNews = false;
      this.lastLook = new Map();
      for (const fn of users) {
        this.placesIn(fn, fn.view());
        this.context.bodyDone(fn);
      }
    }
    for (const fn of opaque) fn.peek((body) => flow.pass(fn, body));
    return [...users];
  }

  private look(fn: Func): boolean {
    const { isUser } = this.flow.look(fn, fn.view());
    this.context.bodyDone(fn);
    return isUser;
  }

  /** Where values of a user point, once all is known. */
  private placesIn(fn: Func, body: BodyView): Places {
    const seen = this.lastLook.get(fn);
    // A body that was decoded anew has other values.
    if (seen?.body === body) return seen.places;
    const { places } = this.flow.look(fn, body);
    this.lastLook.set(fn, { body, places });
    return places;
  }

  /**
   * Looks at functions that get places, and at callers of those that return some, as long as that leads to more.
   * @returns all functions that get or return places, and their callers
   */
  private alongCalls(): ReadonlySet<Func> {
    const { entered, returning } = this.flow;
    const concerned = new Set<Func>();
    while (entered.size + returning.size > 0) {
      const next = new Set(entered);
      for (const fn of [...entered, ...returning]) {
        concerned.add(fn);
        for (const caller of this.callers.get(fn) ?? []) {
          if (isOpaque(caller)) continue;
          concerned.add(caller);
          if (returning.has(fn)) next.add(caller);
        }
      }
      entered.clear();
      returning.clear();
      for (const fn of next) this.look(fn);
    }
    return concerned;
  }

  private isAnyLeft(): boolean {
    for (const table of this.tables.values()) if (!table.isUnsafe) return true;
    return false;
  }

  /** Gives up tables of which a pointer need not be one, then those where nothing is saved. */
  private choose(users: readonly Func[]): Map<Table, Narrowing> {
    const chosen = new Map<Table, Narrowing>();
    const { flow, context, layout } = this;
    if (!this.isAnyLeft()) return chosen;
    const uses = new Map<Table, TableUses>();
    for (const fn of users) {
      const body = fn.view();
      const places = this.placesIn(fn, body);
      flow.check(fn, body, places);
      addUses(uses, { flow, body, places, isForSize: isForSize(context.goalOf(fn)) });
      context.bodyDone(fn);
    }
    for (const [table, used] of uses) {
      const narrowing = table.isUnsafe ? null : narrow(table, used, layout, context.addresses, context.costs);
      if (narrowing === null) continue;
      chosen.set(table, narrowing);
      this.tell(table, narrowing);
    }
    return chosen;
  }

  private tell({ variables }: Table, { saved, code }: Narrowing): void {
    for (const variable of variables)
      this.context.remarks?.add({
        kind: "Passed",
        pass: narrowConstantTables.name,
        name: "TableShrunk",
        function: variable.name,
        facts: [
          words("made smaller, with all tables that its pointers meet: bytes of data="),
          ["DataBytes", -saved],
          words(", of code="),
          ["CodeBytes", code],
        ],
      });
  }

  /** Why tables of some size stay as they are. */
  private tellOfRest(): void {
    const { remarks } = this.context;
    if (remarks === null || !remarks.wants(narrowConstantTables.name)) return;
    for (const [variable, table] of this.tables) {
      const bytes = this.layout.allocSize(variable.valueType);
      if (!table.isUnsafe || bytes < leastToldOf) continue;
      const { fn, inst } = table.leader.reason!;
      remarks.add({
        kind: "Missed",
        pass: narrowConstantTables.name,
        name: "TableKept",
        function: variable.name,
        facts: [
          words("not made smaller, since its address is used otherwise than to load fields: bytes of data="),
          ["DataBytes", bytes],
          ...(fn === null || inst === null
            ? [words(", in an initializer")]
            : [
                words(", in "),
                ["User", fn.name] as const,
                words(" by "),
                ["Instruction", opNames[inst.op]] as const,
              ]),
        ],
      });
    }
  }
}

const isOpaque = ({ attributes }: Func): boolean =>
  attributes.fn.has("optnone") || attributes.fn.has("naked");

export const narrowConstantTables: ModulePass = {
  name: "narrow-constant-tables",
  level: "module",
  description:
    "gives fields of tables that nobody writes no more bytes than they need, where all accesses are known",
  counters: { shrunk: "tables that are smaller, those that share code counted once" },
  requires: [summary, callGraph],
  preserves: [callGraph],
  run: (module, context) => new TableShrinker(module, context).run(),
};
