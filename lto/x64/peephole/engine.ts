/**
 * The engine that applies rules to blocks: it walks, knows what is live and known where, asks the rules of each opcode, and does
 * what they say where that pays.
 *
 * A block is walked twice. Forwards with facts about register contents, to use what registers hold; backwards with
 * liveness, to use what nobody needs. When a rule was applied, the rules of what is there now are asked, until none
 * applies. The backward walk leaves a mark where an instruction was dropped, and keeps apart what is put in before ones
 * that it has not come to; each block is built anew once.
 * Linear in the function up to the windows of rules; allocates nothing where no rule applies.
 * Breaks if: run before the frame pass (operands must be registers and addressed memory).
 */

import { type PostLiveness, stepBack } from "../../codegen/late/liveness.js";
import type { RuleUse } from "../../codegen/late/rule-use.js";
import type { MBlock, MFunction, MInst } from "../../codegen/mir.js";
import { hasRegister, type RegisterSet } from "../../codegen/register-set.js";
import { tableBytes } from "../frame/cfa.js";
import { flagsRegister, killsFlags } from "../isa/effects.js";
import { instructionLength } from "../isa/lengths.js";
import { Facts } from "./facts.js";
import { allConditions, conditionsRead, readersAfter, renameConditions } from "./flags.js";
import { Edit, gone, Match } from "./match.js";
import { forgetReload } from "./reloads.js";
import { Gain, Needs, type Rule, type RuleInfo } from "./rule.js";
import { numberOf, type RuleTables } from "./tables.js";

function locate(made: MInst, place: MInst): void {
  if (made.origin < 0 && made !== gone) made.origin = place.origin;
}

/** Rules that follow one another at one instruction: none goes in circles, so that is a matter of safety. */
const mostRounds = 8;

export class Engine {
  private readonly match = new Match(new Facts());
  private use!: RuleUse;
  private isAsync = false;
  private isSpeed = false;
  private timeIn: (block: MBlock) => number = () => 0;
  /** In the block at work. */
  private time = 0;
  /** Bits of `Needs` that hold in the whole function. */
  private holds = 0;
  /** By index: what the second of two instructions is that take one's place. */
  private readonly seconds: (MInst | undefined)[] = [];
  private isChanged = false;
  /** By index, of the instruction at work: liveness goes on from what was there before a rule. */
  private original: MInst | null = null;

  /**
   * @param pushes something may be pushed and popped again
   * @param use which rules are wanted
   * @param timeIn bytes that an instruction in a block is worth which is executed less
   */
  begin(mf: MFunction, pushes: boolean, use: RuleUse, timeIn: (block: MBlock) => number): void {
    this.timeIn = timeIn;
    const { match } = this;
    this.use = use;
    match.minsize = mf.goal === "minsize";
    match.pushes = pushes;
    match.shortPushes = match.minsize && pushes;
    match.framePointer = mf.framePointer;
    this.isAsync = mf.unwind === "async";
    this.isSpeed = mf.goal === "speed";
    this.holds = (match.minsize ? Needs.Minsize : 0) | (pushes ? Needs.Pushes : 0);
  }

  /** Bytes of code, and of asynchronous unwind tables where there are such. */
  bytesOf(inst: MInst): number {
    if (inst === gone) return 0;
    const bytes = instructionLength(inst);
    return this.isAsync ? bytes + tableBytes(inst, this.match.framePointer) : bytes;
  }

  /** Whether what a rule would make of so many bytes is wanted; it is counted then. */
  takes(rule: RuleInfo, before: number, after: number): boolean {
    switch (rule.gain) {
      case Gain.Shorter:
        if (after >= before) return false;
        break;
      case Gain.ShorterSlower:
        if (after >= before || before - after < this.time) return false;
        break;
      case Gain.NotLonger:
        if (after > before) return false;
        break;
      case Gain.Faster:
        if (!this.isSpeed) return false;
        break;
      case Gain.Enabling:
        break;
    }
    return this.use.take(numberOf(rule), before - after);
  }

  // Forwards.

  forward(block: MBlock, flagsOut: boolean, { forward }: RuleTables): void {
    const { match } = this;
    const { insts } = block;
    this.time = this.timeIn(block);
    const { facts, shortPushes } = match;
    facts.reset();
    match.insts = insts;
    match.flagsOut = flagsOut;
    match.nextRun = 0;
    let kept = 0;
    for (let i = 0; i < insts.length; i++) {
      const rules = forward[insts[i]!.op]!;
      if (rules.length > 0) i = this.rewriteForward(i, forward);
      const inst = insts[i]!;
      if (inst === gone) continue;
      facts.learn(inst, shortPushes);
      // Rules look at what lies after `i` only, so the front may be overwritten.
      insts[kept++] = inst;
    }
    insts.length = kept;
  }

  /** @returns where the instruction is that is there now */
  private rewriteForward(index: number, table: RuleTables["forward"]): number {
    const { match } = this;
    const { insts } = match;
    match.index = index;
    match.knownReaders = -1;
    for (let round = 0; round < mostRounds; round++) {
      const inst = insts[match.index]!;
      if (!this.ask(table[inst.op]!, inst, this.holds)) break;
      switch (match.edit) {
        case Edit.Drop:
          insts[match.index] = gone;
          return match.index;
        case Edit.ReplaceRun: {
          const run = match.run!;
          const start = match.runEnd - run.length;
          for (let k = 0; k < run.length; k++) insts[start + k] = run[k]!;
          match.index = start;
          match.knownReaders = -1;
          break;
        }
        default:
          insts[match.index] = match.made;
      }
    }
    return match.index;
  }

  // Backwards.

  backward(block: MBlock, liveOut: RegisterSet, liveness: PostLiveness, tables: RuleTables): void {
    const { match, seconds } = this;
    const { before } = match;
    const { insts } = block;
    this.time = this.timeIn(block);
    const { backward, indexed } = tables;
    match.insts = insts;
    before.length = 0;
    seconds.length = 0;
    this.isChanged = false;
    let live = liveOut;
    match.flagsOut = hasRegister(live, flagsRegister);
    let readers = match.flagsOut ? allConditions : 0;
    for (let i = insts.length - 1; i >= 0; i--) {
      let inst = insts[i]!;
      if (inst === gone) continue;
      this.original = null;
      const isIndexed = indexed.length > 0 && inst.mem !== null && inst.mem.index !== null;
      if (isIndexed || backward[inst.op]!.length > 0) {
        match.index = i;
        match.live = live;
        match.knownReaders = readers;
        this.rewriteBackward(i, backward, isIndexed ? indexed : null);
        readers = match.knownReaders;
        inst = insts[i]!;
        if (inst === gone) continue;
      }
      // What tests of it could know is known: from here on it is a load as any other.
      forgetReload(inst);
      const second = seconds[i];
      if (second !== undefined) live = stepBack(second, live, liveness);
      live = stepBack(this.original ?? inst, live, liveness);
      if (second === undefined) {
        if (killsFlags(inst)) readers = 0;
        readers |= conditionsRead(inst);
      }
      const inserted = before[i];
      if (inserted === undefined) continue;
      for (let k = inserted.length - 1; k >= 0; k--) live = stepBack(inserted[k]!, live, liveness);
      readers = 0;
    }
    if (this.isChanged) this.rebuild(block);
  }

  private rewriteBackward(
    index: number,
    table: RuleTables["backward"],
    indexed: RuleTables["indexed"] | null,
  ): void {
    const { match } = this;
    const { insts } = match;
    const holds = this.holds | (hasRegister(match.live, flagsRegister) ? 0 : Needs.DeadFlags);
    for (let round = 0; round < mostRounds; round++) {
      const inst = insts[index]!;
      if (!this.ask(table[inst.op]!, inst, holds) && (indexed === null || !this.ask(indexed, inst, holds)))
        return;
      this.commit(index);
      if (match.edit === Edit.Drop || match.edit === Edit.ReplaceByTwo) return;
    }
  }

  private commit(index: number): void {
    const { match } = this;
    const { insts } = match;
    const { partner, insertAt, renaming } = match;
    if (partner >= 0) {
      insts[partner] = match.partnerMade;
      if (match.partnerMade === gone) this.isChanged = true;
    }
    if (insertAt >= 0) {
      const others = match.before[insertAt];
      if (others === undefined) match.before[insertAt] = [match.inserted];
      else others.push(match.inserted);
      this.isChanged = true;
    }
    if (renaming !== null) {
      renameConditions(insts, index, renaming);
      match.knownReaders = readersAfter(insts, index, match.flagsOut);
    }
    switch (match.edit) {
      case Edit.Drop:
        insts[index] = gone;
        this.isChanged = true;
        return;
      case Edit.ReplaceByTwo:
        this.seconds[index] = match.second;
        this.isChanged = true;
    }
    if (match.readsGarbage) this.original = insts[index]!;
    insts[index] = match.made;
  }

  private rebuild(block: MBlock): void {
    const { before } = this.match;
    const { insts } = block;
    const out: MInst[] = [];
    for (let i = 0; i < insts.length; i++) {
      const first = before[i];
      if (first !== undefined) for (const inst of first) out.push(inst);
      if (insts[i] !== gone) out.push(insts[i]!);
      const second = this.seconds[i];
      if (second !== undefined) out.push(second);
    }
    block.insts = out;
  }

  // Both.

  /** Asks rules until one has a result that is taken. @param holds bits of `Needs` without those about operands */
  private ask(rules: readonly Rule[], inst: MInst, holds: number): boolean {
    const { match } = this;
    const { mem, imm, symbol } = inst;
    if (match.edit !== Edit.None) match.clear();
    const all =
      holds |
      (mem === null ? Needs.NoMemory : Needs.Memory) |
      (imm !== null && symbol === null ? Needs.Immediate : 0);
    match.inst = inst;
    for (let k = 0; k < rules.length; k++) {
      const rule = rules[k]!;
      if ((rule.needs & ~all) !== 0) continue;
      match.window = rule.window;
      rule.apply(match);
      if (match.edit === Edit.None) continue;
      if (this.isWanted(rule, inst)) {
        this.locate(inst);
        return true;
      }
      match.clear();
    }
    return false;
  }

  /** What a rule made is where that was whose place it takes; a run, where its last instruction was, which has the result. */
  private locate(inst: MInst): void {
    const { match } = this;
    const { insts } = match;
    if (match.partner >= 0) locate(match.partnerMade, insts[match.partner]!);
    if (match.insertAt >= 0) locate(match.inserted, inst);
    switch (match.edit) {
      case Edit.ReplaceRun:
        for (const made of match.run!) locate(made, insts[match.runEnd - 1]!);
        return;
      case Edit.ReplaceByTwo:
        locate(match.second, inst);
        locate(match.made, inst);
        return;
      case Edit.Replace:
        locate(match.made, inst);
    }
  }

  private isWanted(rule: Rule, inst: MInst): boolean {
    const { match } = this;
    const { edit, partner, insertAt, index } = match;
    // Others rely on the flags that it makes.
    if (edit === Edit.Drop && match.before[index] !== undefined) return false;
    let before = this.bytesOf(inst);
    let after = match.price;
    switch (edit) {
      case Edit.ReplaceByTwo:
        after += this.bytesOf(match.second) + this.bytesOf(match.made);
        break;
      case Edit.Replace:
        after += this.bytesOf(match.made);
        break;
      case Edit.ReplaceRun:
        for (let i = index + 1; i < match.runEnd; i++) before += this.bytesOf(match.insts[i]!);
        for (const made of match.run!) after += this.bytesOf(made);
    }
    if (partner >= 0) {
      before += this.bytesOf(match.insts[partner]!);
      after += this.bytesOf(match.partnerMade);
    }
    if (insertAt >= 0) after += this.bytesOf(match.inserted);
    return this.takes(rule, before, after);
  }
}
