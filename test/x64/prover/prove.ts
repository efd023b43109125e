/**
 * Machine code before and after the peepholes, run natively on the same states: registers as far as they are defined
 * and needed, vector registers and memory must be the same.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { instructionText } from "../../../formats/asm/x64/instructions.js";
import type { MFunction } from "../../../lto/codegen/mir.js";
import { rules } from "../../../lto/x64/peephole/rules/index.js";
import { Random } from "../../support/random.js";
import { runRules } from "../rule-runs.js";
import { directed } from "./directed.js";
import { randomSequence } from "./sequences.js";

const fail = (): never => {
  throw new Error("no such operand in these sequences");
};

function textOf(mf: MFunction, label: string): string {
  const block = (id: number): string => `.L${label}_${id}`;
  const names = {
    symbol: fail,
    direct: fail,
    block: (target: { readonly id: number }) => block(target.id),
    foreignBlock: fail,
    constant: fail,
    addressWord: () => null,
    jumpTable: fail,
    trapSection: () => "\t.text",
    patchLabel: () => "",
    asmId: () => "0",
  };
  const lines = mf.blocks.flatMap(({ id, insts }) => [
    `${block(id)}:`,
    ...insts.map((inst) => instructionText(inst, names)),
  ]);
  return lines.join("\n");
}

/** What is proved of: changes the function in place. @returns how often each rule was applied, by its place in the list */
export type Rules = (mf: MFunction, redZone: boolean) => Int32Array;
export const peepholes: Rules = (mf, redZone) => runRules(mf, { redZone }).applied;

/** One rule alone, with those that it has nothing to do without. @param name of the rule */
export function onlyRule(name: string): Rules {
  const { after = [] } = directed.get(name) ?? {};
  const skipped = rules.map((rule) => rule.name).filter((other) => other !== name && !after.includes(other));
  return (mf, redZone) => runRules(mf, { redZone, skipped }).applied;
}

/** Assembles what does not change with the sequences. @param source folder of the harness */
export function buildHarness(folder: string, source = fileURLToPath(new URL(".", import.meta.url))): void {
  const inputs = [join(source, "harness.c"), join(source, "run.s")];
  execFileSync("cc", [
    "-O1",
    "-no-pie",
    "-fno-pie",
    "-r",
    "-nostdlib",
    ...inputs,
    "-o",
    join(folder, "harness.o"),
  ]);
}

export interface Proof {
  readonly changed: number;
  /** How often each rule was applied. */
  readonly applied: ReadonlyMap<string, number>;
  /** Seed, what differs, and both texts, of each that does. */
  readonly problems: readonly string[];
}

/**
 * Runs rules on the sequences of `count` seeds from `first`, and both texts on `states` states each.
 * @param made for this rule; null: any code
 */
export function prove(
  folder: string,
  first: number,
  count: number,
  states: number,
  applied = peepholes,
  made: string | null = null,
): Proof {
  const pattern = made === null ? null : directed.get(made)!;
  const sums = new Int32Array(rules.length);
  const pairs: { seed: number; before: string; after: string }[] = [];
  const code: string[] = ["\t.text"];
  const table: string[] = ["\t.data", "\t.globl pairs", "\t.p2align 3", "pairs:"];
  for (let seed = first; seed < first + count; seed++) {
    const { mf, compared, redZone } = randomSequence(new Random(seed), pattern);
    const n = pairs.length;
    const label = `f${n}`;
    const before = textOf(mf, label);
    applied(mf, redZone).forEach((times, i) => {
      sums[i]! += times;
    });
    const after = textOf(mf, label);
    if (before === after) continue;
    code.push(`b${n}:`, before.replaceAll(`.L${label}_`, `.Lb${n}_`), `a${n}:`, after);
    table.push(`\t.quad b${n}, a${n}`, `\t.byte ${compared.join(", ")}`);
    pairs.push({ seed, before, after });
  }
  table.push("\t.globl pair_count", "pair_count:", `\t.quad ${pairs.length}`);
  const text = [...code, ...table, '\t.section .note.GNU-stack,"",@progbits', ""].join("\n");
  writeFileSync(join(folder, "pairs.s"), text);
  const [object, program] = [join(folder, "pairs.o"), join(folder, "pairs")];
  execFileSync("as", [join(folder, "pairs.s"), "-o", object]);
  execFileSync("cc", ["-no-pie", join(folder, "harness.o"), object, "-o", program]);
  const output = execFileSync(program, [String(states)], { encoding: "utf8" });
  const problems = output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const { seed, before, after } = pairs[Number.parseInt(line, 10)]!;
      return `seed ${seed}: ${line.replace(/^\d+ /, "")}\n${before}\n  became\n${after}`;
    });
  return { changed: pairs.length, applied: new Map(rules.map(({ name }, i) => [name, sums[i]!])), problems };
}
