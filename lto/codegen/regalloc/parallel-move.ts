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
export const enum ActionKind {
  /** Register to register, register to slot, slot to register. */
  Move,
  /** Exchange of two registers. */
  Swap,
  /** Recomputes `vreg` into a register. */
  Remat,
  /** Writes the constant `vreg` to a slot. */
  StoreConstant,
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
  /** -1, or the source is recomputed: moves with the same number recompute the same. */
  readonly remat: number;
}

/** What the surroundings of a parallel move offer. */
export interface MoveContext {
  /** A register of `cls` that holds nothing needed here and is not in `taken`; -1 if there is none. */
  scratch(cls: RegClass, taken: (register: number) => boolean): number;
  /** Any register of `cls` other than those for which `taken` holds; its content is preserved around the use. */
  victim(cls: RegClass, taken: (register: number) => boolean): number;
  /** A slot for temporary values; `which` tells apart slots needed at the same time. */
  temporarySlot(cls: RegClass, which: 0 | 1): Location;
  /** Bytes that a register of `cls` holds at most. */
  wholeSize(cls: RegClass): number;
  /** Whether registers of `cls` can be exchanged. */
  canSwap(cls: RegClass): boolean;
  /** Whether the constant `vreg` can be written to memory without a register. */
  canStoreConstant(vreg: VReg, size: number): boolean;
}

/** Appends to `out` operations that have the effect of all `moves` at once. */
export function sequentialize(moves: readonly ParallelMove[], context: MoveContext, out: MoveAction[]): void {
  const pending: ParallelMove[] = [];
  for (const move of moves) if (move.remat >= 0 || move.to !== move.from) pending.push(move);
  if (pending.length === 0) return;
  if (pending.length === 1) {
    const { cls, size, to, from, vreg, remat } = pending[0]!;
    if (remat < 0 && (!isSlot(to) || !isSlot(from))) {
      out.push(new MoveAction(ActionKind.Move, cls, size, to, from, vreg));
      return;
    }
    if (remat >= 0 && !isSlot(to)) {
      out.push(new MoveAction(ActionKind.Remat, cls, size, to, to, vreg));
      return;
    }
  }
  const first = out.length;
  new Sequencer(pending, context, out).run();
  cancelRestores(out, first);
}

/** Drops restoring a register right before it is saved again. */
function cancelRestores(out: MoveAction[], first: number): void {
  let kept = first;
  for (let k = first; k < out.length; k++) {
    const action = out[k]!;
    const last = kept > first ? out[kept - 1]! : null;
    const undoes =
      last !== null &&
      action.vreg < 0 &&
      last.vreg < 0 &&
      action.kind === ActionKind.Move &&
      last.kind === ActionKind.Move &&
      action.to === last.from &&
      action.from === last.to &&
      isSlot(action.to);
    if (undoes) kept--;
    else out[kept++] = action;
  }
  out.length = kept;
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
      if (move.remat < 0) this.readers.set(move.from, (this.readers.get(move.from) ?? 0) + 1);
    }
    const ready: ParallelMove[] = [];
    const late = this.late;
    const makeReady = (move: ParallelMove): void => {
      const isLoad = isSlot(move.from) && !isSlot(move.to);
      const stays = !this.byTarget.has(move.from) && !this.aside.has(move.from);
      if (move.remat >= 0 || (isLoad && stays)) {
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
    this.finishLate();
  }

  /** Loads and constants, which go last: until then their destinations can serve as scratch registers. */
  private readonly late: ParallelMove[] = [];

  private finishLate(): void {
    const groups = new Map<number, ParallelMove[]>();
    for (const move of this.late) {
      if (move.remat < 0) continue;
      const group = groups.get(move.remat);
      if (group === undefined) groups.set(move.remat, [move]);
      else group.push(move);
    }
    // What goes to memory only needs a scratch register, so before those are written.
    for (const group of groups.values())
      if (group.every((move) => isSlot(move.to))) this.storeConstants(group);
    for (const move of this.late) {
      if (move.remat >= 0) continue;
      this.written.add(move.to);
      this.copy(move.cls, move.size, move.to, this.aside.get(move.from) ?? move.from, move.vreg);
    }
    for (const group of groups.values()) {
      const into = group.find((move) => !isSlot(move.to));
      if (into === undefined) continue;
      this.written.add(into.to);
      this.recompute(into, into.to);
      for (const move of group) {
        if (move === into) continue;
        this.written.add(move.to);
        this.copy(move.cls, move.size, move.to, into.to, move.vreg);
      }
    }
  }

  /** Late destinations that have been written. */
  private readonly written = new Set<Location>();

  private storeConstants(group: readonly ParallelMove[]): void {
    const { cls, vreg } = group[0]!;
    const direct = group.every((move) => this.context.canStoreConstant(move.vreg, move.size));
    const free = this.scratch(cls);
    if (direct && free < 0) {
      for (const move of group) {
        this.out.push(new MoveAction(ActionKind.StoreConstant, cls, move.size, move.to, move.to, move.vreg));
      }
      return;
    }
    this.through(cls, (register) => {
      this.out.push(new MoveAction(ActionKind.Remat, cls, group[0]!.size, register, register, vreg));
      for (const move of group) this.copy(cls, move.size, move.to, register, move.vreg);
    });
  }

  private recompute(move: ParallelMove, register: number): void {
    this.out.push(new MoveAction(ActionKind.Remat, move.cls, move.size, register, register, move.vreg));
  }

  private readersOf(location: Location): number {
    return this.readers.get(location) ?? 0;
  }

  /** Emits a move nobody waits to read the destination of; the source may become writable. */
  private finish(move: ParallelMove, makeReady: (move: ParallelMove) => void): void {
    this.copy(move.cls, move.size, move.to, this.aside.get(move.from) ?? move.from, move.vreg);
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

  /** A register whose content nobody needs: a late destination not yet written, or a free one. */
  private scratch(cls: RegClass): number {
    for (const { to, cls: other } of this.late) {
      if (!isSlot(to) && other === cls && !this.written.has(to) && !this.busy.has(to)) return to;
    }
    return this.context.scratch(cls, this.isTaken);
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
    const size = this.context.wholeSize(cls);
    this.out.push(new MoveAction(ActionKind.Move, cls, size, slot, victim, -1));
    body(victim);
    this.out.push(new MoveAction(ActionKind.Move, cls, size, victim, slot, -1));
  }
}
