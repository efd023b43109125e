/**
 * Symbolic checker of register allocation.
 *
 * It runs the rewritten function on sets of names instead of values and shares no code with the allocators.
 *
 * Lattice: a state maps each location (register or slot) to the set of values it surely holds, each with the
 * number of low bytes that are right. The meet of two states is the intersection per location, with the smaller
 * number of bytes. Unreached is top. Values are virtual registers; a register that a plain copy defines is the
 * same value as the copied one, wherever it is.
 *
 * Transfer functions:
 * - an instruction of the program: each use's location must hold its value and be permitted; clobbered registers
 *   then hold nothing; each definition's location holds exactly its value, which nothing else holds any more
 *   (older instances of it, from an earlier iteration, are other values);
 * - a move, load or store: the target holds what the source holds, cut to the width of the operation;
 * - an exchange: the two locations change places;
 * - a recomputation, into a register or a slot: the target holds every value that this operation defines;
 * - an edge: parameters are bound all at once: a location holds the parameter if and only if it held the argument.
 *   An edge to a landing pad leaves after the call's clobbers and before its results, and keeps only memory and the
 *   callee-saved registers: frames put back those, and the unwinder runs in between.
 *
 * Also checked: fixed sets, permission of slots, tied places, early definitions apart from uses, no two
 * definitions in one place, one slot operand an instruction (except inline assembly), nothing inserted between a
 * call that unwinds and the end of its block, what the unwinder leaves in registers still there when a landing pad's
 * first instruction reads it, every instruction of the program still there in its order unless it is a copy or a
 * recomputable definition.
 *
 * The checker need be exact only for what the allocators emit: it knows inserted operations by their shape (copies,
 * exchanges with two definitions, accesses of spill slots, repeated recomputable definitions).
 * Not its business: saving callee-saved registers.
 */

import {
  CopyOp,
  isSlot,
  type Location,
  type MBlock,
  type MemOperand,
  type MFunction,
  type MInst,
  noLocation,
  type RegOperand,
  type SymbolRef,
  slotLocation,
  unwindTarget,
} from "../mir.js";
import {
  firstRegister,
  hasRegister,
  isEmptySet,
  lastRegister,
  minus,
  registersIn,
  withoutFirst,
} from "../register-set.js";
import type { TargetRegisters } from "../target.js";

/** What the checker remembers of the function before allocation. */
export interface CheckSnapshot {
  /** Instructions by block. */
  readonly insts: ReadonlyMap<MBlock, readonly MInst[]>;
  /** The value that each virtual register names: itself, or the one it is a copy of. */
  readonly value: Int32Array;
}

/** Call before allocation; the function must be in SSA form. */
export function snapshotForCheck(fn: MFunction): CheckSnapshot {
  const insts = new Map<MBlock, readonly MInst[]>();
  const copyOf = new Int32Array(fn.vregs.length).fill(-1);
  for (const block of fn.blocks) {
    insts.set(block, [...block.insts]);
    for (const inst of block.insts)
      if (isPlainCopy(fn, inst)) copyOf[inst.defs[0]!.vreg] = inst.uses[0]!.vreg;
    for (let s = 0; s < block.succs.length; s++) {
      const successor = block.succs[s]!;
      if (successor.preds.length !== 1) continue;
      for (let p = 0; p < successor.params.length; p++) {
        const param = successor.params[p]!.vreg;
        const arg = block.succArgs[s]![p]!.vreg;
        if (arg >= 0 && fn.vregs[param]!.size <= fn.vregs[arg]!.size) copyOf[param] = arg;
      }
    }
  }
  const value = new Int32Array(fn.vregs.length);
  for (let v = 0; v < value.length; v++) {
    let root = v;
    while (copyOf[root]! >= 0) root = copyOf[root]!;
    value[v] = root;
    // Shorten the chain for the next who asks.
    for (let w = v; copyOf[w]! >= 0; ) {
      const next = copyOf[w]!;
      copyOf[w] = root;
      w = next;
    }
  }
  return { insts, value };
}

function isPlainCopy(fn: MFunction, inst: MInst): boolean {
  if (inst.op !== CopyOp || inst.defs.length !== 1 || inst.uses.length !== 1) return false;
  const to = inst.defs[0]!.vreg;
  const from = inst.uses[0]!.vreg;
  if (to < 0 || from < 0) return false;
  return fn.vregs[to]!.size <= fn.vregs[from]!.size && fn.vregs[to]!.size <= inst.size;
}

/**
 * Complaints about the allocation of `fn`, in program order; empty if it is sound.
 * Time: instructions times the iterations of the fixpoint (loop depth plus two).
 */
export function checkAllocation(fn: MFunction, target: TargetRegisters, snapshot: CheckSnapshot): string[] {
  return new Checker(fn, target, snapshot).run();
}

/** Values held by locations: `value * 32 + bytes` each. */
type Held = readonly number[];
const none: Held = [];

class State {
  constructor(private readonly held: Map<Location, Held> = new Map()) {}

  clone(): State {
    return new State(new Map(this.held));
  }
  get(location: Location): Held {
    return this.held.get(location) ?? none;
  }
  set(location: Location, values: Held): void {
    if (values.length === 0) this.held.delete(location);
    else this.held.set(location, values);
  }
  /** Bytes of `value` that `location` holds. */
  bytes(location: Location, value: number): number {
    for (const entry of this.get(location)) if (entry >> 7 === value) return entry & 127;
    return 0;
  }
  /** Removes a value from everywhere. */
  forget(value: number): void {
    for (const [location, values] of this.held) {
      if (values.some((entry) => entry >> 7 === value)) {
        this.set(
          location,
          values.filter((entry) => entry >> 7 !== value),
        );
      }
    }
  }
  locations(): IterableIterator<Location> {
    return this.held.keys();
  }
  /** Intersects with `other`; true if anything was lost. */
  meet(other: State): boolean {
    let changed = false;
    for (const [location, values] of this.held) {
      const theirs = other.get(location);
      if (theirs === values) continue;
      const common: number[] = [];
      let same = true;
      for (const entry of values) {
        const bytes = Math.min(entry & 127, other.bytes(location, entry >> 7));
        if (bytes > 0) common.push((entry & ~127) | bytes);
        if (bytes !== (entry & 127)) same = false;
      }
      if (same) continue;
      changed = true;
      this.set(location, common);
    }
    return changed;
  }
}

class Checker {
  private readonly complaints: string[] = [];
  private reporting = false;
  private readonly original: ReadonlySet<MInst>;
  private readonly rematKeys = new Map<string, number[]>();
  private readonly entry = new Map<MBlock, State>();
  private readonly landing = new Map<MBlock, State>();

  constructor(
    private readonly fn: MFunction,
    private readonly target: TargetRegisters,
    private readonly snapshot: CheckSnapshot,
  ) {
    const original = new Set<MInst>();
    for (const insts of snapshot.insts.values()) for (const inst of insts) original.add(inst);
    this.original = original;
    for (let v = 0; v < fn.vregs.length; v++) {
      const { remat, cls } = fn.vregs[v]!;
      if (remat === null) continue;
      const sample = lastRegister(target.allocatable(fn, cls));
      const key = `${cls}:${keyOf(target.rematerialize(remat, sample))}`;
      const known = this.rematKeys.get(key);
      if (known === undefined) this.rematKeys.set(key, [v]);
      else known.push(v);
      for (const size of [4, 8, 16]) {
        const store = target.storeConstant?.(remat, size, 0) ?? null;
        if (store === null) continue;
        const storeKey = `store:${size}:${store.imm}`;
        const stored = this.rematKeys.get(storeKey);
        if (stored === undefined) this.rematKeys.set(storeKey, [v]);
        else stored.push(v);
      }
    }
  }

  run(): string[] {
    const { fn } = this;
    this.checkOrder();
    this.entry.set(fn.blocks[0]!, new State());
    const queued = new Set<MBlock>([fn.blocks[0]!]);
    while (queued.size > 0) {
      // Layout order is close to a topological order.
      for (const block of fn.blocks) {
        if (!queued.delete(block)) continue;
        for (const successor of this.flow(block)) queued.add(successor);
      }
    }
    this.reporting = true;
    const unentered = labelledOnly(fn, (block) => this.entry.has(block));
    for (const block of fn.blocks) {
      if (this.entry.has(block)) this.flow(block);
      else if (!unentered.has(block)) this.complaints.push(`block ${block.id} is unreachable`);
    }
    return this.complaints;
  }

  private complain(block: MBlock, index: number, text: string): void {
    if (this.reporting) this.complaints.push(`block ${block.id}, instruction ${index}: ${text}`);
  }

  private checkOrder(): void {
    for (const block of this.fn.blocks) {
      const before = this.snapshot.insts.get(block);
      if (before === undefined) {
        this.complaints.push(`block ${block.id} is new`);
        continue;
      }
      const after = block.insts.filter((inst) => this.original.has(inst));
      let k = 0;
      for (const inst of before) {
        if (after[k] === inst) k++;
        else if (!this.mayDisappear(inst)) {
          this.complaints.push(
            `block ${block.id}: an instruction with opcode ${inst.op} is missing or out of order`,
          );
          break;
        }
      }
      if (k < after.length) this.complaints.push(`block ${block.id}: instructions in excess`);
    }
  }

  private mayDisappear(inst: MInst): boolean {
    if (isPlainCopy(this.fn, inst)) return true;
    return (
      inst.defs.length === 1 && inst.defs[0]!.vreg >= 0 && this.fn.vregs[inst.defs[0]!.vreg]!.remat !== null
    );
  }

  /** Runs a block; returns the successors whose entry state changed. */
  private flow(block: MBlock): MBlock[] {
    const state = this.entry.get(block)!.clone();
    this.landing.clear();
    let ended = false;
    for (let k = 0; k < block.insts.length; k++) {
      const inst = block.insts[k]!;
      if (this.original.has(inst)) this.execute(inst, state, block, k);
      else {
        this.executeInserted(inst, state, block, k);
        if (ended) this.complain(block, k, "inserted after a call that unwinds");
      }
      if (unwindTarget(inst) !== null) ended = true;
    }
    const changed: MBlock[] = [];
    for (let s = 0; s < block.succs.length; s++) {
      const successor = block.succs[s]!;
      const landing = successor.landingPad ? this.landing.get(successor) : undefined;
      const leaving = landing ?? state;
      const arriving = this.bind(leaving, successor, block.succArgs[s] ?? []);
      if (landing !== undefined) this.enterPad(arriving, successor);
      const known = this.entry.get(successor);
      if (known === undefined) this.entry.set(successor, arriving);
      else if (!known.meet(arriving)) continue;
      changed.push(successor);
    }
    return changed;
  }

  /** The unwinder has put what the first instruction defines into its registers. */
  private enterPad(state: State, block: MBlock): void {
    for (const { vreg, loc } of entryDefinitions(block)) {
      if (vreg < 0) continue;
      const value = this.snapshot.value[vreg]!;
      state.forget(value);
      state.set(loc, [(value << 7) | this.fn.vregs[vreg]!.size]);
    }
  }

  /** The state after an edge. */
  private bind(state: State, block: MBlock, args: readonly RegOperand[]): State {
    const { value } = this.snapshot;
    const result = state.clone();
    if (block.params.length === 0) return result;
    const names = new Map<number, number[]>();
    for (let p = 0; p < block.params.length; p++) {
      const param = block.params[p]!.vreg;
      const arg = args[p]!;
      if (arg.vreg >= 0 && value[param] === value[arg.vreg]) continue;
      result.forget(value[param]!);
      if (arg.vreg < 0) {
        result.set(arg.loc, [...result.get(arg.loc), (value[param]! << 7) | this.fn.vregs[param]!.size]);
        continue;
      }
      const list = names.get(value[arg.vreg]!);
      if (list === undefined) names.set(value[arg.vreg]!, [value[param]!]);
      else list.push(value[param]!);
    }
    for (const location of state.locations()) {
      const gained: number[] = [];
      for (const entry of state.get(location)) {
        for (const param of names.get(entry >> 7) ?? []) gained.push((param << 7) | (entry & 127));
      }
      if (gained.length > 0) result.set(location, [...result.get(location), ...gained]);
    }
    return result;
  }

  private execute(inst: MInst, state: State, block: MBlock, index: number): void {
    const uses = usesOf(inst);
    for (const use of uses) this.checkUse(use, state, block, index);
    this.checkSlotCount(inst, uses, block, index);
    for (const def of inst.defs) {
      if (def.tiedTo >= 0 && def.vreg >= 0 && def.loc !== inst.uses[def.tiedTo]!.loc) {
        this.complain(block, index, `v${def.vreg} is not in the place it is tied to`);
      }
      if (def.early && uses.some((use) => use.loc === def.loc && use !== inst.uses[def.tiedTo])) {
        this.complain(block, index, `early definition v${def.vreg} shares ${this.show(def.loc)} with a use`);
      }
      for (const other of inst.defs) {
        if (other !== def && other.loc === def.loc && def.loc !== noLocation) {
          this.complain(block, index, `two definitions in ${this.show(def.loc)}`);
        }
      }
    }
    if (inst.extra?.kind === "landing-pad")
      for (const { vreg, loc } of inst.defs)
        if (vreg >= 0 && state.bytes(loc, this.snapshot.value[vreg]!) === 0)
          this.complain(block, index, `${this.show(loc)} is written before the landing pad has been entered`);
    const carried = isPlainCopy(this.fn, inst) ? state.get(inst.uses[0]!.loc) : null;
    const extra = inst.extra;
    const all = extra !== null && extra.kind === "call" && extra.returnsTwice;
    const clobbers = all ? this.target.all : inst.clobbers;
    for (let rest = clobbers; !isEmptySet(rest); rest = withoutFirst(rest))
      state.set(firstRegister(rest), none);
    const pad = unwindTarget(inst);
    if (pad !== null) {
      const unwound = state.clone();
      for (const r of registersIn(minus(this.target.all, this.target.calleeSaved))) unwound.set(r, none);
      this.landing.set(pad, unwound);
    }
    for (const def of inst.defs) {
      if (def.loc !== noLocation) state.set(def.loc, none);
      if (def.vreg < 0) continue;
      this.checkPlace(def, block, index);
      if (carried !== null) state.set(def.loc, carried);
      else {
        const value = this.snapshot.value[def.vreg]!;
        state.forget(value);
        state.set(def.loc, [(value << 7) | this.fn.vregs[def.vreg]!.size]);
      }
    }
  }

  private checkUse(use: RegOperand, state: State, block: MBlock, index: number): void {
    if (use.vreg < 0) return;
    this.checkPlace(use, block, index);
    const bytes = state.bytes(use.loc, this.snapshot.value[use.vreg]!);
    if (bytes < this.fn.vregs[use.vreg]!.size) {
      const held = state.get(use.loc).map((entry) => `v${entry >> 7}:${entry & 127}`);
      this.complain(
        block,
        index,
        `v${use.vreg} is read from ${this.show(use.loc)}, which holds {${held.join(", ")}}`,
      );
    }
  }

  private checkPlace(operand: RegOperand, block: MBlock, index: number): void {
    const { loc, vreg } = operand;
    if (loc === noLocation) {
      this.complain(block, index, `v${vreg} has no location`);
    } else if (isSlot(loc)) {
      if (!operand.mayBeSlot) this.complain(block, index, `v${vreg} may not be in a slot`);
    } else {
      const cls = this.fn.vregs[vreg]!.cls;
      const permitted = isEmptySet(operand.allowed) ? this.target.allocatable(this.fn, cls) : operand.allowed;
      if (!hasRegister(permitted, loc))
        this.complain(block, index, `v${vreg} may not be in ${this.show(loc)}`);
    }
  }

  private checkSlotCount(inst: MInst, uses: readonly RegOperand[], block: MBlock, index: number): void {
    if (inst.extra !== null && inst.extra.kind === "asm") return;
    let slot: Location = 0;
    let count = 0;
    for (const operand of uses) {
      if (!isSlot(operand.loc) || operand.vreg < 0) continue;
      count++;
      slot = operand.loc;
    }
    for (const def of inst.defs) if (isSlot(def.loc) && (def.tiedTo < 0 || def.loc !== slot)) count++;
    if (count > 1) this.complain(block, index, "more than one operand in a slot");
  }

  private executeInserted(inst: MInst, state: State, block: MBlock, index: number): void {
    if (inst.defs.length === 2) {
      const a = inst.defs[0]!.loc;
      const b = inst.defs[1]!.loc;
      const held = state.get(a);
      state.set(a, state.get(b));
      state.set(b, held);
      return;
    }
    const slot = inst.mem !== null && inst.mem.slot >= 0 && this.fn.slots[inst.mem.slot]!.kind === "spill";
    if (slot) {
      const home = slotLocation(inst.mem!.slot);
      if (inst.size > this.fn.slots[inst.mem!.slot]!.size) {
        this.complain(block, index, `access of ${inst.size} bytes exceeds ${this.show(home)}`);
      }
      if (inst.defs.length === 0 && inst.uses.length === 0) {
        const stored = this.rematKeys.get(`store:${inst.size}:${inst.imm}`) ?? [];
        state.set(home, cut(distinctValues(stored, this.snapshot.value, this.fn), inst.size));
      } else if (inst.defs.length === 0) state.set(home, cut(state.get(inst.uses[0]!.loc), inst.size));
      else state.set(inst.defs[0]!.loc, cut(state.get(home), inst.size));
      return;
    }
    const to = inst.defs[0]!.loc;
    if (inst.op === CopyOp && inst.uses.length === 1) {
      state.set(to, cut(state.get(inst.uses[0]!.loc), inst.size));
      return;
    }
    const cls = hasRegister(this.target.allocatable(this.fn, 0), to) ? 0 : 1;
    const values = this.rematKeys.get(`${cls}:${keyOf(inst)}`);
    if (values === undefined) this.complain(block, index, `unknown inserted instruction ${inst.op}`);
    else state.set(to, distinctValues(values, this.snapshot.value, this.fn));
  }

  private show(location: Location): string {
    if (location === noLocation) return "nowhere";
    return isSlot(location) ? `slot ${~location}` : (this.target.names[location] ?? `register ${location}`);
  }
}

function cut(held: Held, size: number): Held {
  if (held.every((entry) => (entry & 127) <= size)) return held;
  return held.map((entry) => (entry & ~127) | Math.min(entry & 127, size));
}

function distinctValues(vregs: readonly number[], value: Int32Array, fn: MFunction): Held {
  return [...new Set(vregs.map((v) => (value[v]! << 7) | fn.vregs[v]!.size))];
}

function usesOf(inst: MInst): RegOperand[] {
  const list = [...inst.uses];
  const add = (mem: MemOperand): void => {
    if (mem.base !== null) list.push(mem.base);
    if (mem.index !== null) list.push(mem.index);
  };
  if (inst.mem !== null) add(inst.mem);
  if (inst.extra !== null && inst.extra.kind === "asm") {
    for (const operand of inst.extra.operands) {
      if (operand.kind === "mem" && operand.mem !== inst.mem) add(operand.mem);
    }
  }
  return list;
}

/** Identifies what a recomputable instruction computes. */
function keyOf(inst: MInst): string {
  const { mem } = inst;
  const address =
    mem === null
      ? ""
      : `${mem.mode},${mem.disp},${mem.slot},${symbolKey(mem.symbol)},${mem.base?.loc},${mem.index?.loc}`;
  return `${inst.op},${inst.size},${inst.imm},${symbolKey(inst.symbol)},${inst.condition},${inst.marks},${address}`;
}

const identities = new WeakMap<object, number>();
let nextIdentity = 0;

function symbolKey(symbol: SymbolRef | null): string {
  if (symbol === null) return "";
  const { target } = symbol;
  switch (target.kind) {
    case "global":
      return `${symbol.kind}:g${identityOf(target.global)}`;
    case "block":
      return `${symbol.kind}:b${target.block.id}`;
    case "foreign-block":
      return `${symbol.kind}:f${identityOf(target.global)}.${target.block}`;
    case "external":
      return `${symbol.kind}:e${target.name}`;
    case "constant":
      return `${symbol.kind}:c${identityOf(target.constant)}`;
    case "jump-table":
      return `${symbol.kind}:t${identityOf(target.table)}`;
  }
}

function identityOf(object: object): number {
  let identity = identities.get(object);
  if (identity === undefined) {
    identity = nextIdentity++;
    identities.set(object, identity);
  }
  return identity;
}

/** Blocks that are there only because an address is taken of a label that nothing in the function jumps to. */
function labelledOnly(fn: MFunction, reached: (block: MBlock) => boolean): Set<MBlock> {
  const found = new Set(fn.blocks.filter((block) => block.addressTaken && !reached(block)));
  for (const block of found) for (const next of block.succs) if (!reached(next)) found.add(next);
  return found;
}

/** The definitions of the first instruction of a landing pad. */
function entryDefinitions(block: MBlock): readonly RegOperand[] {
  for (const inst of block.insts) if (inst.extra?.kind === "landing-pad") return inst.defs;
  return [];
}
