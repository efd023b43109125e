/** Source variables that lie in local variables that become values: what is stored is said to be their value. */
import { DebugRecord, Dw, fragmentOf, noExpression, withoutFragment } from "../../ir/debug-records.js";
import type { Editor } from "../../ir/editor.js";
import type { Inst } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import type { Slice } from "./slices.js";

/** Source variables, each with what of it a part is. */
export type VariableParts = readonly Pick<DebugRecord, "variable" | "expression" | "origin">[];
const none: VariableParts = [];

/** The source variables of which a part of a local variable is a part. */
export function variableParts(editor: Editor, alloca: Inst, { offset, size }: Slice): VariableParts {
  const records = editor.recordsOf(alloca);
  if (records.length === 0) return none;
  const parts: { variable: number; expression: readonly number[]; origin: number }[] = [];
  for (const { variable, expression, origin, isDeclaration } of records) {
    if (!isDeclaration || withoutFragment(expression).length > 0) continue;
    const fragment = fragmentOf(expression);
    const whole = fragment === null ? sizeOf(alloca) : fragment.size;
    const from = offset * 8;
    // Padding after the variable.
    const bits = Math.min(size * 8, whole - from);
    if (bits <= 0) continue;
    const own =
      fragment === null && from === 0 && bits === whole
        ? noExpression
        : [Dw.Fragment, (fragment?.offset ?? 0) + from, bits];
    parts.push({ variable, expression: own, origin });
  }
  return parts;
}

/**
 * What says that source variables lie in a local variable that becomes values, and stands for nothing then: what was stored
 * is their value, before that place, too. As LLVM's mem2reg has it.
 */
export const replacedDeclarations = (editor: Editor, alloca: Inst): readonly DebugRecord[] =>
  editor
    .recordsOf(alloca)
    .filter(({ isDeclaration, expression }) => isDeclaration && withoutFragment(expression).length === 0);

/** In bits: of what is kept whole in one value, else as large as it may be, so that all parts are parts. */
function sizeOf(alloca: Inst): number {
  const { kind, bits } = (alloca.data as { allocatedType: Inst["type"] }).allocatedType;
  if (kind === "int") return Math.ceil(bits / 8) * 8;
  return kind === "ptr" || kind === "double" ? 64 : kind === "float" ? 32 : Number.POSITIVE_INFINITY;
}

/** That the parts have a value from now on. */
export const recordsOf = (parts: VariableParts, value: Value): DebugRecord[] =>
  parts.map(({ variable, expression, origin }) => {
    const record = new DebugRecord(variable, expression, [value], false, origin);
    if (value.valueKind === "undef") record.forget();
    return record;
  });
