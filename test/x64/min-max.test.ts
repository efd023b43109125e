/** Selects of numbers by comparing them: minima and maxima by one instruction, where that is what they are for every number. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const head = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
`;
const predicates = "oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une".split(" ");
const types = [
  ["double", "i64"],
  ["float", "i32"],
] as const;
/** Operands of the select after the condition. */
const orders = { same: ["%a", "%b"], swapped: ["%b", "%a"] } as const;

interface Case {
  readonly name: string;
  /** The select by itself, and on bits, which has no instruction of the kind. */
  readonly text: string;
}

const cases: readonly Case[] = types.flatMap(([type, bits]) =>
  predicates.flatMap((predicate) =>
    Object.entries(orders).map(([order, [x, y]]) => {
      const name = `${type}_${predicate}_${order}`;
      const parameters = `(${type} %a, ${type} %b)`;
      const compare = `%c = fcmp ${predicate} ${type} %a, %b`;
      return {
        name,
        text: `define ${type} @${name}${parameters} {
  ${compare}
  %r = select i1 %c, ${type} ${x}, ${type} ${y}
  ret ${type} %r
}
define ${bits} @${name}_bits${parameters} {
  ${compare}
  %x = bitcast ${type} ${x} to ${bits}
  %y = bitcast ${type} ${y} to ${bits}
  %r = select i1 %c, ${bits} %x, ${bits} %y
  ret ${bits} %r
}
`,
      };
    }),
  ),
);

const harness = `#include <stdio.h>
#include <string.h>
static const double values[] = {0.0, -0.0, 1.0, -1.0, 2.5, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 4.9e-324, 1.4e-45, 1e300};
enum { count = sizeof values / sizeof *values };
${cases
  .map(({ name }) => {
    const type = name.split("_")[0];
    return `${type} ${name}(${type}, ${type});\n${type === "double" ? "unsigned long" : "unsigned"} ${name}_bits(${type}, ${type});\n`;
  })
  .join("")}
#define CHECK(type, bits, name) do { \\
  type r = name((type)values[i], (type)values[k]); bits x; memcpy(&x, &r, sizeof x); compared++; \\
  if (x != name##_bits((type)values[i], (type)values[k])) printf(#name " %d %d\\n", i, k); } while (0)
int main(void) {
  int compared = 0;
  for (int i = 0; i < count; i++)
    for (int k = 0; k < count; k++) {
${cases
  .map(({ name }) =>
    name.startsWith("double")
      ? `      CHECK(double, unsigned long, ${name});\n`
      : `      CHECK(float, unsigned, ${name});\n`,
  )
  .join("")}    }
  printf("%d compared\\n", compared);
  return 0;
}
`;

/** Mnemonics of minima and maxima in a function of the assembly. */
function extremaIn(assembly: string, name: string): string[] {
  const body = assembly.slice(
    assembly.indexOf(`\n${name}:`),
    assembly.indexOf("ret", assembly.indexOf(`\n${name}:`)),
  );
  return body.match(/\b(min|max)s[sd]\b/g) ?? [];
}

describe("selects of numbers by comparing them", () => {
  test.each(["2", "z"])(
    "give what they choose at -O%s, by one instruction where that is the same",
    async (level) => {
      const ir = join(folder, `min-max-${level}.ll`);
      const assembly = join(folder, `min-max-${level}.s`);
      const main = join(folder, "main.c");
      const program = join(folder, `min-max-${level}`);
      writeFileSync(ir, head + cases.map(({ text }) => text).join(""));
      writeFileSync(main, harness);
      const options = [
        "-r",
        `-O${level}`,
        "--skip-pass=icf,merge-similar-functions",
        "--verify",
        "--check-regalloc",
      ];
      expect((await tscLto([ir, ...options, "-o", assembly], { cwd: folder })).err).toBe("");
      expect((await run(["cc", "-w", "-O1", main, assembly, "-no-pie", "-o", program])).stderr).toBe("");
      expect(String((await run([program])).stdout)).toBe(`${cases.length * 11 * 11} compared\n`);
      const text = readFileSync(assembly, "utf8");
      for (const { name } of cases) {
        const [type, predicate, order] = name.split("_");
        const isMax = { ogt: true, ule: true, olt: false, uge: false }[predicate!];
        const suffix = type === "double" ? "sd" : "ss";
        const expected =
          isMax === undefined
            ? []
            : [`${(isMax === (order === "same")) !== predicate!.startsWith("u") ? "max" : "min"}${suffix}`];
        expect(extremaIn(text, name), name).toEqual(expected);
      }
    },
  );
});
