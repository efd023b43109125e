/**
 * From a placement to the transfers it implies: where which value has to get from one place to another.
 *
 * Kinds of transfers, by the time at which they happen:
 * - on an edge: values that are elsewhere at the end of the predecessor than at the head of the successor, and
 *   arguments. All transfers of an edge happen at once. They go to the end of the predecessor if that has one
 *   successor, else to the head of the successor.
 * - at the head of a block: reloads of values that are in memory on all edges into it. This is how a value that
 *   should change places on a critical edge does: its home is valid everywhere, so it is reloaded after the
 *   edge, and no edge needs to be split. The same is done where it is smaller than a transfer on each edge.
 * - in the gap before an instruction, first all at once: values that change places there, and the last reads of
 *   values in fixed or tied operands and copies (`enter`);
 * - then copies of values that live on into fixed or tied operands (`supply`);
 * - after an instruction: out of fixed definition registers (`leave`).
 *
 * A call that can unwind ends its block (mir.ts). Its results are there on the edge to where it returns, so what
 * would be done after it is done at the head of that block, which nothing else leads to. On the edge to a landing
 * pad nothing can be moved: after the call control is in the unwinder, before it the value may be needed where it
 * is, and in the landing pad the caller-saved registers hold garbage. A value that is in the same callee-saved
 * register at all calls that lead to the pad stays there (program.ts sees to it that whatever frames are unwound
 * put it back); one that is not comes from its home, which has been valid since its definition. Reservations keep
 * caller-saved registers from being the place of anything at the head of a landing pad.
 *
 * Nothing is ever stored when a value moves to memory: homes are written at the definition.
 */

import { collectUses, hasTies, isVirtualCopy, tieOf, UseKind, useKindOf } from "../liveness.js";
import { type MBlock, type MInst, type RegOperand, unwindTarget } from "../mir.js";
import { firstRegister, isSingle } from "../register-set.js";
import { Memory, type Places } from "./places.js";
import type { AllocationProblem } from "./problem.js";

/** `to` and `from` are registers, or `Memory`: the home of `toVReg` and of `fromVReg`. */
export interface Transfer {
  readonly toVReg: number;
  readonly to: number;
  readonly fromVReg: number;
  readonly from: number;
}

/** Transfers around one instruction. */
class Gap {
  enter: Transfer[] = none;
  supply: Transfer[] = none;
  leave: Transfer[] = none;
}
/** In the place of lists that stay empty; never written. */
const none: Transfer[] = [];

export interface Transfers {
  /** By layout position: transfers on the edge into the block, and on the edge out of it. */
  readonly head: (Transfer[] | undefined)[];
  readonly tail: (Transfer[] | undefined)[];
  /** By layout position: reloads at the head, after `head` and after parameters are stored. */
  readonly reloads: (Transfer[] | undefined)[];
  /** By index of the instruction. */
  readonly gaps: (Gap | undefined)[];
  /** Operands that name a slot, with the value whose home it is. */
  readonly slotOperands: { readonly operand: RegOperand; readonly vreg: number }[];
}

export function computeTransfers(problem: AllocationProblem, places: Places): Transfers {
  return new TransferBuilder(problem, places).build();
}

class TransferBuilder {
  private readonly result: Transfers;
  private readonly buffer: RegOperand[] = [];

  constructor(
    private readonly problem: AllocationProblem,
    private readonly places: Places,
  ) {
    const count = problem.fn.blocks.length;
    this.result = {
      head: new Array(count).fill(undefined),
      tail: new Array(count).fill(undefined),
      reloads: new Array(count).fill(undefined),
      gaps: new Array(problem.liveness.numbering.blockAt.length).fill(undefined),
      slotOperands: [],
    };
  }

  build(): Transfers {
    const { fn } = this.problem;
    for (let v = 0; v < fn.vregs.length; v++) {
      if (!this.places.isWhole(v)) this.moveBetweenPieces(v);
    }
    for (const block of fn.blocks) this.takeResults(block);
    for (let b = 0; b < fn.blocks.length; b++) {
      this.passArguments(fn.blocks[b]!);
      this.serveOperands(b);
    }
    return this.result;
  }

  private enter(index: number, transfer: Transfer): void {
    const gap = (this.result.gaps[index] ??= new Gap());
    if (gap.enter === none) gap.enter = [transfer];
    else gap.enter.push(transfer);
  }

  private supply(index: number, transfer: Transfer): void {
    const gap = (this.result.gaps[index] ??= new Gap());
    if (gap.supply === none) gap.supply = [transfer];
    else gap.supply.push(transfer);
  }

  private leave(index: number, transfer: Transfer): void {
    const gap = (this.result.gaps[index] ??= new Gap());
    if (gap.leave === none) gap.leave = [transfer];
    else gap.leave.push(transfer);
  }

  private isRemat(vreg: number): boolean {
    return this.problem.fn.vregs[vreg]!.remat !== null;
  }

  /** Changes of place of one value within blocks and between them. */
  private moveBetweenPieces(vreg: number): void {
    const { liveness, fn } = this.problem;
    const { rangeStart, rangeFrom, rangeTo, numbering, defIndex } = liveness;
    const { head, blockAt } = numbering;
    for (const piece of this.places.placement.pieces[vreg]!) {
      const index = piece.start >> 2;
      if (head[blockAt[index]!] === index) continue; // Reached by edges.
      if ((piece.start & 3) !== 0 || !this.places.isLive(vreg, piece.start - 1)) continue; // Its definition.
      if (defIndex[vreg] === index) continue;
      const from = this.places.at(vreg, piece.start - 1);
      if (from !== piece.register) {
        this.enter(index, { toVReg: vreg, to: piece.register, fromVReg: vreg, from });
      }
    }
    for (let r = rangeStart[vreg]!; r < rangeStart[vreg + 1]!; r++) {
      // Every block whose head lies in the interval, unless it defines the value as a parameter.
      let b = blockAt[rangeFrom[r]! >> 2]!;
      if (4 * head[b]! < rangeFrom[r]!) b++;
      for (; b < fn.blocks.length && 4 * head[b]! < rangeTo[r]!; b++) {
        if (defIndex[vreg] !== head[b]) this.enterBlock(vreg, b);
      }
    }
  }

  /** Where `vreg` is when control leaves `pred` for `block`. */
  private atEdge(vreg: number, pred: MBlock, block: MBlock): number {
    const { numbering, defIndex } = this.problem.liveness;
    const { head, position } = numbering;
    const p = position[pred.id]!;
    const call = unwindingIndex(pred);
    if (call >= 0) {
      const index = head[p]! + 1 + call;
      if (block.landingPad) return this.places.at(vreg, 4 * index + 2);
      const def = defIndex[vreg] === index ? definitionOf(pred.insts[call]!, vreg) : null;
      if (def !== null && isSingle(def.allowed)) return firstRegister(def.allowed);
    }
    return this.places.at(vreg, 4 * head[p + 1]! - 1);
  }

  /** Results that stay in one place all their life have yet to get there from the registers of the call. */
  private takeResults(block: MBlock): void {
    const call = unwindingIndex(block);
    if (call < 0) return;
    const { head, position } = this.problem.liveness.numbering;
    for (const next of block.succs) {
      if (next.landingPad) continue;
      const b = position[next.id]!;
      for (const { vreg, allowed } of block.insts[call]!.defs)
        if (
          vreg >= 0 &&
          isSingle(allowed) &&
          this.places.isWhole(vreg) &&
          this.places.isLive(vreg, 4 * head[b]!)
        )
          this.enterBlock(vreg, b);
    }
  }

  /** True if transfers on the edge can go before the branch of `pred`. */
  private hasTail(pred: MBlock, block: MBlock): boolean {
    return pred.succs.length === 1 && !block.landingPad;
  }

  private enterBlock(vreg: number, b: number): void {
    const { fn, liveness, policy } = this.problem;
    const block = fn.blocks[b]!;
    const to = this.places.at(vreg, 4 * liveness.numbering.head[b]!);
    if (to === Memory) return;
    const size = fn.vregs[vreg]!.size;
    let different = 0;
    let critical = false;
    let cost = 0;
    let fromMemory = 0;
    const reload = this.isRemat(vreg) ? policy.remat : policy.memory(size);
    for (const pred of block.preds) {
      const from = this.atEdge(vreg, pred, block);
      if (from === to) continue;
      different++;
      if (from === Memory) fromMemory++;
      cost += from === Memory ? reload : policy.move(size);
      if (block.preds.length > 1 && !this.hasTail(pred, block)) critical = true;
    }
    if (different === 0) return;
    const cheaper = policy.name === "size" && fromMemory > 0 && cost > reload;
    if (block.landingPad || (block.preds.length > 1 && (critical || cheaper))) {
      (this.result.reloads[b] ??= []).push({ toVReg: vreg, to, fromVReg: vreg, from: Memory });
      return;
    }
    for (const pred of block.preds) {
      const from = this.atEdge(vreg, pred, block);
      if (from !== to) this.onEdge(pred, block, { toVReg: vreg, to, fromVReg: vreg, from });
    }
  }

  private onEdge(pred: MBlock, block: MBlock, transfer: Transfer): void {
    const { position } = this.problem.liveness.numbering;
    if (block.landingPad) throw new Error(`arguments on the unwind edge to block ${block.id}`);
    if (this.hasTail(pred, block)) (this.result.tail[position[pred.id]!] ??= []).push(transfer);
    else if (block.preds.length === 1) (this.result.head[position[block.id]!] ??= []).push(transfer);
    else throw new Error(`arguments on a critical edge from block ${pred.id} to block ${block.id}`);
  }

  private passArguments(pred: MBlock): void {
    const { liveness } = this.problem;
    for (let s = 0; s < pred.succs.length; s++) {
      const block = pred.succs[s]!;
      if (block.params.length === 0) continue;
      const start = 4 * liveness.numbering.head[liveness.numbering.position[block.id]!]!;
      for (let p = 0; p < block.params.length; p++) {
        const param = block.params[p]!.vreg;
        const arg = pred.succArgs[s]![p]!;
        if (liveness.deadParam[param] !== 0) continue;
        const to = this.places.at(param, start);
        const from = arg.vreg < 0 ? arg.loc : this.atEdge(arg.vreg, pred, block);
        if (to === from && to !== Memory) continue;
        this.onEdge(pred, block, { toVReg: param, to, fromVReg: arg.vreg, from });
      }
    }
  }

  /** Gives operands their places, and the values their ways there. */
  private serveOperands(b: number): void {
    const { fn, liveness } = this.problem;
    const { useStart } = liveness;
    const { places, result } = this;
    const { buffer } = this;
    let index = liveness.numbering.head[b]!;
    for (const inst of fn.blocks[b]!.insts) {
      index++;
      const early = 4 * index;
      if (isVirtualCopy(fn, inst)) {
        const def = inst.defs[0]!;
        if (useStart[def.vreg + 1]! - useStart[def.vreg]! === 1) continue;
        this.consume(index, inst.uses[0]!.vreg, def.vreg, places.at(def.vreg, early));
        continue;
      }
      const count = collectUses(inst, buffer);
      const ties = hasTies(inst);
      const ends = unwindTarget(inst) !== null;
      for (let k = 0; k < count; k++) {
        const use = buffer[k]!;
        const tie = ties ? tieOf(inst, use, k) : null;
        if (use.vreg < 0) {
          if (tie === null || tie.vreg < 0) continue;
          const to = isSingle(tie.allowed) ? firstRegister(tie.allowed) : places.at(tie.vreg, early);
          this.enter(index, { toVReg: tie.vreg, to, fromVReg: -1, from: use.loc });
          use.loc = to;
          continue;
        }
        switch (useKindOf(use, tie)) {
          case UseKind.Fixed:
            use.loc = firstRegister(use.allowed);
            this.consume(index, use.vreg, use.vreg, use.loc);
            break;
          case UseKind.Tied:
            use.loc = isSingle(tie!.allowed) ? firstRegister(tie!.allowed) : places.at(tie!.vreg, early);
            this.consume(index, use.vreg, use.vreg, use.loc);
            break;
          default: {
            const register = places.at(use.vreg, early);
            if (register !== Memory) use.loc = register;
            else if (use.mayBeSlot && !this.isRemat(use.vreg)) {
              result.slotOperands.push({ operand: use, vreg: use.vreg });
            } else throw new Error(`virtual register ${use.vreg} is in memory at index ${index}`);
          }
        }
      }
      for (const def of inst.defs) {
        if (def.vreg < 0) continue;
        if (isSingle(def.allowed)) {
          def.loc = firstRegister(def.allowed);
          if (ends) continue;
          const to = places.at(def.vreg, early + 3);
          if (to !== Memory && to !== def.loc) {
            this.leave(index, { toVReg: def.vreg, to, fromVReg: def.vreg, from: def.loc });
          }
          continue;
        }
        const register = places.at(def.vreg, def.early || def.tiedTo >= 0 ? early : early + 2);
        if (register !== Memory) def.loc = register;
        else if (this.isRemat(def.vreg)) continue;
        else if (def.mayBeSlot) result.slotOperands.push({ operand: def, vreg: def.vreg });
        else throw new Error(`virtual register ${def.vreg} is defined in memory at index ${index}`);
      }
    }
  }

  /** The value of `vreg` has to be in `to` when instruction `index` reads it. */
  private consume(index: number, vreg: number, target: number, to: number): void {
    const early = 4 * index;
    // Several operands of one instruction can want the same value in the same register.
    const gap = this.result.gaps[index];
    if (gap !== undefined && to !== Memory) {
      for (let k = 0; k < gap.supply.length; k++) if (gap.supply[k]!.to === to) return;
      for (let k = 0; k < gap.enter.length; k++) {
        if (gap.enter[k]!.to === to && gap.enter[k]!.fromVReg === vreg) return;
      }
    }
    if (this.places.isLive(vreg, early)) {
      const from = this.places.at(vreg, early);
      if (from === to && to !== Memory) return;
      this.supply(index, { toVReg: target, to, fromVReg: vreg, from });
      return;
    }
    const from = this.places.at(vreg, early - 1);
    if (from === to && to !== Memory) return;
    this.enter(index, { toVReg: target, to, fromVReg: vreg, from });
  }
}

/** Position in its block of the call that ends it by unwinding; -1 if there is none. */
export function unwindingIndex({ insts }: MBlock): number {
  for (let k = insts.length - 1; k >= 0 && k >= insts.length - 2; k--)
    if (unwindTarget(insts[k]!) !== null) return k;
  return -1;
}

function definitionOf(inst: MInst, vreg: number): RegOperand | null {
  for (const def of inst.defs) if (def.vreg === vreg) return def;
  return null;
}
