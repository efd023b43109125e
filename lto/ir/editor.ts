/**
 * Editing one body: the changes that keep its use lists current (`uses.ts`).
 *
 * `Func.edit()` gives the editor; it lives as long as the body stays in memory, so that passes that follow each other
 * build use lists once. Changes of the control flow are in `cfg-edit.ts`, making instructions in `builder.ts`.
 *
 * Costs: `setOperand`, `erase` and one step of `replaceAllUses` are constant; inserting finds its place near the last
 * one, and moves the rest of the block.
 *
 * Erased instructions stay in their block's list, with no parent, until the editor sweeps: erasing many is linear. Who
 * walks a list while erasing skips them (`inst.parent !== block`). Sweeping comes by itself before anybody else sees
 * the body (`Func.view`, `take`, `rewrite`, `commit`, `Body.renumber`), before instructions are inserted or moved in
 * such a block, and on `sweep()`. Terminators go at once, so that `Block.terminator` is always true.
 *
 * What breaks it: changing the lists by other means (`raw`) while the editor lives; using an editor after its body was
 * taken or given to `Func.rewrite`.
 */
import { type DebugRecord, passRecords, putBefore, unknownBefore } from "./debug-records.js";
import { DebugUses } from "./debug-uses.js";
import { type Block, type Body, type Inst, isTerminator, Op } from "./instructions.js";
import type { Func } from "./module.js";
import { raw } from "./raw.js";
import { hasUses, type Used, UseLists } from "./uses.js";
import { type Argument, BlockAddress, ConstUndef, type Value } from "./values.js";

export class Editor {
  readonly uses: UseLists;
  /** Blocks with erased instructions in their lists. */
  private readonly dirty = new Set<Block>();
  /** Where the last instruction was found in its block. */
  private hint = 0;
  /** Null where the body has no debug records. */
  private debug: DebugUses | null;

  constructor(
    readonly fn: Func,
    readonly body: Body,
  ) {
    this.uses = new UseLists(body, fn);
    this.debug = body.hasDebug ? new DebugUses(body) : null;
  }

  /** Instructions with debug records will come into the body. */
  expectRecords(): void {
    this.body.hasDebug = true;
    this.debug ??= new DebugUses(this.body);
  }
  /** Puts debug records before an instruction, in front of those that are there. */
  addRecords(inst: Inst, records: readonly DebugRecord[]): void {
    if (records.length === 0) return;
    this.expectRecords();
    putBefore(inst, records);
    this.debug!.adopt(inst);
  }
  /** Likewise, after those that are there. */
  appendRecords(inst: Inst, records: readonly DebugRecord[]): void {
    if (records.length === 0) return;
    this.expectRecords();
    inst.debug = [...(inst.debug ?? []), ...records];
    this.debug!.adopt(inst);
  }
  /** Records that are replaced by what others say. */
  removeRecords(records: ReadonlySet<DebugRecord>): void {
    if (records.size === 0) return;
    for (const { insts } of this.body.blocks)
      for (const inst of insts) {
        if (inst.debug === null) continue;
        const kept = inst.debug.filter((record) => !records.has(record));
        inst.debug = kept.length === 0 ? null : kept;
      }
  }
  /** Nothing is known at the start of a block of the variables of records elsewhere, which control comes past no more. */
  forgetAt(block: Block, records: readonly DebugRecord[]): void {
    if (records.length === 0) return;
    this.sweepBlock(block);
    const { insts } = block;
    const at = this.firstAfterPhis(block);
    const unknown = unknownBefore(insts[at]?.debug ?? [], records);
    if (unknown.length === 0) return;
    if (at < insts.length) putBefore(insts[at]!, unknown);
    else this.debug!.park(block, unknown);
  }
  /** Debug records that name a value. */
  recordsOf(value: Inst | Argument): readonly DebugRecord[] {
    return this.debug?.of(value) ?? [];
  }
  /** Debug records that name a value know nothing. */
  forgetInRecords(of: Inst): void {
    this.debug?.replace(of, new ConstUndef(of.type, true));
  }
  /** Debug records that name a value name another one. */
  replaceInRecords(of: Inst | Argument, by: Value): void {
    this.debug?.replace(of, by);
  }
  /** Likewise, of some records. */
  replaceInRecord(record: DebugRecord, of: Inst | Argument, by: Value): void {
    this.debug?.replaceIn([record], of, by);
  }

  // Operands.

  setOperand(inst: Inst, index: number, value: Value): void {
    const old = inst.operands[index]!;
    if (old === value) return;
    if (inst.parent !== null) this.uses.replaceOperand(inst, index, old, value);
    raw(inst).operands[index] = value;
  }

  /** Gives an instruction other operands, and other blocks (successors, or a phi's incoming ones). */
  setLists(inst: Inst, operands: Value[], blocks: Block[] = raw(inst).blocks): void {
    const attached = inst.parent !== null;
    if (attached) this.uses.remove(inst);
    raw(inst).operands = operands;
    raw(inst).blocks = blocks;
    if (attached) this.uses.add(inst);
  }

  /** Replaces all uses of a value, those by phis included. */
  replaceAllUses(of: Inst | Argument, by: Value): void {
    if (of === by) return;
    if (of.type !== by.type) throw new Error(`@${this.fn.name}: a value of another type as replacement`);
    this.uses.forEach(of, (user, slot) => this.setOperand(user, slot, by));
    this.debug?.replace(of, by);
  }
  /** Replaces the uses for which `which` says so. */
  replaceUsesIf(of: Inst | Argument, by: Value, which: (user: Inst, slot: number) => boolean): void {
    if (of === by) return;
    if (of.type !== by.type) throw new Error(`@${this.fn.name}: a value of another type as replacement`);
    this.uses.forEach(of, (user, slot) => {
      if (which(user, slot)) this.setOperand(user, slot, by);
    });
  }
  /** Replaces an instruction that has to go by a value. */
  replace(inst: Inst, by: Value): void {
    if (inst.type.kind !== "void") this.replaceAllUses(inst, by);
    this.erase(inst);
  }

  hasUses(of: Used): boolean {
    return hasUses(of);
  }
  hasOneUse(of: Used): boolean {
    return this.uses.hasOne(of);
  }
  /** The user of each use: safe to walk while uses change. */
  users(of: Used): Inst[] {
    return this.uses.list(of);
  }

  // Phis.

  addIncoming(phi: Inst, value: Value, from: Block): void {
    this.setLists(phi, [...phi.operands, value], [...phi.blocks, from]);
  }
  removeIncoming(phi: Inst, index: number): void {
    this.setLists(phi, phi.operands.toSpliced(index, 1), phi.blocks.toSpliced(index, 1));
  }
  /** Lets a phi's entry come from another block. */
  setIncomingBlock(phi: Inst, index: number, from: Block): void {
    raw(phi).blocks[index] = from;
  }

  // Instructions in blocks.

  /** Removes an instruction that has no uses. The edges of a terminator go with it, without a word to any phi. */
  erase(inst: Inst): void {
    const block = inst.parent;
    if (block === null) throw new Error(`@${this.fn.name}: an instruction is erased twice`);
    if (hasUses(inst)) {
      // Uses by itself do not keep it.
      this.uses.forEach(inst, (user, slot) => {
        if (user === inst) this.setOperand(inst, slot, new ConstUndef(inst.type, true));
      });
      if (hasUses(inst)) throw new Error(`@${this.fn.name}: an instruction with uses is erased`);
    }
    this.uses.remove(inst);
    const { insts } = raw(block);
    this.debug?.erased(inst);
    if (insts[insts.length - 1] === inst) {
      insts.pop();
      if (inst.debug !== null) this.debug?.park(block, inst.debug);
    } else this.dirty.add(block);
    inst.parent = null;
    raw(inst).operands = [];
    raw(inst).blocks = [];
  }

  /** Takes erased instructions out of the lists of their blocks. */
  sweep(): void {
    for (const block of this.dirty) this.sweepBlock(block);
    if (this.uses.isSparse) this.uses.build();
  }
  private sweepBlock(block: Block): void {
    if (!this.dirty.delete(block)) return;
    if (this.debug !== null) this.passOnRecords(block);
    raw(block).insts = block.insts.filter((inst) => inst.parent === block);
  }
  /** What stood before erased instructions stands before what follows them. */
  private passOnRecords(block: Block): void {
    let records: DebugRecord[] = [];
    for (const inst of block.insts) {
      if (inst.parent !== block) {
        // One that was moved away took its records care of.
        if (inst.parent === null && inst.debug !== null) records.push(...inst.debug);
        if (inst.parent === null) inst.debug = null;
      } else if (records.length > 0) {
        putBefore(inst, records);
        records = [];
      }
    }
    if (records.length > 0) this.debug!.park(block, records);
  }

  /** Position of an instruction in its block, which is swept first. */
  positionOf(inst: Inst): number {
    const block = inst.parent!;
    this.sweepBlock(block);
    const { insts } = block;
    const from = Math.max(0, this.hint - 4);
    const to = Math.min(insts.length, this.hint + 8);
    for (let i = from; i < to; i++) if (insts[i] === inst) return (this.hint = i);
    this.hint = insts.indexOf(inst);
    return this.hint;
  }

  /**
   * Puts a detached instruction before position `at` of a block. One that says nothing of its origin has that of the
   * instruction there: most come in front of what they replace.
   */
  insertAt<I extends Inst>(inst: I, block: Block, at: number): I {
    if (inst.parent !== null) throw new Error(`@${this.fn.name}: an instruction is inserted twice`);
    this.sweepBlock(block);
    const { insts } = raw(block);
    const { length } = insts;
    if (inst.origin === 0 && length > 0) inst.origin = insts[at === length ? at - 1 : at]!.origin;
    if (at === length) insts.push(inst);
    else insts.splice(at, 0, inst);
    inst.parent = block;
    this.uses.add(inst);
    if (this.debug !== null) {
      if (inst.debug !== null) this.debug.adopt(inst);
      if (at === length) this.settleRecords(block, inst);
    }
    return inst;
  }
  /** What waits at the end of a block stands before the instruction that is there now. */
  private settleRecords(block: Block, first: Inst): void {
    const records = this.debug!.unpark(block);
    if (records.length > 0) putBefore(first, records);
  }
  insertBefore<I extends Inst>(inst: I, place: Inst): I {
    this.insertAt(inst, place.parent!, this.positionOf(place));
    // It may be what takes its place.
    if (place.debug !== null) passRecords(place, inst);
    return inst;
  }
  insertAfter<I extends Inst>(inst: I, place: Inst): I {
    return this.insertAt(inst, place.parent!, this.positionOf(place) + 1);
  }
  append<I extends Inst>(inst: I, block: Block): I {
    this.sweepBlock(block);
    return this.insertAt(inst, block, block.insts.length);
  }
  /** After the last phi of a block. */
  prependPhi<I extends Inst>(phi: I, block: Block): I {
    return this.insertAt(phi, block, this.firstAfterPhis(block));
  }
  /** Position of the first instruction of a block that is no phi. */
  firstAfterPhis(block: Block): number {
    this.sweepBlock(block);
    let at = 0;
    while (at < block.insts.length && block.insts[at]!.op === Op.Phi) at++;
    return at;
  }

  /** Moves an instruction before another one, perhaps of another block. */
  move(inst: Inst, before: Inst): void {
    if (isTerminator(inst.op)) throw new Error(`@${this.fn.name}: a terminator is moved`);
    if (inst === before) return;
    const from = this.positionOf(inst);
    if (inst.debug !== null) {
      putBefore(inst.parent!.insts[from + 1]!, inst.debug);
      inst.debug = null;
    }
    raw(inst.parent!).insts.splice(from, 1);
    const at = this.positionOf(before);
    raw(before.parent!).insts.splice(at, 0, inst);
    inst.parent = before.parent;
  }
  /** Moves all that is in `from` from position `at` on to the end of `to`. */
  moveTail(from: Block, at: number, to: Block): void {
    this.sweepBlock(from);
    this.sweepBlock(to);
    const moved = raw(from).insts.splice(at);
    if (this.debug !== null) {
      if (moved.length > 0) this.settleRecords(to, moved[0]!);
      const rest = this.debug.unpark(from);
      if (rest.length > 0) this.debug.park(to, rest);
    }
    for (const inst of moved) {
      inst.parent = to;
      raw(to).insts.push(inst);
    }
  }

  // Blocks, as lists; what that means for the control flow is in cfg-edit.ts.

  /** Puts a block after another one in the layout, or at the end. */
  addBlock<B extends Block>(block: B, after: Block | null = null): B {
    const { blocks } = this.body;
    if (after === null) blocks.push(block);
    else blocks.splice(this.indexOfBlock(after) + 1, 0, block);
    return block;
  }
  /** Puts blocks made elsewhere, with their instructions, after a block in the layout, or at the end. */
  adopt(blocks: readonly Block[], after: Block | null = null): void {
    if (after === null) this.body.blocks.push(...blocks);
    else this.body.blocks.splice(this.indexOfBlock(after) + 1, 0, ...blocks);
    for (const block of blocks) for (const inst of block.insts) this.uses.add(inst);
    if (this.debug !== null)
      for (const block of blocks) for (const inst of block.insts) this.debug.adopt(inst);
  }
  /** The address of a block, which gets a label if it has none. The entry block cannot have one. */
  addressOf(block: Block): BlockAddress {
    if (block === this.body.blocks[0]) throw new Error(`@${this.fn.name}: the address of the entry block`);
    if (!block.addressTaken) {
      let label = 0;
      for (const other of this.body.blocks) label = Math.max(label, other.label + 1);
      while (this.fn.hasDropped(label)) label++;
      block.label = label;
    }
    return new BlockAddress(this.fn.type, this.fn, block.label);
  }
  /** Values of blocks that go are known no more. What their own records say is for who drops them to keep (`cfg-edit.ts`). */
  private dropRecords(dropped: readonly Block[]): void {
    for (const block of dropped) {
      this.debug!.unpark(block);
      for (const inst of block.insts) {
        inst.debug = null;
        this.debug!.replace(inst, new ConstUndef(inst.type, true));
      }
    }
  }
  private indexOfBlock(block: Block): number {
    const { blocks } = this.body;
    // Numbers are too low by the blocks that were put in front since.
    for (let i = Math.max(0, block.id); i < Math.min(blocks.length, block.id + 8); i++)
      if (blocks[i] === block) return i;
    return blocks.indexOf(block);
  }
  /** Takes blocks out of the layout; their instructions are no longer registered. */
  dropBlocks(which: (block: Block) => boolean): void {
    const { body } = this;
    const dropped = body.blocks.filter(which);
    if (dropped.length === 0) return;
    for (const block of dropped) {
      this.sweepBlock(block);
      if (block.addressTaken) this.fn.dropLabel(block.label);
    }
    // What is left uses poison, and the dropped blocks use nothing that is left.
    for (const block of dropped) for (const inst of block.insts) this.uses.remove(inst);
    if (this.debug !== null) this.dropRecords(dropped);
    for (const block of dropped)
      for (const inst of block.insts) {
        inst.parent = null;
        raw(inst).operands = [];
        raw(inst).blocks = [];
      }
    for (const block of dropped)
      for (const inst of block.insts)
        if (hasUses(inst)) this.replaceAllUses(inst, new ConstUndef(inst.type, true));
    for (const block of dropped) raw(block).insts = [];
    body.blocks = body.blocks.filter((block) => !which(block));
  }
}
