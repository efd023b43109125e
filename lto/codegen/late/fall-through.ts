/**
 * Functions that end in a jump to another one stand in front of it, for size: the jump is not printed where what it leads
 * to follows.
 *
 *     f: …; jmp g          f: …
 *     …              →     g: …
 *     g: …
 *
 * A function can follow one of those that end so, and no chain may close; which of them is not worth choosing, since all
 * jumps are of one length, so first come those that end in the jump already, others if layout can put it there. Chains
 * follow in the order of their first functions, which is as stable as that of the module. Code that was outlined takes
 * part: jumps to it are many. Linear in the code, which is looked at packed.
 * Proof obligations: a jump does what going on does, if nothing but operations without effect stands between. Whether
 * that holds is seen where functions are written (formats/asm/fall-through.ts), and nothing is left out before.
 * Here it is only a wish, which layout respects, so that what is wrong here costs bytes.
 * Breaks if: a call reaches another definition than the one here, which `numberOf` has to know.
 */
import type { Func, GlobalValue } from "../../ir/module.js";
import { goals, opcodeMask } from "../pack/format.js";
import { packedHead, skipInstruction } from "../pack/walk.js";
import { OpFact } from "../target.js";
import type { ProgramStep } from "./pipeline.js";
import type { ProgramCode } from "./program-code.js";
import { tailJumpTarget } from "./tail-jumps.js";

/** @param numberOf a function by its definition, if that is what calls are sure to reach */
export function fallThrough(numberOf: (callee: GlobalValue) => number | undefined): ProgramStep["run"] {
  return (code) => {
    const next = chosen(exitsOf(code, numberOf));
    for (let fn = 0; fn < next.length; fn++) if (next[fn]! >= 0) code.letFallThrough(fn);
    code.order = chained(next);
  };
}

/** Where each function ends. */
interface Exits {
  /** The function that its only jump of that kind leads to; -1: there is none, or several. */
  readonly into: Int32Array;
  /** 1: it does so at the end of its last block. */
  readonly isLast: Uint8Array;
}

function exitsOf(code: ProgramCode, numberOf: (callee: GlobalValue) => number | undefined): Exits {
  const { count, target } = code;
  const { facts } = target.instructions;
  const added = new Map<string, number>();
  for (let fn = code.programCount; fn < count; fn++) added.set(code.functionOf(fn).name, fn);
  const into = new Int32Array(count).fill(-1);
  const isLast = new Uint8Array(count);
  /** The function that a jump leads to; -1 for another place. */
  const reached = (words: Int32Array, at: number): number => {
    const to = tailJumpTarget(code.instruction(words, at), facts);
    if (to === null) return -1;
    return (typeof to === "string" ? added.get(to) : numberOf(to)) ?? -1;
  };
  for (let fn = 0; fn < count; fn++) {
    if (!takesPart(code, fn)) continue;
    const packed = code.packed(fn);
    const { words } = packed;
    let several = false;
    let instructions = 0;
    let at = packed.blocks;
    for (let block = packedHead(packed).blocks; block > 0; block--) {
      let last = at;
      instructions += words[at]!;
      for (let n = words[at++]!; n > 0; n--) {
        last = at;
        at = skipInstruction(words, at);
      }
      if ((facts[words[last]! & opcodeMask]! & OpFact.TailCall) === 0) continue;
      const callee = reached(words, last);
      if (callee < 0 || callee === fn || !takesPart(code, callee)) continue;
      several ||= into[fn]! >= 0;
      into[fn] = callee;
      if (block === 1) isLast[fn] = 1;
    }
    // Nothing but a jump: without it the function would have the address of the other.
    if (several || instructions === 1) into[fn] = -1;
  }
  return { into, isLast };
}

/** It is for size, and goes where most of the program does. */
function takesPart(code: ProgramCode, number: number): boolean {
  const goal = goals[packedHead(code.packed(number)).goal]!;
  if (goal !== "size" && goal !== "minsize") return false;
  const fn: Func = code.functionOf(number);
  return fn.section === "" && fn.comdat === null && !code.facts.retained.has(fn);
}

/** What is to follow each function; -1: nothing in particular. */
function chosen({ into, isLast }: Exits): Int32Array {
  const next = new Int32Array(into.length).fill(-1);
  const isTaken = new Uint8Array(into.length);
  // Chains by union-find.
  const root = Int32Array.from(into, (_, fn) => fn);
  const find = (fn: number): number => {
    while (root[fn] !== fn) {
      root[fn] = root[root[fn]!]!;
      fn = root[fn]!;
    }
    return fn;
  };
  for (const wanted of [1, 0])
    for (let fn = 0; fn < into.length; fn++) {
      const callee = into[fn]!;
      if (callee < 0 || isLast[fn] !== wanted || isTaken[callee] === 1 || find(fn) === find(callee)) continue;
      next[fn] = callee;
      isTaken[callee] = 1;
      root[find(callee)] = find(fn);
    }
  return next;
}

/** All functions, each behind the one that it follows. */
function chained(next: Int32Array): number[] {
  const follows = new Uint8Array(next.length);
  for (const fn of next) if (fn >= 0) follows[fn] = 1;
  const order: number[] = [];
  for (let first = 0; first < next.length; first++)
    if (follows[first] === 0) for (let fn = first; fn >= 0; fn = next[fn]!) order.push(fn);
  return order;
}
