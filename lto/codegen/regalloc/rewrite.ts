/**
 * From a placement to code: operands get locations, copies become moves or nothing, values reach their places.
 *
 * Steps: transfers (`transfers.ts`) → which values need a home at all → slots (`slot-sharing.ts`) → per gap,
 * sequential moves (`parallel-move.ts`) → cleaning (`redundant-moves.ts`) → machine instructions by the target's
 * hooks. A home is written once, right after the definition, or on the edges into a parameter that is itself in
 * memory; values that can be recomputed have none, and their definitions disappear if no register wants them.
 * Time: linear in the instructions plus the transfers.
 */

import { isVirtualCopy } from "../liveness.js";
import {
  isSlot,
  type Location,
  type MBlock,
  type MFunction,
  MInst,
  newSpillSlot,
  noLocation,
  type RegClass,
  slotLocation,
  slotOf,
  unwindTarget,
} from "../mir.js";
import {
  firstRegister,
  hasRegister,
  intersect,
  isEmptySet,
  isSingle,
  lastRegister,
  minus,
  noRegisters,
  type RegisterSet,
  registerCount,
  union,
  withoutFirst,
  withRegister,
} from "../register-set.js";
import type { AllocationResult, TargetRegisters } from "../target.js";
import {
  ActionKind,
  MoveAction,
  type MoveContext,
  type ParallelMove,
  sequentialize,
} from "./parallel-move.js";
import { Memory, Places } from "./places.js";
import type { AllocationProblem, Placement } from "./problem.js";
import { removeRedundantMoves } from "./redundant-moves.js";
import { assignSlots } from "./slot-sharing.js";
import { computeTransfers, type Transfer, type Transfers, unwindingIndex } from "./transfers.js";

/** An instruction of the program or an inserted operation. */
export type Item = MInst | MoveAction;

/** Rewrites the function of `problem` by `placement`. */
export function rewrite(problem: AllocationProblem, placement: Placement): AllocationResult {
  const places = new Places(problem, placement);
  const transfers = computeTransfers(problem, places);
  const needed = findHomes(problem, transfers);
  const { home, count } = assignSlots(problem, placement, needed);
  for (const { operand, vreg } of transfers.slotOperands) operand.loc = home[vreg]!;
  const writer = new Writer(problem, places, transfers, needed, home);
  const blocks = writer.run();
  // Nothing to remove where nothing was inserted.
  if (writer.inserted > 0 || transfers.slotOperands.length > 0) removeRedundantMoves(problem, blocks);
  return materialize(problem, blocks, count + writer.temporaries);
}

/**
 * Which values are read from memory somewhere. A parameter or copy in memory only counts if it is itself read:
 * so the demand travels backwards along moves from memory to memory.
 */
function findHomes(problem: AllocationProblem, transfers: Transfers): Uint8Array {
  const { fn } = problem;
  const needed = new Uint8Array(fn.vregs.length);
  const work: number[] = [];
  const sources = new Map<number, number[]>();
  const need = (vreg: number): void => {
    if (vreg < 0 || needed[vreg] !== 0 || fn.vregs[vreg]!.remat !== null) return;
    needed[vreg] = 1;
    work.push(vreg);
  };
  const visit = (list: readonly Transfer[] | undefined): void => {
    if (list === undefined) return;
    for (const { to, toVReg, from, fromVReg } of list) {
      if (from !== Memory) continue;
      if (to !== Memory) need(fromVReg);
      else if (fromVReg >= 0) {
        const known = sources.get(toVReg);
        if (known === undefined) sources.set(toVReg, [fromVReg]);
        else known.push(fromVReg);
      }
    }
  };
  for (const { vreg } of transfers.slotOperands) need(vreg);
  for (const list of transfers.head) visit(list);
  for (const list of transfers.tail) visit(list);
  for (const list of transfers.reloads) visit(list);
  for (let index = 0; index < transfers.gaps.length; index++) {
    const gap = transfers.gaps[index];
    if (gap === undefined) continue;
    visit(gap.enter);
    visit(gap.supply);
  }
  while (work.length > 0) for (const source of sources.get(work.pop()!) ?? []) need(source);
  return needed;
}

class Writer implements MoveContext {
  temporaries = 0;
  /** Operations inserted so far. */
  inserted = 0;
  private items: Item[] = [];
  private readonly moves: MoveAction[] = [];
  /** Where in the code moves are being made: registers free within may serve as scratch. */
  private windowStart = 0;
  private windowEnd = 0;
  private windowFree: (RegisterSet | null)[] = [];
  private readonly temporary: (Location | undefined)[] = [];
  private readonly wholeSizes: (number | undefined)[] = [];
  private readonly cheapRegisters: RegisterSet;
  private readonly swappable: boolean[] = [];

  constructor(
    private readonly problem: AllocationProblem,
    private readonly places: Places,
    private readonly transfers: Transfers,
    private readonly needed: Uint8Array,
    private readonly home: Int32Array,
  ) {
    this.cheapRegisters = union(
      minus(problem.target.all, problem.target.calleeSaved),
      places.usedRegisters(),
    );
  }

  run(): Item[][] {
    const { fn, liveness, target } = this.problem;
    const { head } = liveness.numbering;
    const result: Item[][] = [];
    for (let b = 0; b < fn.blocks.length; b++) {
      const block = fn.blocks[b]!;
      this.items = [];
      this.setWindow(4 * head[b]!, 4 * head[b]! + 5);
      this.storeResults(block);
      this.emit(this.transfers.head[b]);
      this.storeParams(block);
      this.emit(this.transfers.reloads[b]);
      const tail = this.transfers.tail[b];
      const branch = tail === undefined ? -1 : target.terminatorStart(block.insts);
      for (let k = 0; k < block.insts.length; k++) {
        this.writeInstruction(
          block.insts[k]!,
          head[b]! + 1 + k,
          tail !== undefined && k === branch ? tail : null,
          b,
        );
      }
      if (tail !== undefined && branch >= block.insts.length) this.emitTail(tail, b, block.insts.length);
      result.push(this.items);
    }
    this.fillArguments();
    return result;
  }

  private writeInstruction(inst: MInst, index: number, tail: Transfer[] | null, b: number): void {
    const { fn } = this.problem;
    const gap = this.transfers.gaps[index];
    if (gap !== undefined) {
      this.setWindow(4 * index - 2, 4 * index + 1);
      this.emit(gap.enter);
      this.emit(gap.supply);
    }
    if (tail !== null) this.emitTail(tail, b, index - this.problem.liveness.numbering.head[b]! - 1);
    if (isVirtualCopy(fn, inst)) this.finishCopy(inst, index);
    else if (!this.isAbandoned(inst, index)) {
      this.items.push(inst);
      if (unwindTarget(inst) !== null) return;
      this.storeDefinitions(inst, index);
      if (gap !== undefined && gap.leave.length > 0) {
        this.setWindow(4 * index + 2, 4 * index + 5);
        this.emit(gap.leave);
      }
    }
  }

  private emitTail(tail: readonly Transfer[], b: number, position: number): void {
    const { head } = this.problem.liveness.numbering;
    const block = this.problem.fn.blocks[b]!;
    let written = noRegisters;
    for (const { to } of tail) if (to !== Memory) written = withRegister(written, to);
    for (let k = position; k < block.insts.length; k++) {
      for (const use of block.insts[k]!.uses) {
        if (use.loc >= 0 && hasRegister(written, use.loc)) {
          throw new Error(`the branch of block ${block.id} reads a register that its edge writes`);
        }
      }
    }
    this.setWindow(4 * (head[b]! + 1 + position) - 1, 4 * head[b + 1]!);
    this.emit(tail);
  }

  /** A recomputable definition that no register holds: every use recomputes it. */
  private isAbandoned(inst: MInst, index: number): boolean {
    if (inst.defs.length !== 1) return false;
    const def = inst.defs[0]!;
    if (def.vreg < 0 || this.problem.fn.vregs[def.vreg]!.remat === null) return false;
    const late = isSingle(def.allowed) ? 3 : def.early || def.tiedTo >= 0 ? 0 : 2;
    if (this.places.at(def.vreg, 4 * index + late) !== Memory) return false;
    return true;
  }

  private finishCopy(inst: MInst, index: number): void {
    const def = inst.defs[0]!;
    const use = inst.uses[0]!;
    const register = this.places.at(def.vreg, 4 * index);
    def.loc = register !== Memory ? register : this.homeOr(def.vreg);
    const source = this.places.at(use.vreg, 4 * index - 1);
    use.loc = source !== Memory ? source : this.homeOr(use.vreg);
    if (this.needed[def.vreg] !== 0 && register !== Memory && !this.sharesHome(def.vreg, use.vreg)) {
      this.store(def.vreg, register);
    }
  }

  private homeOr(vreg: number): Location {
    return this.needed[vreg] !== 0 ? this.home[vreg]! : noLocation;
  }

  private sharesHome(a: number, b: number): boolean {
    return b >= 0 && this.needed[a] !== 0 && this.needed[b] !== 0 && this.home[a] === this.home[b];
  }

  private store(vreg: number, register: number): void {
    const { cls, size } = this.problem.fn.vregs[vreg]!;
    this.inserted++;
    this.items.push(new MoveAction(ActionKind.Move, cls, size, this.home[vreg]!, register, vreg));
  }

  /** Results of the call that returns to `block` and otherwise unwinds: nothing could be stored after it. */
  private storeResults(block: MBlock): void {
    if (block.landingPad || block.preds.length !== 1) return;
    const pred = block.preds[0]!;
    const call = unwindingIndex(pred);
    if (call < 0) return;
    const { head, position } = this.problem.liveness.numbering;
    this.storeDefinitions(pred.insts[call]!, head[position[pred.id]!]! + 1 + call);
  }

  private storeDefinitions(inst: MInst, index: number): void {
    for (const def of inst.defs) {
      if (def.vreg < 0 || this.needed[def.vreg] === 0) continue;
      if (!isSlot(def.loc)) this.store(def.vreg, def.loc);
      else if (def.loc !== this.home[def.vreg]) throw new Error(`misplaced definition at index ${index}`);
    }
  }

  /** Parameters that came in registers but are needed in memory too. */
  private storeParams(block: MBlock): void {
    const { liveness } = this.problem;
    for (let p = 0; p < block.params.length; p++) {
      const param = block.params[p]!;
      if (liveness.deadParam[param.vreg] !== 0) continue;
      const index = liveness.defIndex[param.vreg]!;
      const register = this.places.at(param.vreg, 4 * index);
      param.loc = register !== Memory ? register : this.homeOr(param.vreg);
      if (register === Memory || this.needed[param.vreg] === 0) continue;
      const everywhere = block.preds.every((pred) =>
        pred.succs.every(
          (succ, s) => succ !== block || this.sharesHome(param.vreg, pred.succArgs[s]![p]!.vreg),
        ),
      );
      if (!everywhere) this.store(param.vreg, register);
    }
  }

  private fillArguments(): void {
    const { fn, liveness } = this.problem;
    const { head } = liveness.numbering;
    for (let b = 0; b < fn.blocks.length; b++) {
      const block = fn.blocks[b]!;
      for (let s = 0; s < block.succs.length; s++) {
        for (const arg of block.succArgs[s] ?? []) {
          if (arg.vreg < 0) continue;
          const register = this.places.at(arg.vreg, 4 * head[b + 1]! - 1);
          arg.loc = register !== Memory ? register : this.homeOr(arg.vreg);
        }
      }
    }
  }

  private setWindow(start: number, end: number): void {
    this.windowStart = start;
    this.windowEnd = end;
    this.windowFree = [];
  }

  /** Appends the sequential form of simultaneous transfers. */
  private emit(transfers: readonly Transfer[] | undefined): void {
    if (transfers === undefined || transfers.length === 0) return;
    const { vregs } = this.problem.fn;
    const parallel: ParallelMove[] = [];
    let targets = noRegisters;
    for (const { to, toVReg, from, fromVReg } of transfers) {
      const info = vregs[toVReg]!;
      if (to === Memory) {
        // Nobody reads it there, or it is there already under its other name.
        if (this.needed[toVReg] === 0 || this.sharesHome(toVReg, fromVReg)) continue;
      }
      const source = fromVReg >= 0 ? vregs[fromVReg]! : info;
      const remat = from === Memory && source.remat !== null ? this.rematNumber(fromVReg) : -1;
      const move: ParallelMove = {
        cls: info.cls,
        size: Math.min(info.size, source.size),
        to: to === Memory ? this.home[toVReg]! : to,
        from: remat >= 0 ? noLocation : from === Memory ? this.home[fromVReg]! : from,
        vreg: fromVReg,
        remat,
      };
      // Two names of one value go to one register together; the wider one counts.
      if (to === Memory || !hasRegister(targets, to)) {
        parallel.push(move);
        if (to !== Memory) targets = withRegister(targets, to);
        continue;
      }
      const twin = parallel.findIndex((other) => other.to === to);
      if (parallel[twin]!.size < move.size) parallel[twin] = move;
    }
    this.moves.length = 0;
    sequentialize(parallel, this, this.moves);
    this.inserted += this.moves.length;
    for (let k = 0; k < this.moves.length; k++) this.items.push(this.moves[k]!);
  }

  private readonly rematNumbers = new Map<string, number>();

  /** The same number for definitions that compute the same; only constants are compared. */
  private rematNumber(vreg: number): number {
    const { remat } = this.problem.fn.vregs[vreg]!;
    if (remat!.imm === null || remat!.mem !== null || remat!.symbol !== null) return vreg;
    const key = `${remat!.op},${remat!.size},${remat!.imm}`;
    const known = this.rematNumbers.get(key);
    if (known !== undefined) return known;
    this.rematNumbers.set(key, vreg);
    return vreg;
  }

  canStoreConstant(vreg: number, size: number): boolean {
    const { remat } = this.problem.fn.vregs[vreg]!;
    return (this.problem.target.storeConstant?.(remat!, size, 0) ?? null) !== null;
  }

  scratch(cls: RegClass, taken: (register: number) => boolean): number {
    this.windowFree[cls] ??= intersect(
      this.places.free(cls, this.windowStart, this.windowEnd),
      this.cheapRegisters,
    );
    for (let rest = this.windowFree[cls]!; !isEmptySet(rest); rest = withoutFirst(rest)) {
      const register = firstRegister(rest);
      if (!taken(register)) return register;
    }
    return -1;
  }

  victim(cls: RegClass, taken: (register: number) => boolean): number {
    const candidates = intersect(this.problem.allocatable[cls]!, this.cheapRegisters);
    for (let rest = candidates; !isEmptySet(rest); rest = withoutFirst(rest)) {
      const register = firstRegister(rest);
      if (!taken(register)) return register;
    }
    throw new Error(`register class ${cls} has no register to work with`);
  }

  temporarySlot(cls: RegClass, which: 0 | 1): Location {
    const key = 2 * cls + which;
    let slot = this.temporary[key];
    if (slot === undefined) {
      slot = slotLocation(newSpillSlot(this.problem.fn, this.wholeSize(cls)));
      this.temporary[key] = slot;
      this.temporaries++;
    }
    return slot;
  }

  /** Bytes of the largest value in a register of the class. */
  wholeSize(cls: RegClass): number {
    return (this.wholeSizes[cls] ??= this.problem.fn.vregs.reduce(
      (size, vreg) => (vreg.cls === cls ? Math.max(size, vreg.size) : size),
      cls === 0 ? 8 : 16,
    ));
  }

  canSwap(cls: RegClass): boolean {
    this.swappable[cls] ??= canSwap(this.problem.target, cls, this.problem.allocatable[cls]!);
    return this.swappable[cls]!;
  }
}

function canSwap(target: TargetRegisters, cls: RegClass, allocatable: RegisterSet): boolean {
  if (registerCount(allocatable) < 2) return false;
  const a = firstRegister(allocatable);
  return target.swap(cls, a, lastRegister(allocatable)) !== null;
}

/** Puts machine instructions in the place of actions and counts what was inserted. */
function materialize(
  problem: AllocationProblem,
  blocks: readonly (readonly Item[])[],
  spillSlots: number,
): AllocationResult {
  const { fn, target } = problem;
  let written = noRegisters;
  let moves = 0;
  let spills = 0;
  let reloads = 0;
  let rematerializations = 0;
  const write = (inst: MInst): void => {
    written = union(written, inst.clobbers);
    for (const { loc } of inst.defs)
      if (!isSlot(loc) && loc !== noLocation) written = withRegister(written, loc);
  };
  for (let b = 0; b < blocks.length; b++) {
    const insts: MInst[] = [];
    for (const item of blocks[b]!) {
      if (item instanceof MInst) {
        insts.push(item);
        write(item);
        continue;
      }
      insts.push(instructionFor(fn, target, item));
      if (item.kind === ActionKind.Remat) rematerializations++;
      else if (isSlot(item.to)) spills++;
      else if (isSlot(item.from)) reloads++;
      else moves++;
      if (!isSlot(item.to)) written = withRegister(written, item.to);
      if (item.kind === ActionKind.Swap) written = withRegister(written, item.from);
    }
    fn.blocks[b]!.insts = insts;
  }
  return {
    written,
    usedCalleeSaved: intersect(written, target.calleeSaved),
    spillSlots,
    moves,
    spills,
    reloads,
    rematerializations,
  };
}

function instructionFor(fn: MFunction, target: TargetRegisters, action: MoveAction): MInst {
  const { kind, cls, size, to, from, vreg } = action;
  switch (kind) {
    case ActionKind.Swap:
      return target.swap(cls, to, from)!;
    case ActionKind.Remat:
      return target.rematerialize(fn.vregs[vreg]!.remat!, to);
    case ActionKind.StoreConstant:
      return target.storeConstant!(fn.vregs[vreg]!.remat!, size, slotOf(to))!;
    case ActionKind.Move:
      if (isSlot(to)) return target.store(cls, size, slotOf(to), from);
      if (isSlot(from)) return target.load(cls, size, to, slotOf(from));
      return target.move(cls, size, to, from);
  }
}
