/** All rules, in the order in which they are asked at an instruction. */
import type { EdgeRule, Rule, RuleGroup, RuleInfo } from "../rule.js";
import { addressRules, exchangeBaseAndIndex, indexAsBase } from "./addresses.js";
import { arithmeticRules } from "./arithmetic.js";
import { bitRules } from "./bits.js";
import { comparisonRules } from "./comparisons.js";
import { constantRules } from "./constants.js";
import { copyRules } from "./copies.js";
import { compareLoaded, hoistLatchCopies, sinkToTest } from "./edges.js";
import { extensionRules } from "./extensions.js";
import { compareNeighbour, dropCompareOfAllPaths } from "./path-compares.js";
import { storeRules } from "./stores.js";
import { widthRules } from "./widths.js";

const groups: readonly RuleGroup[] = [
  storeRules, // Several stores at once, before each by itself.
  arithmeticRules,
  comparisonRules,
  bitRules, // Masks that no shorter form of the others takes.
  extensionRules,
  constantRules,
  addressRules,
  copyRules,
  widthRules,
];

/** With what registers hold. */
export const forwardRules: readonly Rule[] = groups.flatMap(({ forward }) => forward ?? []);

/** With what is needed afterwards. */
export const backwardRules: readonly Rule[] = groups.flatMap(({ backward }) => backward ?? []);

/** About memory operands with an index, whatever the instruction. */
export const indexedRules: readonly Rule[] = [indexAsBase, exchangeBaseAndIndex];

/** Across the edges of branches. */
const edgeRules: readonly EdgeRule[] = [
  compareNeighbour,
  dropCompareOfAllPaths,
  compareLoaded,
  sinkToTest,
  hoistLatchCopies,
];

export const rules: readonly RuleInfo[] = [...forwardRules, ...backwardRules, ...indexedRules, ...edgeRules];
