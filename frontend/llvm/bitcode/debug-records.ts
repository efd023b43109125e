/**
 * What a function says of source variables: debug records, or before LLVM 19 calls of intrinsics. Either stands before an
 * instruction and is none.
 *
 * Values are looked up when all of the function has been read.
 */
import { FunctionCode, MetadataCode } from "../../../formats/bitcode/codes.js";
import type { DataLayout } from "../../../lto/ir/data-layout.js";
import type {
  DebugNode,
  DIExpression,
  DILabel,
  DILocalVariable,
  DILocation,
} from "../../../lto/ir/debug/nodes.js";
import {
  DebugRecord,
  Dw,
  Encoding,
  type Expression,
  fragmentOf,
  isLocal,
  noExpression,
  operationsIn,
  withoutFragment,
} from "../../../lto/ir/debug-records.js";
import type { Block, Inst } from "../../../lto/ir/instructions.js";
import type { Func } from "../../../lto/ir/module.js";
import type { Origins } from "../../../lto/ir/origins.js";
import type { Value } from "../../../lto/ir/values.js";
import { type Assignment, Assignments, inMemory } from "./assignments.js";
import type { DebugNodeReader } from "./debug-nodes.js";
import type { MetadataReader } from "./metadata.js";

/** What a record names: values by their numbers, metadata by its entries. */
type Named = { readonly value: number } | { readonly entry: number } | null;

interface Pending {
  readonly variable: DILocalVariable | DILabel;
  /** Null: of a label. */
  readonly expression: DIExpression | null;
  readonly of: Named;
  readonly isDeclaration: boolean;
  /** Of a tracked assignment; null: of something else. */
  readonly assignment: TrackedAssignment | null;
  /** Of its location; undefined: that is still to come. */
  inlinedAt: DILocation | null | undefined;
}

/** Numbers of metadata. */
interface TrackedAssignment {
  readonly id: number;
  readonly address: number;
  /** What is done to the address. */
  readonly offset: number;
}

/** Lists of more are not looked at. */
const mostValues = 16;

/** Beyond this, numbers in expressions are not exact. */
const largest = 2n ** 48n;

export class RecordReader {
  private waiting: Pending[] = [];
  private readonly placed: (readonly [Inst, Pending])[] = [];
  /** Instructions that tracked assignments are linked to, by the metadata that links them. */
  private readonly linked = new Map<Inst, number>();
  private readonly assignments = new Map<Pending, Assignment>();
  private memory: Assignments | null = null;
  private readonly declared = new Set<string>();

  constructor(
    private readonly fn: Func,
    private readonly nodes: DebugNodeReader,
    private readonly metadata: MetadataReader,
    private readonly origins: Origins,
  ) {}

  /** A call of an intrinsic: its operands are entries. @param name without `llvm.dbg.` */
  call(name: string, [of, variable, expression, id, address, offset]: readonly number[]): void {
    if (name === "label" && of !== undefined) {
      this.waiting.push(this.label(of, undefined));
      return;
    }
    if (name !== "value" && name !== "declare" && name !== "assign") return;
    if (of === undefined || variable === undefined || expression === undefined) return;
    this.waiting.push({
      variable: this.nodes.nodeOf(variable, "DILocalVariable"),
      expression: this.nodes.nodeOf(expression, "DIExpression"),
      of: { entry: of },
      isDeclaration: name === "declare",
      assignment: name === "assign" ? { id: id ?? -1, address: address ?? -1, offset: offset ?? -1 } : null,
      inlinedAt: undefined,
    });
  }

  /** The location of the call before. */
  located(inlinedAt: DILocation | null): void {
    for (const record of this.waiting) if (record.inlinedAt === undefined) record.inlinedAt = inlinedAt;
  }

  private label(entry: number, inlinedAt: DILocation | null | undefined): Pending {
    const variable = this.nodes.nodeOf(entry, "DILabel");
    return { variable, expression: null, of: null, isDeclaration: false, assignment: null, inlinedAt };
  }

  /**
   * A record stands before the instruction that was read last, null if there is none.
   * @param value of what says so, the number of its value, else -1
   */
  record(code: number, operands: readonly number[], value: number, last: Inst | null): void {
    const location = operands[0]!;
    const variable = operands[1]!;
    const { inlinedAt } = this.nodes.nodeOf(location, "DILocation");
    if (code === FunctionCode.DebugRecordLabel) {
      this.add(this.label(variable, inlinedAt), last);
      return;
    }
    const isAssignment = code === FunctionCode.DebugRecordAssign;
    const named: Named = value >= 0 ? { value } : { entry: operands[3]! };
    this.add(
      {
        variable: this.nodes.nodeOf(variable, "DILocalVariable"),
        expression: this.nodes.nodeOf(operands[2]!, "DIExpression"),
        of: named,
        isDeclaration: code === FunctionCode.DebugRecordDeclare,
        assignment: isAssignment ? { id: operands[4]!, offset: operands[5]!, address: operands[6]! } : null,
        inlinedAt,
      },
      last,
    );
  }

  private add(pending: Pending, last: Inst | null): void {
    if (last === null) this.waiting.push(pending);
    else this.placed.push([last, pending]);
  }

  /** An instruction is linked to tracked assignments. @param id the metadata that links them; -1: it is not */
  link(inst: Inst, id: number): void {
    if (id >= 0) this.linked.set(inst, id);
  }

  /** The address of a tracked variable's memory, of which nothing may be left: then what is assigned is the variable. */
  private addressOf(
    { address }: TrackedAssignment,
    valueAt: (id: number) => Value | undefined,
  ): Value | "gone" | undefined {
    if (address < 0 || typeof this.metadata.locate(address) === "string") return undefined;
    if (this.metadata.record.code !== MetadataCode.Value) return "gone";
    const value = valueAt(this.metadata.record.number(1));
    return value?.valueKind === "undef" ? "gone" : value;
  }

  /** What tracked assignments say, by the records that they come from. */
  private readAssignments(
    valueAt: (id: number) => Value | undefined,
    blocks: readonly Block[],
    layout: DataLayout,
  ): void {
    const others = new Set<string>();
    const all: Assignment[] = [];
    for (const [anchor, pending] of this.placed) {
      const { variable, expression, assignment, inlinedAt } = pending;
      if (expression === null) continue;
      const instance = `${this.origins.variable(variable)} ${this.origins.instance(this.fn, variable, inlinedAt ?? null)}`;
      const address = assignment === null ? "gone" : this.addressOf(assignment, valueAt);
      if (assignment === null || address === "gone") {
        others.add(instance);
        continue;
      }
      const steps = assignment.offset < 0 ? null : this.nodes.nodeOf(assignment.offset, "DIExpression");
      const isPlain = steps !== null && steps.operations.length === 0;
      const list = expressionOf(expression) ?? noExpression;
      const read = {
        expression: list,
        id: assignment.id,
        address: isPlain ? address : undefined,
        anchor,
        instance,
      };
      all.push(read);
      this.assignments.set(pending, read);
    }
    if (all.length > 0) this.memory = new Assignments(all, blocks, layout, this.linked, others);
  }

  /** The next instruction was read. */
  before(inst: Inst): void {
    if (this.waiting.length === 0) return;
    for (const pending of this.waiting) this.placed.push([inst, pending]);
    this.waiting = [];
  }

  /** Gives instructions their records. @param valueAt a value by its number @returns whether there are any */
  finish(valueAt: (id: number) => Value | undefined, blocks: readonly Block[], layout: DataLayout): boolean {
    if (this.placed.some(([, { assignment }]) => assignment !== null))
      this.readAssignments(valueAt, blocks, layout);
    for (const [inst, pending] of this.placed) {
      const assignment = this.assignments.get(pending);
      const record =
        assignment === undefined ? this.made(pending, valueAt) : this.assigned(assignment, pending);
      if (record === null) continue;
      if (inst.debug === null) inst.debug = [record];
      else inst.debug.push(record);
    }
    return this.placed.length > 0;
  }

  /** @returns null: it says nothing new */
  private assigned(assignment: Assignment, { variable, inlinedAt }: Pending): DebugRecord | null {
    const { origins, fn } = this;
    const number = origins.variable(variable);
    const origin = origins.instance(fn, variable, inlinedAt ?? null);
    const home = this.memory!.homeOf(assignment);
    if (home !== null) {
      if (this.declared.has(assignment.instance)) return null;
      this.declared.add(assignment.instance);
      return new DebugRecord(number, noExpression, [home], true, origin);
    }
    const memory = this.memory!.memoryOf(assignment);
    const expression = memory === null ? assignment.expression : inMemory(assignment, memory);
    const record = new DebugRecord(number, expression, memory === null ? [] : [memory.alloca], false, origin);
    if (memory === null) record.forget();
    return record;
  }

  private made(
    { variable, expression, of, isDeclaration, inlinedAt }: Pending,
    valueAt: (id: number) => Value | undefined,
  ): DebugRecord {
    const { origins, fn } = this;
    const number = origins.variable(variable);
    const origin = origins.instance(fn, variable, inlinedAt ?? null);
    if (expression === null || variable.kind === "DILabel")
      return new DebugRecord(number, noExpression, [], false, origin, true);
    const list = expressionOf(expression);
    const values = list === null || of === null ? [] : this.valuesOf(of, valueAt);
    const record = new DebugRecord(number, list ?? noExpression, values, isDeclaration, origin);
    if (!namesAll(record)) record.forget();
    if (record.isKnown && !fits(record, values[0]!, variable)) record.forget();
    return record;
  }

  /**
   * None where one of them is not known, or a constant in a list: LLVM puts zero in the place of a value of which no bit
   * matters for the code, and lists go on to name it.
   */
  private valuesOf(
    of: { value: number } | { entry: number },
    valueAt: (id: number) => Value | undefined,
  ): Value[] {
    const ids = "value" in of ? [of.value] : this.named(of.entry);
    const values = ids.map((id) => usable(valueAt(id)));
    const isKnown = (value: Value | undefined): boolean =>
      value !== undefined && (values.length === 1 || isLocal(value));
    return values.every(isKnown) ? (values as Value[]) : [];
  }

  /** Numbers of the values of an entry, which is one or a list of such. */
  private named(entry: number): number[] {
    if (typeof this.metadata.locate(entry) === "string") return [];
    const { record } = this.metadata;
    if (record.code === MetadataCode.Value && record.count >= 2) return [record.number(1)];
    if (record.code !== MetadataCode.ArgList || record.count > mostValues) return [];
    const entries = Array.from({ length: record.count }, (_, i) => record.number(i));
    return entries.map((part) => {
      if (typeof this.metadata.locate(part) === "string") return -1;
      const { record: value } = this.metadata;
      return value.code === MetadataCode.Value && value.count >= 2 ? value.number(1) : -1;
    });
  }
}

/** A value that records may name. */
function usable(value: Value | undefined): Value | undefined {
  switch (value?.valueKind) {
    case "inst":
    case "argument":
    case "int":
    case "float":
    case "zero":
      return value;
    default:
      return undefined;
  }
}

/** Whether the expression speaks of the values that are there, each once; what names the only one by its number names it plainly then. */
function namesAll(record: DebugRecord): boolean {
  const { expression, values } = record;
  const places = operationsIn(expression)?.filter((at) => expression[at] === Dw.Arg) ?? [];
  if (places.length === 0) return values.length <= 1;
  if (record.isDeclaration || places.some((at) => expression[at + 1]! >= values.length)) return false;
  if (values.length === 1 && places.length === 1 && places[0] === 0) record.expression = expression.slice(2);
  return true;
}

/** The expression as numbers; null if it has some that are not exact, or operations that are not known. */
function expressionOf(node: DIExpression): Expression | null {
  if (node.operations.length === 0) return noExpression;
  let known = expressionLists.get(node);
  if (known === undefined) expressionLists.set(node, (known = listOf(node)));
  return known;
}
/** Thousands of records have the same one. */
const expressionLists = new WeakMap<DIExpression, Expression | null>();

function listOf({ operations }: DIExpression): Expression | null {
  const list = operations as readonly bigint[];
  if (list.some((part) => part >= largest || part <= -largest)) return null;
  const numbers = list.map(Number);
  return operationsIn(numbers) === null ? null : numbers;
}

/** Whether a value that is no address is all of what it is said to be. One bit is made a byte. */
function fits(record: DebugRecord, { type }: Value, variable: DILocalVariable): boolean {
  if (record.isDeclaration || type.kind !== "int" || withoutFragment(record.expression).length > 0)
    return true;
  const fragment = fragmentOf(record.expression);
  const size = fragment?.size ?? sizeOf(variable.type);
  if (type.bits >= size) return true;
  if (type.bits !== 1 || size !== 8 || fragment !== null) return false;
  const from = [Dw.Convert, 1, Encoding.Unsigned];
  record.expression = [...from, Dw.Convert, 8, Encoding.Unsigned, Dw.StackValue];
  return true;
}

/** Bits of a type; 0: not known. */
function sizeOf(type: DebugNode | null): number {
  let at: DebugNode | null = type;
  for (let steps = 0; steps < 32 && at !== null; steps++) {
    if (at.kind === "DIBasicType" || at.kind === "DICompositeType")
      return typeof at.size === "number" ? at.size : 0;
    if (at.kind !== "DIDerivedType") return 0;
    if (typeof at.size === "number" && at.size > 0) return at.size;
    at = at.baseType as DebugNode | null;
  }
  return 0;
}
