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
import { fixtureNames, readFixture } from "./fixtures.js";

/** Numbers from a seed (Marsaglia's xorshift32). */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

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
function mutate(
  tokens: readonly string[],
  donor: readonly string[],
  random: (below: number) => number,
): string {
  const out = [...tokens];
  for (let left = 1 + random(4); left > 0; left--) {
    const at = random(out.length);
    switch (random(8)) {
      case 0:
        out.splice(at, 1 + random(3));
        break;
      case 1:
        out.splice(at, 0, out[at]!);
        break;
      case 2: {
        const other = random(out.length);
        [out[at], out[other]] = [out[other]!, out[at]!];
        break;
      }
      case 3:
        out[at] = donor[random(donor.length)]!;
        break;
      case 4: {
        const length = 1 + random(30);
        const from = random(donor.length);
        out.splice(at, 0, ...donor.slice(from, from + length));
        break;
      }
      case 5:
        out[at] = numbers[random(numbers.length)]!;
        break;
      case 6: {
        const text = out[at]!;
        const cut = random(text.length);
        out[at] = text.slice(0, cut) + String.fromCharCode(32 + random(96)) + text.slice(cut + 1);
        break;
      }
      default:
        out.splice(at, random(out.length - at));
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
    const random = generator(index + Number(process.env["FUZZ_SEED"] ?? 1));
    for (let round = 0; round < rounds; round++) {
      const text = mutate(sources[index]!, sources[random(sources.length)]!, random);
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
