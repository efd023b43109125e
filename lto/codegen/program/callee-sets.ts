/**
 * Callee sets between the pointer analysis and code generation. They are kept on the calls, as hints: bodies may be
 * encoded, copied and decoded elsewhere in between, and calls may come and go; each call still says what it can reach.
 *
 * Only bodies with a call of which something is known are changed, and rest then: linear in those.
 */
import type { CalleeSet as FunctionNumbers, IndirectCalls } from "../../analysis/function-pointers/index.js";
import { type CalleeSet, withHints } from "../../ir/hints.js";
import { type Body, isIndirectCall, setCallData } from "../../ir/instructions.js";
import type { BodyCodec, Func, Module } from "../../ir/module.js";
import type { Steps } from "../../ir/steps.js";

/** Whether something is known of a call in the function. */
export const isListed = (sets: readonly number[]): boolean => sets.some((set) => set >= 0);

/** The sets of a function's calls, each once. */
export const listedSets = (sets: readonly number[]): readonly number[] =>
  isListed(sets) ? [...new Set(sets.filter((set) => set >= 0))] : [];

/**
 * Writes the sets onto the calls. The bodies must be the ones that the analysis saw, since it lists calls by their
 * order; this is the only place where that matters.
 * @param functions of the module, by number
 */
export function* attachCallees(
  { pool }: Module,
  functions: readonly Func[],
  { sets, sites }: IndirectCalls,
  codec: BodyCodec,
): Steps<void> {
  const shared = sets.map(
    ({ members, unknown }): CalleeSet => ({ members: members.map((m) => functions[m]!), open: unknown }),
  );
  for (const [number, list] of sites.entries()) {
    if (!isListed(list)) continue;
    const fn = functions[number]!;
    let site = 0;
    for (const { insts } of fn.rewrite().blocks)
      for (const inst of insts) {
        if (!isIndirectCall(inst)) continue;
        const set = list[site++] ?? -1;
        inst.hints = withHints(inst.hints, { callees: set < 0 ? null : shared[set]! });
      }
    pool.rest(fn, codec);
    // After the look at all functions, which says more of how far planning is.
    yield { done: functions.length, total: functions.length };
  }
}

/** Numbers of sets, by what is in them. */
export class CalleeSetNumbers {
  private readonly numbers = new Map<string, number>();
  private readonly functionNumbers = new Map<Func, number>();

  constructor(functions: readonly Func[], sets: readonly FunctionNumbers[]) {
    if (sets.length > 0) for (const [i, fn] of functions.entries()) this.functionNumbers.set(fn, i);
    for (const [i, { members, unknown }] of sets.entries())
      this.numbers.set(`${unknown} ${members.join()}`, i);
  }

  private numberOf({ members, open }: CalleeSet): number {
    const numbers = members.map((fn) => this.functionNumbers.get(fn) ?? -1).sort((a, b) => a - b);
    return this.numbers.get(`${open} ${numbers.join()}`) ?? -1;
  }

  /** Gives each call through a pointer of a body the number of its set, -1 where it has none of those known here. */
  resolve(body: Body): void {
    for (const { insts } of body.blocks)
      for (const inst of insts) {
        if (!isIndirectCall(inst)) continue;
        const callees = inst.hints?.callees ?? null;
        setCallData(inst, { ...inst.data, calleeSet: callees === null ? -1 : this.numberOf(callees) });
      }
  }
}
