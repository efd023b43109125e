/** Slots in the frame: those of allocas that are there once, and those of values of types that no register holds. */
import type { DataLayout } from "../../ir/data-layout.js";
import type { Inst } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { MFunction } from "../mir.js";

export class ValueSlots {
  /** By `Inst.id`, of allocas and values alike; -1 if there is none. */
  readonly slots: Int32Array;
  /** Of arguments that lie in memory, by their index. */
  readonly argumentSlots: number[] = [];
  /** Of members of instructions of several results, by "inst.index", and of what phis are passed, by "inst.in". */
  private readonly others = new Map<string, number>();

  constructor(
    private readonly mf: MFunction,
    private readonly layout: DataLayout,
    instructions: number,
  ) {
    this.slots = new Int32Array(instructions).fill(-1);
  }

  private make(type: Type): number {
    return this.mf.newSlot(this.layout.allocSize(type), this.layout.abiAlign(type));
  }

  /** Of an instruction or argument, made on first demand. */
  of(value: Value): number {
    if (value.valueKind === "inst") {
      if (this.slots[value.id]! < 0) this.slots[value.id] = this.make(value.type);
      return this.slots[value.id]!;
    }
    if (value.valueKind === "argument") return this.argumentSlots[value.index]!;
    throw new Error("a slot of something that is neither an instruction nor an argument");
  }

  /** Of one of several results. */
  ofPart(inst: Inst, index: number): number {
    return this.other(`${inst.id}.${index}`, inst.type.elements[index]!);
  }

  /** What predecessors write a phi's value to; another one than the phi's own, so that phis may swap. */
  ofIncoming(phi: Inst): number {
    return this.other(`${phi.id}.in`, phi.type);
  }

  private other(key: string, type: Type): number {
    let slot = this.others.get(key);
    if (slot === undefined) {
      slot = this.make(type);
      this.others.set(key, slot);
    }
    return slot;
  }
}
