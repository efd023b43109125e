/**
 * Machine code in the order in which selection makes it: from the end of each block to its start.
 *
 * What one IR instruction becomes is written forwards into a buffer, which `flush` moves, last first, before what the
 * block has. `settle` then says that constants the instruction used have to stand before it.
 */
import type { MBlock, MInst } from "../mir.js";
import { SharedConstants } from "./shared-constants.js";

export class Emitter {
  /** What the IR instruction being lowered has become so far, in order. */
  private buffer: MInst[] = [];
  /** Instructions of the current machine block, last first. */
  private reversed: MInst[] = [];
  readonly constants = new SharedConstants();
  /** Of the IR instruction being lowered. */
  origin = 0;

  emit(inst: MInst): MInst {
    inst.origin = this.origin;
    this.buffer.push(inst);
    return inst;
  }

  /** The first instruction of what the block has so far, flushed. */
  get first(): MInst | undefined {
    return this.reversed[this.reversed.length - 1];
  }

  /** What `make` emits, which goes nowhere yet. */
  aside(make: () => void): MInst[] {
    const saved = this.buffer;
    this.buffer = [];
    make();
    const made = this.buffer;
    this.buffer = saved;
    return made;
  }

  /** After an IR instruction: its code is before all that the block has. */
  flush(): void {
    const { buffer, reversed } = this;
    for (let i = buffer.length - 1; i >= 0; i--) reversed.push(buffer[i]!);
    this.buffer = [];
    this.constants.settle(reversed.length);
  }

  /** Stores the instructions of a block that is done, with the constants that it shares. */
  finishBlock(block: MBlock): void {
    block.insts = this.constants.place(this.reversed);
    this.reversed = [];
  }

  /** The same for the function's first block, whose code begins with one instruction for all arguments. */
  finishEntry(block: MBlock): void {
    this.constants.hoist(this.reversed.length - 1);
    this.finishBlock(block);
  }
}
