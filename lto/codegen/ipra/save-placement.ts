/**
 * Who saves a callee-saved register: the decision at the heart of the no-callee-saved-register optimisation,
 * taken for the whole program at once by cost (after Kurlander & Fischer, "Minimum cost interprocedural
 * register allocation", POPL 1996, whose network this specialises to registers already chosen).
 *
 * Problem, for one register r. Each function that writes r, or calls one that may return with r changed,
 * either saves r in its frame (cost: a push and a pop) or lets its own callers see r changed. Letting callers
 * see it is allowed for a closed function — every caller known — none of whose call sites keeps a value in r
 * across the call. Minimise the sum of the costs. For size the cost is bytes, and executions of the function,
 * estimated from the call graph, decide among equals; for speed it is the other way round. (That a function may
 * keep its frame off some paths is left out: counting it made Lua and SQLite execute more, not fewer instructions.)
 *
 * Formulation: a minimum vertex cut. Flow runs from every writer of r up the call graph; each function is a
 * node of capacity cost(r); functions that must preserve r lead to the sink. A cut function saves r; the
 * functions below a cut need not. Among equal cuts the one nearest to the sink is taken: higher in the call
 * graph, executed less often.
 *
 *   main ── keeps r across g          d writes r:  flow d → {f, g} → main: cut at g and f costs 2·2,
 *     ├─ f ── d                                    cut at d costs 2. d saves.
 *     └─ g ── d
 *
 * Allocation is not repeated: it was done with every callee preserving its callee-saved registers, and a
 * register is let go only where no value relies on that. So the result is never larger than without.
 * A tail call takes the caller's frame away: what the callee leaves changed, the caller cannot restore.
 *
 * Obligations: call sites and writes are complete (collect.ts); "open" covers every function that anything
 * but a listed call site can enter, and every function whose definition may be replaced.
 * Cost: one maximum flow for each of the six registers, linear networks.
 */
import { hasRegister, noRegisters, type RegisterSet, registersIn, withRegister } from "../register-set.js";
import { FlowNetwork, infinite } from "./max-flow.js";

/** A function as save placement sees it; functions are numbered densely. */
export interface SavingFunction {
  /** Unknown code may enter it: it must preserve every callee-saved register. */
  readonly open: boolean;
  /** Callee-saved registers its own instructions write. */
  readonly writes: RegisterSet;
  /** Control comes back out of it; if not, it has nothing to preserve. */
  readonly returns: boolean;
  /** Bytes count first; if not, executions do. */
  readonly forSize: boolean;
  /** Estimated executions of the function in the whole program. */
  readonly executions: number;
  readonly calls: readonly {
    readonly callee: number;
    readonly liveAcross: RegisterSet;
    readonly tail: boolean;
  }[];
}

export interface SavePlan {
  /** Callee-saved registers each function saves and restores. */
  readonly saved: readonly RegisterSet[];
  /** Callee-saved registers each function may leave changed. */
  readonly changed: readonly RegisterSet[];
}

/** Capacities: what counts less fills the bits below this unit. */
const byteUnit = 2 ** 24;
const executionUnit = 2 ** 6;

/** Cost of a save of `bytes` in the function, as a whole number. */
function capacityOf(fn: SavingFunction, bytes: number): number {
  const executions = Math.max(fn.executions, 0);
  if (fn.forSize) return bytes * byteUnit + Math.min(Math.round(executions), byteUnit - 1);
  return Math.round(executions * executionUnit) * executionUnit + bytes;
}

/** @param saveCost bytes of saving and restoring a register, by its number */
export function placeSaves(
  functions: readonly SavingFunction[],
  calleeSaved: RegisterSet,
  saveCost: (register: number) => number,
): SavePlan {
  const saved = new Array<RegisterSet>(functions.length).fill(noRegisters);
  const changed = new Array<RegisterSet>(functions.length).fill(noRegisters);
  for (const register of registersIn(calleeSaved))
    placeRegister(functions, register, saveCost(register), saved, changed);
  return { saved, changed };
}

function placeRegister(
  functions: readonly SavingFunction[],
  register: number,
  cost: number,
  saved: RegisterSet[],
  changed: RegisterSet[],
): void {
  const network = new FlowNetwork();
  const source = network.addNode();
  const sink = network.addNode();
  // Node 2 + 2f: "r is changed inside f"; 3 + 2f: "r is changed after f returned".
  for (let f = 0; f < functions.length; f++) {
    network.addNode();
    network.addNode();
  }
  functions.forEach((fn, f) => {
    const inside = 2 + 2 * f;
    const after = inside + 1;
    if (hasRegister(fn.writes, register)) network.addEdge(source, inside, infinite);
    // A function that never returns has no "after".
    if (fn.returns) network.addEdge(inside, after, capacityOf(fn, cost));
    if (fn.open) network.addEdge(after, sink, infinite);
    for (const { callee, liveAcross, tail } of fn.calls) {
      const calleeAfter = 3 + 2 * callee;
      if (hasRegister(liveAcross, register)) network.addEdge(calleeAfter, sink, infinite);
      if (callee !== f || tail) network.addEdge(calleeAfter, tail ? after : inside, infinite);
    }
  });
  network.maximize(source, sink);
  const mustPreserve = network.reaches(sink);
  const changedInside = reachableChanges(functions, register, (f) => mustPreserve[3 + 2 * f] === 1);
  functions.forEach((fn, f) => {
    if (changedInside[f] === 0 || !fn.returns) return;
    if (mustPreserve[3 + 2 * f] === 1) saved[f] = withRegister(saved[f]!, register);
    else changed[f] = withRegister(changed[f]!, register);
  });
}

/** Functions inside which the register really changes, given which functions preserve it. */
function reachableChanges(
  functions: readonly SavingFunction[],
  register: number,
  preserves: (f: number) => boolean,
): Uint8Array {
  const callers: number[][] = functions.map(() => []);
  functions.forEach((fn, f) => {
    for (const { callee } of fn.calls) callers[callee]!.push(f);
  });
  const changed = new Uint8Array(functions.length);
  const stack: number[] = [];
  functions.forEach((fn, f) => {
    if (hasRegister(fn.writes, register)) {
      changed[f] = 1;
      stack.push(f);
    }
  });
  while (stack.length > 0) {
    const f = stack.pop()!;
    if (preserves(f)) continue;
    for (const caller of callers[f]!)
      if (changed[caller] === 0) {
        changed[caller] = 1;
        stack.push(caller);
      }
  }
  return changed;
}
