/**
 * Which registers a function may leave changed: an abstract execution of its machine code.
 *
 * Lattice of a register or stack word: one symbolic value — the register r had it on entry, or a stack address
 * (base + offset) — above "unknown". Base 0 is rsp on entry; an instruction that moves rsp by an unknown amount
 * makes a base of its own, and so does a join of paths with different rsp. Copies, pushes, pops, loads and
 * stores of whole words move symbolic values; every other write makes unknown; a call makes what its callee
 * changes unknown and forgets the stack below rsp. Joins keep what is equal. A general register is preserved
 * if it holds its entry value at every return and tail call; a vector register if nothing writes it.
 *
 * An exception leaves a call for a landing pad, as if the call had returned with all caller-saved registers changed
 * and its arguments taken off; and it leaves the function, which changes the callee-saved registers that neither hold
 * their entry values nor are stored where the unwinder looks. That it finds the frame and those stores is checked.
 *
 * Outlined code runs as if it stood where it is called or jumped to: its stack is the frame of whoever gets there, in which
 * it may store and load. So a save that it overwrites is lost, and one that it restores is restored.
 *
 * Values only descend, so the iteration ends: instructions × words, rarely more than two visits a block.
 * Breaks if: a store through a computed pointer hits the words in which this frame saved registers — that is
 * outside of an object of the program.
 */
import { calleeSaved, conventionClobbers } from "./convention.js";
import { Flow, type MachineInst, StackOp } from "./decode.js";
import { type CallSite, type CodeFunction, hex } from "./functions.js";
import type { OutlinedCode } from "./live.js";
import type { SiteUnwind } from "./site-unwind.js";

const RSP = 4;
const RBP = 5;
const unknown = 0;
const entryValue = (register: number): number => register + 1;
const span = 2 ** 32;
const addressOf = (base: number, offset: number): number => 32 + base * span + (offset + span / 2);
const isAddress = (value: number): boolean => value >= 32;
const entryStack = addressOf(0, 0);

/** What the rest of the program does at a site. */
export interface SiteEffect {
  readonly clobbers: number;
  /** Control comes back from the callee. */
  readonly returns: boolean;
}

export interface FunctionEffect extends SiteEffect {
  /**
   * rsp modulo 16 at calls and tail calls, by instruction, counted from rsp on entry; those where the function
   * has aligned rsp itself are left out.
   */
  readonly stackAt: ReadonlyMap<number, number>;
  /** Distances from rsp on entry, modulo 16, of accesses to the stack that have to be aligned, by instruction. */
  readonly alignedAt: ReadonlyMap<number, number>;
  /** Instructions that can run. */
  readonly reached: Uint8Array;
  /** Those that access memory by a register that holds an address in the frame. */
  readonly inFrame: Uint8Array;
  /** The same of instructions of outlined code, by the site that it is called at. */
  readonly inFrameFrom: ReadonlyMap<number, FrameAccesses>;
  /** Errors of the function itself. */
  readonly problems: readonly string[];
}

/** Instructions, and whether each access memory in the frame. */
export type FrameAccesses = ReadonlyMap<MachineInst, boolean>;

interface State {
  readonly registers: number[];
  /** Symbolic values of stack words, by address. */
  readonly words: Map<number, number>;
}

/** What is known before an instruction runs: the value on entry of each register and stack word, or its address. */
export interface Snapshot {
  /** How far the register points above the CFA; NaN if that is not known. */
  fromCfa(register: number): number;
  /** The register has its value from the entry. */
  isKept(register: number): boolean;
  /** The word at the distance from the CFA is the register's value from the entry. */
  isStored(register: number, offset: number): boolean;
}

/**
 * @param kindOf what a site really is
 * @param effectOf what a call or jump at a site does; asked for sites that are reached
 * @param unwindOf where exceptions go that leave a call; null: there are none
 * @param outlinedAt the function that a site leads to, if that is outlined code
 * @param observe is shown what holds before each instruction that can run, in no order
 */
export function analyseFunction(
  fn: CodeFunction,
  kindOf: (site: CallSite) => CallSite["kind"],
  effectOf: (site: CallSite) => SiteEffect,
  unwindOf: (site: CallSite) => SiteUnwind | null,
  outlinedAt: (site: CallSite) => OutlinedCode | null,
  observe: ((at: number, snapshot: Snapshot) => void) | null = null,
): FunctionEffect {
  const analysis = new Analysis(fn, kindOf, effectOf, unwindOf, outlinedAt);
  const effect = analysis.run();
  if (observe !== null) analysis.observe(observe);
  return effect;
}

class Analysis {
  private readonly states: (State | undefined)[] = [];
  private readonly leader: Uint8Array;
  private readonly siteAt = new Map<number, CallSite>();
  private readonly reached: Uint8Array;
  private readonly inFrame: Uint8Array;
  private readonly inFrameFrom = new Map<number, Map<MachineInst, boolean>>();
  private readonly stackAt = new Map<number, number>();
  private readonly alignedAt = new Map<number, number>();
  private readonly work: number[] = [];
  private readonly problems = new Set<string>();
  private clobbers = 0;
  private returns = false;

  constructor(
    private readonly fn: CodeFunction,
    private readonly kindOf: (site: CallSite) => CallSite["kind"],
    private readonly effectOf: (site: CallSite) => SiteEffect,
    private readonly unwindOf: (site: CallSite) => SiteUnwind | null,
    private readonly outlinedAt: (site: CallSite) => OutlinedCode | null,
  ) {
    this.leader = new Uint8Array(fn.insts.length);
    this.reached = new Uint8Array(fn.insts.length);
    this.inFrame = new Uint8Array(fn.insts.length);
    for (const targets of fn.branches.values()) for (const t of targets) this.leader[t] = 1;
    for (const landing of fn.landings) this.leader[landing] = 1;
    for (const site of fn.sites) {
      this.siteAt.set(site.at, site);
      if (site.unwind !== null && site.unwind.pad >= 0) this.leader[site.unwind.pad] = 1;
    }
  }

  run(): FunctionEffect {
    if (this.fn.insts.length > 0) {
      this.leader[0] = 1;
      const registers = Array.from({ length: 16 }, (_, r) => (r === RSP ? entryStack : entryValue(r)));
      this.flow(0, { registers, words: new Map() });
      for (let at = this.work.pop(); at !== undefined; at = this.work.pop()) this.runFrom(at);
    }
    const { clobbers, returns, reached, inFrame, inFrameFrom, stackAt, alignedAt } = this;
    const problems = [...this.problems];
    return { clobbers, returns, reached, inFrame, inFrameFrom, stackAt, alignedAt, problems };
  }

  private observer: ((at: number, snapshot: Snapshot) => void) | null = null;

  /** Goes through all blocks once more, from what is known at their starts in the end. */
  observe(observer: (at: number, snapshot: Snapshot) => void): void {
    this.observer = observer;
    for (const leader of this.states.keys()) if (this.states[leader] !== undefined) this.runFrom(leader);
    this.observer = null;
  }

  private snapshot({ registers, words }: State): Snapshot {
    const cfa = entryStack + 8;
    return {
      fromCfa: (r) => {
        const distance = registers[r]! - cfa;
        return isAddress(registers[r]!) && Math.abs(distance) < span / 2 ? distance : Number.NaN;
      },
      isKept: (r) => registers[r] === entryValue(r),
      isStored: (r, offset) => words.get(cfa + offset) === entryValue(r),
    };
  }

  /** Executes from a leader to the end of its block. */
  private runFrom(leader: number): void {
    const { insts, branches } = this.fn;
    const from = this.states[leader]!;
    const state: State = { registers: [...from.registers], words: new Map(from.words) };
    for (let i = leader; ; i++) {
      if (i >= insts.length) return this.complain(i, "control runs off the end");
      if (i > leader && this.leader[i] === 1) return this.flow(i, state);
      this.reached[i] = 1;
      this.observer?.(i, this.snapshot(state));
      const inst = insts[i]!;
      const site = this.siteAt.get(i);
      if (site !== undefined) {
        const kind = this.kindOf(site);
        if (kind === "jump") {
          for (const landing of site.landings) this.flow(landing, state);
          if (inst.flow !== Flow.Branch) return;
          continue;
        }
        const effect = this.effectOf(site);
        note(this.stackAt, i, state.registers[RSP]!);
        const unwind = kind === "call" ? this.unwindOf(site) : null;
        if (unwind !== null) this.unwind(i, state, effect, unwind);
        const outlined = this.outlinedAt(site);
        if (outlined !== null && inst.flow !== Flow.Branch) {
          this.inFrameFrom.set(i, new Map());
          if (kind === "tail") this.runOutlined(i, outlined, state, false);
          if (kind === "tail" || !this.callOutlined(i, outlined, state)) return;
        } else if (kind === "tail") {
          this.leave(i, state, effect);
          if (inst.flow !== Flow.Branch) return;
        } else {
          if (!effect.returns) return;
          this.call(state, effect);
        }
        continue;
      }
      for (const target of branches.get(i) ?? []) this.flow(target, state);
      if (inst.flow === Flow.Jump || inst.flow === Flow.Stop) return;
      if (inst.flow === Flow.Return) return this.leave(i, state, { clobbers: 0, returns: true });
      this.step(i, inst, state);
    }
  }

  /** A call of outlined code. @returns whether control comes back */
  private callOutlined(at: number, code: OutlinedCode, state: State): boolean {
    const { registers, words } = state;
    registers[RSP] = registers[RSP]! - 8;
    store(words, registers[RSP]!, 8);
    return this.runOutlined(at, code, state, true);
  }

  /**
   * Outlined code, to where its function is left.
   * @param isCalled not jumped to: it comes back
   * @returns whether control is after the call; if there is none, it has left the function that is analysed
   */
  private runOutlined(at: number, { fn }: OutlinedCode, state: State, isCalled: boolean): boolean {
    const { registers } = state;
    const exit = (effect: SiteEffect): boolean => {
      if (!isCalled) this.leave(at, state, effect);
      else registers[RSP] = registers[RSP]! + 8;
      return isCalled && effect.returns;
    };
    for (let i = 0; i < fn.insts.length; i++) {
      const inst = fn.insts[i]!;
      const site = fn.sites.find((each) => each.at === i);
      if (site === undefined) {
        if (inst.flow === Flow.Return) return exit({ clobbers: 0, returns: true });
        if (inst.flow === Flow.Stop) return false;
        if (inst.base >= 0) {
          const known = this.inFrameFrom.get(at)!;
          known.set(inst, known.get(inst) !== false && isAddress(registers[inst.base]!));
        }
        this.step(at, inst, state);
        continue;
      }
      const isTail = this.kindOf(site) === "tail";
      const inner = this.outlinedAt(site);
      if (inner !== null && isTail) return this.runOutlined(at, inner, state, isCalled);
      if (inner !== null) {
        if (!this.callOutlined(at, inner, state)) return false;
        continue;
      }
      const effect = this.effectOf(site);
      if (isTail && !isCalled) return exit(effect);
      if (!effect.returns) return false;
      this.call(state, effect);
      if (isTail) return exit(effect);
    }
    return false;
  }

  /** Control leaves the function. */
  private leave(at: number, state: State, effect: SiteEffect): void {
    const { registers } = state;
    if (registers[RSP] !== entryStack)
      this.complain(at, "leaves with the stack pointer displaced or unknown");
    let changed = effect.clobbers;
    for (let r = 0; r < 16; r++) if (r !== RSP && registers[r] !== entryValue(r)) changed |= 1 << r;
    if (!effect.returns) return;
    this.returns = true;
    this.clobbers |= changed;
  }

  /** An exception leaves the callee: to a landing pad, and to the caller. */
  private unwind(
    at: number,
    state: State,
    { clobbers }: SiteEffect,
    { row, pad, escapes }: SiteUnwind,
  ): void {
    const { registers, words } = state;
    const frame = registers[row.register]!;
    const cfa = entryStack + 8;
    if (frame + row.offset !== cfa) {
      this.complain(at, "the unwinder does not find the frame of a call");
      return;
    }
    for (const [register, offset] of row.stored)
      if (words.get(cfa + offset) !== entryValue(register))
        this.complain(at, `the unwinder does not find register ${register} of the caller where it looks`);
    if (escapes)
      for (let r = 0; r < 16; r++) {
        if (((calleeSaved >> r) & 1) === 0 || row.stored.has(r)) continue;
        if (((clobbers >> r) & 1) !== 0 || registers[r] !== entryValue(r)) this.clobbers |= 1 << r;
      }
    if (pad < 0) return;
    const entered: State = { registers: [...registers], words: new Map(words) };
    this.call(entered, { clobbers: clobbers | conventionClobbers, returns: true });
    // Arguments are taken off, and may have been changed.
    const top = entered.registers[RSP]!;
    for (let word = top; word < top + row.arguments; word += 8) store(entered.words, word, 8);
    entered.registers[RSP] = top + row.arguments;
    this.flow(pad, entered);
  }

  private complain(at: number, what: string): void {
    const { names, offsets } = this.fn;
    this.problems.add(`@${names[0]}+${hex(offsets[at] ?? 0)}: ${what}`);
  }

  private call({ registers, words }: State, { clobbers }: SiteEffect): void {
    this.clobbers |= clobbers & ~0xffff;
    for (let r = 0; r < 16; r++) if (r !== RSP && ((clobbers >> r) & 1) !== 0) registers[r] = unknown;
    const stack = registers[RSP]!;
    const base = Math.floor((stack - 32) / span);
    for (const word of words.keys())
      if (word < stack && Math.floor((word - 32) / span) === base) words.delete(word);
  }

  private step(at: number, inst: MachineInst, { registers, words }: State): void {
    this.clobbers |= inst.changes & ~0xffff;
    // The last visit knows least, and stays.
    if (inst.base >= 0) this.inFrame[at] = isAddress(registers[inst.base]!) ? 1 : 0;
    if (inst.aligned && inst.base >= 0 && isAddress(registers[inst.base]!))
      note(this.alignedAt, at, registers[inst.base]! + inst.displacement);
    const set = (register: number, value: number): void => {
      if (register === RSP && !isAddress(value)) this.moveStack(at, registers, words);
      else registers[register] = value;
    };
    const { target, source } = inst;
    switch (inst.stack) {
      case StackOp.Push: {
        const stack = registers[RSP]! - 8;
        store(words, stack, 8);
        // A push of rsp stores what it was before.
        if (source >= 0) words.set(stack, registers[source]!);
        registers[RSP] = stack;
        return;
      }
      case StackOp.Pop: {
        const stack = registers[RSP]!;
        registers[RSP] = stack + 8;
        if (target >= 0) set(target, words.get(stack) ?? unknown);
        return;
      }
      case StackOp.Leave: {
        const frame = registers[RBP]!;
        if (!isAddress(frame)) {
          this.complain(at, "restores the stack pointer from a register that does not hold the frame");
          return this.moveStack(at, registers, words);
        }
        registers[RSP] = frame + 8;
        registers[RBP] = words.get(frame) ?? unknown;
        return;
      }
      case StackOp.Copy:
        return set(target, registers[source]!);
      case StackOp.Exchange: {
        const value = registers[target]!;
        set(target, registers[source]!);
        return set(source, value);
      }
      case StackOp.Load: {
        const address = registers[inst.base]! + inst.displacement;
        return set(target, isAddress(registers[inst.base]!) ? (words.get(address) ?? unknown) : unknown);
      }
      case StackOp.Store:
      case StackOp.Write: {
        if (!isAddress(registers[inst.base]!)) break;
        const address = registers[inst.base]! + inst.displacement;
        store(words, address, inst.size);
        if (inst.stack === StackOp.Store) words.set(address, registers[source]!);
        break;
      }
      case StackOp.Address: {
        const value = registers[inst.base]!;
        return set(target, isAddress(value) ? value + inst.displacement : unknown);
      }
      default:
        if ((inst.writes.low & (1 << RSP)) !== 0) this.moveStack(at, registers, words);
    }
    for (let r = 0; r < 16; r++) if (((inst.changes >> r) & 1) !== 0) registers[r] = unknown;
  }

  /** rsp moved by an amount unknown here: a new base, below everything that was on the stack. */
  private moveStack(base: number, registers: number[], words: Map<number, number>): void {
    const id = base + 1;
    for (const word of words.keys()) if (Math.floor((word - 32) / span) === id) words.delete(word);
    for (let r = 0; r < 16; r++)
      if (isAddress(registers[r]!) && Math.floor((registers[r]! - 32) / span) === id) registers[r] = unknown;
    registers[RSP] = addressOf(id, 0);
  }

  /** Brings a state to a leader. */
  private flow(to: number, from: State): void {
    const there = this.states[to];
    if (there === undefined) {
      this.states[to] = { registers: [...from.registers], words: new Map(from.words) };
      this.work.push(to);
      return;
    }
    let changed = false;
    for (let r = 0; r < 16; r++) {
      if (there.registers[r] === from.registers[r] || there.registers[r] === unknown) continue;
      const joined = r === RSP ? addressOf(this.fn.insts.length + 1 + to, 0) : unknown;
      if (there.registers[r] === joined) continue;
      there.registers[r] = joined;
      changed = true;
    }
    for (const [word, value] of there.words)
      if (from.words.get(word) !== value) {
        there.words.delete(word);
        changed = true;
      }
    if (changed) this.work.push(to);
  }
}

/** Notes the distance of an address from rsp on entry, modulo 16, if it is known. */
function note(at: Map<number, number>, inst: number, address: number): void {
  const distance = address - entryStack;
  if (Math.abs(distance) < span / 2) at.set(inst, ((distance % 16) + 16) % 16);
}

/** Forgets the words that a write of `size` bytes at an address overlaps. */
function store(words: Map<number, number>, address: number, size: number): void {
  if (words.size === 0) return;
  if (size <= 64) {
    for (let at = address - 7; at < address + size; at++) words.delete(at);
    return;
  }
  for (const word of words.keys()) if (word > address - 8 && word < address + size) words.delete(word);
}
