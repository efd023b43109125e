/**
 * Debug records of bodies whose lists were changed without their editor: what stood before an instruction that is gone
 * stands before what followed it, records name values that are there, and variables of which a record got lost are
 * forgotten.
 */
import {
  allUnknown,
  type DebugRecord,
  Dw,
  forEachRecord,
  forgetVariables,
  isLocal,
  type Local,
  passRecords,
  putBefore,
} from "./debug-records.js";
import { salvage } from "./debug-salvage.js";
import { type Block, type Body, type BodyView, type Inst, Op } from "./instructions.js";
import { type ChangedBlocks, changedBlocks, keptInBlock, madeAfter, placesIn } from "./kept-order.js";
import type { Argument, Value } from "./values.js";

export class DebugReconciliation {
  private readonly before: (readonly [Block, readonly Inst[]])[];

  /** To be made before the change. Instructions that are taken out must keep their operands until `settle`. */
  constructor(private readonly body: Body) {
    this.before = body.blocks.map((block) => [block, block.insts.slice()]);
  }

  /** After the change. */
  settle(): void {
    const { body } = this;
    const changed = changedBlocks<Inst, Block>(this.before, body.blocks);
    if (changed.before.length === 0) return;
    const places = placesIn<Inst, Block>(changed.now);
    forgetVariables(body, settleAnchors(changed, places));
    const gone = new Set<Inst>();
    for (const [, insts] of changed.before) for (const inst of insts) if (!places.has(inst)) gone.add(inst);
    if (gone.size > 0) settleValues(body, gone);
  }
}

/** @returns records that have no place any more */
function settleAnchors(
  { before, now }: ChangedBlocks<Inst, Block>,
  places: ReadonlyMap<Inst, readonly [Block, number]>,
): DebugRecord[] {
  const old = new Set<Inst>();
  for (const [, insts] of before) for (const inst of insts) old.add(inst);
  const blocks = new Set(now);
  const lost: DebugRecord[] = [];
  const made = madeAfter(now, old, ({ op }) => op !== Op.Phi);
  for (const [block, insts] of before) {
    let records: DebugRecord[] = [];
    let last: Inst | Block = block;
    /** Nothing was taken out in front. */
    let isNext = true;
    // Where one was moved to is not where its records hold.
    const kept = keptInBlock(block, insts, places);
    for (const inst of insts) {
      if (kept.has(inst)) {
        if (records.length > 0) putBefore(inst, records);
        records = [];
        last = inst;
        isNext = true;
      } else {
        if (inst.debug !== null) {
          const first = made.get(last);
          if (first !== undefined && isNext) passRecords(inst, first);
          else {
            // Which of the new ones come before is not known.
            if (first !== undefined) unknownFrom(first, inst.debug);
            records.push(...inst.debug);
            inst.debug = null;
          }
        }
        isNext = false;
      }
    }
    if (records.length === 0) continue;
    // The end of the block is another one.
    if (blocks.has(block) && block.insts.length > 0) putBefore(block.terminator, records);
    else lost.push(...records);
  }
  return lost;
}

/** Nothing is known from an instruction on of what is said after it. */
function unknownFrom(inst: Inst, records: readonly DebugRecord[]): void {
  const unknown = allUnknown(records.filter((record) => record.isStatement));
  inst.debug = [...(inst.debug ?? []), ...unknown];
}

function settleValues(body: Body, gone: ReadonlySet<Inst>): void {
  // What a value that is gone was made of may have come and gone since.
  let present: Set<Inst> | null = null;
  const isAbsent = (value: Inst): boolean => {
    if (present === null) {
      present = new Set();
      for (const { insts } of body.blocks) for (const inst of insts) present.add(inst);
    }
    return !present.has(value);
  };
  forEachRecord(body, (record) => {
    if (!record.values.some((value) => value.valueKind === "inst" && gone.has(value))) return;
    for (let steps = 0; steps < 16; steps++) {
      const absent = record.values.find(
        (value): value is Inst => value.valueKind === "inst" && isAbsent(value),
      );
      if (absent === undefined) return;
      if (absent.operands.length === 0) break;
      salvage(record, absent);
    }
    record.forget();
  });
}

/** Values that stand for others, in a body without use lists. */
export function replaceInRecords(body: Body, by: (value: Inst) => Inst["operands"][number]): void {
  forEachRecord(body, (record) => {
    if (!record.values.some((value) => value.valueKind === "inst" && by(value) !== value)) return;
    record.values = record.values.map((value) => (value.valueKind === "inst" ? by(value) : value));
    if (record.values.some((value) => value.valueKind === "undef")) record.forget();
  });
}

/** A function has other arguments. @param to what stands for one, by its index; null: nothing */
export function moveArguments(body: Body, to: (index: number) => Argument | null): void {
  forEachRecord(body, (record) => {
    if (!record.values.some((value) => value.valueKind === "argument")) return;
    const moved = record.values.map((value) => (value.valueKind === "argument" ? to(value.index) : value));
    if (moved.includes(null)) record.forget();
    else record.values = moved as Value[];
  });
}

/** What an address leads into, as far as offsets are added to it. */
function objectOf(address: Value): Value {
  let at = address;
  while (
    at.valueKind === "inst" &&
    (at.op === Op.GetElementPtr || at.op === Op.BitCast || at.op === Op.AddrSpaceCast)
  )
    at = at.operands[0]!;
  return at;
}

/** What is stored there is stored no more, or later: variables that are said to lie there are forgotten. */
export function forgetStored(body: BodyView, addresses: readonly Value[]): void {
  if (!body.hasDebug) return;
  const objects = new Set(addresses.map(objectOf).filter(isLocal));
  if (objects.size === 0) return;
  const found: DebugRecord[] = [];
  forEachRecord(body, (record) => {
    const isMemory = record.isDeclaration || record.expression.includes(Dw.Deref);
    if (isMemory && record.values.some((value) => objects.has(objectOf(value) as Local))) found.push(record);
  });
  forgetVariables(body, found);
}

/** Blocks that are not reached go with what is said in them. */
export function dropRecords({ insts }: Block): void {
  for (const inst of insts) inst.debug = null;
}
