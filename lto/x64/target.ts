/** x86-64 as target-neutral code generation sees it. */
import type { Target } from "../codegen/target.js";
import { x64Registers } from "./allocation.js";
import { x64BaseRegisters } from "./base-register.js";
import { x64Costs } from "./costs.js";
import { entryState, movesStack, release, stateBefore, step, tableBytes } from "./frame/cfa.js";
import { substitutes, withArgument } from "./frame/convention.js";
import { wantedExtras } from "./frame/extra-registers.js";
import { decideFrame, insertFrame, reliesOnAlignment } from "./frame/frame.js";
import { reservedRegisters } from "./frame/frame-registers.js";
import { findTailCalls, formTailCalls, untieTailCalls } from "./frame/tail-calls.js";
import { harden } from "./harden.js";
import { x64Instructions } from "./isa/facts.js";
import { X } from "./isa/ops.js";
import { nativeVectors } from "./legalize/native-vectors.js";
import { x64Lowering } from "./lowering.js";
import { x64Outlining } from "./outlining.js";
import { runPeepholes } from "./peephole/index.js";
import { rules } from "./peephole/rules/index.js";
import { x64Requests } from "./requests.js";
import { selectFunction } from "./select/index.js";

export const x64Target: Target = {
  name: "x64",
  registers: x64Registers,
  instructions: x64Instructions,
  frame: {
    reserved: reservedRegisters,
    reliesOnAlignment,
    decide: decideFrame,
    insert: insertFrame,
    entryState,
    stateBefore,
    step,
    release,
    movesStack,
    tableBytes,
    directive: X.Cfi,
  },
  conventions: {
    substituteIsLong: substitutes.map((register) => register >= 8),
    bytes: { move: 2, save: 2, extraRegister: 5, lostTailCall: 6 },
    withArgument,
    wantedExtras,
  },
  outlining: x64Outlining,
  lowering: x64Lowering,
  costs: x64Costs,
  requests: x64Requests,
  boundary: nativeVectors,
  base: x64BaseRegisters,
  select: (legal, order, layout, goal, options) =>
    selectFunction(x64Target, legal, order, layout, goal, options),
  untieTailCalls,
  findTailCalls,
  formTailCalls,
  peepholes: runPeepholes,
  rules,
  harden,
};
