/**
 * What the outliner of the IR says of its decisions, in the words and keys of LLVM's, with the sizes of both sides.
 *
 * A candidate is code that could save bytes if nothing had to be passed; of repeats that could not even then nothing is said.
 * Decisions come in the order in which they are made, which depends on the code alone.
 */
import type { Func } from "../../ir/module.js";
import { listOfPlaces, type Remark, type RemarkFact, words } from "../../pass/remarks.js";
import { isCertain, type OutlinePlan } from "./plan.js";

/** Bytes with the function and without; its own are exact where code was generated for it, all others are estimates. */
const sizes = ({ before, after, body, isTried, parameters, outputs }: OutlinePlan): RemarkFact[] => [
  words(" (cost="),
  ["Cost", Math.round(after)],
  words(", threshold="),
  ["Threshold", Math.round(before)],
  words(isTried ? "; function: " : "; function, as estimated: "),
  ["FunctionBytes", Math.round(body)],
  words(" bytes, parameters: "),
  ["NumParameters", parameters.list.length],
  words(", results: "),
  ["NumResults", outputs.length],
  words(")"),
];

/**
 * A function was made.
 * @param places names of the functions that its code was in, one for each piece
 */
export const outlined = (
  pass: string,
  name: string,
  length: number,
  places: readonly string[],
  plan: OutlinePlan,
): Remark => ({
  kind: "Passed",
  pass,
  name: "OutlinedFunction",
  function: name,
  facts: [
    words("saved "),
    ["OutliningBenefit", Math.round(plan.before - plan.after)],
    words(" bytes by outlining "),
    ["Length", length],
    words(" instructions from "),
    ["NumOccurrences", places.length],
    words(" places"),
    ...sizes(plan),
    words("; found in: "),
    ...listOfPlaces(places),
  ],
});

/**
 * No function was made.
 * @param found the function of each piece of the candidate
 * @param free those that other functions left, without overlaps
 * @param plan for these; null: they would take more registers than there are, or are fewer than two
 * @param time bytes that the time of calls there is worth
 */
export function notOutlined(
  pass: string,
  found: readonly Func[],
  length: number,
  free: number,
  plan: OutlinePlan | null,
  time: number,
): Remark {
  const isHot = plan !== null && time > 0 && isCertain(plan, free);
  const cause = isHot ? "NotOutliningHot" : "NotOutliningCheaper";
  const name = free < 2 ? "PlacesTaken" : plan === null ? "TooManyInputs" : cause;
  return {
    kind: "Missed",
    pass,
    name,
    function: found[0]!.name,
    facts: [
      words("did not outline "),
      ["Length", length],
      words(" instructions from "),
      ["NumOccurrences", found.length],
      words(" places, of which without overlaps "),
      ["NumFree", free],
      ...(plan !== null
        ? sizes(plan)
        : free < 2
          ? []
          : [words(", since not all inputs and results fit in registers")]),
      ...(isHot
        ? [words(", bytes that the time of calls is worth: "), ["TimeBytes", Math.round(time)] as const]
        : []),
      words("; found in: "),
      ...listOfPlaces([...new Set(found.map(({ name: place }) => place))]),
    ],
  };
}
