/**
 * What the choice of conventions asks about a function: where the values come from that its direct calls pass in
 * the integer argument registers, and what lives across calls.
 *
 * Read off the IR body: one backward walk, and liveness of the parameters over the blocks. Linear in the body.
 * Estimates only: what selection and allocation make of the body may differ, which costs bytes, not correctness.
 */

import type { AttributeList } from "../../ir/attributes.js";
import { type Block, type BodyView, type CallInst, type Inst, isCall, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import { returnsTwice } from "../../ir/returns-twice.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { changesUnseen } from "./added-code.js";

/** Source of an argument that is gone after the call, or costs nothing to make again. */
export const dyingValue = -1;

export interface ArgumentSite {
  /** Function number of the callee; -1 if it takes its arguments as the platform says. */
  readonly callee: number;
  /**
   * By position among the integer arguments: the function's own parameter in position s for s < `positions`, another
   * value that lives on for s ≥ `positions`, or `dyingValue`.
   */
  readonly sources: readonly number[];
  /** The call can be a jump. */
  readonly tail: boolean;
}

export interface ArgumentFlow {
  /** Number of leading parameters of which we are sure that they travel in the integer registers, in order. */
  readonly positions: number;
  /** Those of up to 32 bits, as bits. */
  readonly narrow: number;
  /** Those that live across a call, as bits. */
  readonly lives: number;
  /** Number of values that live across a call, roughly. */
  readonly living: number;
  /** Number of different sources. */
  readonly sources: number;
  /** May not deviate from the platform's convention. */
  readonly rigid: boolean;
  /** Direct calls and calls of pointers. */
  readonly sites: readonly ArgumentSite[];
  /** Callees of tail calls that have to stay tail calls. */
  readonly mustTail: readonly number[];
  /** It makes such a call, of anything. */
  readonly leavesByMustTail: boolean;
  /** Callees whose definition has another signature than the call. */
  readonly mismatched: readonly number[];
}

const isInteger = ({ kind, bits }: Type): boolean => kind === "ptr" || (kind === "int" && bits <= 64);
const isPlain = (type: Type): boolean => isInteger(type) || type.kind === "float" || type.kind === "double";

/** Indices of the parameters that travel in the integer registers, in order, up to the first doubtful one. */
function integerParameters(types: readonly Type[], attributes: AttributeList, limit: number): number[] {
  const found: number[] = [];
  for (let i = 0; i < types.length && found.length < limit; i++) {
    if (!isPlain(types[i]!)) break;
    if (attributes.parameters.length > i) {
      const own = attributes.parameters[i]!;
      if (own.kinds.has("byval") || own.kinds.has("nest")) break;
    }
    if (isInteger(types[i]!)) found.push(i);
  }
  return found;
}

/** Whether a call passes and expects just what the definition takes and gives. */
function agrees(call: CallInst, fn: Func): boolean {
  const { functionType, attributes } = call.data;
  if (functionType !== fn.valueType) return false;
  const passed = attributes.parameters;
  const taken = fn.attributes.parameters;
  const count = Math.max(passed.length, taken.length);
  for (let i = 0; i < count; i++) {
    const type = passed[i]?.kinds.get("byval");
    if (type !== taken[i]?.kinds.get("byval")) return false;
    if (type !== undefined && passed[i]!.kinds.get("align") !== taken[i]!.kinds.get("align")) return false;
    if ((passed[i]?.kinds.has("nest") ?? false) !== (taken[i]?.kinds.has("nest") ?? false)) return false;
  }
  return true;
}

/**
 * @param numberOf function number of a callee whose convention may be chosen, -1 for others
 * @param limit how many integer registers the platform has for arguments: less than 31
 */
export function argumentFlow(
  fn: Func,
  numberOf: (callee: GlobalValue) => number,
  limit: number,
): ArgumentFlow {
  const { result, isVarArg, parameters } = fn.valueType;
  const attributes = fn.attributes.fn;
  // Other results may go through a hidden pointer, which is the first argument then.
  const plain = result.kind === "void" || isPlain(result);
  const positions = plain ? integerParameters(parameters, fn.attributes, limit) : [];
  const rigid = isVarArg || attributes.has("naked") || attributes.has("optnone") || changesUnseen(fn);
  let narrow = 0;
  positions.forEach((index, p) => {
    const { kind, bits } = parameters[index]!;
    if (kind === "int" && bits <= 32) narrow |= 1 << p;
  });
  return { narrow, ...new FlowScan(fn, fn.view(), positions, numberOf, limit, rigid).run() };
}

class FlowScan {
  private readonly calls: Int32Array;
  private readonly home: Int32Array;
  private readonly crosses: Uint8Array;
  private readonly useCount: Int32Array;
  /** Position of each parameter, by its index; -1: none. */
  private readonly positionOf: Int8Array;
  /** Dense numbers of sources that are instructions, by `Inst.id`. */
  private readonly numbers = new Map<number, number>();
  private readonly found: { callee: number; call: CallInst; tail: boolean }[] = [];
  private readonly mustTail: number[] = [];
  private readonly mismatched: number[] = [];
  private leavesByMustTail = false;
  /** Parameters that some call is made before the last use of, as bits. */
  private lives = 0;
  /** Of the block, from its end to where the scan is: parameters that are used, as bits, and how many calls there are. */
  private live = 0;
  private seen = 0;

  constructor(
    fn: Func,
    private readonly body: BodyView,
    private readonly positions: readonly number[],
    private readonly numberOf: (callee: GlobalValue) => number,
    private readonly limit: number,
    private rigid: boolean,
  ) {
    const count = body.renumber();
    this.calls = new Int32Array(count);
    this.home = new Int32Array(count).fill(-1);
    this.crosses = new Uint8Array(count);
    this.useCount = new Int32Array(count);
    this.positionOf = new Int8Array(fn.args.length).fill(-1);
    positions.forEach((index, p) => {
      this.positionOf[index] = p;
    });
  }

  run(): Omit<ArgumentFlow, "narrow"> {
    const { blocks } = this.body;
    const used = new Uint8Array(blocks.length);
    const calling = new Uint8Array(blocks.length);
    for (let b = 0; b < blocks.length; b++) {
      this.live = 0;
      this.seen = 0;
      this.scanBlock(blocks[b]!, b);
      used[b] = this.live;
      if (this.seen > 0) calling[b] = 1;
    }
    const lives = this.lives | this.livesThrough(used, calling);
    // Parameters that live are counted once: they seldom live as long as what the function computes.
    let living = lives === 0 ? 0 : 1;
    for (let id = 0; id < this.crosses.length; id++) living += this.crosses[id]!;
    const sites = this.found.map(({ callee, call, tail }) => ({ callee, sources: this.sources(call), tail }));
    const positions = this.positions.length;
    return {
      positions,
      lives,
      living,
      sources: positions + this.numbers.size,
      rigid: this.rigid,
      sites,
      mustTail: this.mustTail,
      leavesByMustTail: this.leavesByMustTail,
      mismatched: this.mismatched,
    };
  }

  private scanBlock({ insts }: Block, b: number): void {
    const { home, calls, crosses, positionOf } = this;
    for (let i = insts.length - 1; i >= 0; i--) {
      const inst = insts[i]!;
      const { id, operands } = inst;
      if (home[id] !== -1 && (home[id] !== b || calls[id]! < this.seen)) crosses[id] = 1;
      home[id] = b;
      if (isCall(inst)) this.scanCall(inst, insts[i + 1]);
      for (let k = 0; k < operands.length; k++) {
        const operand = operands[k]!;
        if (operand.valueKind === "argument") {
          const position = positionOf[operand.index]!;
          if (position >= 0) this.live |= 1 << position;
        } else if (operand.valueKind === "inst") this.use(operand.id, b, this.seen, inst.op === Op.Phi);
      }
    }
  }

  /** @param next the instruction after the call */
  private scanCall(call: CallInst, next: Inst | undefined): void {
    const callee = call.operands[0]!;
    const { tail } = call.data;
    if (returnsTwice(call)) this.rigid = true;
    if (callee.valueKind === "asm" || intrinsicOf(callee) !== null) return;
    this.seen++;
    this.lives |= this.live;
    const known = callee.valueKind === "global" ? callee : null;
    const number = known === null ? -1 : this.numberOf(known);
    if (tail === "musttail") {
      this.leavesByMustTail = true;
      if (number >= 0) this.mustTail.push(number);
    }
    if (number >= 0 && !agrees(call, known as Func)) this.mismatched.push(number);
    this.found.push({ callee: number, call, tail: tail !== "" && tail !== "notail" && next!.op === Op.Ret });
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

  private sources(call: CallInst): number[] {
    const { functionType, attributes } = call.data;
    return integerParameters(functionType.parameters, attributes, this.limit).map((i) =>
      this.source(call.operands[i + 1]!),
    );
  }

  private source(value: Value): number {
    if (value.valueKind === "argument") return this.positionOf[value.index]!;
    if (value.valueKind !== "inst" || value.op === Op.Alloca) return dyingValue;
    if (this.crosses[value.id] !== 1 || this.useCount[value.id]! <= 1) return dyingValue;
    const known = this.numbers.get(value.id);
    if (known !== undefined) return known;
    const number = this.positions.length + this.numbers.size;
    this.numbers.set(value.id, number);
    return number;
  }

  /** Parameters that are live out of a block that calls, as bits. */
  private livesThrough(used: Uint8Array, calling: Uint8Array): number {
    if (this.positions.length === 0) return 0;
    const { blocks } = this.body;
    const numbers = new Map(blocks.map((block, i) => [block, i]));
    const next = blocks.map((block) => block.successors.map((successor) => numbers.get(successor)!));
    const liveOut = new Uint8Array(blocks.length);
    let through = 0;
    for (let changed = true; changed; ) {
      changed = false;
      for (let b = blocks.length - 1; b >= 0; b--) {
        let out = liveOut[b]!;
        for (const n of next[b]!) out |= used[n]! | liveOut[n]!;
        if (out === liveOut[b]) continue;
        liveOut[b] = out;
        if (calling[b] === 1) through |= out;
        changed = true;
      }
    }
    return through;
  }
}
