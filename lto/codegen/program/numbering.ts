/**
 * Numbers of the functions that get code, and of what calls reach. Numbers are what crosses threads.
 *
 * A call of a function counts as a call of its definition only where that is exact: nothing can take the
 * definition's place at link or load time.
 */
import { type Func, type GlobalValue, hasLocalName, type Module } from "../../ir/module.js";
import type { RelocationModel } from "../target.js";

declare const brand: unique symbol;
/** Position among the functions that get code, in the order of the module. */
export type FunctionNumber = number & { readonly [brand]: "function" };
/** What a call reaches: a `FunctionNumber`; beyond the last one, a set of functions that a pointer can lead to. */
export type CalleeNumber = FunctionNumber | (number & { readonly [brand]: "callee set" });

/** Functions that get code, in the order of the module; their positions are the function numbers. */
export function definedFunctions(module: Pick<Module, "functions">): Func[] {
  return module.functions.filter((f) => !f.isDeclaration && f.linkage !== "available_externally");
}

/** The definition is what a call will reach: nothing can replace it at link or load time. */
export function isExact(fn: Func, relocation: RelocationModel): boolean {
  if (fn.isLocal) return true;
  if (fn.linkage !== "external") return false;
  return relocation !== "pic" || (fn.dsoLocal && hasLocalName(fn)) || fn.visibility !== "default";
}

export class Numbering {
  readonly functions: readonly Func[];
  /** Numbers of functions whose definitions are exact. */
  private readonly exact = new Map<GlobalValue, FunctionNumber>();

  constructor(module: Module, relocation: RelocationModel) {
    this.functions = definedFunctions(module);
    this.functions.forEach((fn, i) => {
      if (isExact(fn, relocation)) this.exact.set(fn, i as FunctionNumber);
    });
  }

  /** The number of a function that gets code, whether calls are sure to reach that or not. */
  numberOfDefinition(fn: GlobalValue): FunctionNumber | undefined {
    this.defined ??= new Map(this.functions.map((own, i) => [own, i as FunctionNumber]));
    return this.defined.get(fn);
  }
  private defined: Map<GlobalValue, FunctionNumber> | null = null;

  /** The number of a function whose definition calls are sure to reach. */
  numberOf(callee: GlobalValue): FunctionNumber | undefined {
    return this.exact.get(callee);
  }

  /** What a call reaches; undefined for unknown code. @param calleeSet of a call through a pointer, -1 if not known */
  calleeOf(callee: GlobalValue | null, calleeSet: number): CalleeNumber | undefined {
    if (callee !== null) return this.exact.get(callee);
    return calleeSet < 0 ? undefined : this.ofSet(calleeSet);
  }

  ofSet(calleeSet: number): CalleeNumber {
    return (this.functions.length + calleeSet) as CalleeNumber;
  }
}
