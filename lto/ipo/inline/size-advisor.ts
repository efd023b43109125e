/**
 * Inlines for size: the bytes of a copy against those of the call.
 *
 * A call takes its own bytes and those that pass its arguments; so much a copy may have. Where the callee is closed,
 * inlining all its calls saves its body too, with return, saves and unwind tables, of which each call gets a share; the
 * last call gets all of it, and then the body is not copied but moved.
 * Moved bodies have a limit nevertheless: a large one takes registers from the code around it, and what would have been
 * saved once, at its entry, is in the way of all that the caller does (calls are cheap where their callees say which
 * registers they change).
 *
 * Sizes are estimates (`body-size.ts`), so what is close is not decided by knowledge but by the mean.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import type { TargetCosts } from "../../target/costs.js";
import {
  type Advice,
  type CallOutside,
  type CallSite,
  factsFor,
  type InlineAdvisor,
  isLastCall,
} from "./advisor.js";
import { specialisedCost } from "./body-cost.js";
import { bytesOf, bytesOfCall } from "./body-size.js";

/**
 * Bytes of a body that may move to its only call. At -Oz, with outliners, what is loaded of eight programs is 0.998 of what
 * it is with 200 (0.995 … 1.000); with 1000 0.998 as well, but one grows by 0.1%; more for callers that are smaller than the
 * callee gains nothing.
 */
const largestMoved = 400;
/** Bytes of a body that moves without a trial; and of one that stays without one. */
const surelyMoved = 16;
const largestTried = 2000;
/** Costs of so many times the threshold are decided by estimate. */
const surelyLess = 0.5;
const surelyMore = 2;
/** In the mean. */
const bytesOfInstruction = 4;
/** Bodies of so many times the threshold are not looked at again for the constants that are passed. */
const mostToGain = 8;
/**
 * Slots beyond the reach of a short offset lengthen what uses them; of a function that may be entered again before it is
 * left the stack holds many frames.
 */
const mostSlotBytes = { copied: 96, movedToRecursive: 256, moved: 512 };

export class SizeAdvisor implements InlineAdvisor {
  constructor(
    private readonly layout: DataLayout,
    private readonly costs: TargetCosts,
  ) {}

  mostBytes(site: CallOutside): number {
    return isLastCall(site) ? largestTried : mostToGain * thresholdOf(site, this.costs);
  }

  advise(site: CallSite): Advice {
    const { callee, body, cost: known } = site;
    const isLast = isLastCall(site);
    if (isLast) {
      const isNarrow =
        known.slotBytes <= (site.isRecursive ? mostSlotBytes.movedToRecursive : mostSlotBytes.moved);
      const fits = known.bytes <= largestMoved && isNarrow;
      const isClose = known.bytes > surelyMoved && known.bytes <= largestTried && isNarrow;
      return { inline: fits, cost: known.bytes, threshold: largestMoved, isClose, worth: site.timeBytes(0) };
    }
    const share = shareOf(site, this.costs);
    const bytes = thresholdOf(site, this.costs);
    let cost = known.bytes;
    let worth = site.timeBytes(0);
    let threshold = bytes + worth;
    if (known.slotBytes > mostSlotBytes.copied) return { inline: false, cost, threshold };
    if (cost > threshold && cost < mostToGain * threshold) {
      const facts = factsFor(site);
      if (facts !== null)
        ({ cost } = specialisedCost(callee, body, this.layout, facts, (inst, isEntered) =>
          bytesOf(inst, this.costs, isEntered),
        ));
      cost -= site.slotBytes();
      // What a copy does not have it does not execute.
      worth = site.timeBytes((known.bytes - cost) / bytesOfInstruction);
      threshold = bytes + worth;
    }
    const isClose = cost > threshold * surelyLess && cost < threshold * surelyMore;
    return { inline: cost <= threshold, cost, threshold, isClose, share, worth };
  }
}

/** Of what the callee has beside its body, bytes that one of its calls takes along. */
const shareOf = ({ isClosed, callSites }: CallOutside, costs: TargetCosts): number =>
  isClosed ? costs.instructions.function / callSites : 0;

/** Bytes that a copy may have. */
const thresholdOf = (site: CallOutside, costs: TargetCosts): number =>
  bytesOfCall(site.call, site.call.data.argumentCount, costs.instructions) + shareOf(site, costs);
