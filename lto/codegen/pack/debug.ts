/** What packed functions know of source variables, beside their words. */
import type { FunctionDebug } from "../debug/function-debug.js";
import type { LocatedVariables } from "../debug/located-ranges.js";
import { FunctionMarks, type Mark } from "../debug/marks.js";
import type { MFunction, MInst } from "../mir.js";
import type { PackedFunction } from "./format.js";
import type { WordsReplaced } from "./origins.js";
import { packedHead, skipInstruction } from "./walk.js";

/** Plain data, as what it is part of. */
export type PackedDebug =
  | {
      readonly stage: "marks";
      /** Instructions that have marks, by their positions in the code. */
      readonly at: Int32Array;
      readonly marks: readonly (readonly Mark[])[];
      /** The value of each definition, in the order of the code; -1: none. */
      readonly values: Int32Array;
      readonly constant: readonly number[];
      readonly forgotten: readonly number[];
      /** As in `FunctionMarks`. */
      readonly arrivals: readonly (readonly [value: number, register: number])[];
    }
  | {
      readonly stage: "located";
      readonly variables: LocatedVariables;
      /** What each instruction's position was when places were found, or one of these numbers; null: it is that still. */
      readonly positions: Int32Array | null;
    };

/** An instruction that was put in since. */
const isNew = -1;
/** One that does what several did, of which some were new. */
const standsForNew = -(2 ** 31);
/** One that does what several did, the first of which was at this position. */
const standsFor = (position: number): number => (position >= 0 ? -2 - position : position);

export function packDebug(mf: MFunction): PackedDebug | undefined {
  const { debug, blocks } = mf;
  if (debug === null) return undefined;
  const { marks, located } = debug;
  if (located !== null) {
    const { variables, ranges, locations, positions } = located;
    return {
      stage: "located",
      variables: { variables, ranges, locations },
      positions: packPositions(mf, positions),
    };
  }
  if (marks === null) return undefined;
  const at: number[] = [];
  const lists: Mark[][] = [];
  const values: number[] = [];
  let position = 0;
  for (const { insts } of blocks)
    for (const inst of insts) {
      const own = marks.before.get(inst);
      if (own !== undefined && own.length > 0) {
        at.push(position);
        lists.push(own);
      }
      for (const { vreg } of inst.defs) values.push(marks.rootOf(vreg));
      position++;
    }
  return {
    stage: "marks",
    at: Int32Array.from(at),
    marks: lists,
    values: Int32Array.from(values),
    constant: [...marks.constant],
    forgotten: [...marks.forgotten],
    arrivals: [...marks.arrivals],
  };
}

/** @returns null: of each instruction, where it is */
function packPositions({ blocks }: MFunction, known: ReadonlyMap<MInst, number>): Int32Array | null {
  let count = 0;
  for (const { insts } of blocks) count += insts.length;
  const positions = new Int32Array(count);
  let at = 0;
  let isSame = true;
  for (const { insts } of blocks)
    for (const inst of insts) {
      const position = known.get(inst) ?? isNew;
      if (position !== at) isSame = false;
      positions[at++] = position;
    }
  return isSame ? null : positions;
}

export function restoreDebug(mf: MFunction, { debug }: PackedFunction): void {
  mf.debug = debug === undefined ? null : restored(mf, debug);
}

function restored({ blocks }: MFunction, debug: PackedDebug): FunctionDebug {
  let position = 0;
  if (debug.stage === "located") {
    const { variables, positions } = debug;
    const known = new Map<MInst, number>();
    for (const { insts } of blocks)
      for (const inst of insts) {
        const own = positions === null ? position : positions[position]!;
        if (own !== isNew) known.set(inst, own);
        position++;
      }
    return { marks: null, located: { ...variables, positions: known } };
  }
  const marks = new FunctionMarks();
  let next = 0;
  let definition = 0;
  for (const { insts } of blocks)
    for (const inst of insts) {
      if (debug.at[next] === position) marks.before.set(inst, [...debug.marks[next++]!]);
      for (const def of inst.defs) def.vreg = debug.values[definition++]!;
      position++;
    }
  for (const value of debug.constant) marks.constant.add(value);
  for (const variable of debug.forgotten) marks.forgotten.add(variable);
  for (const [value, register] of debug.arrivals) marks.arrivals.set(value, register);
  return { marks, located: null };
}

/** Of a function in which runs of instructions were replaced, each by one that does the same. In the order of the code. */
export function editedDebug(
  packed: PackedFunction,
  edits: readonly WordsReplaced[],
): PackedDebug | undefined {
  const { debug, words } = packed;
  if (debug?.stage !== "located") return debug;
  const kept: number[] = [];
  let at = packed.blocks;
  let position = 0;
  let next = 0;
  for (let blocks = packedHead(packed).blocks; blocks > 0; blocks--)
    for (let left = words[at++]!; left > 0; left--) {
      while (next < edits.length && at >= edits[next]!.end) next++;
      const edit = edits[next];
      const own = debug.positions?.[position] ?? position;
      if (edit === undefined || at < edit.from) kept.push(own);
      else if (at === edit.from) kept.push(own === isNew ? standsForNew : standsFor(own));
      else if (own === isNew || own === standsForNew) kept[kept.length - 1] = standsForNew;
      position++;
      at = skipInstruction(words, at);
    }
  return { ...debug, positions: Int32Array.from(kept) };
}
