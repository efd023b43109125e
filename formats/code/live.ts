/**
 * What a function still needs after each call: liveness of register parts on its machine code. A register that
 * is needed after a call, is no result of it, and may be changed by what is called, holds garbage then — no
 * matter what anybody promised.
 *
 * Backward data flow over instructions in blocks; linear in the code for each of the few rounds loops need.
 * What is needed of a register is followed in three parts (decode.ts), since a comparison's result is a byte and
 * the rest of its register garbage; of arguments, results and what is stored in the frame only the lowest part
 * counts, for nothing says here how wide they are; where the frame is, preserve.ts has found out. A push of rax is no read: frames use it to move the stack pointer.
 * Outlined code is looked through, since its registers are those of the functions that share it.
 * A landing pad needs what the unwinder does not bring; of that nothing may be in a caller-saved register.
 * Breaks if: code reads a register for a value that does not matter (an undefined IR value).
 */
import { conventionClobbers } from "./convention.js";
import { Flow, type MachineInst, type RegisterParts, StackOp } from "./decode.js";
import type { CallSite, CodeFunction } from "./functions.js";
import type { FrameAccesses } from "./preserve.js";
import type { SiteUnwind } from "./site-unwind.js";

/** Registers at a site, one bit each. */
export interface SiteRegisters {
  readonly clobbers: number;
  readonly returns: boolean;
  readonly results: number;
  readonly arguments: number;
}

/** What is surely needed of registers that hold arguments or results of unknown widths. */
const leastOf = (registers: number): RegisterParts => ({
  low: registers & 0xffff,
  high: registers & ~0xffff,
});

/** All parts of a set of registers. */
function partsOf(registers: number): RegisterParts {
  const general = registers & 0xffff;
  return { low: general | (general << 16), high: registers };
}

/**
 * Code in one piece that several functions share: it has no convention, and what it reads and writes is what they do.
 */
export interface OutlinedCode {
  readonly fn: CodeFunction;
  /** Registers that its return hands over, where it is jumped to. */
  readonly returned: number;
}

/** What the unwinder hands to a landing pad: rax and rdx. */
const padRegisters = (1 << 0) | (1 << 2);

const all: RegisterParts = { low: -1, high: -1 };
const nothing: RegisterParts = { low: 0, high: 0 };
const lowest: RegisterParts = { low: 0xffff, high: 0 };
const lowestTwo: RegisterParts = { low: -1, high: 0 };

/**
 * Parts of its operands that an instruction needs whose result depends upward; flags are not needed.
 * @param movedUp whole bytes that it shifts by
 */
function demandedParts(result: number, movedUp: number, low: number, high: number): RegisterParts {
  if (result < 0 || ((high >>> result) & 1) !== 0) return all;
  if (((low >>> (16 + result)) & 1) !== 0) return movedUp > 1 ? nothing : movedUp === 1 ? lowest : lowestTwo;
  return ((low >>> result) & 1) !== 0 && movedUp === 0 ? lowest : nothing;
}

function swapBits(word: number, a: number, b: number): number {
  const differ = ((word >>> a) ^ (word >>> b)) & 1;
  return word ^ (differ << a) ^ (differ << b);
}

const isStore = ({ stack, source }: MachineInst): boolean =>
  (stack === StackOp.Store || stack === StackOp.Write) && source >= 0;
/** The registers of which some part is in the set. */
const registersOf = (low: number, high: number): number => ((low | (low >>> 16)) & 0xffff) | high;

/**
 * Calls `report` for every site that is reached and after which registers are needed that its callee may change.
 * @param unwindOf where exceptions go that leave a call; null: there are none
 * @param returned registers that a return hands over
 * @param outlinedAt the function that a site leads to, if that is outlined code
 * @param inFrame by instruction, whether it accesses memory at an address in the frame, by whatever register
 * @param inFrameFrom the same of instructions of outlined code, by site
 */
export function findLostRegisters(
  fn: CodeFunction,
  reached: Uint8Array,
  kindOf: (site: CallSite) => CallSite["kind"],
  at: (site: CallSite) => SiteRegisters,
  unwindOf: (site: CallSite) => SiteUnwind | null,
  returned: number,
  report: (site: CallSite, registers: number) => void,
  outlinedAt: (site: CallSite) => OutlinedCode | null,
  inFrame: Uint8Array,
  inFrameFrom: ReadonlyMap<number, FrameAccesses>,
): void {
  const { insts, branches } = fn;
  const count = insts.length;
  const siteAt = new Map(fn.sites.map((s) => [s.at, s]));
  const low = new Int32Array(count + 1);
  const high = new Int32Array(count + 1);
  const flags = new Uint8Array(count + 1);
  const returnedParts = leastOf(returned);
  // What is needed at the place that is looked at: parts of registers, and flags.
  let l = 0;
  let h = 0;
  let f = 0;
  const padOf = (site: CallSite): number => unwindOf(site)?.pad ?? -1;
  /**
   * From after a call, or a jump that leaves, to what it needs itself.
   * @param told that is reported; null: none
   * @param pad where exceptions go that leave it; -1: on to the caller
   */
  const atSite = (site: CallSite, isCall: boolean, told: CallSite | null, pad = padOf(site)): void => {
    const registers = at(site);
    f = 0;
    if (isCall) {
      if (!registers.returns) l = h = 0;
      const lost = registersOf(l, h) & registers.clobbers & ~registers.results;
      if (lost !== 0 && told !== null) report(told, lost);
      const gone = partsOf(registers.results | registers.clobbers);
      l &= ~gone.low;
      h &= ~gone.high;
      if (pad >= 0) {
        const changed = registers.clobbers | conventionClobbers;
        const missed = registersOf(low[pad]!, high[pad]!) & changed & ~padRegisters;
        if (missed !== 0 && told !== null) report(told, missed);
        const kept = partsOf(changed);
        l |= low[pad]! & ~kept.low;
        h |= high[pad]! & ~kept.high;
      }
    }
    const passed = leastOf(registers.arguments);
    l |= passed.low;
    h |= passed.high;
  };
  /** From after an instruction to before it. */
  const across = (inst: MachineInst, spills: boolean): void => {
    const asked = f & inst.flagsWritten;
    const demanded = asked !== 0 ? all : demandedParts(inst.upward, inst.movedUp, l, h);
    if (inst.stack === StackOp.Exchange || inst.stack === StackOp.ExchangeHalf) {
      l = swapBits(swapBits(l, inst.target, inst.source), 16 + inst.target, 16 + inst.source);
      h = swapBits(h, inst.target, inst.source);
    } else {
      l &= ~inst.writes.low;
      h &= ~inst.writes.high;
      if (spills) l |= 1 << inst.source;
      else if (inst.stack !== StackOp.Push || inst.source !== 0) {
        l |= inst.reads.low | (inst.upwardReads.low & demanded.low);
        h |= inst.reads.high | (inst.upwardReads.high & demanded.high);
        if (asked !== 0) {
          l |= inst.flagReads.low;
          h |= inst.flagReads.high;
        }
      }
    }
    f = (f & ~inst.flagsWritten) | inst.flagsRead;
  };
  /**
   * From after the code of an outlined function, as if it stood where it is called, to before it.
   * @param from where it is called from the function itself
   * @param pad where exceptions go that leave it
   */
  const through = (
    code: OutlinedCode,
    from: number,
    isTail: boolean,
    told: CallSite | null,
    pad: number,
  ): void => {
    if (isTail) {
      const parts = leastOf(code.returned);
      l = parts.low;
      h = parts.high;
      f = 0;
    }
    for (let i = code.fn.insts.length - 1; i >= 0; i--) {
      const inst = code.fn.insts[i]!;
      if (inst.flow === Flow.Return) continue;
      const site = code.fn.sites.find((each) => each.at === i);
      const inner = site === undefined ? null : outlinedAt(site);
      const leaves = site !== undefined && kindOf(site) === "tail";
      if (inner !== null) through(inner, from, isTail && leaves, told, pad);
      else {
        if (site !== undefined) atSite(site, !(isTail && leaves), told, pad);
        across(inst, isStore(inst) && inFrameFrom.get(from)?.get(inst) === true);
      }
    }
  };
  const visit = (i: number, tell: boolean): void => {
    const inst = insts[i]!;
    l = h = f = 0;
    const join = (next: number): void => {
      l |= low[next]!;
      h |= high[next]!;
      f |= flags[next]!;
    };
    const site = siteAt.get(i);
    const kind = site === undefined ? null : kindOf(site);
    const falls = inst.flow !== Flow.Jump && inst.flow !== Flow.Return && inst.flow !== Flow.Stop;
    const leaves = kind === "tail" || kind === "jump";
    if (kind === "jump") for (const landing of site!.landings) join(landing);
    if (leaves ? inst.flow === Flow.Branch : falls) join(i + 1);
    for (const target of branches.get(i) ?? []) join(target);
    if (inst.flow === Flow.Return) {
      l = returnedParts.low;
      h = returnedParts.high;
    }
    const outlined = site === undefined || kind === "jump" ? null : outlinedAt(site);
    if (outlined !== null && inst.flow !== Flow.Branch)
      through(outlined, i, kind === "tail", tell ? site! : null, padOf(site!));
    else {
      if (site !== undefined && kind !== "jump") atSite(site, kind === "call", tell ? site : null);
      across(inst, isStore(inst) && inFrame[i] === 1);
    }
    flags[i] = f;
    low[i] = l;
    high[i] = h;
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (let i = count - 1; i >= 0; i--) {
      if (reached[i] === 0) continue;
      const [l, h, f] = [low[i], high[i], flags[i]];
      visit(i, false);
      if (low[i] !== l || high[i] !== h || flags[i] !== f) changed = true;
    }
  }
  for (let i = 0; i < count; i++) if (reached[i] === 1 && siteAt.has(i)) visit(i, true);
}
