/**
 * globalopt: local variables that are simpler than they are declared.
 *
 *  - One that nobody writes is a constant: loads from it fold, it lies in read-only memory, copies of it are merged.
 *  - A scalar that one function writes before it reads it lives on the stack, and so perhaps in a register.
 *  - One that is only ever set to one value has that value where it is read after that (settled-variables.ts).
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
 *  - those of variables that move (frame-variables.ts). Nothing is known of `main` that is not of any function: C lets
 *    programs call it, and whoever starts a program is code that is not seen.
 *
 * Large variables that are zero throughout stay as they are: they cost nothing where they are.
 */

import { Use, type VariableUses } from "../analysis/variable-uses.js";
import type { Func, GlobalVariable, Module } from "../ir/module.js";
import type { Constant } from "../ir/values.js";
import { callGraph, dominators, variableUses } from "../pass/analyses.js";
import type { ModulePass, PassContext } from "../pass/pass.js";
import { movableVariables, moveToFrame, ownerOf } from "./frame-variables.js";
import { foldSettled } from "./settled-variables.js";

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
    const owned = new Map<Func, GlobalVariable[]>();
    for (const [variable, uses] of this.context.ofModule(variableUses).variables) {
      if (!isOrdinary(variable)) continue;
      this.inferInsignificance(variable, uses);
      if ((uses.traits & Use.Escapes) !== 0) continue;
      if ((uses.traits & (Use.Written | Use.WrittenByCall)) === 0) this.makeConstant(variable, uses);
      else {
        const owner = ownerOf(variable, uses);
        if (owner !== null) owned.set(owner, [...(owned.get(owner) ?? []), variable]);
      }
    }
    this.inferFunctions();
    const folded = foldSettled(this.module, this.context);
    if (folded > 0) {
      this.context.count("folded", folded);
      this.changed = true;
    }
    for (const [fn, variables] of movableVariables(this.module, this.context.ofModule(callGraph), owned)) {
      moveToFrame(variables, fn, this.module);
      this.context.count("moved", variables.length);
      this.changed = true;
    }
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
}

export const globalopt: ModulePass = {
  name: "globalopt",
  level: "module",
  description:
    "makes local variables constants, moves what one function writes first to its frame, and tells which addresses mean nothing",
  counters: {
    constants: "variables made constant",
    moved: "variables moved into a frame",
    insignificant: "addresses found to mean nothing",
    folded: "loads of variables after the one value they are set to",
  },
  requires: [callGraph, dominators, variableUses],
  preserves: [],
  run: (module, context) => new Optimiser(module, context).run(),
};
