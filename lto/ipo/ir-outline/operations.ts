/**
 * Numbers for operations and for constants: equal ones have equal numbers, counted from 0 in the order of appearance.
 *
 * An operation is spelled as a row of integers, which a hash table of packed arrays finds again: most instructions of a
 * program are looked up here once, so nothing is allocated for one that is known. Expected linear in the spelled words.
 * Breaks if: two operations that differ have one spelling. It tells its own parts apart by their order and lengths.
 */
import { codeAttributes } from "../../analysis/made-functions.js";
import type { AttributeList, AttributeSet } from "../../ir/attributes.js";
import { ConstantNumbers } from "../../ir/constant-numbers.js";
import { mix } from "../../ir/hash.js";
import { Flag, type Inst, isCall, Op } from "../../ir/instructions.js";
import type { Func, Module } from "../../ir/module.js";
import { isConstant } from "../../ir/values.js";
import { essentialText } from "../icf/attributes.js";
import { mayVary } from "../merge-similar-functions/slots.js";

/** Instead of the number of a constant: no parameter stands for it. */
export const partOfOperation = -2;

/** Whether an operand that is a constant may be a parameter. */
const isInput = (inst: Inst, slot: number): boolean =>
  // Callees are known at calls or not.
  !(slot === 0 && isCall(inst)) && mayVary(inst, slot);

export class Operations {
  private key = new Int32Array(64);
  private length = 0;
  /** Spellings of all that are known, one after the other, and by number where each ends and what its hash is. */
  private spelled = new Int32Array(4096);
  private readonly ends: number[] = [];
  private readonly hashes: number[] = [];
  /** Open addressing: numbers plus 1; 0 where there is none. */
  private slots = new Int32Array(2048);
  private readonly words = new Map<string, number>();
  private readonly attributes = new Map<AttributeList, number>();
  private readonly ofFunctions = new Map<AttributeSet, number>();

  private readonly constants: ConstantNumbers;

  constructor(module: Module) {
    this.constants = new ConstantNumbers(module);
  }

  /**
   * The number of what an instruction does.
   * @param constantAt receives, from `first` on, a number for each operand that is a constant and may be a parameter, and
   *   `partOfOperation` for those that may not
   */
  numberOf(inst: Inst, constantAt: Int32Array | null, first: number): number {
    this.spell(inst);
    const { operands } = inst;
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      if (!isConstant(operand)) continue;
      const isPart = !isInput(inst, i);
      const number = this.constants.numberOf(operand);
      if (constantAt !== null) constantAt[first + i] = isPart ? partOfOperation : number;
      if (!isPart) continue;
      this.add(i);
      this.add(number);
    }
    return this.find();
  }

  /** Equal for functions between which code may move. */
  attributesOf({ attributes: { fn } }: Func): number {
    let number = this.ofFunctions.get(fn);
    if (number === undefined) this.ofFunctions.set(fn, (number = this.numberOfWord(codeAttributes(fn))));
    return number;
  }

  /** All but the constants. */
  private spell(inst: Inst): void {
    this.length = 0;
    const { op } = inst;
    this.add(op);
    this.add(inst.type.id);
    if (isCall(inst)) {
      const { functionType, callingConvention, argumentCount, attributes } = inst.data;
      this.add(functionType.id);
      this.add(callingConvention);
      this.add(argumentCount);
      this.add(this.numberOfAttributes(attributes));
      return;
    }
    const { operands } = inst;
    this.add(operands.length);
    for (let i = 0; i < operands.length; i++) this.add(operands[i]!.type.id);
    switch (op) {
      case Op.Load:
      case Op.Store:
      case Op.AtomicRMW:
      case Op.CmpXchg: {
        const { align, ordering, scope } = inst.data;
        // A power of two up to 2^32, which becomes 0.
        this.add(align | 0);
        this.add(ordering === "not_atomic" ? -1 : this.numberOfWord(ordering));
        this.add(scope === "" ? -1 : this.numberOfWord(scope));
        this.add(inst.flags & Flag.Volatile);
        if (inst.op === Op.AtomicRMW) this.add(this.numberOfWord(inst.data.rmw));
        if (inst.op === Op.CmpXchg) {
          this.add(this.numberOfWord(inst.data.failureOrdering));
          this.add(inst.data.weak ? 1 : 0);
        }
        break;
      }
      case Op.GetElementPtr:
        this.add(inst.data.elementType.id);
        break;
      case Op.ICmp:
      case Op.FCmp:
        this.add(this.numberOfWord(inst.data));
        break;
      case Op.Switch:
        this.add(inst.data.length);
        for (const value of inst.data) this.add(this.constants.numberOf(value));
        break;
      case Op.ShuffleVector:
      case Op.ExtractValue:
      case Op.InsertValue:
        this.add(inst.data.length);
        for (const index of inst.data) this.add(index);
        break;
    }
  }

  /** The number of what was spelled. */
  private find(): number {
    const { key, length, ends, hashes } = this;
    let hash = length;
    for (let i = 0; i < length; i++) hash = mix(hash, key[i]!);
    if (ends.length * 2 >= this.slots.length) this.widen();
    const mask = this.slots.length - 1;
    let slot = hash & mask;
    for (let known = this.slots[slot]!; known !== 0; known = this.slots[slot]!) {
      if (hashes[known - 1] === hash && this.isSpelled(known - 1)) return known - 1;
      slot = (slot + 1) & mask;
    }
    const number = ends.length;
    const begin = number === 0 ? 0 : ends[number - 1]!;
    if (begin + length > this.spelled.length) {
      const longer = new Int32Array(2 * (begin + length));
      longer.set(this.spelled);
      this.spelled = longer;
    }
    for (let i = 0; i < length; i++) this.spelled[begin + i] = key[i]!;
    ends.push(begin + length);
    hashes.push(hash);
    this.slots[slot] = number + 1;
    return number;
  }

  private isSpelled(number: number): boolean {
    const { key, length, spelled } = this;
    const begin = number === 0 ? 0 : this.ends[number - 1]!;
    if (this.ends[number]! - begin !== length) return false;
    for (let i = 0; i < length; i++) if (spelled[begin + i] !== key[i]) return false;
    return true;
  }

  private widen(): void {
    const slots = new Int32Array(this.slots.length * 2);
    const mask = slots.length - 1;
    for (let number = 0; number < this.hashes.length; number++) {
      let slot = this.hashes[number]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.slots = slots;
  }

  private add(word: number): void {
    if (this.length === this.key.length) {
      const longer = new Int32Array(this.length * 2);
      longer.set(this.key);
      this.key = longer;
    }
    this.key[this.length++] = word;
  }

  private numberOfWord(word: string): number {
    let number = this.words.get(word);
    if (number === undefined) this.words.set(word, (number = this.words.size));
    return number;
  }

  /** Equal for calls that may have attributes in common. */
  private numberOfAttributes(attributes: AttributeList): number {
    let number = this.attributes.get(attributes);
    if (number === undefined)
      this.attributes.set(attributes, (number = this.numberOfWord(essentialText(attributes))));
    return number;
  }
}
