/**
 * returned-argument-propagation: after calls that give an argument back, their results stand for it.
 *
 *     tail call void @llvm.memset(ptr %p, …)            %r = tail call ptr @memset(ptr %p, …)
 *     %q = gep i8, %p, 5                                %q = gep i8, %r, 5
 *     store i8 3, ptr %q                          →     store i8 3, ptr %q
 *     ret ptr %p                                        ret ptr %r
 *
 * Why: what is needed after a call is kept in a register that calls preserve, or in memory; the function saves and
 * restores one for it. The result is in a register anyway. And `return memcpy(p, …)`, which compilers of single files
 * take apart, can be a jump; so can a copy or fill that is the last thing before any return. Why here: intrinsics that
 * become calls of library functions have no results in the IR, and nothing below looks for equal values.
 *
 * Method: a pointer, with the addresses at constant distances from it, is one value. Where a call of unknown code that
 * returns its argument is given one (`returned`; memcpy, memmove and memset where the target calls the routine), uses that
 * the call dominates get the result, if no others can be reached from the call. The dominating calls
 * first, so that results of calls in a row feed each other. What was passed at a distance from what is needed has to be computed
 * back: only where addressing does that. Linear in instructions, and for each such call in the blocks after it.
 *
 * Proof obligations: result and argument are the same value; a use that gets the result is dominated by the call, and an
 * address that moves after the call is computed from the result alone. Calls that have to be jumps stay as they are.
 * Routines return what the C library's do, also those that a program defines.
 * Not done: addresses of variables and slots are computed again more cheaply than kept; calls of compiled functions may
 * leave the register alone that the argument is in.
 * Breaks if: something after keeps the pointer alive that uses in the body do not show (the pointer of a result in
 * memory, which each return hands over: it is left alone).
 */
import { predecessorLists, type Successors } from "../../analysis/cfg.js";
import type { DominatorTree } from "../../analysis/dominators.js";
import { Distances } from "../../analysis/pointer-distances.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { type Block, type Body, type CallInst, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { raw } from "../../ir/raw.js";
import { functionType, i8, ptr } from "../../ir/types.js";
import { constI64, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { libraryFunction } from "../legalize/internal.js";
import type { Use } from "./blocks.js";
import type { LoweringContext } from "./context.js";

/** A call that gives back this argument (counted from 0). */
interface Returning {
  readonly call: CallInst;
  readonly argument: number;
}

/** What the program calls to copy and fill memory; null for others. */
function routineOf(call: CallInst): string | null {
  const name = intrinsicOf(call.operands[0]!)?.name;
  return name === "memcpy" || name === "memmove" || name === "memset" ? name : null;
}

/** Pointers with more uses, and those that live in more blocks, are left alone: the time is to be linear. */
const mostUses = 1000;
const mostBlocks = 1000;

class Replacement {
  uses = 0;
  calls = 0;
  private readonly usesOf = new Map<Value, Use[]>();
  private readonly distances: Distances;
  /** Addresses that go after a call, each once all calls are done: blocks may have many. */
  private readonly fresh = new Map<CallInst, Inst[]>();
  private readonly predecessors: Successors;

  constructor(
    private readonly body: Body,
    layout: DataLayout,
    private readonly tree: DominatorTree,
    successors: Successors,
  ) {
    this.distances = new Distances(layout);
    this.predecessors = predecessorLists(successors);
  }

  /**
   * @param returning calls, each after those that dominate it
   * @param excluded pointers that are needed where the body does not show it
   */
  run(returning: readonly Returning[], excluded: ReadonlySet<Value>): void {
    for (const { call, argument } of returning) {
      const { pointer: base } = this.distances.of(call.operands[1 + argument]!);
      if (excluded.has(base)) continue;
      if (base.valueKind === "argument" || (base.valueKind === "inst" && base.op !== Op.Alloca))
        this.usesOf.set(base, []).set(call, []);
    }
    for (const block of this.body.blocks)
      for (const user of block.insts)
        for (let position = 0; position < user.operands.length; position++) {
          const { pointer: base } = this.distances.of(user.operands[position]!);
          const from = user.op === Op.Phi ? user.blocks[position]! : block;
          this.usesOf.get(base)?.push({ user, position, block: from });
        }
    for (const each of returning) this.replace(each);
    for (const block of new Set([...this.fresh.keys()].map((call) => call.parent!)))
      raw(block).insts = block.insts.flatMap((inst) => [inst, ...(this.fresh.get(inst as CallInst) ?? [])]);
  }

  /** An address that is a part of what uses it. */
  private isTransparent(inst: Inst): boolean {
    return inst.op === Op.GetElementPtr && this.distances.of(inst).pointer !== inst;
  }

  private replace({ call, argument }: Returning): void {
    const { pointer: base, bytes: offset } = this.distances.of(call.operands[1 + argument]!);
    const uses = this.usesOf.get(base);
    if (uses === undefined || uses.length > mostUses) return;
    const behind: Use[] = [];
    const others: Use[] = [];
    for (const use of uses) (this.isDominated(use, call) ? behind : others).push(use);
    const real = behind.filter((use) => !this.isTransparent(use.user));
    if (real.length === 0 || (offset !== 0 && !real.every(isAddress))) return;
    if (this.isLiveBehind(call, base, others)) return;
    this.usesOf.set(base, others);
    this.usesOf.get(call)!.push(...behind);
    this.put(call, base, offset, behind);
  }

  private isDominated({ user, block }: Use, call: CallInst): boolean {
    if (block !== call.parent!) return this.tree.dominates(call.parent!.id, block.id);
    return user.op === Op.Phi || user.id > call.id;
  }

  /** Whether one of these uses, none of which the call dominates, needs the value after the call. */
  private isLiveBehind(call: CallInst, base: Value, uses: readonly Use[]): boolean {
    const definition = base.valueKind === "inst" ? base.parent! : null;
    const seen = new Set<Block>();
    const work: Block[] = [];
    const enter = (block: Block): boolean => {
      if (block === call.parent) return true;
      if (!seen.has(block)) {
        seen.add(block);
        work.push(block);
      }
      return seen.size > mostBlocks;
    };
    /** Where it is live on entry, so at the ends of predecessors. */
    const leave = (block: Block): boolean =>
      block !== definition && this.predecessors[block.id]!.some((p) => enter(this.body.blocks[p]!));
    for (const { user, block } of uses)
      if (!this.isTransparent(user) && (user.op === Op.Phi ? enter(block) : leave(block))) return true;
    for (let block = work.pop(); block !== undefined; block = work.pop()) if (leave(block)) return true;
    return false;
  }

  private put(call: CallInst, base: Value, offset: number, behind: readonly Use[]): void {
    makeReturning(call);
    this.calls++;
    const addresses = new Map<number, Value>([[0, call]]);
    const fresh: Inst[] = [];
    const addressAt = (distance: number): Value => {
      let address = addresses.get(distance);
      if (address === undefined) {
        const gep = makeInst(Op.GetElementPtr, ptr, [call, constI64(distance)], { elementType: i8 });
        gep.parent = call.parent;
        // After the call for whoever comes next.
        gep.id = call.id;
        fresh.push(gep);
        this.distances.tell(gep, { pointer: call, bytes: distance });
        addresses.set(distance, (address = gep));
      }
      return address;
    };
    for (const { user, position } of behind) {
      const via = user.operands[position]!;
      // Computed after the call: its own operand is changed.
      if (via.valueKind === "inst" && via !== base && this.tree.runsBefore(call, via)) continue;
      raw(user).operands[position] = addressAt(this.distances.of(via).bytes - offset);
      this.uses++;
    }
    if (fresh.length > 0) this.fresh.set(call, fresh);
    for (const user of new Set(behind.map((use) => use.user))) {
      const { pointer, bytes } = this.distances.of(user);
      if (user !== base && pointer === base)
        this.distances.tell(user, { pointer: call, bytes: bytes - offset });
    }
  }
}

/** Whether a use is the address of an access, where a constant distance costs nothing. */
const isAddress = ({ user, position }: Use): boolean =>
  (user.op === Op.Load && position === 0) || (user.op === Op.Store && position === 1);

/** Makes a copy or fill a call of its routine, in place. */
function makeReturning(call: CallInst): void {
  const routine = routineOf(call);
  if (routine === null) return;
  const [, to, second, length] = call.operands as [Value, Value, Value, Value];
  const type = functionType(ptr, [to.type, second.type, length.type]);
  raw(call).operands = [libraryFunction(routine, type), to, second, length];
  // Read-only for the IR's users; here the instruction becomes another one in place.
  const changed = call as { type: CallInst["type"]; data: CallInst["data"] };
  call.hints = null;
  changed.type = ptr;
  changed.data = { ...call.data, functionType: type, argumentCount: 3, bundles: [] };
}

/** The argument that a call gives back, as far as that is said; -1: none. */
function returnedArgument(call: CallInst): number {
  const { data, operands } = call;
  const callee = operands[0]!;
  if (call.op !== Op.Call || data.tail === "musttail" || call.type !== ptr) return -1;
  const there =
    callee.valueKind === "global" && callee.kind === "function" && callee.valueType === data.functionType
      ? callee.attributes
      : null;
  for (let i = 0; i < data.functionType.parameters.length; i++) {
    const says = (attribute: string): boolean =>
      data.attributes.parameter(i).has(attribute) || there?.parameter(i).has(attribute) === true;
    // Of what is passed by value the callee returns the copy's address.
    if (says("returned")) return operands[1 + i]!.type === ptr && !says("byval") ? i : -1;
  }
  return -1;
}

/** Whether what is called is code of the program, which may leave registers alone. */
function isDefined(call: CallInst): boolean {
  const callee = call.operands[0]!;
  return callee.valueKind === "global" && callee.kind === "function" && !callee.isDeclaration;
}

/** Whether a copy or fill is the last thing before a return that it could be the result of, or that has none. */
function isLast(call: CallInst): boolean {
  const { insts } = call.parent!;
  const ret = insts[insts.length - 1]!;
  return (
    call.data.tail === "tail" &&
    insts[insts.length - 2] === call &&
    ret.op === Op.Ret &&
    ret.operands.length === 0
  );
}

export const returnedArgumentPropagation: FunctionPass<LoweringContext> = {
  name: "returned-argument-propagation",
  level: "function",
  description: "after calls that give an argument back, takes what they return for it",
  counters: {
    calls: "calls whose results stand for an argument",
    uses: "uses that got such a result",
    last: "copies and fills before returns without result",
  },
  requires: [cfg, dominators],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    const { goal, layout, legal, target } = context;
    const found: Returning[] = [];
    for (const { insts } of context.view().blocks)
      for (let i = 0; i < insts.length; i++) {
        const call = insts[i]!;
        if (call.op !== Op.Call) continue;
        const argument = routineOf(call) === null ? returnedArgument(call) : 0;
        if (argument < 0 || call.operands[1 + argument]!.type !== ptr) continue;
        if (routineOf(call) === null ? !isDefined(call) : !target.transfersInline(call, goal))
          found.push({ call, argument });
      }
    if (found.length === 0) return false;
    const body = context.rewrite();
    body.renumber();
    const tree = context.ofBody(dominators, body);
    const rank = new Int32Array(body.blocks.length).fill(-1);
    tree.order.forEach((block, i) => {
      rank[block] = i;
    });
    const rankOf = ({ call }: Returning): number => rank[call.parent!.id]!;
    const reachable = found.filter((each) => rankOf(each) >= 0).sort((a, b) => rankOf(a) - rankOf(b));
    const excluded = new Set<Value>();
    for (const { argument, attributes } of legal!.args)
      if (inMemory.some((kind) => attributes.has(kind))) excluded.add(argument);
    const replacement = new Replacement(body, layout, tree, context.ofBody(cfg, body));
    replacement.run(reachable, excluded);
    const last = found.filter(({ call }) => routineOf(call) !== null && isLast(call));
    for (const { call } of last) makeReturning(call);
    if (last.length > 0) context.count("last", last.length);
    if (replacement.uses > 0) {
      context.count("calls", replacement.calls);
      context.count("uses", replacement.uses);
    }
    return replacement.uses > 0 || last.length > 0;
  },
};

/** Parameters whose pointers are addresses of the caller's, or are handed back by every return. */
const inMemory = ["sret", "byval", "inalloca", "preallocated"];
