/**
 * Tracked assignments: what changes a source variable that has memory, marked where the source changes it, and linked to the
 * instruction that stores it, if that is still there.
 *
 * Memory holds the variable from a mark on whose store stands right before it, and what stores without a mark changes memory
 * and variable alike. Where a mark's store is gone, or is somewhere else, nothing is known until the next one: its value
 * would do until memory is changed through pointers, of which marks say nothing. A variable all of whose marks have
 * their stores lies in its memory as if it were declared there, which passes can make values of.
 * Source: LLVM, "Debug Info Assignment Tracking"
 */
import type { DataLayout } from "../../../lto/ir/data-layout.js";
import { Dw, type Expression, fragmentOf, withoutFragment } from "../../../lto/ir/debug-records.js";
import { constantGepOffset } from "../../../lto/ir/fold/addresses.js";
import { type Inst, Op } from "../../../lto/ir/instructions.js";
import type { Value } from "../../../lto/ir/values.js";

/** A mark. */
export interface Assignment {
  /** Of the value that is assigned: all that it says is which part of the variable that is. */
  readonly expression: Expression;
  /** What it is linked to has the same. */
  readonly id: number;
  /** Undefined: not known. */
  readonly address: Value | undefined;
  /** The instruction that it stands before. */
  readonly anchor: Inst;
  /** Of the variable, in one instance of its scope. */
  readonly instance: string;
}

/** The variable, from its start on or the part of it that a mark is about, lies so many bytes into a local variable. */
export interface Memory {
  readonly alloca: Inst;
  readonly offset: number;
}

/** What an address leads into; null where that is no local variable, or its place in it is not known. */
function memoryOf(address: Value | undefined, layout: DataLayout): Memory | null {
  let offset = 0;
  for (let at = address; at?.valueKind === "inst"; at = at.operands[0]) {
    if (at.op === Op.Alloca) return { alloca: at, offset };
    if (at.op === Op.BitCast || at.op === Op.AddrSpaceCast) continue;
    if (at.op !== Op.GetElementPtr) return null;
    const own = constantGepOffset(layout, at.data.elementType, at.operands);
    if (own === null) return null;
    offset += own;
  }
  return null;
}

export class Assignments {
  private readonly before = new Map<Inst, Inst>();
  private readonly memories = new Map<Assignment, Memory>();
  /** Memory of instances that lie there all the time; null: not, or not at one place. */
  private readonly whole = new Map<string, Inst | null>();

  /**
   * @param idsOf what an instruction is linked to
   * @param others instances of which something else is said, too
   */
  constructor(
    all: readonly Assignment[],
    blocks: readonly { readonly insts: readonly Inst[] }[],
    layout: DataLayout,
    private readonly idsOf: ReadonlyMap<Inst, number>,
    others: ReadonlySet<string>,
  ) {
    for (const { insts } of blocks)
      for (let i = 1; i < insts.length; i++) this.before.set(insts[i]!, insts[i - 1]!);
    for (const assignment of all) {
      const { expression, address, instance } = assignment;
      const memory = memoryOf(address, layout);
      if (memory !== null && this.isLinked(assignment, memory.alloca)) this.memories.set(assignment, memory);
      const part = fragmentOf(expression)?.offset ?? 0;
      const isAtStart = this.memories.has(assignment) && memory!.offset * 8 === part;
      const isWhole = isAtStart && withoutFragment(expression).length === 0 && !others.has(instance);
      const home = isWhole ? memory!.alloca : null;
      this.whole.set(instance, this.whole.has(instance) && this.whole.get(instance) !== home ? null : home);
    }
  }

  private isLinked({ id, anchor }: Assignment, alloca: Inst): boolean {
    if (this.idsOf.get(alloca) === id) return true;
    const store = this.before.get(anchor);
    return store !== undefined && this.idsOf.get(store) === id;
  }

  /** Where the variable lies in all of the function; null: not in one place. */
  homeOf({ instance }: Assignment): Inst | null {
    return this.whole.get(instance) ?? null;
  }

  /** Where the part of the variable is from the mark on; null: that is not known. */
  memoryOf(assignment: Assignment): Memory | null {
    return this.memories.get(assignment) ?? null;
  }
}

/** That what an assignment changes lies in memory, as an expression of the address of a local variable. */
export function inMemory({ expression }: Assignment, { offset }: Memory): Expression {
  const part = fragmentOf(expression);
  const steps = offset === 0 ? [] : [Dw.PlusUconst, offset];
  return [...steps, Dw.Deref, ...(part === null ? [] : [Dw.Fragment, part.offset, part.size])];
}
