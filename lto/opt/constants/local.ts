/** What is known around a body by itself: nothing of memory that changes, and of arguments and calls what is said of them. */
import type { AttributeSet, IntegerRange } from "../../ir/attributes.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { Folder, floatModeOf } from "../../ir/fold/index.js";
import { type CallInst, type Inst, type InstWith, isPlainAccess, type Op } from "../../ir/instructions.js";
import { type Intrinsic, intrinsicOf } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import type { Argument, Constant, Value } from "../../ir/values.js";
import { factOf, hasIntervals, type Interval } from "./interval.js";
import { isConstantFact, type Known, unknown, varying } from "./lattice.js";
import type { Surroundings } from "./solver.js";

export class LocalSurroundings implements Surroundings {
  private readonly folder: Folder;

  /** @param passed by parameter: the constant that it is, or what it is between; absent: anybody calls */
  constructor(
    private readonly fn: Func,
    layout: DataLayout,
    private readonly passed: readonly (Constant | Interval | null)[] = [],
  ) {
    this.folder = new Folder(layout, floatModeOf(fn));
  }

  argument({ index }: Argument): Known {
    return this.passed[index] ?? said(this.fn.attributes.parameter(index));
  }
  call(call: CallInst, known: (value: Value) => Known): Known {
    const intrinsic = intrinsicOf(call.operands[0]!);
    if (intrinsic === null || !intrinsic.pure) return said(call.data.attributes.result);
    return resultOfIntrinsic(this.folder, intrinsic, call, known);
  }
  load(load: InstWith<Op.Load>, pointer: Known): Known {
    if (!isPlainAccess(load)) return varying;
    return isConstantFact(pointer) ? (this.folder.load(load.type, pointer) ?? varying) : pointer;
  }
  store(): void {}
  ret(): void {}
  fold(inst: Inst, operands: readonly Constant[]): Constant | null {
    return this.folder.operation(inst.op, inst.type, operands, inst.data, inst.flags);
  }
}

/** Of a pure intrinsic that is called. */
export function resultOfIntrinsic(
  folder: Folder,
  { name }: Intrinsic,
  call: CallInst,
  known: (value: Value) => Known,
): Known {
  const passed: Constant[] = [];
  let isConstant = true;
  for (let i = 1; i <= call.data.argumentCount; i++) {
    const fact = known(call.operands[i]!);
    if (fact === unknown) return unknown;
    if (isConstantFact(fact)) passed.push(fact);
    else isConstant = false;
  }
  return isConstant ? (folder.intrinsic(name, call.type, passed) ?? varying) : varying;
}

/** Outside of its range a value is poison, but undef may be any number for each use: an interval is of values that stay. */
function said(attributes: AttributeSet): Known {
  const { range } = attributes;
  return range === undefined || !attributes.has("noundef") ? varying : factOfRange(range);
}
function factOfRange({ type, from, to }: IntegerRange): Known {
  if (!hasIntervals(type)) return varying;
  const least = BigInt.asIntN(type.bits, from);
  const largest = BigInt.asIntN(type.bits, to - 1n);
  if (least > largest) return varying;
  return factOf(type, Number(least), Number(largest)) ?? varying;
}
