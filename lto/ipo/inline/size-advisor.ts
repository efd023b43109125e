/**
 * Inlines for size.
 */
import type { Advice, CallSite, InlineAdvisor } from "./advisor.js";

export class SizeAdvisor implements InlineAdvisor {
  advise({ cost, call, isClosed, callSites }: CallSite): Advice {
    const saved = 30 + 5 * call.data.argumentCount;
    if (isClosed && callSites === 1)
      return { inline: cost.cost - saved < 100, cost: cost.cost, threshold: 100 };
    return { inline: cost.cost - saved < 0, cost: cost.cost, threshold: saved };
  }
}
