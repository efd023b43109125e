/**
 * Debug records of a body that is being edited, by the values that they name; made where the body has any, and kept
 * current by its editor. No use list knows of them.
 */
import { type DebugRecord, forEachRecord, isLocal, type Local } from "./debug-records.js";
import { salvage } from "./debug-salvage.js";
import type { Block, Body, Inst } from "./instructions.js";
import type { Value } from "./values.js";

export class DebugUses {
  private readonly users = new Map<Local, Set<DebugRecord>>();
  /** Records before the end of a block that has no terminator at the moment. */
  private readonly pending = new Map<Block, DebugRecord[]>();

  constructor(body: Body) {
    forEachRecord(body, (record) => this.add(record));
  }

  private add(record: DebugRecord): void {
    for (const value of record.values) {
      if (!isLocal(value)) continue;
      const known = this.users.get(value);
      if (known === undefined) this.users.set(value, new Set([record]));
      else known.add(record);
    }
  }

  /** Records that name a value. */
  of(value: Local): readonly DebugRecord[] {
    return [...(this.users.get(value) ?? [])].filter(({ values }) => values.includes(value));
  }

  /** An instruction that has records came into the body. */
  adopt({ debug }: Inst): void {
    if (debug !== null) for (const record of debug) this.add(record);
  }

  /** Records of a value that others stand for from now on. */
  replace(of: Local, by: Value): void {
    const known = this.users.get(of);
    if (known === undefined) return;
    this.users.delete(of);
    this.replaceIn(known, of, by);
  }
  replaceIn(records: Iterable<DebugRecord>, of: Local, by: Value): void {
    for (const record of records) {
      if (by.valueKind === "undef") record.forget();
      else if (record.values.includes(of)) {
        record.values = record.values.map((value) => (value === of ? by : value));
        this.add(record);
      }
    }
  }

  /** The instruction goes; it still has its operands. */
  erased(inst: Inst): void {
    const known = this.users.get(inst);
    if (known === undefined) return;
    this.users.delete(inst);
    for (const record of known) {
      salvage(record, inst);
      this.add(record);
    }
  }

  /** The last instruction of a block went, and what stood before it waits for the next. */
  park(block: Block, records: readonly DebugRecord[]): void {
    const known = this.pending.get(block);
    this.pending.set(block, known === undefined ? [...records] : [...known, ...records]);
  }
  /** What waits at the end of a block, which no longer does. */
  unpark(block: Block): readonly DebugRecord[] {
    const known = this.pending.get(block);
    if (known === undefined) return [];
    this.pending.delete(block);
    return known;
  }
}
