/**
 * Use lists: who uses an instruction, an argument or a block.
 *
 * A use is one operand slot of an instruction that is in a block, or one successor slot of a terminator; incoming
 * blocks of phis are no uses, they follow the edges. The uses of a value form a doubly linked list, so linking and
 * unlinking take constant time whatever the number of uses. The links lie in typed arrays of the body, by use
 * number; an instruction's uses have consecutive numbers, so that a use's slot is its number minus the user's
 * first. Values only keep the number of their first use: bodies that nobody edits have no arrays.
 *
 * Invariants, while a body has use lists:
 *  - an instruction is registered exactly while it is in a block (or about to be erased: `Editor.erase`);
 *  - operand and successor lists change only together with the links, that is, through the body's `Editor`;
 *  - lists built at once are in program order; later uses come first.
 *
 * Building is linear in the operands. Numbers of unregistered uses are not given out again before the next building,
 * which `add` asks for when most are dead.
 */
import type { Block, Body, Inst } from "./instructions.js";
import { isTerminator } from "./instructions.js";
import type { Argument, Value } from "./values.js";

/** What has a use list. */
export type Used = Inst | Argument | Block;

/** No use, or not registered. */
const none = -1;

/** The fields that belong to this file. */
interface Head {
  firstUse: number;
}
interface User {
  firstSlot: number;
}
const head = (of: Used): Head => of as unknown as Head;
const slots = (of: Inst): User => of as unknown as User;

/** Whether a value of this kind has a use list. */
const isTracked = (value: Value): value is Inst | Argument =>
  value.valueKind === "inst" || value.valueKind === "argument";

export const hasUses = (of: Used): boolean => head(of).firstUse !== none;

export class UseLists {
  private users: Inst[] = [];
  private next: Int32Array;
  private previous: Int32Array;
  /** Uses of registered instructions. */
  private live = 0;

  constructor(
    private readonly body: Body,
    private readonly fn: { readonly args: readonly Argument[] },
  ) {
    this.next = new Int32Array(0);
    this.previous = this.next;
    this.build();
  }

  /** Makes all lists anew. */
  build(): void {
    let count = 0;
    for (const arg of this.fn.args) head(arg).firstUse = none;
    for (const block of this.body.blocks) {
      head(block).firstUse = none;
      for (const inst of block.insts) {
        head(inst).firstUse = none;
        slots(inst).firstSlot = count;
        count += slotCount(inst);
      }
    }
    const room = count + (count >> 1) + 16;
    this.users = new Array<Inst>(count);
    this.next = new Int32Array(room);
    this.previous = new Int32Array(room);
    this.live = count;
    const { blocks } = this.body;
    // Backwards, since linking puts a use in front.
    for (let b = blocks.length - 1; b >= 0; b--) {
      const { insts } = blocks[b]!;
      for (let i = insts.length - 1; i >= 0; i--) this.link(insts[i]!);
    }
  }

  /** Registers an instruction that has been put into a block, or has got other lists. */
  add(inst: Inst): void {
    const count = slotCount(inst);
    slots(inst).firstSlot = this.users.length;
    this.live += count;
    for (let i = 0; i < count; i++) this.users.push(inst);
    if (this.users.length > this.next.length) {
      this.next = grown(this.next, this.users.length * 2);
      this.previous = grown(this.previous, this.users.length * 2);
    }
    this.link(inst);
  }

  /** Most use numbers are dead: time to build the lists anew, when nobody holds a number. */
  get isSparse(): boolean {
    return this.users.length > 4096 && this.users.length > 4 * this.live;
  }

  private link(inst: Inst): void {
    const first = slots(inst).firstSlot;
    const { operands } = inst;
    if (isTerminator(inst.op)) {
      const { blocks } = inst;
      for (let i = blocks.length - 1; i >= 0; i--)
        this.linkSlot(inst, first + operands.length + i, blocks[i]!);
    }
    for (let i = operands.length - 1; i >= 0; i--) {
      const value = operands[i]!;
      if (isTracked(value)) this.linkSlot(inst, first + i, value);
      else this.users[first + i] = inst;
    }
  }

  private linkSlot(user: Inst, use: number, value: Used): void {
    const list = head(value);
    this.users[use] = user;
    this.next[use] = list.firstUse;
    this.previous[use] = none;
    if (list.firstUse !== none) this.previous[list.firstUse] = use;
    list.firstUse = use;
  }

  private unlinkSlot(use: number, value: Used): void {
    const after = this.next[use]!;
    const before = this.previous[use]!;
    if (before === none) head(value).firstUse = after;
    else this.next[before] = after;
    if (after !== none) this.previous[after] = before;
  }

  /** Unregisters an instruction; its lists are still what they were when it was registered. */
  remove(inst: Inst): void {
    const first = slots(inst).firstSlot;
    const { operands } = inst;
    for (let i = 0; i < operands.length; i++) {
      const value = operands[i]!;
      if (isTracked(value)) this.unlinkSlot(first + i, value);
    }
    if (isTerminator(inst.op))
      for (let i = 0; i < inst.blocks.length; i++)
        this.unlinkSlot(first + operands.length + i, inst.blocks[i]!);
    this.live -= slotCount(inst);
    slots(inst).firstSlot = none;
  }

  /** An operand of a registered instruction is replaced. */
  replaceOperand(inst: Inst, index: number, from: Value, to: Value): void {
    const use = slots(inst).firstSlot + index;
    if (isTracked(from)) this.unlinkSlot(use, from);
    if (isTracked(to)) this.linkSlot(inst, use, to);
  }
  /** A successor of a registered terminator is replaced. */
  replaceSuccessor(inst: Inst, index: number, from: Block, to: Block): void {
    const use = slots(inst).firstSlot + inst.operands.length + index;
    this.unlinkSlot(use, from);
    this.linkSlot(inst, use, to);
  }

  /** Shows each use: the user, and the number of the slot (successors come after the operands). */
  forEach(of: Used, show: (user: Inst, slot: number) => void): void {
    for (let use = head(of).firstUse; use !== none; ) {
      const user = this.users[use]!;
      const after = this.next[use]!;
      show(user, use - slots(user).firstSlot);
      use = after;
    }
  }
  /** The user of each use; a user with several uses is there several times. */
  list(of: Used): Inst[] {
    const list: Inst[] = [];
    for (let use = head(of).firstUse; use !== none; use = this.next[use]!) list.push(this.users[use]!);
    return list;
  }
  /** The user of the first use, or null. */
  first(of: Used): Inst | null {
    const use = head(of).firstUse;
    return use === none ? null : this.users[use]!;
  }
  hasOne(of: Used): boolean {
    const use = head(of).firstUse;
    return use !== none && this.next[use] === none;
  }
  /** Number of uses, counted up to `limit`. */
  count(of: Used, limit = Number.POSITIVE_INFINITY): number {
    let count = 0;
    for (let use = head(of).firstUse; use !== none && count < limit; use = this.next[use]!) count++;
    return count;
  }

  /** For tests: what is wrong with the lists, compared with lists made anew; null if nothing is. */
  check(): string | null {
    const expected = new Map<Used, string[]>();
    const note = (of: Used, inst: Inst, slot: number): void => {
      const list = expected.get(of);
      const text = `${inst.id}.${slot}`;
      if (list === undefined) expected.set(of, [text]);
      else list.push(text);
    };
    this.body.renumber();
    for (const block of this.body.blocks)
      for (const inst of block.insts) {
        inst.operands.forEach((value, i) => {
          if (isTracked(value)) note(value, inst, i);
        });
        if (isTerminator(inst.op))
          inst.blocks.forEach((to, i) => {
            note(to, inst, inst.operands.length + i);
          });
      }
    const values: Used[] = [
      ...this.fn.args,
      ...this.body.blocks,
      ...this.body.blocks.flatMap((b) => b.insts),
    ];
    for (const value of values) {
      const found: string[] = [];
      this.forEach(value, (user, slot) => found.push(`${user.id}.${slot}`));
      const wanted = (expected.get(value) ?? []).sort();
      if (found.sort().join(" ") !== wanted.join(" "))
        return `uses ${found.join(" ")} instead of ${wanted.join(" ")}`;
    }
    return null;
  }
}

const slotCount = (inst: Inst): number =>
  inst.operands.length + (isTerminator(inst.op) ? inst.blocks.length : 0);

function grown(old: Int32Array, length: number): Int32Array {
  const bigger = new Int32Array(length);
  bigger.set(old);
  return bigger;
}
