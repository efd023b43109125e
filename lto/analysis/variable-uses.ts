/**
 * What a program does with each of its local variables: reads it, writes it, lets its address go.
 *
 * Followed are addresses into a variable, constant or computed by `getelementptr`, to loads, stores, and copying or setting
 * memory; and to calls that promise to keep no pointer. Whatever else gets an address may do anything with it. One
 * walk over all bodies and initialisers; linear, but for chains of `getelementptr`, which are followed from each use.
 *
 * What each body does is kept: after changes only bodies that were edited since (`Func.revision`) are looked at again.
 * What attributes of callees promise of arguments is asked anew each time, since those change without an edit.
 */

import type { AttributeSet } from "../ir/attributes.js";
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
  if (intrinsic === null) {
    const known = callee.valueKind === "global" && callee.kind === "function" ? callee : null;
    return useByCallee(known, slot - 1, call.data.attributes.parameter(slot - 1));
  }
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
}

/** @param callee null: not known  @param here what the call says of the argument */
function useByCallee(callee: Func | null, index: number, here: AttributeSet): number {
  const there = callee?.attributes.parameter(index);
  const says = (name: string): boolean => here.has(name) || there?.has(name) === true;
  if (says("byval")) return Use.Read | Use.Parts;
  if ((here.int("captures") ?? there?.int("captures")) !== 0 || says("returned")) return Use.Escapes;
  if (says("readnone")) return Use.Parts | Use.Compared;
  if (says("readonly")) return Use.Read | Use.Parts | Use.Compared;
  return Use.Read | Use.WrittenByCall | Use.Parts | Use.Compared;
}

/** A body mentions the variable itself, and does not only keep its address in a constant. */
const direct = 1 << 6;

/** What one body does to variables, whatever they are. */
class BodyUses {
  readonly variables: GlobalVariable[] = [];
  /** Parallel to them. */
  readonly traits: number[] = [];
  /** Variables that are passed to functions, and how: what that does is for the callees' attributes to say. */
  readonly passed: GlobalVariable[] = [];
  readonly callees: Func[] = [];
  readonly indices: number[] = [];
  readonly attributes: AttributeSet[] = [];

  constructor(
    readonly revision: number,
    readonly isOpaque: boolean,
  ) {}
}

export interface ProgramVariableUses {
  /** Of each local variable with an initialiser, in the order of the module. */
  readonly variables: ReadonlyMap<GlobalVariable, VariableUses>;
  readonly bodies: ReadonlyMap<Func, BodyUses>;
}

/**
 * Uses of each local variable with an initialiser. Bodies that are looked at are decoded, and stay so.
 * @param known as they were before some bodies were edited
 */
export function variableUses(module: Module, known: ProgramVariableUses | null = null): ProgramVariableUses {
  const uses = new Map<GlobalVariable, VariableUses>();
  for (const variable of module.variables)
    if (variable.isLocal && variable.initializer !== null) uses.set(variable, new VariableUses());
  const letGo = (global: GlobalValue): void => {
    const variable = global.kind === "variable" ? uses.get(global) : undefined;
    if (variable !== undefined) variable.traits |= Use.Escapes;
  };
  for (const pinned of module.pinned) letGo(pinned);
  const seen = new Set<Constant>();
  for (const global of module.globals)
    visitOwnConstants(global, (constant) => visitGlobals(constant, letGo, seen));
  const bodies = new Map<Func, BodyUses>();
  if (uses.size === 0) return { variables: uses, bodies };
  const scanner = new Scanner();
  for (const fn of module.functions) {
    if (fn.isDeclaration) continue;
    const isOpaque = fn.attributes.fn.has("optnone") || fn.attributes.fn.has("naked");
    let body = known?.bodies.get(fn);
    if (body?.revision !== fn.revision || body.isOpaque !== isOpaque)
      body = scanner.scan(fn.view(), new BodyUses(fn.revision, isOpaque));
    bodies.set(fn, body);
    add(uses, fn, body);
  }
  return { variables: uses, bodies };
}

/** Adds what a body does. */
function add(uses: ReadonlyMap<GlobalVariable, VariableUses>, fn: Func, body: BodyUses): void {
  const { variables, traits, passed, callees, indices, attributes } = body;
  for (let i = 0; i < variables.length; i++) {
    const variable = uses.get(variables[i]!);
    if (variable === undefined) continue;
    variable.traits |= traits[i]! & ~direct;
    if ((traits[i]! & direct) === 0) continue;
    if (variable.user === null) variable.user = fn;
    else if (variable.user !== fn) variable.hasManyUsers = true;
  }
  for (let i = 0; i < passed.length; i++) {
    const variable = uses.get(passed[i]!);
    if (variable !== undefined) variable.traits |= useByCallee(callees[i]!, indices[i]!, attributes[i]!);
  }
}

/** Looks at one body after another. */
class Scanner {
  /** Places of variables in the lists of the body that is looked at. */
  private readonly places = new Map<GlobalVariable, number>();
  private body!: BodyUses;
  private readonly letGo = (global: GlobalValue): void => {
    if (global.kind === "variable") this.note(global, Use.Escapes);
  };

  scan({ blocks }: BodyView, body: BodyUses): BodyUses {
    this.places.clear();
    this.body = body;
    const { letGo } = this;
    for (const block of blocks)
      for (const inst of block.insts) {
        const { operands } = inst;
        for (let i = 0; i < operands.length; i++) {
          const operand = operands[i]!;
          const { valueKind } = operand;
          if (valueKind === "argument" || valueKind === "int") continue;
          if (valueKind === "inst" && operand.op !== Op.GetElementPtr) continue;
          if (operand.type.kind !== "ptr") {
            if (valueKind === "expr" || valueKind === "aggregate") visitGlobals(operand, letGo);
            continue;
          }
          const variable = variableOf(operand);
          if (variable !== null) this.mention(inst, i, operand, variable);
          else if (valueKind === "expr" || valueKind === "aggregate" || valueKind === "globalref")
            visitGlobals(operand, letGo);
        }
      }
    return body;
  }

  private mention(inst: Inst, slot: number, operand: Value, variable: GlobalVariable): void {
    const { body } = this;
    if (body.isOpaque) {
      // What unoptimised code does is not looked into: it is not to be changed.
      this.note(variable, Use.Escapes | direct);
    } else if (!this.pass(inst, slot, variable))
      this.note(variable, useOf(inst, slot) | partOf(inst, operand, variable) | direct);
    // Indices of a constant address may mention others.
    if (operand.valueKind === "expr")
      for (let k = 1; k < operand.operands.length; k++) visitGlobals(operand.operands[k]!, this.letGo);
  }

  private note(variable: GlobalVariable, traits: number): void {
    const { body } = this;
    const place = this.places.get(variable);
    if (place !== undefined) body.traits[place]! |= traits;
    else {
      this.places.set(variable, body.variables.length);
      body.variables.push(variable);
      body.traits.push(traits);
    }
  }

  /** Notes that a variable is an argument. @returns whether it is one of a function */
  private pass(inst: Inst, slot: number, variable: GlobalVariable): boolean {
    if (!isCall(inst) || slot === 0 || slot > inst.data.argumentCount) return false;
    const callee = calleeOf(inst);
    if (callee.valueKind !== "global" || callee.kind !== "function" || callee.intrinsic !== null)
      return false;
    this.note(variable, Use.Parts | direct);
    const { body } = this;
    body.passed.push(variable);
    body.callees.push(callee);
    body.indices.push(slot - 1);
    body.attributes.push(inst.data.attributes.parameter(slot - 1));
    return true;
  }
}

function partOf(inst: Inst, address: Value, variable: GlobalVariable): number {
  if (address !== variable) return Use.Parts;
  const type = inst.op === Op.Load ? inst.type : inst.op === Op.Store ? inst.operands[0]!.type : null;
  return type === variable.valueType ? 0 : Use.Parts;
}
