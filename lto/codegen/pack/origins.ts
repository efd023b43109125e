/** Origins of packed functions, whose words know nothing of them: for what edits words. Loaded with the outliners; used where a report is wanted. */
import type { Origins } from "../../ir/origins.js";
import type { PackedFunction } from "./format.js";
import { packedHead, skipInstruction } from "./walk.js";

/** Words that are replaced by one instruction: where they start and end. */
export interface WordsReplaced {
  readonly from: number;
  readonly end: number;
}

/** Calls `visit` on the first word of each instruction, in order. */
function forEachInstruction(packed: PackedFunction, visit: (at: number, index: number) => void): void {
  const { words } = packed;
  let at = packed.blocks;
  let index = 0;
  for (let blocks = packedHead(packed).blocks; blocks > 0; blocks--)
    for (let left = words[at++]!; left > 0; left--) {
      visit(at, index++);
      at = skipInstruction(words, at);
    }
}

/**
 * Origins of the instructions when some have been replaced, each run by one that has the origin of the first, and stands for
 * all where that can be said.
 * @param edits in the order of the code @returns undefined where all is the function's own
 */
export function editedOrigins(
  packed: PackedFunction,
  edits: readonly WordsReplaced[],
  table: Origins | null = null,
): Int32Array | undefined {
  const { origins } = packed;
  if (origins === undefined) return undefined;
  const kept: number[] = [];
  let next = 0;
  let run: number[] = [];
  const finish = (): void => {
    if (run.length > 1 && table?.hasLocations === true)
      kept[kept.length - 1] = table.standingFor(run.filter((origin) => origin > 0));
    run = [];
  };
  forEachInstruction(packed, (at, index) => {
    while (next < edits.length && at >= edits[next]!.end) {
      finish();
      next++;
    }
    const edit = edits[next];
    const origin = origins[index]!;
    if (edit === undefined || at <= edit.from) kept.push(origin);
    if (edit !== undefined && at >= edit.from) run.push(origin);
  });
  finish();
  return Int32Array.from(kept);
}

/** The origin of the instruction at each word where one starts; undefined where all is the function's own. */
export function originsByWord(packed: PackedFunction): ReadonlyMap<number, number> | undefined {
  const { origins } = packed;
  if (origins === undefined) return undefined;
  const found = new Map<number, number>();
  forEachInstruction(packed, (at, index) => found.set(at, origins[index]!));
  return found;
}
