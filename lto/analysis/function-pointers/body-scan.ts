/**
 * The pointer constraints of one function body. One walk, linear in the operands; nothing of the body is kept.
 *
 * What an instruction does to addresses is said for the instructions below; for all others the default holds:
 * every address among the operands leaks, and a result that may contain addresses is unknown. Integers are not
 * followed: an address that becomes one leaks, and one that is made of an integer is unknown.
 */

import type { AttributeList } from "../../ir/attributes.js";
import type { DataLayout } from "../../ir/data-layout.js";
import type { CalleeSet } from "../../ir/hints.js";
import {
  type BodyView,
  type CallInst,
  Flag,
  type Inst,
  type InstWith,
  isCall,
  Op,
} from "../../ir/instructions.js";
import { type Intrinsic, type IntrinsicName, intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import { ptr, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { FlowGraph } from "./flow-graph.js";
import { leakNode, noNode, unknownNode } from "./nodes.js";
import type { ProgramNodes } from "./program-nodes.js";
import { arrayStride, isPointer, mayHoldPointer, TypeSizes } from "./types.js";

/** Stores of this value over whole pointers make no address: a call of it is undefined. */
const isNull = (value: Value): boolean =>
  value.valueKind === "zero" ||
  value.valueKind === "undef" ||
  (value.valueKind === "int" && value.num === 0) ||
  (value.valueKind === "float" && value.bits === 0n) ||
  (value.valueKind === "data" && value.bytes.every((byte) => byte === 0));

const isConstantValue = ({ valueKind }: Value): boolean => valueKind !== "inst" && valueKind !== "argument";

/** Whether a store of so many bytes at such an alignment changes no pointer in part. */
const coversPointers = (bytes: number, align: number, word: number): boolean =>
  bytes % word === 0 && align % word === 0;

/** What a call of a global does; numbers from 0 on are those of functions. */
const enum Effect {
  Function = 0,
  /** Code outside of the program, or which may be replaced. */
  External = -1,
  None = -2,
  CopyArgument = -3,
  CopyMemory = -4,
  FillMemory = -5,
  /** An intrinsic of which nothing is known. */
  Unknown = -6,
}

const intrinsicEffects = new Map<Intrinsic, Effect>();
function describe(effect: Effect, names: readonly IntrinsicName[]): void {
  for (const name of names) intrinsicEffects.set(intrinsics[name], effect);
}
// They read or write no memory that could hold an address, and give none.
describe(Effect.None, [
  "lifetime.start",
  "lifetime.end",
  "dbg.declare",
  "dbg.value",
  "dbg.assign",
  "dbg.label",
  "assume",
  "prefetch",
  "invariant.start",
  "invariant.end",
  "objectsize",
  "is.constant",
  "experimental.noalias.scope.decl",
  "donothing",
  "sideeffect",
  "va_end",
]);
describe(Effect.CopyArgument, [
  "launder.invariant.group",
  "strip.invariant.group",
  "ssa.copy",
  "expect",
  "expect.with.probability",
]);
describe(Effect.CopyMemory, [
  "memcpy",
  "memcpy.inline",
  "memcpy.element.unordered.atomic",
  "memmove",
  "memmove.element.unordered.atomic",
]);
describe(Effect.FillMemory, ["memset", "memset.inline", "memset.element.unordered.atomic"]);

export class BodyScan {
  private readonly sizes: TypeSizes;
  private base = 0;
  private indirect = 0;
  /** Null is the address of something in the current function. */
  private nullIsValid = false;
  private readonly effects = new Map<GlobalValue, number>();
  private readonly byval = new Map<AttributeList, boolean>();

  constructor(
    private readonly graph: FlowGraph,
    private readonly nodes: ProgramNodes,
    layout: DataLayout,
  ) {
    this.sizes = new TypeSizes(layout);
  }

  /** @param fn its number  @param body numbered */
  scan(fn: number, { valueType, attributes }: Func, body: BodyView): void {
    const last = body.blocks[body.blocks.length - 1]!.terminator;
    this.base = this.graph.addNodes(last.id + 1);
    this.indirect = 0;
    this.nullIsValid = attributes.fn.has("null_pointer_is_valid");
    const result = mayHoldPointer(valueType.result) ? this.nodes.result(fn) : noNode;
    for (const { insts } of body.blocks)
      for (let i = 0; i < insts.length; i++) {
        const inst = insts[i]!;
        if (isCall(inst)) this.call(fn, inst);
        else if (inst.op !== Op.Ret) this.instruction(fn, inst);
        else if (result === noNode) this.leakOperands(fn, inst, 0);
        else for (const value of inst.operands) this.graph.copy(this.node(fn, value), result);
      }
  }

  /** The node of an operand; `noNode` if it holds no address. */
  private node(fn: number, value: Value): number {
    switch (value.valueKind) {
      case "inst":
        return mayHoldPointer(value.type) ? this.base + value.id : noNode;
      case "argument":
        return mayHoldPointer(value.type) ? this.nodes.parameter(fn, value.index) : noNode;
      case "asm":
      case "metadata":
        return noNode;
      default:
        return this.nodes.constant(value);
    }
  }

  private instruction(fn: number, inst: Inst): void {
    const { graph } = this;
    const { operands } = inst;
    const self = this.base + inst.id;
    switch (inst.op) {
      case Op.Alloca:
        this.alloca(inst, self);
        break;
      case Op.Load:
        this.loadInst(fn, inst, self);
        break;
      case Op.Store:
        this.storeInst(fn, inst);
        break;
      case Op.GetElementPtr:
        this.offset(fn, inst, self);
        break;
      case Op.Phi:
      case Op.Freeze:
      case Op.BitCast:
      case Op.ExtractElement:
      case Op.InsertElement:
      case Op.ShuffleVector:
      case Op.ExtractValue:
      case Op.InsertValue:
        if (mayHoldPointer(inst.type)) for (const value of operands) graph.copy(this.node(fn, value), self);
        // Integers beside pointers in an aggregate do not hold them, unless a constant expression makes them.
        else if (inst.op !== Op.ExtractValue || isConstantValue(operands[0]!)) this.leakOperands(fn, inst, 0);
        break;
      case Op.Select:
        if (!mayHoldPointer(inst.type)) this.leakOperands(fn, inst, 0);
        else {
          graph.leak(this.node(fn, operands[0]!));
          for (let i = 1; i < 3; i++) graph.copy(this.node(fn, operands[i]!), self);
        }
        break;
      case Op.ICmp:
        // The outcome is no address. Addresses among the operands that are integers by now have leaked.
        for (const value of operands) if (!isPointer(value.type)) graph.leak(this.node(fn, value));
        break;
      default:
        this.leakOperands(fn, inst, 0);
        if (mayHoldPointer(inst.type)) graph.copy(unknownNode, self);
    }
  }

  private leakOperands(fn: number, { operands }: Inst, from: number): void {
    for (let i = from; i < operands.length; i++) {
      const operand = operands[i]!;
      const { valueKind } = operand;
      if (valueKind === "int" || (valueKind === "inst" && !mayHoldPointer(operand.type))) continue;
      const node = this.node(fn, operand);
      if (node !== noNode) this.graph.leak(node);
    }
  }

  /**
   * Whether an address may mean something besides what flows into it, since null, which nothing stands for, is one:
   * in other address spaces, and where the function says so.
   */
  private mayBeElsewhere(address: Value): boolean {
    if (address.type.addressSpace !== 0) return true;
    if (!this.nullIsValid) return false;
    let base = address;
    // Where control never gets, an address may be computed from itself.
    for (let steps = 0; steps < 16 && base.valueKind === "inst" && base.op === Op.GetElementPtr; steps++)
      base = base.operands[0]!;
    return !(base.valueKind === "global" || (base.valueKind === "inst" && base.op === Op.Alloca));
  }

  private alloca(inst: InstWith<Op.Alloca>, self: number): void {
    const { allocatedType, inalloca, swifterror } = inst.data;
    const count = inst.operands[0]!;
    const one = count.valueKind === "int" && count.num === 1;
    if (!one || inalloca || swifterror || !mayHoldPointer(allocatedType)) {
      this.graph.copy(this.graph.worldNode, self);
      return;
    }
    const object = this.graph.objects.create(
      this.sizes.allocSize(allocatedType),
      arrayStride(this.sizes.layout, allocatedType),
    );
    this.graph.addLocation(self, this.graph.objects.at(object, 0));
  }

  private loadInst(fn: number, inst: InstWith<Op.Load>, self: number): void {
    const pointer = this.node(fn, inst.operands[0]!);
    const { type } = inst;
    if (mayHoldPointer(type) && this.mayBeElsewhere(inst.operands[0]!)) this.graph.copy(unknownNode, self);
    if (isPointer(type)) {
      this.graph.load(pointer, self);
      // Somebody unknown may write what is volatile.
      if ((inst.flags & Flag.Volatile) !== 0) this.graph.copy(unknownNode, self);
    } else if (mayHoldPointer(type)) {
      this.graph.loadAll(pointer, self);
      this.graph.readBytes(pointer, 0);
    } else this.graph.readBytes(pointer, this.sizes.storeSize(type));
  }

  private storeInst(fn: number, inst: InstWith<Op.Store>): void {
    const [value, address] = inst.operands as [Value, Value];
    const pointer = this.node(fn, address);
    const stored = this.node(fn, value);
    if ((inst.flags & Flag.Volatile) !== 0 || this.mayBeElsewhere(address)) this.graph.leak(stored);
    if (isPointer(value.type)) this.graph.store(stored, pointer);
    else {
      this.graph.storeAny(stored, pointer);
      const bytes = this.sizes.storeSize(value.type);
      this.writeBytes(
        pointer,
        bytes,
        isNull(value),
        coversPointers(bytes, inst.data.align, this.sizes.storeSize(ptr)),
      );
    }
  }

  /** A pointer of which some bytes are replaced still points into its object, who knows where. */
  private writeBytes(pointer: number, bytes: number, zeros: boolean, covers: boolean): void {
    if (zeros && covers) return;
    if (!covers) this.graph.readBytes(pointer, bytes);
    this.graph.writeBytes(pointer, bytes);
  }

  private offset(fn: number, inst: InstWith<Op.GetElementPtr>, self: number): void {
    const { operands } = inst;
    const base = this.node(fn, operands[0]!);
    // What is so far from null is an integer made an address.
    if (base === noNode) this.graph.copy(unknownNode, self);
    if (!isPointer(inst.type)) {
      this.leakOperands(fn, inst, 0);
      this.graph.copy(unknownNode, self);
      return;
    }
    let bytes = 0;
    let scale = 0;
    let type: Type = inst.data.elementType;
    for (let i = 1; i < operands.length; i++) {
      const index = operands[i]!;
      if (index.valueKind !== "int" && index.valueKind !== "zero" && index.valueKind !== "inst")
        this.graph.leak(this.node(fn, index));
      if (i > 1 && type.kind === "struct") {
        const member = index.valueKind === "int" ? index.num : Number.NaN;
        bytes += this.sizes.layout.structLayout(type).offsets[member] ?? Number.NaN;
        type = type.elements[member] ?? type;
        continue;
      }
      if (i > 1) type = type.element;
      const size = this.sizes.allocSize(type);
      if (index.valueKind === "int") bytes += index.num * size;
      else if (index.valueKind !== "zero") scale = gcd(scale, size);
    }
    this.graph.offset(base, self, bytes, scale);
  }

  // ── Calls ──

  private call(fn: number, inst: CallInst): void {
    const { graph, nodes } = this;
    const { operands, data } = inst;
    const callee = operands[0]!;
    const result = mayHoldPointer(inst.type) ? this.base + inst.id : noNode;
    const effect = callee.valueKind === "global" ? this.effectOf(callee) : Effect.External;
    if (effect < Effect.External) {
      this.intrinsic(fn, inst, effect, result);
      return;
    }
    for (let i = 1 + data.argumentCount; i < operands.length; i++) graph.leak(this.node(fn, operands[i]!));
    const args = this.callArguments(fn, inst);
    const isIndirect = callee.valueKind !== "global" && callee.valueKind !== "asm";
    const pointer = isIndirect ? this.calledPointer(fn, callee, inst.hints?.callees ?? null) : noNode;
    const site = isIndirect ? this.indirect++ : -1;
    if (isIndirect && inst.op === Op.Call) {
      nodes.addIndirectCall(fn, site, pointer, data.functionType, args, result);
      return;
    }
    if (effect >= 0) {
      nodes.bind(data.functionType, args, result, effect);
      return;
    }
    graph.leak(pointer);
    for (const arg of args) graph.leak(arg);
    if (result === noNode) return;
    // Fresh memory holds no address of the program's.
    const declared = callee.valueKind === "global" && callee.kind === "function" ? callee.attributes : null;
    const fresh = data.attributes.result.has("noalias") || (declared?.result.has("noalias") ?? false);
    graph.copy(fresh ? graph.worldNode : unknownNode, result);
  }

  /** @param said which functions the call can be of, as somebody found who knew more than addresses tell */
  private calledPointer(fn: number, callee: Value, said: CalleeSet | null): number {
    const { graph } = this;
    if (said !== null && !said.open) {
      const one = graph.addNodes(1);
      for (const member of said.members) graph.copy(this.nodes.constant(member), one);
      return one;
    }
    const pointer = this.node(fn, callee);
    if (!this.mayBeElsewhere(callee)) return pointer;
    const either = graph.addNodes(1);
    graph.copy(pointer, either);
    graph.copy(graph.worldNode, either);
    return either;
  }

  private effectOf(callee: GlobalValue): number {
    let effect = this.effects.get(callee);
    if (effect === undefined) {
      const intrinsic = intrinsicOf(callee);
      effect =
        intrinsic === null
          ? this.nodes.numberOf(callee)
          : (intrinsicEffects.get(intrinsic) ?? Effect.Unknown);
      this.effects.set(callee, effect);
    }
    return effect;
  }

  private callArguments(fn: number, { operands, data }: CallInst): number[] {
    const { graph } = this;
    const { attributes, argumentCount } = data;
    let hasByval = this.byval.get(attributes);
    if (hasByval === undefined) {
      hasByval = attributes.parameters.some((set) => set.type("byval") !== undefined);
      this.byval.set(attributes, hasByval);
    }
    const args: number[] = [];
    for (let i = 1; i <= argumentCount; i++) {
      let arg = this.node(fn, operands[i]!);
      if (hasByval && arg !== noNode && attributes.parameter(i - 1).type("byval") !== undefined) {
        // The callee gets a copy of the memory.
        graph.loadAll(arg, leakNode);
        graph.readBytes(arg, 0);
        arg = graph.worldNode;
      }
      args.push(arg);
    }
    return args;
  }

  private intrinsic(fn: number, inst: CallInst, effect: Effect, result: number): void {
    const { graph } = this;
    const { operands } = inst;
    if (effect === Effect.None) {
      for (const operand of operands) if (!isPointer(operand.type)) graph.leak(this.node(fn, operand));
    } else if (effect === Effect.CopyMemory) {
      const bytes = graph.addNodes(1);
      const [to, from] = [this.node(fn, operands[1]!), this.node(fn, operands[2]!)];
      graph.loadAll(from, bytes);
      graph.storeAny(bytes, to);
      if (this.mayBeElsewhere(operands[2]!)) graph.copy(unknownNode, bytes);
      if (this.mayBeElsewhere(operands[1]!)) graph.leak(bytes);
      this.leakOperands(fn, inst, 3);
    } else if (effect === Effect.FillMemory) {
      const length = operands[3]!;
      const bytes = length.valueKind === "int" ? length.num : Number.NaN;
      const align = inst.data.attributes.parameter(0).int("align") ?? 1;
      const covers = coversPointers(bytes, align, this.sizes.storeSize(ptr));
      this.writeBytes(this.node(fn, operands[1]!), 0, isNull(operands[2]!), covers);
      this.leakOperands(fn, inst, 2);
    } else if (effect === Effect.CopyArgument && result !== noNode) {
      graph.copy(this.node(fn, operands[1]!), result);
    } else {
      this.leakOperands(fn, inst, 1);
      if (result !== noNode) graph.copy(unknownNode, result);
    }
  }
}

function gcd(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}
