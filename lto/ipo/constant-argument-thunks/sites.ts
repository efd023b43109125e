/** Calls that could leave some of their arguments to a function between them and their callee. */
import { codeAttributes } from "../../analysis/made-functions.js";
import { temperature } from "../../analysis/profile.js";
import type { AttributeList, AttributeSet } from "../../ir/attributes.js";
import { ConstantNumbers } from "../../ir/constant-numbers.js";
import {
  type BodyView,
  type CallInst,
  callArguments,
  type Inst,
  type InstWith,
  isCall,
  isPlainAccess,
  Op,
} from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { mayWrite } from "../../ir/memory-effects.js";
import type { Func, Module } from "../../ir/module.js";
import { type Type, voidType } from "../../ir/types.js";
import { type Constant, isConstant, type Value } from "../../ir/values.js";
import { callEffects } from "../../opt/call-effects.js";
import { isForSize, type ProgramContext } from "../../pass/pass.js";
import { callMayMove, isOfGroup, isOutlinedFrom } from "../ir-outline/legality.js";
import { isPassed } from "../merge-similar-functions/slots.js";
import { passingAttributes } from "../parameter-attributes.js";
import { isPassable } from "../similar/parameters.js";
import { registersFor } from "./bytes.js";

/** An argument that does not depend on who calls; equal ones are one object. */
export interface Item {
  /** Counted in the order of appearance. */
  readonly id: number;
  /** Of the argument; -1: how many vector registers a call of variable arguments uses. */
  readonly position: number;
  readonly value: Constant | null;
  /** The value is what is at that address. */
  readonly load: InstWith<Op.Load> | null;
  /** Of code in the caller. */
  readonly bytes: number;
}

export interface CallSite {
  readonly fn: Func;
  /** Number of the call among those of the function, in layout order. */
  readonly index: number;
  /** By position. */
  readonly items: readonly Item[];
}

/** Calls of one function that may share code. */
export interface Callee {
  readonly fn: Func;
  /** Of what is passed, in the longest call. */
  readonly types: readonly Type[];
  readonly sites: readonly CallSite[];
}

/** Calls of one function from code with the same attributes. */
interface CallsOf {
  readonly fn: Func;
  readonly byTypes: Map<string, { readonly types: readonly Type[]; readonly sites: CallSite[] }>;
}

function numberIn<T>(numbers: Map<T, number>, of: T): number {
  let number = numbers.get(of);
  if (number === undefined) numbers.set(of, (number = numbers.size));
  return number;
}

/** C and fast: what both pass in registers stays there. */
const conventions = new Set([0, 8]);
/** More than registers hold. */
const mostArguments = 16;
const extensions = ["zeroext", "signext"];

export class Sites {
  /** By callee and attributes of the callers' code, in the order of appearance. */
  private readonly byCallee = new Map<string, CallsOf>();
  private readonly constants: ConstantNumbers;
  private readonly items = new Map<string | number, Item>();
  private readonly codes = new Map<AttributeSet, string>();
  private readonly functions = new Map<Func, number>();

  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
  ) {
    this.constants = new ConstantNumbers(module);
  }

  mayLook(fn: Func): boolean {
    return (
      !fn.isDeclaration &&
      isForSize(this.context.goalOf(fn)) &&
      temperature(fn) !== "hot" &&
      fn.attributes.fn.string("disable-tail-calls") !== "true" &&
      isOutlinedFrom(fn, this.module)
    );
  }

  look(fn: Func): void {
    const body = fn.view();
    const code = this.codeOf(fn);
    const loads = loadsForCalls(body);
    // Nobody asks then what was written.
    const hasLoads = loads.size > 0;
    let index = 0;
    for (const { insts } of body.blocks) {
      let lastWrite = -1;
      for (let i = 0; i < insts.length; i++) {
        const inst = insts[i]!;
        if (!isCall(inst)) {
          if (hasLoads && mayWriteMemory(inst)) lastWrite = i;
          continue;
        }
        const number = index++;
        if (isBound(inst)) this.add(fn, code, inst, number, (load) => (loads.get(load) ?? -1) > lastWrite);
        if (hasLoads && mayWrite(callEffects(inst))) lastWrite = i;
      }
    }
  }

  private add(fn: Func, code: string, call: CallInst, index: number, isStill: (load: Inst) => boolean): void {
    const callee = call.operands[0] as Func;
    const args = callArguments(call);
    const types = args.map(({ type }) => type);
    const registers = registersFor(types, this.context.costs.calls);
    if (registers === null) return;
    const items: Item[] = [];
    if (callee.isDeclaration && callee.valueType.isVarArg) items.push(this.vectorCount(registers));
    args.forEach((value, position) => {
      const item = this.itemOf(value, position, registers[position]!, isStill);
      if (item !== null) items.push(item);
    });
    if (items.length === 0) return;
    const key = `${numberIn(this.functions, callee)} ${code}`;
    let calls = this.byCallee.get(key);
    if (calls === undefined) this.byCallee.set(key, (calls = { fn: callee, byTypes: new Map() }));
    const typeKey = types.map(({ id }) => id).join(" ");
    let group = calls.byTypes.get(typeKey);
    if (group === undefined) calls.byTypes.set(typeKey, (group = { types, sites: [] }));
    group.sites.push({ fn, index, items });
  }

  /**
   * Calls of one function together. Those of functions elsewhere may pass anything after their variable arguments; by what
   * functions of the program are passed it is decided what they save.
   */
  groups(): Callee[] {
    const groups: Callee[] = [];
    for (const { fn, byTypes } of this.byCallee.values()) {
      const longer: { readonly types: readonly Type[]; readonly sites: CallSite[] }[] = [];
      for (const group of [...byTypes.values()].sort((a, b) => b.types.length - a.types.length)) {
        const home = fn.isDeclaration
          ? longer.find(({ types }) => group.types.every((type, i) => type === types[i]))
          : undefined;
        if (home === undefined) longer.push(group);
        else for (const site of group.sites) home.sites.push(site);
      }
      for (const { types, sites } of longer) groups.push({ fn, types, sites });
    }
    return groups;
  }

  private vectorCount(registers: readonly number[]): Item {
    const count = registers.filter((register) => register < 0).length;
    return this.intern(`al ${count}`, {
      position: -1,
      value: null,
      load: null,
      bytes: this.context.costs.calls.vectorCount(count),
    });
  }

  private itemOf(
    value: Value,
    position: number,
    register: number,
    isStill: (load: Inst) => boolean,
  ): Item | null {
    if (isConstant(value)) {
      if (!isPassed(value) || isOfGroup(value)) return null;
      const key = this.constants.numberOf(value) * mostArguments + position;
      const bytes = this.context.costs.calls.constant(value, register, this.context.addresses);
      return this.intern(key, { position, value, load: null, bytes });
    }
    if (value.valueKind !== "inst" || value.op !== Op.Load || !isStill(value)) return null;
    const address = value.operands[0]! as Constant;
    if (isOfGroup(address)) return null;
    // What is said of the address has to be true at all places.
    const said = `${value.type.id} ${value.data.align} ${value.flags}`;
    const key = `${position} ${this.constants.numberOf(address)} ${said}`;
    return this.intern(key, {
      position,
      value: address,
      load: value,
      bytes: this.context.costs.calls.load(register),
    });
  }

  private intern(key: string | number, item: Omit<Item, "id">): Item {
    let known = this.items.get(key);
    if (known === undefined) this.items.set(key, (known = { ...item, id: this.items.size }));
    return known;
  }

  /** Attributes of code as a text, which few sets make. */
  private codeOf({ attributes: { fn } }: Func): string {
    let code = this.codes.get(fn);
    if (code === undefined) this.codes.set(fn, (code = codeAttributes(fn)));
    return code;
  }
}

/** Loads from fixed addresses whose value only one call takes, in the same block, and where they are in it. */
function loadsForCalls({ blocks }: BodyView): ReadonlyMap<Inst, number> {
  const places = new Map<Inst, number>();
  const used = new Set<Inst>();
  for (let b = 0; b < blocks.length; b++) {
    const { insts } = blocks[b]!;
    const own = new Map<Inst, number>();
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      const { operands } = inst;
      for (let k = 0; k < operands.length; k++) {
        const operand = operands[k]!;
        if (operand.valueKind !== "inst" || operand.op !== Op.Load || !isFixed(operand)) continue;
        const place = own.get(operand);
        if (isCall(inst) && place !== undefined && !used.has(operand)) places.set(operand, place);
        else places.delete(operand);
        used.add(operand);
      }
      if (inst.op === Op.Load && isFixed(inst)) own.set(inst, i);
    }
  }
  return places;
}

function isFixed(load: InstWith<Op.Load>): boolean {
  const address = load.operands[0]!;
  return isConstant(address) && isPassed(address) && isPlainAccess(load) && isPassable(load.type);
}

function mayWriteMemory(inst: Inst): boolean {
  switch (inst.op) {
    case Op.Store:
    case Op.AtomicRMW:
    case Op.CmpXchg:
    case Op.Fence:
    case Op.VAArg:
      return true;
    case Op.Load:
      return !isPlainAccess(inst);
    default:
      return false;
  }
}

/** Whether something may stand between a call and its callee. */
function isBound(call: CallInst): boolean {
  const callee = call.operands[0]!;
  if (callee.valueKind !== "global" || callee.kind !== "function" || call.op === Op.CallBr) return false;
  const { data, type } = call;
  return (
    intrinsicOf(callee) === null &&
    !isOfGroup(callee) &&
    data.functionType === callee.valueType &&
    data.callingConvention === callee.callingConvention &&
    conventions.has(data.callingConvention) &&
    (type === voidType || isPassable(type)) &&
    !callee.attributes.fn.has("naked") &&
    callMayMove(call, null) &&
    passesPlainly(data.attributes, callee.attributes, data.argumentCount)
  );
}

/** Values travel as their types say, and caller and callee agree on who extends them. */
function passesPlainly(said: AttributeList, declared: AttributeList, count: number): boolean {
  if (!agree(said.result, declared.result)) return false;
  for (let i = 0; i < count; i++) {
    const own = passingOf(said.parameter(i));
    if (own === null || own !== passingOf(declared.parameter(i))) return false;
  }
  return true;
}
const plainly = new WeakMap<AttributeSet, string | null>();
/** How a value is extended; null: it does not travel as its type says. Few sets are those of many parameters. */
function passingOf(said: AttributeSet): string | null {
  let how = plainly.get(said);
  if (how === undefined) {
    const isPlain = !passingAttributes.some((name) => said.has(name));
    how = isPlain ? extensions.filter((name) => said.has(name)).join() : null;
    plainly.set(said, how);
  }
  return how;
}
const agree = (a: AttributeSet, b: AttributeSet): boolean =>
  extensions.every((name) => a.has(name) === b.has(name));
