/**
 * How the functions of a component behave as callees: whether they unwind, return, call back, synchronise, free.
 *
 * Calls within the component add nothing to what only such calls could break (`nounwind`, `nosync`, `nofree`), so one look
 * at each body decides; for `noreturn` they are taken to return. A function is `norecurse` if all that it calls is.
 * Linear in the instructions.
 *
 * Proof obligations (LLVM Language Reference, "Function Attributes"):
 *  - `nounwind`: no call that may throw but in an `invoke`, and no `resume`;
 *  - `noreturn`: no `ret` is reached from the entry, calls that never return being ends; `musttail` calls do return;
 *  - `norecurse`: every callee is a definition that is `norecurse`, or promises to call nothing back;
 *  - `nosync`: no volatile access, no fence, no atomic access stronger than `monotonic`, no call that may have one;
 *  - `nofree`: no call of what may free memory that existed before.
 */
import { type Block, type CallInst, Flag, type Inst, isCall, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import { mayFree, neverReturns, neverUnwinds } from "../../opt/call-effects.js";

/** Facts that hold of all functions of a component, or of none. Bodies are numbered. */
export class Behaviour {
  noUnwind = true;
  noSync = true;
  noFree = true;
  noRecurse: boolean;

  constructor(
    private readonly functions: ReadonlySet<Func>,
    isRecursive: boolean,
  ) {
    this.noRecurse = !isRecursive;
    for (const fn of functions)
      for (const { insts } of fn.view().blocks) for (let i = 0; i < insts.length; i++) this.look(insts[i]!);
  }

  private look(inst: Inst): void {
    switch (inst.op) {
      case Op.Load:
      case Op.Store:
        if ((inst.flags & Flag.Volatile) !== 0 || isOrdered(inst.data.ordering)) this.noSync = false;
        return;
      case Op.Fence:
      case Op.CmpXchg:
      case Op.AtomicRMW:
        this.noSync = false;
        return;
      case Op.Resume:
        this.noUnwind = false;
        return;
      default:
        if (isCall(inst)) this.call(inst);
    }
  }

  private call(call: CallInst): void {
    const callee = call.operands[0]!;
    const known = callee.valueKind === "global" && callee.kind === "function" ? callee : null;
    if (known !== null && this.functions.has(known)) return;
    if (call.op !== Op.Invoke && !neverUnwinds(call)) this.noUnwind = false;
    if (mayFree(call)) this.noFree = false;
    const intrinsic = intrinsicOf(callee);
    if (intrinsic !== null) {
      if (!intrinsic.noSync) this.noSync = false;
      if (!intrinsic.noCallback) this.noRecurse = false;
      return;
    }
    const promised =
      known !== null && call.data.functionType === known.valueType ? known.attributes.fn : null;
    const says = (name: string): boolean => call.data.attributes.fn.has(name) || promised?.has(name) === true;
    if (!says("nosync")) this.noSync = false;
    if (!says("norecurse") && !(known?.isDeclaration === true && says("nocallback"))) this.noRecurse = false;
  }
}

const isOrdered = (ordering: string): boolean =>
  ordering !== "not_atomic" && ordering !== "unordered" && ordering !== "monotonic";

/** Whether no way through a function ends in its return. */
export function cannotReturn(fn: Func): boolean {
  const { blocks } = fn.view();
  const reached = new Uint8Array(blocks.length);
  const work: Block[] = [blocks[0]!];
  reached[0] = 1;
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    const end = block.insts.find((inst) => inst.op === Op.Ret || (isCall(inst) && neverReturns(inst)));
    if (end?.op === Op.Ret) return false;
    // An invoke that does not return may still go to its landing pad.
    const next = end === undefined ? block.successors : end.blocks.slice(1);
    for (const to of next)
      if (reached[to.id] === 0) {
        reached[to.id] = 1;
        work.push(to);
      }
  }
  return true;
}
