/**
 * Debug records during selection: where they stand in the code, and, once it is known which values have registers, what they
 * speak of. Nothing is demanded for their sake.
 */
import { dominatorTree } from "../../analysis/dominators.js";
import { type DebugRecord, Dw, forEachRecord } from "../../ir/debug-records.js";
import { salvage } from "../../ir/debug-salvage.js";
import { type Body, type Inst, Op } from "../../ir/instructions.js";
import { type Type, voidType } from "../../ir/types.js";
import type { Argument, Value } from "../../ir/values.js";
import type { FunctionMarks, Mark, MarkValue, OneValue } from "../debug/marks.js";
import type { MInst } from "../mir.js";
import type { FunctionSelection } from "./function-selection.js";

const mostSteps = 8;
/** Values that have no register of their own are numbered from here on. */
const firstOther = 2 ** 30;

export class SelectionDebug {
  private readonly placed: [MInst, readonly DebugRecord[]][] = [];
  /** Slots in which arguments are passed, whose addresses they are. */
  readonly argumentSlots = new Map<number, number>();
  /** Registers in which arguments arrive that nothing reads. */
  readonly arrivals = new Map<number, number>();

  constructor(
    private readonly s: FunctionSelection,
    private readonly marks: FunctionMarks,
  ) {}

  /** Records stand before an instruction; of those at the end of code nothing comes after. */
  place(records: readonly DebugRecord[], before: MInst | undefined): void {
    if (before !== undefined) this.placed.push([before, records]);
  }

  /** All is selected. @param entry the instruction that defines arguments */
  finish(entry: MInst | undefined): void {
    const arrived: Mark[] = [];
    for (const [inst, records] of this.placed)
      this.marks.put(
        inst,
        records.map((record): Mark => {
          if (record.isLabel) return { kind: "label", variable: record.variable, origin: record.origin };
          const of = this.valueOf(record, arrived);
          const { variable, origin, expression, isDeclaration } = record;
          return { kind: "variable", variable, origin, expression, isDeclaration, of };
        }),
      );
    if (entry !== undefined) this.marks.put(entry, arrived);
  }

  private valueOf(record: DebugRecord, arrived: Mark[]): MarkValue {
    for (let steps = 0; steps < mostSteps && record.isKnown; steps++) {
      const parts: OneValue[] = [];
      for (const value of record.values) {
        const known =
          value.valueKind === "argument"
            ? this.argument(value, arrived)
            : value.valueKind === "inst"
              ? this.instruction(value)
              : constantOf(value);
        if (known !== null) {
          parts.push(known);
          continue;
        }
        if (value.valueKind !== "inst") return unknown(record);
        salvage(record, value);
        break;
      }
      if (!record.isKnown || parts.length < record.values.length) continue;
      return record.expression.includes(Dw.Arg) ? { kind: "several", parts } : parts[0]!;
    }
    return unknown(record);
  }

  private instruction(inst: Inst): OneValue | null {
    const { s } = this;
    if (inst.op === Op.Alloca) {
      const slot = s.slots.slots[inst.id]!;
      if (slot >= 0) return { kind: "slot", slot };
    }
    if (s.livesInMemory(inst.type) || inst.type.isAggregate) return null;
    const bits = this.bitsOf(inst.type);
    if (bits === 0) return null;
    const vreg =
      inst.op === Op.ExtractValue && inst.operands[0]!.valueKind === "inst"
        ? s.values.partOf(inst.operands[0] as Inst, inst.data[0]!)
        : s.values.vregs[inst.id]!;
    return vreg < 0 ? null : { kind: "value", value: vreg, bits };
  }

  private argument(argument: Argument, arrived: Mark[]): OneValue | null {
    const { s } = this;
    const slot = this.argumentSlots.get(argument.index);
    if (slot !== undefined) return { kind: "slot", slot };
    const bits = this.bitsOf(argument.type);
    if (bits === 0 || s.livesInMemory(argument.type)) return null;
    const vreg = s.values.argumentVRegs[argument.index] ?? -1;
    if (vreg >= 0) return { kind: "value", value: vreg, bits };
    const location = this.arrivals.get(argument.index);
    if (location === undefined) return null;
    const value = firstOther + argument.index;
    arrived.push({ kind: "place", value, location, bytes: Math.ceil(bits / 8) });
    return { kind: "value", value, bits };
  }

  private bitsOf(type: Type): number {
    return type === voidType || type.kind === "token" || type.kind === "metadata"
      ? 0
      : this.s.layout.bitWidth(type);
  }
}

function unknown(record: DebugRecord): MarkValue {
  record.forget();
  return { kind: "unknown" };
}

function constantOf(value: Value): OneValue | null {
  const words = (number: bigint, bits: number): OneValue => ({
    kind: "constant",
    low: Number(BigInt.asIntN(32, number)),
    high: Number(BigInt.asIntN(32, number >> 32n)),
    bits,
  });
  switch (value.valueKind) {
    case "int":
      return value.type.bits <= 64 ? words(value.value, value.type.bits) : null;
    case "float":
      return value.type.kind === "float"
        ? words(value.bits, 32)
        : value.type.kind === "double"
          ? words(value.bits, 64)
          : null;
    case "zero":
      return value.type.kind === "ptr" ? words(0n, 64) : null;
    default:
      return null;
  }
}

/** Forgets what records say of values that are not there yet where they stand. Numbers the body. */
export function forgetUndefined(body: Body): void {
  body.renumber();
  const tree = dominatorTree(body);
  forEachRecord(body, (record, anchor) => {
    const isThere = (value: Value): boolean => {
      if (value.valueKind !== "inst") return true;
      const from = value.parent;
      const to = anchor.parent!;
      if (from === null) return false;
      return from === to ? value.id < anchor.id : tree.dominates(from.id, to.id);
    };
    if (!record.values.every(isThere)) record.forget();
  });
}
