/**
 * devirtualize: calls of virtual functions that can only be one, or one of a few.
 *
 *     call llvm.assume(llvm.type.test(table, "Shape"));  (*table[2])(shape)
 *
 * Where every table of Shape and of what is derived from it is in the program, and all have one function as their third
 * entry, the call is one of that function: it can be inlined, its parameters and results are followed, and the loads of
 * the table go. Where there are a few, the call says which (`!callees`): its registers and conventions are theirs.
 *
 * Method: the bodies that ask about types (`type-tables.ts`); from the pointer that is asked about, through constant
 * offsets and loads to calls. Linear in uses. Of a question in a test, only loads after it.
 *
 * Proof obligations:
 *  - all tables of the type are known, and are what they seem: each says that only the linked program calls through it
 *    (`!vcall_visibility`), is constant, and the definition that runs; of a part of a program, only those that one module
 *    keeps to itself;
 *  - the question was answered with yes: the load is dominated by the assumption, or is a checked load;
 *  - the entry is a function that the call can call: of the call's type and convention. Entries that are pure virtual
 *    count as none: a call of one ends the program.
 *
 * Breaks if: objects of a class that is hidden have tables made elsewhere, which the language forbids.
 */
import type { DominatorTree } from "../../analysis/dominators.js";
import type { Editor } from "../../ir/editor.js";
import { constantGepOffset } from "../../ir/fold/addresses.js";
import { withHints } from "../../ir/hints.js";
import { type CallInst, type Inst, isCall, isPlainAccess, Op } from "../../ir/instructions.js";
import type { Func, Module } from "../../ir/module.js";
import { dominators, summary } from "../../pass/analyses.js";
import type { ModulePass, ProgramContext } from "../../pass/pass.js";
import { placeOfOrigin, words } from "../../pass/remarks.js";
import { askingFunctions, isAssumption, type TypeQuery, TypeTables, typeQueries } from "./type-tables.js";

/** More callees than this say next to nothing. */
const mostCallees = 16;

class Devirtualizer {
  private readonly tables: TypeTables;
  private readonly known = new Map<string, readonly Func[] | null>();

  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
  ) {
    this.tables = new TypeTables(module);
  }

  run(fn: Func): boolean {
    const { fn: own } = fn.attributes;
    if (own.has("naked") || own.has("optnone")) return false;
    const queries = typeQueries(fn).filter(({ type, kind }) => type !== null && kind !== "relative-load");
    if (queries.length === 0) return false;
    const editor = fn.edit();
    editor.body.renumber();
    const tree = this.context.ofBody(dominators, editor.body);
    let changed = false;
    for (const query of queries)
      if (query.kind === "load") changed = this.checkedLoad(editor, query) || changed;
      else changed = this.test(editor, query, tree) || changed;
    return changed;
  }

  private checkedLoad(editor: Editor, { call, type, offset }: TypeQuery): boolean {
    if (offset === null) return false;
    let changed = false;
    for (const user of editor.users(call))
      if (user.op === Op.ExtractValue && user.data[0] === 0)
        changed = this.calls(editor, user, type!, offset) || changed;
    return changed;
  }

  /** What is loaded after the assumption that the pointer is one to a table of the type. */
  private test(editor: Editor, { call, type }: TypeQuery, tree: DominatorTree): boolean {
    const assumptions = editor.users(call).filter(isAssumption);
    const pointer = call.operands[1]!;
    if (assumptions.length === 0 || (pointer.valueKind !== "inst" && pointer.valueKind !== "argument"))
      return false;
    const isBehind = (inst: Inst): boolean =>
      assumptions.some((assumption) => tree.runsBefore(assumption, inst));
    let changed = false;
    const visit = (address: Inst | typeof pointer, offset: number): void => {
      if (address.valueKind !== "inst" && address.valueKind !== "argument") return;
      for (const user of editor.users(address))
        if (user.op === Op.GetElementPtr && user.operands[0] === address) {
          const { elementType } = user.data;
          const by = constantGepOffset(this.module.dataLayout, elementType, user.operands);
          if (by !== null) visit(user, offset + by);
        } else if (user.op === Op.Load && user.type.kind === "ptr" && isPlainAccess(user) && isBehind(user))
          changed = this.calls(editor, user, type!, offset) || changed;
    };
    visit(pointer, 0);
    return changed;
  }

  private functionsAt(type: string, offset: number): readonly Func[] | null {
    const key = `${offset} ${type}`;
    let found = this.known.get(key);
    if (found === undefined) this.known.set(key, (found = this.tables.functionsAt(type, offset)));
    return found;
  }

  /** @param entry what was loaded from a table */
  private calls(editor: Editor, entry: Inst, type: string, offset: number): boolean {
    const functions = this.functionsAt(type, offset);
    if (functions === null || functions.length === 0) return false;
    let changed = false;
    for (const user of editor.users(entry)) {
      if (!isCall(user) || user.operands[0] !== entry) continue;
      if (!functions.every((fn) => fits(user, fn))) continue;
      if (functions.length === 1) {
        this.decide(editor, user, functions[0]!);
        changed = true;
      } else if (functions.length <= mostCallees && user.hints?.callees == null) {
        user.hints = withHints(user.hints, { callees: { members: functions, open: false } });
        this.context.count("bounded");
        changed = true;
      }
    }
    return changed;
  }

  private decide(editor: Editor, call: CallInst, fn: Func): void {
    editor.setOperand(call, 0, fn);
    call.hints = withHints(call.hints, { callees: null });
    this.context.count("decided");
    this.context.remarks?.add({
      kind: "Passed",
      pass: "devirtualize",
      name: "Devirtualized",
      function: editor.fn.name,
      place: placeOfOrigin(this.context.origins, call.origin),
      facts: [words("a call of a virtual function can only be one of "), ["Callee", fn.name]],
    });
  }
}

const fits = (call: CallInst, fn: Func): boolean =>
  call.data.functionType === fn.valueType && call.data.callingConvention === fn.callingConvention;

export const devirtualize: ModulePass = {
  name: "devirtualize",
  level: "module",
  description:
    "makes calls of virtual functions direct where all tables have the same one, and else says which there are",
  counters: {
    decided: "calls that became direct",
    bounded: "calls of which the callees are known",
  },
  requires: [summary, dominators],
  preserves: [],
  run(module, context) {
    const functions = askingFunctions(module, context.ofModule(summary));
    if (functions.length === 0) return false;
    const pass = new Devirtualizer(module, context);
    let changed = false;
    for (const fn of functions) changed = pass.run(fn) || changed;
    return changed;
  },
};
