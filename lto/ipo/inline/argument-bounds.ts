/**
 * What the numbers are between that a caller passes: with that a callee's checks may be none.
 *
 * One look at the caller as it is when somebody asks first (linear in its body); calls that copies have brought since are
 * not known.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { type Block, type CallInst, isCall } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { isConstant, type Value } from "../../ir/values.js";
import { hasIntervals, type Interval } from "../../opt/constants/interval.js";
import { unknown, varying } from "../../opt/constants/lattice.js";
import { LocalSurroundings } from "../../opt/constants/local.js";
import { ConstantSolver } from "../../opt/constants/solver.js";

export class ArgumentBounds {
  private known: Map<CallInst, readonly (Interval | null)[]> | null = null;

  constructor(
    private readonly caller: Func,
    private readonly layout: DataLayout,
  ) {}

  /** @param i the number of the argument, from 0 */
  readonly of = (call: CallInst, i: number): Interval | null => {
    const value = call.operands[i + 1]!;
    if (isConstant(value) || !hasIntervals(value.type)) return null;
    this.known ??= this.find();
    return this.known.get(call)?.[i] ?? null;
  };

  private find(): Map<CallInst, readonly (Interval | null)[]> {
    const body = this.caller.view();
    const around = new LocalSurroundings(this.caller, this.layout);
    const solver = new ConstantSolver(body, body.renumber(), around, true);
    solver.solve();
    const boundsAt = (value: Value, { id }: Block): Interval | null => {
      const fact = solver.at(value, id);
      return fact !== unknown && fact !== varying && fact.valueKind === "interval" ? fact : null;
    };
    const found = new Map<CallInst, readonly (Interval | null)[]>();
    for (const block of body.blocks)
      for (const inst of block.insts)
        if (isCall(inst) && solver.isReached(block)) {
          const passed = inst.operands.slice(1, 1 + inst.data.argumentCount);
          found.set(
            inst,
            passed.map((value) => boundsAt(value, block)),
          );
        }
    return found;
  }
}
