/**
 * Interprets function bodies, before and after legalisation, so that the two can be compared.
 *
 * Two modes. `exact` follows LangRef: undefined and poison values are tracked, and a program that does
 * something undefined throws `Undefined`. `machine` runs legalised code: values are concrete bits, and what is
 * undefined in the IR is an arbitrary but fixed pattern, so that code that depends on it gives itself away.
 * Memory is one flat array; pointers are offsets into it. With a `World` around it, a body may also mention globals and
 * call functions.
 */

import { elementOf } from "../../../lto/codegen/legalize/constants.js";
import type { DataLayout } from "../../../lto/ir/data-layout.js";
import type { BodyView } from "../../../lto/ir/instructions.js";
import {
  type Block,
  type CallInst,
  type CastOp,
  Flag,
  type Inst,
  isTerminator,
  makeInst,
  Op,
} from "../../../lto/ir/instructions.js";
import type { Func, GlobalValue } from "../../../lto/ir/module.js";
import { floatType, halfType, i128, type Type } from "../../../lto/ir/types.js";
import { type Argument, type Constant, isConstant, type Value } from "../../../lto/ir/values.js";
import { bitWidth, fromNumber, inRange, mask, type Scalar, signed, toNumber, wrap } from "./bits.js";
import { breaksFlags } from "./flags.js";
import { frozen } from "./freeze.js";
import { fromBits, Memory, toBits } from "./memory.js";
import {
  binary,
  cast,
  compare,
  floatIntrinsic,
  intIntrinsic,
  Undefined,
  withOverflow,
} from "./scalar-ops.js";
import { typeQuery } from "./type-queries.js";
import { x64Operation } from "./x64-ops.js";

/** A scalar, or the elements of a vector or members of an aggregate. */
export type Val = Scalar | Val[];

const pattern = BigInt(`0x${"a5c396f05a3c690fb4d2871e4b2d78e1".repeat(32)}`);
const stepLimit = 20000;
/** Where the stack ends and global variables begin. */
export const globalsAt = 8192;
const memorySize = 16384;

/** A body, and what in it stands for the arguments. */
export interface Code {
  readonly body: BodyView;
  readonly args: readonly Argument[];
}

/** What is around a body: addresses of globals, and what calls do. */
export interface World {
  addressOf(global: GlobalValue): bigint;
  /** The body that a call of a function runs; undefined: it has none. */
  code(fn: Func): Code | undefined;
  /** The function with an address. */
  functionAt(address: bigint): Func | undefined;
  /** A call of a function without a body. */
  callUnknown(fn: Func, args: readonly Val[], result: Type): Val;
  /** Whether an address is one of those that `!type` lists for a type. */
  hasType(address: bigint, type: string): boolean;
  /** Labels are those of one function. */
  addressOfLabel(label: number): bigint;
}

export class Interpreter {
  readonly store: Memory;
  /** What `freeze` makes of poison, in as many bits as are wanted; null: that is undefined. */
  frozen: bigint | null = null;
  private stackTop = 4096;
  private steps = 0;
  private values = new Map<Inst | Argument, Val>();

  constructor(
    private readonly layout: DataLayout,
    private readonly mode: "exact" | "machine",
    private readonly world: World | null = null,
  ) {
    this.store = new Memory(layout, memorySize);
  }

  get memory(): Uint8Array {
    return this.store.bytes;
  }

  /** Runs a body; the operands of its `ret`. */
  run(body: BodyView, args: readonly (readonly [Argument, Val])[]): Val[] {
    for (const [argument, value] of args) this.values.set(argument, value);
    let block: Block = body.blocks[0]!;
    let previous: Block | null = null;
    for (;;) {
      this.phis(block, previous);
      for (const inst of block.insts) {
        if (inst.op === Op.Phi) continue;
        if (++this.steps > stepLimit) throw new Undefined("endless");
        if (isTerminator(inst.op)) {
          if (inst.op === Op.Ret) return inst.operands.map((v) => this.value(v));
          previous = block;
          block = this.successor(inst);
          break;
        }
        this.values.set(inst, this.evaluate(inst));
      }
    }
  }

  private phis(block: Block, previous: Block | null): void {
    const incoming: [Inst, Val][] = [];
    for (const inst of block.insts) {
      if (inst.op !== Op.Phi) break;
      incoming.push([inst, this.value(inst.operands[inst.blocks.indexOf(previous!)]!)]);
    }
    for (const [inst, value] of incoming) this.values.set(inst, value);
  }

  private successor(inst: Inst): Block {
    switch (inst.op) {
      case Op.Br:
        return inst.blocks[0]!;
      case Op.CondBr:
        return inst.blocks[this.decided(inst.operands[0]!) !== 0n ? 0 : 1]!;
      case Op.Switch: {
        const value = this.decided(inst.operands[0]!);
        const width = inst.operands[0]!.type.bits;
        const at = inst.data.findIndex((c) => wrap(c.value, width) === value);
        return inst.blocks[at + 1]!;
      }
      case Op.IndirectBr: {
        const address = this.decided(inst.operands[0]!);
        const target = inst.blocks.find((block) => this.world?.addressOfLabel(block.label) === address);
        if (target === undefined) throw new Undefined("indirect branch to no destination");
        return target;
      }
      case Op.Invoke:
        this.values.set(inst, this.call(inst));
        return inst.blocks[0]!;
      default:
        throw new Undefined("unreachable");
    }
  }

  /** A scalar that control depends on. */
  private decided(value: Value): bigint {
    const v = this.value(value);
    if (v === null) throw new Undefined("control depends on poison");
    return v as bigint;
  }

  private undefinedOf(type: Type): Val {
    if (type.isAggregate) {
      const count = type.kind === "array" ? type.count : type.elements.length;
      return Array.from({ length: count }, (_, i) =>
        this.undefinedOf(type.kind === "array" ? type.element : type.elements[i]!),
      );
    }
    if (type.kind === "vector")
      return Array.from({ length: type.count }, () => this.undefinedOf(type.element));
    return this.mode === "exact" ? null : wrap(pattern, bitWidth(type));
  }

  value(value: Value): Val {
    if (value.valueKind === "inst" || value.valueKind === "argument") {
      const known = this.values.get(value);
      if (known === undefined) throw new Error("interpreter: value used before its definition");
      return known;
    }
    if (!isConstant(value)) return null;
    return this.constant(value);
  }

  private constant(c: Constant): Val {
    const type = c.type;
    if (c.valueKind === "undef") return this.undefinedOf(type);
    if (type.kind === "vector" || type.isAggregate) {
      const count = type.kind === "struct" ? type.elements.length : type.count;
      return Array.from({ length: count }, (_, i) => this.constant(elementOf(c, i)));
    }
    switch (c.valueKind) {
      case "int":
        return wrap(c.value, type.bits);
      case "float":
        return c.bits;
      case "zero":
        return 0n;
      case "global":
        if (this.world !== null) return this.world.addressOf(c);
        break;
      case "blockaddress":
        if (this.world !== null) return this.world.addressOfLabel(c.label);
        break;
      case "expr": {
        const data = c.op === Op.GetElementPtr ? { elementType: c.elementType! } : c.predicate;
        return this.evaluate(makeInst(c.op as Op.Add, type, [...c.operands], data as null, [], c.flags));
      }
      default:
        break;
    }
    throw new Error(`interpreter: constant ${c.valueKind}`);
  }

  /** Applies a scalar function lane by lane. */
  private lanes(type: Type, f: (...lanes: Scalar[]) => Scalar, ...args: Val[]): Val {
    if (type.kind !== "vector") return f(...(args as Scalar[]));
    return Array.from({ length: type.count }, (_, i) => f(...args.map((a) => (a as Scalar[])[i]!)));
  }
  private concrete(value: Scalar, width: number): Scalar {
    return value === null && this.mode === "machine" ? wrap(pattern, width) : value;
  }

  /** A result, or poison where flags say so; where nothing is poison they say nothing. */
  private flagged(
    { op, flags }: Inst,
    type: Type,
    to: Type,
    a: Scalar,
    b: Scalar,
    compute: () => Scalar,
  ): Scalar {
    const result = compute();
    if (flags === 0 || this.mode !== "exact" || result === null || a === null || b === null) return result;
    if (type.scalar.kind !== "int") return result;
    return breaksFlags(op, flags, type.scalar.bits, to.scalar.bits, a, b) ? null : result;
  }

  private evaluate(inst: Inst): Val {
    const type = inst.type;
    const operand = (i: number): Val => this.value(inst.operands[i]!);
    const operandType = inst.operands[0]?.type;
    if (inst.op >= Op.Add && inst.op <= Op.Xor)
      return this.lanes(
        type,
        (a, b) =>
          this.concrete(
            this.flagged(inst, type, type, a!, b!, () => binary(inst.op, type.scalar, a!, b!)),
            bitWidth(type.scalar),
          ),
        operand(0),
        operand(1),
      );
    switch (inst.op) {
      case Op.FNeg:
        return this.lanes(
          type,
          (a) => (a === null ? null : floatIntrinsic("fneg", type.scalar, [a!])!),
          operand(0),
        );
      case Op.ICmp:
      case Op.FCmp:
        return this.lanes(
          type,
          (a, b) =>
            this.flagged(inst, operandType!, type, a!, b!, () =>
              compare(inst.data, operandType!.scalar, a!, b!),
            ),
          operand(0),
          operand(1),
        );
      case Op.Select: {
        if (operandType!.kind === "vector")
          return this.lanes(
            type,
            (c, a, b) => (c === null ? null : c === 0n ? b! : a!),
            operand(0),
            operand(1),
            operand(2),
          );
        const condition = operand(0);
        if (condition === null) return this.undefinedOf(type);
        return condition === 0n ? operand(2) : operand(1);
      }
      case Op.Freeze:
        return frozen(operand(0), inst.type, this.frozen);
      case Op.BitCast:
        return fromBits(type, toBits(operandType!, operand(0)));
      case Op.Trunc:
      case Op.ZExt:
      case Op.SExt:
      case Op.FPTrunc:
      case Op.FPExt:
      case Op.FPToUI:
      case Op.FPToSI:
      case Op.UIToFP:
      case Op.SIToFP:
      case Op.PtrToInt:
      case Op.IntToPtr:
      case Op.AddrSpaceCast:
        return this.lanes(
          type,
          (a) =>
            this.concrete(
              this.flagged(inst, operandType!, type, a!, 0n, () =>
                cast(inst.op as CastOp, operandType!.scalar, type.scalar, a!),
              ),
              bitWidth(type.scalar),
            ),
          operand(0),
        );
      case Op.Alloca: {
        const align = inst.data.align;
        const count = Number(operand(0) as bigint);
        this.stackTop = Math.ceil(this.stackTop / align) * align;
        const address = this.stackTop;
        this.stackTop += this.layout.allocSize(inst.data.allocatedType) * count;
        if (this.stackTop > globalsAt) throw new Error("interpreter: out of stack");
        return BigInt(address);
      }
      case Op.Load:
        return this.loadType(type, Number(this.decided(inst.operands[0]!)));
      case Op.Store:
        this.storeType(operandType!, operand(0), Number(this.decided(inst.operands[1]!)));
        return null;
      case Op.GetElementPtr:
        return this.elementPointer(inst);
      case Op.ExtractElement: {
        const at = Number(this.decided(inst.operands[1]!));
        return (operand(0) as Val[])[at] ?? this.undefinedOf(type);
      }
      case Op.InsertElement: {
        const out = [...(operand(0) as Val[])];
        const at = Number(this.decided(inst.operands[2]!));
        if (at >= out.length) return this.undefinedOf(type);
        out[at] = operand(1);
        return out;
      }
      case Op.ShuffleVector: {
        const both = [...(operand(0) as Val[]), ...(operand(1) as Val[])];
        return inst.data.map((i) => (i < 0 ? null : both[i]!));
      }
      case Op.ExtractValue:
        return inst.data.reduce<Val>((v, i) => (v as Val[])[i]!, operand(0));
      case Op.InsertValue:
        return this.insertAt(operand(0), inst.data, operand(1));
      case Op.AtomicRMW:
        return this.readModifyWrite(
          inst.data.rmw,
          type,
          Number(this.decided(inst.operands[0]!)),
          operand(1) as bigint,
        );
      case Op.CmpXchg: {
        const address = Number(this.decided(inst.operands[0]!));
        const old = this.loadType(inst.operands[1]!.type, address);
        const equal = old === operand(1);
        if (equal) this.storeType(inst.operands[1]!.type, operand(2), address);
        return [old, equal ? 1n : 0n];
      }
      case Op.Call:
        return this.call(inst);
      case Op.Fence:
        return null;
      default:
        throw new Error(`interpreter: opcode ${inst.op}`);
    }
  }

  private insertAt(aggregate: Val, path: readonly number[], value: Val): Val {
    if (path.length === 0) return value;
    const out = [...(aggregate as Val[])];
    out[path[0]!] = this.insertAt(out[path[0]!]!, path.slice(1), value);
    return out;
  }

  loadType(type: Type, address: number): Val {
    return this.store.load(type, address);
  }
  storeType(type: Type, value: Val, address: number): void {
    this.store.store(type, value, address);
  }

  private elementPointer(inst: Extract<Inst, { op: Op.GetElementPtr }>): Val {
    const count = inst.type.kind === "vector" ? inst.type.count : 1;
    const lane = (v: Value, i: number): Scalar => {
      const value = this.value(v);
      return Array.isArray(value) ? (value[i] as Scalar) : value;
    };
    const out: Scalar[] = [];
    for (let i = 0; i < count; i++) {
      let address = lane(inst.operands[0]!, i);
      let type = inst.data.elementType;
      for (let k = 1; k < inst.operands.length; k++) {
        const index = lane(inst.operands[k]!, i);
        if (index === null || address === null) throw new Undefined("address");
        const by = signed(index, inst.operands[k]!.type.scalar.bits);
        if (k === 1) address += by * BigInt(this.layout.allocSize(type));
        else {
          address += BigInt(
            type.kind === "struct"
              ? this.layout.elementOffset(type, Number(by))
              : this.layout.allocSize(type.element) * Number(by),
          );
          type = type.kind === "struct" ? type.elements[Number(by)]! : type.element;
        }
      }
      out.push(address === null ? null : wrap(address, 64));
    }
    return inst.type.kind === "vector" ? out : out[0]!;
  }

  private readModifyWrite(rmw: string, type: Type, address: number, operand: bigint): Val {
    const old = this.loadType(type, address);
    if (old === null || Array.isArray(old)) throw new Undefined("poison changed atomically");
    const w = bitWidth(type);
    const next = ((): bigint => {
      switch (rmw) {
        case "xchg":
          return operand;
        case "add":
          return wrap(old + operand, w);
        case "sub":
          return wrap(old - operand, w);
        case "and":
          return old & operand;
        case "or":
          return old | operand;
        case "xor":
          return old ^ operand;
        case "nand":
          return wrap(~(old & operand), w);
        case "uinc_wrap":
          return old >= operand ? 0n : old + 1n;
        case "udec_wrap":
          return old === 0n || old > operand ? operand : old - 1n;
        case "usub_cond":
          return old >= operand ? old - operand : old;
        case "usub_sat":
          return old >= operand ? old - operand : 0n;
        case "fadd":
          return binary(Op.FAdd, type, old, operand)!;
        case "fsub":
          return binary(Op.FSub, type, old, operand)!;
        default:
          return intIntrinsic(rmw[0] === "u" ? rmw : `s${rmw}`, w, [old, operand])!;
      }
    })();
    this.storeType(type, next, address);
    return old;
  }

  // ── Calls ──

  private call(inst: CallInst): Val {
    const operands = inst.operands.slice(1, 1 + inst.data.argumentCount);
    const callee = this.callee(inst);
    const name = callee.name;
    if (/^llvm\.(public\.)?type\./.test(name)) return typeQuery(this, this.world, name, operands);
    const args = operands.map((v) => this.value(v));
    if (name.startsWith("tsc.")) return this.internal(name.slice(4), inst, operands, args as bigint[]);
    if (name.startsWith("llvm.")) return this.intrinsic(name.slice(5), inst, operands, args);
    if (this.world === null) return this.library(name, inst, args as bigint[]);
    const code = this.world.code(callee);
    if (code === undefined)
      return inRange(this.world.callUnknown(callee, args, inst.type), inst.data.attributes.result.range);
    const { stackTop } = this;
    const result = this.enter(
      code,
      args.map((value, i) => this.passed(callee, i, value)),
    );
    this.stackTop = stackTop;
    return result;
  }
  /** What the callee gets for an argument: of memory that is passed by value, a copy's address. */
  private passed(callee: Func, index: number, value: Val): Val {
    const type = callee.attributes.parameter(index).type("byval");
    if (type === undefined || typeof value !== "bigint") return value;
    const to = Math.ceil(this.stackTop / 64) * 64;
    const size = this.layout.allocSize(type);
    this.stackTop = to + size;
    this.store.copy(to, Number(value), size);
    return BigInt(to);
  }

  private callee(inst: CallInst): Func {
    const operand = inst.operands[0]!;
    if (operand.valueKind === "global" && operand.kind === "function") return operand;
    const fn = this.world?.functionAt(this.decided(operand));
    if (fn === undefined) throw new Undefined("call of no function");
    return fn;
  }

  /** Runs a function of the world as a call does. */
  private enter({ body, args: parameters }: Code, args: readonly Val[]): Val {
    const { values, stackTop } = this;
    this.values = new Map();
    const results = this.run(
      body,
      parameters.map((argument, i) => [argument, args[i]!]),
    );
    this.values = values;
    this.stackTop = stackTop;
    return results[0] ?? null;
  }

  private internal(name: string, inst: CallInst, operands: readonly Value[], args: bigint[]): Val {
    const words = (v: bigint): Val => [wrap(v, 64), wrap(v >> 64n, 64)];
    const wide = (low: number): bigint => args[low]! | (args[low + 1]! << 64n);
    switch (name) {
      case "add128":
        return words(wide(0) + wide(2));
      case "sub128":
        return words(wide(0) - wide(2));
      case "umul.wide":
        return words(args[0]! * args[1]!);
      case "smul.wide":
        return words(BigInt.asIntN(64, args[0]!) * BigInt.asIntN(64, args[1]!));
      default:
        break;
    }
    const types = operands.map((v) => v.type);
    const bits = operands.map((v, i) => toBits(v.type, args[i] as unknown as Val).bits);
    return fromBits(inst.type, { bits: x64Operation(name.slice(4), bits, types), poison: 0n });
  }

  private intrinsic(name: string, inst: CallInst, operands: readonly Value[], args: Val[]): Val {
    const base = name.replace(/(\.(i\d+|f\d+|bf16|v\d+\w+|p\d+))+$/, "");
    if (base === "stacksave") return BigInt(this.stackTop);
    if (base === "stackrestore") {
      this.stackTop = Number(this.decided(operands[0]!));
      return null;
    }
    const type = operands[0]!.type;
    const scalar = type.scalar;
    const width = scalar.isFloat || scalar.kind === "int" ? bitWidth(scalar) : 0;
    if (base.endsWith(".with.overflow")) {
      const results = this.perLane(type, args, (a) =>
        a.includes(null) ? [null, null] : withOverflow(base, width, a[0]!, a[1]!),
      );
      const member = (k: 0 | 1): Val =>
        type.kind === "vector" ? results.map((r) => r[k]!) : results[0]![k]!;
      return [member(0), member(1)];
    }
    if (base.startsWith("mem")) return this.memoryBlock(base, args);
    if (base.startsWith("lifetime.") || base === "assume") return null;
    if (base === "expect") return args[0]!;
    if (base.startsWith("vector.reduce.")) return this.reduce(base.slice(14), inst, scalar, args);
    if (base === "fptosi.sat" || base === "fptoui.sat")
      return this.lanes(
        inst.type,
        (a) => (a === null ? null : saturate(base, scalar, inst.type.scalar, a!)),
        args[0]!,
      );
    const results = this.perLane(inst.type, args, (a) => {
      if (a.includes(null)) return [null];
      const known = a as bigint[];
      const result = scalar.isFloat ? floatIntrinsic(base, scalar, known) : intIntrinsic(base, width, known);
      if (result === undefined) throw new Error(`interpreter: llvm.${name}`);
      return [this.concrete(result, width)];
    });
    return inst.type.kind === "vector" ? results.map((r) => r[0]!) : results[0]![0]!;
  }

  /** memset, memcpy and memmove. */
  private memoryBlock(name: string, args: readonly Val[]): Val {
    if (args.includes(null)) throw new Undefined("a block of memory of poison");
    const [to, from, length] = (args as bigint[]).slice(0, 3).map(Number) as [number, number, number];
    if (Math.max(to, name === "memset" ? 0 : from) + length > this.memory.length)
      throw new Undefined("a block outside of memory");
    if (name === "memset") this.store.fill(to, from, length);
    else this.store.copy(to, from, length);
    return null;
  }

  private perLane(type: Type, args: readonly Val[], f: (lane: Scalar[]) => Scalar[]): Scalar[][] {
    const count = type.kind === "vector" ? type.count : 1;
    return Array.from({ length: count }, (_, i) =>
      f(args.map((a) => (Array.isArray(a) ? (a[i] as Scalar) : a))),
    );
  }

  private reduce(name: string, inst: CallInst, scalar: Type, args: Val[]): Val {
    const ops: Readonly<Record<string, Op>> = {
      add: Op.Add,
      mul: Op.Mul,
      and: Op.And,
      or: Op.Or,
      xor: Op.Xor,
    };
    const lanes = args[args.length - 1] as Scalar[];
    if (name === "fadd" || name === "fmul") {
      if ((inst.flags & Flag.AllowReassoc) !== 0) throw new Error("interpreter: unordered reduction");
      const type = inst.type;
      const op = name === "fadd" ? Op.FAdd : Op.FMul;
      return lanes.reduce<Scalar>((sum, x) => binary(op, type, sum, x), args[0] as Scalar);
    }
    const op = ops[name];
    return lanes.slice(1).reduce<Scalar>((sum, x) => {
      if (op !== undefined) return binary(op, scalar, sum, x);
      if (sum === null || x === null) return null;
      return intIntrinsic(name, bitWidth(scalar), [sum, x])!;
    }, lanes[0]!);
  }

  private library(name: string, inst: CallInst, args: bigint[]): Val {
    const wide = (low: number): bigint => args[low]! | (args[low + 1]! << 64n);
    const words = (v: bigint): Val => [wrap(v, 64), wrap(v >> 64n, 64)];
    const s = (v: bigint): bigint => signed(v, 128);
    switch (name) {
      case "__udivti3":
        return words(wide(0) / wide(2));
      case "__umodti3":
        return words(wide(0) % wide(2));
      case "__divti3":
        return words(s(wide(0)) / s(wide(2)));
      case "__modti3":
        return words(s(wide(0)) % s(wide(2)));
      case "__extendhfsf2":
        return fromNumber(floatType, toNumber(halfType, args[0]!));
      case "__truncsfhf2":
      case "__truncdfhf2":
        return fromNumber(halfType, toNumber(inst.operands[1]!.type, args[0]!));
      case "fmodf":
      case "fmod":
        return binary(Op.FRem, inst.type, args[0]!, args[1]!);
      case "floorf":
      case "floor":
      case "ceilf":
      case "ceil":
      case "truncf":
      case "trunc":
        return floatIntrinsic(name.replace(/f$/, ""), inst.type, [args[0]!])!;
      case "__floattisf":
      case "__floattidf":
        return cast(Op.SIToFP, wideInt, inst.type, wide(0));
      case "__floatuntisf":
      case "__floatuntidf":
        return cast(Op.UIToFP, wideInt, inst.type, wide(0));
      case "__fixsfti":
      case "__fixdfti":
        return words(cast(Op.FPToSI, inst.operands[1]!.type, wideInt, args[0]!) ?? pattern);
      case "__fixunssfti":
      case "__fixunsdfti":
        return words(cast(Op.FPToUI, inst.operands[1]!.type, wideInt, args[0]!) ?? pattern);
      default:
        throw new Error(`interpreter: call of ${name}`);
    }
  }
}

const wideInt = i128;

function saturate(base: string, from: Type, to: Type, bits: bigint): bigint {
  const value = toNumber(from, bits);
  const w = to.bits;
  if (Number.isNaN(value)) return 0n;
  const isSigned = base === "fptosi.sat";
  const low = isSigned ? -(1n << BigInt(w - 1)) : 0n;
  const high = isSigned ? (1n << BigInt(w - 1)) - 1n : mask(w);
  if (value === Number.POSITIVE_INFINITY) return wrap(high, w);
  if (value === Number.NEGATIVE_INFINITY) return wrap(low, w);
  const exact = BigInt(Math.trunc(value));
  return wrap(exact < low ? low : exact > high ? high : exact, w);
}
