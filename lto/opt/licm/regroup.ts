/**
 * Addresses in loops whose fixed parts stand outside of what each round adds: the fixed ones go first, and out of the loop.
 *
 *     %a = getelementptr float, ptr %p, i64 %k        %row = getelementptr float, ptr %p, i64 %r     ; before the loop
 *     %b = getelementptr float, ptr %a, i64 %r   →    %b = getelementptr float, ptr %row, i64 %k
 *
 * Why: arrays whose sizes are known at run time alone are walked by rows. Front ends add the row last; a memory operand
 * holds two registers, so that each round has to add the third.
 *
 * Proof obligations: addresses are sums modulo 2^64 in any order; what `inbounds` and its like say of the steps does not hold
 * of others and goes. What is fixed was computed outside of the loop, so it is there where the loop begins.
 */
import type { Editor } from "../../ir/editor.js";
import { type Inst, type InstWith, makeInst, Op } from "../../ir/instructions.js";
import type { Origins } from "../../ir/origins.js";
import { ptr } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { type Loop, type Loops, preheaderOf } from "../loops/loop.js";

type Gep = InstWith<Op.GetElementPtr>;

/** An address in a loop, and the one that it adds something fixed to. */
export interface Regroup {
  readonly loop: Loop;
  readonly inner: Gep;
  readonly outer: Gep;
}

const isPlainGep = (value: Value): value is Gep =>
  value.valueKind === "inst" &&
  value.op === Op.GetElementPtr &&
  value.operands.length === 2 &&
  value.type.kind === "ptr" &&
  value.operands[0]!.type.kind === "ptr";

/** Whether a value is the same in all rounds of a loop, and there before it. */
type IsFixed = (value: Value, loop: Loop) => boolean;

/** Sums in a loop of an address that is computed in it, too. @param leastDepth only in loops that are nested so often */
function sumsInLoops(loops: Loops, leastDepth: number): Regroup[] {
  const found: Regroup[] = [];
  for (const block of loops.blocks) {
    const loop = loops.of[block.id]!;
    if (loop === null || loop.depth < leastDepth) continue;
    for (const outer of block.insts) {
      if (!isPlainGep(outer)) continue;
      const inner = outer.operands[0]!;
      if (isPlainGep(inner) && loops.contains(loop, inner.parent!.id)) found.push({ loop, inner, outer });
    }
  }
  return found;
}

/**
 * Addresses that a loop computes anew, to which it adds something else in each round: a memory operand could not hold
 * them, so that they are computed by instructions of their own.
 * @param leastDepth only in loops that are nested so often
 */
export function fixedRows(loops: Loops, isFixed: IsFixed, leastDepth: number): Gep[] {
  return sumsInLoops(loops, leastDepth)
    .filter(
      ({ loop, inner, outer }) =>
        inner.operands[1]!.valueKind === "inst" && isFixed(inner, loop) && !isFixed(outer.operands[1]!, loop),
    )
    .map(({ inner }) => inner);
}

/** Sums whose fixed parts can be added in front of the loop. @param leastDepth only in loops that are nested so often */
export function findRegroups(loops: Loops, isFixed: IsFixed, leastDepth: number): Regroup[] {
  return sumsInLoops(loops, leastDepth).filter(({ loop, inner, outer }) => {
    const [base, index] = inner.operands as [Value, Value];
    const fixed = outer.operands[1]!;
    if (fixed.valueKind !== "inst" && fixed.valueKind !== "argument") return false;
    return isFixed(fixed, loop) && isFixed(base, loop) && !isFixed(index, loop);
  });
}

export function regroup(editor: Editor, found: readonly Regroup[], origins: Origins | null): void {
  const rows = new Map<Loop, Inst[]>();
  for (const { loop, inner, outer } of found) {
    const [base, index] = inner.operands as [Value, Value];
    const fixed = outer.operands[1]!;
    const { elementType } = outer.data;
    const known = rows.get(loop) ?? [];
    rows.set(loop, known);
    let row = known.find(
      ({ operands, data }) =>
        operands[0] === base && operands[1] === fixed && (data as Gep["data"]).elementType === elementType,
    );
    if (row === undefined) {
      row = makeInst(Op.GetElementPtr, ptr, [base, fixed], { elementType });
      editor.insertBefore(row, preheaderOf(editor, loop).terminator);
      row.origin = origins === null ? 0 : origins.unplaced(outer.origin, false);
      known.push(row);
    }
    const sum = makeInst(Op.GetElementPtr, ptr, [row, index], { elementType: inner.data.elementType });
    editor.insertBefore(sum, outer);
    editor.replace(outer, sum);
    if (!editor.hasUses(inner)) editor.erase(inner);
  }
}
