/**
 * What a body does to memory, as a list: each instruction that reads or writes, in order, with the place that it touches.
 *
 * A place is an address (`anchor`), an offset from it in bytes, and a size, NaN where it is not known. The anchor is what
 * remains when constant offsets are taken off an address; `base` is what remains when all are: a variable, a parameter,
 * an allocation, or whatever computed the pointer.
 *
 * One walk over the body; every table is by number of the instruction or of the operation. It holds while nobody edits
 * the body; who replaces values in his mind only says so by `settle`.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { placeOf } from "../../ir/fold/addresses.js";
import { constantGepOffset } from "../../ir/fold/index.js";
import {
  type BodyView,
  type CallInst,
  type Inst,
  type InstWith,
  isPlainAccess,
  Op,
} from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { Memory, type MemoryEffects } from "../../ir/memory-effects.js";
import type { Func } from "../../ir/module.js";
import { isConstant, type Value } from "../../ir/values.js";
import { callEffects, neverUnwinds } from "../call-effects.js";

export const enum Access {
  Load,
  Store,
  /** `memset` of known or unknown length. */
  Fill,
  /** `memcpy` and `memmove`; the place is where it writes. */
  Copy,
  Call,
  /** The start or end of a local variable's lifetime: its contents are undefined afterwards. */
  Mark,
  /** Volatile or atomic, or a fence: what is not looked into. */
  Barrier,
}

export interface Place {
  /** What the address lies in. */
  readonly base: Value;
  readonly anchor: Value;
  /** From the anchor. */
  readonly offset: number;
  readonly size: number;
}

export class MemoryOperation implements Place {
  base: Value;
  anchor: Value;
  offset = 0;
  size = Number.NaN;
  constructor(
    readonly inst: Inst,
    readonly access: Access,
    /** What a call may do. */
    readonly effects: MemoryEffects,
  ) {
    this.base = inst;
    this.anchor = inst;
  }
}

/** What a place is computed from while it is looked for: read at once. */
let foundBase: Value;
let foundAnchor: Value;
let foundOffset = 0;

/** Takes offsets off an address. */
function findPlace(address: Value, layout: DataLayout, settled: Settled | null): void {
  let value = settled === null ? address : settled(address);
  let offset = 0;
  let anchor: Value | null = null;
  while (value.valueKind === "inst" && value.op === Op.GetElementPtr && value.type.kind === "ptr") {
    if (anchor === null) {
      const by = constantOffset(value, layout);
      if (by === null || !Number.isSafeInteger(offset + by)) anchor = value;
      else offset += by;
    }
    value = settled === null ? value.operands[0]! : settled(value.operands[0]!);
  }
  if (value.valueKind === "expr") {
    const place = placeOf(layout, value);
    const total = offset + Number(place.offset);
    if (place.base === null || !Number.isSafeInteger(total)) anchor ??= value;
    else {
      if (anchor === null) offset = total;
      value = place.base;
    }
    while (value.valueKind === "expr" && value.op === Op.GetElementPtr) {
      anchor ??= value;
      value = value.operands[0]!;
    }
  }
  foundBase = value;
  foundAnchor = anchor ?? value;
  foundOffset = offset;
}
const constantOffset = (gep: InstWith<Op.GetElementPtr>, layout: DataLayout): number | null => {
  const { operands, data } = gep;
  const first = operands[1]!;
  if (operands.length === 2 && first.valueKind === "int")
    return Number.isNaN(first.num) ? null : first.num * layout.allocSize(data.elementType);
  return constantGepOffset(layout, data.elementType, operands);
};

/** What stands for a value now. */
export type Settled = (value: Value) => Value;

/** The length of a memory intrinsic, or NaN. */
const lengthOf = (call: CallInst): number => {
  const length = call.operands[3]!;
  return length.valueKind === "int" && length.num >= 0 ? length.num : Number.NaN;
};

function accessOfCall(call: CallInst): Access {
  const intrinsic = intrinsicOf(call.operands[0]!);
  if (intrinsic === null || call.op !== Op.Call) return Access.Call;
  switch (intrinsic.name) {
    case "memset":
    case "memset.inline":
      return isFalse(call.operands[4]!) ? Access.Fill : Access.Barrier;
    case "memcpy":
    case "memcpy.inline":
    case "memmove":
      return isFalse(call.operands[4]!) ? Access.Copy : Access.Barrier;
    case "lifetime.start":
    case "lifetime.end":
      return Access.Mark;
    default:
      return Access.Call;
  }
}
const isFalse = (value: Value): boolean => value.valueKind === "int" && value.value === 0n;

const none = new Uint8Array(0);

/** Calls that touch no memory that a program can name, whatever `memory` says of them. */
const isMarker = (call: CallInst): boolean => {
  const name = intrinsicOf(call.operands[0]!)?.name;
  return name === "assume" || name === "experimental.noalias.scope.decl";
};

export class MemoryOperations {
  readonly operations: MemoryOperation[] = [];
  /** By block: the number of its first operation; one more at the end. */
  readonly starts: Int32Array;
  /** By instruction: number of its operation, or -1. */
  readonly numbers: Int32Array;
  /** By instruction and by parameter: the address of what it allocates, or gets a copy of, may be known elsewhere. */
  private instEscapes: Uint8Array;
  private argumentEscapes: Uint8Array;
  /** These two are computed: only bodies with memory of their own ask. */
  private knowsEscapes = false;

  /** @param view with current numbers, `count` of them */
  constructor(
    private readonly view: BodyView,
    private readonly count: number,
    readonly fn: Func,
    readonly layout: DataLayout,
  ) {
    const { blocks } = view;
    this.starts = new Int32Array(blocks.length + 1);
    this.numbers = new Int32Array(count).fill(-1);
    this.instEscapes = this.argumentEscapes = none;
    for (let b = 0; b < blocks.length; b++) {
      this.starts[b] = this.operations.length;
      const { insts } = blocks[b]!;
      for (let i = 0; i < insts.length; i++) this.add(insts[i]!);
    }
    this.starts[blocks.length] = this.operations.length;
  }

  private add(inst: Inst): void {
    switch (inst.op) {
      case Op.Load: {
        const operation = this.push(inst, isPlainAccess(inst) ? Access.Load : Access.Barrier, Memory.Any);
        this.place(operation, inst.operands[0]!, this.layout.storeSize(inst.type));
        return;
      }
      case Op.Store: {
        const operation = this.push(inst, isPlainAccess(inst) ? Access.Store : Access.Barrier, Memory.Any);
        this.place(operation, inst.operands[1]!, this.layout.storeSize(inst.operands[0]!.type));
        return;
      }
      case Op.Fence:
      case Op.CmpXchg:
      case Op.AtomicRMW:
      case Op.VAArg: {
        const operation = this.push(inst, Access.Barrier, Memory.Any);
        if (inst.op !== Op.Fence) this.place(operation, inst.operands[0]!, Number.NaN);
        return;
      }
      case Op.Call:
      case Op.Invoke:
      case Op.CallBr: {
        const effects = callEffects(inst);
        // Who unwinds shows memory to callers.
        if (((effects & ~Memory.Inaccessible) === Memory.None && neverUnwinds(inst)) || isMarker(inst))
          return;
        const access = accessOfCall(inst);
        const operation = this.push(inst, access, effects);
        if (access === Access.Fill || access === Access.Copy)
          this.place(operation, inst.operands[1]!, lengthOf(inst));
        else if (access === Access.Mark)
          this.place(operation, inst.operands[inst.data.argumentCount]!, Number.NaN);
        return;
      }
      default:
    }
  }
  private push(inst: Inst, access: Access, effects: MemoryEffects): MemoryOperation {
    const operation = new MemoryOperation(inst, access, effects);
    this.numbers[inst.id] = this.operations.push(operation) - 1;
    return operation;
  }
  private place(operation: MemoryOperation, address: Value, size: number): void {
    findPlace(address, this.layout, null);
    operation.base = foundBase;
    operation.anchor = foundAnchor;
    operation.offset = foundOffset;
    operation.size = size;
  }

  /** Computes the place of an operation anew, from what stands for its operands by now. */
  settle(operation: MemoryOperation, settled: Settled): void {
    const { inst, access } = operation;
    if (access > Access.Copy) return;
    findPlace(inst.operands[access === Access.Load ? 0 : 1]!, this.layout, settled);
    operation.base = foundBase;
    operation.anchor = foundAnchor;
    operation.offset = foundOffset;
  }

  /** Where a pointer of unknown reach points. */
  placeBehind(address: Value, size = Number.NaN): Place {
    findPlace(address, this.layout, null);
    return { base: foundBase, anchor: foundAnchor, offset: foundOffset, size };
  }

  // Addresses that get away.

  private findEscapes(): void {
    this.knowsEscapes = true;
    this.instEscapes = new Uint8Array(this.count);
    this.argumentEscapes = new Uint8Array(this.fn.args.length);
    for (const { insts } of this.view.blocks)
      for (let i = 0; i < insts.length; i++) this.markEscapes(insts[i]!);
  }
  private markEscapes(inst: Inst): void {
    const { op, operands } = inst;
    switch (op) {
      case Op.Load:
        return;
      case Op.Store:
        this.escape(operands[0]!);
        return;
      case Op.GetElementPtr:
        if (inst.type.kind !== "ptr") this.escape(operands[0]!);
        return;
      case Op.ICmp:
        if (operands[1]!.valueKind !== "zero") for (const operand of operands) this.escape(operand);
        return;
      case Op.Call:
      case Op.Invoke:
      case Op.CallBr:
        this.escapeThroughCall(inst as CallInst);
        return;
      default:
        for (let i = 0; i < operands.length; i++) this.escape(operands[i]!);
    }
  }
  private escape(value: Value): void {
    if (value.type.kind !== "ptr" || isConstant(value)) return;
    findPlace(value, this.layout, null);
    const base = foundBase;
    if (base.valueKind === "inst") this.instEscapes[base.id] = 1;
    else if (base.valueKind === "argument") this.argumentEscapes[base.index] = 1;
  }
  private escapeThroughCall(call: CallInst): void {
    const { operands, data } = call;
    for (let i = 1; i < operands.length; i++) {
      const operand = operands[i]!;
      if (operand.type.kind !== "ptr") continue;
      if (i > data.argumentCount || !isKept(call, i - 1)) this.escape(operand);
    }
  }

  /** Whether something else than what is computed from this base in the body may know the object's address. */
  mayBeKnown(base: Value): boolean {
    if (!this.knowsEscapes) this.findEscapes();
    if (base.valueKind === "inst") return this.instEscapes[base.id] === 1;
    if (base.valueKind === "argument") return this.argumentEscapes[base.index] === 1;
    return true;
  }
}

/** Whether a call's callee leaves no copy of a pointer argument behind. */
export function isKept(call: CallInst, index: number): boolean {
  const callee = call.operands[0]!;
  const intrinsic = intrinsicOf(callee);
  if (intrinsic !== null && ((intrinsic.noCapture >>> index) & 1) !== 0) return true;
  const here = call.data.attributes.parameter(index);
  const there = calleeParameter(call, index);
  if (here.has("byval") || there?.has("byval") === true) return true;
  if (here.has("returned") || there?.has("returned") === true) return false;
  return (here.int("captures") ?? there?.int("captures")) === 0;
}

/** What the called function says of a parameter. */
function calleeParameter(
  call: CallInst,
  index: number,
): ReturnType<CallInst["data"]["attributes"]["parameter"]> | null {
  const callee = call.operands[0]!;
  if (callee.valueKind !== "global" || callee.kind !== "function") return null;
  return call.data.functionType === callee.valueType ? callee.attributes.parameter(index) : null;
}

/** Whether a call, or what it calls, says this of a parameter. */
export const saysOfParameter = (call: CallInst, index: number, name: string): boolean =>
  call.data.attributes.parameter(index).has(name) || calleeParameter(call, index)?.has(name) === true;
