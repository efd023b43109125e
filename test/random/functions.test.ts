/** A few random functions, compiled in some of the ways of functions.ts; `npm run random-functions` tries more. */
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import { Op } from "../../lto/ir/instructions.js";
import { temporaryFolder } from "../support/command.js";
import { Random } from "../support/random.js";
import { buildHarness, randomProgram, tryProgram, ways } from "./functions.js";
import { helpers, irregularFunction } from "./irregular.js";

const folder = temporaryFolder();

it("random functions do on the machine what the interpreter says", { timeout: 120_000 }, async () => {
  const object = buildHarness(folder);
  const program = randomProgram(1, 24);
  expect(program.runs).toBeGreaterThan(100);
  for (const way of ways.slice(0, 4))
    expect(await tryProgram(program, way, folder, object), way.name).toBeNull();
  const changed = { ...program, expected: program.expected.replace(/\d+\n/, "1\n") };
  expect(await tryProgram(changed, ways[0]!, folder, object)).toMatch(/^expected "0 0 1" .* found "0 0 \d+"/);
});

const hasAvx2 =
  existsSync("/proc/cpuinfo") && /^flags.* avx2( |$)/m.test(readFileSync("/proc/cpuinfo", "utf8"));
it.skipIf(!hasAvx2)("and with vectors of 256 bits", { timeout: 120_000 }, async () => {
  const object = buildHarness(folder);
  for (const features of ["+avx2", "+avx,+f16c"]) {
    const program = randomProgram(40, 16, features);
    expect(program.runs).toBeGreaterThan(60);
    for (const way of ways.filter(({ name }) => /^-O0$|--check-ipra|--verify-each/.test(name)))
      expect(await tryProgram(program, way, folder, object), way.name).toBeNull();
  }
});

it("irregular functions have all kinds of branches", () => {
  const seen = new Set<number>();
  for (let seed = 0; seed < 12; seed++) {
    const { text, declarations } = irregularFunction("f", new Random(seed));
    const module = parseModule([text, helpers, ...declarations].join("\n"), "f.ll");
    const { blocks } = module.functions.find((fn) => fn.name === "f")!.view();
    for (const { insts } of blocks) seen.add(insts.at(-1)!.op);
  }
  for (const op of [Op.Br, Op.CondBr, Op.Switch, Op.IndirectBr, Op.Invoke, Op.Resume, Op.Ret])
    expect([...seen]).toContain(op);
});
