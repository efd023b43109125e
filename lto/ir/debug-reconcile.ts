/**
 * Debug records of bodies whose lists were changed without their editor: what stood before an instruction that is gone
 * stands before what followed it, records name values that are there, and variables of which a record got lost are
 * forgotten.
 */
import {
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
import { keptInBlock, madeAfter, placesIn } from "./kept-order.js";
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
    const present = new Set<Inst>();
    for (const { insts } of body.blocks) for (const inst of insts) present.add(inst);
    forgetVariables(body, this.settleAnchors());
    settleValues(body, present);
  }

  /** @returns records that have no place any more */
  private settleAnchors(): DebugRecord[] {
    const places = placesIn(this.body.blocks);
    const old = new Set(this.before.flatMap(([, insts]) => insts));
    const blocks = new Set(this.body.blocks);
    const lost: DebugRecord[] = [];
    const made = madeAfter(this.body.blocks, old, ({ op }) => op !== Op.Phi);
    for (const [block, insts] of this.before) {
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
}

/** Nothing is known from an instruction on of what is said after it. */
function unknownFrom(inst: Inst, records: readonly DebugRecord[]): void {
  const unknown = records.filter((record) => !record.isDeclaration).map((record) => record.asUnknown());
  inst.debug = [...(inst.debug ?? []), ...unknown];
}

function settleValues(body: Body, present: ReadonlySet<Inst>): void {
  forEachRecord(body, (record) => {
    for (let steps = 0; steps < 16; steps++) {
      const gone = record.values.find(
        (value): value is Inst => value.valueKind === "inst" && !present.has(value),
      );
      if (gone === undefined) return;
      if (gone.operands.length === 0) break;
      salvage(record, gone);
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
