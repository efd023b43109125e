/**
 * Jump tables with entries of one or two bytes, for size.
 *
 * Where the places that a table leads to lie near each other, an entry is the distance from the first of them:
 *
 *     .long A, B, C    →    .byte A-A, B-A, C-A     with an addition after the load
 *
 * Tables start as narrow as there is and widen where a distance asks for it, together with the branches around them,
 * until nothing changes: loads of narrow entries are longer code, so that distances only grow. The longer code is made
 * up for by the fewest entries that selection makes a table for. Linear a round; rounds are few.
 * Breaks if: something after this step changes the length of an instruction, or inline assembly is longer than
 * estimated (the assembler refuses entries that do not fit). So functions with any keep entries of 4 bytes.
 */
import type { JumpTable, MBlock, MFunction } from "../mir.js";
import { OpFact } from "../target.js";
import { relaxedStarts } from "./layout.js";

/** Entries from which on a narrow table makes up for its code: 4 bytes become 1 or 2, and code grows by up to 9. */
const fewestEntries = 5;

export function narrowJumpTables(mf: MFunction): void {
  if (mf.goal !== "minsize" || mf.jumpTables.length === 0 || hasAssembly(mf)) return;
  const candidates = liveTables(mf).filter(
    ({ targets, entryBytes }) => entryBytes === 4 && targets.length >= fewestEntries,
  );
  if (candidates.length === 0) return;
  const position = new Map<MBlock, number>();
  mf.blocks.forEach((block, i) => void position.set(block, i));
  const wide = candidates.map(({ origin }) => origin);
  for (const table of candidates) narrow(table, 1, firstOf(table, position));
  for (let changed = true; changed; ) {
    changed = false;
    const starts = relaxedStarts(mf);
    const start = (block: MBlock): number => starts[position.get(block)!]!;
    candidates.forEach((table, i) => {
      if (table.entryBytes === 4) return;
      const first = start(table.origin as MBlock);
      let farthest = 0;
      for (const target of table.targets) farthest = Math.max(farthest, start(target) - first);
      const needed = farthest < 1 << 8 ? 1 : farthest < 1 << 16 ? 2 : 4;
      if (needed <= table.entryBytes) return;
      table.entryBytes = needed;
      if (needed === 4) table.origin = wide[i]!;
      changed = true;
    });
  }
}

/** The tables that code is left for. */
export function liveTables(mf: MFunction): JumpTable[] {
  const mentioned = new Set<JumpTable>();
  for (const { insts } of mf.blocks)
    for (const { extra } of insts) if (extra?.kind === "jump-table") mentioned.add(extra.table);
  return mf.jumpTables.filter((table) => table.targets.length > 0 && mentioned.has(table));
}

function narrow(table: JumpTable, entryBytes: 1 | 2, origin: MBlock): void {
  table.entryBytes = entryBytes;
  table.origin = origin;
}

/** The target that stands first. */
function firstOf({ targets }: JumpTable, position: ReadonlyMap<MBlock, number>): MBlock {
  let first = targets[0]!;
  for (const target of targets) if (position.get(target)! < position.get(first)!) first = target;
  return first;
}

const hasAssembly = ({ blocks, target }: MFunction): boolean =>
  blocks.some(({ insts }) => insts.some(({ op }) => (target.instructions.facts[op]! & OpFact.Asm) !== 0));
