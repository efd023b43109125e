/**
 * Nodes that bodies share: parameters and results of functions, addresses of globals, and the calls between them.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { Op } from "../../ir/instructions.js";
import type { Func, GlobalValue, GlobalVariable } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";
import type { Constant } from "../../ir/values.js";
import { visitGlobals } from "../references.js";
import type { CallHandler, FlowGraph } from "./flow-graph.js";
import { leakNode, noNode, unknownNode } from "./nodes.js";
import { arrayStride, isPointer, mayHoldPointer } from "./types.js";

/** A call through a pointer. */
export interface IndirectCall {
  readonly caller: number;
  /** Position among the calls through pointers of the caller, in the order of its body. */
  readonly site: number;
  readonly pointer: number;
  readonly type: Type;
  readonly args: readonly number[];
  readonly result: number;
}

/** What is fixed about a function. */
interface FunctionNodes {
  readonly fn: Func;
  /** First of the nodes of its parameters; the result's comes after them. */
  readonly base: number;
  leaked: boolean;
}

export class ProgramNodes implements CallHandler {
  readonly indirectCalls: IndirectCall[] = [];
  private readonly functions: FunctionNodes[];
  private readonly numbers = new Map<GlobalValue, number>();
  private readonly objects = new Map<GlobalValue, number>();
  private readonly addresses = new Map<Constant, number>();
  private readonly unknownReached = new Set<number>();

  /**
   * @param functions of the program, by number
   * @param isExact a call of the function reaches this definition
   */
  constructor(
    private readonly graph: FlowGraph,
    private readonly layout: DataLayout,
    functions: readonly Func[],
    isExact: (fn: Func) => boolean,
  ) {
    this.functions = functions.map((fn, number) => {
      if (isExact(fn)) this.numbers.set(fn, number);
      return { fn, base: graph.addNodes(fn.args.length + 1), leaked: false };
    });
  }

  /** The number of a function that a mention of it is sure to mean; -1 for all other globals. */
  numberOf(global: GlobalValue): number {
    return this.numbers.get(global) ?? -1;
  }
  parameter(fn: number, index: number): number {
    return this.functions[fn]!.base + index;
  }
  result(fn: number): number {
    const { base, fn: func } = this.functions[fn]!;
    return base + func.args.length;
  }

  // ── Globals and constants ──

  /** Makes an object of a variable whose every access is in the program, and is seen. */
  track(variable: GlobalVariable): void {
    const { valueType } = variable;
    this.objects.set(
      variable,
      this.graph.objects.create(this.layout.allocSize(valueType), arrayStride(this.layout, valueType)),
    );
  }

  /** Adds what the initialiser of a tracked variable puts into it. */
  initialize(variable: GlobalVariable): void {
    const object = this.objects.get(variable)!;
    this.place(object, 0, variable.initializer!);
  }

  private place(object: number, offset: number, constant: Constant): void {
    const { type } = constant;
    switch (constant.valueKind) {
      case "zero":
      case "undef":
      case "none":
        return;
      case "aggregate": {
        const size = type.kind === "struct" ? 0 : this.layout.allocSize(type.element);
        const offsets = type.kind === "struct" ? this.layout.structLayout(type).offsets : null;
        const { elements } = constant;
        for (let i = 0; i < elements.length; i++)
          this.place(object, offset + (offsets === null ? i * size : offsets[i]!), elements[i]!);
        return;
      }
    }
    const address = this.graph.addNodes(1);
    this.graph.addLocation(address, this.graph.objects.at(object, offset));
    const node = this.constant(constant);
    if (isPointer(type)) this.graph.store(node, address);
    else {
      this.graph.leak(node);
      if (constant.valueKind !== "int" || constant.num !== 0)
        this.graph.writeBytes(address, this.layout.storeSize(type));
    }
  }

  /** The node of a constant's address; what cannot be followed leaks. */
  constant(constant: Constant): number {
    switch (constant.valueKind) {
      case "int":
      case "float":
      case "zero":
      case "undef":
      case "data":
      case "none":
        return noNode;
      case "global":
      case "expr": {
        let node = this.addresses.get(constant);
        if (node === undefined) {
          node = constant.valueKind === "global" ? this.global(constant) : this.expression(constant);
          this.addresses.set(constant, node);
        }
        return node;
      }
      default:
        visitGlobals(constant, (global) => this.leakGlobal(global));
        return mayHoldPointer(constant.type) ? unknownNode : noNode;
    }
  }

  private global(global: GlobalValue): number {
    const number = this.numberOf(global);
    if (number >= 0) {
      const node = this.graph.addNodes(1);
      this.graph.addFunction(node, number);
      return node;
    }
    const object = this.objects.get(global);
    if (object !== undefined) {
      const node = this.graph.addNodes(1);
      this.graph.addLocation(node, this.graph.objects.at(object, 0));
      return node;
    }
    return global.kind === "variable" ? this.graph.worldNode : unknownNode;
  }

  private expression(constant: Extract<Constant, { valueKind: "expr" }>): number {
    const base = constant.operands[0]!;
    if (isPointer(constant.type) && constant.op === Op.GetElementPtr) {
      const node = this.graph.addNodes(1);
      const from = this.constant(base);
      // What is so far from null is an integer made an address.
      if (from === noNode) this.graph.copy(unknownNode, node);
      else this.graph.offset(from, node, this.constantOffset(constant), 0);
      return node;
    }
    if (isPointer(constant.type) && constant.op === Op.BitCast) return this.constant(base);
    visitGlobals(constant, (global) => this.leakGlobal(global));
    return mayHoldPointer(constant.type) ? unknownNode : noNode;
  }

  /** Bytes; NaN if an index is no plain number. */
  private constantOffset({ operands, elementType }: Extract<Constant, { valueKind: "expr" }>): number {
    let type = elementType!;
    let bytes = 0;
    for (let i = 1; i < operands.length; i++) {
      const index = operands[i]!;
      if (index.valueKind !== "int" && index.valueKind !== "zero") {
        visitGlobals(index, (global) => this.leakGlobal(global));
        return Number.NaN;
      }
      const n = index.valueKind === "int" ? index.num : 0;
      if (i === 1) bytes += n * this.layout.allocSize(type);
      else {
        bytes +=
          type.kind === "struct"
            ? this.layout.structLayout(type).offsets[n]!
            : n * this.layout.allocSize(type.element);
        type = type.kind === "struct" ? type.elements[n]! : type.element;
      }
    }
    return bytes;
  }

  /** Gives the address of a global to the world. */
  leakGlobal(global: GlobalValue): void {
    this.graph.leak(this.constant(global));
  }

  /** After the solution: each mention of the function was followed, and none let it go. */
  isContained(fn: Func, number: number): boolean {
    return this.addresses.has(fn) && !this.functions[number]!.leaked;
  }

  // ── Calls ──

  /** Connects a call with the function it calls. */
  bind(type: Type, args: readonly number[], result: number, target: number): void {
    const { graph } = this;
    const { fn } = this.functions[target]!;
    if (type !== fn.valueType) {
      for (const arg of args) graph.leak(arg);
      this.openInterface(target);
      if (result !== noNode) graph.copy(unknownNode, result);
      return;
    }
    const count = fn.args.length;
    for (let i = 0; i < args.length; i++) {
      const arg = args[i]!;
      if (arg === noNode) continue;
      if (i >= count) graph.leak(arg);
      else graph.copy(arg, this.parameter(target, i));
    }
    if (result !== noNode) graph.copy(this.result(target), result);
  }

  addIndirectCall(
    caller: number,
    site: number,
    pointer: number,
    type: Type,
    args: readonly number[],
    result: number,
  ): void {
    this.indirectCalls.push({ caller, site, pointer, type, args, result });
    this.graph.call(pointer, this.indirectCalls.length - 1);
  }

  reaches(call: number, fn: number): void {
    const { type, args, result } = this.indirectCalls[call]!;
    this.bind(type, args, result, fn);
  }

  reachesUnknown(call: number): void {
    if (this.unknownReached.has(call)) return;
    this.unknownReached.add(call);
    const { args, result } = this.indirectCalls[call]!;
    for (const arg of args) this.graph.leak(arg);
    if (result !== noNode) this.graph.copy(unknownNode, result);
  }

  leaks(fn: number): void {
    this.openInterface(fn);
  }

  /** Anybody may call a function: its parameters are anything, and its result is given away. */
  openInterface(number: number): void {
    const nodes = this.functions[number]!;
    if (nodes.leaked) return;
    nodes.leaked = true;
    const { fn } = nodes;
    for (let i = 0; i < fn.args.length; i++)
      if (mayHoldPointer(fn.args[i]!.type)) this.graph.copy(unknownNode, this.parameter(number, i));
    if (mayHoldPointer(fn.valueType.result)) this.graph.copy(this.result(number), leakNode);
  }
}
