/**
 * Mutated text: whatever the damage, the parser answers with a module or an InputError, the verifier with a
 * list, and what verifies prints as text that reads back the same.
 */

import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/parser.js";
import { printModule } from "../../formats/text/printer.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Module } from "../../lto/ir/module.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { Random } from "../support/random.js";
import { fixtureNames, readFixture } from "./fixtures.js";

/** A piece of text that a token may be: enough to keep every other token whole. */
const pieces = /[%@$!#]?"[^"\n]*"|[%@$!#]?[-\w.$]+|[^\s\w]|\s+/g;

const numbers = [
  "0",
  "-1",
  "1",
  "4294967296",
  "9007199254740993",
  "1e300",
  "0x7FF0000000000001",
  "-9".repeat(40),
];

/** Damages a few tokens: drops, doubles, swaps, or replaces them by tokens of another text. */
function mutate(tokens: readonly string[], donor: readonly string[], random: Random): string {
  const out = [...tokens];
  for (let left = 1 + random.below(4); left > 0; left--) {
    const at = random.below(out.length);
    switch (random.below(8)) {
      case 0:
        out.splice(at, 1 + random.below(3));
        break;
      case 1:
        out.splice(at, 0, out[at]!);
        break;
      case 2: {
        const other = random.below(out.length);
        [out[at], out[other]] = [out[other]!, out[at]!];
        break;
      }
      case 3:
        out[at] = donor[random.below(donor.length)]!;
        break;
      case 4: {
        const length = 1 + random.below(30);
        const from = random.below(donor.length);
        out.splice(at, 0, ...donor.slice(from, from + length));
        break;
      }
      case 5:
        out[at] = numbers[random.below(numbers.length)]!;
        break;
      case 6: {
        const text = out[at]!;
        const cut = random.below(text.length);
        out[at] = text.slice(0, cut) + String.fromCharCode(32 + random.below(96)) + text.slice(cut + 1);
        break;
      }
      default:
        out.splice(at, random.below(out.length - at));
    }
  }
  return out.join("");
}

describe("mutated text", () => {
  const sources = fixtureNames.map((name) => readFixture(`${name}.ll`).match(pieces)!);
  const rounds = Number(process.env["FUZZ_ROUNDS"] ?? 400);
  let parsed = 0;
  let valid = 0;

  it.each(fixtureNames.map((name, i) => [name, i] as const))("%s", (name, index) => {
    const random = new Random(index + Number(process.env["FUZZ_SEED"] ?? 1));
    for (let round = 0; round < rounds; round++) {
      const text = mutate(sources[index]!, sources[random.below(sources.length)]!, random);
      let module: Module;
      try {
        module = parseModule(text, name);
      } catch (error) {
        if (error instanceof InputError) {
          expect(error.message).toMatch(/^line \d+: /);
          continue;
        }
        throw new Error(`round ${round}: ${String(error)}\n${text}`, { cause: error });
      }
      parsed++;
      const problems = verifyModule(module);
      for (const problem of problems) expect(problem.length).toBeLessThan(2000);
      if (problems.length > 0) continue;
      valid++;
      const printed = printModule(module);
      expect(printModule(parseModule(printed, name))).toBe(printed);
    }
  });

  it("reaches beyond the parser often enough", () => {
    expect(parsed).toBeGreaterThan(200);
    expect(valid).toBeGreaterThan(100);
  });
});
