/**
 * Slots of a caller's frame of which a call gets the address, and what goes with them where the callee is copied: stores of what
 * is passed, loads of what comes back, the address itself. Objects that C++ passes by reference are the usual ones.
 *
 * A slot goes only when nothing has its address any more, so what several calls get is worth its part to each. One that is
 * compared, stored or merged with others stays.
 * One look at the caller as it is when somebody asks first (linear in its body); slots that copies have brought since are
 * not known.
 */
import { type BodyView, type CallInst, type Inst, isCall, isPlainAccess, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import type { Value } from "../../ir/values.js";
import type { TargetCosts } from "../../target/costs.js";
import { bytesOf } from "./body-size.js";

interface SlotUses {
  /** Bytes of the caller's own loads and stores. */
  bytes: number;
  /** Calls that get the address. */
  calls: number;
  stays: boolean;
}

export class ArgumentSlots {
  private known: Map<Inst, SlotUses> | null = null;

  constructor(
    private readonly caller: Func,
    private readonly costs: TargetCosts,
  ) {}

  /**
   * Bytes that go with the slots that a call gets.
   * @param savedBytes of the callee's accesses, by parameter
   */
  bytesOf({ operands }: CallInst, savedBytes: readonly number[]): number {
    const { address, argument } = this.costs.instructions;
    let sum = 0;
    for (let i = 0; i < savedBytes.length; i++) {
      const slot = savedBytes[i]! > 0 ? slotOf(operands[i + 1]!) : null;
      if (slot === null) continue;
      this.known ??= usesOfSlots(this.caller.view(), this.costs);
      const uses = this.known.get(slot);
      if (uses === undefined || uses.stays) continue;
      sum += (savedBytes[i]! + uses.bytes) / uses.calls + address - argument;
    }
    return sum;
  }
}

/** What the address is in, whatever the offset; null: no slot. */
function slotOf(value: Value): Inst | null {
  let place = value;
  while (place.valueKind === "inst" && place.op === Op.GetElementPtr) {
    for (let i = 1; i < place.operands.length; i++) if (place.operands[i]!.valueKind !== "int") return null;
    place = place.operands[0]!;
  }
  return place.valueKind === "inst" && place.op === Op.Alloca ? place : null;
}

/** Intrinsics that are nothing, or few moves, without the slot. */
const goesWithSlots = /^(?:lifetime|mem)/;

/** Where a plain load or store has its address; -1: it is neither. */
function addressOperand(inst: Inst): number {
  if (inst.op === Op.Load) return isPlainAccess(inst) ? 0 : -1;
  return inst.op === Op.Store && isPlainAccess(inst) ? 1 : -1;
}

function usesOfSlots({ blocks }: BodyView, costs: TargetCosts): Map<Inst, SlotUses> {
  const found = new Map<Inst, SlotUses>();
  const usesOf = (value: Value): SlotUses | null => {
    const slot = slotOf(value);
    if (slot === null) return null;
    let uses = found.get(slot);
    if (uses === undefined) found.set(slot, (uses = { bytes: 0, calls: 0, stays: false }));
    return uses;
  };
  for (const { insts } of blocks)
    for (const inst of insts) {
      const { op, operands } = inst;
      if (op === Op.GetElementPtr && slotOf(inst) !== null) continue;
      if (isCall(inst) && goesWithSlots.test(intrinsicOf(operands[0]!)?.name ?? "")) continue;
      const address = addressOperand(inst);
      operands.forEach((operand, i) => {
        const uses = usesOf(operand);
        if (uses === null) return;
        if (i === address) uses.bytes += bytesOf(inst, costs);
        else if (isCall(inst) && i > 0 && i <= inst.data.argumentCount) uses.calls++;
        else uses.stays = true;
      });
    }
  return found;
}
