/**
 * check-attributes: makes a program check, as it runs, what attributes promise of values and of calls. What does not hold
 * ends it with a trap. For tests of passes that infer attributes, and for programs whose sources promise too much.
 *
 *     nonnull, range of parameters       compared at the entry
 *     nonnull, range of results          compared before each return
 *     noreturn                           a trap right after each call
 *
 * Values are checked where the attributes also say `noundef`: others may be poison, which only a use makes an error.
 * Has to run after all passes that fold by attributes, or they fold the checks. Linear.
 */
import { type AttributeSet, IntegerRange } from "../ir/attributes.js";
import { Builder } from "../ir/builder.js";
import { splitBlock } from "../ir/cfg-edit.js";
import type { Editor } from "../ir/editor.js";
import { Block, type Inst, isCall, Op } from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import type { Func, GlobalValue, Module } from "../ir/module.js";
import { functionType, voidType } from "../ir/types.js";
import { ConstZero, constInt, type Value } from "../ir/values.js";
import { neverReturns } from "../opt/call-effects.js";
import type { ModulePass } from "../pass/pass.js";
import { plainCall, runtimeFunction } from "./runtime-function.js";

const trapType = functionType(voidType, []);

/** Whether a set promises what can be checked of a value of its type. */
function isChecked(set: AttributeSet, { type }: { readonly type: Value["type"] }): boolean {
  if (!set.has("noundef")) return false;
  return type.kind === "ptr" ? set.has("nonnull") : type.kind === "int" && set.range !== undefined;
}

/** Puts checks into one function. */
class Checks {
  added = 0;
  private readonly builder: Builder;
  private failure: Block | null = null;

  constructor(
    private readonly editor: Editor,
    private readonly trap: GlobalValue,
  ) {
    this.builder = new Builder(editor);
  }

  run(): void {
    const { fn, body } = this.editor;
    const { attributes } = fn;
    const blocks = [...body.blocks];
    for (const block of blocks) for (const inst of [...block.insts]) this.behind(inst);
    for (const { terminator } of blocks) {
      if (terminator.op !== Op.Ret || terminator.operands.length === 0) continue;
      const value = terminator.operands[0]!;
      const block = terminator.parent!;
      const before = block.insts[this.editor.positionOf(terminator) - 1];
      const isForwarded = before !== undefined && isCall(before) && before.data.tail === "musttail";
      if (!isForwarded && isChecked(attributes.result, value))
        this.value(value, attributes.result, terminator);
    }
    const entry = body.blocks[0]!;
    // Slots stay in the entry block.
    const first = entry.insts[entry.insts.findLastIndex((inst) => inst.op === Op.Alloca) + 1]!;
    for (const argument of fn.args) {
      const set = attributes.parameter(argument.index);
      if (isChecked(set, argument)) this.value(argument, set, first);
    }
  }

  /** A call that is not to return is followed by a trap. */
  private behind(inst: Inst): void {
    if (inst.op !== Op.Call || !neverReturns(inst) || intrinsicOf(inst.operands[0]!) !== null) return;
    const { editor } = this;
    const block = inst.parent!;
    const next = block.insts[editor.positionOf(inst) + 1]!;
    this.builder.before(next).call(this.trap, [], plainCall(trapType));
    this.added++;
  }

  /** Compares before an instruction. */
  private value(value: Value, set: AttributeSet, at: Inst): void {
    const from = at.parent!;
    const failed = this.failed();
    const rest = splitBlock(this.editor, at);
    this.builder.before(from.terminator);
    const holds = this.compare(value, set);
    this.editor.erase(from.terminator);
    this.builder.atEnd(from).condBr(holds, rest, failed);
    this.added++;
  }
  private compare(value: Value, { range }: AttributeSet): Value {
    const { builder } = this;
    if (!(range instanceof IntegerRange)) return builder.icmp("ne", value, new ConstZero(value.type));
    // ShrinkWrapRegion intervals too: the distance from the start is below the length.
    const { type, from, to } = range;
    const distance = builder.sub(value, constInt(type, from));
    return builder.icmp("ult", distance, constInt(type, BigInt.asIntN(type.bits, to - from)));
  }
  private failed(): Block {
    if (this.failure === null) {
      this.failure = this.editor.addBlock(new Block());
      this.builder.atEnd(this.failure).call(this.trap, [], plainCall(trapType));
      this.builder.unreachable();
    }
    return this.failure;
  }
}

/** Whether there is anything to check in a function. */
function promises(fn: Func): boolean {
  const { attributes, args } = fn;
  const type = fn.valueType.kind === "function" ? fn.valueType.result : voidType;
  if (isChecked(attributes.result, { type })) return true;
  if (args.some((argument) => isChecked(attributes.parameter(argument.index), argument))) return true;
  return fn
    .view()
    .blocks.some(({ insts }) =>
      insts.some(
        (inst) => inst.op === Op.Call && neverReturns(inst) && intrinsicOf(inst.operands[0]!) === null,
      ),
    );
}

export const checkAttributes: ModulePass = {
  name: "check-attributes",
  level: "module",
  description: "checks at run time what attributes promise of values, and that calls do not return",
  option:
    "make the program fail where a pointer is null, an integer out of range or a call returns against its attributes",
  counters: { checks: "checks" },
  requires: [],
  preserves: [],
  run(module: Module, context) {
    let trap: GlobalValue | null = null;
    for (const fn of module.functions) {
      const { attributes } = fn;
      if (fn.isDeclaration || fn.linkage === "available_externally" || attributes.fn.has("naked")) continue;
      if (!promises(fn)) continue;
      trap ??= runtimeFunction(module, "llvm.trap", trapType, ["noreturn", "nounwind", "cold"]);
      const checks = new Checks(fn.edit(), trap);
      checks.run();
      context.count("checks", checks.added);
    }
    return trap !== null;
  },
};
