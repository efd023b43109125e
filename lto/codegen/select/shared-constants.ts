/**
 * Constants that are made once for several uses: in a block before the first of them; for speed, in front of the loop
 * around it; or, those that take long to make and that several blocks use, in the function's first block. Positions count
 * in the block's code from its end, as selection writes it (emitter.ts).
 */
import type { MInst, VReg } from "../mir.js";

interface SharedConstant {
  readonly definition: MInst;
  readonly vreg: VReg;
  /** How many instructions follow it in the block. */
  position: number;
}

export class SharedConstants {
  /** Those of the current block, by key. */
  private readonly local = new Map<string, SharedConstant>();
  /** Those of the first block. */
  private readonly hoisted = new Map<string, SharedConstant>();
  /** Those of blocks that are not lowered yet, by these. */
  private readonly awaited = new Map<number, Map<string, SharedConstant>>();
  /** The block where those go that the block being lowered uses. */
  private home = -1;
  private block = -1;
  /** Used by the instruction being lowered. */
  private readonly touched: SharedConstant[] = [];
  /** By key of a constant that takes long to make: how many blocks use it. */
  private readonly blocks = new Map<string, number>();

  /** Another block uses the constant of the key, which takes long to make. */
  countBlock(key: string): void {
    this.blocks.set(key, (this.blocks.get(key) ?? 0) + 1);
  }

  /** The loop around the current block has registers for constants of vectors. */
  hasRoom = false;

  /**
   * @param home the block that constants of the block are made in: itself, or one that dominates it and is lowered later
   * @param hasRoom the loop between them has registers for constants of vectors
   */
  enterBlock(block: number, home: number, hasRoom: boolean): void {
    this.hasRoom = hasRoom;
    this.block = block;
    this.home = home;
    const constants = this.awaited.get(block);
    if (constants === undefined) return;
    this.awaited.delete(block);
    for (const [key, constant] of constants) {
      // Those that go further out are in registers here anyway; where another one does, this one stays.
      if (home !== block && !this.awaitedIn(home).has(key)) this.awaitedIn(home).set(key, constant);
      else {
        this.local.set(key, constant);
        this.touched.push(constant);
      }
    }
  }

  private awaitedIn(block: number): Map<string, SharedConstant> {
    let constants = this.awaited.get(block);
    if (constants === undefined) this.awaited.set(block, (constants = new Map()));
    return constants;
  }

  /** Nothing after the instruction being lowered reads the constant: it is made in this block, and nobody there has used it. */
  isLastUse(key: string): boolean {
    return this.home === this.block && !this.local.has(key) && (this.blocks.get(key) ?? 0) < 2;
  }

  /** The register that holds the constant, at the instruction being lowered too from now on; -1 if there is none. */
  find(key: string): VReg {
    const known = this.local.get(key) ?? this.hoisted.get(key) ?? this.awaited.get(this.home)?.get(key);
    if (known === undefined) return -1;
    this.touched.push(known);
    return known.vreg;
  }

  /**
   * Has other instructions share the definition, which is then not emitted where it was made.
   * @param mayLeave it can be made in another block
   */
  add(key: string, definition: MInst, vreg: VReg, mayLeave: boolean): void {
    const constant = { definition, vreg, position: 0 };
    const uses = this.blocks.get(key);
    if (uses !== undefined && uses > 1) this.hoisted.set(key, constant);
    else if (mayLeave && this.home !== this.block) this.awaitedIn(this.home).set(key, constant);
    else this.local.set(key, constant);
    this.touched.push(constant);
  }

  /** After an IR instruction: what it used stands before it, so that `position` instructions follow. */
  settle(position: number): void {
    const { touched } = this;
    for (let i = 0; i < touched.length; i++) touched[i]!.position = position;
    touched.length = 0;
  }

  /** In the first block: those of all blocks stand there. */
  hoist(position: number): void {
    for (const [key, constant] of this.hoisted) {
      constant.position = position;
      this.local.set(key, constant);
    }
  }

  /** The code of a block, given last first, in order and with its constants. */
  place(reversed: MInst[]): MInst[] {
    const { local } = this;
    if (local.size === 0) return reversed.reverse();
    const constants = [...local.values()].sort((a, b) => b.position - a.position);
    const insts: MInst[] = [];
    let next = reversed.length;
    for (const { position, definition } of constants) {
      while (next > position) insts.push(reversed[--next]!);
      // Others than who made it may come first.
      definition.origin = -1;
      insts.push(definition);
    }
    while (next > 0) insts.push(reversed[--next]!);
    local.clear();
    return insts;
  }
}
