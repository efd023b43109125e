/**
 * The instructions of a program as one sequence of symbols: equal ones are the same operation.
 *
 * Two instructions are the same operation if their opcodes, types, predicates, direct callees and what must be a constant
 * are the same; other operands count only where they come from, which the sequence remembers by position. What must not
 * move has a symbol that is equal to nothing, and ends of blocks are such. Linear in the operands.
 */
import type { AttributeList } from "../../ir/attributes.js";
import { hashConstant, mix } from "../../ir/hash.js";
import { type BodyView, Flag, type Inst, isCall, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import { type Constant, isConstant, sameConstant } from "../../ir/values.js";
import { essentialText } from "../fold-functions/attributes.js";
import { bytesOf, errorOfBytes } from "../inline/body-size.js";
import { mayVary } from "../merge-functions/slots.js";
import { codeAttributes, mayMove, showsFrame } from "./legality.js";

/** Equal to nothing. */
const fixed = -1;
/** Among the numbers of constants: results, arguments and what code may not name elsewhere; what no parameter stands for. */
const varies = -1;
const partOfOperation = -2;

/** Constants by contents. */
class ConstantNumbers {
  private readonly byHash = new Map<number, Constant[]>();
  private readonly numbers = new Map<Constant, number>();
  private readonly globals: Map<GlobalValue, number>;
  private count = 0;

  constructor(module: Module) {
    this.globals = new Map(module.globals.map((global, index) => [global, index]));
  }
  numberOf(constant: Constant): number {
    const known = this.numbers.get(constant);
    if (known !== undefined) return known;
    const hash = hashConstant(constant, (global) => this.globals.get(global) ?? -1);
    let list = this.byHash.get(hash);
    if (list === undefined) this.byHash.set(hash, (list = []));
    const same = list.find((other) => sameConstant(other, constant));
    const number = same === undefined ? this.count++ : this.numbers.get(same)!;
    if (same === undefined) list.push(constant);
    this.numbers.set(constant, number);
    return number;
  }
}

export interface Place {
  readonly fn: Func;
  readonly body: BodyView;
  /** Position of its first instruction. */
  readonly start: number;
  /** Number of its attributes: code moves together only where they are equal. */
  readonly attributes: number;
  /** Something of its frame may be reached by address: variables, copies made for it. */
  readonly showsFrame: boolean;
  /** Calls something already. */
  readonly hasCalls: boolean;
}

export class Sequence {
  readonly insts: Inst[] = [];
  readonly symbols: Int32Array;
  /** Number of the place of each position. */
  readonly placeAt: Int32Array;
  /** Positions of the first and last users of each instruction. */
  readonly firstUser: Int32Array;
  readonly lastUser: Int32Array;
  /** Sums of the estimated bytes before each position. */
  readonly bytesBefore: Float64Array;
  /** Sums of the bytes by which these may be too high because one number stands for much. */
  private readonly errorBefore: Float64Array;
  /** 1 for what becomes a call. */
  readonly isRealCall: Uint8Array;
  /** Operands of all positions, one behind the other: where each position's begin. */
  readonly operandsAt: Int32Array;
  /** By operand: position of what it is the result of; -1 if it is none. */
  readonly definitions: Int32Array;
  /** By operand: a number for what it is, if it is a constant that a parameter may stand for; else below 0. */
  private readonly constantAt: Int32Array;
  readonly places: Place[] = [];
  private readonly constants: ConstantNumbers;
  private readonly known = new Map<string, number>();
  private readonly attributeNumbers = new Map<string, number>();
  private readonly attributeKeys = new Map<AttributeList, string>();
  /** By start: hashes of the structures of pieces of every length up to some. */
  private readonly structures: (Int32Array | undefined)[] = [];

  constructor(module: Module, functions: readonly Func[]) {
    this.constants = new ConstantNumbers(module);
    const bodies = functions.map((fn) => fn.view());
    let count = 0;
    let operands = 0;
    for (const body of bodies) {
      count += body.renumber();
      for (const { insts } of body.blocks) for (const inst of insts) operands += inst.operands.length;
    }
    this.structures.length = count;
    this.symbols = new Int32Array(count);
    this.placeAt = new Int32Array(count);
    this.firstUser = new Int32Array(count).fill(count);
    this.lastUser = new Int32Array(count).fill(-1);
    this.bytesBefore = new Float64Array(count + 1);
    this.errorBefore = new Float64Array(count + 1);
    this.isRealCall = new Uint8Array(count);
    this.operandsAt = new Int32Array(count + 1);
    this.definitions = new Int32Array(operands).fill(-1);
    this.constantAt = new Int32Array(operands).fill(varies);
    functions.forEach((fn, i) => {
      this.add(fn, bodies[i]!);
    });
  }

  private add(fn: Func, body: BodyView): void {
    const start = this.insts.length;
    const place = this.places.length;
    let hasShown = fn.args.some((_, i) => fn.attributes.parameter(i).has("byval"));
    let hasCalls = false;
    for (const block of body.blocks) {
      for (const inst of block.insts) {
        const at = this.insts.length;
        this.insts.push(inst);
        this.placeAt[at] = place;
        const bytes = bytesOf(inst);
        this.bytesBefore[at + 1] = this.bytesBefore[at]! + bytes;
        this.errorBefore[at + 1] = this.errorBefore[at]! + errorOfBytes(inst, bytes);
        const moves = mayMove(inst);
        if (showsFrame(inst)) hasShown = true;
        if (isCall(inst)) {
          hasCalls = true;
          if (intrinsicOf(inst.operands[0]!) === null) this.isRealCall[at] = 1;
        }
        this.addOperands(inst, at, start, moves);
        this.symbols[at] = moves ? this.symbolOf(inst, at) : fixed;
      }
    }
    const text = codeAttributes(fn.attributes.fn);
    let attributes = this.attributeNumbers.get(text);
    if (attributes === undefined) this.attributeNumbers.set(text, (attributes = this.attributeNumbers.size));
    this.places.push({ fn, body, start, attributes, showsFrame: hasShown, hasCalls });
  }

  private addOperands(inst: Inst, at: number, start: number, moves: boolean): void {
    const { operands } = inst;
    const first = this.operandsAt[at]!;
    this.operandsAt[at + 1] = first + operands.length;
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      if (operand.valueKind === "inst") {
        const definition = start + operand.id;
        this.definitions[first + i] = definition;
        if (at < this.firstUser[definition]!) this.firstUser[definition] = at;
        if (at > this.lastUser[definition]!) this.lastUser[definition] = at;
      } else if (moves && isConstant(operand))
        this.constantAt[first + i] = isInput(inst, i) ? this.constants.numberOf(operand) : partOfOperation;
    }
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
    let calls = 0;
    for (let at = start; at < start + length; at++) calls += this.isRealCall[at]!;
    return calls;
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

  private symbolOf(inst: Inst, at: number): number {
    const key = this.keyOf(inst, at);
    let symbol = this.known.get(key);
    if (symbol === undefined) this.known.set(key, (symbol = this.known.size));
    return symbol;
  }

  /** Equal for calls that may have attributes in common. */
  private attributesKey(attributes: AttributeList): string {
    let key = this.attributeKeys.get(attributes);
    if (key === undefined) this.attributeKeys.set(attributes, (key = essentialText(attributes)));
    return key;
  }

  private keyOf(inst: Inst, at: number): string {
    const { op, operands } = inst;
    let key = `${op},${inst.type.id}`;
    if (isCall(inst))
      key += `,${inst.data.functionType.id},${inst.data.callingConvention},${inst.data.argumentCount}${this.attributesKey(inst.data.attributes)}`;
    else for (const { type } of operands) key += `,${type.id}`;
    switch (op) {
      case Op.Load:
      case Op.Store:
      case Op.AtomicRMW:
      case Op.CmpXchg: {
        const { align, ordering, scope } = inst.data;
        key += `;${align}${ordering}${scope}${inst.flags & Flag.Volatile}`;
        if (inst.op === Op.AtomicRMW) key += inst.data.rmw;
        if (inst.op === Op.CmpXchg) key += `${inst.data.failureOrdering}${inst.data.weak}`;
        break;
      }
      case Op.GetElementPtr:
        key += `;${inst.data.elementType.id}`;
        break;
      case Op.ICmp:
      case Op.FCmp:
        key += `;${inst.data}`;
        break;
      case Op.ShuffleVector:
      case Op.ExtractValue:
      case Op.InsertValue:
        key += `;${inst.data.join(",")}`;
        break;
    }
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      if (!this.isInput(at, i) && isConstant(operand)) key += `;${i}=${this.constants.numberOf(operand)}`;
    }
    return key;
  }
}

/** Whether an operand may be a parameter. Constants that may not are part of what the operation is. */
function isInput(inst: Inst, slot: number): boolean {
  const operand = inst.operands[slot]!;
  if (!isConstant(operand)) return true;
  // Callees are known at calls or not.
  return !(isCall(inst) && slot === 0) && mayVary(inst, slot);
}
