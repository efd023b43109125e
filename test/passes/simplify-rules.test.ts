/** Each rule of simplify has a name, and is applied: to compositions of two operations, alone and right, or in the fixtures. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import { simplify } from "../../lto/opt/simplify/index.js";
import { simplifyRules } from "../../lto/opt/simplify/rules.js";
import { Random } from "../support/random.js";
import { projectRoot } from "../tools/root.js";
import { Compositions } from "./prover/compositions.js";
import { prove, runPass } from "./prover/prove.js";

/** Results of rules that compositions at random seldom meet: of x, y (i3) and b (i1), with %t and %u on the way. */
const rare: readonly string[] = [
  "%t = sub i3 0, %y; %r = add i3 %x, %t",
  "%t = sub i3 0, %y; %r = sub i3 %x, %t",
  "%t = sub i3 %x, %y; %r = sub i3 %x, %t",
  "%t = sub i3 %x, %y; %r = sub i3 0, %t",
  "%t = and i3 %x, 1; %r = udiv i3 %t, 2",
  "%t = and i3 %x, 1; %r = urem i3 %t, 3",
  "%t = and i3 %x, 3; %u = and i3 %y, 3; %r = sdiv i3 %t, %u",
  "%t = and i3 %x, 3; %r = srem i3 %t, 3",
  "%t = shl i3 %x, 1; %r = shl i3 %t, 1",
  "%t = lshr i3 %x, 1; %r = lshr i3 %t, 2",
  "%t = ashr i3 %x, 1; %r = ashr i3 %t, 2",
  "%t = and i3 %x, 3; %r = ashr i3 %t, 1",
  "%t = xor i3 %x, -1; %r = and i3 %x, %t",
  "%t = xor i3 %x, -1; %r = or i3 %t, %x",
  "%t = zext i1 %b to i3; %r = or i3 %t, 1",
  "%t = or i3 %x, 3; %u = add i3 %t, 0; %r = or i3 %u, 2",
  "%t = and i3 %x, 3; %r = and i3 %t, -2",
  "%t = or i3 %x, -4; %r = and i3 %t, 3",
  "%t = xor i3 %x, -4; %r = and i3 %t, 3",
  "%t = or i3 %x, 1; %r = or i3 %t, 2",
  "%t = xor i3 %x, 1; %r = xor i3 %t, 3",
  "%t = zext i3 %x to i4; %u = zext i3 %y to i4; %c = icmp slt i4 %t, %u; %r = zext i1 %c to i3",
  "%t = sext i3 %x to i4; %u = sext i3 %y to i4; %c = icmp ult i4 %t, %u; %r = zext i1 %c to i3",
  "%t = and i3 %x, 2; %c = icmp eq i3 %t, 2; %r = zext i1 %c to i3",
  "%t = and i3 %x, 2; %c = icmp ne i3 %t, 2; %r = sext i1 %c to i3",
  "%t = shl i3 %x, 2; %u = and i3 %y, 3; %v = or i3 %t, %u; %r = lshr i3 %v, 2",
  "%t = shl i3 %x, 2; %u = and i3 %y, 3; %v = xor i3 %u, %t; %r = ashr i3 %v, 2",
  "%t = lshr i3 %x, 1; %u = and i3 %y, 4; %v = or i3 %t, %u; %r = shl i3 %v, 1",
  "%t = shl i3 %x, 1; %u = and i3 %y, 1; %v = or i3 %t, %u; %r = and i3 %v, 1",
  "%t = shl i3 %x, 1; %v = or i3 %t, %y; %u = trunc i3 %v to i1; %r = sext i1 %u to i3",
  "%c = icmp eq i3 %x, 0; %d = icmp eq i3 %y, 0; %u = and i1 %c, %d; %r = sext i1 %u to i3",
  "%c = icmp ne i3 %x, 0; %d = icmp ne i3 %y, 0; %u = or i1 %c, %d; %r = sext i1 %u to i3",
  "%c = icmp eq i3 %x, 0; %d = icmp eq i3 %y, 0; %u = select i1 %c, i1 %d, i1 0; %r = sext i1 %u to i3",
  "%c = icmp ne i3 %x, 0; %d = icmp ne i3 %y, 0; %u = select i1 %c, i1 1, i1 %d; %r = sext i1 %u to i3",
  "%r = select i1 %b, i3 1, i3 0",
  "%r = select i1 %b, i3 -1, i3 0",
];
const rareFunction = (text: string, n: number): string =>
  `define i3 @rare${n}(i3 %x, i3 %y, i1 %b) {\n  ${text.replaceAll("; ", "\n  ")}\n  ret i3 %r\n}\n`;

const names = simplifyRules.map(({ name }) => name);
const fixtures = join(projectRoot(), "fixtures", "passes", "simplify");
const count = 4000;
/** How often rules are applied where no rule is left out. */
const composed = new Map<string, number>();
const inFixtures = new Map<string, number>();

beforeAll(() => {
  const compositions = new Compositions(3);
  const texts = Array.from({ length: count }, (_, n) => compositions.random(new Random(n), `f${n}`));
  const { applied, problems } = prove(3, [...texts, ...rare.map(rareFunction)], simplify);
  expect(problems).toEqual([]);
  for (const [name, times] of applied) composed.set(name, times);
  for (const file of readdirSync(fixtures).filter((name) => name.endsWith(".ll"))) {
    const module = parseModule(readFileSync(join(fixtures, file), "utf8"), file);
    for (const [name, times] of runPass(module, simplify))
      inFixtures.set(name, (inFixtures.get(name) ?? 0) + times);
  }
}, 60_000);

describe("rules of simplify", () => {
  it("have names of their own, and descriptions", () => {
    expect(new Set(names).size).toBe(names.length);
    for (const { name, description } of simplifyRules) {
      expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(description, name).toContain("→");
    }
  });

  it("are applied, each", () => {
    const never = names.filter(
      (name) => !composed.has(`simplify:${name}`) && !inFixtures.has(`simplify:${name}`),
    );
    expect(never).toEqual([]);
  });

  it("are left out by name", () => {
    const text = "define i8 @f(i8 %x) {\n  %r = add i8 %x, 0\n  ret i8 %r\n}\n";
    const applied = (...skipped: string[]) => [
      ...runPass(parseModule(text, "f.ll"), simplify, skipped).keys(),
    ];
    expect(applied()).toEqual(["simplify:add-zero"]);
    expect(applied("simplify:add-zero")).toEqual([]);
    expect(applied("simplify:sub-zero")).toEqual(["simplify:add-zero"]);
  });
});
