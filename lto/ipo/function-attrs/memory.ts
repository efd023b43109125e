/**
 * What the functions of a component of the call graph read and write, and whether they are sure to return.
 *
 * Within a component calls of its own functions add nothing, so the first assumption is the best one and one look at
 * each body is enough. Linear in the instructions.
 *
 * Proof obligations:
 *  - memory of the function's own frame and constant variables are no effects; volatile and atomic accesses are all effects;
 *  - a pointer is an argument's only if it is the argument, or an offset from it; any other pointer may be into anything;
 *  - `byval` and the like: the callee gets a copy, which is its own frame's;
 *  - assembly may do anything;
 *  - what a callee does to memory at large it may do to that of our arguments, wherever it has the pointer from;
 *  - `mustprogress` speaks of a function's own loops alone: what it calls may go on for ever.
 */
import { hasFixedContents } from "../../ir/fold/load.js";
import { type CallInst, type Inst, type InstWith, isCall, isPlainAccess, Op } from "../../ir/instructions.js";
import { Memory, type MemoryEffects } from "../../ir/memory-effects.js";
import type { Func } from "../../ir/module.js";
import type { Value } from "../../ir/values.js";
import { callEffects, callReturns } from "../../opt/call-effects.js";

/** What an access through a pointer touches. */
function placeOf(address: Value, fn: Func): MemoryEffects {
  let value = address;
  for (;;) {
    if (value.valueKind === "inst" && value.op === Op.Alloca) return Memory.None;
    if (value.valueKind === "argument")
      return fn.attributes.parameter(value.index).has("byval") ? Memory.None : Memory.Argument;
    if (value.valueKind === "global" && value.kind === "variable" && hasFixedContents(value))
      return Memory.None;
    if (value.valueKind !== "inst" && value.valueKind !== "expr") return Memory.Any;
    if (value.op !== Op.GetElementPtr) return Memory.Any;
    value = value.operands[0]!;
  }
}

/**
 * What a callee finds in memory that is not its arguments' may be our arguments': whoever had the pointer may have kept it
 * where the callee looks.
 */
const throughCaptured = (effects: MemoryEffects): MemoryEffects =>
  ((effects & Memory.OtherRead) !== 0 ? Memory.ArgumentRead : 0) |
  ((effects & Memory.OtherWrite) !== 0 ? Memory.ArgumentWrite : 0);

/** Facts about the functions of one component while they are assumed. Bodies are numbered. */
export class Effects {
  memory: MemoryEffects = Memory.None;
  willReturn: boolean;
  /** Calls of other functions do, whatever these do besides. */
  callsReturn = true;

  constructor(
    private readonly functions: ReadonlySet<Func>,
    isRecursive: boolean,
  ) {
    this.willReturn = !isRecursive;
    for (const fn of functions) this.look(fn);
  }

  private look(fn: Func): void {
    for (const block of fn.view().blocks) {
      for (const to of block.successors) if (to.id <= block.id) this.willReturn = false;
      for (const inst of block.insts) this.add(inst, fn);
    }
  }

  private add(inst: Inst, fn: Func): void {
    switch (inst.op) {
      case Op.Load:
        this.access(inst, inst.operands[0]!, Memory.Read, fn);
        return;
      case Op.Store:
        this.access(inst, inst.operands[1]!, Memory.Write, fn);
        return;
      case Op.Fence:
      case Op.CmpXchg:
      case Op.AtomicRMW:
      case Op.VAArg:
        this.anything();
        return;
      case Op.IndirectBr:
      case Op.CallBr:
        this.anything();
        return;
      default:
        if (isCall(inst)) this.call(inst, fn);
    }
  }
  private anything(): void {
    this.memory = Memory.Any;
    this.willReturn = false;
    this.callsReturn = false;
  }

  private access(
    inst: InstWith<Op.Load> | InstWith<Op.Store>,
    address: Value,
    how: MemoryEffects,
    fn: Func,
  ): void {
    if (!isPlainAccess(inst)) this.anything();
    else this.memory |= placeOf(address, fn) & how;
  }

  private call(call: CallInst, fn: Func): void {
    const callee = call.operands[0]!;
    // The call itself reads what it passes by value.
    const { parameters } = call.data.attributes;
    for (let i = 0; i < parameters.length; i++)
      if (parameters[i]!.has("byval")) this.memory |= placeOf(call.operands[i + 1]!, fn) & Memory.Read;
    const isOwn = callee.valueKind === "global" && callee.kind === "function" && this.functions.has(callee);
    if (isOwn && call.data.functionType === callee.valueType) {
      // What it does through its arguments it does through what is passed here.
      this.memory |= this.passed(call, fn, Memory.Argument);
      return;
    }
    if (!callReturns(call)) {
      this.willReturn = false;
      this.callsReturn = false;
    }
    const effects = callEffects(call);
    this.memory |= (effects & ~Memory.Argument) | throughCaptured(effects);
    if ((effects & Memory.Argument) !== 0) this.memory |= this.passed(call, fn, effects & Memory.Argument);
  }
  /** Effects on argument memory of a call, as effects of the caller. */
  private passed(call: CallInst, fn: Func, effects: MemoryEffects): MemoryEffects {
    const how =
      ((effects & Memory.ArgumentRead) !== 0 ? Memory.Read : 0) |
      ((effects & Memory.ArgumentWrite) !== 0 ? Memory.Write : 0);
    let all: MemoryEffects = Memory.None;
    for (let i = 1; i <= call.data.argumentCount; i++) {
      const argument = call.operands[i]!;
      if (argument.type.scalar.kind === "ptr" || argument.type.isAggregate)
        all |= argument.type.kind === "ptr" ? placeOf(argument, fn) : Memory.Any;
    }
    return all & how;
  }
}
