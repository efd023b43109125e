/**
 * Base registers, on final code: for small variables, where many mentions of a cluster (global-cluster.ts) follow each
 * other, and for places far from what a register points to or in one variable, which take four bytes each (near-addresses.ts).
 * Where a register is free and holds the middle of them, each takes one byte (rebasing.ts).
 */
import type { GlobalValue, GlobalVariable } from "../../ir/module.js";
import type { MFunction, MInst } from "../mir.js";
import { goals, Property } from "../pack/format.js";
import { isBound, mentionsFar, packedHead, skipInstruction, withoutLandingPad } from "../pack/walk.js";
import { chooseCluster, type GlobalCluster, mayCluster } from "./global-cluster.js";
import { mentionsFarPlaces, rebaseFarPlaces } from "./near-addresses.js";
import type { ProgramStep } from "./pipeline.js";
import type { ProgramCode } from "./program-code.js";
import { fewestMentions, type HeldAddress, Rebasing } from "./rebasing.js";

export const sectionAnchors: ProgramStep = {
  name: "section-anchors",
  run(code) {
    const counted = countMentions(code);
    const cluster = chooseCluster(counted.mentions, code.target.costs.addresses, code.facts.layout);
    let saved = 0;
    for (const [number, hasFarPlaces] of counted.functions) {
      if (cluster === null && !hasFarPlaces) continue;
      code.edit(number, (mf) => {
        const rebasing = new Rebasing(mf);
        const { isPositionIndependent } = code.facts;
        const inCluster =
          cluster === null ? 0 : rebasing.run(clusterAddress(mf, cluster, isPositionIndependent));
        const far = hasFarPlaces ? rebaseFarPlaces(mf, rebasing, isPositionIndependent) : 0;
        saved += inCluster;
        return inCluster + far > 0;
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
    code.facts.globals.filter((g) =>
      mayCluster(g, code.target.costs.addresses, code.facts.layout, code.facts.retained),
    ),
  );
  const { base } = code.target;
  const mentions = new Map<GlobalVariable, number>();
  const functions = new Map<number, boolean>();
  for (let number = 0; number < code.count; number++) {
    if (!mayGain(code, number)) continue;
    const insts = farMentions(code, number);
    const own: GlobalVariable[] = [];
    for (const inst of insts) {
      const variable = base.mentioned(inst);
      if (variable?.kind === "variable" && candidates.has(variable)) own.push(variable);
    }
    const hasFarPlaces = mentionsFarPlaces(insts, base, code.target.costs.addresses);
    if (own.length < fewestMentions && !hasFarPlaces) continue;
    functions.set(number, hasFarPlaces);
    if (own.length < fewestMentions) continue;
    for (const variable of own) mentions.set(variable, (mentions.get(variable) ?? 0) + 1);
  }
  return { functions, mentions };
}

function mayGain(code: ProgramCode, number: number): boolean {
  const { goal, properties } = packedHead(code.packed(number));
  return goals[goal] === "minsize" && (properties & Property.ReturnsTwice) === 0;
}

/** The instructions of a function that may mention a variable or a far place: no others are made objects of. */
function farMentions(code: ProgramCode, number: number): MInst[] {
  const packed = code.packed(number);
  const { words } = packed;
  const insts: MInst[] = [];
  let at = packed.blocks;
  for (let block = packedHead(packed).blocks; block > 0; block--)
    for (let n = words[at++]!; n > 0; n--) {
      const end = skipInstruction(words, at);
      if (mentionsFar(words, at)) {
        const call = withoutLandingPad(words, at, end);
        if (call !== null) insts.push(code.instruction(call, 0));
        // What names a place of its function (a jump, inline assembly) mentions no other.
        else if (!isBound(words, at)) insts.push(code.instruction(words, at));
      }
      at = end;
    }
  return insts;
}
