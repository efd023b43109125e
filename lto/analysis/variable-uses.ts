/**
 * What a program does with each of its local variables: reads it, writes it, lets its address go.
 *
 * Followed are addresses into a variable, constant or computed by `getelementptr`, to loads, stores, and copying or setting
 * memory; and to calls that promise to keep no pointer. Whatever else gets an address may do anything with it. One
 * walk over all bodies and initialisers; linear, but for chains of `getelementptr`, which are followed from each use.
 */
import {
  type BodyView,
  type CallInst,
  calleeOf,
  type Inst,
  isCall,
  isPlainAccess,
  Op,
} from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import type { Func, GlobalValue, GlobalVariable, Module } from "../ir/module.js";
import type { Constant, Value } from "../ir/values.js";
import { visitGlobals, visitOwnConstants } from "./references.js";

/** Bits of `VariableUses.traits`. */
export const Use = {
  Read: 1 << 0,
  /** By stores and intrinsics that can be deleted. */
  Written: 1 << 1,
  /** By calls of functions. */
  WrittenByCall: 1 << 2,
  /** Its address takes part in comparisons. */
  Compared: 1 << 3,
  /** Anything may happen to it. */
  Escapes: 1 << 4,
  /** Its address is an operand of something else than plain loads and stores of the whole variable by its own type. */
  Parts: 1 << 5,
} as const;

export class VariableUses {
  traits = 0;
  /** The only function that mentions it; null before the first one. */
  user: Func | null = null;
  hasManyUsers = false;
}

/** The local variable that an address lies in, by what computes it; null if that is not known. */
export function variableOf(address: Value): GlobalVariable | null {
  let value = address;
  for (;;)
    switch (value.valueKind) {
      case "global":
        return value.kind === "variable" ? value : null;
      case "inst":
        if (value.op !== Op.GetElementPtr) return null;
        value = value.operands[0]!;
        break;
      case "expr":
        if (value.op !== Op.GetElementPtr) return null;
        value = value.operands[0]!;
        break;
      default:
        return null;
    }
}

/** What an instruction does to the variable that its operand `slot` points into: bits of `Use`. */
export function useOf(inst: Inst, slot: number): number {
  switch (inst.op) {
    case Op.Load:
      return isPlainAccess(inst) ? Use.Read : Use.Escapes;
    case Op.Store:
      return slot === 1 && isPlainAccess(inst) ? Use.Written : Use.Escapes;
    case Op.GetElementPtr:
      // What uses the result is looked at by itself.
      return slot === 0 && inst.type.kind === "ptr" ? Use.Parts : Use.Escapes;
    case Op.ICmp:
      return Use.Compared | Use.Parts;
    default:
      return isCall(inst) ? useByCall(inst, slot) : Use.Escapes;
  }
}

function useByCall(call: CallInst, slot: number): number {
  if (slot === 0 || slot > call.data.argumentCount) return Use.Escapes;
  const callee = calleeOf(call);
  const intrinsic = intrinsicOf(callee);
  if (intrinsic !== null)
    switch (intrinsic.name) {
      case "memset":
      case "memset.inline":
      case "memcpy":
      case "memcpy.inline":
      case "memmove": {
        const isVolatile = call.operands[4]!;
        if (isVolatile.valueKind !== "int" || isVolatile.value !== 0n) return Use.Escapes;
        return slot === 1 ? Use.Written | Use.Parts : slot === 2 ? Use.Read | Use.Parts : Use.Escapes;
      }
      default:
        return Use.Escapes;
    }
  const index = slot - 1;
  const here = call.data.attributes.parameter(index);
  const there = callee.valueKind === "global" && callee.kind === "function" ? callee.attributes : null;
  const says = (name: string): boolean => here.has(name) || there?.parameter(index).has(name) === true;
  if (says("byval")) return Use.Read | Use.Parts;
  const captures = here.int("captures") ?? there?.parameter(index).int("captures");
  if (captures !== 0 || (there?.parameter(index).has("returned") ?? false) || here.has("returned"))
    return Use.Escapes;
  if (says("readnone")) return Use.Parts | Use.Compared;
  if (says("readonly")) return Use.Read | Use.Parts | Use.Compared;
  return Use.Read | Use.WrittenByCall | Use.Parts | Use.Compared;
}

/** Uses of each local variable with an initialiser. Bodies are decoded, and stay so. */
export function variableUses(module: Module): Map<GlobalValue, VariableUses> {
  const uses = new Map<GlobalValue, VariableUses>();
  for (const variable of module.variables)
    if (variable.isLocal && variable.initializer !== null) uses.set(variable, new VariableUses());
  const letGo = (global: GlobalValue): void => {
    const known = uses.get(global);
    if (known !== undefined) known.traits |= Use.Escapes;
  };
  for (const pinned of module.pinned) letGo(pinned);
  const seen = new Set<Constant>();
  for (const global of module.globals)
    visitOwnConstants(global, (constant) => visitGlobals(constant, letGo, seen));
  if (uses.size === 0) return uses;
  for (const fn of module.functions) if (!fn.isDeclaration) scan(fn, fn.view(), uses, letGo);
  return uses;
}

function scan(
  fn: Func,
  { blocks }: BodyView,
  uses: Map<GlobalValue, VariableUses>,
  letGo: (global: GlobalValue) => void,
): void {
  // What unoptimised code does is not looked into: it is not to be changed.
  const isOpaque = fn.attributes.fn.has("optnone") || fn.attributes.fn.has("naked");
  for (const block of blocks)
    for (const inst of block.insts) {
      const { operands } = inst;
      for (let i = 0; i < operands.length; i++) {
        const operand = operands[i]!;
        if (operand.valueKind === "argument" || operand.valueKind === "int") continue;
        if (operand.type.kind !== "ptr") {
          if (operand.valueKind === "expr" || operand.valueKind === "aggregate") visitGlobals(operand, letGo);
          continue;
        }
        const variable = variableOf(operand);
        if (variable === null) {
          if (operand.valueKind !== "inst" && operand.valueKind !== "asm" && operand.valueKind !== "metadata")
            visitGlobals(operand, letGo);
          continue;
        }
        const known = uses.get(variable);
        if (known === undefined) continue;
        known.traits |= isOpaque ? Use.Escapes : useOf(inst, i) | partOf(inst, operand, variable);
        if (known.user === null) known.user = fn;
        else if (known.user !== fn) known.hasManyUsers = true;
        // Indices of a constant address may mention others.
        if (operand.valueKind === "expr")
          for (let k = 1; k < operand.operands.length; k++) visitGlobals(operand.operands[k]!, letGo);
      }
    }
}

function partOf(inst: Inst, address: Value, variable: GlobalVariable): number {
  if (address !== variable) return Use.Parts;
  const type = inst.op === Op.Load ? inst.type : inst.op === Op.Store ? inst.operands[0]!.type : null;
  return type === variable.valueType ? 0 : Use.Parts;
}
