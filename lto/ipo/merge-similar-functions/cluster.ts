/**
 * Functions that are one code but for constants, and whether one body with parameters is smaller.
 *
 * The bytes of bodies that go are held against what calls pass in addition, what parameters take in the body (where it
 * calls anything they have to be kept somewhere), and the functions that stay as jumps because somebody knows their
 * addresses. Sizes are estimates (`inline/body-size.ts`), so the gain has to be more than what the estimate is off by.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { type BodyView, isCall } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import type { Constant, Value } from "../../ir/values.js";
import type { TargetCosts } from "../../target/costs.js";
import { bytesOf } from "../inline/body-size.js";
import { type Input, Parameters } from "../similar/parameters.js";

/** Parameters beyond which nothing was ever gained. */
const mostParameters = 4;
const mostSlots = 32;
/** Part of the body that the estimate may be off by, and bytes in any case. */
const doubt = 0.12;
const leastGain = 6;

/** An operand of the first member's body in which others differ. */
export interface Slot {
  readonly inst: number;
  readonly operand: number;
  readonly value: Constant;
  /** Bytes by which the instruction is longer with a register. */
  readonly bytes: number;
}
/** Constants of a function where they are not the first member's: by `slotKey`. */
export type Differences = ReadonlyMap<number, Difference>;
export interface Difference {
  readonly slot: Slot;
  readonly value: Constant;
}

export const slotKey = (inst: number, operand: number): number => inst * 256 + operand;

export interface Member {
  readonly fn: Func;
  readonly differences: Differences;
  /** It stays as a jump: its address may be known, or a call of it cannot be changed. */
  readonly staysAsJump: boolean;
  readonly calls: number;
}

/** How a cluster becomes one function. */
export interface MergePlan {
  readonly slots: readonly Slot[];
  /** What stands at each slot. */
  readonly inputs: readonly Input[];
  readonly parameters: Parameters;
  /** Bytes of all functions as they are, and of what would be in their place. */
  readonly before: number;
  readonly after: number;
}

export class Cluster {
  readonly members: Member[] = [];
  readonly bodyBytes: number;
  private readonly callsOthers: boolean;

  constructor(
    readonly first: Func,
    body: BodyView,
    private readonly layout: DataLayout,
    private readonly costs: TargetCosts,
  ) {
    let bytes = 0;
    let calls = false;
    for (const { insts } of body.blocks)
      for (const inst of insts) {
        bytes += bytesOf(inst, costs);
        if (isCall(inst) && intrinsicOf(inst.operands[0]!) === null) calls = true;
      }
    this.bodyBytes = bytes;
    this.callsOthers = calls;
  }

  /** What the members, and perhaps one more, would become; null: they need too many parameters. */
  plan(more: Member | null = null): MergePlan | null {
    const members = more === null ? this.members : [...this.members, more];
    const slots = new Map<number, Slot>();
    for (const { differences } of members)
      for (const [key, { slot }] of differences) if (!slots.has(key)) slots.set(key, slot);
    if (slots.size > mostSlots) return null;
    const { calls: passing, frames, instructions } = this.costs;
    const parameters = new Parameters(this.layout);
    const keys = [...slots.keys()].sort((a, b) => a - b);
    let added = 0;
    const inputs = keys.map((key): Input => {
      const slot = slots.get(key)!;
      const input = parameters.add(
        members.map(({ differences }) => differences.get(key)?.value ?? slot.value),
      );
      added += slot.bytes + (input.kind === "parameter" && input.plus !== 0n ? passing.plus : 0);
      return input;
    });
    if (!this.fits(parameters)) return null;
    const { length } = parameters.list;
    let after =
      this.bodyBytes +
      instructions.function +
      added +
      length * (this.callsOthers ? passing.keptParameter : 1);
    members.forEach(({ calls, staysAsJump }, i) => {
      let passed = 0;
      for (const { values } of parameters.list) passed += passing.pass(values[i]!);
      after += (staysAsJump ? frames.thunk + passed : 0) + calls * passed;
    });
    const before = members.length * (this.bodyBytes + instructions.function);
    const ordered = keys.map((key) => slots.get(key)!);
    return { slots: ordered, inputs, parameters, before, after };
  }

  private fits({ list }: Parameters): boolean {
    if (list.length > mostParameters) return false;
    let integers = 0;
    let floats = 0;
    const take = ({ type }: { readonly type: Value["type"] }): void => {
      if (type.isFloat) floats++;
      else integers++;
    };
    this.first.args.forEach(take);
    list.forEach(take);
    const { calls } = this.costs;
    return integers <= calls.integers && floats <= calls.floats;
  }
}

export const gainOf = ({ before, after }: MergePlan): number => before - after;
/** Whether a gain is beyond doubt. */
export const isWorth = (plan: MergePlan, members: number): boolean =>
  gainOf(plan) >= leastGain + (doubt * plan.before) / members;
