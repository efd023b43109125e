/**
 * Numbers of a module's globals, for what has to do without objects: packed functions, which threads exchange.
 * Threads number alike, since they decode the same module. Library routines that legalisation calls are in no
 * module; they go by their names.
 */
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import { functionType, voidType } from "../../ir/types.js";
import { libraryFunction } from "../legalize/internal.js";

export class SymbolNumbers {
  private readonly globals: readonly GlobalValue[];
  private readonly numbers = new Map<GlobalValue, number>();
  private readonly routines = new Map<string, GlobalValue>();

  constructor({ globals }: Pick<Module, "globals">) {
    this.globals = globals;
    for (let i = 0; i < globals.length; i++) this.numbers.set(globals[i]!, i);
  }

  /** -1 for a routine that is not in the module: `routine` finds it again by its name. */
  numberOf(global: GlobalValue): number {
    const number = this.numbers.get(global);
    if (number !== undefined) return number;
    this.routines.set(global.name, global);
    return -1;
  }

  global(number: number): GlobalValue {
    return this.globals[number]!;
  }

  /** The number under which a set of callees is packed; those below 0 stay. Elsewhere sets have other numbers. */
  packedSet(set: number): number {
    return set;
  }
  /** The inverse. */
  setOf(packed: number): number {
    return packed;
  }

  routine(name: string): GlobalValue {
    return this.routines.get(name) ?? declare(name);
  }
}

/** After selection nobody looks at types. */
const declare = (name: string): Func => libraryFunction(name, functionType(voidType, []));
