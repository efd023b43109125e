/**
 * What the numbers are between that a caller passes: with that a callee's checks may be none.
 *
 * One look at the caller as it is when somebody asks first (linear in its body); calls that copies have brought since are
 * not known.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { type CallInst, isCall } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import type { Value } from "../../ir/values.js";
import { hasIntervals, type Interval } from "../../opt/constants/interval.js";
import { unknown, varying } from "../../opt/constants/lattice.js";
import { LocalSurroundings } from "../../opt/constants/local.js";
import { ConstantSolver } from "../../opt/constants/solver.js";

export class ArgumentBounds {
  private known: Map<CallInst, Map<Value, Interval>> | null = null;

  constructor(
    private readonly caller: Func,
    private readonly layout: DataLayout,
  ) {}

  readonly of = (call: CallInst, value: Value): Interval | null => {
    if (value.valueKind !== "inst" && value.valueKind !== "argument") return null;
    if (!hasIntervals(value.type)) return null;
    this.known ??= this.find();
    return this.known.get(call)?.get(value) ?? null;
  };

  private find(): Map<CallInst, Map<Value, Interval>> {
    const body = this.caller.view();
    const around = new LocalSurroundings(this.caller, this.layout);
    const solver = new ConstantSolver(body, body.renumber(), around, true);
    solver.solve();
    const found = new Map<CallInst, Map<Value, Interval>>();
    for (const block of body.blocks)
      for (const inst of block.insts) {
        if (!isCall(inst) || !solver.isReached(block)) continue;
        let ofCall: Map<Value, Interval> | undefined;
        for (let i = 1; i <= inst.data.argumentCount; i++) {
          const value = inst.operands[i]!;
          const fact = solver.at(value, block.id);
          if (fact === unknown || fact === varying || fact.valueKind !== "interval") continue;
          ofCall ??= new Map();
          ofCall.set(value, fact);
        }
        if (ofCall !== undefined) found.set(inst, ofCall);
      }
    return found;
  }
}
