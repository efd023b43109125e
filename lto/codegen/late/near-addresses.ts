/**
 * Addresses near places that take four bytes to mention each: far from what a register points to, or in a variable.
 *
 *     movl 5900(%rdi), %eax; addl 5904(%rdi), %eax; movl %eax, 5912(%rdi)
 *       →  leaq 5900(%rdi), %rcx; movl (%rcx), %eax; addl 4(%rcx), %eax; movl %eax, 12(%rcx)
 *     movl v(%rip), %eax; incl v+4(%rip); addl %eax, v(%rip)
 *       →  movl $v, %ecx; movl (%rcx), %eax; incl 4(%rcx); addl %eax, (%rcx)
 *
 * A structure may have several such middles, of which bias-pointers (codegen/lowering) takes one; and frames of more than
 * 128 bytes have them too. Where the most distances lie in 256 bytes is tried first. A register may point to many
 * things in a function: what is counted of it together only says what to try, rebasing.ts what each place gains.
 * Constants are left alone: linkers merge some by what is there, and an address in the middle may be outside of them.
 * O(mentions log mentions) for each of the few addresses tried, beside rebasing.
 */
import { windowsOf } from "../../analysis/pointer-distances.js";
import type { GlobalValue } from "../../ir/module.js";
import { type AddressCosts, farBytes, isFar, nearRange } from "../../target/addresses.js";
import type { MFunction, MInst } from "../mir.js";
import type { BaseRegisters } from "../target.js";
import { type HeldAddress, leastGain, type Rebasing } from "./rebasing.js";

/** Addresses tried in a function. */
const mostTried = 8;
/** Far places within reach of one address that can pay. */
const fewestFar = (costs: AddressCosts): number => Math.ceil((leastGain + costs.set) / farBytes(costs));

/** What places are mentioned from: a register or a variable. */
type Origin = number | GlobalValue;

/** Distances of far places, ascending, by what they are mentioned from. */
function placesOf(
  code: readonly (readonly MInst[])[],
  base: BaseRegisters,
  costs: AddressCosts,
): Map<Origin, number[]> {
  const places = new Map<Origin, number[]>();
  const add = (origin: Origin, distance: number): void => {
    if (Math.abs(distance) > costs.farthest) return;
    const known = places.get(origin);
    if (known === undefined) places.set(origin, [distance]);
    else known.push(distance);
  };
  for (const insts of code)
    for (const inst of insts) {
      const distance = base.distance(inst);
      if (isFar(costs, distance)) add(base.pointer(inst), distance);
      else if (Number.isNaN(distance)) {
        const variable = base.mentioned(inst);
        if (variable?.kind === "variable" && !variable.isConstant) add(variable, base.addend(inst));
      }
    }
  for (const distances of places.values()) distances.sort((a, b) => a - b);
  return places;
}

/** Whether it can pay to look closer. @param insts of a function; it suffices that those are there that `mentionsFar` */
export function mentionsFarPlaces(
  insts: readonly MInst[],
  base: BaseRegisters,
  costs: AddressCosts,
): boolean {
  const fewest = fewestFar(costs);
  for (const { length } of placesOf([insts], base, costs).values()) if (length >= fewest) return true;
  return false;
}

const placesIn = ({ blocks, target }: MFunction): Map<Origin, number[]> =>
  placesOf(
    blocks.map(({ insts }) => insts),
    target.base,
    target.costs.addresses,
  );

interface Window {
  readonly origin: Origin;
  /** The smallest distance in it. */
  readonly start: number;
  /** From there all distances in it take a byte, or none. */
  readonly middle: number;
  /** Mentions. */
  readonly count: number;
}

/** Where mentions are enough to pay, the most first. */
function worthyWindows(mf: MFunction): Window[] {
  const costs = mf.target.costs.addresses;
  const fewest = fewestFar(costs);
  const windows: Window[] = [];
  for (const [origin, distances] of placesIn(mf))
    for (const { from, to } of windowsOf(distances, nearRange(costs)))
      if (to - from >= fewest)
        windows.push({
          origin,
          start: distances[from]!,
          middle: middleOf(distances, from, to, costs),
          count: to - from,
        });
  return windows.sort((a, b) => b.count - a.count);
}

/** The distance that is mentioned most often takes no byte, if from there all are near. */
function middleOf(
  distances: readonly number[],
  from: number,
  to: number,
  { nearFrom, nearTo }: AddressCosts,
): number {
  let middle = distances[from]!;
  let most = 0;
  for (let i = from, k = from; i < to; i = k) {
    while (k < to && distances[k] === distances[i]) k++;
    const isOutOfReach =
      distances[to - 1]! - distances[i]! > nearTo || distances[from]! - distances[i]! < nearFrom;
    if (k - i <= most || isOutOfReach) continue;
    middle = distances[i]!;
    most = k - i;
  }
  return most > 0 ? middle : distances[from]! - nearFrom;
}

/** @returns bytes saved */
export function rebaseFarPlaces(mf: MFunction, rebasing: Rebasing, isPositionIndependent: boolean): number {
  const tried = new Map<Origin, Set<number>>();
  let saved = 0;
  let windows = worthyWindows(mf);
  for (let i = 0; i < mostTried; i++) {
    const window = windows.find(({ origin, start }) => tried.get(origin)?.has(start) !== true);
    if (window === undefined) break;
    const starts = tried.get(window.origin);
    if (starts === undefined) tried.set(window.origin, new Set([window.start]));
    else starts.add(window.start);
    const bytes = rebasing.run(addressIn(mf, window, isPositionIndependent));
    if (bytes === 0) continue;
    windows = worthyWindows(mf);
    saved += bytes;
  }
  return saved;
}

/** An address near all places of the window. */
function addressIn(
  { target: { base, costs } }: MFunction,
  { origin, middle }: Window,
  isPositionIndependent: boolean,
): HeldAddress {
  const isNear = (distance: number): boolean =>
    !Number.isNaN(distance) && !isFar(costs.addresses, distance - middle);
  if (typeof origin === "number")
    return {
      source: origin,
      isMentionedBy: (inst) => isNear(base.distance(inst)) && base.pointer(inst) === origin,
      rebased: (inst, register) => base.atDistance(inst, register, base.distance(inst) - middle),
      set: (register) => base.setDistance(register, origin, middle),
    };
  return {
    source: -1,
    isMentionedBy: (inst) => base.mentioned(inst) === origin && isNear(base.addend(inst)),
    rebased: (inst, register) => base.rebase(inst, register, () => -middle),
    set: (register) => base.setBehind(register, origin, middle, isPositionIndependent),
  };
}
