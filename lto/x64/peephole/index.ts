/**
 * Driver of the peepholes after allocation and frame.
 *
 * Constant stores are merged; one forward pass with facts about register contents, one backward pass with liveness, then register moves
 * at minimum size. A pass marks what it drops and rebuilds each block once.
 * Linear in the function up to bounded look-back.
 * Breaks if: run before the frame pass (operands must be registers and addressed memory).
 */

import { type PostLiveness, postLiveness, stepBack } from "../../codegen/late/liveness.js";
import { type MBlock, type MFunction, MInst } from "../../codegen/mir.js";
import { hasRegister, overlaps, type RegisterSet } from "../../codegen/register-set.js";
import { flagsRegister, killsFlags, writtenRegisters } from "../isa/effects.js";
import { opFormat, writesFlags } from "../isa/op-info.js";
import { Format, X } from "../isa/ops.js";
import { edgePeepholes } from "./edges.js";
import { allConditions, conditionsRead } from "./flags.js";
import { forwardPeepholes } from "./forward.js";
import { shortenMoves } from "./moves.js";
import {
  combineCopy,
  extendOriginal,
  redundantTest,
  repeatedCompare,
  shiftsAsExtension,
  window,
  zeroBeforeSet,
  zeroing,
} from "./pairs.js";
import { isPure, type Replacement, type Situation, shrink } from "./shrink.js";
import { mergeConstantStores } from "./stores.js";

/** Stands where an instruction was dropped, until the block is rebuilt. */
const gone = new MInst(X.Nop, 1);

/** Backward pass over one block. */
class BackwardPass {
  private readonly situation: Situation;
  /** What takes the place of instruction i, where that is not one instruction. */
  private readonly replaced: (readonly MInst[] | undefined)[] = [];
  private changed = false;

  constructor(
    private readonly block: MBlock,
    private readonly liveOut: RegisterSet,
    private readonly liveness: PostLiveness,
    minsize: boolean,
    pushes: boolean,
  ) {
    this.situation = { block, minsize, pushes, index: 0, flagsDead: false, readers: 0 };
  }

  run(): void {
    const { insts } = this.block;
    const { situation } = this;
    let live = this.liveOut;
    const flagsOut = hasRegister(live, flagsRegister);
    let readers = flagsOut ? allConditions : 0;
    for (let i = insts.length - 1; i >= 0; i--) {
      if (this.replaced[i] !== undefined) continue;
      situation.index = i;
      situation.flagsDead = !hasRegister(live, flagsRegister);
      situation.readers = readers;
      let inst = insts[i]!;
      if (
        this.isDead(inst, live) ||
        (this.before[i] === undefined &&
          (redundantTest(insts, i, readers, readers === allConditions) || repeatedCompare(insts, i)))
      ) {
        this.replace(i, []);
        continue;
      }
      if (situation.flagsDead) this.combine(i);
      if (inst.op === X.Movzx8) this.extend(i, live);
      inst = insts[i]!;
      if (opFormat[inst.op] === Format.Extend && this.replaced[i] === undefined) {
        const copy = extendOriginal(insts, i, this.windowStart(i));
        if (copy >= 0) this.replace(copy, []);
      }
      if (this.replaced[i] === undefined) this.put(i, shrink(inst, situation));
      const parts = this.replaced[i];
      if (parts === undefined) {
        inst = insts[i]!;
        live = stepBack(inst, live, this.liveness);
        if (killsFlags(inst)) readers = 0;
        readers |= conditionsRead(inst);
      } else {
        for (let k = parts.length - 1; k >= 0; k--) live = stepBack(parts[k]!, live, this.liveness);
      }
      const first = this.before[i];
      if (first !== undefined) {
        for (let k = first.length - 1; k >= 0; k--) live = stepBack(first[k]!, live, this.liveness);
        readers = 0;
      }
    }
    if (this.changed) this.rebuild();
  }

  private put(index: number, replacement: Replacement): void {
    if (Array.isArray(replacement)) this.replace(index, replacement as readonly MInst[]);
    else this.block.insts[index] = replacement as MInst;
  }

  private replace(index: number, parts: readonly MInst[]): void {
    this.replaced[index] = parts;
    // What looks for readers of flags, or for writers, must see through what is gone.
    if (parts.length === 0) this.block.insts[index] = gone;
    this.changed = true;
  }

  private isDead(inst: MInst, live: RegisterSet): boolean {
    if (!isPure(inst) || overlaps(writtenRegisters(inst), live)) return false;
    return !writesFlags(inst.op) || !hasRegister(live, flagsRegister);
  }

  private combine(index: number): void {
    switch (this.block.insts[index]!.op) {
      case X.Add:
      case X.Sub:
      case X.Inc:
      case X.Dec:
      case X.Shl: {
        const copy = combineCopy(this.block.insts, index, this.windowStart(index));
        if (copy >= 0) this.replace(copy, []);
        return;
      }
      case X.Sar:
      case X.Shr: {
        const shift = shiftsAsExtension(this.block.insts, index, this.windowStart(index));
        if (shift >= 0) this.replace(shift, []);
      }
    }
  }

  private extend(index: number, live: RegisterSet): void {
    const { insts } = this.block;
    const register = insts[index]!.defs[0]!.loc;
    const producer = zeroBeforeSet(insts, index, live);
    if (producer < 0) return;
    this.replace(index, []);
    this.insertBefore(producer, zeroing(register));
  }

  /** The instruction at `index` is looked at later: it must stay in place, so the new ones are kept apart. */
  private readonly before: (MInst[] | undefined)[] = [];
  private insertBefore(index: number, inst: MInst): void {
    const others = this.before[index];
    if (others === undefined) this.before[index] = [inst];
    else others.push(inst);
    this.changed = true;
  }

  /** The instruction before which the last ones at or before `index` will be put in: rules on several look no further back. */
  private windowStart(index: number): number {
    const least = Math.max(0, index - window);
    for (let i = index; i > least; i--) if (this.before[i] !== undefined) return i;
    return least;
  }

  private rebuild(): void {
    const { insts } = this.block;
    const out: MInst[] = [];
    for (let i = 0; i < insts.length; i++) {
      const first = this.before[i];
      if (first !== undefined) for (const inst of first) out.push(inst);
      const parts = this.replaced[i];
      if (parts === undefined) out.push(insts[i]!);
      else for (const part of parts) out.push(part);
    }
    this.block.insts = out;
  }
}

function backward(mf: MFunction, liveness: PostLiveness, pushes: boolean): void {
  const minsize = mf.goal === "minsize";
  for (const block of mf.blocks)
    new BackwardPass(block, liveness.liveOut[block.id]!, liveness, minsize, pushes).run();
}

/**
 * Runs all peepholes; edges must be up to date.
 * @param redZone memory below rsp is in use
 * @param preserved registers that callers rely on although the convention does not preserve them
 */
export function runPeepholes(mf: MFunction, redZone: boolean, preserved: RegisterSet): void {
  if (mf.goal === "none") return;
  mergeConstantStores(mf);
  const liveness = postLiveness(mf, preserved);
  // Without a frame pointer, asynchronous tables say of every push and pop where the CFA is: 3 bytes each.
  const pushes = !redZone && (mf.unwind !== "async" || mf.framePointer);
  forwardPeepholes(mf, liveness, pushes);
  backward(mf, liveness, pushes);
  if (mf.goal === "minsize") shortenMoves(mf, liveness, pushes);
  edgePeepholes(mf, preserved, liveness);
}
