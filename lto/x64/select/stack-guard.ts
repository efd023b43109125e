/**
 * The guard of the stack protector: where its value is, and the slot that holds a copy of it.
 *
 * The C library keeps the value in the thread's control block, 40 bytes after where fs points (glibc, "tls.h"); flags of
 * the module, which functions carry as attributes of the same names, may put it elsewhere relative to fs or gs.
 */
import { SlotRank } from "../../codegen/mir.js";
import { type CallInst, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { X } from "../isa/ops.js";
import type { Selector } from "./selector.js";

const attribute = (s: Selector, name: string): string | undefined =>
  s.mf.fn.kind === "function" ? s.mf.fn.attributes.fn.string(`stack-protector-guard${name}`) : undefined;

/** `llvm.stackguard`: a load that is made each time, so that no copy of the value lies on the stack in between. */
export function selectStackGuard(s: Selector, call: CallInst): void {
  if (attribute(s, "-symbol") !== undefined) s.unsupported("stack-protector-guard-symbol");
  const segment = attribute(s, "-reg") ?? (s.options.codeModel === "kernel" ? "gs" : "fs");
  const offset = Number(attribute(s, "-offset") ?? 40);
  if ((segment !== "fs" && segment !== "gs") || offset !== (offset | 0))
    return s.unsupported(`stack-protector-guard at ${segment}:${offset}`);
  const mem = memory(null, null, 1, offset, null, false, -1, segment);
  s.load(X.Mov, 8, s.resultOf(call), mem);
}

/** `llvm.stackprotector(value, slot)`: the slot lies above all others from now on. */
export function selectStackProtector(s: Selector, [value, place]: readonly Value[]): void {
  const slot = place?.valueKind === "inst" && place.op === Op.Alloca ? s.slots.slots[place.id]! : -1;
  if (slot < 0) return s.unsupported("llvm.stackprotector without a slot of its own");
  s.mf.slots[slot]!.rank = SlotRank.Guard;
  s.store(X.MovM, 8, s.slotMem(slot), s.reg(value!));
}
