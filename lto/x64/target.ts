/** x86-64 as target-neutral code generation sees it. */
import type { Target } from "../codegen/target.js";
import { x64Registers } from "./allocation.js";
import { entryState, movesStack, release, step } from "./frame/cfa.js";
import { decideFrame, insertFrame, reliesOnAlignment } from "./frame/frame.js";
import { reservedRegisters } from "./frame/frame-registers.js";
import { x64Instructions } from "./isa/facts.js";
import { X } from "./isa/ops.js";

export const x64Target: Target = {
  registers: x64Registers,
  instructions: x64Instructions,
  frame: {
    reserved: reservedRegisters,
    reliesOnAlignment,
    decide: decideFrame,
    insert: insertFrame,
    entryState,
    step,
    release,
    movesStack,
    directive: X.Cfi,
  },
};
