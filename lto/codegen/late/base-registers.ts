/**
 * Base registers, on final code: for small variables, where many mentions of a cluster (global-cluster.ts) follow each
 * other, and for places far from what a register points to or in one variable, which take four bytes each (near-addresses.ts).
 * Where a register is free and holds the middle of them, each takes one byte (rebasing.ts).
 */
import type { GlobalValue, GlobalVariable } from "../../ir/module.js";
import type { MFunction } from "../mir.js";
import { chooseCluster, type GlobalCluster, mayCluster } from "./global-cluster.js";
import { mentionsFarPlaces, rebaseFarPlaces } from "./near-addresses.js";
import type { ProgramStep } from "./pipeline.js";
import type { ProgramCode } from "./program-code.js";
import { fewestMentions, type HeldAddress, Rebasing } from "./rebasing.js";

export const baseRegisters: ProgramStep = {
  name: "base-registers",
  run(code) {
    const counted = countMentions(code);
    const cluster = chooseCluster(counted.mentions, code.facts.layout);
    let saved = 0;
    for (const [number, hasFarPlaces] of counted.functions) {
      if (cluster === null && !hasFarPlaces) continue;
      code.edit(number, (mf) => {
        const rebasing = new Rebasing(mf);
        if (cluster !== null)
          saved += rebasing.run(clusterAddress(mf, cluster, code.facts.isPositionIndependent));
        if (hasFarPlaces) rebaseFarPlaces(mf, rebasing, code.facts.isPositionIndependent);
      });
    }
    if (saved > 0) code.cluster = cluster;
  },
};

/** The anchor of a cluster. */
function clusterAddress(
  { target: { base } }: MFunction,
  { offsets }: GlobalCluster,
  isPositionIndependent: boolean,
): HeldAddress {
  const offset = (variable: GlobalValue): number => offsets.get(variable)!;
  return {
    source: -1,
    isMentionedBy(inst) {
      const variable = base.mentioned(inst);
      return variable !== null && offsets.has(variable);
    },
    rebased: (inst, register) => base.rebase(inst, register, offset),
    set: (register) => base.set(register, isPositionIndependent),
  };
}

/** Functions that may gain, with whether they mention places far from registers, and how often each variable is mentioned. */
function countMentions(code: ProgramCode): {
  functions: ReadonlyMap<number, boolean>;
  mentions: ReadonlyMap<GlobalVariable, number>;
} {
  const candidates = new Set(
    code.facts.globals.filter((g) => mayCluster(g, code.facts.layout, code.facts.retained)),
  );
  const mentions = new Map<GlobalVariable, number>();
  const functions = new Map<number, boolean>();
  for (let number = 0; number < code.count; number++) {
    const mf = code.view(number);
    if (!mayGain(mf)) continue;
    const own: GlobalVariable[] = [];
    for (const { insts } of mf.blocks)
      for (const inst of insts) {
        const variable = mf.target.base.mentioned(inst);
        if (variable?.kind === "variable" && candidates.has(variable)) own.push(variable);
      }
    const hasFarPlaces = mentionsFarPlaces(mf);
    if (own.length < fewestMentions && !hasFarPlaces) continue;
    functions.set(number, hasFarPlaces);
    if (own.length < fewestMentions) continue;
    for (const variable of own) mentions.set(variable, (mentions.get(variable) ?? 0) + 1);
  }
  return { functions, mentions };
}

const mayGain = (mf: MFunction): boolean => mf.goal === "minsize" && !mf.returnsTwice;
