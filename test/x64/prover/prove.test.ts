/** Random machine code does the same after the peepholes, on the machine itself; and the prover finds wrong rules. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { MFunction } from "../../../lto/codegen/mir.js";
import { X } from "../../../lto/x64/isa/ops.js";
import { rules } from "../../../lto/x64/peephole/rules/index.js";
import { directed } from "./directed.js";
import { buildHarness, onlyRule, peepholes, prove, type Rules } from "./prove.js";

const folder = mkdtempSync(join(tmpdir(), "peepholes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
buildHarness(folder);

/** Changes the first instruction of an operation, after the true rules. */
const spoilt =
  (op: X, change: (inst: MFunction["blocks"][0]["insts"][0]) => void): Rules =>
  (mf, redZone) => {
    const applied = peepholes(mf, redZone);
    const inst = mf.blocks.flatMap(({ insts }) => insts).find((candidate) => candidate.op === op);
    if (inst !== undefined) change(inst);
    return applied;
  };

describe("each rule", () => {
  it("has a name of its own, a description, and sequences that are made for it", () => {
    const names = rules.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect([...directed.keys()].sort()).toEqual([...names].sort());
    for (const { name, description } of rules) {
      expect(name).toMatch(/^[a-z]+(-[a-z]+)+$/);
      expect(description, name).toContain("→");
    }
  });

  it.each(rules.map(({ name }) => name))("%s is applied, alone, and right", (name) => {
    const { applied, problems } = prove(folder, 1, 60, 60, onlyRule(name), name);
    expect(problems).toEqual([]);
    expect(applied.get(name)).toBeGreaterThan(5);
  });
});

describe("peepholes on random sequences", () => {
  it("change no register, vector or byte that is defined", () => {
    const { changed, problems } = prove(folder, 1, 3000, 100);
    expect(problems).toEqual([]);
    expect(changed).toBeGreaterThan(2000);
  });

  it.each([
    [
      "an addition of 64 bits as one of 32",
      spoilt(X.Add, (inst) => void (inst.size = Math.min(inst.size, 4))),
    ],
    ["another condition", spoilt(X.Setcc, (inst) => void (inst.condition ^= 1))],
    ["an address off by one", spoilt(X.Lea, (inst) => void (inst.mem!.disp ^= 1))],
    [
      "a store of another constant",
      spoilt(X.MovM, (inst) => void (inst.imm = inst.imm === null ? null : 77)),
    ],
    ["another branch", spoilt(X.Jcc, (inst) => void (inst.condition ^= 1))],
  ])("find %s", (_, rules) => {
    expect(prove(folder, 1, 300, 50, rules).problems.length).toBeGreaterThan(0);
  });
});
