/** Rules for hints: what may stand on which instruction, and values that fit it (LLVM Language Reference, "Metadata"). */

import { acceptsTags, armsOf } from "../ir/hints/from-metadata.js";
import { HintFlag, type Hints } from "../ir/hints.js";
import { type Inst, isCall, isTerminator, Op } from "../ir/instructions.js";
import { isPowerOfTwo, type Problem } from "./rules.js";

const loadFlags = HintFlag.NonNull | HintFlag.NoUndef | HintFlag.InvariantLoad;
const accessFlags = HintFlag.InvariantGroup | HintFlag.Nontemporal;

/** What is wrong with the hints of an instruction, or null. */
export function hintsProblem(inst: Inst, hints: Hints): Problem {
  const { op, type } = inst;
  const isLoad = op === Op.Load;
  const isPlainCall = op === Op.Call || op === Op.Invoke;
  let legal = 0;
  if (isLoad) legal |= loadFlags | accessFlags;
  if (op === Op.Store) legal |= accessFlags;
  if (armsOf(inst) >= 0) legal |= HintFlag.Unpredictable;
  if (hints.weights !== null) legal |= HintFlag.ExpectedWeights;
  if ((hints.flags & ~legal) !== 0) return "hints that the operation cannot have";
  const { align, dereferenceable, dereferenceableOrNull } = hints;
  const ofPointer =
    hints.has(HintFlag.NonNull) || align !== 0 || dereferenceable !== 0 || dereferenceableOrNull !== 0;
  if (ofPointer && !(isLoad && type.isPointer)) return "a hint on a pointer that is not loaded";
  if (align !== 0 && !isPowerOfTwo(align)) return `a hint of alignment ${align}`;
  if (!isSize(dereferenceable) || !isSize(dereferenceableOrNull)) return "a hint of no number of bytes";
  const ofAccess = hints.tbaa !== null || hints.scopes !== null || hints.noalias !== null;
  if (ofAccess && !acceptsTags(inst)) return "a hint on memory of an instruction that does not access it";
  if (hints.range !== null) {
    if (!isLoad && !isPlainCall) return "a range of something else than a load or call";
    const problem = rangeProblem(hints.range, type.scalar.kind === "int" ? type.scalar.bits : 0);
    if (problem !== null) return problem;
  }
  if (hints.weights !== null) {
    const { length } = hints.weights;
    if (length !== armsOf(inst) && !(isPlainCall && length === 1))
      return `${length} weights for ${armsOf(inst)} ways`;
    if (!hints.weights.every(isSize)) return "a weight that is no number";
  }
  if (hints.loop !== null && !isTerminator(op)) return "loop hints inside a block";
  // Of a call whose pointer has become known since they say nothing more.
  if (hints.callees !== null && !isCall(inst)) return "callees of something else than a call";
  if (hints.accuracy !== 0 && (!(hints.accuracy > 0) || !type.scalar.isFloat))
    return "an accuracy that makes no sense";
  return null;
}

const isSize = (n: number): boolean => Number.isSafeInteger(n) && n >= 0;

function rangeProblem(bounds: readonly bigint[], bits: number): Problem {
  if (bits === 0) return "a range of no integer";
  if (bounds.length === 0 || bounds.length % 2 !== 0) return "half of a range";
  for (let i = 0; i < bounds.length; i += 2) {
    const from = bounds[i]!;
    const to = bounds[i + 1]!;
    if (from === to) return "an empty range";
    if (BigInt.asIntN(bits, from) !== from || BigInt.asIntN(bits, to) !== to)
      return `a range that does not fit i${bits}`;
  }
  return null;
}
