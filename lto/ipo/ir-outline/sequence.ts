/**
 * The instructions of a program as one sequence of symbols: equal ones are the same operation.
 *
 * Two instructions are the same operation if their opcodes, types, predicates, direct callees and what must be a constant
 * are the same; other operands count only where they come from, which the sequence remembers by position. What must not
 * move has a symbol that is equal to nothing, and ends of blocks are such. Linear in the operands.
 */
import { hashConstant, mix } from "../../ir/hash.js";
import { type BodyView, Flag, type Inst, isCall, Op } from "../../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import { type Constant, isConstant, sameConstant } from "../../ir/values.js";
import { bytesOf } from "../inline/body-size.js";
import { mayVary } from "../merge-functions/slots.js";
import { codeAttributes, mayMove } from "./legality.js";

/** Equal to nothing. */
const fixed = -1;

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
  /** Has variables in its frame, or copies made for it. */
  readonly hasAllocas: boolean;
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
  readonly places: Place[] = [];
  private readonly constants: ConstantNumbers;
  private readonly known = new Map<string, number>();
  private readonly attributeNumbers = new Map<string, number>();

  /** @param isLeftAlone blocks that are to stay as they are, by number */
  constructor(
    module: Module,
    functions: readonly Func[],
    isLeftAlone: (fn: Func, body: BodyView) => ((block: number) => boolean) | null,
  ) {
    this.constants = new ConstantNumbers(module);
    const bodies = functions.map((fn) => fn.view());
    let count = 0;
    for (const body of bodies) count += body.renumber();
    this.symbols = new Int32Array(count);
    this.placeAt = new Int32Array(count);
    this.firstUser = new Int32Array(count).fill(count);
    this.lastUser = new Int32Array(count).fill(-1);
    this.bytesBefore = new Float64Array(count + 1);
    functions.forEach((fn, i) => {
      this.add(fn, bodies[i]!, isLeftAlone(fn, bodies[i]!));
    });
  }

  private add(fn: Func, body: BodyView, isLeftAlone: ((block: number) => boolean) | null): void {
    const start = this.insts.length;
    const place = this.places.length;
    let hasAllocas = fn.args.some((_, i) => fn.attributes.parameter(i).has("byval"));
    let hasCalls = false;
    for (const block of body.blocks) {
      const stays = isLeftAlone?.(block.id) === true;
      for (const inst of block.insts) {
        const at = this.insts.length;
        this.insts.push(inst);
        this.placeAt[at] = place;
        this.bytesBefore[at + 1] = this.bytesBefore[at]! + bytesOf(inst);
        this.symbols[at] = stays || !mayMove(inst) ? fixed : this.symbolOf(inst);
        if (inst.op === Op.Alloca) hasAllocas = true;
        else if (isCall(inst)) hasCalls = true;
        for (const operand of inst.operands) {
          if (operand.valueKind !== "inst") continue;
          const definition = start + operand.id;
          if (at < this.firstUser[definition]!) this.firstUser[definition] = at;
          if (at > this.lastUser[definition]!) this.lastUser[definition] = at;
        }
      }
    }
    const text = codeAttributes(fn.attributes.fn);
    let attributes = this.attributeNumbers.get(text);
    if (attributes === undefined) this.attributeNumbers.set(text, (attributes = this.attributeNumbers.size));
    this.places.push({ fn, body, start, attributes, hasAllocas, hasCalls });
  }

  /** Estimated bytes of a piece. */
  bytes(start: number, length: number): number {
    return this.bytesBefore[start + length]! - this.bytesBefore[start]!;
  }

  /** Position of what an operand of the instruction at a position is the result of; -1 if it is none. */
  definition(at: number, slot: number): number {
    const operand = this.insts[at]!.operands[slot]!;
    return operand.valueKind === "inst" ? this.places[this.placeAt[at]!]!.start + operand.id : -1;
  }

  private symbolOf(inst: Inst): number {
    const key = this.keyOf(inst);
    let symbol = this.known.get(key);
    if (symbol === undefined) this.known.set(key, (symbol = this.known.size));
    return symbol;
  }

  private keyOf(inst: Inst): string {
    const { op, operands } = inst;
    let key = `${op},${inst.type.id}`;
    if (isCall(inst))
      key += `,${inst.data.functionType.id},${inst.data.callingConvention},${inst.data.argumentCount}`;
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
      if (isConstant(operand) && !isInput(inst, i)) key += `;${i}=${this.constants.numberOf(operand)}`;
    }
    return key;
  }
  /** A number for what an input is, as far as it is known without its place; -1 for results and arguments. */
  constantNumber(at: number, slot: number): number {
    const operand = this.insts[at]!.operands[slot]!;
    return isConstant(operand) ? this.constants.numberOf(operand) : -1;
  }
}

/** Whether an operand may be a parameter. Constants that may not are part of what the operation is. */
export function isInput(inst: Inst, slot: number): boolean {
  const operand = inst.operands[slot]!;
  if (!isConstant(operand)) return true;
  // Callees are known at calls or not.
  return !(isCall(inst) && slot === 0) && mayVary(inst, slot);
}

/** A hash of where the operands of a piece come from: equal for pieces that are the same function of their inputs. */
export function structureOf(sequence: Sequence, start: number, length: number): number {
  const { insts, places, placeAt } = sequence;
  const place = places[placeAt[start]!]!;
  let hash = place.attributes;
  const first = place.start;
  for (let k = 0; k < length; k++) {
    const { operands } = insts[start + k]!;
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      const inside = operand.valueKind === "inst" ? first + operand.id - start : -1;
      hash = mix(hash, inside >= 0 && inside < k ? inside : -1);
    }
  }
  return hash;
}
