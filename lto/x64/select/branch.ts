/** Terminators: branches, switches, indirect branches. */
import { type MBlock, MInst, RegOperand } from "../../codegen/mir.js";
import { type Block, type Inst, type InstWith, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { type Cc, invert, X } from "../isa/ops.js";
import { maskOf, R11 } from "../isa/registers.js";
import { invertCondition, selectCondition } from "./condition.js";
import type { Selector } from "./selector.js";
import type { Condition } from "./set-condition.js";
import { foldLoad, registerSource } from "./source.js";
import { fp80Slot, popToSlot, push80 } from "./x87.js";

export function connect(from: MBlock, to: MBlock): void {
  if (from.succs.includes(to)) return;
  from.succs.push(to);
  from.succArgs.push([]);
  to.preds.push(from);
}

export function jump(s: Selector, target: MBlock): void {
  const inst = new MInst(X.Jmp, 8);
  inst.targets = [target];
  s.emit(inst);
}

export function jumpIf(s: Selector, cc: Cc, target: MBlock): void {
  const inst = new MInst(X.Jcc, 8);
  inst.condition = cc;
  inst.targets = [target];
  s.emit(inst);
}

/** An unconditional branch, passing the successor's phi values. */
export function selectBr(s: Selector, inst: Inst, block: MBlock): void {
  const target = inst.blocks[0]!;
  const head = s.heads[target.id]!;
  const args = phiArguments(s, inst.parent!, target);
  connect(block, head);
  block.succArgs[0] = args;
  jump(s, head);
}

/** What `from` passes for each register phi of `to`; fp80 phis are stored to their slots instead. */
function phiArguments(s: Selector, from: Block, to: Block): RegOperand[] {
  const args: RegOperand[] = [];
  for (const phi of to.insts) {
    if (phi.op !== Op.Phi) break;
    if (phi.operands.length === 1 || s.uses[phi.id] === 0) continue;
    const value = phi.operands[phi.blocks.indexOf(from)]!;
    if (phi.type.kind === "x86_fp80") {
      // The incoming slot is read at the head of the block: see selectFp80Phi.
      push80(s, value);
      popToSlot(s, incomingSlot(s, phi));
    } else args.push(new RegOperand(s.reg(value)));
  }
  return args;
}

/** Slot that predecessors write an fp80 phi's value to; distinct from the phi's own so that phis may swap. */
export function incomingSlot(s: Selector, phi: Inst): number {
  const key = `${phi.id}.in`;
  let slot = s.partSlots.get(key);
  if (slot === undefined) {
    slot = s.mf.newSlot(16, 16);
    s.partSlots.set(key, slot);
  }
  return slot;
}

export function selectFp80Phi(s: Selector, phi: Inst): void {
  const load = new MInst(X.Fld, 10);
  load.mem = s.slotMem(incomingSlot(s, phi));
  s.emit(load);
  popToSlot(s, fp80Slot(s, phi));
}

/** One test of a conditional branch: control goes to `target` when `value` (xor `negate`) holds. */
interface Test {
  readonly value: Value;
  readonly negate: boolean;
  readonly target: Block;
}

/**
 * A conditional branch. Conjunctions and disjunctions of single-use comparisons become a chain of tests,
 * which is shorter than combining bits; each further test gets a machine block of its own.
 */
export function selectCondBr(s: Selector, inst: Inst, head: MBlock): MBlock[] {
  const [ifTrue, ifFalse] = inst.blocks as [Block, Block];
  const tests: Test[] = [];
  const last = flatten(s, inst.operands[0]!, false, ifTrue, ifFalse, tests);
  const extra = tests.slice(1).map(() => s.newBlockAfter(head));
  for (let i = tests.length - 1; i >= 0; i--) {
    const block = i === 0 ? head : extra[i - 1]!;
    const next = i + 1 < tests.length ? extra[i]! : s.heads[last.id]!;
    const test = tests[i]!;
    let condition = selectCondition(s, test.value);
    if (test.negate) condition = invertCondition(condition);
    branchOn(s, condition, block, s.heads[test.target.id]!, next);
    if (i > 0) {
      s.flush();
      s.settle();
      s.finishBlock(block);
    }
  }
  return extra;
}

/**
 * Appends the tests that decide `value`: control reaches `yes` by one of them, and `no` (returned) when none
 * fires. `x and y` is "not x → no, not y → no, else yes": then the roles of the targets are exchanged.
 */
function flatten(s: Selector, value: Value, negate: boolean, yes: Block, no: Block, tests: Test[]): Block {
  const inst = s.resolve(value);
  if (s.optimize && inst.valueKind === "inst" && s.uses[inst.id] === 1 && s.vregs[inst.id]! < 0) {
    if (inst.op === Op.Xor && inst.operands[1]!.valueKind === "int" && inst.operands[1]!.num !== 0)
      return flatten(s, inst.operands[0]!, !negate, yes, no, tests);
    const parts = logicalParts(inst);
    if (parts?.values.every((v) => isTest(s, v)) && tests.length < 4) {
      // De Morgan: a negated conjunction is a disjunction of negations.
      const disjunction = parts.or !== negate;
      if (disjunction) {
        for (const part of parts.values) tests.push({ value: part, negate, target: yes });
        return no;
      }
      for (const part of parts.values) tests.push({ value: part, negate: !negate, target: no });
      return yes;
    }
  }
  tests.push({ value: inst, negate, target: yes });
  return no;
}

/** Operands of an i1 and/or, or of the select that means the same without evaluating poison. */
function logicalParts(inst: Inst): { values: readonly Value[]; or: boolean } | null {
  if (inst.type.bits !== 1) return null;
  if (inst.op === Op.And || inst.op === Op.Or) return { values: inst.operands, or: inst.op === Op.Or };
  if (inst.op !== Op.Select) return null;
  const [c, a, b] = inst.operands as [Value, Value, Value];
  if (a.valueKind === "int" && a.num !== 0) return { values: [c, b], or: true };
  if (b.valueKind === "int" && b.num === 0) return { values: [c, a], or: false };
  return null;
}

function isTest(s: Selector, value: Value): boolean {
  const inst = s.resolve(value);
  return inst.valueKind === "inst" && (inst.op === Op.ICmp || inst.op === Op.FCmp) && s.vregs[inst.id]! < 0;
}

/** Ends `block`: to `yes` when the condition holds, else to `no`. */
function branchOn(s: Selector, condition: Condition, block: MBlock, yes: MBlock, no: MBlock): void {
  connect(block, yes);
  connect(block, no);
  if (condition.second < 0) jumpIf(s, condition.first, yes);
  else if (condition.and) {
    jumpIf(s, invert(condition.first), no);
    jumpIf(s, invert(condition.second as Cc), no);
    jump(s, yes);
    return;
  } else {
    jumpIf(s, condition.first, yes);
    jumpIf(s, condition.second as Cc, yes);
  }
  jump(s, no);
}

export function selectIndirectBr(s: Selector, inst: InstWith<Op.IndirectBr>, block: MBlock): void {
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
  machine.targets = [...new Set(inst.blocks)].map((b) => s.heads[b.id]!);
  for (const head of machine.targets) connect(block, head);
  s.emit(machine);
}
