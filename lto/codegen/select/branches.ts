/** Branches: what is passed along them, and conditions that are made of several tests. */
import { type Block, type Inst, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import type { MBlock } from "../mir.js";
import { connect } from "./blocks.js";
import type { FunctionSelection } from "./function-selection.js";
import { phiArguments } from "./phis.js";

/** An unconditional branch, passing the successor's phi values. */
export function selectBr(s: FunctionSelection, inst: Inst, block: MBlock): void {
  const target = inst.blocks[0]!;
  const head = s.blocks.head(target);
  const args = phiArguments(s, inst.parent!, target);
  connect(block, head);
  block.succArgs[0] = args;
  s.jump(head);
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
 * @returns machine blocks that follow the head
 */
export function selectCondBr(s: FunctionSelection, inst: Inst, head: MBlock): MBlock[] {
  const [ifTrue, ifFalse] = inst.blocks as [Block, Block];
  const condition = inst.operands[0]!;
  if (ifTrue === ifFalse || condition.valueKind === "undef") return branchTo(s, ifFalse, head);
  if (condition.valueKind === "int") return branchTo(s, condition.num !== 0 ? ifTrue : ifFalse, head);
  const tests: Test[] = [];
  const last = flatten(s, condition, false, ifTrue, ifFalse, tests);
  const extra = tests.slice(1).map(() => s.blocks.after(head));
  for (let i = tests.length - 1; i >= 0; i--) {
    const block = i === 0 ? head : extra[i - 1]!;
    const no = i + 1 < tests.length ? extra[i]! : s.blocks.head(last);
    const { value, negate, target } = tests[i]!;
    const yes = s.blocks.head(target);
    connect(block, yes);
    connect(block, no);
    s.branchOn(value, negate, yes, no);
    if (i > 0) {
      s.code.flush();
      s.code.finishBlock(block);
    }
  }
  return extra;
}

/** A conditional branch whose way is known. */
function branchTo(s: FunctionSelection, target: Block, head: MBlock): MBlock[] {
  connect(head, s.blocks.head(target));
  s.jump(s.blocks.head(target));
  return [];
}

/**
 * Appends the tests that decide `value`: control reaches `yes` by one of them, and `no` (returned) when none
 * fires. `x and y` is "not x → no, not y → no, else yes": then the roles of the targets are exchanged.
 */
function flatten(
  s: FunctionSelection,
  value: Value,
  negate: boolean,
  yes: Block,
  no: Block,
  tests: Test[],
): Block {
  const inst = s.resolve(value);
  if (s.optimize && inst.valueKind === "inst" && s.values.uses[inst.id] === 1 && s.resultOf(inst) < 0) {
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

function isTest(s: FunctionSelection, value: Value): boolean {
  const inst = s.resolve(value);
  return inst.valueKind === "inst" && (inst.op === Op.ICmp || inst.op === Op.FCmp) && s.resultOf(inst) < 0;
}

export function selectIndirectBr(s: FunctionSelection, inst: Inst, block: MBlock): void {
  const targets = [...new Set(inst.blocks)].map((target) => s.blocks.head(target));
  for (const head of targets) connect(block, head);
  s.selectIndirectBranch(inst, targets);
}
