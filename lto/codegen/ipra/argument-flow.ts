/**
 * What the choice of conventions asks about a function: where the value that each of its direct calls passes in
 * the first integer argument register comes from, and what lives across calls.
 *
 * Read off the IR body: one backward walk, and liveness of the one parameter over the blocks. Linear in the body.
 * Estimates only: what selection and allocation make of the body may differ, which costs bytes, not correctness.
 */
import { type Body, isCall, Op } from "../../ir/instructions.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";

/** Sources of a first argument: the function's own first parameter, a value that is gone after the call; others > 0. */
export const ownParameter = 0;
export const dyingValue = -1;

export interface ArgumentSite {
  /** Function number of the callee; -1 if it takes its argument as the platform says. */
  readonly callee: number;
  readonly source: number;
  /** The call can be a jump. */
  readonly tail: boolean;
}

export interface ArgumentFlow {
  /** Has a first integer parameter, and a signature of which we are sure which one that is. */
  readonly hasFirst: boolean;
  /** That parameter lives across a call. */
  readonly firstLives: boolean;
  /** Number of values that live across a call, roughly. */
  readonly living: number;
  /** May not deviate from the platform's convention. */
  readonly rigid: boolean;
  readonly sites: readonly ArgumentSite[];
  /** Callees of tail calls that have to stay tail calls. */
  readonly mustTail: readonly number[];
}

const isInteger = ({ kind, bits }: Type): boolean => kind === "ptr" || (kind === "int" && bits <= 64);
const isPlain = (type: Type): boolean => isInteger(type) || type.kind === "float" || type.kind === "double";

/** Index of the operand that travels in the first integer register; -1 if there is none or it is doubtful. */
function firstInteger(types: readonly Type[]): number {
  for (let i = 0; i < types.length; i++) {
    if (isInteger(types[i]!)) return i;
    if (!isPlain(types[i]!)) return -1;
  }
  return -1;
}

/** @param numberOf function number of a callee whose convention may be chosen, -1 for others */
export function argumentFlow(fn: Func, numberOf: (callee: GlobalValue) => number): ArgumentFlow {
  const { result, isVarArg, parameters } = fn.valueType;
  const first = firstInteger(parameters);
  const attributes = fn.attributes.fn;
  const plainFirst = first >= 0 && fn.attributes.parameter(first).type("byval") === undefined;
  const plain = (result.kind === "void" || isPlain(result)) && plainFirst && !isVarArg;
  const rigid = !plain || attributes.has("naked") || attributes.has("optnone");
  return { hasFirst: plain, ...new FlowScan(fn.materialize(), plain ? first : -1, numberOf).run(rigid) };
}

class FlowScan {
  private readonly calls: Int32Array;
  private readonly home: Int32Array;
  private readonly crosses: Uint8Array;
  private readonly useCount: Int32Array;

  constructor(
    private readonly body: Body,
    private readonly first: number,
    private readonly numberOf: (callee: GlobalValue) => number,
  ) {
    const count = body.renumber();
    this.calls = new Int32Array(count);
    this.home = new Int32Array(count).fill(-1);
    this.crosses = new Uint8Array(count);
    this.useCount = new Int32Array(count);
  }

  run(rigid: boolean): Omit<ArgumentFlow, "hasFirst"> {
    const { blocks } = this.body;
    const found: { callee: number; value: Value; tail: boolean }[] = [];
    const used = new Uint8Array(blocks.length);
    const calling = new Uint8Array(blocks.length);
    const mustTail: number[] = [];
    let firstLives = false;
    let isRigid = rigid;
    for (let b = 0; b < blocks.length; b++) {
      const { insts } = blocks[b]!;
      let seen = 0;
      let live = false;
      for (let i = insts.length - 1; i >= 0; i--) {
        const inst = insts[i]!;
        if (this.home[inst.id] === -1) this.home[inst.id] = b;
        else if (this.home[inst.id] !== b || this.calls[inst.id]! < seen) this.crosses[inst.id] = 1;
        this.home[inst.id] = b;
        const { operands } = inst;
        if (isCall(inst)) {
          const callee = operands[0]!;
          const known = callee.valueKind === "global" ? callee : null;
          const attributes = known?.kind === "function" ? known.attributes.fn : null;
          if (attributes?.has("returns_twice") || inst.data.attributes.fn.has("returns_twice"))
            isRigid = true;
          if (callee.valueKind !== "asm" && !(known?.name.startsWith("llvm.") ?? false)) {
            seen++;
            if (live) firstLives = true;
            const argument = firstInteger(inst.data.functionType.parameters);
            const number = known === null ? -1 : this.numberOf(known);
            if (inst.data.tail === "musttail" && number >= 0) mustTail.push(number);
            if (argument >= 0 && inst.data.attributes.parameter(argument).type("byval") === undefined)
              found.push({
                callee: number,
                value: operands[argument + 1]!,
                tail: inst.data.tail !== "" && inst.data.tail !== "notail" && insts[i + 1]!.op === Op.Ret,
              });
          }
        }
        for (let k = 0; k < operands.length; k++) {
          const operand = operands[k]!;
          if (operand.valueKind === "argument") {
            if (operand.index === this.first) live = true;
          } else if (operand.valueKind === "inst") this.use(operand.id, b, seen, inst.op === Op.Phi);
        }
      }
      if (live) used[b] = 1;
      if (seen > 0) calling[b] = 1;
    }
    if (!firstLives) firstLives = this.livesThrough(used, calling);
    let living = firstLives ? 1 : 0;
    for (let id = 0; id < this.crosses.length; id++) living += this.crosses[id]!;
    const sites = found.map(({ callee, value, tail }) => ({ callee, source: this.source(value), tail }));
    return { firstLives, living, rigid: isRigid, sites, mustTail };
  }

  /** Notes a use met on the way backwards; definitions come later in the same block, or in another one. */
  private use(id: number, block: number, seen: number, isPhi: boolean): void {
    this.useCount[id]!++;
    if (this.home[id] === -1) {
      this.home[id] = block;
      this.calls[id] = seen;
    } else if (this.home[id] !== block) this.crosses[id] = 1;
    if (isPhi) this.crosses[id] = 1;
  }

  private source(value: Value): number {
    if (value.valueKind === "argument") return value.index === this.first ? ownParameter : dyingValue;
    if (value.valueKind !== "inst" || value.op === Op.Alloca) return dyingValue;
    return this.crosses[value.id] === 1 && this.useCount[value.id]! > 1 ? value.id + 1 : dyingValue;
  }

  /** The parameter is live out of a block that calls. */
  private livesThrough(used: Uint8Array, calling: Uint8Array): boolean {
    const { blocks } = this.body;
    const numbers = new Map(blocks.map((block, i) => [block, i]));
    const liveOut = new Uint8Array(blocks.length);
    for (let changed = true; changed; ) {
      changed = false;
      for (let b = blocks.length - 1; b >= 0; b--) {
        if (liveOut[b] === 1) continue;
        for (const next of blocks[b]!.successors) {
          const n = numbers.get(next)!;
          if (used[n] === 0 && liveOut[n] === 0) continue;
          if (calling[b] === 1) return true;
          liveOut[b] = 1;
          changed = true;
          break;
        }
      }
    }
    return false;
  }
}
