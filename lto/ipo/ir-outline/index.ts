/**
 * ir-outline: functions for pieces of code that a program has more than once.
 *
 * Method (after the outliner proposed for LLVM in 2017): instructions become symbols that are equal where the operations are
 * (sequence.ts), repeats of which are found in linear time (`outline/repeats.ts`). Occurrences that are the same function
 * of their inputs are candidates (candidates.ts); they get parameters and results (plan.ts), and those that save most bytes
 * are taken first (`outline/select.ts`), until nothing saves any. Then it starts again, since calls are alike now.
 *
 * Why on the IR, beside the machine outliner: here pieces may differ in registers, constants and addresses.
 *
 * Proof obligations:
 *  - what moves means the same in any frame, between functions with the same attributes of code (legality.ts);
 *  - inputs are there where the piece starts, since it uses them; outputs are used behind it, or in phis;
 *  - what pieces say beyond what they do (flags, hints, promises) is kept only where all say it;
 *  - functions that are not compiled for size keep their code; loops of those that are not for the least size too.
 *
 * Breaks if: see legality.ts. Sizes are estimates: a piece is only moved where they differ by more than their error.
 */
import type { Func, Module } from "../../ir/module.js";
import { findRepeats } from "../../outline/repeats.js";
import { selectCandidates } from "../../outline/select.js";
import { cfg, loops } from "../../pass/analyses.js";
import type { ModulePass, ProgramContext } from "../../pass/pass.js";
import { allPieces, isCertain, type Piece } from "./candidates.js";
import { Extractor } from "./extract.js";
import { isOutlinedFrom } from "./legality.js";
import { mostBenefit, type OutlinePlan, planFor } from "./plan.js";
import { Sequence } from "./sequence.js";

const longest = 120;
/** A call, and what it passes at least. */
const leastBytes = 8;
const mostRounds = 2;

class Outliner {
  private readonly made = new Set<Func>();

  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
    private readonly name: string,
  ) {}

  run(): boolean {
    let functions: readonly Func[] = this.module.functions.filter((fn) => this.isOutlinedFrom(fn));
    let changed = false;
    for (let round = 0; round < mostRounds; round++) {
      const rewritten = this.round(functions);
      if (rewritten.size === 0) break;
      changed = true;
      // What is alike only now contains a call that was made just now.
      functions = functions.filter((fn) => rewritten.has(fn));
    }
    return changed;
  }

  /** @returns the functions that were changed */
  private round(functions: readonly Func[]): ReadonlySet<Func> {
    const { module, context } = this;
    const { layout } = context;
    const sequence = new Sequence(module, functions, (fn, body) => {
      if (context.goalOf(fn) === "minsize") return null;
      const { depth } = context.ofBody(loops, body);
      return (block) => depth[block]! > 0;
    });
    const repeats = findRepeats(sequence.symbols, {
      minimumLength: 2,
      maximumLength: longest,
      wanted: (length, count, first) => {
        const bytes = sequence.bytes(first, length);
        if (bytes <= leastBytes || (count - 1) * bytes <= count * leastBytes) return false;
        return this.made.size === 0 || sequence.calls(first, length, this.made);
      },
    });
    const plans = new Map<Piece, OutlinePlan>();
    const selected = selectCandidates(
      allPieces(sequence, repeats),
      sequence.insts.length,
      (piece, starts) => {
        const plan = planFor(sequence, starts, piece.length, layout);
        if (plan === null || !isCertain(plan, starts.length)) return 0;
        plans.set(piece, plan);
        return plan.before - plan.after;
      },
      undefined,
      (piece, starts) => (starts.length < 2 ? 0 : mostBenefit(sequence, starts, piece.length)),
    );
    if (selected.length === 0) return new Set();
    const extractor = new Extractor(
      sequence,
      module.globals.map((global) => global.name),
    );
    for (const { candidate, starts } of selected)
      this.take(extractor, candidate, starts, plans.get(candidate)!);
    return extractor.finish();
  }

  private isOutlinedFrom(fn: Func): boolean {
    const goal = this.context.goalOf(fn);
    if (fn.isDeclaration || this.made.has(fn) || (goal !== "minsize" && goal !== "size")) return false;
    return isOutlinedFrom(fn, this.module);
  }

  private take(extractor: Extractor, { length }: Piece, starts: Int32Array, plan: OutlinePlan): void {
    const fn = extractor.outline(starts, length, plan);
    this.module.globals.push(fn);
    this.made.add(fn);
    this.context.count("functions");
    this.context.count("pieces", starts.length);
    this.context.count("instructions", starts.length * length);
    this.context.count("bytes", Math.round(plan.before - plan.after));
    this.remark(fn, starts.length, length, plan);
  }

  private remark(fn: Func, count: number, length: number, { before, after }: OutlinePlan): void {
    this.context.remarks?.add({
      kind: "Passed",
      pass: this.name,
      name: "Outlined",
      function: fn.name,
      facts: [
        ["String", "outlined "],
        ["Occurrences", count],
        ["String", " pieces of "],
        ["Instructions", length],
        ["String", " instructions (cost="],
        ["Cost", Math.round(after)],
        ["String", ", threshold="],
        ["Threshold", Math.round(before)],
        ["String", ")"],
      ],
    });
  }
}

const passNamed = (name: string, description: string, option?: string): ModulePass => ({
  name,
  level: "module",
  description,
  counters: {
    functions: "functions made",
    pieces: "pieces that became calls of them",
    instructions: "instructions in those",
    bytes: "bytes saved, as estimated",
  },
  requires: [cfg, loops],
  preserves: [],
  ...(option === undefined ? {} : { option }),
  run: (module, context) => new Outliner(module, context, name).run(),
});

/** Behind all that makes code smaller. */
export const irOutline = passNamed(
  "ir-outline",
  "moves code that a program has several times into functions with parameters",
  "outline repeated code of the IR, behind the other passes on the program",
);
/** Before inlining, where less is specialised. */
export const irOutlineEarly = passNamed(
  "ir-outline-early",
  "the same as ir-outline, before inlining",
  "outline repeated code of the IR, before inlining",
);
