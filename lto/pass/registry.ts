/**
 * Every pass there is, in the order of the manual: what options name, what `--help` and PASSES.md list. Where and in
 * which order they run is in pipelines.ts.
 */
import { type LateStepInfo, optionalLateSteps } from "../codegen/late/pipeline.js";
import { centerPointers } from "../codegen/lowering/center-pointers.js";
import { demotePhisPass } from "../codegen/lowering/demote-phis.js";
import { divideByConstants } from "../codegen/lowering/divide-by-constants.js";
import { duplicateReturnsPass } from "../codegen/lowering/duplicate-returns.js";
import { expandAtomicsPass } from "../codegen/lowering/expand-atomics.js";
import { expandSelectsPass } from "../codegen/lowering/expand-selects.js";
import { guardCallees } from "../codegen/lowering/guard-callees.js";
import { knownEqual } from "../codegen/lowering/known-equal.js";
import { legalize } from "../codegen/lowering/legalize-pass.js";
import { sink } from "../codegen/lowering/sink.js";
import { splitAddresses } from "../codegen/lowering/split-addresses.js";
import { splitConditionsPass } from "../codegen/lowering/split-conditions.js";
import { splitEdges } from "../codegen/lowering/split-edges.js";
import { useReturned } from "../codegen/lowering/use-returned.js";
import { argpromotion } from "../ipo/argpromotion.js";
import { bindArguments } from "../ipo/bind-arguments/index.js";
import { markBranches } from "../ipo/branch-marks.js";
import { centerParameters } from "../ipo/center-parameters.js";
import { checkAttributes } from "../ipo/check-attributes.js";
import { constmerge } from "../ipo/constmerge.js";
import { deadargelim } from "../ipo/deadargelim.js";
import { foldFunctions } from "../ipo/fold-functions/index.js";
import { functionAttrs } from "../ipo/function-attrs/index.js";
import { globalCtors } from "../ipo/global-ctors.js";
import { globaldce } from "../ipo/globaldce.js";
import { globalopt } from "../ipo/globalopt.js";
import { alwaysInline } from "../ipo/inline/always-inline.js";
import { inline } from "../ipo/inline/inliner.js";
import { instrumentFunctions } from "../ipo/instrument-functions.js";
import { ipsccp } from "../ipo/ipsccp.js";
import { irOutline, irOutlineEarly } from "../ipo/ir-outline/index.js";
import { libcalls } from "../ipo/libcalls/index.js";
import { matchCalls } from "../ipo/match-calls.js";
import { mergeFunctions } from "../ipo/merge-functions/index.js";
import { openmpCalls } from "../ipo/openmp-calls.js";
import { shrinkGlobals } from "../ipo/shrink-globals.js";
import { shrinkTables } from "../ipo/shrink-tables/index.js";
import { stackProtector } from "../ipo/stack-protector.js";
import { devirtualize } from "../ipo/virtual-calls/devirtualize.js";
import { lowerTypeTests } from "../ipo/virtual-calls/lower-type-tests.js";
import { virtualFunctionElim } from "../ipo/virtual-calls/virtual-function-elim.js";
import { combineLoads } from "../opt/combine-loads.js";
import { combineStores } from "../opt/combine-stores.js";
import { dce } from "../opt/dce.js";
import { dse } from "../opt/dse.js";
import { foldBranches } from "../opt/fold-branches.js";
import { gvn } from "../opt/gvn/index.js";
import { hoistSink } from "../opt/hoist-sink.js";
import { licm } from "../opt/licm/index.js";
import { loopDeletion } from "../opt/loop-deletion.js";
import { simplify } from "../opt/simplify/index.js";
import { simplifyCfg } from "../opt/simplify-cfg/index.js";
import { sroa } from "../opt/sroa/index.js";
import { tailcallelim } from "../opt/tailcallelim.js";
import { unreachableBlocks } from "../opt/unreachable-blocks.js";
import type { AnyPass } from "./pass.js";
import { type Pipelines, pipelines, stepsOf } from "./pipelines.js";

export const passes: readonly AnyPass[] = [
  alwaysInline,
  virtualFunctionElim,
  devirtualize,
  lowerTypeTests,
  matchCalls,
  globalCtors,
  globalopt,
  ipsccp,
  functionAttrs,
  deadargelim,
  shrinkGlobals,
  shrinkTables,
  argpromotion,
  constmerge,
  foldFunctions,
  inline,
  libcalls,
  openmpCalls,
  mergeFunctions,
  globaldce,
  checkAttributes,
  irOutlineEarly,
  irOutline,
  bindArguments,
  centerParameters,
  instrumentFunctions,
  stackProtector,
  markBranches,
  unreachableBlocks,
  sroa,
  gvn,
  simplify,
  hoistSink,
  licm,
  simplifyCfg,
  tailcallelim,
  dse,
  loopDeletion,
  dce,
  foldBranches,
  guardCallees,
  combineLoads,
  combineStores,
  legalize,
  divideByConstants,
  splitAddresses,
  useReturned,
  duplicateReturnsPass,
  splitConditionsPass,
  expandSelectsPass,
  expandAtomicsPass,
  demotePhisPass,
  splitEdges,
  sink,
  knownEqual,
  centerPointers,
];

/** Steps on machine code that options can leave out as they do passes. */
export const machineSteps: readonly LateStepInfo[] = optionalLateSteps;

/** Passes, and where they run: what a command works with. Tests make others. */
export interface PassSet {
  readonly passes: readonly AnyPass[];
  readonly pipelines: Pipelines;
}
export const productPasses: PassSet = { passes, pipelines };

/** Whether some pipeline can do without the pass. */
export function isSkippable(name: string, set: PassSet): boolean {
  if (machineSteps.some((step) => step.name === name)) return true;
  const steps = Object.values(set.pipelines).flatMap(stepsOf);
  return steps.some(({ pass, isRequired }) => pass.name === name && !isRequired);
}
