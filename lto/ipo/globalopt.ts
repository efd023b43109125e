/**
 * globalopt: local variables that are simpler than they are declared.
 *
 *  - One that nobody writes is a constant: loads from it fold, it lies in read-only memory, copies of it are merged.
 *  - A scalar that only `main` uses lives on the stack, and so perhaps in a register.
 *  - One whose address nobody compares or keeps has an address that means nothing; so have functions that are only
 *    called. Merging of constants and folding of functions ask for that.
 *
 * Variables that nobody reads are dead-argument elimination's, those that keep one value constant propagation's.
 *
 * Method: uses of all variables from one walk (analysis/variable-uses.ts), then a look at each. Linear.
 *
 * Proof obligations:
 *  - all that is done with the variable is seen: local, defined here, not in a section of somebody else's, its address in
 *    no initialiser, not pinned;
 *  - a constant is not written through a call or an intrinsic either;
 *  - the function that a variable moves into is entered once in a run: `main`, which nothing in the program calls or
 *    knows the address of; and nothing returns twice in it.
 *
 * Large variables that are zero throughout stay as they are: they cost nothing where they are.
 */

import { Use, type VariableUses } from "../analysis/variable-uses.js";
import { Builder } from "../ir/builder.js";
import { Op } from "../ir/instructions.js";
import type { Func, GlobalValue, GlobalVariable, Module } from "../ir/module.js";
import { returnsTwice } from "../ir/returns-twice.js";
import type { Constant } from "../ir/values.js";
import { callGraph, variableUses } from "../pass/analyses.js";
import type { ModulePass, PassContext } from "../pass/pass.js";

/** Bytes of zeros that may move from where they take no room in the file to where they do. */
const smallZeros = 16;

const isZero = (constant: Constant): boolean =>
  constant.valueKind === "zero" ||
  ((constant.valueKind === "int" || constant.valueKind === "float") &&
    (constant.valueKind === "int" ? constant.value === 0n : constant.bits === 0n));

/** Nothing but its declaration and what is seen in bodies says what the variable is. */
const isOrdinary = (variable: GlobalVariable): boolean =>
  variable.section === "" &&
  variable.comdat === null &&
  variable.threadLocal === "none" &&
  !variable.externallyInitialized &&
  variable.typeIds.length === 0;

class Optimiser {
  private changed = false;

  constructor(
    private readonly module: Module,
    private readonly context: PassContext,
  ) {}

  run(): boolean {
    const main = this.enteredOnce();
    const local: GlobalVariable[] = [];
    for (const [variable, uses] of this.context.ofModule(variableUses).variables) {
      if (!isOrdinary(variable)) continue;
      this.inferInsignificance(variable, uses);
      if ((uses.traits & Use.Escapes) !== 0) continue;
      if ((uses.traits & (Use.Written | Use.WrittenByCall)) === 0) this.makeConstant(variable, uses);
      else if (main !== null && canMove(variable, uses, main)) local.push(variable);
    }
    this.inferFunctions();
    if (local.length > 0) this.move(local, main!);
    return this.changed;
  }

  private inferInsignificance(variable: GlobalVariable, { traits }: VariableUses): void {
    if (variable.unnamedAddr === "global" || (traits & (Use.Escapes | Use.Compared)) !== 0) return;
    variable.unnamedAddr = "global";
    this.context.count("insignificant");
    this.changed = true;
  }
  private inferFunctions(): void {
    const graph = this.context.ofModule(callGraph);
    this.module.globals.forEach((fn, index) => {
      if (fn.kind !== "function" || fn.unnamedAddr === "global" || !fn.isLocal) return;
      const node = graph.nodeOf[index]!;
      if (node < 0 || graph.openToCallers[node] === 1) return;
      fn.unnamedAddr = "global";
      this.context.count("insignificant");
      this.changed = true;
    });
  }

  private makeConstant(variable: GlobalVariable, { traits }: VariableUses): void {
    if (variable.isConstant || traits === 0) return;
    const size = this.module.dataLayout.allocSize(variable.valueType);
    if (isZero(variable.initializer!) && size > smallZeros) return;
    variable.isConstant = true;
    this.context.count("constants");
    this.changed = true;
  }

  /** `main`, if it runs once. */
  private enteredOnce(): Func | null {
    const index = this.module.globals.findIndex((global) => global.name === "main");
    const main = this.module.globals[index];
    if (main === undefined || main.kind !== "function" || main.isDeclaration) return null;
    const { attributes } = main;
    if (attributes.fn.has("optnone") || attributes.fn.has("naked")) return null;
    const graph = this.context.ofModule(callGraph);
    const node = graph.nodeOf[index]!;
    const isCalled = graph.callers.start[node + 1]! > graph.callers.start[node]!;
    if (isCalled || graph.addressTaken[node] === 1) return null;
    return main.peek(({ blocks }) => blocks.every(({ insts }) => insts.every((inst) => !returnsTwice(inst))))
      ? main
      : null;
  }

  private move(variables: readonly GlobalVariable[], main: Func): void {
    const editor = main.edit();
    const entry = editor.body.blocks[0]!;
    const slots = new Map<GlobalValue, ReturnType<Builder["alloca"]>>();
    for (const variable of variables) {
      const { initializer, valueType } = variable;
      const align = Math.max(variable.align, this.module.dataLayout.abiAlign(valueType));
      const builder = new Builder(editor).atStart(entry);
      const slot = builder.alloca(valueType, align);
      if (initializer!.valueKind !== "undef") builder.store(initializer!, slot, align);
      slots.set(variable, slot);
      this.context.count("moved");
    }
    for (const { insts } of editor.body.blocks)
      for (const inst of insts) {
        const place = inst.op === Op.Load ? 0 : inst.op === Op.Store ? 1 : -1;
        const address = place < 0 ? undefined : inst.operands[place]!;
        const slot = address?.valueKind === "global" ? slots.get(address) : undefined;
        if (slot !== undefined) editor.setOperand(inst, place, slot);
      }
    this.changed = true;
  }
}

/** A scalar of a size that registers have, which only one function loads and stores as what it is. */
function canMove({ valueType }: GlobalVariable, uses: VariableUses, into: Func): boolean {
  const isScalar =
    (valueType.kind === "int" && valueType.bits <= 64) ||
    valueType.kind === "ptr" ||
    valueType.kind === "float" ||
    valueType.kind === "double";
  return (
    isScalar && uses.user === into && !uses.hasManyUsers && (uses.traits & ~(Use.Read | Use.Written)) === 0
  );
}

export const globalopt: ModulePass = {
  name: "globalopt",
  level: "module",
  description:
    "makes local variables constants, moves main's own to its frame, and tells which addresses mean nothing",
  counters: {
    constants: "variables made constant",
    moved: "variables moved into main",
    insignificant: "addresses found to mean nothing",
  },
  requires: [callGraph, variableUses],
  preserves: [],
  run: (module, context) => new Optimiser(module, context).run(),
};
