/**
 * Addresses in the middle of places that are far from what a register points to:
 *
 *     movl 5900(%rdi), %eax; addl 5904(%rdi), %eax; movl %eax, 5912(%rdi)
 *       →  leaq 5900(%rdi), %rcx; movl (%rcx), %eax; addl 4(%rcx), %eax; movl %eax, 12(%rcx)
 *
 * A structure may have several such middles, of which center-pointers (codegen/lowering) takes one; and frames of more than
 * 128 bytes have them too. Where the most distances lie in 256 bytes is tried first. A register may point to many
 * things in a function: what is counted of it together only says what to try, rebasing.ts what each place gains.
 * O(mentions log mentions) for each of the few addresses tried, beside rebasing.
 */
import type { MFunction } from "../mir.js";
import { type HeldAddress, leastGain, type Rebasing } from "./rebasing.js";

/** Addresses tried in a function. */
const mostTried = 8;
/** An access that is near takes so many bytes less than one that is far. */
const gainOfEach = 3;
/** The shortest instruction that sets an address. */
const setBytes = 4;
/** Far places in 256 bytes that can pay. */
const fewestFar = Math.ceil((leastGain + setBytes) / gainOfEach);

const isFar = (distance: number): boolean => distance < -128 || distance > 127;

/** Distances of far places that are mentioned from each register, ascending, by register. */
function farPlaces({ blocks, target }: MFunction): number[][] {
  const byRegister: number[][] = [];
  for (const { insts } of blocks)
    for (const inst of insts) {
      const distance = target.base.distance(inst);
      if (isFar(distance)) (byRegister[target.base.pointer(inst)] ??= []).push(distance);
    }
  for (const distances of byRegister) distances?.sort((a, b) => a - b);
  return byRegister;
}

/** Whether it can pay to look closer. */
export const mentionsFarPlaces = (mf: MFunction): boolean =>
  farPlaces(mf).some((distances) => distances.length >= fewestFar);

interface Window {
  readonly register: number;
  /** The smallest distance in it. */
  readonly start: number;
  /** From there all distances in it take a byte, or none. */
  readonly middle: number;
  /** Far places. */
  readonly count: number;
}

/** Where far places are enough to pay, the most first. */
function windowsOf(places: readonly (readonly number[])[]): Window[] {
  const windows: Window[] = [];
  places.forEach((distances, register) => {
    for (let i = 0, end = 0; i < distances.length; i++) {
      const start = distances[i]!;
      if (i > 0 && start === distances[i - 1]) continue;
      while (end < distances.length && distances[end]! <= start + 255) end++;
      if (end - i >= fewestFar)
        windows.push({ register, start, middle: middleOf(distances, i, end), count: end - i });
    }
  });
  return windows.sort((a, b) => b.count - a.count || a.register - b.register || a.start - b.start);
}

/** The distance that is mentioned most often takes no byte, if from there all are near. */
function middleOf(distances: readonly number[], from: number, to: number): number {
  let middle = distances[from]!;
  let most = 0;
  for (let i = from, k = from; i < to; i = k) {
    while (k < to && distances[k] === distances[i]) k++;
    if (k - i <= most || distances[to - 1]! - distances[i]! > 127 || distances[i]! - distances[from]! > 128)
      continue;
    middle = distances[i]!;
    most = k - i;
  }
  return most > 0 ? middle : distances[from]! + 128;
}

export function rebaseFarPlaces(mf: MFunction, rebasing: Rebasing): void {
  const tried = new Set<string>();
  let windows = windowsOf(farPlaces(mf));
  for (let i = 0; i < mostTried; i++) {
    const window = windows.find(({ register, start }) => !tried.has(`${register} ${start}`));
    if (window === undefined) return;
    tried.add(`${window.register} ${window.start}`);
    if (rebasing.run(addressIn(mf, window)) > 0) windows = windowsOf(farPlaces(mf));
  }
}

/** An address near all places of the window. */
function addressIn({ target: { base } }: MFunction, { register: source, middle }: Window): HeldAddress {
  const [least, largest] = [middle - 128, middle + 127];
  return {
    source,
    isMentionedBy(inst) {
      const distance = base.distance(inst);
      return distance >= least && distance <= largest && base.pointer(inst) === source;
    },
    rebased: (inst, register) => base.atDistance(inst, register, base.distance(inst) - middle),
    set: (register) => base.setDistance(register, source, middle),
  };
}
