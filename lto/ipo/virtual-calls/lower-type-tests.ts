/**
 * lower-type-tests: `llvm.type.test` and `llvm.type.checked.load` in terms of other instructions.
 *
 *  - A checked load is a load, and a test of the pointer.
 *  - A test that is only assumed to hold has told what it can by now, and goes.
 *  - Any other test is asked in earnest (control-flow integrity): the pointer is one of the type's address points, or the
 *    address of a function of the type. It becomes comparisons with each.
 *
 * Method: the bodies that mention the intrinsics, by the module's summary. Linear in those, and in the comparisons made.
 *
 * Proof obligations:
 *  - a test is true exactly for the addresses that `!type` lists, of variables and functions that are in the program;
 *  - of a part of a program not all are there, so such questions cannot be answered;
 *  - what a checked load gives where the test fails is not defined, but the test must still fail: the load is made
 *    anyhow, which is what LLVM does too, so the pointer can be read.
 *
 * Why early: a test keeps a pointer alive and a variable in memory. Nothing below asks what type a table is of.
 */
import { Builder } from "../../ir/builder.js";
import type { Editor } from "../../ir/editor.js";
import { InputError, UnsupportedError } from "../../ir/errors.js";
import { type CallInst, Flag, type Inst, Op } from "../../ir/instructions.js";
import type { Func, GlobalVariable, Module } from "../../ir/module.js";
import { i8, i32, i64, ptr } from "../../ir/types.js";
import { type Constant, ConstExpr, ConstUndef, constBool, constI64, type Value } from "../../ir/values.js";
import { summary } from "../../pass/analyses.js";
import type { ModulePass, PassContext } from "../../pass/pass.js";
import {
  type AddressPoint,
  askingFunctions,
  byType,
  isAssumption,
  type TypeQuery,
  typeQueries,
  virtualFunctionFlag,
} from "./type-tables.js";

class Lowering {
  /** All that has a type, functions too; made when first asked for. */
  private members: ReadonlyMap<string, readonly AddressPoint<GlobalVariable | Func>[]> | null = null;

  constructor(
    private readonly module: Module,
    private readonly context: PassContext,
  ) {}

  lower(fn: Func): void {
    const queries = typeQueries(fn);
    if (queries.length === 0) return;
    const editor = fn.edit();
    for (const query of queries) {
      const { call, kind } = query;
      const before = new Builder(editor).before(call);
      if (kind === "test") editor.replace(call, this.test(editor, query, call, before));
      else this.load(editor, query, before);
      this.context.count("lowered");
    }
  }

  /** @param result what is true or false */
  private test(editor: Editor, { call, type }: TypeQuery, result: Inst, before: Builder): Value {
    dropAssumptions(editor, result);
    if (isOnlyAssumed(editor, result)) return constBool(true);
    if (type === null)
      throw new InputError(`llvm.type.test of a type without a name (in @${editor.fn.name})`);
    if (this.module.isPartial)
      throw new UnsupportedError("llvm.type.test in an output that is linked further", `@${editor.fn.name}`);
    this.context.count("tests");
    const pointer = call.operands[1]!;
    let holds: Value | null = null;
    for (const { global, offset } of this.membersOf(type)) {
      const address: Constant =
        offset === 0
          ? global
          : new ConstExpr(ptr, Op.GetElementPtr, [global, constI64(offset)], Flag.InBounds, i8);
      const isThis = before.icmp("eq", pointer, address);
      holds = holds === null ? isThis : before.or(holds, isThis);
    }
    return holds ?? constBool(false);
  }

  private membersOf(type: string): readonly AddressPoint<GlobalVariable | Func>[] {
    if (this.members === null) {
      const { globals, functions } = this.module;
      // Of functions with a body the types are read with it.
      for (const fn of functions) if (!fn.isDeclaration) fn.view();
      this.members = byType(
        globals.filter((global) => global.kind === "variable" || global.kind === "function"),
      );
    }
    return this.members.get(type) ?? [];
  }

  private load(editor: Editor, query: TypeQuery, before: Builder): void {
    const { call, kind } = query;
    const [, base, offset] = call.operands as [Value, Value, Value];
    const place = before.gep(i8, base, [offset]);
    let loaded: Value;
    if (kind === "load") loaded = before.load(ptr, place, 8);
    else loaded = before.gep(i8, base, [before.cast(Op.SExt, before.load(i32, place, 4), i64)]);
    const whole = splitResult(editor, call, loaded);
    const conditions = whole.map((inst) => this.test(editor, query, inst, before));
    for (const [i, inst] of whole.entries()) editor.replace(inst, conditions[i]!);
    if (!editor.hasUses(call)) {
      editor.erase(call);
      return;
    }
    // Somebody takes the pair as it is.
    const pair = before.insertValue(new ConstUndef(call.type, true), loaded, [0]);
    const condition = this.test(editor, { ...query, kind: "test" }, call, before);
    editor.replace(call, before.insertValue(pair, condition, [1]));
  }
}

/** Gives the users of a checked load's pointer the loaded one. @returns those of its condition */
function splitResult(editor: Editor, call: CallInst, loaded: Value): Inst[] {
  const conditions: Inst[] = [];
  for (const user of editor.users(call)) {
    if (user.op !== Op.ExtractValue) continue;
    if (user.data[0] === 0) editor.replace(user, loaded);
    else conditions.push(user);
  }
  return conditions;
}

/** Removes what only assumes that a value is true. */
function dropAssumptions(editor: Editor, condition: Inst): void {
  for (const user of editor.users(condition))
    if (isAssumption(user) && user.data.bundles.length === 0) editor.erase(user);
}

/** Whether nothing asks for a condition but to assume that it holds, perhaps where paths have joined. */
const isOnlyAssumed = (editor: Editor, condition: Inst): boolean =>
  editor
    .users(condition)
    .every((user) => isAssumption(user) || (user.op === Op.Phi && editor.users(user).every(isAssumption)));

export const lowerTypeTests: ModulePass = {
  name: "lower-type-tests",
  level: "module",
  description: "replaces questions about types of tables of virtual functions by loads and comparisons",
  counters: { lowered: "questions", tests: "of them, those that are asked as the program runs" },
  requires: [summary],
  preserves: [],
  run(module, context) {
    const functions = askingFunctions(module, context.ofModule(summary));
    const lowering = new Lowering(module, context);
    for (const fn of functions) lowering.lower(fn);
    // Where that is linked further, no table may lose entries any more: not all calls say now which they ask for.
    if (module.isPartial) module.flags = module.flags.filter(({ key }) => key !== virtualFunctionFlag);
    return functions.length > 0;
  },
};
