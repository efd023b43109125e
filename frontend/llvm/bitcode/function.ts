/**
 * One FUNCTION block to a body.
 *
 * Method: one pass over the records. Operands are value ids relative to the next id; an operand that is
 * defined later becomes a `Forward` and is patched at the end, when all values exist. Each kind of
 * instruction is decoded by a function of one of the `*-instructions` files, which pulls operands from here
 * in order. Metadata attachments become hints at the end, and locations origins; use-list orders and names are skipped.
 * O(records).
 *
 * What is checked: ids, types of operands, block structure, phis against predecessors. What is not: that
 * definitions dominate their uses.
 */

import { BlockId, FunctionCode } from "../../../formats/bitcode/codes.js";
import { type DILocation, isLocalScope, type LocalScope } from "../../../lto/ir/debug/nodes.js";
import { InputError, UnsupportedError } from "../../../lto/ir/errors.js";
import { Block, Body, type Inst, isTerminator, type MemoryData } from "../../../lto/ir/instructions.js";
import { Func } from "../../../lto/ir/module.js";
import { raw } from "../../../lto/ir/raw.js";
import type { Type } from "../../../lto/ir/types.js";
import { type Constant, isConstant, MetadataOperand, type Value } from "../../../lto/ir/values.js";
import { type BitReader, Entry } from "./bitstream.js";
import { checkBlocks } from "./block-structure.js";
import {
  type PendingBundle,
  readCall,
  readCallBr,
  readInvoke,
  readOperandBundle,
} from "./call-instructions.js";
import * as control from "./control-instructions.js";
import { RecordReader } from "./debug-records.js";
import * as memory from "./memory-instructions.js";
import type { ModuleReader } from "./module.js";
import * as scalar from "./scalar-instructions.js";
import { isSized, type TypeTable } from "./types.js";
import type { ValueTable } from "./value-table.js";

/** Stands for a value that is defined later. */
class Forward {
  readonly valueKind = "forward";
  constructor(
    readonly id: number,
    readonly type: Type,
  ) {}
}

interface Fixup {
  readonly inst: Inst;
  readonly operand: number;
  readonly forward: Forward;
}

export class FunctionReader {
  readonly reader: BitReader;
  readonly types: TypeTable;
  readonly values: ValueTable;
  /** Blocks of the body that is being decoded. */
  blocks: Block[] = [];
  /** Operand bundles for the call that comes next. */
  bundles: PendingBundle[] = [];
  fn!: Func;

  /** Next operand of the record. */
  at = 0;
  /** Id of the next value. */
  private next = 0;
  private sawForward = false;
  private fixups: Fixup[] = [];
  private blockIndex = 0;
  private metadataBlocks: number[] = [];
  private metadataMark = -1;
  private attachmentBlock = -1;
  /** By LLVM's numbering; null for those that were dropped. */
  private insts: (Inst | null)[] = [];
  private addressUsers: number[] = [];
  /** Null where nobody wants to know of variables. */
  private records: RecordReader | null = null;
  /** Of the location that was read last. */
  private inlinedAt: DILocation | null = null;
  private scope: LocalScope | null = null;
  /** Their numbers in the record. */
  private scopeNumber = 0;
  private callNumber = 0;
  /** Origin of the last location that was read. */
  private location = 0;

  constructor(readonly module: ModuleReader) {
    this.reader = module.reader;
    this.types = module.types;
    this.values = module.values;
  }

  /** Decodes the function block whose header is at `pos`. */
  decode(fn: Func, pos: number): Body {
    this.fn = fn;
    this.blocks = [];
    this.bundles = [];
    this.fixups = [];
    this.blockIndex = 0;
    this.metadataBlocks = [];
    this.metadataMark = -1;
    this.attachmentBlock = -1;
    this.insts = [];
    this.addressUsers = [];
    this.location = 0;
    this.inlinedAt = null;
    this.scope = null;
    this.callNumber = 0;
    const { debug, origins, metadata } = this.module;
    this.records = debug === null || origins === null ? null : new RecordReader(fn, debug, metadata, origins);
    try {
      return this.values.withLocals(() => this.decodeBlock(pos));
    } finally {
      if (this.metadataMark >= 0) this.module.metadata.leaveFunction(this.metadataMark);
      this.fixups = [];
      this.blocks = [];
      this.insts = [];
    }
  }

  private decodeBlock(pos: number): Body {
    const { reader, values } = this;
    for (const argument of this.fn.args) values.push(argument);
    this.next = values.size;
    reader.enterAt(pos, BlockId.Function);
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) break;
      if (entry === Entry.Record) this.record();
      else this.nested();
    }
    return this.finish();
  }

  private nested(): void {
    const { reader } = this;
    switch (reader.blockId) {
      case BlockId.Constants: {
        const first = this.next;
        this.module.constants.read();
        this.module.constants.resolve(first);
        this.next = this.values.size;
        break;
      }
      case BlockId.Metadata:
        this.metadataBlocks.push(reader.pos);
        reader.skip();
        break;
      case BlockId.MetadataAttachment:
        this.attachmentBlock = reader.pos;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }

  private record(): void {
    const { reader } = this;
    const code = reader.code;
    switch (code) {
      case FunctionCode.DeclareBlocks:
        this.declareBlocks();
        return;
      case FunctionCode.DebugLoc:
        this.location = this.readLocation();
        this.locateLast();
        return;
      case FunctionCode.DebugLocAgain:
        this.locateLast();
        return;
      case FunctionCode.BlockAddrUsers:
        for (let i = 0; i < reader.count; i++) this.addressUsers.push(reader.number(i));
        return;
      default:
        if (code < FunctionCode.DebugRecordValue || code > FunctionCode.DebugRecordDeclareValue) break;
        this.debugRecord(code);
        return;
    }
    if (reader.wide) throw this.malformed("operand of an instruction");
    this.at = 0;
    if (code === FunctionCode.OperandBundle) {
      readOperandBundle(this);
      return;
    }
    const inst = this.instruction(code);
    this.insts.push(inst);
    if (inst !== null) this.append(inst);
  }

  private debugRecord(code: number): void {
    const { records, reader } = this;
    if (records === null) return;
    const isSimple = code === FunctionCode.DebugRecordValueSimple;
    const least =
      code === FunctionCode.DebugRecordAssign ? 7 : code === FunctionCode.DebugRecordLabel ? 2 : 4;
    if (reader.wide || reader.count < least) throw this.malformed("debug record");
    this.enterMetadata();
    const operands: number[] = [];
    for (let i = 0; i < reader.count; i++) operands.push(reader.lo[i]!);
    // What is not read as yet says nothing.
    const value = isSimple ? (this.next - operands[3]!) >>> 0 : -1;
    records.record(code, operands, value, this.insts.at(-1) ?? null);
  }

  /** A call of a debug intrinsic, whose operands are metadata. */
  debugCall(name: string): void {
    const { records } = this;
    if (records === null) return;
    this.enterMetadata();
    const entries: number[] = [];
    while (this.left > 0) entries.push((this.next - this.take()) >>> 0);
    records.call(name, entries);
  }

  /** The record of a location: line, column, scope and call, whether nobody wrote it, and LLVM 21's groups of statements. */
  private readLocation(): number {
    const { reader, module, fn } = this;
    const { debug, origins } = module;
    if (debug === null || origins === null) return 0;
    if (reader.wide || reader.count < 4) throw this.malformed("source location");
    this.enterMetadata();
    const scope = reader.lo[2]!;
    const call = reader.lo[3]!;
    if (scope === 0) return 0;
    // Mostly those of the location before.
    if (this.scope === null || scope !== this.scopeNumber) {
      const where = debug.node(scope - 1);
      if (!isLocalScope(where)) throw this.malformed("scope of a source location");
      this.scope = where;
      this.scopeNumber = scope;
    }
    if (call !== this.callNumber) {
      this.inlinedAt = call === 0 ? null : debug.nodeOf(call - 1, "DILocation");
      this.callNumber = call;
    }
    const { scope: where, inlinedAt } = this;
    const isImplicit = reader.count > 4 && reader.lo[4] !== 0;
    return origins.located(fn, origins.place(reader.lo[0]!, reader.lo[1]!, where, inlinedAt, isImplicit));
  }

  /** The instruction of the record before has the location that was read last. */
  private locateLast(): void {
    const inst = this.insts.at(-1);
    if (inst === undefined) throw this.malformed("location of no instruction");
    if (inst !== null) inst.origin = this.location;
    else this.records?.located(this.inlinedAt);
  }

  private declareBlocks(): void {
    const count = this.reader.count > 0 ? this.reader.number(0) : 0;
    // Every block has a terminator, of at least two bits.
    if (this.blocks.length > 0 || count === 0 || count * 2 > this.reader.end - this.reader.pos)
      throw this.malformed("number of blocks");
    for (let i = 0; i < count; i++) this.blocks.push(new Block());
  }

  /** The instruction of the record just read; null when it is to be dropped. */
  private instruction(code: number): Inst | null {
    switch (code) {
      case FunctionCode.Load:
        return memory.readLoad(this, false);
      case FunctionCode.Store:
        return memory.readStore(this, false);
      case FunctionCode.Gep:
        return memory.readGep(this);
      case FunctionCode.Call:
        return readCall(this);
      case FunctionCode.Br:
        return control.readBr(this);
      case FunctionCode.Cmp:
      case FunctionCode.Cmp2:
        return scalar.readCompare(this);
      case FunctionCode.BinOp:
        return scalar.readBinary(this);
      case FunctionCode.Cast:
        return scalar.readCast(this);
      case FunctionCode.Phi:
        return control.readPhi(this);
      case FunctionCode.VSelect:
        return scalar.readSelect(this);
      case FunctionCode.Ret:
        return control.readRet(this);
      case FunctionCode.Alloca:
        return memory.readAlloca(this);
      case FunctionCode.Unreachable:
        return control.readUnreachable();
      case FunctionCode.Switch:
        return control.readSwitch(this);
      case FunctionCode.ExtractVal:
        return scalar.readExtractValue(this);
      case FunctionCode.InsertVal:
        return scalar.readInsertValue(this);
      case FunctionCode.Invoke:
        return readInvoke(this);
      case FunctionCode.LandingPad:
      case FunctionCode.LandingPadOld:
        return control.readLandingPad(this, code === FunctionCode.LandingPadOld);
      case FunctionCode.Resume:
        return control.readResume(this);
      case FunctionCode.ExtractElt:
        return scalar.readExtractElement(this);
      case FunctionCode.InsertElt:
        return scalar.readInsertElement(this);
      case FunctionCode.ShuffleVec:
        return scalar.readShuffleVector(this);
      case FunctionCode.UnOp:
        return scalar.readUnary(this);
      case FunctionCode.Freeze:
        return scalar.readFreeze(this);
      case FunctionCode.Select:
        return scalar.readOldSelect(this);
      case FunctionCode.IndirectBr:
        return control.readIndirectBr(this);
      case FunctionCode.CallBr:
        return readCallBr(this);
      case FunctionCode.LoadAtomic:
        return memory.readLoad(this, true);
      case FunctionCode.StoreAtomic:
        return memory.readStore(this, true);
      case FunctionCode.Fence:
        return memory.readFence(this);
      case FunctionCode.CmpXchg:
      case FunctionCode.CmpXchgOld:
        return memory.readCmpXchg(this, code === FunctionCode.CmpXchgOld);
      case FunctionCode.AtomicRMW:
      case FunctionCode.AtomicRMWOld:
        return memory.readAtomicRMW(this, code === FunctionCode.AtomicRMWOld);
      case FunctionCode.VAArg:
        return scalar.readVAArg(this);
      default:
        throw new UnsupportedError(
          exoticInstructions.get(code) ?? `instruction record ${code}`,
          `function @${this.fn.name}`,
        );
    }
  }

  private append(inst: Inst): void {
    const block = this.blocks[this.blockIndex];
    if (block === undefined) throw this.malformed("instruction outside any block");
    if (this.bundles.length > 0) throw this.malformed("operand bundle without a call");
    if (this.sawForward) this.noteForwards(inst);
    block.append(inst);
    this.records?.before(inst);
    if (inst.type.kind !== "void") {
      this.values.push(inst);
      this.next++;
    }
    if (!isTerminator(inst.op)) return;
    block.trim();
    this.blockIndex++;
  }

  private noteForwards(inst: Inst): void {
    this.sawForward = false;
    const operands: readonly (Value | Forward)[] = inst.operands;
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      if (operand.valueKind === "forward") this.fixups.push({ inst, operand: i, forward: operand });
    }
  }

  private finish(): Body {
    if (this.bundles.length > 0) throw this.malformed("operand bundle without a call");
    if (this.blocks.length === 0 || this.blockIndex !== this.blocks.length)
      throw this.malformed("block without terminator");
    for (const { inst, operand, forward } of this.fixups) {
      const value = forward.id < this.next ? (this.values.get(forward.id) as Value) : undefined;
      if (value === undefined || value.type !== forward.type)
        throw this.malformed(`reference to a later value ${forward.id}`);
      raw(inst).operands[operand] = value;
    }
    const body = new Body();
    body.blocks = this.blocks;
    checkBlocks(body, this.fn);
    if (this.attachmentBlock >= 0) this.readAttachments();
    const valueAt = (id: number): Value | undefined =>
      id < this.next ? (this.values.get(id) as Value) : undefined;
    if (this.records?.finish(valueAt, body.blocks, this.module.dataLayout) === true) body.hasDebug = true;
    this.markAddressTaken(body);
    return body;
  }

  private readAttachments(): void {
    const { metadata } = this.module;
    this.enterMetadata();
    const { fn } = this;
    fn.typeIds = [];
    for (const record of metadata.attachmentRecords(this.attachmentBlock, BlockId.MetadataAttachment)) {
      const ofFunction = record.length % 2 === 0;
      const attachments = metadata.attachments(record, ofFunction ? 0 : 1);
      if (ofFunction) {
        for (const [kind, entry] of attachments) metadata.hints.attachToGlobal(fn, kind, entry);
        this.module.debug?.attach(fn, metadata.debugAttachments(record, 0));
      } else {
        const inst = this.insts[record[0]!];
        if (inst === undefined) throw this.malformed("metadata of a missing instruction");
        if (inst !== null && attachments.length > 0) inst.hints = metadata.hints.hints(inst, attachments);
        if (inst !== null) this.records?.link(inst, metadata.assignmentOf(record));
      }
    }
  }

  private enterMetadata(): void {
    if (this.metadataMark < 0)
      this.metadataMark = this.module.metadata.enterFunction(this.metadataBlocks, BlockId.Metadata);
  }

  private markAddressTaken(body: Body): void {
    for (const id of this.addressUsers) {
      const user = this.values.get(id);
      if (!(user instanceof Func)) throw this.malformed("user of a block address");
      this.module.scanBlockAddresses(user);
    }
    for (const index of this.module.addressTaken.get(this.fn) ?? []) {
      const block = body.blocks[index];
      if (block === undefined) throw this.malformed("address of a missing block");
      block.label = index;
    }
  }

  malformed(what: string): InputError {
    return new InputError(`malformed bitcode: ${what} (in function @${this.fn.name})`);
  }

  // Operands, in the order of the record.

  /** How many operands are left. */
  get left(): number {
    return this.reader.count - this.at;
  }

  /** A plain number. */
  take(): number {
    if (this.at >= this.reader.count) throw this.malformed("instruction with too few operands");
    return this.reader.lo[this.at++]!;
  }

  type(): Type {
    return this.types.get(this.take());
  }

  sizedType(): Type {
    return this.types.sized(this.take());
  }

  block(): Block {
    const block = this.blocks[this.take()];
    if (block === undefined) throw this.malformed("undefined block");
    return block;
  }

  /** A value with its own type, which follows when the value is defined later. */
  pair(): Value {
    const id = (this.next - this.take()) >>> 0;
    if (id < this.next) return this.values.get(id) as Value;
    return this.forward(id, this.type());
  }

  /** Like `pair`, of a type that objects in memory have. */
  sizedPair(): Value {
    const value = this.pair();
    if (!isSized(value.type)) throw this.malformed(`operand of type ${value.type}`);
    return value;
  }

  /** A pointer with its own type. */
  pointer(): Value {
    const value = this.pair();
    if (value.type.kind !== "ptr") throw this.malformed("operand that should be a pointer");
    return value;
  }

  /** A value that must be of `type`. */
  value(type: Type): Value {
    return this.ofType((this.next - this.take()) >>> 0, type);
  }

  /** A value of `type`, as phis encode it: the distance may be negative. */
  signedValue(type: Type): Value {
    const rotated = this.take();
    const distance = (rotated & 1) === 0 ? rotated >>> 1 : -(rotated >>> 1);
    return this.ofType((this.next - distance) >>> 0, type);
  }

  /** The value of an absolute id, of `type`. */
  absolute(type: Type): Value {
    return this.ofType(this.take(), type);
  }

  private ofType(id: number, type: Type): Value {
    if (type.kind === "metadata") return this.metadata(id);
    if (id >= this.next) return this.forward(id, type);
    const value = this.values.get(id) as Value;
    if (value.type !== type) throw this.malformed(`operand of type ${value.type}, not ${type}`);
    return value;
  }

  private forward(id: number, type: Type): Value {
    if (type.kind === "metadata") return this.metadata(id);
    this.sawForward = true;
    // Replaced before anyone else sees it.
    return new Forward(id, type) as unknown as Value;
  }

  /** The value of an older record that leaves the type to a typed pointer: it must be defined already. */
  untyped(): Value {
    const id = (this.next - this.take()) >>> 0;
    if (id >= this.next) throw new UnsupportedError("record of LLVM 14 or older without an operand type");
    return this.values.get(id) as Value;
  }

  metadata(id: number): MetadataOperand {
    this.enterMetadata();
    return new MetadataOperand(this.module.metadata.text(id));
  }

  constantPair(): Constant {
    const value = this.pair();
    if (!isConstant(value)) throw this.malformed("operand that should be a constant");
    return value;
  }

  /** Alignment in bytes, 0 for none. */
  alignment(encoded: number): number {
    if (encoded > 33) throw this.malformed("alignment");
    return encoded === 0 ? 0 : 2 ** (encoded - 1);
  }

  private readonly plain: MemoryData[] = [];
  /** Data of a non-atomic access, shared by all accesses of an alignment. */
  plainAccess(encoded: number, type: Type): MemoryData {
    let shared = this.plain[encoded];
    if (encoded === 0 || shared === undefined) {
      const align = this.alignment(encoded) || this.module.dataLayout.abiAlign(type);
      shared = { align, ordering: "not_atomic", scope: "" };
      if (encoded !== 0) this.plain[encoded] = shared;
    }
    return shared;
  }
}

const exoticInstructions = new Map<number, string>([
  [FunctionCode.CleanupRet, "cleanupret"],
  [FunctionCode.CatchRet, "catchret"],
  [FunctionCode.CatchPad, "catchpad"],
  [FunctionCode.CleanupPad, "cleanuppad"],
  [FunctionCode.CatchSwitch, "catchswitch"],
  [FunctionCode.GepOld, "getelementptr record of LLVM 3.6 or older"],
  [FunctionCode.InBoundsGepOld, "getelementptr record of LLVM 3.6 or older"],
  [FunctionCode.StoreOld, "store record of LLVM 3.8 or older"],
  [FunctionCode.StoreAtomicOld, "atomic store record of LLVM 3.8 or older"],
]);
