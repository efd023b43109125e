/**
 * Where physical registers are taken by instructions themselves: fixed operands and clobbers.
 *
 * A fixed use takes its register at 4i, a fixed definition at 4i+2 (from 4i if it is early or tied), a clobber at
 * 4i+1. The value used there may itself live on in that register, so a fixed use blocks every value but its own.
 * A call that returns twice takes all registers: what lives across it has to be in memory.
 * In a landing pad the fixed definitions and the clobbers of the first instruction hold from the head of the block
 * on, since the unwinder wrote them before any move there.
 *
 * Method: events sorted by point, with the union of masks over each run of 32 events, so that a long range over
 * thousands of calls is answered quickly.
 */

import { Clobber, collectUses, Early, hasTies, Late, type Numbering, tieOf } from "../liveness.js";
import type { MFunction, RegOperand } from "../mir.js";
import {
  equalSets,
  includesSet,
  intersect,
  isEmptySet,
  isSingle,
  noRegisters,
  overlaps,
  type RegisterSet,
  union,
} from "../register-set.js";

const runLength = 32;

export interface Takings {
  readonly points: number[];
  readonly masks: RegisterSet[];
}

export class Reservations {
  private readonly from: number[] = [];
  private readonly to: number[] = [];
  private readonly mask: RegisterSet[] = [];
  /** The value that may be in the register nevertheless, or -1. */
  private readonly vreg: number[] = [];
  private readonly runMasks: RegisterSet[];

  constructor(fn: MFunction, numbering: Numbering) {
    const buffer: RegOperand[] = [];
    for (let b = 0; b < fn.blocks.length; b++) {
      const block = fn.blocks[b]!;
      let index = numbering.head[b]!;
      for (const inst of block.insts) {
        index++;
        const count = collectUses(inst, buffer);
        const ties = hasTies(inst);
        for (let k = 0; k < count; k++) {
          const use = buffer[k]!;
          if (use.vreg < 0 || !isSingle(use.allowed)) continue;
          if (ties && tieOf(inst, use, k) !== null) continue;
          this.add(4 * index + Early, 4 * index + Clobber, use.allowed, use.vreg);
        }
        let clobbers = inst.clobbers;
        const extra = inst.extra;
        if (extra !== null && extra.kind === "call" && extra.returnsTwice) clobbers = fn.target.registers.all;
        const entered = block.landingPad && index === numbering.head[b]! + 1;
        if (!isEmptySet(clobbers))
          this.add(entered ? 4 * (index - 1) : 4 * index + Clobber, 4 * index + Late, clobbers, -1);
        for (let k = 0; k < inst.defs.length; k++) {
          const def = inst.defs[k]!;
          if (def.vreg < 0 || !isSingle(def.allowed)) continue;
          const first = def.early || def.tiedTo >= 0;
          const start = entered ? 4 * (index - 1) : 4 * index + (first ? Early : Late);
          this.add(start, 4 * index + 3, def.allowed, -1);
        }
      }
    }
    // Events of one instruction come nearly in order; overlap tests below need only starts that never decrease
    // by more than one index, which `firstAfter` allows for.
    const runs = Math.ceil(this.mask.length / runLength);
    const runMasks = new Array<RegisterSet>(runs).fill(noRegisters);
    for (let e = 0; e < this.mask.length; e++) {
      const run = (e / runLength) | 0;
      runMasks[run] = union(runMasks[run]!, this.mask[e]!);
    }
    this.runMasks = runMasks;
  }

  private add(from: number, to: number, mask: RegisterSet, vreg: number): void {
    this.from.push(from);
    this.to.push(to);
    this.mask.push(mask);
    this.vreg.push(vreg);
  }

  /** Index of the first event of the instruction index before that of `point`, or later. */
  private firstAfter(point: number): number {
    const limit = (point & ~3) - 4;
    const from = this.from;
    let low = 0;
    let high = from.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      // Starts within one index are unordered, but never below the index's first point (landing pads: the
      // point of the head before it).
      if ((from[middle]! | 3) < limit) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Registers of `interesting` that instructions take somewhere within [start, end) from register `vreg`. */
  blocked(vreg: number, start: number, end: number, interesting: RegisterSet): RegisterSet {
    const count = this.mask.length;
    let result = noRegisters;
    let e = this.firstAfter(start);
    // Within an index, events are unordered by at most three points: look one index past the end.
    const limit = end + 4;
    while (e < count && this.from[e]! < limit) {
      if (e % runLength === 0 && includesSet(result, intersect(this.runMasks[e / runLength]!, interesting))) {
        e += runLength;
        continue;
      }
      if (this.from[e]! < end && this.to[e]! > start && this.vreg[e] !== vreg) {
        result = union(result, intersect(this.mask[e]!, interesting));
        if (equalSets(result, interesting)) return result;
      }
      e++;
    }
    return result;
  }

  /**
   * Appends the points within [start, end) at which instructions take registers of `interesting` from `vreg`, with
   * the registers taken. Points are in order except among those of one instruction.
   */
  collect(vreg: number, start: number, end: number, interesting: RegisterSet, out: Takings): void {
    for (let e = this.firstAfter(start); e < this.mask.length && this.from[e]! < end + 4; e++) {
      if (this.from[e]! >= end || this.to[e]! <= start || this.vreg[e] === vreg) continue;
      const mask = intersect(this.mask[e]!, interesting);
      if (isEmptySet(mask)) continue;
      // A reservation over several points blocks from the first of them that matters.
      out.points.push(Math.max(start, this.from[e]!));
      out.masks.push(mask);
    }
  }

  /** First point within [start, end) at which an instruction takes a register of `mask`; -1 if none. */
  firstBlock(vreg: number, start: number, end: number, mask: RegisterSet): number {
    let first = -1;
    for (let e = this.firstAfter(start); e < this.mask.length && this.from[e]! < end + 4; e++) {
      if (this.from[e]! >= end || this.to[e]! <= start || this.vreg[e] === vreg) continue;
      if (!overlaps(this.mask[e]!, mask)) continue;
      const point = Math.max(start, this.from[e]!);
      if (first < 0 || point < first) first = point;
    }
    return first;
  }
}
