/**
 * Loads that can be made although control may not get to them.
 *
 * Proof obligations: the memory is there wherever the function is executed. That of variables and of copies passed by
 * value is. What an attribute says of an argument holds at the function's entry, and after that as long as nothing frees
 * memory: neither the function itself, nor another thread of which it may know that it has. So only in functions without calls
 * that do more than compute, and without accesses that other threads take part in. The load itself is plain, and of ordinary memory.
 * Breaks if: something by which threads speak to each other counts as an ordinary access.
 */
import { constantPlace, sizeOfObject } from "../../analysis/objects.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { type CallInst, type Inst, type InstWith, isCall, isPlainAccess, Op } from "../../ir/instructions.js";
import { type Intrinsic, intrinsicOf } from "../../ir/intrinsics.js";
import { Memory } from "../../ir/memory-effects.js";
import type { Func } from "../../ir/module.js";
import type { Argument } from "../../ir/values.js";
import { callEffects, isVolatileTransfer } from "../call-effects.js";

/** Memory that is there: its size and alignment in bytes. */
interface Room {
  readonly bytes: number;
  readonly align: number;
}
const noRoom: Room = { bytes: 0, align: 1 };

export class ReadableMemory {
  private isKept: boolean | null = null;

  constructor(
    private readonly fn: Func,
    private readonly layout: DataLayout,
  ) {}

  /** Whether a load never traps, wherever in the function its address is known, and its address is as aligned as it says. */
  canRead(load: InstWith<Op.Load>): boolean {
    if (!isPlainAccess(load)) return false;
    const { base, offset } = constantPlace(load.operands[0]!, this.layout);
    if (offset < 0 || base.type.kind !== "ptr" || base.type.addressSpace !== 0) return false;
    const { bytes, align } =
      base.valueKind === "argument" ? this.roomAt(base) : (sizeOfObject(base, this.layout) ?? noRoom);
    if (offset + this.layout.storeSize(load.type) > bytes) return false;
    return align % load.data.align === 0 && offset % load.data.align === 0;
  }

  /** What an argument points to. */
  private roomAt({ index }: Argument): Room {
    const attributes = this.fn.attributes.parameter(index);
    const align = attributes.int("align") ?? 1;
    const copied = attributes.type("byval");
    if (copied !== undefined) return { bytes: this.layout.allocSize(copied), align };
    const bytes = attributes.int("dereferenceable") ?? 0;
    return bytes > 0 && this.nothingIsFreed() ? { bytes, align } : noRoom;
  }

  private nothingIsFreed(): boolean {
    this.isKept ??= this.fn.view().blocks.every(({ insts }) => !insts.some(mayBeGoneAfter));
    return this.isKept;
  }
}
/** Whether memory may be gone after an instruction: freed by it, or by another thread that tells so there. */
function mayBeGoneAfter(inst: Inst): boolean {
  switch (inst.op) {
    case Op.Load:
    case Op.Store:
      return !isPlainAccess(inst);
    case Op.Fence:
    case Op.CmpXchg:
    case Op.AtomicRMW:
      return true;
    default:
      return isCall(inst) && mayBeGoneAfterCall(inst);
  }
}
const isTransfer = ({ name }: Intrinsic): boolean => name.startsWith("mem");
function mayBeGoneAfterCall(call: CallInst): boolean {
  const intrinsic = intrinsicOf(call.operands[0]!);
  if (intrinsic !== null)
    return (
      !intrinsic.noFree ||
      (!intrinsic.noSync && (!isTransfer(intrinsic) || isVolatileTransfer(call, intrinsic.name)))
    );
  // `nosync` allows relaxed accesses, which are enough to be told.
  return callEffects(call) !== Memory.None;
}
