/**
 * simplify: instructions become values that are there already, constants, or simpler instructions.
 *
 *     %a = add i32 %x, 4
 *     %b = sub i32 %a, %x          →     4 wherever %b was
 *     %c = icmp ult i32 %m, 256          true, where %m = and i32 …, 15
 *
 * Why: linking, constants through calls, and inlining put values where compilers of single files saw parameters.
 *
 * Method: rules by operation (`rules.ts`) say what an instruction is; none changes anything, and each has a name. The body is first only
 * looked at; with the first instruction that becomes something else it gets use lists, and a work list begins: all
 * instructions once, in layout order, and whatever uses what has changed. What nobody needs any more goes.
 *
 * Linear in the body plus what changes; each rule looks at a few operands, and asks for known bits along at most four.
 * Rules make no more instructions than go, so code gets no bigger; what only exchanges one form for another does so
 * towards the form that the next rules and selection expect (constants right, strict predicates, `and` for a remainder),
 * and never back. A limit stops rules that chase each other through unreachable code.
 *
 * Breaks if: a rule's value is not the old one in some case in which that is not poison; a rule reads an operand more
 * often than before (it may be undef, another value each time); an access, a call with effects or a trap is taken for
 * arithmetic.
 */
import type { Editor } from "../../ir/editor.js";
import { Folder, floatModeOf } from "../../ir/fold/index.js";
import { type BodyView, type Inst, isTerminator, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import type { Value } from "../../ir/values.js";
import { cfg, dominators, loops, useCounts } from "../../pass/analyses.js";
import type { FunctionContext, FunctionPass } from "../../pass/pass.js";
import { isRemovable } from "../dce.js";
import { Forms } from "./forms.js";
import type { SimplifyRule } from "./rule.js";
import { findSimpler, type RuleTable, rulesWithout, Simpler, simplifyRules } from "./rules.js";

export const simplify: FunctionPass = {
  name: "simplify",
  level: "function",
  description: "makes instructions constants, other values, or simpler instructions",
  counters: {
    simplified: "instructions simplified",
    removed: "instructions removed that nothing needed then",
  },
  rules: simplifyRules,
  requires: [useCounts],
  preserves: [cfg, dominators, loops],
  run(fn, context) {
    if (fn.attributes.fn.has("naked") || !findsAnything(fn, context)) return false;
    const work = new Simplifier(fn.edit(), context);
    work.run();
    context.count("simplified", work.simplified);
    context.count("removed", work.removed);
    for (const [{ name }, count] of work.applied) context.countRule(name, count);
    return true;
  },
};

function formsOf(
  fn: Func,
  { blocks }: BodyView,
  context: FunctionContext,
  isUsedOnce: (inst: Inst) => boolean,
): Forms {
  const mode = floatModeOf(fn);
  const isIeee = mode.subnormals && !fn.attributes.fn.has("strictfp");
  const { instructions } = context.costs;
  return new Forms(
    fn,
    blocks[0]!,
    context.layout,
    new Folder(context.layout, mode),
    isIeee,
    instructions.fusesMultiplyAdd(fn.attributes.fn),
    isUsedOnce,
  );
}

/** Whether a rule applies somewhere; looks only. */
function findsAnything(fn: Func, context: FunctionContext): boolean {
  const body = context.view();
  let uses: Int32Array | null = null;
  const isUsedOnce = (inst: Inst): boolean => {
    // Asking numbers the body.
    uses ??= context.ofBody(useCounts, body);
    return uses[inst.id] === 1;
  };
  const forms = formsOf(fn, body, context, isUsedOnce);
  const rules = rulesWithout(context.skippedRules);
  const found = new Simpler();
  for (const { insts } of body.blocks)
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      if (findSimpler(inst, rules, forms, found) && canReplace(inst)) return true;
    }
  return false;
}

/** A call whose result is known goes only if it does nothing else. */
function canReplace(inst: Inst): boolean {
  return inst.op !== Op.Call || isReplaceableCall(inst);
}
const isReplaceableCall = (inst: Inst): boolean => {
  if (inst.op !== Op.Call || inst.data.tail === "musttail" || inst.data.bundles.length > 0) return false;
  const intrinsic = intrinsicOf(inst.operands[0]!);
  return intrinsic !== null && (intrinsic.pure || intrinsic.removable);
};

const rewritesPerInstruction = 8;

class Simplifier {
  simplified = 0;
  removed = 0;
  /** How often each rule was. */
  readonly applied = new Map<SimplifyRule, number>();
  private readonly forms: Forms;
  private readonly rules: RuleTable;
  private readonly found = new Simpler();
  private work: Inst[] = [];
  private readonly waiting = new Set<Inst>();
  private budget = 0;

  constructor(
    private readonly editor: Editor,
    context: FunctionContext,
  ) {
    this.rules = rulesWithout(context.skippedRules);
    this.forms = formsOf(editor.fn, editor.body, context, (inst) => editor.hasOneUse(inst));
  }

  run(): void {
    const { blocks } = this.editor.body;
    let count = 0;
    // The last in is the first out.
    for (let b = blocks.length - 1; b >= 0; b--) {
      const { insts } = blocks[b]!;
      for (let i = insts.length - 1; i >= 0; i--) this.push(insts[i]!);
      count += insts.length;
    }
    this.budget = count * rewritesPerInstruction + 64;
    for (let inst = this.work.pop(); inst !== undefined && this.budget > 0; inst = this.work.pop()) {
      this.waiting.delete(inst);
      if (inst.parent !== null) this.visit(inst);
    }
    this.editor.sweep();
  }

  private push(inst: Inst): void {
    if (this.waiting.has(inst)) return;
    this.waiting.add(inst);
    this.work.push(inst);
  }
  private pushOperand(value: Value): void {
    if (value.valueKind === "inst" && value.parent !== null) this.push(value);
  }

  private visit(inst: Inst): void {
    const { editor } = this;
    if (!editor.hasUses(inst) && !isTerminator(inst.op) && isRemovable(inst)) {
      this.erase(inst);
      this.removed++;
      return;
    }
    const { found, applied } = this;
    if (!findSimpler(inst, this.rules, this.forms, found) || !canReplace(inst)) return;
    const { value, rule } = found;
    this.budget--;
    this.simplified++;
    applied.set(rule, (applied.get(rule) ?? 0) + 1);
    this.insert(value, inst);
    for (const user of editor.users(inst)) this.push(user);
    editor.replaceAllUses(inst, value);
    this.erase(inst);
  }

  /** Puts an instruction that a rule made, and its operands that it made, before another one. */
  private insert(value: Value, before: Inst): void {
    if (value.valueKind !== "inst" || value.parent !== null) return;
    for (const operand of value.operands) this.insert(operand, before);
    this.editor.insertBefore(value, before);
    this.push(value);
  }

  private erase(inst: Inst): void {
    const { operands } = inst;
    this.editor.erase(inst);
    for (const operand of operands) this.pushOperand(operand);
  }
}
