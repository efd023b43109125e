/**
 * Which closed functions take their first argument in a callee-saved register (here: rbx).
 *
 *     f(p) { g(); use(p) }         push %rbx; mov %rdi,%rbx; call g; … pop %rbx; ret
 *     with p in rbx                                          call g; …           ret
 *
 * A context that is handed down a call graph then never moves. But where a function passes different values to
 * such callees, none of them can stay in rbx, and rbx is no longer of use for anything else: so it is a question
 * of cost, and the answer for one function depends on those for its callers and callees.
 *
 * Method: a cost in bytes for each function, as a function of its own convention and its callees' (`costOf`);
 * starting from "all", functions change sides in turn as long as the total falls. Each change touches one
 * function and its callers; a few rounds of linear work.
 * Obligations: `eligible` functions are closed — every call of them is a listed direct call of the program.
 */
import { type ArgumentFlow, dyingValue, ownParameter } from "./argument-flow.js";

/** Bytes. */
const move = 2;
const save = 2;
/** One more callee-saved register in use: its save, and longer names for others. */
const extraRegister = 5;
/** From so many values across calls on, registers are short, and giving one away costs so much. */
const crowd = 10;
const crowding = 20;
/** A tail call that has to become a call, with the save and restore around it. */
const lostTailCall = 6;

/** @returns by function, 1 if it takes its first argument in the callee-saved register */
export function chooseConventions(flows: readonly ArgumentFlow[], eligible: Uint8Array): Uint8Array {
  const chosen = Uint8Array.from(flows, (flow, f) =>
    eligible[f] === 1 && flow.hasFirst && !flow.rigid ? 1 : 0,
  );
  // Such a jump could not be made up for by a call.
  for (const { mustTail } of flows) for (const callee of mustTail) chosen[callee] = 0;
  const candidates = [...chosen.keys()].filter((f) => chosen[f] === 1);
  const callers: number[][] = flows.map(() => []);
  flows.forEach(({ sites }, f) => {
    for (const callee of new Set(sites.map((site) => site.callee)))
      if (callee >= 0 && callee !== f) callers[callee]!.push(f);
  });
  const around = (f: number): number => {
    let sum = costOf(flows[f]!, chosen[f]!, chosen);
    for (const caller of callers[f]!) sum += costOf(flows[caller]!, chosen[caller]!, chosen);
    return sum;
  };
  for (let round = 0, changed = true; changed && round < 8; round++) {
    changed = false;
    for (const f of candidates) {
      const before = around(f);
      chosen[f] = 1 - chosen[f]!;
      if (around(f) < before) changed = true;
      else chosen[f] = 1 - chosen[f]!;
    }
  }
  return chosen;
}

/** Estimated bytes that first arguments cost a function. @param own 1 if it receives its own in the register */
function costOf(flow: ArgumentFlow, own: number, chosen: Uint8Array): number {
  const { sites, firstLives, living } = flow;
  // The one value that all such callees are passed can stay in the register.
  let resident = own === 1 ? ownParameter : dyingValue;
  let pure = true;
  let wanted = 0;
  for (const { callee, source } of sites) {
    if (callee < 0 || chosen[callee] === 0) continue;
    wanted++;
    if (source === dyingValue) pure = false;
    else if (resident === dyingValue) resident = source;
    else if (resident !== source) pure = false;
  }
  let cost = 0;
  if (own === 1) cost = pure ? (firstLives ? -save : 0) : extraRegister + move;
  else {
    if (firstLives) cost += move;
    if (wanted > 0) cost += pure && living > 0 ? 0 : pure ? save : extraRegister;
  }
  if (living > crowd && (own === 1 || wanted > 0)) cost += crowding;
  for (const { callee, source, tail } of sites) {
    const inRegister = callee >= 0 && chosen[callee] === 1;
    if (source !== dyingValue) {
      if (source === ownParameter && !firstLives) {
        if (inRegister !== (own === 1)) cost += move;
      } else if (!(inRegister && pure && source === resident)) cost += move;
    }
    if (tail && inRegister && !(own === 1 && pure && source === ownParameter)) cost += lostTailCall;
  }
  return cost;
}
