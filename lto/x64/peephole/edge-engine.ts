/**
 * The engine for rules across edges: between a branch and a block that only it leads to.
 *
 * First, over blocks backwards, comparisons become those that the next block makes. Then one walk over blocks in their
 * order hands on which comparison the flags come from; what comes by edges not seen yet is unknown. Last, what was
 * loaded for comparisons that others rely on; and for speed, what moves across a branch.
 * Linear, but for liveness, which is computed once more where a rule asks for it.
 * Proof obligations: nothing comes between a branch and its targets any more that changes flags; frames are in
 * place, and what is entered in other ways stays as it is (`isPinned`).
 */
import { isPinned } from "../../codegen/late/cfg.js";
import type { PostLiveness } from "../../codegen/late/liveness.js";
import type { MBlock, MFunction, MInst } from "../../codegen/mir.js";
import type { RegisterSet } from "../../codegen/register-set.js";
import { sameInst } from "../../codegen/same-inst.js";
import { X } from "../isa/ops.js";
import { isRegisterCompare, keepsCompared } from "./compared.js";
import { EdgeMatch } from "./edge-match.js";
import type { Engine } from "./engine.js";
import type { EdgeRule } from "./rule.js";
import { compareLoaded, hoistLatchCopies, sinkToTest } from "./rules/edges.js";
import { compareNeighbour, dropCompareOfAllPaths } from "./rules/path-compares.js";
import type { RuleTables } from "./tables.js";

/**
 * Edges must be up to date, and stay so.
 * @param flags liveness of flags at the ends of blocks
 */
export function runEdgeRules(
  mf: MFunction,
  preserved: RegisterSet,
  flags: PostLiveness,
  engine: Engine,
  { isWanted }: RuleTables,
): void {
  const { blocks } = mf;
  const asker = new Asker(new EdgeMatch(mf, flags, preserved), engine);
  if (isWanted(compareNeighbour))
    for (let i = blocks.length - 1; i >= 0; i--) {
      const block = blocks[i]!;
      const from = onlyPredecessor(mf, block);
      if (from !== null) asker.ask(compareNeighbour, from, block);
    }
  if (isWanted(dropCompareOfAllPaths)) {
    const relied = new FlagsWalk(mf, asker).run();
    if (isWanted(compareLoaded)) for (const block of relied) asker.ask(compareLoaded, block, block);
  }
  if (mf.goal !== "speed") return;
  const sinks = isWanted(sinkToTest);
  const hoists = isWanted(hoistLatchCopies);
  // Their other ways are no longer what liveness was computed of: what was moved is live there now.
  const hoisted = new Set<MBlock>();
  for (const block of blocks) {
    const from = onlyPredecessor(mf, block);
    if (from === null || (sinks && asker.ask(sinkToTest, from, block))) continue;
    if (hoists && !hoisted.has(from) && asker.ask(hoistLatchCopies, from, block)) hoisted.add(from);
  }
}

function onlyPredecessor(mf: MFunction, block: MBlock): MBlock | null {
  const [from] = block.preds;
  if (from === undefined || block.preds.length !== 1 || from === block || isPinned(mf, block)) return null;
  return from;
}

/** Asks rules, and does what they want where it pays. */
class Asker {
  constructor(
    readonly match: EdgeMatch,
    private readonly engine: Engine,
  ) {}

  ask(rule: EdgeRule, from: MBlock, block: MBlock): boolean {
    const { match } = this;
    match.from = from;
    match.block = block;
    rule.apply(match);
    const { changes, conditions } = match;
    if (changes.length === 0) return false;
    const isTaken = this.pays(rule);
    if (isTaken) {
      for (const { block: changed, at, removed, made } of changes) changed.insts.splice(at, removed, ...made);
      for (const { inst, cc } of conditions) inst.condition = cc;
    }
    match.clear();
    return isTaken;
  }

  private pays(rule: EdgeRule): boolean {
    let before = 0;
    let after = 0;
    // Each place is looked at before any changes: rules change no instruction twice.
    for (const { block, at, removed, made } of this.match.changes) {
      for (let i = at; i < at + removed; i++) before += this.engine.bytesOf(block.insts[i]!);
      for (const inst of made) after += this.engine.bytesOf(inst);
    }
    return this.engine.takes(rule, before, after);
  }
}

/** The same flags on all paths. */
class FlagsWalk {
  /** By block: the comparison whose flags all edges seen so far bring. */
  private readonly brought: (MInst | undefined)[] = [];
  /** By block: how many blocks with edges to it were seen; less than nothing: what they bring differs. */
  private readonly seen: number[] = [];
  private readonly home = new Map<MInst, MBlock>();
  private readonly relied = new Set<MBlock>();

  constructor(
    private readonly mf: MFunction,
    private readonly asker: Asker,
  ) {}

  /** @returns the blocks with comparisons that others relied on */
  run(): Set<MBlock> {
    for (const block of this.mf.blocks) this.visit(block);
    return this.relied;
  }

  private visit(block: MBlock): void {
    const { insts, id } = block;
    const { asker } = this;
    let made = this.seen[id] === block.preds.length && !isPinned(this.mf, block) ? this.brought[id]! : null;
    /** Blocks that this one has handed something on to. */
    let told: MBlock[] | null = null;
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      if (isRegisterCompare(inst)) {
        if (made !== null) {
          asker.match.index = i;
          asker.match.made = made;
          if (asker.ask(dropCompareOfAllPaths, block, block)) {
            this.relied.add(this.home.get(made)!);
            i--;
            continue;
          }
        }
        made = inst;
        this.home.set(inst, block);
      } else if (made !== null && !keepsCompared(inst, made)) made = null;
      for (const target of inst.targets) {
        const isFirst = told === null || !told.includes(target);
        this.tell(target, inst.op === X.Jcc || inst.op === X.Jmp ? made : null, isFirst);
        if (isFirst) (told ??= []).push(target);
      }
    }
  }

  private tell({ id }: MBlock, made: MInst | null, isFirst: boolean): void {
    const seen = this.seen[id] ?? 0;
    if (seen < 0) return;
    const other = this.brought[id];
    if (made === null || (other !== undefined && other !== made && !sameInst(other, made)))
      this.seen[id] = -1;
    else {
      this.brought[id] = made;
      if (isFirst) this.seen[id] = seen + 1;
    }
  }
}
