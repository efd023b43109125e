/** Fused operations and conversions of halves and bfloats, which round once though the machine has neither format. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { floatFma, floatFormat, fromInteger, isNaNBits } from "../../lto/ir/fold/floats.js";
import { temporaryFolder, tscLto } from "../support/command.js";
import { Random } from "../support/random.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const at = (name: string): string => join(folder, name);

const fused = (type: string, suffix: string): string => `define i16 @fma_${type}(i16 %a, i16 %b, i16 %c) #0 {
  %x = bitcast i16 %a to ${type}
  %y = bitcast i16 %b to ${type}
  %z = bitcast i16 %c to ${type}
  %f = call ${type} @llvm.fma.${suffix}(${type} %x, ${type} %y, ${type} %z)
  %r = bitcast ${type} %f to i16
  ret i16 %r
}
declare ${type} @llvm.fma.${suffix}(${type}, ${type}, ${type})
`;
const conversion = (type: string, sign: string, width: number): string =>
  `define i16 @${type}_${sign}${width}(i${width} %n) #0 {
  %f = ${sign}itofp i${width} %n to ${type}
  %r = bitcast ${type} %f to i16
  ret i16 %r
}
`;
const types = ["half", "bfloat"] as const;
const kinds = types.flatMap((type) =>
  ["u", "s"].flatMap((sign) => [32, 64].map((width) => [type, sign, width] as const)),
);

// Double and single rounding differ: sums next to the middle between two halves, and integers next to that of two bfloats.
const triples = {
  half: ["852b 7603 87f1", "6e8a 4600 8cb6", "f340 bbf0 84f2", "2a1c f412 9bf3", "a9e9 30b2 332f"],
  bfloat: ["3f81 3f81 0d80", "3f81 3f81 8d80", "3fc0 3f81 0080", "3fc0 3f81 8080", "7f00 4000 ff00"],
};
const integers = [
  0x1010001n,
  -0x1010001n,
  (1n << 62n) + (1n << 54n) + 1n,
  (1n << 62n) + (1n << 54n) - 1n,
  65519n,
  65520n,
];

test("round once, as constants do", async () => {
  const random = new Random(5);
  const word = (): bigint => BigInt(random.below(0x10000));
  const calls: string[] = [];
  const expected: string[] = [];
  for (const type of types) {
    const format = floatFormat(type)!;
    const cases = triples[type].map((text) => text.split(" ").map((hex) => BigInt(`0x${hex}`)));
    for (let i = 0; i < 300; i++) {
      const [a, b, near] = [word(), word(), word()];
      // The addend is far from the product, near it, or as it comes.
      const product = floatFma(format, a, b, 0n);
      cases.push([a, b, i % 3 === 0 ? (product ^ (near & 0x80ffn)) & 0xffffn : near]);
    }
    for (const [a, b, c] of cases) {
      const result = floatFma(format, a!, b!, c!);
      if (isNaNBits(format, result)) continue;
      calls.push(`fma_${type}(${a}, ${b}, ${c})`);
      expected.push(result.toString(16));
    }
  }
  for (const [type, sign, width] of kinds) {
    const format = floatFormat(type)!;
    const all = [...integers];
    for (let i = 0; i < 100; i++) {
      // 9 bits are the middle between two bfloats.
      const middle = BigInt(257 + 2 * random.below(127)) << BigInt(random.below(54));
      all.push(middle + BigInt(random.below(3) - 1));
    }
    for (const n of all) {
      const value = sign === "s" ? BigInt.asIntN(width, n) : BigInt.asUintN(width, n);
      calls.push(`${type}_${sign}${width}(${BigInt.asUintN(64, value)}ull)`);
      expected.push(fromInteger(format, value).toString(16));
    }
  }
  const source = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
${fused("half", "f16")}${fused("bfloat", "bf16")}${kinds.map((kind) => conversion(...kind)).join("")}attributes #0 = { "target-features"="+sse2" }
`;
  writeFileSync(at("a.ll"), source);
  const made = await tscLto([at("a.ll"), "-r", "-O2", "--verify", "-o", at("a.s")], { cwd: folder });
  expect(made.err).toBe("");
  writeFileSync(
    at("main.c"),
    `#include <stdio.h>
unsigned short fma_half(int, int, int), fma_bfloat(int, int, int);
${kinds.map(([type, sign, width]) => `unsigned short ${type}_${sign}${width}(${width === 32 ? "unsigned" : "unsigned long long"});`).join("\n")}
int main(void) {
${calls.map((call) => `  printf("%x\\n", ${call});`).join("\n")}
}
`,
  );
  const built = await run(["cc", "-w", "-O0", at("main.c"), at("a.s"), "-o", at("main")]);
  expect(built.stderr).toBe("");
  const lines = (await run([at("main")])).stdout.toString().trim().split("\n");
  expect(lines.map((line, i) => `${calls[i]} ${line}`)).toEqual(
    expected.map((line, i) => `${calls[i]} ${line}`),
  );
});
