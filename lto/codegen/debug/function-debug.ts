/** What a machine function knows of source variables: marks, until its own steps are done, then places. */
import type { MFunction, MInst } from "../mir.js";
import { locateLabels } from "./labels.js";
import { locateVariables } from "./locate.js";
import { type LocatedVariables, VariableList } from "./located-ranges.js";
import { FunctionMarks } from "./marks.js";

export interface FunctionDebug {
  /** Null once places are known. */
  marks: FunctionMarks | null;
  located: Located | null;
}

export interface Located extends LocatedVariables {
  /**
   * Positions of the instructions that were there when places were found; -2 less the first one's for an instruction that does
   * what several did, or less than any of those where some of them were new.
   */
  readonly positions: Map<MInst, number>;
}

/** A step put another instruction in an instruction's place, which does the same. */
export function standsIn(mf: MFunction, by: MInst, of: MInst): void {
  const positions = mf.debug?.located?.positions;
  const position = positions?.get(of);
  if (position !== undefined) positions!.set(by, position);
}

export const withMarks = (): FunctionDebug => ({ marks: new FunctionMarks(), located: null });

/** All steps on the function itself are done: finds the places of its variables. */
export function locate(mf: MFunction): void {
  const marks = mf.debug?.marks;
  if (marks == null) return;
  const found = new VariableList();
  locateVariables(mf, marks, mf.target.registers.dwarfNumber, found);
  locateLabels(mf, marks, found);
  if (found.isEmpty) {
    mf.debug = null;
    return;
  }
  const positions = new Map<MInst, number>();
  for (const { insts } of mf.blocks) for (const inst of insts) positions.set(inst, positions.size);
  mf.debug = { marks: null, located: { ...found.located(), positions } };
}
