/** Where exceptions go that leave a call, by the unwind description and the exception table of a function. */
import { readCallSites } from "./call-sites.js";
import { type FrameInfo, type FrameRow, rowAt } from "./frame-info.js";
import type { CodeObject } from "./object.js";
import { instructionAt } from "./search.js";

/** Where an exception goes that leaves a call. */
export interface SiteUnwind {
  /** How the unwinder finds the frame. */
  readonly row: FrameRow;
  /** Instruction of the landing pad; -1 if there is none. */
  readonly pad: number;
  /** It can leave the function too. */
  readonly escapes: boolean;
}

/**
 * Tells where exceptions go that leave the calls of a function.
 * @param info its description; undefined: the unwinder does not know it
 * @param offsets of its instructions
 * @param misplaced is told of a landing pad that is no instruction
 */
export function unwinding(
  object: CodeObject,
  info: FrameInfo | undefined,
  offsets: Int32Array,
  misplaced: () => void,
): (at: number, kind: string) => SiteUnwind | null {
  if (info === undefined) return () => null;
  const { table, rows } = info;
  const entries = table === null ? null : readCallSites(object, table.section, table.offset);
  return (at, kind) => {
    if (kind !== "call") return null;
    // The unwinder looks at the last byte of the call.
    const place = offsets[at + 1]! - 1;
    const row = rowAt(rows, place);
    if (entries === null) return { row, pad: -1, escapes: true };
    const entry = entries.find(({ start, end }) => start <= place && place < end);
    // Without an entry the program ends.
    if (entry === undefined) return { row, pad: -1, escapes: false };
    const pad = entry.pad < 0 ? -1 : instructionAt(offsets, entry.pad);
    if (pad < 0 && entry.pad >= 0) misplaced();
    const stays = entry.actions.some((a) => a.kind === "cleanup" || (a.kind === "catch" && a.type === ""));
    return { row, pad, escapes: !stays };
  };
}
