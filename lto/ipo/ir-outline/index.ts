/**
 * ir-outline: functions for pieces of code that a program has more than once.
 *
 * Method (after the outliner proposed for LLVM in 2017): instructions become symbols that are equal where the operations are
 * (sequence.ts), repeats of which are found in linear time (`outline/repeats.ts`). Occurrences that are the same function
 * of their inputs are candidates (candidates.ts); they get parameters and results (plan.ts), and those that save most bytes
 * are taken first (`outline/select.ts`), until nothing saves any. Then it starts again, since calls are alike now.
 *
 * Why on the IR, beside the machine outliner: here pieces may differ in registers, constants and addresses, and they may have
 * branches (regions.ts): those come last, of what straight pieces leave.
 *
 * Proof obligations:
 *  - what moves means the same in any frame, between functions with the same attributes of code (legality.ts);
 *  - inputs are there where the piece starts, since it uses them; outputs are used after it, or in phis;
 *  - what pieces say beyond what they do (flags, hints, promises) is kept only where all say it;
 *  - functions that are not compiled for the least size keep their code, but for cold ones that are compiled for size.
 *
 * Sizes are estimates, and a piece is only moved where they differ by more than their error. Where that depends on operations
 * that the model hardly knows, code is generated for the function that would be made (trial.ts), within a budget of
 * instructions. For every function that pays by estimates, that took a third of the pass's time and programs came out no
 * smaller (bzip2 46323 bytes instead of 46246, lua 126622 instead of 126680).
 *
 * Breaks if: see legality.ts.
 */

import { BlockTimes, functionTimes } from "../../analysis/function-times.js";
import { temperature } from "../../analysis/profile.js";
import type { Func, Module } from "../../ir/module.js";
import { findRepeats } from "../../outline/repeats.js";
import { selectCandidates } from "../../outline/select.js";
import { callGraph } from "../../pass/analyses.js";
import type { ModulePass, ProgramContext } from "../../pass/pass.js";
import type { Remark } from "../../pass/remarks.js";
import { allPieces, type Piece } from "./candidates.js";
import { Extractor } from "./extract.js";
import { isOutlinedFrom } from "./legality.js";
import { areAlike, isCertain, isClose, mayPay, mostBenefit, type OutlinePlan, planFor } from "./plan.js";
import { RegionOutliner } from "./region-outliner.js";
import { notOutlined, outlined } from "./remarks.js";
import { Sequence } from "./sequence.js";
import { bytesForTime } from "./time.js";
import { tried } from "./trial.js";

const longest = 120;
const mostRounds = 2;

interface Planned {
  readonly starts: Int32Array;
  readonly plan: OutlinePlan;
}

class Outliner {
  private readonly made = new Set<Func>();
  /** Of all symbols. */
  private readonly names: Set<string>;
  private readonly times: BlockTimes;

  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
    private readonly name: string,
  ) {
    this.names = new Set(module.globals.map((global) => global.name));
    const { sizeTime } = context;
    const times = sizeTime > 0 ? functionTimes(module, context.ofModule(callGraph)) : null;
    this.times = new BlockTimes(times, sizeTime);
  }

  run(): boolean {
    const all = this.module.functions.filter((fn) => this.isOutlinedFrom(fn));
    let functions: readonly Func[] = all;
    let changed = false;
    for (let round = 0; round < mostRounds; round++) {
      const rewritten = this.round(functions);
      this.times.forget();
      this.context.partDone();
      if (rewritten.size === 0) break;
      changed = true;
      // What is alike only now contains a call that was made just now.
      functions = functions.filter((fn) => rewritten.has(fn));
    }
    return this.regions(all) || changed;
  }

  /** Pieces with branches. @returns whether there are any */
  private regions(functions: readonly Func[]): boolean {
    const outliner = new RegionOutliner(this.module, this.context, this.names, this.name, this.times);
    const made = outliner.run(functions);
    for (const { made: fn, fns, length, plan } of made) this.keep(fn, fns, length, plan);
    this.context.count("regions", made.length);
    return made.length > 0;
  }

  /** @returns the functions that were changed */
  private round(functions: readonly Func[]): ReadonlySet<Func> {
    const { module } = this;
    if (functions.length === 0) return new Set();
    const sequence = Sequence.ofFunctions(
      module,
      this.context.costs,
      functions,
      this.made.size === 0 ? null : this.made,
    );
    const repeats = findRepeats(sequence.symbols, {
      minimumLength: 2,
      maximumLength: longest,
      wanted: (length, count, first) => {
        const bytes = sequence.bytes(first, length);
        // A shorter end may have a call less, and need no frame.
        if (!mayPay(sequence.costs, bytes, Math.min(sequence.countCalls(first, length), 1), count))
          return false;
        return this.made.size === 0 || sequence.calls(first, length, this.made);
      },
    });
    const extractor = new Extractor(sequence, this.names, this.module.origins);
    const { remarks } = this.context;
    const isTold = remarks?.wants(this.name) === true;
    /** What each candidate would be, as it was last asked for: of those that would save something, or somebody asks about. */
    const plans = new Map<Piece, Planned>();
    const benefitOf = (piece: Piece, starts: Int32Array, plan: OutlinePlan | null): number => {
      if (plan === null) return 0;
      const isWorth = isCertain(plan, starts.length);
      if (isWorth || isTold) plans.set(piece, { starts, plan });
      else plans.delete(piece);
      if (!isWorth) return 0;
      return Math.max(0, plan.before - plan.after - bytesForTime(sequence, starts, plan, this.times));
    };
    const selected = selectCandidates(
      allPieces(sequence, repeats, longest, isTold, this.times),
      sequence.insts.length,
      (piece, starts) =>
        benefitOf(piece, starts, planFor(sequence, starts, piece.length, this.context.layout)),
      {
        refused: isTold
          ? (piece, starts) => remarks!.add(this.refusal(sequence, piece, starts, plans.get(piece)))
          : undefined,
        bound: (piece, starts) =>
          starts === piece.starts ? piece.most : mostBenefit(sequence, starts, piece.length, 0),
        confirmed: (piece, starts) => {
          const { plan } = plans.get(piece)!;
          const better = plan.isTried ? plan : this.tried(sequence, extractor, piece, starts, plan);
          return benefitOf(piece, starts, better);
        },
      },
    );
    if (selected.length === 0) return new Set();
    this.context.partDone();
    for (const { candidate, starts } of selected)
      this.take(sequence, extractor, candidate, starts, plans.get(candidate)!.plan);
    return extractor.finish();
  }

  /** The plan by the code of the function; null: it cannot be. */
  private tried(
    sequence: Sequence,
    extractor: Extractor,
    { length }: Piece,
    starts: Int32Array,
    plan: OutlinePlan,
  ): OutlinePlan | null {
    const { trials } = this.context;
    this.context.partDone();
    // Structures were compared by hashes.
    if (!areAlike(sequence, starts, length)) return null;
    if (trials === null || !isClose(sequence, starts, length, plan)) return plan;
    const size = trials.sizeAlone(extractor.functionFor("outlined", starts, length, plan));
    if (size === null) return plan;
    this.context.count("trials");
    return tried(sequence, starts, length, plan, size);
  }

  private refusal(
    sequence: Sequence,
    { length, starts: all }: Piece,
    starts: Int32Array,
    planned: Planned | undefined,
  ): Remark {
    const { places, placeAt } = sequence;
    const isKnown = planned?.starts === starts;
    const plan = isKnown
      ? planned.plan
      : starts.length < 2
        ? null
        : planFor(sequence, starts, length, this.context.layout, Number.POSITIVE_INFINITY);
    const found = Array.from(all, (start) => places[placeAt[start]!]!.fn);
    const time = plan === null ? 0 : bytesForTime(sequence, starts, plan, this.times);
    return notOutlined(this.name, found, length, starts.length, plan, time);
  }

  private isOutlinedFrom(fn: Func): boolean {
    const goal = this.context.goalOf(fn);
    const known = temperature(fn);
    const isForSize = (goal === "minsize" && known !== "hot") || (goal === "size" && known === "cold");
    return isForSize && !fn.isDeclaration && !this.made.has(fn) && isOutlinedFrom(fn, this.module);
  }

  private take(
    { places, placeAt }: Sequence,
    extractor: Extractor,
    { length }: Piece,
    starts: Int32Array,
    plan: OutlinePlan,
  ): void {
    const fn = extractor.outline(starts, length, plan);
    const fns = Array.from(starts, (start) => places[placeAt[start]!]!.fn);
    this.keep(fn, fns, length, plan);
  }

  /** @param fns that its code was in, one for each piece */
  private keep(fn: Func, fns: readonly Func[], length: number, plan: OutlinePlan): void {
    this.module.globals.push(fn);
    this.module.origins?.moveBody(fn.view(), fns[0]!);
    this.module.origins?.recordMade(fn, this.name, fns);
    this.made.add(fn);
    this.context.count("functions");
    this.context.count("pieces", fns.length);
    this.context.count("instructions", fns.length * length);
    this.context.count("bytes", Math.round(plan.before - plan.after));
    if (this.context.remarks?.wants(this.name) !== true) return;
    const names = fns.map(({ name }) => name);
    this.context.remarks.add(outlined(this.name, fn.name, length, names, plan));
  }
}

const passNamed = (name: string, description: string): Omit<ModulePass, "option" | "offOption"> => ({
  name,
  level: "module",
  description,
  counters: {
    functions: "functions made",
    regions: "of these, for code with branches",
    pieces: "pieces that became calls of them",
    instructions: "instructions in those",
    bytes: "bytes saved, as estimated",
    trials: "functions compiled on trial",
  },
  requires: [callGraph],
  preserves: [],
  movesCode: true,
  run: (module, context) => new Outliner(module, context, name).run(),
});

/** After all that makes code smaller. */
export const irOutline: ModulePass = {
  ...passNamed("ir-outline", "moves code that a program has several times into functions with parameters"),
  offOption:
    "repeated code of the IR stays where it is; else it becomes functions, where the least size is wanted",
};
/** Before inlining, where less is specialised. */
export const irOutlineEarly: ModulePass = {
  ...passNamed("ir-outline-early", "the same as ir-outline, before inlining"),
  option: "outline repeated code of the IR, before inlining",
};
