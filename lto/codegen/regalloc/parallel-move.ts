/**
 * Sequentialisation of parallel moves.
 *
 * All sources are read before any destination is written. A move is emitted once no pending move reads its
 * destination; what remains then are cycles. A cycle of registers is rotated with exchanges where the machine has
 * them; otherwise one member is put aside, in a free register if there is one, else in a temporary slot. A move
 * from memory to memory goes through a free register, or through one that is saved and restored around it.
 * Every cycle costs at most one temporary (Boissinot et al., CGO 2009, algorithm 1). Linear.
 */
import { isSlot, type Location, type RegClass, type VReg } from "../mir.js";

/** What the sequence consists of. Locations of a `Remat` source are meaningless. */
export enum ActionKind {
  /** Register to register, register to slot, slot to register. */
  Move,
  /** Exchange of two registers. */
  Swap,
  /** Recomputes `vreg` into a register. */
  Remat,
}

/** One inserted operation. */
export class MoveAction {
  constructor(
    readonly kind: ActionKind,
    readonly cls: RegClass,
    /** Bytes. */
    readonly size: number,
    readonly to: Location,
    readonly from: Location,
    /** The value moved; for `Remat` the one whose definition is repeated. -1 for swaps. */
    readonly vreg: VReg,
  ) {}
}

/** A member of a parallel move. */
export interface ParallelMove {
  readonly cls: RegClass;
  readonly size: number;
  readonly to: Location;
  readonly from: Location;
  readonly vreg: VReg;
  /** The source is recomputed rather than read. */
  readonly remat: boolean;
}

/** What the surroundings of a parallel move offer. */
export interface MoveContext {
  /** A register of `cls` that holds nothing needed here and is not in `taken`; -1 if there is none. */
  scratch(cls: RegClass, taken: (register: number) => boolean): number;
  /** Any register of `cls` other than those for which `taken` holds; its content is preserved around the use. */
  victim(cls: RegClass, taken: (register: number) => boolean): number;
  /** A slot for temporary values; `which` tells apart slots needed at the same time. */
  temporarySlot(cls: RegClass, which: 0 | 1): Location;
  /** Whether registers of `cls` can be exchanged. */
  canSwap(cls: RegClass): boolean;
}

/** Appends to `out` operations that have the effect of all `moves` at once. */
export function sequentialize(moves: readonly ParallelMove[], context: MoveContext, out: MoveAction[]): void {
  const pending: ParallelMove[] = [];
  for (const move of moves) if (move.remat || move.to !== move.from) pending.push(move);
  if (pending.length === 0) return;
  if (pending.length === 1) {
    new Sequencer(pending, context, out).emit(pending[0]!, pending[0]!.from);
    return;
  }
  new Sequencer(pending, context, out).run();
}

class Sequencer {
  /** Pending moves by destination. */
  private readonly byTarget = new Map<Location, ParallelMove>();
  /** How many pending moves read a location. */
  private readonly readers = new Map<Location, number>();
  /** Where the content of a location has been put aside. */
  private readonly aside = new Map<Location, Location>();

  constructor(
    private readonly moves: readonly ParallelMove[],
    private readonly context: MoveContext,
    private readonly out: MoveAction[],
  ) {}

  run(): void {
    for (const move of this.moves) {
      if (this.byTarget.has(move.to)) throw new Error("two parallel moves write one place");
      this.byTarget.set(move.to, move);
      if (!move.remat) this.readers.set(move.from, (this.readers.get(move.from) ?? 0) + 1);
    }
    const ready: ParallelMove[] = [];
    // Loads and constants go last: until then their destinations can serve as scratch registers.
    const late: ParallelMove[] = [];
    const makeReady = (move: ParallelMove): void => {
      if (move.remat || (isSlot(move.from) && !isSlot(move.to) && !this.byTarget.has(move.from))) {
        late.push(move);
      } else ready.push(move);
    };
    for (const move of this.moves) if (this.readersOf(move.to) === 0) makeReady(move);
    const drain = (): void => {
      while (ready.length > 0) {
        const move = ready.pop()!;
        this.finish(move, makeReady);
      }
    };
    drain();
    // Only cycles and late moves are left in `byTarget`.
    const deferred = new Set(late);
    for (const move of this.moves) {
      if (!this.byTarget.has(move.to) || deferred.has(move)) continue;
      this.breakCycle(move, makeReady);
      drain();
      for (const l of late) deferred.add(l);
    }
    for (const move of late) this.emit(move, this.aside.get(move.from) ?? move.from);
  }

  private readersOf(location: Location): number {
    return this.readers.get(location) ?? 0;
  }

  /** Emits a move nobody waits to read the destination of; the source may become writable. */
  private finish(move: ParallelMove, makeReady: (move: ParallelMove) => void): void {
    const source = this.aside.get(move.from) ?? move.from;
    this.emit(move, source);
    this.byTarget.delete(move.to);
    this.release(move.from, makeReady);
  }

  private release(location: Location, makeReady: (move: ParallelMove) => void): void {
    const left = this.readersOf(location) - 1;
    this.readers.set(location, left);
    if (left > 0) return;
    const waiting = this.byTarget.get(location);
    if (waiting !== undefined) makeReady(waiting);
  }

  /** `start` lies on a cycle each of whose places has exactly one pending reader. */
  private breakCycle(start: ParallelMove, makeReady: (move: ParallelMove) => void): void {
    const { cls } = start;
    const cycle: ParallelMove[] = [];
    for (let move = start; ; ) {
      cycle.push(move);
      move = this.byTarget.get(move.from)!;
      if (move === start) break;
    }
    if (cycle.every((move) => !isSlot(move.to)) && this.context.canSwap(cls)) {
      // to0 ← from0 = to1 ← from1 = …: after exchanging to0 with to1, to0 is right and to1 holds what to0 held.
      for (let k = 0; k + 1 < cycle.length; k++) {
        const size = Math.max(cycle[k]!.size, cycle[k + 1]!.size);
        this.out.push(new MoveAction(ActionKind.Swap, cls, size, cycle[k]!.to, cycle[k + 1]!.to, -1));
      }
      for (const move of cycle) {
        this.byTarget.delete(move.to);
        this.readers.set(move.from, 0);
      }
      return;
    }
    // Put the start's destination aside; then the start can go first.
    const reader = cycle[cycle.length - 1]!;
    const free = this.scratch(cls);
    const place = free >= 0 ? free : this.context.temporarySlot(cls, 0);
    this.copy(cls, reader.size, place, start.to, reader.vreg);
    this.aside.set(start.to, place);
    this.busy.add(place);
    this.readers.set(start.to, 0);
    makeReady(start);
  }

  /** Registers in use as temporaries of a cycle. */
  private readonly busy = new Set<Location>();

  private isTaken = (register: number): boolean => {
    if (this.busy.has(register)) return true;
    for (const move of this.moves) if (move.to === register || move.from === register) return true;
    return false;
  };

  /** A register whose content nobody needs: a destination not yet written and no longer read, or a free one. */
  private scratch(cls: RegClass): number {
    return this.context.scratch(cls, this.isTaken);
  }

  emit(move: ParallelMove, source: Location): void {
    if (!move.remat) {
      this.copy(move.cls, move.size, move.to, source, move.vreg);
      return;
    }
    if (!isSlot(move.to)) {
      this.out.push(new MoveAction(ActionKind.Remat, move.cls, move.size, move.to, move.to, move.vreg));
      return;
    }
    this.through(move.cls, (register) => {
      this.out.push(new MoveAction(ActionKind.Remat, move.cls, move.size, register, register, move.vreg));
      this.copy(move.cls, move.size, move.to, register, move.vreg);
    });
  }

  private copy(cls: RegClass, size: number, to: Location, from: Location, vreg: VReg): void {
    if (to === from) return;
    if (!isSlot(to) || !isSlot(from)) {
      this.out.push(new MoveAction(ActionKind.Move, cls, size, to, from, vreg));
      return;
    }
    this.through(cls, (register) => {
      this.out.push(new MoveAction(ActionKind.Move, cls, size, register, from, vreg));
      this.out.push(new MoveAction(ActionKind.Move, cls, size, to, register, vreg));
    });
  }

  /** Runs `body` with a register to work in. */
  private through(cls: RegClass, body: (register: number) => void): void {
    const free = this.scratch(cls);
    if (free >= 0) {
      body(free);
      return;
    }
    const victim = this.context.victim(cls, () => false);
    const slot = this.context.temporarySlot(cls, 1);
    const size = cls === 0 ? 8 : 16;
    this.out.push(new MoveAction(ActionKind.Move, cls, size, slot, victim, -1));
    body(victim);
    this.out.push(new MoveAction(ActionKind.Move, cls, size, victim, slot, -1));
  }
}
