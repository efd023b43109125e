/** Phis: block parameters where registers hold their values, else slots that predecessors write to. */
import { type Block, type Inst, Op } from "../../ir/instructions.js";
import { RegOperand } from "../mir.js";
import type { FunctionSelection } from "./function-selection.js";

/** With one predecessor a phi only renames a value; without users it is not passed. */
const isPassed = (s: FunctionSelection, phi: Inst): boolean =>
  phi.operands.length !== 1 && s.values.uses[phi.id] !== 0;

/** Block parameters for the phis that registers can hold. */
export function makeParameters(s: FunctionSelection, order: readonly Block[]): void {
  for (const block of order) {
    const head = s.blocks.head(block);
    for (const phi of block.insts) {
      if (phi.op !== Op.Phi) break;
      if (!isPassed(s, phi)) continue;
      if (s.livesInMemory(phi.type)) {
        s.slots.of(phi);
        s.slots.ofIncoming(phi);
      } else head.params.push(new RegOperand(s.values.demand(phi)));
    }
  }
}

/** What `from` passes for each register phi of `to`; the others are stored to their slots instead. */
export function phiArguments(s: FunctionSelection, from: Block, to: Block): RegOperand[] {
  const args: RegOperand[] = [];
  for (const phi of to.insts) {
    if (phi.op !== Op.Phi) break;
    if (!isPassed(s, phi)) continue;
    const value = phi.operands[phi.blocks.indexOf(from)]!;
    // The incoming slot is read at the head of the block: see `selectPhi`.
    if (s.livesInMemory(phi.type)) s.storeToSlot(s.slots.ofIncoming(phi), value);
    else args.push(new RegOperand(s.reg(value)));
  }
  return args;
}

/** At its place: only what lies in memory takes code. */
export function selectPhi(s: FunctionSelection, phi: Inst): void {
  if (s.livesInMemory(phi.type) && isPassed(s, phi))
    s.copySlot(s.slots.of(phi), s.slots.ofIncoming(phi), phi.type);
}
