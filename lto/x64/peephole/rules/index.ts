/** All rules, in the order in which they are asked at an instruction. The names are what options call them. */
import type { EdgeRule, Rule, RuleInfo } from "../rule.js";
import { exchangeBaseAndIndex, indexAsBase, leaByAdd, leaByCopy } from "./addresses.js";
import { addByIncrement, addByteNegated, addOfCopy, dropDead } from "./arithmetic.js";
import {
  compareByTest,
  compareByteBound,
  dropRepeatedCompare,
  dropTestOfMemory,
  dropTestOfResult,
  testLowByte,
  testLowHalf,
} from "./comparisons.js";
import {
  byteOverZero,
  constantByPush,
  constantFromRegister,
  constantInLowByte,
  dropKnownConstant,
  oneByIncrement,
  onesByOr,
  storeByMask,
  storeFromRegister,
  zeroByXor,
} from "./constants.js";
import {
  computeInPlace,
  copyByExchange,
  copyByPush,
  dropKnownCopy,
  dropZeroedVector,
  narrowCopy,
} from "./copies.js";
import { compareLoaded, hoistLatchCopies, sinkToTest } from "./edges.js";
import {
  extendOriginal,
  extendRax,
  maskByExtension,
  narrowMask,
  shiftsByExtension,
  zeroBeforeSet,
} from "./extensions.js";
import { compareNeighbour, dropCompareOfAllPaths } from "./path-compares.js";
import { mergeConstantStores } from "./stores.js";
import { dropExtension, narrowCompare, narrowLogic, narrowTest } from "./widths.js";

/** With what registers hold. */
export const forwardRules: readonly Rule[] = [
  mergeConstantStores,
  dropKnownCopy,
  narrowCopy,
  dropExtension,
  dropKnownConstant,
  constantFromRegister,
  constantInLowByte,
  storeFromRegister,
  dropZeroedVector,
  narrowLogic,
  narrowTest,
  narrowCompare,
];

/** With what is needed afterwards. */
export const backwardRules: readonly Rule[] = [
  dropDead,
  dropTestOfResult,
  dropTestOfMemory,
  dropRepeatedCompare,
  computeInPlace,
  addOfCopy,
  shiftsByExtension,
  zeroBeforeSet,
  extendOriginal,
  zeroByXor,
  constantByPush,
  onesByOr,
  oneByIncrement,
  byteOverZero,
  addByIncrement,
  addByteNegated,
  compareByTest,
  compareByteBound,
  testLowByte,
  testLowHalf,
  maskByExtension,
  narrowMask,
  leaByCopy,
  leaByAdd,
  extendRax,
  storeByMask,
  // Last: an exchange is no copy for others.
  copyByExchange,
  copyByPush,
];

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
