/**
 * The peepholes after allocation and frame: rules (`rules/`) that an engine applies to blocks, and then across edges.
 * Linear in the function up to bounded look-back.
 * Breaks if: run before the frame pass (operands must be registers and addressed memory).
 */
import { postLiveness } from "../../codegen/late/liveness.js";
import type { RuleUse } from "../../codegen/late/rule-use.js";
import type { MBlock, MFunction } from "../../codegen/mir.js";
import { hasRegister, type RegisterSet } from "../../codegen/register-set.js";
import { flagsRegister } from "../isa/effects.js";
import { runEdgeRules } from "./edge-engine.js";
import { Engine } from "./engine.js";
import { ruleTables } from "./tables.js";

/** One for all functions of the thread: it keeps nothing of them. */
const engine = new Engine();

/**
 * Runs all peepholes; edges must be up to date.
 * @param redZone memory below rsp is in use
 * @param preserved registers that callers rely on although the convention does not preserve them
 * @param timeIn bytes that an instruction in a block is worth which is executed less
 */
export function runPeepholes(
  mf: MFunction,
  redZone: boolean,
  preserved: RegisterSet,
  use: RuleUse,
  timeIn: (block: MBlock) => number = () => 0,
): void {
  if (mf.goal === "none") return;
  const liveness = postLiveness(mf, preserved);
  const tables = ruleTables(use.settings.skipRule);
  // Without a frame pointer, asynchronous tables say of every push and pop where the CFA is: 3 bytes each.
  const pushes = !redZone && (mf.unwind !== "async" || mf.framePointer);
  engine.begin(mf, pushes, use, timeIn);
  const { blocks } = mf;
  const { liveOut } = liveness;
  for (let b = 0; b < blocks.length; b++) {
    const block = blocks[b]!;
    engine.forward(block, hasRegister(liveOut[block.id]!, flagsRegister), tables);
  }
  for (let b = 0; b < blocks.length; b++)
    engine.backward(blocks[b]!, liveOut[blocks[b]!.id]!, liveness, tables);
  runEdgeRules(mf, preserved, liveness, engine, tables);
}
