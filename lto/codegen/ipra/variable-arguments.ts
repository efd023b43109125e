/**
 * What functions with variable arguments can count on: how many argument registers their callers use at most, and who
 * reads the count of vector registers that the platform has callers pass (`al` on x86-64).
 *
 *     static void error(const char *format, ...)      nobody passes it a double: no vector register is saved,
 *     error("%d: %s", line, text)                     nor the integer registers after the third; and `al` is not set
 *
 * Method: one look at each body. For each direct call that may pass variable arguments an upper bound of the registers
 * is added to what is known of its callee; for calls through pointers it is kept until their callees are known. A value
 * that legalisation might take apart counts as all registers. Linear in the calls.
 *
 * Proof obligations: a closed function is entered by listed calls only. Code of ours never reads the count, but where
 * a function hands its own variable arguments on by a jump that must be one, or has no prologue of ours.
 * Breaks if: a pass between this and selection makes calls pass more arguments.
 */
import type { IndirectCalls } from "../../analysis/function-pointers/index.js";
import { type BodyView, type CallInst, isCall, isIndirectCall, Op } from "../../ir/instructions.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";

/** What a function with variable arguments may be passed, and whether it reads the count of vector registers. */
export interface PassedRegisters {
  readonly integers: number;
  readonly vectors: number;
  readonly readsCount: boolean;
}

/** The bounds of one function as a byte: three bits, four, and one. */
export type PackedBounds = number;
const vectorShift = 3;
const vectorMask = 15;
const countBit = 1 << 7;
const integerMask = (1 << vectorShift) - 1;
/** Everything may be passed, and the count is read. */
export const unknownBounds: PackedBounds = 0xff;

export const boundsOf = (bounds: PackedBounds): PassedRegisters => ({
  integers: bounds & integerMask,
  vectors: (bounds >> vectorShift) & vectorMask,
  readsCount: (bounds & countBit) !== 0,
});

/** Integer and vector registers that a value takes at most; null: not known. */
function registersOf({ kind, bits }: Type): readonly [integers: number, vectors: number] | null {
  if (kind === "ptr") return [1, 0];
  if (kind === "int") return bits <= 64 ? [1, 0] : bits <= 128 ? [2, 0] : null;
  return kind === "float" || kind === "double" || kind === "x86_fp80" ? [0, 1] : null;
}

/** The registers that a call passes at most. */
function passedBy(call: CallInst): PackedBounds {
  const { attributes, argumentCount, tail } = call.data;
  const all = integerMask | (vectorMask << vectorShift);
  // What a jump hands on is not among its operands.
  if (tail === "musttail") return all;
  let integers = 0;
  let vectors = 0;
  // Other results may go through a hidden pointer, which is the first argument then.
  if (call.type.kind !== "void" && registersOf(call.type) === null) integers++;
  for (let i = 0; i < argumentCount; i++) {
    if (attributes.parameter(i).kinds.has("byval")) continue;
    const registers = registersOf(call.operands[i + 1]!.type);
    if (registers === null) return all;
    integers += registers[0];
    vectors += registers[1];
  }
  return Math.min(integers, integerMask) | (Math.min(vectors, vectorMask) << vectorShift);
}

const join = (a: PackedBounds, b: PackedBounds): PackedBounds =>
  Math.max(a & integerMask, b & integerMask) |
  Math.max(a & (vectorMask << vectorShift), b & (vectorMask << vectorShift)) |
  ((a | b) & countBit);

/** One run: `scan` of each function of the program, in order, then `solve`. */
export class VariableArguments {
  private readonly bounds: Uint8Array<ArrayBuffer>;
  private readonly numbers: ReadonlyMap<GlobalValue, number>;
  /** By function: what each of its calls through pointers passes, in order. */
  private readonly sites = new Map<number, PackedBounds[]>();

  /** @param functions with code, by number */
  constructor(private readonly functions: readonly Func[]) {
    this.bounds = new Uint8Array(functions.length);
    this.numbers = new Map(functions.map((fn, i) => [fn, i]));
  }

  scan(number: number, { blocks }: BodyView): void {
    const fn = this.functions[number]!;
    if (fn.attributes.fn.has("naked")) this.bounds[number]! |= countBit;
    const through: PackedBounds[] = [];
    for (const { insts } of blocks)
      for (const inst of insts) {
        if (!isCall(inst)) continue;
        if (inst.op === Op.Call && inst.data.tail === "musttail" && fn.valueType.isVarArg)
          this.bounds[number]! |= countBit;
        const callee = inst.operands[0]!;
        if (isIndirectCall(inst)) through.push(passedBy(inst));
        else if (callee.valueKind === "global" && callee.kind === "function" && callee.valueType.isVarArg) {
          const to = this.numbers.get(callee);
          if (to !== undefined) this.bounds[to] = join(this.bounds[to]!, passedBy(inst));
        }
      }
    if (through.length > 0) this.sites.set(number, through);
  }

  /**
   * The bounds of each function.
   * @param indirect the calls through pointers @param open 1: unknown code may enter the function
   */
  solve({ sets, sites }: IndirectCalls, open: Uint8Array): Uint8Array<ArrayBuffer> {
    for (const [caller, passed] of this.sites)
      passed.forEach((registers, site) => {
        const set = sites[caller]![site] ?? -1;
        if (set < 0) return;
        for (const member of sets[set]!.members) this.bounds[member] = join(this.bounds[member]!, registers);
      });
    return this.bounds.map((bounds, fn) => (open[fn] === 1 ? bounds | (unknownBounds & ~countBit) : bounds));
  }
}
