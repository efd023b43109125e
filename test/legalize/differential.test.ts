/** Random operations on random types give the same results before and after legalisation. */

import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import { checkLegal } from "../../lto/codegen/legalize/index.js";
import type { Func } from "../../lto/ir/module.js";
import { Interpreter } from "../support/interpreter/interpreter.js";
import { Undefined } from "../support/interpreter/scalar-ops.js";
import { legalized } from "../support/lowering.js";
import { Random } from "../support/random.js";
import { generators, randomModule } from "./random-ir.js";

const programs = Number(process.env["LEGALIZE_PROGRAMS"] ?? 40);
const firstSeed = Number(process.env["LEGALIZE_SEED"] ?? 1);
const inputsPerProgram = 6;
const inputAt = 0;
const outputAt = 2048;

const special = [
  0n,
  1n,
  0xffffffffffffffffn,
  0x8000000000000000n,
  0x7fffffffffffffffn,
  0x3ff0000000000000n,
  0x7ff0000000000000n,
  0x3f8000003f800000n,
  0x7f8000007f800000n,
  0x80000000n,
  0x3c003c003c003c00n,
  0x4330000000000000n,
  0x41dfffffffc00000n,
  0xbf000000bf800000n,
  0x4f0000004effffffn,
  0x00ff00ff00ff00ffn,
];

function randomInput(random: Random, round: number): Uint8Array {
  const bytes = new Uint8Array(2048);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < bytes.length; at += 8) {
    let word =
      (BigInt(random.below(0x7fffffff)) << 33n) ^
      (BigInt(random.below(0x7fffffff)) << 10n) ^
      BigInt(random.below(0x7fffffff));
    if (round % 3 === 1) word = random.pick(special);
    if (round % 3 === 2) {
      if (random.chance(0.5)) view.setFloat64(at, (random.below(20000) - 10000) / 8, true);
      else {
        view.setFloat32(at, (random.below(2000) - 1000) / 4, true);
        view.setFloat32(at + 4, (random.below(2000) - 1000) / 4, true);
      }
      continue;
    }
    view.setBigUint64(at, BigInt.asUintN(64, word), true);
  }
  return bytes;
}

/** The output area after a run, or null when the program did something undefined. */
function execute(
  run: (interpreter: Interpreter) => void,
  fn: Func,
  input: Uint8Array,
  mode: "exact" | "machine",
  layout: Parameters<typeof legalized>[1],
): string | null {
  const interpreter = new Interpreter(layout, mode);
  interpreter.memory.set(input, inputAt);
  try {
    run(interpreter);
  } catch (error) {
    if (error instanceof Undefined) return null;
    throw new Error(`@${fn.name}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
  return Buffer.from(interpreter.memory.subarray(outputAt, outputAt + 1900)).toString("hex");
}

function compareProgram(generator: string, seed: number): number {
  const random = new Random(seed);
  const { source } = randomModule(generator, random);
  const module = parseModule(source, "random.ll");
  const fn = module.functions.find((f) => f.name === "f")!;
  const layout = module.dataLayout;
  const inputs = Array.from({ length: inputsPerProgram }, (_, i) => randomInput(random, i));
  const body = fn.rewrite();
  const expected = inputs.map((input) =>
    execute(
      (m) =>
        m.run(body, [
          [fn.args[0]!, BigInt(inputAt)],
          [fn.args[1]!, BigInt(outputAt)],
        ]),
      fn,
      input,
      "exact",
      layout,
    ),
  );
  const legal = legalized(fn, layout);
  expect(checkLegal(legal), source).toEqual([]);
  let compared = 0;
  inputs.forEach((input, i) => {
    if (expected[i] === null) return;
    const actual = execute(
      (m) =>
        m.run(legal.body, [
          [legal.args[0]!.argument, BigInt(inputAt)],
          [legal.args[1]!.argument, BigInt(outputAt)],
        ]),
      fn,
      input,
      "machine",
      layout,
    );
    expect(actual, `seed ${seed}, input ${i}\n${source}`).toBe(expected[i]);
    compared++;
  });
  return compared;
}

describe("legalised code computes what the original does", () => {
  for (const generator of Object.keys(generators))
    it(generator, () => {
      let compared = 0;
      for (let i = 0; i < programs; i++) compared += compareProgram(generator, firstSeed * 1000 + i);
      // Undefined behaviour may void some runs, not most.
      expect(compared).toBeGreaterThan(programs);
    });
});
