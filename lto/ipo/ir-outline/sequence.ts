/**
 * The instructions of a program as one sequence of symbols: equal ones are the same operation.
 *
 * Two instructions are the same operation if their opcodes, types, predicates, direct callees and what must be a constant
 * are the same; other operands count only where they come from, which the sequence remembers by position. What must not
 * move has a symbol that is equal to nothing, and ends of blocks are such. Linear in the operands.
 */
import { mix } from "../../ir/hash.js";
import { type CallInst, type Inst, isCall, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func, Module } from "../../ir/module.js";
import type { TargetCosts } from "../../target/costs.js";
import { bytesOf, errorOfBytes } from "../inline/body-size.js";
import { callMayMove, Motion, mayMoveWith, motions, showsFrame, takesCopies } from "./legality.js";
import { Operations, partOfOperation } from "./operations.js";

/** Equal to nothing. */
const fixed = -1;
/** Among the numbers of constants: results, arguments and what code may not name elsewhere. */
const varies = -1;

/** What a call and the doubts of estimates are more than its own bytes: shorter pieces take less, however many there are. */
const leastDoubt = 0.5;

/** Operations that targets may have on a word of memory; which operand is there: either, or the first. */
const changes: Partial<Record<Op, "either" | "first">> = {
  [Op.Add]: "either",
  [Op.And]: "either",
  [Op.Or]: "either",
  [Op.Xor]: "either",
  [Op.Sub]: "first",
  [Op.Shl]: "first",
  [Op.LShr]: "first",
  [Op.AShr]: "first",
  [Op.GetElementPtr]: "first",
};

/** What is said of a function as a whole. */
export interface FunctionFacts {
  /** Something of its frame may be reached by address: variables, copies made for it. */
  readonly showsFrame: boolean;
  /** Calls something already. */
  readonly hasCalls: boolean;
}

export interface Place extends FunctionFacts {
  readonly fn: Func;
  /** Position of its first instruction. */
  readonly start: number;
  /** Number of its attributes: code moves together only where they are equal. */
  readonly attributes: number;
}

/** Instructions of a function, operands before what uses them. */
export interface SpreadPiece {
  readonly fn: Func;
  readonly facts: FunctionFacts;
  readonly insts: readonly Inst[];
  /** How often each instruction of the function is an operand, by number. */
  readonly uses: Int32Array;
}

export class Sequence {
  readonly insts: Inst[] = [];
  readonly symbols: Int32Array;
  /** Number of the place of each position. */
  readonly placeAt: Int32Array;
  /** Positions of the first and last users of each instruction. */
  readonly firstUser: Int32Array;
  readonly lastUser: Int32Array;
  /** Sums of the estimated bytes before each position of what moves, from 0 on after what does not. */
  readonly bytesBefore: Float64Array;
  /** Sums of the bytes by which these may be too high because one number stands for much. */
  private readonly errorBefore: Float64Array;
  /** 1 for what becomes a call. */
  readonly isRealCall: Uint8Array;
  /** Calls before each position of what moves, from 0 on after what does not. */
  private readonly callsBefore: Int32Array;
  /** Operands of all positions, one after the other: where each position's begin. */
  readonly operandsAt: Int32Array;
  /** By operand: position of what it is the result of; -1 if it is none. */
  readonly definitions: Int32Array;
  /** By operand: a number for what it is, if it is a constant that a parameter may stand for; else below 0. */
  readonly constantAt: Int32Array;
  readonly places: Place[] = [];
  /** By start: hashes of the structures of pieces of every length up to some. */
  private readonly structures: (Int32Array | undefined)[] = [];

  private constructor(
    private readonly operations: Operations,
    readonly costs: TargetCosts,
    count: number,
    operands: number,
    private readonly called: ReadonlySet<Func> | null,
  ) {
    this.structures.length = count;
    this.symbols = new Int32Array(count).fill(fixed);
    this.placeAt = new Int32Array(count);
    this.firstUser = new Int32Array(count).fill(count);
    this.lastUser = new Int32Array(count).fill(-1);
    this.bytesBefore = new Float64Array(count + 1);
    this.errorBefore = new Float64Array(count + 1);
    this.isRealCall = new Uint8Array(count);
    this.callsBefore = new Int32Array(count + 1);
    this.operandsAt = new Int32Array(count + 1);
    this.definitions = new Int32Array(operands).fill(-1);
    this.constantAt = new Int32Array(operands).fill(varies);
  }

  /** @param called only code that calls one of these is told apart; null: all code is */
  static ofFunctions(
    module: Module,
    costs: TargetCosts,
    functions: readonly Func[],
    called: ReadonlySet<Func> | null,
  ): Sequence {
    let count = 0;
    let operands = 0;
    for (const fn of functions) {
      const body = fn.view();
      count += body.renumber();
      for (const { insts } of body.blocks) for (const inst of insts) operands += inst.operands.length;
    }
    const sequence = new Sequence(new Operations(module), costs, count, operands, called);
    for (const fn of functions) sequence.add(fn);
    return sequence;
  }

  /** Pieces that are spread over blocks, each as if it were straight, with nothing around them. */
  static ofPieces(operations: Operations, costs: TargetCosts, pieces: readonly SpreadPiece[]): Sequence {
    let count = 0;
    let operands = 0;
    for (const { insts } of pieces) {
      count += insts.length + 1;
      for (const inst of insts) operands += inst.operands.length;
    }
    const sequence = new Sequence(operations, costs, count, operands, null);
    for (const piece of pieces) sequence.addSpread(piece);
    return sequence;
  }

  private addSpread({ fn, insts: added, uses, facts }: SpreadPiece): void {
    const { insts, isRealCall, firstUser, lastUser, definitions } = this;
    const from = insts.length;
    const at = new Map<Inst, number>();
    for (const inst of added) {
      at.set(inst, insts.length);
      if (isCall(inst) && intrinsicOf(inst.operands[0]!) === null) isRealCall[insts.length] = 1;
      insts.push(inst);
    }
    const inside = new Int32Array(added.length);
    let next = this.operandsAt[from]!;
    for (let k = 0; k < added.length; k++) {
      const { operands } = added[k]!;
      for (let i = 0; i < operands.length; i++, next++) {
        const operand = operands[i]!;
        const definition = operand.valueKind === "inst" ? at.get(operand) : undefined;
        if (definition === undefined) continue;
        definitions[next] = definition;
        inside[definition - from]!++;
        if (from + k < firstUser[definition]!) firstUser[definition] = from + k;
        if (from + k > lastUser[definition]!) lastUser[definition] = from + k;
      }
      this.operandsAt[from + k + 1] = next;
    }
    const end = this.symbols.length;
    for (let k = 0; k < added.length; k++)
      if (uses[added[k]!.id]! > inside[k]!) {
        firstUser[from + k] = -1;
        lastUser[from + k] = end;
      }
    this.addPiece(from, insts.length);
    this.placeAt.fill(this.places.length, from, insts.length + 1);
    // After all that there is: of what is outside of pieces nothing is known.
    this.places.push({ fn, start: end, attributes: this.operations.attributesOf(fn), ...facts });
    // One that belongs to none is between two.
    insts.push(added[0]!);
    this.operandsAt[insts.length] = next;
  }

  private add(fn: Func): void {
    const { insts, isRealCall } = this;
    const start = insts.length;
    const pieces: (readonly [number, number])[] = [];
    let hasShown = takesCopies(fn);
    let hasCalls = false;
    for (const { insts: added } of fn.view().blocks) {
      let from = insts.length;
      for (let i = 0; i < added.length; i++) {
        const inst = added[i]!;
        const at = insts.length;
        insts.push(inst);
        let moves = this.addUses(inst, at, start);
        switch (motions[inst.op]) {
          case Motion.Call: {
            const call = inst as CallInst;
            const intrinsic = intrinsicOf(call.operands[0]!);
            hasCalls = true;
            if (intrinsic === null) isRealCall[at] = 1;
            else if (showsFrame(call)) hasShown = true;
            if (moves) moves = callMayMove(call, intrinsic);
            break;
          }
          case Motion.Never:
            moves = false;
            if (inst.op === Op.Alloca) hasShown = true;
            else if (isCall(inst)) {
              hasCalls = true;
              if (intrinsicOf(inst.operands[0]!) === null) isRealCall[at] = 1;
              else if (showsFrame(inst)) hasShown = true;
            }
            break;
        }
        if (moves) continue;
        if (at - from > 1) pieces.push([from, at]);
        from = at + 1;
      }
    }
    // After all uses are known.
    for (const [from, to] of pieces) this.addPiece(from, to);
    this.placeAt.fill(this.places.length, start, insts.length);
    const attributes = this.operations.attributesOf(fn);
    this.places.push({ fn, start, attributes, showsFrame: hasShown, hasCalls });
  }

  /** @returns whether the instruction may move, by its operands */
  private addUses({ operands }: Inst, at: number, start: number): boolean {
    const { definitions, firstUser, lastUser } = this;
    let next = this.operandsAt[at]!;
    let moves = true;
    for (let i = 0; i < operands.length; i++, next++) {
      const operand = operands[i]!;
      if (operand.valueKind === "inst") {
        const definition = start + operand.id;
        definitions[next] = definition;
        if (at < firstUser[definition]!) firstUser[definition] = at;
        if (at > lastUser[definition]!) lastUser[definition] = at;
      } else if (!mayMoveWith(operand)) moves = false;
    }
    this.operandsAt[at + 1] = next;
    return moves;
  }

  /** Tells the operations between two that do not move apart, if there are enough to save anything. */
  private addPiece(from: number, to: number): void {
    const { insts, called, bytesBefore, errorBefore, callsBefore, isRealCall, costs } = this;
    const { symbols, operations, constantAt, operandsAt } = this;
    if (called !== null && !this.calls(from, to - from, called)) return;
    for (let at = from; at < to; at++) {
      const inst = insts[at]!;
      const bytes = this.changesMemory(from, at)
        ? costs.instructions.change - (bytesBefore[at]! - bytesBefore[at - 2]!)
        : bytesOf(inst, costs);
      bytesBefore[at + 1] = bytesBefore[at]! + bytes;
      errorBefore[at + 1] = errorBefore[at]! + errorOfBytes(inst, bytes, costs.instructions);
      callsBefore[at + 1] = callsBefore[at]! + isRealCall[at]!;
    }
    if (bytesBefore[to]! < costs.calls.call + leastDoubt) return;
    for (let at = from; at < to; at++)
      symbols[at] = operations.numberOf(insts[at]!, constantAt, operandsAt[at]!);
  }

  /** Whether a store leaves the result of an operation where an operand of that was just loaded from, and neither is used elsewhere. */
  private changesMemory(from: number, at: number): boolean {
    const { insts, firstUser, lastUser } = this;
    if (at - from < 2) return false;
    const [load, operation, store] = [insts[at - 2]!, insts[at - 1]!, insts[at]!];
    if (store.op !== Op.Store || store.operands[0] !== operation) return false;
    if (load.op !== Op.Load || load.operands[0] !== store.operands[1]) return false;
    const place = changes[operation.op];
    const isThere = operation.operands[0] === load || (place === "either" && operation.operands[1] === load);
    return (
      place !== undefined &&
      isThere &&
      lastUser[at - 2] === at - 1 &&
      firstUser[at - 1] === at &&
      lastUser[at - 1] === at
    );
  }

  /** Estimated bytes of a piece. */
  bytes(start: number, length: number): number {
    return this.bytesBefore[start + length]! - this.bytesBefore[start]!;
  }

  /** Bytes by which the estimate for a piece may be too high, since it has operations that the model hardly knows. */
  error(start: number, length: number): number {
    return this.errorBefore[start + length]! - this.errorBefore[start]!;
  }

  /** Calls in a piece, of functions that there are. */
  countCalls(start: number, length: number): number {
    return this.callsBefore[start + length]! - this.callsBefore[start]!;
  }

  /** Whether one of these functions is called in a piece. */
  calls(start: number, length: number, functions: ReadonlySet<Func>): boolean {
    for (let at = start; at < start + length; at++) {
      if (this.isRealCall[at] === 0) continue;
      const callee = this.insts[at]!.operands[0]!;
      if (callee.valueKind === "global" && callee.kind === "function" && functions.has(callee)) return true;
    }
    return false;
  }

  /** Position of what an operand of the instruction at a position is the result of; -1 if it is none. */
  definition(at: number, slot: number): number {
    return this.definitions[this.operandsAt[at]! + slot]!;
  }

  /** Whether an operand may be a parameter, of what moves. Constants that may not are part of what the operation is. */
  isInput(at: number, slot: number): boolean {
    return this.constantAt[this.operandsAt[at]! + slot] !== partOfOperation;
  }

  /** Number of the constant that all pieces have at a place; below 0: they differ, or have none. */
  commonConstant(starts: Int32Array, k: number, slot: number): number {
    const { operandsAt, constantAt } = this;
    const number = constantAt[operandsAt[starts[0]! + k]! + slot]!;
    if (number < 0) return number;
    for (let i = 1; i < starts.length; i++)
      if (constantAt[operandsAt[starts[i]! + k]! + slot] !== number) return varies;
    return number;
  }

  /**
   * A hash of where the operands of a piece come from, and what code it is: equal for pieces that are the same function of
   * their inputs. Hashes of shorter pieces are kept on the way, since repeats are nested.
   */
  structureOf(start: number, length: number): number {
    let known = this.structures[start];
    let from = known === undefined ? 0 : known.length;
    if (length > from) {
      const longer = new Int32Array(length);
      if (known !== undefined) longer.set(known);
      let hash = from === 0 ? this.places[this.placeAt[start]!]!.attributes : known![from - 1]!;
      const { operandsAt, definitions } = this;
      let next = operandsAt[start + from]!;
      for (; from < length; from++) {
        for (const end = operandsAt[start + from + 1]!; next < end; next++) {
          const inside = definitions[next]! - start;
          hash = mix(hash, inside >= 0 && inside < from ? inside : -1);
        }
        longer[from] = hash;
      }
      this.structures[start] = known = longer;
    }
    return known![length - 1]!;
  }

  /** Whether two pieces have one structure, by which pieces are put into groups. */
  haveOneStructure(a: number, b: number, length: number): boolean {
    const { operandsAt, definitions, places, placeAt } = this;
    if (places[placeAt[a]!]!.attributes !== places[placeAt[b]!]!.attributes) return false;
    let one = operandsAt[a]!;
    let two = operandsAt[b]!;
    for (let k = 0; k < length; k++)
      for (const end = operandsAt[a + k + 1]!; one < end; one++, two++) {
        const inside = definitions[one]! - a;
        const other = definitions[two]! - b;
        if (inside !== other && ((inside >= 0 && inside < k) || (other >= 0 && other < k))) return false;
      }
    return true;
  }

  /** A hash of the constants among the inputs. */
  constantsOf(start: number, length: number): number {
    const { operandsAt, constantAt } = this;
    let hash = 0;
    for (let at = operandsAt[start]!; at < operandsAt[start + length]!; at++) {
      const number = constantAt[at]!;
      if (number !== partOfOperation) hash = mix(hash, number);
    }
    return hash;
  }
}
