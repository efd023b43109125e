/**
 * Makes the addresses in a body from other pointers: where `from` stood, `to` does, which is so many bytes after it.
 *
 *     load (gep %from, 200)   →   load (gep %to, 200 - bytes)
 *
 * Values stay what they are, and so do all claims of the instructions that use them; what addresses claim of their steps
 * (`inbounds` and the like) goes, since `to` may lie outside of what `from` points into. For those who change lists of
 * instructions themselves (`raw`). Linear in the operands of the body.
 * Breaks if: the body has use lists.
 */
import type { DataLayout } from "./data-layout.js";
import { constantGepOffset } from "./fold/addresses.js";
import { type Block, type Body, type Inst, makeInst, Op } from "./instructions.js";
import { raw } from "./raw.js";
import { i8, ptr } from "./types.js";
import { type Constant, ConstExpr, constI64, type Value } from "./values.js";

export interface Move {
  readonly to: Value;
  /** Bytes from the pointer that was there to `to`. */
  readonly bytes: number;
}

/** `bytes` after the pointer. */
export const addressBehind = (pointer: Value, bytes: number): Inst =>
  makeInst(Op.GetElementPtr, ptr, [pointer, constI64(bytes)], { elementType: i8 });

/** The number as an address. */
const addressOf = (bytes: number): Constant => new ConstExpr(ptr, Op.IntToPtr, [constI64(bytes)]);

/** Whether a pointer is null or not. */
export function isNullTest(inst: Inst): boolean {
  if (inst.op !== Op.ICmp || (inst.data !== "eq" && inst.data !== "ne")) return false;
  const [, other] = inst.operands;
  return other!.valueKind === "zero" && other!.type === ptr;
}

export function movePointers(body: Body, layout: DataLayout, moves: ReadonlyMap<Value, Move>): void {
  /** Addresses for phis, by the block that they come from: one edge more from there has the same value. */
  const atEnd = new Map<Block, Map<Value, Inst>>();
  const same = new Map<Value, Value>();
  for (const block of body.blocks) {
    const insts: Inst[] = [];
    for (const user of block.insts) {
      const { operands } = user;
      // What is wanted several times, as by inline assembly, is one value.
      let own: Map<Value, Inst> | null = null;
      for (let i = 0; i < operands.length; i++) {
        const move = moves.get(operands[i]!);
        if (move === undefined) continue;
        if (i === 0 && isNullTest(user)) {
          raw(user).operands = [move.to, addressOf(move.bytes)];
          break;
        }
        const rest = i === 0 ? stepFrom(user, move, layout) : null;
        if (rest !== null) {
          if (rest === 0) same.set(user, move.to);
          raw(user).operands = [move.to, constI64(rest)];
          Object.assign(user, { data: { elementType: i8 }, flags: 0 });
          break;
        }
        let addresses: Map<Value, Inst> | null = own;
        if (user.op === Op.Phi) {
          const from = user.blocks[i]!;
          addresses = atEnd.get(from) ?? null;
          if (addresses === null) atEnd.set(from, (addresses = new Map()));
        } else if (addresses === null) own = addresses = new Map();
        let address = addresses.get(move.to);
        if (address === undefined) addresses.set(move.to, (address = addressBehind(move.to, -move.bytes)));
        raw(user).operands[i] = address;
      }
      if (own !== null)
        for (const address of own.values()) {
          address.parent = block;
          insts.push(address);
        }
      insts.push(user);
    }
    raw(block).insts = insts;
  }
  for (const [block, addresses] of atEnd) {
    for (const address of addresses.values()) address.parent = block;
    const { insts } = block;
    raw(block).insts = [...insts.slice(0, -1), ...addresses.values(), insts[insts.length - 1]!];
  }
  if (same.size > 0) replaceAll(body, same);
}

/** How far an address at a constant distance is from where the pointer goes; null: it is no such address, or too far. */
function stepFrom(user: Inst, { bytes }: Move, layout: DataLayout): number | null {
  const step = constantStep(layout, user);
  return step !== null && Number.isSafeInteger(step - bytes) ? step - bytes : null;
}

/** Bytes of a getelementptr with constant indices, on one plain pointer; null for all else. */
export function constantStep(layout: DataLayout, value: Value): number | null {
  if (value.valueKind !== "inst" || value.op !== Op.GetElementPtr || value.type !== ptr) return null;
  if (value.operands[0]!.type !== ptr) return null;
  const step = constantGepOffset(layout, value.data.elementType, value.operands);
  return step !== null && Number.isSafeInteger(step) ? step : null;
}

/** Puts values in place of addresses that are no distance away from them, which go. */
function replaceAll(body: Body, same: ReadonlyMap<Value, Value>): void {
  for (const block of body.blocks) {
    for (const inst of block.insts)
      for (let i = 0; i < inst.operands.length; i++) {
        const to = same.get(inst.operands[i]!);
        if (to !== undefined) raw(inst).operands[i] = to;
      }
    raw(block).insts = block.insts.filter((inst) => !same.has(inst));
  }
}
