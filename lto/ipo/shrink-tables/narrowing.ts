/**
 * Which fields of a table take fewer bytes, and whether that pays: bytes of data against those of the code that extends what
 * it loads and steps by other sizes.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { type BodyView, type Inst, isCall, Op } from "../../ir/instructions.js";
import { arrayType, i8, i32, intType, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { type Places, type PointerFlow, stepsOf } from "./flow.js";
import { NewShape } from "./shape.js";
import type { FieldFacts, Table } from "./tables.js";

/** How a field's value comes back from fewer bytes; null: it is as it was, or nobody asks for it. */
export type Extension = Op.ZExt | Op.SExt | "pointer" | null;
/** Of fields that nobody loads. */
const nothing = arrayType(0, i8);

export interface Narrowing {
  readonly shape: NewShape;
  /** By field. */
  readonly extensions: readonly Extension[];
  /** Bytes that the tables are shorter by. */
  readonly saved: number;
  /** Bytes of code more; negative: fewer. */
  readonly code: number;
}

/** What code does with tables. By leader. */
export class TableUses {
  /** Loads by field, and those whose only use can read memory itself. */
  readonly loads: number[];
  readonly operands: number[];
  /** Steps by a number of elements that is not known. */
  steps = 0;
  isForSize = true;

  constructor(fields: number) {
    this.loads = new Array<number>(fields).fill(0);
    this.operands = new Array<number>(fields).fill(0);
  }
}

/** Adds up what a body does. */
export function addUses(
  uses: Map<Table, TableUses>,
  {
    flow,
    body,
    places,
    isForSize,
  }: { flow: PointerFlow; body: BodyView; places: Places; isForSize: boolean },
): void {
  const usesOf = (value: Value): TableUses | null => {
    const at = flow.pointerOf(value, places);
    if (at === null || at.table.isGivenUp) return null;
    const { leader } = at.table;
    let known = uses.get(leader);
    if (known === undefined) uses.set(leader, (known = new TableUses(leader.shape.fields.length)));
    known.isForSize &&= isForSize;
    return known;
  };
  const loaded = new Map<Value, { readonly uses: TableUses; readonly field: number; users: Inst[] }>();
  for (const { insts } of body.blocks)
    for (const inst of insts) {
      if (inst.op === Op.Load) {
        const [address] = inst.operands as [Value];
        const all = usesOf(address);
        if (all === null) continue;
        const { table, place } = flow.pointerOf(address, places)!;
        const field = table.shape.fieldAt(place);
        all.loads[field]!++;
        loaded.set(inst, { uses: all, field, users: [] });
      } else if (inst.op === Op.GetElementPtr) {
        const all = usesOf(inst.operands[0]!);
        if (all !== null) all.steps += stepsOf(inst, flow.dataLayout)?.scales.length ?? 0;
      }
    }
  for (const { insts } of body.blocks)
    for (const inst of insts) for (const operand of inst.operands) loaded.get(operand)?.users.push(inst);
  for (const { uses: all, field, users } of loaded.values())
    if (users.length === 1 && readsMemory(users[0]!)) all.operands[field]!++;
}

/** Selection may make the load an operand of the instruction. */
function readsMemory(inst: Inst): boolean {
  if (isCall(inst)) return true;
  return inst.op === Op.ICmp || (inst.op >= Op.Add && inst.op <= Op.Xor);
}

function extensionOf(
  { least, largest, isWide }: FieldFacts,
  type: Type,
): { type: Type; extension: Extension } {
  const asItIs = { type, extension: null };
  if (isWide) return asItIs;
  if (type.kind === "ptr") return { type: i32, extension: "pointer" };
  for (const bits of [8, 16, 32]) {
    if (bits >= type.bits) break;
    const end = 1n << BigInt(bits);
    if (least >= 0n && largest < end) return { type: intType(bits), extension: Op.ZExt };
    if (least >= -end / 2n && largest < end / 2n) return { type: intType(bits), extension: Op.SExt };
  }
  return asItIs;
}

/** Bytes of code that one load of a field becomes longer by. */
function loadBytes(from: Type, to: Type, isOperand: boolean): number {
  // No prefix; but it needs a register where it was an operand.
  if (from.kind === "ptr") return isOperand ? 2 : -1;
  const plain = from.bits === 32 && to.bits < 32 ? 1 : 0;
  return isOperand ? plain + 2 : plain;
}

/** Bytes of a step by so many elements of a size, in code that addresses memory. */
const stepBytes = (period: number): number => ([1, 2, 4, 8].includes(period) ? 0 : 4);

/** The best way to make a table smaller; null: there is none. */
export function narrow(table: Table, uses: TableUses, layout: DataLayout): Narrowing | null {
  const { shape, facts, variables } = table;
  const elements = variables.reduce((sum, v) => sum + layout.allocSize(v.valueType) / shape.period, 0);
  let best: Narrowing | null = null;
  // Addresses of elements stay apart.
  if (uses.loads.every((loads) => loads === 0)) return null;
  const fields = shape.fields.map(({ type }, number) => {
    if (uses.loads[number] === 0) return { type: nothing, extension: null, code: 0 };
    const narrowed = extensionOf(facts[number]!, type);
    const operands = uses.operands[number]!;
    const code =
      narrowed.extension === null
        ? 0
        : (uses.loads[number]! - operands) * loadBytes(type, narrowed.type, false) +
          operands * loadBytes(type, narrowed.type, true);
    const saved = (layout.allocSize(type) - layout.allocSize(narrowed.type)) * elements;
    return saved > code ? { ...narrowed, code } : { type, extension: null, code: 0 };
  });
  for (const isPacked of uses.isForSize ? [false, true] : [false]) {
    const changed = new NewShape(
      shape,
      fields.map(({ type }) => type),
      isPacked,
      layout,
    );
    const saved = (shape.period - changed.period) * elements;
    const steps = uses.steps * (stepBytes(changed.period) - stepBytes(shape.period));
    const code = fields.reduce((sum, field) => sum + field.code, steps);
    if (saved - code > (best === null ? 0 : best.saved - best.code))
      best = { shape: changed, extensions: fields.map(({ extension }) => extension), saved, code };
  }
  return best;
}
