/**
 * What the machine outliner says of its decisions, in the words and keys of LLVM's, with sizes of both sides.
 *
 * A candidate is code that can be shared and would be worth it if nothing else were shared; of repeats that cannot save
 * anything, however they are taken, nothing is said. Decisions come in the order in which they are made, which depends on
 * the code alone. Linear in the candidates; not loaded with work where nobody wants remarks.
 */
import { listOfPlaces, type Remark, type RemarkFact, words } from "../../pass/remarks.js";
import type { OutlineCandidate, OutlineSizes } from "./candidates.js";

/** The step's name, as options spell it. */
export const outlineRemarks = "outline";
const pass = outlineRemarks;

/** What is common to both. Bytes of code and of unwind tables, as they are with the function made and without. */
function sizes({ code, codeBefore, tables, tablesBefore }: OutlineSizes): RemarkFact[] {
  return [
    words(" (cost="),
    ["Cost", code + tables],
    words(", threshold="),
    ["Threshold", codeBefore + tablesBefore],
    words("; code: "),
    ["CodeBytes", code],
    words(" instead of "),
    ["CodeBytesBefore", codeBefore],
    words(", tables: "),
    ["TableBytes", tables],
    words(" instead of "),
    ["TableBytesBefore", tablesBefore],
    words(")"),
  ];
}

/**
 * A function was made.
 * @param name its name
 * @param places names of the functions that its code was in, one for each place
 */
export const outlined = (
  name: string,
  round: number,
  candidate: OutlineCandidate,
  bytes: OutlineSizes,
  places: readonly string[],
): Remark => ({
  kind: "Passed",
  pass,
  name: "OutlinedFunction",
  function: name,
  facts: [
    words("saved "),
    ["OutliningBenefit", bytes.benefit],
    words(" bytes by outlining "),
    ["Length", candidate.length],
    words(" instructions from "),
    ["NumOccurrences", places.length],
    words(" places, in round "),
    ["Round", round],
    words(", as a "),
    ["Form", candidate.form],
    words(" of "),
    ["FunctionBytes", candidate.bodyBytes],
    words(" bytes"),
    ...sizes(bytes),
    words("; found in: "),
    ...listOfPlaces(places),
  ],
});

/**
 * No function was made.
 * @param found names of the functions with its places, each once
 * @param all bytes for all its places
 * @param left bytes for those that other functions left; null where none did
 * @param places how many they are
 */
export function notOutlined(
  found: readonly string[],
  round: number,
  candidate: OutlineCandidate,
  all: OutlineSizes,
  left: OutlineSizes | null,
  places: number,
): Remark {
  const isLost = all.benefit > 0;
  const bytes = isLost && left !== null ? left : all;
  return {
    kind: "Missed",
    pass,
    name: isLost ? "PlacesTaken" : "NotOutliningCheaper",
    function: found[0]!,
    facts: [
      words("did not outline "),
      ["Length", candidate.length],
      words(" instructions from "),
      ["NumOccurrences", candidate.starts.length],
      words(" places, in round "),
      ["Round", round],
      words(", as a "),
      ["Form", candidate.form],
      words(isLost ? ", since other functions left " : ", of which without overlaps "),
      ["NumFree", places],
      ...(isLost && left === null ? [words(" of them")] : sizes(bytes)),
      words("; found in: "),
      ...listOfPlaces(found),
    ],
  };
}
