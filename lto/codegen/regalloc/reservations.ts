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
import { Clobber, collectUses, Early, hasTies, isSingle, Late, type Numbering, tieOf } from "../liveness.js";
import type { MFunction, RegMask, RegOperand } from "../mir.js";

const runLength = 32;

export interface Takings {
  readonly points: number[];
  readonly masks: RegMask[];
}

export class Reservations {
  private readonly from: number[] = [];
  private readonly to: number[] = [];
  private readonly mask: number[] = [];
  /** The value that may be in the register nevertheless, or -1. */
  private readonly vreg: number[] = [];
  private runMasks = new Int32Array(0);

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
        if (extra !== null && extra.kind === "call" && extra.returnsTwice) clobbers = -1;
        const entered = block.landingPad && index === numbering.head[b]! + 1;
        if (clobbers !== 0)
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
    this.runMasks = new Int32Array(runs);
    for (let e = 0; e < this.mask.length; e++) this.runMasks[(e / runLength) | 0]! |= this.mask[e]!;
  }

  private add(from: number, to: number, mask: RegMask, vreg: number): void {
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
  blocked(vreg: number, start: number, end: number, interesting: RegMask): RegMask {
    const count = this.mask.length;
    let result = 0;
    let e = this.firstAfter(start);
    // Within an index, events are unordered by at most three points: look one index past the end.
    const limit = end + 4;
    while (e < count && this.from[e]! < limit) {
      if (e % runLength === 0 && (this.runMasks[e / runLength]! & interesting & ~result) === 0) {
        e += runLength;
        continue;
      }
      if (this.from[e]! < end && this.to[e]! > start && this.vreg[e] !== vreg) {
        result |= this.mask[e]! & interesting;
        if (result === interesting) return result;
      }
      e++;
    }
    return result;
  }

  /**
   * Appends the points within [start, end) at which instructions take registers of `interesting` from `vreg`, with
   * the registers taken. Points are in order except among those of one instruction.
   */
  collect(vreg: number, start: number, end: number, interesting: RegMask, out: Takings): void {
    for (let e = this.firstAfter(start); e < this.mask.length && this.from[e]! < end + 4; e++) {
      if (this.from[e]! >= end || this.to[e]! <= start || this.vreg[e] === vreg) continue;
      const mask = this.mask[e]! & interesting;
      if (mask === 0) continue;
      // A reservation over several points blocks from the first of them that matters.
      out.points.push(Math.max(start, this.from[e]!));
      out.masks.push(mask);
    }
  }

  /** First point within [start, end) at which an instruction takes a register of `mask`; -1 if none. */
  firstBlock(vreg: number, start: number, end: number, mask: RegMask): number {
    let first = -1;
    for (let e = this.firstAfter(start); e < this.mask.length && this.from[e]! < end + 4; e++) {
      if (this.from[e]! >= end || this.to[e]! <= start || this.vreg[e] === vreg) continue;
      if ((this.mask[e]! & mask) === 0) continue;
      const point = Math.max(start, this.from[e]!);
      if (first < 0 || point < first) first = point;
    }
    return first;
  }
}
