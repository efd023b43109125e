/**
 * Decides the shape of a stack frame and the place of every slot in it.
 *
 *     without frame pointer          with frame pointer              realigned or of unknown size
 *     CFA-8   return address         CFA-8   return address          CFA-8   return address
 *             saved registers        CFA-16  rbp  ← rbp              CFA-16  rbp  ← rbp
 *             locals, spills                 locals, spills                  saved registers
 *             most used slot                 saved registers                 alignment gap
 *     rsp →   reserved arguments     rsp →   pushed arguments                locals, spills
 *             pushed arguments                                       rsp →   (r15 when both)
 *
 * Leaf functions whose locals fit use the 128 bytes below rsp instead of moving it (System V ABI AMD64,
 * section 3.2.2). With a frame pointer the locals come before the saved registers, so that `leave` frees
 * both. Slots are placed by uses a byte, so that displacements of one byte (or none) reach the most used.
 * When optimising for size and rbp is free, the cheaper of the first two shapes is taken: an rbp-based
 * operand is one byte shorter. In the first shape arguments that are stored, not pushed, may have their room in the frame
 * (`outgoing`), made once and not around each call: for speed, and for size where what the moves of rsp take is more than
 * the slots' longer displacements. Where the function has a guard (attribute `ssp`), it lies above all other slots, below
 * it large arrays, small ones, other variables and spills, in this order: what overflows reaches the guard first.
 * O(slots log slots + instructions).
 * Breaks if: the allocator handed out rbp although `needsFramePointer` holds.
 */

import { type MFunction, type MInst, SlotRank } from "../../codegen/mir.js";
import { hasRegister, type RegisterSet, withoutRegister, withRegister } from "../../codegen/register-set.js";
import { UnsupportedError } from "../../ir/errors.js";
import { X } from "../isa/ops.js";
import { R15, RBP, RSP } from "../isa/registers.js";
import { needsBasePointer, needsFramePointer, needsRealignment, stackAlign } from "./frame-registers.js";

export interface FrameLayout {
  /** rbp points at its own saved value, 16 bytes below the CFA. */
  readonly framePointer: boolean;
  /** Alignment in bytes that the prologue gives rsp; 0 if it relies on the ABI. */
  readonly realign: number;
  /** Callee-saved registers pushed, in push order, without a frame pointer's rbp. */
  readonly saved: readonly number[];
  /** Saved registers are pushed after the locals are made (shape 2). */
  readonly savesBelow: boolean;
  /** Bytes subtracted from rsp for locals. */
  readonly localBytes: number;
  /** Register that locals are addressed from: rsp, rbp or r15. */
  readonly base: number;
  /** Of each local and spill slot, relative to `base` (for rsp: as it is after the prologue). */
  readonly offsets: Int32Array;
  readonly redZone: boolean;
  /** Bytes from rsp on for stored arguments of calls; 0: each call makes its room. */
  readonly outgoing: number;
  /** Distance from rsp after the prologue to the CFA; meaningless when realigned. */
  readonly depth: number;
}

const redZoneBytes = 128;
/** Alignment gaps remembered at one time: each slot looks at all of them. */
const maxGaps = 16;
const roundUp = (n: number, align: number): number => Math.ceil(n / align) * align;

/** Number of memory operands that name each slot. */
export function countUses(mf: MFunction): Int32Array {
  const uses = new Int32Array(mf.slots.length);
  for (const block of mf.blocks) {
    for (const inst of block.insts) {
      if (inst.mem !== null && inst.mem.slot >= 0) uses[inst.mem.slot]!++;
      const extra = inst.extra;
      if (extra !== null && extra.kind === "asm") {
        for (const operand of extra.operands)
          if (operand.kind === "mem" && operand.mem.slot >= 0 && operand.mem !== inst.mem)
            uses[operand.mem.slot]!++;
      }
    }
  }
  return uses;
}

/** The function has a guard, next to which its arrays have to lie. */
const isGuarded = (mf: MFunction): boolean => mf.slots.some((slot) => slot.rank === SlotRank.Guard);

/** Used local and spill slots, those with the most uses a byte first. */
function placementOrder(mf: MFunction, uses: Int32Array): number[] {
  const order: number[] = [];
  for (let i = 0; i < mf.slots.length; i++)
    if (uses[i]! > 0 && mf.slots[i]!.kind !== "incoming") order.push(i);
  const density = (i: number): number => uses[i]! / Math.max(mf.slots[i]!.size, 1);
  return order.sort((a, b) => density(b) - density(a) || a - b);
}

interface PackedSlots {
  /** Start of each slot, counted in the direction of growth. */
  readonly offsets: Int32Array;
  readonly bytes: number;
}

/**
 * Packs slots upwards from distance `start` of an origin; `phase` is the origin's address modulo the largest
 * alignment. Alignment gaps are filled by later slots where they fit.
 */
function pack(
  mf: MFunction,
  order: readonly number[],
  start: number,
  phase: number,
  down: boolean,
): PackedSlots {
  const offsets = new Int32Array(mf.slots.length);
  let end = start;
  const gaps: { at: number; size: number }[] = [];
  const guarded = isGuarded(mf);
  const rank = (i: number): number => (down ? -1 : 1) * mf.slots[i]!.rank;
  for (const i of guarded ? [...order].sort((a, b) => rank(a) - rank(b)) : order) {
    const slot = mf.slots[i]!;
    const size = Math.max(slot.size, 1);
    // Growing down, the start of the slot is at distance `at + size`.
    const place = (at: number): number => {
      const edge = down ? at + size : at;
      const misfit = (((down ? phase - edge : phase + edge) % slot.align) + slot.align) % slot.align;
      return at + (down ? misfit : (slot.align - misfit) % slot.align);
    };
    const gap = gaps.find((g) => place(g.at) + size <= g.at + g.size);
    let at: number;
    if (gap !== undefined) {
      at = place(gap.at);
      gap.size -= at + size - gap.at;
      gap.at = at + size;
      if (gap.size === 0) gaps.splice(gaps.indexOf(gap), 1);
    } else {
      at = place(end);
      if (at > end && !guarded && gaps.length < maxGaps) gaps.push({ at: end, size: at - end });
      end = at + size;
    }
    if (end > 0x7fffff00) throw new UnsupportedError("stack frame of 2 GB or more", mf.name);
    offsets[i] = down ? -(at + size) : at;
  }
  return { offsets, bytes: end - start };
}

/**
 * Callee-saved registers of a mask in push order: those that most functions save first, so that epilogues end alike and
 * can be shared (codegen/late/share-epilogues.ts).
 */
function savedRegisters(mask: RegisterSet): number[] {
  const out: number[] = [];
  for (let r = 0; r < 16; r++) if (r !== RSP && hasRegister(mask, r)) out.push(r);
  return out;
}

/** Bytes of a displacement with base rsp (SIB included) or rbp. */
const reachCost = (base: number, offset: number): number =>
  (base === RSP ? 1 : 0) + (offset === 0 && base !== RBP ? 0 : offset >= -128 && offset <= 127 ? 1 : 4);

/**
 * Moves of rsp by no more than this are pushes and pops, at minimum size. Asynchronous unwind tables say at each of
 * them where the CFA is, if no frame pointer does.
 */
export const pushLimit = (
  { unwind }: MFunction,
  { framePointer }: Pick<FrameLayout, "framePointer">,
): number => (unwind === "async" && !framePointer ? 8 : 24);

/** Bytes of moving rsp by `n` where flags are free. */
function adjustCost(n: number, limit: number): number {
  if (n === 0) return 0;
  if (n <= limit && n % 8 === 0) return n / 8;
  return n <= 128 ? 4 : 7;
}

/** Estimated bytes of making a frame, and of taking it away. */
export interface FrameCost {
  readonly enter: number;
  readonly leave: number;
}

/** In code and asynchronous tables: see `tableBytes` in cfa.ts. */
export function frameCost(mf: MFunction, layout: FrameLayout): FrameCost {
  const { framePointer, localBytes, saved } = layout;
  let pushes = 0;
  for (const register of saved) pushes += register < 8 ? 1 : 2;
  const adjust = adjustCost(localBytes, pushLimit(mf, layout));
  const enter = adjust + pushes + (framePointer ? 4 : 0);
  const leave = (framePointer ? 1 : adjust) + pushes;
  if (mf.unwind !== "async") return { enter, leave };
  const saves = saved.length;
  if (framePointer) return { enter: enter + 8 + (saves > 0 ? 1 : 0) + 2 * saves, leave: leave + 4 };
  const moves = localBytes > 0 ? 3 : 0;
  return { enter: enter + 5 * saves + moves, leave: leave + 3 * saves + moves };
}

/** Bytes of room that each call makes which stores arguments. */
function storedArguments(mf: MFunction): number[] {
  const rooms: number[] = [];
  for (const { insts } of mf.blocks)
    for (const { op, imm } of insts) if (op === X.StackAlloc) rooms.push(Number(imm));
  return rooms;
}

/** Bytes of making that room and taking it away around each call. */
function roomCost(mf: MFunction, layout: FrameLayout, rooms: readonly number[]): number {
  const limit = pushLimit(mf, layout);
  return rooms.reduce((sum, room) => sum + 2 * adjustCost(room, limit), 0);
}

interface Facts {
  readonly uses: Int32Array;
  readonly order: readonly number[];
  readonly maxAlign: number;
  /** rsp must be a multiple of 16 in the body, for calls or for slots. */
  readonly aligned: boolean;
  readonly redZoneAllowed: boolean;
}

function withoutFramePointer(mf: MFunction, facts: Facts, mask: RegisterSet, outgoing: number): FrameLayout {
  const saved = savedRegisters(mask);
  const above = 8 + 8 * saved.length;
  const common = { framePointer: false, realign: 0, saved, savesBelow: false, base: RSP, outgoing };
  if (facts.redZoneAllowed) {
    const { offsets, bytes } = pack(mf, facts.order, 0, -above, true);
    if (bytes <= redZoneBytes) return { ...common, localBytes: 0, offsets, redZone: bytes > 0, depth: above };
  }
  const align = facts.aligned ? stackAlign : Math.max(8, Math.min(facts.maxAlign, stackAlign));
  const { offsets, bytes } = pack(mf, facts.order, outgoing, 0, false);
  const localBytes = roundUp(above + outgoing + bytes, align) - above;
  return { ...common, localBytes, offsets, redZone: false, depth: above + localBytes };
}

function withFramePointer(mf: MFunction, facts: Facts, mask: RegisterSet): FrameLayout {
  const saved = savedRegisters(withoutRegister(mask, RBP));
  const saves = 8 * saved.length;
  const common = { framePointer: true, realign: 0, saved, base: RBP, outgoing: 0 };
  const savesFirst = mf.hasDynamicAlloca;
  if (facts.redZoneAllowed || savesFirst) {
    const { offsets, bytes } = pack(mf, facts.order, saves, 0, true);
    if (savesFirst) {
      const localBytes = roundUp(16 + saves + bytes, stackAlign) - 16 - saves;
      const depth = 16 + saves + localBytes;
      return { ...common, savesBelow: false, localBytes, offsets, redZone: false, depth };
    }
    if (bytes <= redZoneBytes)
      return { ...common, savesBelow: false, localBytes: 0, offsets, redZone: bytes > 0, depth: 16 + saves };
  }
  const { offsets, bytes } = pack(mf, facts.order, 0, 0, true);
  const align = facts.aligned ? stackAlign : 8;
  const localBytes = roundUp(16 + saves + bytes, align) - 16 - saves;
  return { ...common, savesBelow: true, localBytes, offsets, redZone: false, depth: 16 + saves + localBytes };
}

function realigned(mf: MFunction, facts: Facts, mask: RegisterSet): FrameLayout {
  const saved = savedRegisters(withoutRegister(mask, RBP));
  // Slots without uses count, too: they stand for outgoing arguments of that alignment.
  const realign = mf.slots.reduce(
    (most, { kind, align }) => (kind === "incoming" ? most : Math.max(most, align)),
    Math.max(stackAlign, mf.stackAlignment),
  );
  const { offsets, bytes } = pack(mf, facts.order, 0, 0, false);
  return {
    framePointer: true,
    realign,
    saved,
    savesBelow: false,
    base: needsBasePointer(mf) ? R15 : RSP,
    localBytes: roundUp(bytes, realign),
    offsets,
    redZone: false,
    outgoing: 0,
    depth: 16 + 8 * saved.length,
  };
}

const isExit = (op: number): boolean => op === X.Ret || op === X.TailCall || op === X.TailCallIndirect;

const movesStack = (op: X, imm: MInst["imm"]): boolean =>
  op === X.Push || op === X.Pop || op === X.StackAlloc || (op === X.CallCleanup && Number(imm) > 0);

/** Bytes of asynchronous tables about the stack pointer's moves in the body, if there is no frame pointer. */
function bodyTableBytes(mf: MFunction, { outgoing }: FrameLayout, rooms: readonly number[]): number {
  let moves = outgoing > 0 ? -2 * rooms.length : 0;
  for (const { insts } of mf.blocks) for (const { op, imm } of insts) if (movesStack(op, imm)) moves++;
  return 3 * moves;
}

/** Estimated bytes of prologue, epilogues, unwind tables, slot operands and of room for arguments. */
function layoutCost(mf: MFunction, layout: FrameLayout, uses: Int32Array, rooms: readonly number[]): number {
  let exits = 0;
  for (const { insts } of mf.blocks) if (insts.length > 0 && isExit(insts[insts.length - 1]!.op)) exits++;
  const { enter, leave } = frameCost(mf, layout);
  let cost = enter + (layout.outgoing > 0 ? 0 : roomCost(mf, layout, rooms));
  if (mf.unwind === "async") {
    // Where it is long, one is shared, by jumps.
    cost += exits === 0 ? 0 : leave + (exits - 1) * Math.min(leave, 2);
    if (!layout.framePointer) cost += bodyTableBytes(mf, layout, rooms);
  } else cost += exits * leave;
  // Incoming slots lie above the CFA: 16 above rbp, `depth` above rsp.
  const cfa = layout.framePointer ? 16 : layout.depth;
  for (let i = 0; i < uses.length; i++) {
    if (uses[i] === 0) continue;
    const slot = mf.slots[i]!;
    const offset = slot.kind === "incoming" ? cfa + slot.offset : layout.offsets[i]!;
    cost += uses[i]! * reachCost(layout.framePointer ? RBP : RSP, offset);
  }
  return cost;
}

/** The first of those that cost least. */
function cheapest(layouts: readonly FrameLayout[], costOf: (layout: FrameLayout) => number): FrameLayout {
  let best = layouts[0]!;
  if (layouts.length === 1) return best;
  let least = costOf(best);
  for (const layout of layouts.slice(1)) {
    const cost = costOf(layout);
    if (cost >= least) continue;
    best = layout;
    least = cost;
  }
  return best;
}

/**
 * Plans the frame of an allocated function whose slot operands are memory operands.
 * @param saved callee-saved registers to preserve (the frame and base pointers are added)
 * @param written every register that the body writes
 * @param calls memory below rsp may be overwritten
 * @param aligned some call needs rsp to be a multiple of 16
 */
export function planFrame(
  mf: MFunction,
  saved: RegisterSet,
  written: RegisterSet,
  calls: boolean,
  aligned: boolean,
): FrameLayout {
  const uses = countUses(mf);
  const order = placementOrder(mf, uses);
  let maxAlign = 1;
  for (const i of order) maxAlign = Math.max(maxAlign, mf.slots[i]!.align);
  const noRedZone = mf.noRedZone || (mf.fn.kind === "function" && mf.fn.attributes.fn.has("noredzone"));
  const redZoneAllowed = !calls && !noRedZone && !mf.hasDynamicAlloca;
  const facts: Facts = { uses, order, maxAlign, aligned, redZoneAllowed };
  if (needsRealignment(mf)) {
    return realigned(mf, facts, needsBasePointer(mf) ? withRegister(saved, R15) : saved);
  }
  if (needsFramePointer(mf)) return withFramePointer(mf, facts, saved);
  const rooms = calls ? storedArguments(mf) : [];
  const room = rooms.reduce((most, bytes) => Math.max(most, bytes), 0);
  const layouts = [withoutFramePointer(mf, facts, saved, room)];
  const forSize = mf.goal === "size" || mf.goal === "minsize";
  if (!forSize) return layouts[0]!;
  if (rooms.length > 0) layouts.unshift(withoutFramePointer(mf, facts, saved, 0));
  if (!hasRegister(written, RBP) && !hasRegister(saved, RBP) && (order.length > 0 || mf.unwind === "async"))
    layouts.push(withFramePointer(mf, facts, saved));
  return cheapest(layouts, (layout) => layoutCost(mf, layout, uses, rooms));
}
