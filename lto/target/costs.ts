/**
 * What code costs on a machine, as far as decisions ask before there is code: in bytes, estimates unless they say otherwise.
 * One value of this type belongs to each target; passes get it with their context. Whatever depends on a machine's
 * encodings or conventions and is asked outside of its own folder stands here, and nowhere else.
 */
import type { AddressCosts, ConstantCosts } from "./addresses.js";
import type { BranchCosts } from "./branches.js";
import type { CallCosts } from "./calls.js";
import type { FrameCosts } from "./frames.js";
import type { InstructionCosts } from "./instructions.js";
import type { SwitchCosts } from "./switches.js";

export interface TargetCosts {
  readonly addresses: AddressCosts;
  readonly constants: ConstantCosts;
  readonly instructions: InstructionCosts;
  readonly calls: CallCosts;
  readonly frames: FrameCosts;
  readonly branches: BranchCosts;
  /** By what the function is compiled for. */
  readonly switches: Readonly<Record<"minsize" | "size" | "speed", SwitchCosts>>;
}
