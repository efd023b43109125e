/** The encoding half of the body codec; see `body-codec.ts`. */
import {
  type AllocaData,
  type AtomicRMWData,
  type Block,
  type BodyView,
  type CallInst,
  type CmpXchgData,
  type GepData,
  type Inst,
  isTerminator,
  type LandingPadData,
  type MemoryData,
  Op,
} from "../../lto/ir/instructions.js";
import type { Func } from "../../lto/ir/module.js";
import type { ConstInt, Value } from "../../lto/ir/values.js";
import { ByteWriter } from "./bytes.js";
import { encodeRecords } from "./debug-records.js";
import { floatPredicates, intPredicates, orderings, rmwOps, tailKinds } from "./enums.js";
import {
  AllocaInAlloca,
  AllocaSwiftError,
  arity,
  blockArity,
  CallAsm,
  CallBundles,
  CallConvention,
  HasFlags,
  HasHints,
  hasType,
  MemoryOrdered,
  OperandAhead,
  OperandLeaf,
} from "./instruction-layout.js";
import { opNumber } from "./opcodes.js";
import { type ModuleNumbers, PoolWriter } from "./pool.js";

/** log2 of a power of two up to 2^63. */
function log2(align: number, what: string): number {
  const shift = align < 0x80000000 ? 31 - Math.clz32(align) : Math.round(Math.log2(align));
  if (align < 1 || 2 ** shift !== align) throw new Error(`encodeBody: ${what} of ${align}`);
  return shift;
}

/**
 * Encodes a body of `fn`, its present one unless another is given, in the packed form of OBJECT.md. Renumbers
 * the body. The same body gives the same bytes.
 * @param numbers those by which the decoder will ask for what the body mentions
 */
export function encodeBody(fn: Func, numbers: ModuleNumbers, body: BodyView = fn.view()): Uint8Array {
  const pool = new PoolWriter();
  const encoder = new BodyEncoder(body, fn, pool);
  const code = encoder.run();
  pool.origins = encoder.origins();
  pool.records = encodeRecords(fn, body);
  const whole = new ByteWriter(code.length + 512);
  pool.write(whole, numbers);
  whole.append(code);
  return whole.finish();
}

/** The instructions alone; what they mention has its numbers in a pool that is somebody else's. Renumbers the body. */
export function encodeIn(pool: PoolWriter, fn: Func, body: BodyView): Uint8Array {
  const encoder = new BodyEncoder(body, fn, pool);
  const code = encoder.run();
  const origins = encoder.origins();
  const records = encodeRecords(fn, body);
  if (origins.length + records.length > 0) code.uint(origins.length);
  for (const number of origins) code.uint(number);
  for (const number of records) code.uint(number);
  return code.finish();
}

class BodyEncoder {
  private readonly out = new ByteWriter(1024);
  private readonly argumentCount: number;
  /** Number of the instruction being written. */
  private current = 0;
  private hasOrigins = false;

  constructor(
    private readonly body: BodyView,
    private readonly fn: Func,
    private readonly pool: PoolWriter,
  ) {
    this.argumentCount = fn.args.length;
  }

  run(): ByteWriter {
    const { body, out } = this;
    const count = body.renumber();
    out.uint(this.argumentCount);
    out.uint(body.blocks.length);
    out.uint(count);
    const taken = body.blocks.filter((block) => block.addressTaken);
    out.uint(taken.length);
    for (const block of taken) {
      out.uint(block.id);
      out.uint(block.label);
    }
    for (const block of body.blocks) {
      const last = block.insts.length - 1;
      for (let i = 0; i <= last; i++) {
        const inst = block.insts[i]!;
        if (isTerminator(inst.op) !== (i === last))
          throw new Error(`encodeBody: @${this.fn.name}: misplaced terminator in block ${block.id}`);
        this.current = inst.id;
        this.instruction(inst);
      }
      if (last < 0) throw new Error(`encodeBody: @${this.fn.name}: block ${block.id} is empty`);
    }
    return out;
  }

  /** Instructions in a row, and their origin; none where all are 0. */
  origins(): number[] {
    if (!this.hasOrigins) return [];
    const runs: number[] = [];
    for (const { insts } of this.body.blocks)
      for (const { origin } of insts) {
        const last = runs.length - 1;
        if (runs[last] === origin) runs[last - 1]!++;
        else runs.push(1, origin);
      }
    return runs;
  }

  private instruction(inst: Inst): void {
    const { out } = this;
    const { op, flags, hints } = inst;
    if (inst.origin !== 0) this.hasOrigins = true;
    out.byte(opNumber(op) | (flags !== 0 ? HasFlags : 0) | (hints !== null ? HasHints : 0));
    if (flags !== 0) out.uint(flags);
    if (hints !== null) out.uint(this.pool.hints.index(hints));
    if (hasType[op] === 1) out.uint(this.pool.types.index(inst.type));
    const operands = inst.operands;
    if (arity[op]! === -2) this.call(inst as CallInst);
    else {
      if (arity[op]! === -1) out.uint(operands.length);
      else if (arity[op] !== operands.length)
        throw new Error(`encodeBody: @${this.fn.name}: ${operands.length} operands for opcode ${op}`);
      for (let i = 0; i < operands.length; i++) this.operand(operands[i]!);
    }
    this.blocks(inst);
    if (inst.data !== null) this.data(inst);
  }

  private operand(value: Value): void {
    switch (value.valueKind) {
      case "inst": {
        const distance = this.current - value.id;
        if (value.parent === null) throw new Error(`encodeBody: @${this.fn.name}: detached operand`);
        if (distance > 0) this.out.uint(distance * 2);
        else this.out.uint(-distance * 4 + OperandAhead);
        break;
      }
      case "argument":
        this.out.uint(value.index * 4 + OperandLeaf);
        break;
      case "asm":
        throw new Error(`encodeBody: @${this.fn.name}: inline assembly as an operand`);
      default:
        this.out.uint((this.argumentCount + this.pool.leaves.index(value)) * 4 + OperandLeaf);
    }
  }

  private block(block: Block): void {
    if (this.body.blocks[block.id] !== block)
      throw new Error(`encodeBody: @${this.fn.name}: a block of another body`);
    this.out.uint(block.id);
  }

  private blocks(inst: Inst): void {
    const count = blockArity[inst.op]!;
    const { blocks } = inst;
    if (count === -1) this.out.uint(blocks.length);
    else if (blocks.length !== (count === -2 ? inst.operands.length : count))
      throw new Error(`encodeBody: @${this.fn.name}: ${blocks.length} blocks for opcode ${inst.op}`);
    for (let i = 0; i < blocks.length; i++) this.block(blocks[i]!);
  }

  private call(inst: CallInst): void {
    const { out, pool } = this;
    const { data, operands } = inst;
    const callee = operands[0]!;
    let header = tailKinds.code(data.tail);
    if (data.callingConvention !== 0) header |= CallConvention;
    if (data.bundles.length !== 0) header |= CallBundles;
    if (callee.valueKind === "asm") header |= CallAsm;
    out.byte(header);
    out.uint(pool.types.index(data.functionType));
    out.uint(pool.attributes.index(data.attributes));
    if (data.callingConvention !== 0) out.uint(data.callingConvention);
    out.uint(data.argumentCount);
    let count = 1 + data.argumentCount;
    if (data.bundles.length !== 0) {
      out.uint(data.bundles.length);
      for (const bundle of data.bundles) {
        out.uint(pool.string(bundle.tag));
        out.uint(bundle.inputs);
        count += bundle.inputs;
      }
    }
    if (count !== operands.length) throw new Error(`encodeBody: @${this.fn.name}: miscounted call operands`);
    if (callee.valueKind === "asm") out.uint(pool.asm(callee));
    else this.operand(callee);
    for (let i = 1; i < count; i++) this.operand(operands[i]!);
  }

  /** What follows the operands, for instructions that have data; calls have written theirs. */
  private data(inst: Inst): void {
    const { out, pool } = this;
    switch (inst.op) {
      case Op.Load:
      case Op.Store:
        this.memory(inst.data, false);
        break;
      case Op.GetElementPtr:
        out.uint(pool.types.index((inst.data as GepData).elementType));
        break;
      case Op.ICmp:
        out.byte(intPredicates.code(inst.data));
        break;
      case Op.FCmp:
        out.byte(floatPredicates.code(inst.data));
        break;
      case Op.Alloca:
        this.alloca(inst.data);
        break;
      case Op.Switch:
        this.cases(inst.data, inst.blocks.length - 1);
        break;
      case Op.ExtractValue:
      case Op.InsertValue:
        out.uint(inst.data.length);
        for (const index of inst.data) out.uint(index);
        break;
      case Op.ShuffleVector:
        out.uint(inst.data.length);
        for (const index of inst.data) out.uint(index + 1);
        break;
      case Op.Fence:
        this.memory(inst.data, true);
        break;
      case Op.CmpXchg:
        this.compareExchange(inst.data);
        break;
      case Op.AtomicRMW:
        this.memory(inst.data, true);
        out.byte(rmwOps.code((inst.data as AtomicRMWData).rmw));
        break;
      case Op.LandingPad:
        this.landingPad(inst.data);
        break;
    }
  }

  private memory(data: MemoryData, always: boolean): void {
    const ordered = always || data.ordering !== "not_atomic" || data.scope !== "";
    // The alignment of a fence means nothing; it may be anything there.
    const shift = always && data.align < 1 ? 0 : log2(data.align, "an alignment");
    this.out.byte(shift | (ordered ? MemoryOrdered : 0));
    if (ordered) {
      this.out.byte(orderings.code(data.ordering));
      this.out.uint(this.pool.string(data.scope));
    }
  }

  private compareExchange(data: CmpXchgData): void {
    this.memory(data, true);
    this.out.byte(orderings.code(data.failureOrdering));
    this.out.byte(data.weak ? 1 : 0);
  }

  private alloca(data: AllocaData): void {
    this.out.uint(this.pool.types.index(data.allocatedType));
    this.out.byte(
      log2(data.align, "an alignment") |
        (data.inalloca ? AllocaInAlloca : 0) |
        (data.swifterror ? AllocaSwiftError : 0),
    );
  }

  private cases(values: readonly ConstInt[], count: number): void {
    if (values.length !== count) throw new Error(`encodeBody: @${this.fn.name}: miscounted switch cases`);
    for (const value of values) this.out.uint(this.pool.leaves.index(value));
  }

  private landingPad(data: LandingPadData): void {
    this.out.byte(data.cleanup ? 1 : 0);
    for (const clause of data.clauses) this.out.byte(clause === "filter" ? 1 : 0);
  }
}
