/** One function as a FUNCTION block. Values are numbered when the block is begun, so an operand may come later. */
import { placeOf } from "../../lto/ir/debug/instruction-places.js";
import type { DILocation } from "../../lto/ir/debug/nodes.js";
import { type Block, type BodyView, type Inst, Op } from "../../lto/ir/instructions.js";
import type { Func } from "../../lto/ir/module.js";
import type { Origins } from "../../lto/ir/origins.js";
import type { Type } from "../../lto/ir/types.js";
import type { Argument, MetadataOperand, Value } from "../../lto/ir/values.js";
import type { Attachment, NodeOperand } from "../metadata.js";
import type { AttributeNumbers } from "./attributes.js";
import type { BitWriter } from "./bit-stream.js";
import { BlockId, FunctionCode, MetadataCode } from "./codes.js";
import { ConstantTable, isTableValue, type ModuleNumbers } from "./constants.js";
import { type VariableCall, type VariableFunctions, variableCalls } from "./debug-records.js";
import { writeInstruction, writeVariableCall } from "./instructions.js";
import { checkJumpedResults } from "./jumped-results.js";
import type { MetadataNumbers } from "./metadata.js";
import { constantsIn, metadataOperand, typesIn } from "./operands.js";

/** Names that a module numbers, in the order in which they are first met. */
export class NameNumbers {
  private readonly numbers: Map<string, number>;
  /** @param fixed names whose numbers are what they are */
  constructor(...fixed: readonly string[]) {
    this.numbers = new Map(fixed.map((name, number) => [name, number]));
  }
  of(name: string): number {
    let number = this.numbers.get(name);
    if (number === undefined) this.numbers.set(name, (number = this.numbers.size));
    return number;
  }
  get names(): readonly string[] {
    return [...this.numbers.keys()];
  }
}

/** All that functions of a module share. */
export interface FunctionTables extends ModuleNumbers {
  readonly attributes: AttributeNumbers;
  readonly metadata: MetadataNumbers;
  readonly constants: ConstantTable;
  readonly bundles: NameNumbers;
  readonly scopes: NameNumbers;
  /** Where code is; null: there is no debug information. */
  readonly origins: Origins | null;
  /** What says where variables are; null: nothing does. */
  readonly variables: VariableFunctions | null;
}

/** What a first look at a body found out. Scopes of aliases are others each time that a body is decoded. */
export interface BodyFacts {
  readonly ofFunction: readonly Attachment[];
  /** By position among all instructions, calls for variables too. */
  readonly ofInstructions: readonly (readonly [position: number, attachments: readonly Attachment[]])[];
  /** Of each instruction; empty: none has one. */
  readonly places: readonly (DILocation | null)[];
  /** Of blocks whose addresses may be taken. */
  readonly labels: ReadonlyMap<number, number>;
  /** Functions whose blocks this one takes the addresses of. */
  readonly takesFrom: ReadonlySet<Func>;
}

/** Gives types, attributes, names and metadata that a body mentions their numbers. */
export function scanBody(fn: Func, body: BodyView, tables: FunctionTables): BodyFacts {
  const { types, metadata } = tables;
  checkJumpedResults(fn, body, tables.version);
  // Numbers of constants are found when the block is written.
  const scratch = new ConstantTable(tables, tables.globals.size);
  const labels = new Map<number, number>();
  const takesFrom = new Set<Func>();
  const ofInstructions: (readonly [number, Attachment[]])[] = [];
  const places: (DILocation | null)[] = [];
  const { origins } = tables;
  const calls = variableCalls(fn, body, origins, tables.version);
  let position = 0;
  body.blocks.forEach((block, index) => {
    if (block.addressTaken) labels.set(block.label, index);
    for (const given of block.insts) {
      const inst = tables.older.instruction(given);
      for (const call of calls.get(given) ?? []) {
        scanCall(call, tables, scratch);
        position++;
      }
      for (const type of typesIn(inst)) types.of(type);
      for (const constant of constantsIn(inst)) scratch.of(constant);
      scanNames(inst, tables);
      for (const operand of inst.operands)
        if (operand.valueKind === "metadata") {
          const made = metadataOperand(operand, inst, metadata.nodes);
          if (made.kind === "string") metadata.addString(made.text);
        }
      if (given.hints !== null) {
        const attachments = metadata.nodes.ofInstruction(given, given.hints);
        if (attachments.length > 0) ofInstructions.push([position, attachments]);
        metadata.addKinds(attachments);
      }
      if (fn.subprogram !== null && origins !== null) {
        const place = placeOf(origins, given, fn.subprogram);
        if (place !== null) metadata.debug.addPlace(place);
        places.push(place);
      }
      position++;
    }
  });
  for (const other of scratch.takenFrom) if (other !== fn) takesFrom.add(other);
  const ofFunction = metadata.nodes.ofGlobal(fn);
  metadata.addKinds(ofFunction);
  metadata.addDebug(fn.subprogram === null ? [] : [fn.subprogram]);
  return { ofFunction, ofInstructions, places, labels, takesFrom };
}

/** Attributes, tags of bundles, scopes of synchronisation. */
function scanCall(
  { variable, expression, place, values }: VariableCall,
  tables: FunctionTables,
  scratch: ConstantTable,
): void {
  const { debug } = tables.metadata;
  debug.add(variable);
  if (expression !== null) debug.add(expression);
  debug.addPlace(place);
  for (const value of values) {
    tables.types.of(value.type);
    if (isTableValue(value)) scratch.of(value);
  }
}

function scanNames(inst: Inst, { attributes, bundles, scopes }: FunctionTables): void {
  switch (inst.op) {
    case Op.Call:
    case Op.Invoke:
    case Op.CallBr:
      attributes.of(inst.data.attributes);
      for (const { tag } of inst.data.bundles) bundles.of(tag);
      return;
    case Op.Load:
    case Op.Store:
    case Op.Fence:
    case Op.CmpXchg:
    case Op.AtomicRMW:
      scopes.of(inst.data.scope);
  }
}

/** Writes records of instructions; operands are distances from the next value's number. */
export class FunctionWriter {
  private readonly constants: ConstantTable;
  private readonly numbers = new Map<Inst | Argument, number>();
  private readonly blocks = new Map<Block, number>();
  private readonly calls: ReadonlyMap<Inst, readonly VariableCall[]>;
  private readonly locals: LocalMetadata;
  /** Number of the next result. */
  private next = 0;

  constructor(
    readonly w: BitWriter,
    readonly fn: Func,
    private readonly body: BodyView,
    readonly tables: FunctionTables,
  ) {
    let number = tables.globals.size + tables.constants.size;
    for (const argument of fn.args) this.numbers.set(argument, number++);
    this.constants = new ConstantTable(tables, number, tables.constants);
    this.calls = variableCalls(fn, body, tables.origins, tables.version);
    for (const { insts } of body.blocks)
      for (const inst of insts)
        for (const constant of constantsIn(tables.older.instruction(inst))) this.constants.of(constant);
    for (const call of [...this.calls.values()].flat())
      for (const value of call.values) if (isTableValue(value)) this.constants.of(value);
    this.next = number + this.constants.size;
    let result = this.next;
    body.blocks.forEach((block, index) => {
      this.blocks.set(block, index);
      for (const inst of block.insts) if (inst.type.kind !== "void") this.numbers.set(inst, result++);
    });
    this.locals = new LocalMetadata(tables.metadata.size, (value) => [
      tables.types.of(value.type),
      this.absolute(value),
    ]);
    for (const call of [...this.calls.values()].flat()) this.locals.add(call);
  }

  /** @param users functions elsewhere that take addresses of its blocks */
  write(facts: BodyFacts, users: readonly Func[]): void {
    const { w, body, tables } = this;
    w.block(BlockId.Function, () => {
      w.record(FunctionCode.DeclareBlocks, [body.blocks.length]);
      this.constants.write(w);
      this.locals.write(w);
      if (users.length > 0)
        w.record(
          FunctionCode.BlockAddrUsers,
          users.map((user) => tables.globals.get(user)!),
        );
      const { metadata } = tables;
      const { places } = facts;
      let position = 0;
      let last: DILocation | null = null;
      const locate = (place: DILocation): void => {
        if (place === last) w.record(FunctionCode.DebugLocAgain, []);
        else w.record(FunctionCode.DebugLoc, metadata.placeNumbers(place));
        last = place;
      };
      for (const { insts } of body.blocks)
        for (const inst of insts) {
          for (const call of this.calls.get(inst) ?? []) {
            writeVariableCall(call, this.locals, this);
            locate(call.place);
          }
          writeInstruction(tables.older.instruction(inst), this);
          const place = places[position++] ?? null;
          if (place !== null) locate(place);
          if (inst.type.kind !== "void") this.next++;
        }
      const subprogram = this.fn.subprogram === null ? [] : [this.fn.subprogram];
      const ofFunction = [
        ...metadata.attachmentNumbers(facts.ofFunction),
        ...metadata.debugNumbers(subprogram),
      ];
      if (ofFunction.length + facts.ofInstructions.length > 0)
        w.block(BlockId.MetadataAttachment, () => {
          if (ofFunction.length > 0) w.record(MetadataCode.Attachment, ofFunction);
          for (const [position, attachments] of facts.ofInstructions)
            w.record(MetadataCode.Attachment, [position, ...metadata.attachmentNumbers(attachments)]);
        });
    });
  }

  type(type: Type): number {
    return this.tables.types.of(type);
  }

  block(block: Block): number {
    return this.blocks.get(block)!;
  }

  /** A value's number. */
  absolute(value: Value): number {
    if (isTableValue(value)) return this.constants.of(value);
    return this.numbers.get(value as Inst | Argument)!;
  }

  private distance(number: number): number {
    return (this.next - number) >>> 0;
  }

  /** An operand of a known type. */
  value(value: Value): number {
    return this.distance(this.absolute(value));
  }

  /** A signed distance. */
  signedValue(value: Value): number {
    const distance = this.next - this.absolute(value);
    return distance >= 0 ? distance * 2 : -distance * 2 + 1;
  }

  /** An operand, and its type where it comes later. */
  pair(value: Value): number[] {
    const number = this.absolute(value);
    const distance = this.distance(number);
    return number < this.next ? [distance] : [distance, this.type(value.type)];
  }

  metadata(operand: MetadataOperand, inst: Inst): number {
    const made: NodeOperand = metadataOperand(operand, inst, this.tables.metadata.nodes);
    return this.distance(this.tables.metadata.of(made));
  }

  /** Metadata by its number, as an operand of a call. */
  entry(number: number): number {
    return this.distance(number);
  }
}

/** Values that a function has as metadata, each once, and lists of such. */
export class LocalMetadata {
  private readonly records: (readonly [MetadataCode, readonly number[]])[] = [];
  private readonly known = new Map<string, number>();
  private readonly numbers = new Map<VariableCall, number>();

  /** @param first number of its first entry  @param numberOf the type and the number of a value */
  constructor(
    private readonly first: number,
    private readonly numberOf: (value: Value) => readonly [type: number, value: number],
  ) {}

  add(call: VariableCall): void {
    if (call.of === "label") return;
    const values = call.values.map((value) => this.entry(MetadataCode.Value, this.numberOf(value)));
    this.numbers.set(call, call.isList ? this.entry(MetadataCode.ArgList, values) : values[0]!);
  }

  private entry(code: MetadataCode, operands: readonly number[]): number {
    const key = `${code} ${operands.join(" ")}`;
    let number = this.known.get(key);
    if (number === undefined)
      this.known.set(key, (number = this.first + this.records.push([code, operands]) - 1));
    return number;
  }

  /** The number of what a call is about that is of no label. */
  of(call: VariableCall): number {
    return this.numbers.get(call)!;
  }

  write(w: BitWriter): void {
    if (this.records.length > 0)
      w.block(BlockId.Metadata, () => {
        for (const [code, operands] of this.records) w.record(code, operands);
      });
  }
}
