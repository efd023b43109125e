/** Branches on conditions, and to addresses. */
import { type MBlock, MInst, RegOperand } from "../../codegen/mir.js";
import type { Inst } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { type Cc, invert, X } from "../isa/ops.js";
import { maskOf, R11 } from "../isa/registers.js";
import { invertCondition, selectCondition } from "./condition.js";
import type { Selector } from "./selector.js";
import { foldLoad, registerSource } from "./source.js";

/** Ends a block: to `yes` when the bit is set (xor `negate`), else to `no`. */
export function branchOn(s: Selector, bit: Value, negate: boolean, yes: MBlock, no: MBlock): void {
  const plain = selectCondition(s, bit);
  const condition = negate ? invertCondition(plain) : plain;
  if (condition.second < 0) s.jumpIf(condition.first, yes);
  else if (condition.and) {
    s.jumpIf(invert(condition.first), no);
    s.jumpIf(invert(condition.second as Cc), no);
    s.jump(yes);
    return;
  } else {
    s.jumpIf(condition.first, yes);
    s.jumpIf(condition.second as Cc, yes);
  }
  s.jump(no);
}

export function selectIndirectBranch(s: Selector, inst: Inst, targets: readonly MBlock[]): void {
  const machine = new MInst(X.JmpIndirect, 8);
  const target = inst.operands[0]!;
  const mark = s.thunkMark("branches");
  // A thunk takes the address in its register.
  const mem = mark === 0 ? foldLoad(s, target, 8) : null;
  if (mark !== 0) {
    machine.marks = mark;
    machine.uses = [new RegOperand(s.reg(target), maskOf(R11))];
  } else if (mem !== null) machine.mem = mem;
  else machine.uses = [registerSource(s, target, 8)];
  machine.targets = targets;
  s.emit(machine);
}
