/**
 * Inlines for speed: what the callee costs, less what inlining saves, against a threshold.
 *
 * Cost: that of the body, specialised on constant arguments where they decide something, less the call and the passing of
 * its arguments, less accesses to the caller's slots that will be registers. The last call of a closed function costs
 * nothing but what it makes the caller larger by, since the function goes.
 * Threshold: higher for functions that the source calls inline, for bodies of one block and of vectors; low for calls that
 * run rarely, such as those in one of many cases.
 *
 * The numbers are those that compilers of this kind have settled on (225 and 325 for functions, half as much again for
 * one block).
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { type Advice, type CallSite, factsFor, type InlineAdvisor, isLastCall } from "./advisor.js";
import { callCost, instructionCost, specialisedCost } from "./body-cost.js";

const thresholds = { normal: 225, hinted: 325, cold: 45 };
/** For one block, half of the threshold more. */
const singleBlock = 0.5;
/** For operations on vectors, each of which does the work of several: by their share of the body. */
const vectors = [
  { share: 1 / 2, more: 1.5 },
  { share: 1 / 10, more: 0.75 },
];
/** Calls of fewer executions for one of the caller run rarely. */
const rare = 1 / 200;
const lastCall = 15_000;
/** Bodies of so many times the threshold are not looked at again for the constants that are passed. */
const mostToGain = 5;
/** A caller of so many instructions grows no more by last calls: code generation is not linear in everything. */
const largestCaller = 12_000;
/** Bytes that a copy may add to a frame, unless it is the only one. */
const mostSlotBytes = 4096;
/** Bytes that all copies may add to the frame of a recursive function, which the stack holds many times. */
const mostRecursiveSlotBytes = 1024;

export class SpeedAdvisor implements InlineAdvisor {
  constructor(private readonly layout: DataLayout) {}

  mostBytes(): number {
    return Number.POSITIVE_INFINITY;
  }

  advise(site: CallSite): Advice {
    const { call, callee, body, cost: known, callerSize } = site;
    const threshold = thresholdOf(site);
    const isTooWide = site.isRecursive
      ? known.slotBytes > 0 && site.recursiveSlotBytes + known.slotBytes > mostRecursiveSlotBytes
      : known.slotBytes > mostSlotBytes && !isLastCall(site);
    if (isTooWide) return { inline: false, cost: known.cost, threshold };
    const count = call.data.argumentCount;
    let saved = callCost + instructionCost * (1 + count);
    for (let i = 0; i < callee.args.length; i++)
      if (isSlot(call.operands[i + 1]!)) saved += known.slotSavings[i]!;
    if (isLastCall(site) && callerSize + known.instructions <= largestCaller) saved += lastCall;
    let cost = known.cost - saved;
    let { isSingleBlock } = known;
    // Constants can save most of it; looking costs as much as a pass.
    if (cost > threshold && cost < mostToGain * threshold) {
      const facts = factsFor(site);
      if (facts !== null) {
        const left = specialisedCost(callee, body, this.layout, facts);
        cost = left.cost - saved;
        ({ isSingleBlock } = left);
      }
    }
    const ofVectors = vectors.find(({ share }) => known.vectorShare > share)?.more ?? 0;
    const most = threshold * (1 + (isSingleBlock ? singleBlock : 0) + ofVectors);
    return { inline: cost < most, cost, threshold: most };
  }
}

function thresholdOf({ callee, frequency, isCold }: CallSite): number {
  const { fn } = callee.attributes;
  if (isCold || frequency < rare || fn.has("cold")) return thresholds.cold;
  return fn.has("inlinehint") ? thresholds.hinted : thresholds.normal;
}

/** An address in the caller's frame. */
function isSlot(value: Value): boolean {
  let place = value;
  while (place.valueKind === "inst" && place.op === Op.GetElementPtr) place = place.operands[0]!;
  return place.valueKind === "inst" && place.op === Op.Alloca;
}
