/** Where labels of the source are in a function's final code: as variables that are there for one instruction, without a place. */
import type { MFunction } from "../mir.js";
import { OpFact } from "../target.js";
import type { VariableList } from "./located-ranges.js";
import type { FunctionMarks } from "./marks.js";

const noCode = OpFact.Entry | OpFact.Undefined;

/** A label that stands before nothing that has code in its block is nowhere. A copied one is in several places. */
export function locateLabels(
  { blocks, target }: MFunction,
  marks: FunctionMarks,
  located: VariableList,
): void {
  const { facts } = target.instructions;
  const found = new Map<string, { variable: number; origin: number; rows: number[] }>();
  let at = 0;
  for (const { insts } of blocks) {
    let waiting: number[][] = [];
    for (const inst of insts) {
      const own = marks.before.get(inst);
      if (own !== undefined)
        for (const mark of own) {
          if (mark.kind !== "label") continue;
          const { variable, origin } = mark;
          const key = `${variable} ${origin}`;
          let label = found.get(key);
          if (label === undefined) found.set(key, (label = { variable, origin, rows: [] }));
          waiting.push(label.rows);
        }
      if (waiting.length > 0 && (facts[inst.op]! & noCode) === 0 && inst.op !== target.frame.directive) {
        for (const rows of waiting) rows.push(at, at + 1, 0, located.locations.nothing, 0);
        waiting = [];
      }
      at++;
    }
  }
  for (const { variable, origin, rows } of found.values())
    if (rows.length > 0) located.add(variable, origin, rows);
}
