/**
 * Which passes run, in which order, and why. One list a level; `must` marks what the following steps rely on, `may` what
 * only makes the program better.
 *
 * A pipeline has two parts. `program` runs on the linked module, before anything is decided about registers.
 * `lowering` runs on each function right before instruction selection, callees first, in the thread that compiles
 * it; its passes may ask for the target, for conventions and for what is known of callees.
 */

import { biasPointers } from "../codegen/lowering/bias-pointers.js";
import type { LoweringPipelines, LoweringStep, OptimizationLevel } from "../codegen/lowering/context.js";
import { demoteAsmOutputs } from "../codegen/lowering/demote-asm-outputs.js";
import { demotePhisPass } from "../codegen/lowering/demote-phis.js";
import { divideByConstants } from "../codegen/lowering/divide-by-constants.js";
import { duplicateReturnsPass } from "../codegen/lowering/duplicate-returns.js";
import { equalityPropagation } from "../codegen/lowering/equality-propagation.js";
import { expandAtomicsPass } from "../codegen/lowering/expand-atomics.js";
import { expandSelectsPass } from "../codegen/lowering/expand-selects.js";
import { extendedSums } from "../codegen/lowering/extended-sums.js";
import { guardCallees } from "../codegen/lowering/guard-callees.js";
import { guardEntries } from "../codegen/lowering/guard-entries.js";
import { indexPointers } from "../codegen/lowering/index-pointers.js";
import { lateIncrements } from "../codegen/lowering/late-increments.js";
import { legalize } from "../codegen/lowering/legalize-pass.js";
import { returnedArgumentPropagation } from "../codegen/lowering/returned-argument-propagation.js";
import { sink } from "../codegen/lowering/sink.js";
import { splitAddresses } from "../codegen/lowering/split-addresses.js";
import { splitConditionsPass } from "../codegen/lowering/split-conditions.js";
import { splitEdges } from "../codegen/lowering/split-edges.js";
import { subtractedIndices } from "../codegen/lowering/subtracted-indices.js";
import { levelOf } from "../codegen/program/options.js";
import { argpromotion } from "../ipo/argpromotion.js";
import { biasPointerArguments } from "../ipo/bias-pointer-arguments.js";
import { markBranches } from "../ipo/branch-marks.js";
import { checkAttributes } from "../ipo/check-attributes.js";
import { constantArgumentThunks } from "../ipo/constant-argument-thunks/index.js";
import { constmerge } from "../ipo/constmerge.js";
import { deadargelim } from "../ipo/deadargelim.js";
import { functionAttrs } from "../ipo/function-attrs/index.js";
import { globalCtors } from "../ipo/global-ctors.js";
import { globaldce } from "../ipo/globaldce.js";
import { globalopt } from "../ipo/globalopt.js";
import { icf } from "../ipo/icf/index.js";
import { alwaysInline } from "../ipo/inline/always-inline.js";
import { inline } from "../ipo/inline/inliner.js";
import { instrumentFunctions } from "../ipo/instrument-functions.js";
import { ipsccp } from "../ipo/ipsccp.js";
import { irOutline, irOutlineEarly } from "../ipo/ir-outline/index.js";
import { libcalls } from "../ipo/libcalls/index.js";
import { matchCalls } from "../ipo/match-calls.js";
import { mergeSimilarFunctions } from "../ipo/merge-similar-functions/index.js";
import { narrowConstantTables } from "../ipo/narrow-constant-tables/index.js";
import { openmpCalls } from "../ipo/openmp-calls.js";
import { shrinkGlobals } from "../ipo/shrink-globals.js";
import { stackProtector } from "../ipo/stack-protector.js";
import { unusedRoutines } from "../ipo/unused-routines.js";
import { devirtualize } from "../ipo/virtual-calls/devirtualize.js";
import { lowerTypeTests } from "../ipo/virtual-calls/lower-type-tests.js";
import { virtualFunctionElim } from "../ipo/virtual-calls/virtual-function-elim.js";
import { combineLoads } from "../opt/combine-loads.js";
import { combineStores } from "../opt/combine-stores.js";
import { dce } from "../opt/dce.js";
import { deadAllocations } from "../opt/dead-allocations.js";
import { dse } from "../opt/dse.js";
import { foldBranches } from "../opt/fold-branches.js";
import { gvn } from "../opt/gvn/index.js";
import { hoistSink } from "../opt/hoist-sink.js";
import { jumpThreading } from "../opt/jump-threading.js";
import { licm } from "../opt/licm/index.js";
import { loopDeletion } from "../opt/loop-deletion.js";
import { loopRotate } from "../opt/loop-rotate.js";
import { loopUnroll } from "../opt/loop-unroll/index.js";
import { sccp } from "../opt/sccp.js";
import { simplify } from "../opt/simplify/index.js";
import { simplifyCfg } from "../opt/simplify-cfg/index.js";
import { sroa } from "../opt/sroa/index.js";
import { tailcallelim } from "../opt/tailcallelim.js";
import { unreachableBlocks } from "../opt/unreachable-blocks.js";
import { bottomUp, inlining, onModule, type Stage } from "../pass/module-pipeline.js";
import {
  type AnyPass,
  type ComponentPass,
  type FunctionPass,
  type Goal,
  ifChanged,
  may,
  must,
  type Step,
} from "../pass/pass.js";

export interface Pipeline {
  readonly program: readonly Stage[];
  readonly lowering: readonly LoweringStep[];
}
export type Pipelines = Readonly<Record<OptimizationLevel, Pipeline>>;

// What functions' attributes and module flags ask for. After all that moves code between functions: it belongs to each.
const requested: readonly Stage[] = [
  // After all that folds by attributes. Only when asked for.
  onModule(must(checkAttributes)),
  // Before guards, so that they come first and go last.
  onModule(must(instrumentFunctions), must(stackProtector), must(markBranches)),
];

// What constants that came through calls, and code that came with them, make possible inside of functions.
// Steps for changed functions would find in others what their compilers left: the sum of 22 programs at -Oz, without outliners,
// is 0.99995 of this then, for 3% of the passes' time.
const simplification: readonly Step<ComponentPass | FunctionPass>[] = [
  // Before all that looks at values.
  may(sroa),
  // First and last: branches that constants decide, and those that what is between decides.
  may(simplifyCfg),
  // What calls brought in tells how it went, and what follows asks. What came with it is one value below.
  ifChanged(jumpThreading),
  // What calls brought in checks numbers that have bounds here. Values that were variables have none before `sroa`.
  ifChanged(sccp),
  // Before what finds equal what rounds share. For speed.
  may(loopUnroll),
  // What it finds constant or equal the next ones fold.
  ifChanged(gvn),
  // After what finds strings constant; what it makes constant the next one folds.
  may(libcalls),
  may(simplify),
  // After what shows that a call is the last thing that happens.
  may(tailcallelim),
  // After what finds bounds of counters. What it takes conditions from is merged with them below.
  may(loopRotate),
  // Blocks that it empties are forwarded.
  ifChanged(hoistSink),
  may(simplifyCfg),
  // After what makes equal values one, and branches as few as they get. Little for size. Where compilers of single files
  // have hoisted already (clang -O2), instructions executed are 0.9998 to 1.0000 of what they are without, at 1 to 2% of
  // the link's time: it is for what shows at link time alone, loops around calls into other files.
  may(licm),
  // After what makes loads values: fewer read what is stored.
  ifChanged(dse),
  // After what takes reads and stores. Stores of addresses that were kept in such memory go with it.
  ifChanged(deadAllocations),
  // Loops that only stored what nobody looks at, or computed what nobody asks for. Rare.
  ifChanged(loopDeletion),
  // What only computed values that are constants now, or that nobody stores.
  ifChanged(dce),
  may(foldBranches),
];

// The linked module. Beyond this point no symbol appears but those of the run-time library, and none becomes visible.
//
// Inputs were optimised file by file by the compilers that made them: what one function shows by itself is done.
const program: readonly Stage[] = [
  // First: only calls that match their callees are looked through.
  onModule(may(matchCalls)),
  // What the program demands, whatever it costs; nothing below should see such functions.
  bottomUp(must(alwaysInline)),
  onModule(
    // Tables that only objects of dead classes have say nothing of calls.
    may(virtualFunctionElim),
    may(devirtualize),
    // Beyond this point nobody asks what type a table is of.
    must(lowerTypeTests),
    // What only constructors wrote is constant without them.
    may(globalCtors),
    may(globaldce),
    // Before propagation, which folds loads from constants.
    may(globalopt),
    // Early: what it deletes nobody else has to look at.
    may(ipsccp),
    // Calls without effect go with unused results.
    may(functionAttrs),
    // Parameters that propagation found constant have no uses left.
    may(deadargelim),
    // After those that find variables constant, or read by nobody. Comparisons of what it extends are simplified below.
    may(shrinkGlobals),
    // Of parameters that are left. Variables that were passed by reference become values below.
    may(argpromotion),
    // Copies go before inlining makes them differ: constants, then the functions that mention them.
    may(constmerge),
    may(icf),
    may(irOutlineEarly),
  ),
  // What is inlined is simplified at once, so that callers see it as small as it gets.
  inlining(may(inline), ...simplification),
  onModule(
    // Inlining brings constructs of OpenMP together.
    may(openmpCalls),
    // What inlining left is what there is to share.
    may(mergeSimilarFunctions),
    // What is dead by now is not compiled.
    may(globaldce),
    // After all that folds loads from tables, and follows what they point to.
    may(narrowConstantTables),
    // Last of all that makes code smaller: what is outlined nobody looks into.
    may(irOutline),
    // Of calls that outlining left. In front of it .text of lz4 and zstd is 1.015, of six others 0.999 to 1.002 of this.
    may(constantArgumentThunks),
    // After all that makes, moves or joins functions: nobody asks any more what a parameter points to.
    may(biasPointerArguments),
  ),
  ...requested,
  // After all that makes calls and copies.
  onModule(may(unusedRoutines)),
];

// Right before selection. Beyond this point the call graph, conventions and callee sets are fixed: no pass may add,
// remove or retarget a call of a function of the program.
const lowering: readonly LoweringStep[] = [
  // First, while calls are as the pointer analysis saw them. Only when asked for.
  must(guardCallees),
  // After what decides where guarded calls lead. Only when asked for.
  must(guardEntries),
  // Legalisation walks definitions before uses, which unreachable code need not have.
  must(unreachableBlocks),
  // After all that looks at what is loaded; before legalisation, which splits what no register holds. At -Oz .text of
  // programs that read formats byte by byte is 0.990 (libpng) to 0.995 (gzip) of what it is without, of others the same.
  may(combineLoads),
  // The same for what is stored.
  may(combineStores),
  // Before legalisation, which has no place for what it makes of results after an instruction that ends a block.
  must(demoteAsmOutputs),
  // Beyond this point only types and operations that the target has.
  must(legalize),
  // Only divisions that registers hold are left.
  may(divideByConstants),
  // Before what it leaves without uses goes, and addresses are taken apart.
  may(extendedSums),
  // Expansions compute more than is wanted: half a product, flags nobody reads.
  may(dce),
  // Before addresses are taken apart, and selection folds what the sums' constants are.
  may(subtractedIndices),
  // After legalisation, which turns constant expressions into instructions; before selection folds addresses.
  may(splitAddresses),
  // After legalisation, which expands intrinsics. What it puts before returns can be a jump.
  may(returnedArgumentPropagation),
  // After legalisation, which decides how results are returned; what it leaves unreachable goes below.
  may(duplicateReturnsPass),
  // As late as conditions are still whole; the blocks that it makes are like others to all below.
  may(splitConditionsPass),
  // Two edges to one place become one, so that what follows can tell an edge by its ends.
  must(foldBranches),
  // Calls that legalisation expands do not unwind: what only they led to is unreachable now.
  must(unreachableBlocks),
  // Beyond this point blocks are only added, after those that they were split from.
  must(expandSelectsPass),
  must(expandAtomicsPass),
  // Phis whose edges cannot be split are gone before edges are split for the others.
  must(demotePhisPass),
  // Since all above make edges. Beyond this point phis are only after blocks with one successor.
  must(splitEdges),
  // Last: what only a phi needs on one way is computed on the edge.
  may(sink),
  // After all that makes pointers and counters of loops; before what moves the counters' sums.
  may(indexPointers),
  // After what moves computations out of loops. Addresses that it makes selection folds.
  may(lateIncrements),
  // After all that folds constants. For size.
  may(equalityPropagation),
  // Last: what looks at addresses would not see through what it puts between them and their pointers.
  may(biasPointers),
];

// Without optimisation: what selection needs, and dead code, which costs more to compile than to remove.
const plainLowering: readonly LoweringStep[] = [
  must(guardCallees),
  // After what decides where guarded calls lead. Only when asked for.
  must(guardEntries),
  must(unreachableBlocks),
  must(demoteAsmOutputs),
  must(legalize),
  may(dce),
  must(foldBranches),
  must(unreachableBlocks),
  must(expandSelectsPass),
  must(expandAtomicsPass),
  must(demotePhisPass),
  must(splitEdges),
];

export const pipelines: Pipelines = {
  O0: {
    program: [
      bottomUp(must(alwaysInline)),
      onModule(must(lowerTypeTests)),
      ...requested,
      onModule(may(unusedRoutines)),
    ],
    lowering: plainLowering,
  },
  O1: { program, lowering },
  O2: { program, lowering },
  O3: { program, lowering },
  Os: { program, lowering },
  Oz: { program, lowering },
};

/**
 * Passes that only our own code generation profits from, or that do what LLVM does when it generates code: guards,
 * calls of profilers and marks of branches are its business, and these passes make code that is longer with it.
 */
const forOwnCode: ReadonlySet<AnyPass> = new Set<AnyPass>([
  unusedRoutines,
  instrumentFunctions,
  stackProtector,
  markBranches,
  constantArgumentThunks,
  biasPointerArguments,
]);

/**
 * For speed LLVM's inliner decides alone: it sees what is left of a callee after LLVM's own passes, ours before it only adds code.
 * .text of lua on AArch64 at -O2 is 1.044 of clang's with LLVM's, 1.112 with both; executed instructions differ by less than 0.01.
 * Loops it writes out itself, where its machine wants that.
 */
const forOwnSpeed: ReadonlySet<AnyPass> = new Set<AnyPass>([inline, loopUnroll]);

/** A program's stages where LLVM generates the code. */
export const withoutOwnCode = (stages: readonly Stage[], level: OptimizationLevel): readonly Stage[] => {
  const forSize = isForSize(level);
  return without(stages, (pass) => forOwnCode.has(pass) || (!forSize && forOwnSpeed.has(pass)));
};

const isForSize = (level: OptimizationLevel): boolean => level === "Os" || level === "Oz";

/**
 * What a fast link leaves out: what takes more time than it saves bytes in programs whose files their compilers have
 * optimised. MEASUREMENTS.md has what it costs and brings. For size it could also do without `ir-outline` (time 0.90 and 1.02 of a fast
 * link's, bytes 1.038 and 1.010; mawk, Lua) or `constant-argument-thunks` (0.93 and 0.95, 1.012 and 1.003; Lua, expat); without
 * `merge-tails` it would take no less, without `peepholes` bytes were 1.035.
 */
const forFullEffort: ReadonlySet<AnyPass> = new Set<AnyPass>([
  globalopt,
  ipsccp,
  functionAttrs,
  deadargelim,
  shrinkGlobals,
  argpromotion,
  constmerge,
  icf,
  biasPointerArguments,
]);

/**
 * Where size counts, only what is as small is inlined, and hardly anything is left to simplify. Where speed does, .text of Lua would be
 * 1.42 of what it is.
 */
const forFullEffortBySize: ReadonlySet<AnyPass> = new Set<AnyPass>(simplification.map(({ pass }) => pass));

/** A program's stages in a fast link. */
export const fastStages = (stages: readonly Stage[], level: OptimizationLevel): readonly Stage[] => {
  const forSize = isForSize(level);
  return without(stages, (pass) => forFullEffort.has(pass) || (forSize && forFullEffortBySize.has(pass)));
};

const without = (stages: readonly Stage[], isLeftOut: (pass: AnyPass) => boolean): readonly Stage[] =>
  stages.map(
    (stage) => ({ ...stage, steps: stage.steps.filter(({ pass }: Step) => !isLeftOut(pass)) }) as Stage,
  );

/** Steps whose order is free: what functions go through once the inliner has been there. */
const isArranged = (stage: Stage, step: Step): boolean =>
  stage.over === "components" && stage.role === "inlining" && step !== stage.steps[0];

/** The names of passes whose order is free. */
export const arrangedPasses = (all: Pipelines): ReadonlySet<string> =>
  new Set(
    Object.values(all).flatMap(({ program }) =>
      program.flatMap((stage) =>
        stage.steps.filter((step) => isArranged(stage, step)).map((s) => s.pass.name),
      ),
    ),
  );

/** Stages with the passes whose order is free in another one. @param order their names; null: as they are */
export function arranged(stages: readonly Stage[], order: readonly string[] | null): readonly Stage[] {
  if (order === null) return stages;
  return stages.map((stage): Stage => {
    if (stage.over !== "components" || stage.role !== "inlining") return stage;
    const [inliner, ...free] = stage.steps;
    const named = (name: string) => free.find(({ pass }) => pass.name === name);
    const chosen = order.flatMap((name) => named(name)?.pass ?? []).map((pass) => may(pass));
    return inlining(inliner as Step<ComponentPass>, ...chosen);
  });
}

/** What functions go through once the inliner has been there, but for what looks at calls. */
export const simplificationOf = (stages: readonly Stage[]): readonly Step<FunctionPass>[] =>
  stages
    .flatMap((stage) => stage.steps.filter((step) => isArranged(stage, step)))
    .filter((step): step is Step<FunctionPass> => step.pass.level === "function");

/** All steps of a pipeline in order. */
export const stepsOf = ({ program, lowering }: Pipeline): readonly Step[] => [
  ...program.flatMap((stage): readonly Step[] => stage.steps),
  ...lowering,
];

/** The level whose pipeline the linked module goes through: the forced one, or one that suits all functions. */
export function programLevel(goals: Iterable<Goal>, forced: OptimizationLevel | null): OptimizationLevel {
  if (forced !== null) return forced;
  const levels = new Set([...goals].map((goal) => levelOf(goal, null)));
  levels.delete("O0");
  return levels.size === 0 ? "O0" : levels.size === 1 ? [...levels][0]! : "O2";
}

/** The lowering part of each pipeline. */
export const loweringOf = (all: Pipelines): LoweringPipelines => ({
  O0: all.O0.lowering,
  O1: all.O1.lowering,
  O2: all.O2.lowering,
  O3: all.O3.lowering,
  Os: all.Os.lowering,
  Oz: all.Oz.lowering,
});
