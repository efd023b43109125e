/**
 * Which fields of a table take fewer bytes, and whether that pays: bytes of data against those of the code that extends what
 * it loads and steps by other sizes.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { type BodyView, calleeOf, type Inst, isCall, Op } from "../../ir/instructions.js";
import { arrayType, i8, i32, intType, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { Addresses } from "../../target/addresses.js";
import type { TargetCosts } from "../../target/costs.js";
import { type Places, type PointerFlow, stepsOf } from "./flow.js";
import { NewShape } from "./shape.js";
import type { FieldFacts, Table } from "./tables.js";

/**
 * How a field's value comes back from fewer bytes: pointers from their low bits, or from their distance to the field itself,
 * where 0 may stand for null. Null: it is as it was, or nobody asks for it.
 */
export type Extension = Op.ZExt | Op.SExt | "low" | "distance" | "distance or null" | null;
/** Of fields that nobody loads. */
const nothing = arrayType(0, i8);

export interface Narrowing {
  readonly shape: NewShape;
  /** By field. */
  readonly extensions: readonly Extension[];
  /** Bytes that the tables, with their relocations, are shorter by. */
  readonly saved: number;
  /** Bytes of code more; negative: fewer. */
  readonly code: number;
}

/** What code does with tables. By leader. */
export class TableUses {
  /** Loads by field, and those whose only use can read memory itself. */
  readonly loads: number[];
  readonly operands: number[];
  /** By field: what is loaded is called at once. */
  readonly isCalled: boolean[];
  /** Steps by a number of elements that is not known. */
  steps = 0;
  isForSize = true;

  constructor(fields: number) {
    this.loads = new Array<number>(fields).fill(0);
    this.operands = new Array<number>(fields).fill(0);
    this.isCalled = new Array<boolean>(fields).fill(false);
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
    if (at === null || at.table.isUnsafe) return null;
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
  if (loaded.size === 0) return;
  for (const { insts } of body.blocks)
    for (const inst of insts)
      for (const operand of inst.operands)
        if (operand.valueKind === "inst" && operand.op === Op.Load) loaded.get(operand)?.users.push(inst);
  for (const [load, { uses: all, field, users }] of loaded) {
    if (users.length === 1 && readsMemory(users[0]!)) all.operands[field]!++;
    if (users.some((user) => isCall(user) && calleeOf(user) === load)) all.isCalled[field] = true;
  }
}

/** Selection may make the load an operand of the instruction. */
function readsMemory(inst: Inst): boolean {
  if (isCall(inst)) return true;
  return inst.op === Op.IndirectBr || inst.op === Op.ICmp || (inst.op >= Op.Add && inst.op <= Op.Xor);
}

/** A field in fewer bytes. */
interface Narrowed {
  readonly type: Type;
  readonly extension: Extension;
}

function narrowedPointer({ hasNulls }: FieldFacts, addresses: Addresses): Narrowed {
  if (addresses === "low") return { type: i32, extension: "low" };
  return { type: i32, extension: hasNulls ? "distance or null" : "distance" };
}

function narrowedInteger({ least, largest }: FieldFacts, type: Type): Narrowed {
  for (const bits of [8, 16, 32]) {
    if (bits >= type.bits) break;
    const end = 1n << BigInt(bits);
    if (least >= 0n && largest < end) return { type: intType(bits), extension: Op.ZExt };
    if (least >= -end / 2n && largest < end / 2n) return { type: intType(bits), extension: Op.SExt };
  }
  return { type, extension: null };
}

/** Bytes of code that one load of a field becomes longer by. */
function loadBytes(
  { type, extension }: Narrowed,
  from: Type,
  isOperand: boolean,
  { constants }: TargetCosts,
): number {
  if (extension === null) return 0;
  const how = typeof extension === "string" ? extension : "integer";
  return constants.narrowedLoad(how, from.bits, type.bits, isOperand);
}

/** Chooses fields, each for itself. */
class Fields {
  readonly narrowed: Narrowed[] = [];
  /** Bytes of code more. */
  code = 0;
  /** Bytes of relocations less. */
  relocations = 0;

  constructor(
    { shape, facts }: Table,
    private readonly uses: TableUses,
    private readonly elements: number,
    private readonly addresses: Addresses,
    private readonly costs: TargetCosts,
  ) {
    shape.fields.forEach(({ type, bytes }, number) => {
      this.narrowed.push(this.choose(number, type, bytes, facts[number]!));
    });
  }

  private choose(number: number, type: Type, bytes: number, facts: FieldFacts): Narrowed {
    const { uses, elements, addresses, costs } = this;
    const relocations = addresses === "near" ? facts.addresses * costs.constants.relocation : 0;
    const loads = uses.loads[number]!;
    if (loads === 0) {
      this.relocations += relocations;
      return { type: nothing, extension: null };
    }
    const asItIs = { type, extension: null };
    const isPointer = type.kind === "ptr";
    // Distances cost instructions.
    if (facts.isWide || (isPointer && addresses === "near" && !uses.isForSize)) return asItIs;
    // Jumps read memory, too.
    if (facts.hasCode && (uses.isCalled[number]! || !uses.isForSize)) return asItIs;
    const operands = uses.operands[number]!;
    // It would be an instruction more.
    if (!uses.isForSize && operands > 0) return asItIs;
    const narrowed = isPointer ? narrowedPointer(facts, addresses) : narrowedInteger(facts, type);
    if (narrowed.extension === null) return asItIs;
    const code =
      (loads - operands) * loadBytes(narrowed, type, false, costs) +
      operands * loadBytes(narrowed, type, true, costs);
    const saved = (bytes - (isPointer ? 4 : narrowed.type.bits / 8)) * elements;
    if (saved + (isPointer ? relocations : 0) <= code) return asItIs;
    this.code += code;
    if (isPointer) this.relocations += relocations;
    return narrowed;
  }
}

/** The best way to make a table smaller; null: there is none. */
export function narrow(
  table: Table,
  uses: TableUses,
  layout: DataLayout,
  addresses: Addresses,
  costs: TargetCosts,
): Narrowing | null {
  const { shape, variables } = table;
  const elements = variables.reduce((sum, v) => sum + layout.allocSize(v.valueType) / shape.period, 0);
  // Addresses of elements stay apart.
  if (uses.loads.every((loads) => loads === 0)) return null;
  const fields = new Fields(table, uses, elements, addresses, costs);
  const types = fields.narrowed.map(({ type }) => type);
  const extensions = fields.narrowed.map(({ extension }) => extension);
  let best: Narrowing | null = null;
  for (const isPacked of uses.isForSize ? [false, true] : [false]) {
    const changed = new NewShape(shape, types, isPacked, layout);
    const saved = (shape.period - changed.period) * elements + fields.relocations;
    const steps = uses.steps * (costs.addresses.step(changed.period) - costs.addresses.step(shape.period));
    // Another instruction to multiply.
    if (!uses.isForSize && steps > 0) continue;
    const code = fields.code + steps;
    if (saved - code > (best === null ? 0 : best.saved - best.code))
      best = { shape: changed, extensions, saved, code };
  }
  return best;
}
