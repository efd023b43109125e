/**
 * At which distances from a pointer a body goes to memory, and from which place before or after the pointer all
 * that takes the fewest bytes.
 *
 * Where near distances are encoded in fewer bytes than others (`target/addresses.ts`), fields of a structure that lie past the
 * first ones are cheaper from a pointer into its middle: the center.
 *
 * Linear in the operands of the body; choosing is linear in the uses of one pointer, times few candidates.
 */
import type { DataLayout } from "../ir/data-layout.js";
import { gepSteps } from "../ir/fold/addresses.js";
import { type BodyView, type Inst, Op } from "../ir/instructions.js";
import { constantStep, isNullTest } from "../ir/move-pointers.js";
import { ptr } from "../ir/types.js";
import type { Value } from "../ir/values.js";
import {
  type AddressCosts,
  addressBytes,
  distanceBytes,
  farBytes,
  isFar,
  nearRange,
} from "../target/addresses.js";

/** A pointer that comes into a register from elsewhere. */
export function arrives(value: Value): boolean {
  if (value.type !== ptr) return false;
  if (value.valueKind === "argument") return true;
  if (value.valueKind !== "inst") return false;
  return value.op === Op.Load || value.op === Op.Call || value.op === Op.Phi || value.op === Op.Select;
}

/** Bytes of setting a near center inside of a function. */
export const settingBytes = ({ set, setParameter }: AddressCosts, { valueKind }: Value): number =>
  valueKind === "argument" ? setParameter : set;

/** Bytes of setting a center that is so far from where the pointer is. @param setting as `settingBytes` says */
export const settingFrom = (costs: AddressCosts, setting: number, distance: number): number =>
  setting + (isFar(costs, distance) ? farBytes(costs) : 0);

/** What a body does with a pointer, as distances in bytes from it. */
export class PointerUses {
  /** Loads and stores, and addresses with a variable part. */
  readonly accesses: number[] = [];
  /** Addresses that are made as values, each once; 0 for each use of the pointer itself. */
  readonly addresses: number[] = [];
  /** Comparisons of the pointer itself with null. */
  nullTests = 0;
}

/** Of the places that the most accesses are near, so many are tried. */
export const candidatesTried = 8;

/** Bytes that the uses take for distances from the center. */
export function bytesFrom(
  { accesses, addresses, nullTests }: PointerUses,
  center: number,
  costs: AddressCosts,
): number {
  let bytes = nullTests * distanceBytes(costs, center);
  for (let i = 0; i < accesses.length; i++) bytes += distanceBytes(costs, accesses[i]! - center);
  for (let i = 0; i < addresses.length; i++) bytes += addressBytes(costs, addresses[i]! - center);
  return bytes;
}

/** The numbers that are in the list most often, so many at most; the smaller ones first where they are as frequent. */
export function mostFrequent(numbers: readonly number[], limit: number): number[] {
  const counts = new Map<number, number>();
  for (const n of numbers) counts.set(n, (counts.get(n) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  return sorted.slice(0, limit).map(([n]) => n);
}

/** Of each distance among ascending ones: which of them lie in the `size` bytes that begin with it, by position. */
export function windowsOf(
  distances: readonly number[],
  size: number,
): { readonly from: number; readonly to: number }[] {
  const windows: { readonly from: number; readonly to: number }[] = [];
  for (let from = 0, to = 0; from < distances.length; from++) {
    if (from > 0 && distances[from] === distances[from - 1]) continue;
    while (to < distances.length && distances[to]! < distances[from]! + size) to++;
    windows.push({ from, to });
  }
  return windows;
}

/**
 * Centers to try beside 0: from them many accesses are near that are not near the pointer itself, or what is passed on is
 * there.
 */
export function possibleCenters(uses: PointerUses, costs: AddressCosts): ReadonlySet<number> {
  const { nearFrom, nearTo, farthestBias } = costs;
  const out = new Set<number>();
  const made = uses.addresses.filter((d) => d !== 0 && Math.abs(d) < farthestBias);
  for (const center of mostFrequent(made, 1)) out.add(center);
  const all = uses.accesses.filter((d) => Math.abs(d) < farthestBias + nearFrom);
  if (!all.some((d) => isFar(costs, d))) return out;
  // Set in a short instruction, it reaches the most fields.
  out.add(nearTo);
  // What is there itself takes no byte.
  for (const center of mostFrequent(all, 2)) if (center !== 0) out.add(center);
  all.sort((a, b) => a - b);
  const windows = windowsOf(all, nearRange(costs)).sort(
    (a, b) => b.to - b.from - (a.to - a.from) || a.from - b.from,
  );
  for (const { from } of windows.slice(0, candidatesTried)) out.add(all[from]! - nearFrom);
  return out;
}

/** A pointer that addresses lead back to, and how far they are from it. */
export interface Distance {
  readonly pointer: Value;
  readonly bytes: number;
}

/** Looks through addresses at constant distances. */
export class Distances {
  private readonly known = new Map<Value, Distance>();
  constructor(private readonly layout: DataLayout) {}

  of(address: Value): Distance {
    // Most pointers are no addresses.
    if (address.valueKind !== "inst" || address.op !== Op.GetElementPtr)
      return this.known.get(address) ?? { pointer: address, bytes: 0 };
    const steps: { readonly gep: Inst; readonly by: number }[] = [];
    let pointer: Value = address;
    let found = this.known.get(pointer);
    while (found === undefined) {
      const by = constantStep(this.layout, pointer);
      if (by === null) break;
      steps.push({ gep: pointer as Inst, by });
      // In code that is never reached an address may be computed from itself: there it ends.
      this.known.set(pointer, { pointer, bytes: 0 });
      pointer = (pointer as Inst).operands[0]!;
      found = this.known.get(pointer);
    }
    found ??= { pointer, bytes: 0 };
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      const bytes: number = found.bytes + step.by;
      found = Number.isSafeInteger(bytes)
        ? { pointer: found.pointer, bytes }
        : { pointer: step.gep, bytes: 0 };
      this.known.set(step.gep, found);
    }
    return found;
  }

  /** Keeps where an address at a constant distance from its operand is, mostly before somebody asks. */
  private know(gep: Inst, step: number): void {
    if (this.known.has(gep)) return;
    const { pointer, bytes } = this.of(gep.operands[0]!);
    // In code that is never reached it may have been computed from itself.
    if (!this.known.has(gep) && Number.isSafeInteger(bytes + step))
      this.known.set(gep, { pointer, bytes: bytes + step });
  }

  /** From now on the address is there. */
  tell(address: Value, distance: Distance): void {
    this.known.set(address, distance);
  }

  /**
   * Adds up what a body does with each of the pointers that are looked for, of those that arrive.
   * @param usesOf where to add it; undefined for pointers nobody asks for
   * @param isCounted false for uses, as operand of an instruction at a position, that are somebody else's to count
   */
  addUp(
    { blocks }: BodyView,
    usesOf: (pointer: Value) => PointerUses | undefined,
    isCounted: (user: Inst, position: number) => boolean = () => true,
  ): void {
    const made = new Set<Value>();
    for (const { insts } of blocks)
      for (const user of insts) {
        const { op, operands } = user;
        if (op === Op.GetElementPtr) {
          const step = constantStep(this.layout, user);
          if (step !== null) {
            this.know(user, step);
            continue;
          }
        }
        for (let position = 0; position < operands.length; position++) {
          const operand = operands[position]!;
          if (operand.type !== ptr || operand.valueKind === "global") continue;
          let pointer: Value = operand;
          let bytes = 0;
          if (operand.valueKind === "inst" && operand.op === Op.GetElementPtr)
            ({ pointer, bytes } = this.of(operand));
          if (!arrives(pointer)) continue;
          const uses = usesOf(pointer);
          if (uses === undefined || !isCounted(user, position)) continue;
          if (isAccess(op, position)) uses.accesses.push(bytes);
          else if (op === Op.GetElementPtr)
            uses.accesses.push(bytes + gepSteps(this.layout, user.data.elementType, operands).bytes);
          else if (operand === pointer) {
            if (isNullTest(user)) uses.nullTests++;
            else uses.addresses.push(0);
          } else if (!made.has(operand)) {
            made.add(operand);
            uses.addresses.push(bytes);
          }
        }
      }
  }
}

function isAccess(op: Op, position: number): boolean {
  switch (op) {
    case Op.Load:
    case Op.AtomicRMW:
    case Op.CmpXchg:
      return position === 0;
    case Op.Store:
      return position === 1;
    default:
      return false;
  }
}
