/**
 * What the machine outliner says of its decisions, in the words and keys of LLVM's, with sizes of both sides.
 *
 * A candidate is code that can be shared and would be worth it if nothing else were shared; of repeats that cannot save
 * anything, however they are taken, nothing is said. Decisions come in the order in which they are made, which depends on
 * the code alone. Linear in the candidates; not loaded with work where nobody wants remarks.
 */
import type { Remark, RemarkFact } from "../../pass/remarks.js";
import type { OutlineCandidate, OutlineSizes } from "./candidates.js";

/** The step's name, as options spell it. */
export const outlineRemarks = "outline";
const pass = outlineRemarks;

const text = (words: string): RemarkFact => ["String", words];

/** What is common to both. Bytes of code and of unwind tables, as they are with the function made and without. */
function sizes({ code, codeBefore, tables, tablesBefore }: OutlineSizes): RemarkFact[] {
  return [
    text(" (cost="),
    ["Cost", code + tables],
    text(", threshold="),
    ["Threshold", codeBefore + tablesBefore],
    text("; code: "),
    ["CodeBytes", code],
    text(" instead of "),
    ["CodeBytesBefore", codeBefore],
    text(", tables: "),
    ["TableBytes", tables],
    text(" instead of "),
    ["TableBytesBefore", tablesBefore],
    text(")"),
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
    text("saved "),
    ["OutliningBenefit", bytes.benefit],
    text(" bytes by outlining "),
    ["Length", candidate.length],
    text(" instructions from "),
    ["NumOccurrences", places.length],
    text(" places, in round "),
    ["Round", round],
    text(", as a "),
    ["Form", candidate.form],
    text(" of "),
    ["FunctionBytes", candidate.bodyBytes],
    text(" bytes"),
    ...sizes(bytes),
    text("; found in: "),
    ...places.flatMap((place, i): RemarkFact[] => [
      ...(i === 0 ? [] : [text(", ")]),
      [`Place${i + 1}`, place],
    ]),
  ],
});

/**
 * No function was made.
 * @param all bytes for all its places
 * @param left bytes for those that other functions left; null where none did
 * @param places how many they are
 */
export function notOutlined(
  fn: string,
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
    function: fn,
    facts: [
      text("did not outline "),
      ["Length", candidate.length],
      text(" instructions from "),
      ["NumOccurrences", candidate.starts.length],
      text(" places, in round "),
      ["Round", round],
      text(", as a "),
      ["Form", candidate.form],
      text(isLost ? ", since other functions left " : ", of which without overlaps "),
      ["NumFree", places],
      ...(isLost && left === null ? [text(" of them")] : sizes(bytes)),
    ],
  };
}
