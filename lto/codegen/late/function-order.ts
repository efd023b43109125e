/**
 * The order in which functions stand, for size: jumps that leave one for another take no bytes if what they lead to
 * follows, and two instead of five if it is near.
 *
 *     f: …; jmp g          f: …
 *     …              →     g: …
 *     h: …; jmp g          h: …; jmp g    # short
 *
 * A function can follow one of those that end in jumps to it, and no chain may close. Of them the smallest is taken, so
 * that others stay near, and before that those that end in the jump already, since layout cannot always put it there.
 * Then chains are put beside each other, for one jump after the other, those of small functions first: what has been
 * put together stays. Code that was outlined takes part: jumps to it are many. Chains follow in the order of the first of
 * their functions, which is as stable as that of the module. Linear in the code, which is looked at packed, but
 * for sorting the jumps; how far one leads is counted only as far as a short one reaches.
 * Proof obligations: none. Whether a jump can go is seen where functions are written (formats/asm/fall-through.ts), and the
 * assembler finds which are short: what is wrong here costs bytes.
 * Breaks if: a call reaches another definition than the one here, which `numberOf` has to know.
 */
import type { GlobalValue } from "../../ir/module.js";
import type { BranchCosts } from "../../target/branches.js";
import { goals, opcodeMask } from "../pack/format.js";
import { isBound, packedHead, skipInstruction } from "../pack/walk.js";
import { OpFact } from "../target.js";
import { Chains } from "./chains.js";
import type { ProgramStep } from "./pipeline.js";
import type { ProgramCode } from "./program-code.js";
import { tailJumpTarget } from "./tail-jumps.js";

/** Instructions of a function that no short jump gets over, to a fair certainty. */
const manyInstructions = 60;

/** A jump that leaves a function for another. */
interface TailJump {
  readonly from: number;
  readonly to: number;
  /** Position among the words of `from`. */
  readonly at: number;
  /** It is the last instruction. */
  readonly isLast: boolean;
  /** Bytes of `from` after it. */
  behind: number;
}

/** @param numberOf a function by its definition, if that is what calls are sure to reach */
export function orderFunctions(numberOf: (callee: GlobalValue) => number | undefined): ProgramStep["run"] {
  return (code) => {
    const { jumps, instructions } = tailJumps(code, numberOf);
    const sizes = sizesOf(code, jumps, instructions);
    jumps.sort((a, b) => sizes[a.from]! - sizes[b.from]! || a.from - b.from || a.at - b.at);
    const chains = new Chains(code.count);
    for (const from of fallThrough(jumps, instructions, chains)) code.letFallThrough(from);
    for (const jump of jumps) bringNear(jump, sizes, chains, code.target.costs.branches);
    code.order = allOf(chains);
  };
}

interface FoundJumps {
  readonly jumps: TailJump[];
  /** Of each function. */
  readonly instructions: Int32Array;
}

function tailJumps(code: ProgramCode, numberOf: (callee: GlobalValue) => number | undefined): FoundJumps {
  const { count } = code;
  const { facts } = code.target.instructions;
  const added = new Map<string, number>();
  for (let fn = code.programCount; fn < count; fn++) added.set(code.functionOf(fn).name, fn);
  const part = Uint8Array.from({ length: count }, (_, fn) => Number(takesPart(code, fn)));
  const jumps: TailJump[] = [];
  const instructions = new Int32Array(count);
  for (let from = 0; from < count; from++) {
    if (part[from] === 0) continue;
    const packed = code.packed(from);
    const { words } = packed;
    let at = packed.blocks;
    for (let block = packedHead(packed).blocks; block > 0; block--) {
      let last = -1;
      instructions[from]! += words[at]!;
      for (let n = words[at++]!; n > 0; n--) {
        last = at;
        at = skipInstruction(words, at);
      }
      if (last < 0 || (facts[words[last]! & opcodeMask]! & OpFact.TailCall) === 0) continue;
      const target = tailJumpTarget(code.instruction(words, last), facts);
      if (target === null) continue;
      const to = typeof target === "string" ? added.get(target) : numberOf(target);
      if (to !== undefined && to !== from && part[to] === 1)
        jumps.push({ from, to, at: last, isLast: block === 1, behind: 0 });
    }
  }
  return { jumps, instructions };
}

/** It is for size, and goes where most of the program does. */
function takesPart(code: ProgramCode, number: number): boolean {
  const goal = goals[packedHead(code.packed(number)).goal]!;
  if (goal !== "size" && goal !== "minsize") return false;
  const fn = code.functionOf(number);
  return fn.section === "" && fn.comdat === null && !code.facts.retained.has(fn);
}

/** Bytes of the functions that jumps leave or lead to, about, infinite where they are many; tells jumps what is behind. */
function sizesOf(code: ProgramCode, jumps: readonly TailJump[], instructions: Int32Array): Float64Array {
  const sizes = new Float64Array(code.count).fill(Number.POSITIVE_INFINITY);
  const own = new Map<number, TailJump[]>();
  for (const jump of jumps) {
    for (const fn of [jump.from, jump.to]) if (!own.has(fn)) own.set(fn, []);
    own.get(jump.from)!.push(jump);
    if (!jump.isLast) jump.behind = Number.POSITIVE_INFINITY;
  }
  for (const [fn, list] of own) if (instructions[fn]! <= manyInstructions) sizes[fn] = sizeOf(code, fn, list);
  return sizes;
}

function sizeOf(code: ProgramCode, fn: number, jumps: readonly TailJump[]): number {
  const { facts, length } = code.target.instructions;
  const { short, boundAddress } = code.target.costs.branches;
  const packed = code.packed(fn);
  const { words } = packed;
  const ends = new Map<number, number>();
  let bytes = 0;
  let at = packed.blocks;
  for (let block = packedHead(packed).blocks; block > 0; block--)
    for (let n = words[at++]!; n > 0; n--) {
      const fact = facts[words[at]! & opcodeMask]!;
      if ((fact & (OpFact.Branch | OpFact.Jump)) !== 0) bytes += short;
      else bytes += isBound(words, at) ? boundAddress : length(code.instruction(words, at));
      ends.set(at, bytes);
      at = skipInstruction(words, at);
    }
  for (const jump of jumps) jump.behind = bytes - ends.get(jump.at)!;
  return bytes;
}

/** Puts functions before what they end with jumps to. @returns those */
function fallThrough(jumps: readonly TailJump[], instructions: Int32Array, chains: Chains): number[] {
  const count = new Int32Array(instructions.length);
  for (const { from } of jumps) count[from]!++;
  const found: number[] = [];
  for (const wanted of [true, false])
    for (const { from, to, isLast } of jumps) {
      // Of several jumps it is not known which one layout puts last; and with nothing but a jump, a function without it
      // would have the address of the other.
      if (isLast !== wanted || count[from] !== 1 || instructions[from] === 1) continue;
      if (chains.link(from, to)) found.push(from);
    }
  return found;
}

/** Puts the chains of both functions beside each other if the jump can be short then. */
function bringNear(
  { from, to, behind }: TailJump,
  sizes: Float64Array,
  chains: Chains,
  { reach }: BranchCosts,
): void {
  const { next, previous } = chains;
  const ahead = behind + bytesBeside(from, next, sizes, reach) + bytesBeside(to, previous, sizes, reach);
  if (ahead <= reach) {
    chains.join(from, to);
    return;
  }
  const own = sizes[from]! - behind + bytesBeside(from, previous, sizes, reach);
  if (own + sizes[to]! + bytesBeside(to, next, sizes, reach) <= reach) chains.join(to, from);
}

/** Bytes from a function to the end of its chain on one side, without its own; infinite beyond `reach`. */
function bytesBeside(fn: number, side: Int32Array, sizes: Float64Array, reach: number): number {
  let bytes = 0;
  for (let other = side[fn]!; other !== -1; other = side[other]!) {
    bytes += sizes[other]!;
    if (bytes > reach) return Number.POSITIVE_INFINITY;
  }
  return bytes;
}

/** All functions, by number: one chain after the other. */
function allOf(chains: Chains): number[] {
  const { next } = chains;
  const order: number[] = [];
  const isDone = new Uint8Array(next.length);
  for (let number = 0; number < isDone.length; number++) {
    if (isDone[number] === 1) continue;
    for (let fn = chains.firstOf(number); fn !== -1; fn = next[fn]!) {
      isDone[fn] = 1;
      order.push(fn);
    }
  }
  return order;
}
