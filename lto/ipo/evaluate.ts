/**
 * Runs a function at link time: what it stores to variables of the program, if all it does can be known.
 *
 * Method: instruction by instruction, on constants (`Folder`). Memory is an overlay over initialisers; slots on the stack are
 * variables that are in no module, so that their addresses are constants as well. Whatever is not known ends the run, and
 * nothing has happened then. Bounded in steps and in the bytes of variables that are written.
 *
 * Proof obligations:
 *  - variables are read and written only where nobody else does before: they are local, defined here, of this thread, in no
 *    section of somebody else's, not initialised from outside, not pinned; constants are read;
 *  - accesses are plain; branches are by numbers, not by undefined values;
 *  - no address of a slot, or of a variable that each thread has its own of, is left in a variable;
 *  - calls are of exact definitions by their own type, or of intrinsics that fold.
 */
import { isExact } from "../analysis/exact.js";
import { visitGlobals } from "../analysis/references.js";
import type { DataLayout } from "../ir/data-layout.js";
import { placeOf } from "../ir/fold/addresses.js";
import { Folder, floatModeOf } from "../ir/fold/index.js";
import { hasFixedContents, valueAt, withValueAt } from "../ir/fold/load.js";
import {
  type Block,
  type CallInst,
  type Inst,
  type InstWith,
  isCall,
  isPlainAccess,
  Op,
} from "../ir/instructions.js";
import { type Func, GlobalVariable, type Module } from "../ir/module.js";
import { voidType } from "../ir/types.js";
import { type Constant, ConstUndef, constI32, isConstant, type Value, zeroOf } from "../ir/values.js";

/** Instructions that may be run for one function. */
const mostSteps = 5000;
/** Bytes of a variable, beyond which it is not written. */
const largestVariable = 4096;
const deepest = 16;

/** Ends a run: something is not known. */
class Unknown extends Error {}

/** Intrinsics that say something of code and do nothing. */
const silent =
  /^(?:lifetime\.|assume$|donothing$|sideeffect$|experimental\.noalias|invariant\.|var\.annotation)/;

/** One call on the stack. */
interface Frame {
  readonly fn: Func;
  readonly args: readonly Constant[];
  readonly values: Map<Inst, Constant>;
  readonly folder: Folder;
}

export class Evaluator {
  private readonly contents = new Map<GlobalVariable, Constant>();
  private readonly slots = new Set<GlobalVariable>();
  private steps = 0;

  constructor(
    private readonly module: Module,
    private readonly layout: DataLayout,
  ) {}

  /** @returns what each variable contains afterwards that was written; null where that is not known */
  run(fn: Func): ReadonlyMap<GlobalVariable, Constant> | null {
    try {
      this.call(fn, [], 0);
    } catch (e) {
      if (e instanceof Unknown) return null;
      throw e;
    }
    for (const slot of this.slots) this.contents.delete(slot);
    for (const contents of this.contents.values()) if (this.mentionsUnfixed(contents)) return null;
    return this.contents;
  }

  private call(fn: Func, args: readonly Constant[], depth: number): Constant | null {
    const { fn: own } = fn.attributes;
    if (depth > deepest || !isExact(fn) || fn.valueType.isVarArg) throw new Unknown();
    if (own.has("naked") || own.has("optnone") || own.has("presplitcoroutine")) throw new Unknown();
    if (fn.attributes.parameters.some((set) => set.has("byval") || set.has("inalloca"))) throw new Unknown();
    const frame = {
      fn,
      args,
      values: new Map<Inst, Constant>(),
      folder: new Folder(this.layout, floatModeOf(fn)),
    };
    return fn.peek(({ blocks }) => this.runBody(blocks[0]!, frame, depth));
  }

  private runBody(entry: Block, frame: Frame, depth: number): Constant | null {
    let before: Block | null = null;
    for (let block = entry; ; ) {
      const { insts } = block;
      let next = this.enter(block, before, frame);
      for (; next < insts.length - 1; next++) this.step(insts[next]!, frame, depth);
      const { terminator } = block;
      if (++this.steps > mostSteps) throw new Unknown();
      if (terminator.op === Op.Ret) {
        const [value] = terminator.operands;
        return value === undefined ? null : this.valueOf(value, frame);
      }
      before = block;
      block = this.successor(terminator, frame, depth);
    }
  }

  /** Gives phis their values, all at once. @returns the number of the first instruction after them */
  private enter({ insts }: Block, before: Block | null, frame: Frame): number {
    let count = 0;
    const values: Constant[] = [];
    for (; insts[count]!.op === Op.Phi; count++) {
      const { operands, blocks } = insts[count]!;
      values.push(this.valueOf(operands[blocks.indexOf(before!)]!, frame));
    }
    values.forEach((value, i) => void frame.values.set(insts[i]!, value));
    return count;
  }

  private successor(inst: Inst, frame: Frame, depth: number): Block {
    switch (inst.op) {
      case Op.Br:
        return inst.blocks[0]!;
      case Op.CondBr:
        return inst.blocks[this.number(inst.operands[0]!, frame) !== 0n ? 0 : 1]!;
      case Op.Switch: {
        const value = this.number(inst.operands[0]!, frame);
        return inst.blocks[1 + inst.data.findIndex((each) => each.value === value)]!;
      }
      case Op.Invoke:
        // What runs to its end does not throw.
        this.keep(inst, this.result(inst, frame, depth), frame);
        return inst.blocks[0]!;
      default:
        throw new Unknown();
    }
  }

  private step(inst: Inst, frame: Frame, depth: number): void {
    if (++this.steps > mostSteps) throw new Unknown();
    switch (inst.op) {
      case Op.Alloca:
        return this.keep(inst, this.allocate(inst), frame);
      case Op.Load:
        return this.keep(inst, this.load(inst, frame), frame);
      case Op.Store:
        return this.store(inst, frame);
      case Op.Call:
        return this.keep(inst, this.result(inst, frame, depth), frame);
      default: {
        const operands = inst.operands.map((operand) => this.valueOf(operand, frame));
        this.keep(inst, frame.folder.operation(inst.op, inst.type, operands, inst.data, inst.flags), frame);
      }
    }
  }
  private keep(inst: Inst, value: Constant | null, { values }: Frame): void {
    if (inst.type === voidType) return;
    if (value === null) throw new Unknown();
    values.set(inst, value);
  }

  private valueOf(value: Value, { values, args }: Frame): Constant {
    const known =
      value.valueKind === "inst"
        ? values.get(value)
        : value.valueKind === "argument"
          ? args[value.index]
          : isConstant(value)
            ? value
            : undefined;
    if (known === undefined) throw new Unknown();
    return known;
  }
  private number(value: Value, frame: Frame): bigint {
    const known = this.valueOf(value, frame);
    if (known.valueKind !== "int") throw new Unknown();
    return known.value;
  }

  private allocate({ operands, data }: InstWith<Op.Alloca>): Constant {
    const count = operands[0]!;
    if (count.valueKind !== "int" || count.value !== 1n || data.inalloca || data.swifterror)
      throw new Unknown();
    const slot = new GlobalVariable("", data.allocatedType);
    slot.linkage = "internal";
    slot.initializer = new ConstUndef(data.allocatedType, false);
    this.slots.add(slot);
    return slot;
  }

  /** The variable that an address lies in, and how many bytes into it. */
  private place(
    address: Value,
    frame: Frame,
  ): { readonly variable: GlobalVariable; readonly offset: number } {
    const { base, offset } = placeOf(this.layout, this.valueOf(address, frame));
    if (base?.valueKind !== "global" || base.kind !== "variable") throw new Unknown();
    return { variable: base, offset: Number(offset) };
  }
  private isOurs(variable: GlobalVariable): boolean {
    if (this.slots.has(variable)) return true;
    const { isLocal, initializer, threadLocal, section, comdat, externallyInitialized } = variable;
    return (
      isLocal &&
      initializer !== null &&
      threadLocal === "none" &&
      section === "" &&
      comdat === null &&
      !externallyInitialized &&
      !this.module.pinned.has(variable)
    );
  }

  private load(inst: InstWith<Op.Load>, frame: Frame): Constant | null {
    const { variable, offset } = this.place(inst.operands[0]!, frame);
    if (!isPlainAccess(inst) || !(this.isOurs(variable) || hasFixedContents(variable))) throw new Unknown();
    const contents = this.contents.get(variable) ?? variable.initializer!;
    if (offset < 0 || offset + this.layout.storeSize(inst.type) > this.layout.allocSize(variable.valueType))
      throw new Unknown();
    return valueAt(this.layout, contents, offset, inst.type);
  }

  private store(inst: InstWith<Op.Store>, frame: Frame): void {
    const { variable, offset } = this.place(inst.operands[1]!, frame);
    if (!isPlainAccess(inst)) throw new Unknown();
    this.write(variable, offset, this.valueOf(inst.operands[0]!, frame));
  }

  private write(variable: GlobalVariable, offset: number, value: Constant): void {
    if (variable.isConstant || !this.isOurs(variable)) throw new Unknown();
    if (this.layout.allocSize(variable.valueType) > largestVariable) throw new Unknown();
    const before = this.contents.get(variable) ?? variable.initializer!;
    const after = withValueAt(this.layout, before, offset, value);
    if (after === null) throw new Unknown();
    this.contents.set(variable, after);
  }

  private result(call: CallInst, frame: Frame, depth: number): Constant | null {
    const callee = call.operands[0]!;
    const { argumentCount, functionType, bundles, callingConvention, tail } = call.data;
    if (callee.valueKind !== "global" || callee.kind !== "function") throw new Unknown();
    if (callee.intrinsic !== null && silent.test(callee.intrinsic.name)) return null;
    if (bundles.length > 0 || tail === "musttail") throw new Unknown();
    const args = call.operands.slice(1, 1 + argumentCount).map((value) => this.valueOf(value, frame));
    if (callee.intrinsic !== null) return this.intrinsic(callee.intrinsic.name, call, args, frame);
    if (callee.valueType !== functionType || callee.callingConvention !== callingConvention)
      throw new Unknown();
    if (isIdleRegistration(callee, args)) return constI32(0);
    return this.call(callee, args, depth + 1);
  }

  private intrinsic(name: string, call: CallInst, args: readonly Constant[], frame: Frame): Constant | null {
    if (name === "memset" && isZeroNumber(args[1]!) && isZeroNumber(args[3]!)) {
      const { variable, offset } = this.place(args[0]!, frame);
      const whole = this.layout.allocSize(variable.valueType);
      const size = args[2]!;
      if (offset !== 0 || size.valueKind !== "int" || size.num !== whole) throw new Unknown();
      this.write(variable, 0, zeroOf(variable.valueType));
      return null;
    }
    const folded = frame.folder.intrinsic(name, call.type, args);
    if (folded === null) throw new Unknown();
    return folded;
  }

  /** Addresses that are no link-time constants: of slots, and of variables that each thread has its own of. */
  private mentionsUnfixed(constant: Constant): boolean {
    let found = false;
    visitGlobals(constant, (global) => {
      if (global.kind === "variable" && (this.slots.has(global) || global.threadLocal !== "none"))
        found = true;
    });
    return found;
  }
}

const isZeroNumber = (value: Constant): boolean => value.valueKind === "int" && value.value === 0n;

/** The registration of a destructor that does nothing (Itanium C++ ABI, 3.3.6.3): nobody misses it. */
function isIdleRegistration(callee: Func, [destructor]: readonly Constant[]): boolean {
  if (callee.name !== "__cxa_atexit" || !callee.isDeclaration || destructor === undefined) return false;
  return destructor.valueKind === "global" && destructor.kind === "function" && doesNothing(destructor);
}

/** Calling the function changes nothing. */
export function doesNothing(fn: Func): boolean {
  if (!isExact(fn) || fn.attributes.fn.has("naked") || fn.attributes.fn.has("optnone")) return false;
  return fn.peek(({ blocks }) => {
    const [entry] = blocks;
    return entry!.terminator.op === Op.Ret && entry!.insts.every((inst) => !hasEffect(inst));
  });
}
function hasEffect(inst: Inst): boolean {
  switch (inst.op) {
    case Op.Ret:
    case Op.Alloca:
    case Op.GetElementPtr:
    case Op.BitCast:
      return false;
    case Op.Store:
      // To its own frame, which is gone then.
      return (
        !isPlainAccess(inst) || inst.operands[1]!.valueKind !== "inst" || inst.operands[1]!.op !== Op.Alloca
      );
    case Op.Load:
      return !isPlainAccess(inst);
    default: {
      if (!isCall(inst)) return true;
      const callee = inst.operands[0]!;
      const name =
        callee.valueKind === "global" && callee.kind === "function" ? callee.intrinsic?.name : undefined;
      return name === undefined || !silent.test(name);
    }
  }
}
