/**
 * tailcallelim: a call of the function itself that is the last thing it does becomes a jump to its start.
 *
 *     define i64 @product(i64 %n, …)                    start: %i = phi [ %n, %entry ], [ %less, %again ]
 *     again: %less = sub i64 %n, 1                →            %p = phi [ 1, %entry ], [ %next, %again ]
 *            %rest = call i64 @product(i64 %less)       again: %next = mul i64 %p, %n
 *            %r = mul i64 %rest, %n                            br label %start
 *            ret i64 %r                                 end:   %r = mul i64 %p, 1     ; was: ret i64 1
 *     end:   ret i64 1                                         ret i64 %r
 *
 * Why: no frame a round, constant space, and a loop that others see. Front ends' compilers do it file by file; inlining
 * makes functions call themselves that called each other.
 *
 * Method: blocks that end in a return, or a branch to one, are looked at from their ends: a call of the function, after
 * it at most one operation that combines its result with another value. Of an operation that is associative and
 * commutative, what is combined so far is carried along, and combined with what other returns give. Parameters that
 * change become phis. Linear; functions without such calls are seen at the ends of their blocks only.
 *
 * Proof obligations:
 *  - the call reaches this definition: none can take its place, by the same type and convention;
 *  - nothing of the caller's frame is used after the start of the call: the call is marked `tail` by who knows that, or
 *    there are no variables in the frame and none is passed by value. All variables of the frame are of constant size and in
 *    the entry block: rounds use the same ones, whose contents are undefined at the start of each;
 *  - all operations that are carried along are the same one; they lose flags, since intermediate results are others.
 * Breaks if: a call that comes back twice (`setjmp`) needs its frame.
 */
import { isExact } from "../analysis/exact.js";
import { jumpTo, removeBlocks, replaceTerminator, splitBlock } from "../ir/cfg-edit.js";
import type { Editor } from "../ir/editor.js";
import {
  type BinaryOp,
  type Block,
  type BodyView,
  type Inst,
  type InstWith,
  isCall,
  makeInst,
  Op,
} from "../ir/instructions.js";
import type { Func } from "../ir/module.js";
import { returnsTwice } from "../ir/returns-twice.js";
import { type Argument, constInt, type Value } from "../ir/values.js";
import type { FunctionPass } from "../pass/pass.js";

/** A block that ends with a call of its function. */
interface CallSite {
  readonly block: Block;
  readonly call: InstWith<Op.Call>;
  /** What combines the call's result with another value; null where the result is returned as it is. */
  readonly combines: Inst | null;
}

const neutral: Readonly<Partial<Record<Op, number>>> = {
  [Op.Add]: 0,
  [Op.Mul]: 1,
  [Op.And]: -1,
  [Op.Or]: 0,
  [Op.Xor]: 0,
};

/** What a block returns, itself or in a block that does nothing else; undefined if it does neither. */
function returnedBy(block: Block): Value | null | undefined {
  const { terminator } = block;
  if (terminator.op === Op.Ret) return terminator.operands[0] ?? null;
  if (terminator.op !== Op.Br) return undefined;
  const { insts } = terminator.blocks[0]!;
  const last = insts[insts.length - 1]!;
  if (last.op !== Op.Ret || last.parent!.addressTaken) return undefined;
  for (let i = 0; i < insts.length - 1; i++) if (insts[i]!.op !== Op.Phi) return undefined;
  const value = last.operands[0] ?? null;
  if (value?.valueKind !== "inst" || value.op !== Op.Phi || value.parent !== last.parent) return value;
  return value.operands[value.blocks.indexOf(block)]!;
}

const isSelfCall = (inst: Inst | undefined, fn: Func): inst is InstWith<Op.Call> =>
  inst?.op === Op.Call &&
  inst.operands[0] === fn &&
  inst.data.functionType === fn.valueType &&
  inst.data.callingConvention === fn.callingConvention &&
  inst.data.bundles.length === 0 &&
  inst.data.tail !== "notail";

/** The call at the end of a block; its use by others than the combining operation is still to be looked for. */
function siteAt(block: Block, fn: Func): CallSite | null {
  const { insts } = block;
  const last = insts[insts.length - 2];
  if (isSelfCall(last, fn)) {
    const value = returnedBy(block);
    return value === undefined || (value !== null && value !== last)
      ? null
      : { block, call: last, combines: null };
  }
  if (last === undefined || neutral[last.op] === undefined || last.type.kind !== "int") return null;
  const call = insts[insts.length - 3];
  if (!isSelfCall(call, fn) || returnedBy(block) !== last) return null;
  const [a, b] = last.operands as readonly [Value, Value];
  if (a === b || (a !== call && b !== call)) return null;
  return { block, call, combines: last };
}

function findSites({ blocks }: BodyView, fn: Func): CallSite[] {
  const sites: CallSite[] = [];
  for (const block of blocks) {
    const site = siteAt(block, fn);
    if (site !== null) sites.push(site);
  }
  return sites;
}

const frameBound = ["byval", "inalloca", "preallocated", "swifterror", "swiftasync"];

/** Whether what a function is leaves its calls of itself alone. */
function isExcluded(fn: Func): boolean {
  const { fn: own, parameters } = fn.attributes;
  return (
    fn.valueType.isVarArg ||
    !isExact(fn) ||
    ["naked", "optnone", "presplitcoroutine"].some((name) => own.has(name)) ||
    own.string("disable-tail-calls") === "true" ||
    parameters.some((set) => frameBound.some((name) => set.has(name)))
  );
}

/** What the body has: variables in its frame; anything that forbids the change. */
function frameOf({ blocks }: BodyView): { hasVariables: boolean; isFixed: boolean; mustTail: boolean } {
  let hasVariables = false;
  let isFixed = true;
  let mustTail = false;
  for (const block of blocks)
    for (const inst of block.insts) {
      if (inst.op === Op.Alloca) {
        hasVariables = true;
        if (block !== blocks[0] || inst.operands[0]!.valueKind !== "int") isFixed = false;
      } else if (isCall(inst)) {
        if (returnsTwice(inst)) isFixed = false;
        if (inst.data.tail === "musttail" && inst.operands[0]!.valueKind !== "asm") mustTail = true;
      }
    }
  return { hasVariables, isFixed, mustTail };
}

/** Those of the sites that can be changed together. */
function chosen(sites: readonly CallSite[], body: BodyView): readonly CallSite[] {
  const { hasVariables, isFixed, mustTail } = frameOf(body);
  if (!isFixed) return [];
  const usable = sites.filter(
    ({ call }) => call.data.tail === "tail" || call.data.tail === "musttail" || !hasVariables,
  );
  const first = usable.find(({ combines }) => combines !== null);
  // What `musttail` calls give is returned as it is.
  const op = mustTail ? undefined : first?.combines?.op;
  return usable.filter(({ combines }) => combines === null || combines.op === op);
}

/** Uses other than by what goes with the site. */
function isUsedElsewhere({ call, combines, block }: CallSite, editor: Editor): boolean {
  const isEnd = (user: Inst): boolean =>
    user === block.terminator || user.parent === block.terminator.blocks[0];
  if (combines === null) return editor.users(call).some((user) => !isEnd(user));
  return (
    editor.users(call).some((user) => user !== combines) ||
    editor.users(combines).some((user) => !isEnd(user))
  );
}

class Rewriter {
  private readonly start: Block;
  private readonly entry: Block;

  constructor(private readonly editor: Editor) {
    const entry = editor.body.blocks[0]!;
    const first = entry.insts[0]!;
    for (const inst of [...entry.insts]) if (inst.op === Op.Alloca) editor.move(inst, first);
    const at = entry.insts.find((inst) => inst.op !== Op.Alloca)!;
    this.start = splitBlock(editor, at);
    this.entry = entry;
  }

  run(sites: readonly CallSite[]): void {
    const { fn } = this.editor;
    const combines = sites.find((site) => site.combines !== null)?.combines ?? null;
    const parameters = fn.args.filter((argument) =>
      sites.some(({ call }) => call.operands[argument.index + 1] !== argument),
    );
    const phis = parameters.map((argument) => this.phiOf(argument));
    const carried = combines === null ? null : this.carry(combines);
    if (carried !== null) this.combineReturns(carried, combines!.op as BinaryOp, sites);
    for (const site of sites) this.jump(site, parameters, phis, carried);
  }

  /** A phi at the start that is first what came from outside. */
  private newPhi(first: Value): Inst {
    return this.editor.prependPhi(makeInst(Op.Phi, first.type, [first], null, [this.entry]), this.start);
  }
  private phiOf(argument: Argument): Inst {
    const { editor } = this;
    const phi = editor.prependPhi(makeInst(Op.Phi, argument.type, [], null, []), this.start);
    editor.replaceAllUses(argument, phi);
    editor.addIncoming(phi, argument, this.entry);
    return phi;
  }
  private carry({ op, type }: Inst): Inst {
    return this.newPhi(constInt(type, neutral[op]!));
  }

  /** Where the recursion ends, what was carried along joins the result. */
  private combineReturns(carried: Inst, op: BinaryOp, sites: readonly CallSite[]): void {
    const own = new Set(sites.map(({ call }) => call.parent));
    for (const block of this.editor.body.blocks) {
      const { terminator } = block;
      if (terminator.op !== Op.Ret || own.has(block)) continue;
      const value = terminator.operands[0]!;
      const whole = makeInst(op, carried.type, [carried, value], null);
      this.editor.insertBefore(whole, terminator);
      this.editor.setOperand(terminator, 0, whole);
    }
  }

  private jump(
    site: CallSite,
    parameters: readonly Argument[],
    phis: readonly Inst[],
    carried: Inst | null,
  ): void {
    const { editor } = this;
    const { call, combines } = site;
    // The entry was split.
    const block = call.parent!;
    // The operands are read now: parameters among them have become phis.
    const passed = new Map<Inst, Value>();
    for (const [i, { index }] of parameters.entries()) passed.set(phis[i]!, call.operands[index + 1]!);
    let next: Value | null = carried;
    if (carried !== null && combines !== null) {
      const at = combines.operands[0] === call ? 1 : 0;
      const step = makeInst(combines.op as BinaryOp, carried.type, [carried, combines.operands[at]!], null);
      next = editor.insertBefore(step, combines);
    }
    if (carried !== null) passed.set(carried, next!);
    const [target] = block.terminator.blocks;
    replaceTerminator(editor, block, jumpTo(this.start), (phi) => passed.get(phi)!);
    if (combines !== null) editor.erase(combines);
    editor.erase(call);
    if (target !== undefined && !editor.hasUses(target)) removeBlocks(editor, [target]);
  }
}

export const tailcallelim: FunctionPass = {
  name: "tailcallelim",
  level: "function",
  description: "makes calls that a function ends with, of itself, jumps to its start",
  counters: {
    calls: "calls that became jumps",
    combined: "of them, those whose results were combined with other values",
  },
  requires: [],
  preserves: [],
  run(fn, context) {
    const view = context.view();
    const found = findSites(view, fn);
    if (found.length === 0 || isExcluded(fn)) return false;
    if (chosen(found, view).length === 0) return false;
    const editor = fn.edit();
    const sites = chosen(
      found.filter((site) => !isUsedElsewhere(site, editor)),
      view,
    );
    if (sites.length === 0) return false;
    new Rewriter(editor).run(sites);
    context.count("calls", sites.length);
    context.count("combined", sites.filter(({ combines }) => combines !== null).length);
    return true;
  },
};
