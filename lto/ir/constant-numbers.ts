/** Numbers for constants by contents, counted from 0 in the order of appearance. Expected constant time for each. */
import { hashConstant } from "./hash.js";
import type { GlobalValue, Module } from "./module.js";
import { type Constant, sameConstant } from "./values.js";

/** Equal constants have equal numbers, whatever objects they are. */
export class ConstantNumbers {
  /** Those whose numbers are in no table below. */
  private readonly byHash = new Map<number, Constant[]>();
  private readonly numbers = new Map<Constant, number>();
  /** Integers, by number of their type. */
  private readonly integers: (Map<number, number> | undefined)[] = [];
  private globals: Map<GlobalValue, number> | null = null;
  private count = 0;

  constructor(private readonly module: Module) {}

  numberOf(constant: Constant): number {
    if (constant.valueKind === "int" && !Number.isNaN(constant.num)) {
      const { id } = constant.type;
      let ofType = this.integers[id];
      if (ofType === undefined) this.integers[id] = ofType = new Map();
      let number = ofType.get(constant.num);
      if (number === undefined) ofType.set(constant.num, (number = this.count++));
      return number;
    }
    let number = this.numbers.get(constant);
    if (number === undefined) this.numbers.set(constant, (number = this.find(constant)));
    return number;
  }

  private find(constant: Constant): number {
    // Equal to itself alone.
    if (constant.valueKind === "global") return this.count++;
    const hash = hashConstant(constant, this.numberOfGlobal);
    let list = this.byHash.get(hash);
    if (list === undefined) this.byHash.set(hash, (list = []));
    for (const other of list) if (sameConstant(other, constant)) return this.numbers.get(other)!;
    list.push(constant);
    return this.count++;
  }

  private readonly numberOfGlobal = (global: GlobalValue): number => {
    this.globals ??= new Map(this.module.globals.map((known, index) => [known, index]));
    return this.globals.get(global) ?? -1;
  };
}
