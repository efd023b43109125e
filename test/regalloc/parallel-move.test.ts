import { describe, expect, it } from "vitest";
import { isSlot, type Location, slotLocation } from "../../lto/codegen/mir.js";
import {
  ActionKind,
  type MoveAction,
  type MoveContext,
  type ParallelMove,
  sequentialize,
} from "../../lto/codegen/regalloc/parallel-move.js";

const temporaries = [slotLocation(90), slotLocation(91)];

function context(free: number, swaps: boolean): MoveContext {
  return {
    scratch: (_cls, taken) => (free >= 0 && !taken(free) ? free : -1),
    victim: (_cls, taken) => [0, 1, 2, 3].find((r) => !taken(r))!,
    temporarySlot: (_cls, which) => temporaries[which]!,
    wholeSize: (cls) => (cls === 0 ? 8 : 16),
    canSwap: () => swaps,
    canStoreConstant: (vreg) => vreg % 2 === 1,
  };
}

/** Executes actions on named contents; constants are "#vreg". */
function execute(actions: readonly MoveAction[]): Map<Location, string> {
  const places = new Map<Location, string>();
  const read = (place: Location): string => places.get(place) ?? `@${place}`;
  for (const { kind, to, from, vreg } of actions) {
    if (kind === ActionKind.Swap) {
      const held = read(to);
      places.set(to, read(from));
      places.set(from, held);
    } else if (kind === ActionKind.Move) {
      if (isSlot(to) && isSlot(from)) throw new Error("a move from memory to memory");
      places.set(to, read(from));
    } else {
      if (isSlot(to) !== (kind === ActionKind.StoreConstant))
        throw new Error("a constant in the wrong place");
      places.set(to, `#${vreg}`);
    }
  }
  return places;
}

const locations: Location[] = [0, 1, 2, slotLocation(0), slotLocation(1)];

/** All parallel moves into a subset of `locations` from any of them. */
function* allMoves(): Generator<ParallelMove[]> {
  const n = locations.length;
  for (let code = 0; code < (n + 1) ** n; code++) {
    const moves: ParallelMove[] = [];
    for (let k = 0, rest = code; k < n; k++, rest = Math.floor(rest / (n + 1))) {
      const source = rest % (n + 1);
      if (source === n) continue;
      moves.push({ cls: 0, size: 8, to: locations[k]!, from: locations[source]!, vreg: k, remat: -1 });
    }
    yield moves;
  }
}

describe("parallel moves", () => {
  for (const [name, free, swaps] of [
    ["with a free register and exchanges", 5, true],
    ["with a free register", 5, false],
    ["with exchanges only", -1, true],
    ["with nothing", -1, false],
  ] as const) {
    it(`are right for all moves among three registers and two slots, ${name}`, () => {
      let count = 0;
      for (const moves of allMoves()) {
        const actions: MoveAction[] = [];
        sequentialize(moves, context(free, swaps), actions);
        const places = execute(actions);
        const expected = new Map(moves.map((move) => [move.to, `@${move.from}`]));
        for (const place of [...locations, 3]) {
          if ((places.get(place) ?? `@${place}`) !== (expected.get(place) ?? `@${place}`)) {
            throw new Error(`place ${place} after ${JSON.stringify(moves)}: ${JSON.stringify(actions)}`);
          }
        }
        count++;
      }
      expect(count).toBe(6 ** 5);
    });
  }

  it("recompute a constant once for all its destinations", () => {
    const moves: ParallelMove[] = [2, 1, slotLocation(0), slotLocation(1)].map((to, k) => ({
      cls: 0,
      size: 4,
      to,
      from: 0,
      vreg: k,
      remat: 0,
    }));
    const actions: MoveAction[] = [];
    sequentialize(moves, context(-1, true), actions);
    expect(actions.filter((action) => action.kind === ActionKind.Remat)).toHaveLength(1);
    const places = execute(actions);
    for (const move of moves) expect(places.get(move.to)).toBe("#0");
  });

  it("write a constant to memory directly if no register is free", () => {
    const actions: MoveAction[] = [];
    const move = { cls: 0, size: 4, to: slotLocation(0), from: 0, vreg: 1, remat: 1 };
    sequentialize([move], context(-1, true), actions);
    expect(actions.map((action) => action.kind)).toEqual([ActionKind.StoreConstant]);
  });

  it("rotate a cycle of registers with exchanges, one fewer than its members", () => {
    const moves = [0, 1, 2].map((to) => ({ cls: 0, size: 8, to, from: (to + 1) % 3, vreg: to, remat: -1 }));
    const actions: MoveAction[] = [];
    sequentialize(moves, context(-1, true), actions);
    expect(actions.map((action) => action.kind)).toEqual([ActionKind.Swap, ActionKind.Swap]);
  });

  it("refuse two moves into one place", () => {
    const moves = [1, 2].map((from) => ({ cls: 0, size: 8, to: 0, from, vreg: from, remat: -1 }));
    expect(() => sequentialize(moves, context(-1, true), [])).toThrow("two parallel moves write one place");
  });
});
