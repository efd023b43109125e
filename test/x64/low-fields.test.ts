/** Fields of 64-bit numbers: those that lie in the lower half take 32-bit operations, and hold what the number does there. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

/** By shift and mask: the instructions. */
const fields: readonly (readonly [number, bigint, string])[] = [
  [25, 127n, "shrl"],
  [1, 0x7fffffffn, "shrl"],
  [31, 1n, "shrl"],
  [20, 1023n, "shrl andl"],
  [20, 1025n, "shrl andl"],
  [8, 255n, "shrl movzbl"],
  [24, 255n, "shrl"],
  [3, 0xffffn, "shrl movzwl"],
  [20, 8191n, "shrq andl"],
  [25, 255n, "shrq movzbl"],
  [32, 1n, "shrq andl"],
  [40, 0xffffn, "shrq movzwl"],
];
const nameOf = ([count, mask]: (typeof fields)[number]): string => `field_${count}_${mask}`;

test("fields of the lower half", async () => {
  const defined = fields.map(
    (field) => `define i64 @${nameOf(field)}(i64 %x) minsize optsize {
%s = lshr i64 %x, ${field[0]}
%r = and i64 %s, ${field[1]}
ret i64 %r
}
`,
  );
  writeFileSync(path("a.ll"), `target triple = "x86_64-unknown-linux-gnu"\n${defined.join("")}`);
  const linked = await tscLto(["-Oz", "-r", "--no-outline", "--verify", path("a.ll"), "-o", path("a.s")], {
    cwd: folder,
  });
  expect(linked.err).toBe("");
  const text = readFileSync(path("a.s"), "latin1");
  for (const field of fields) {
    const code = text.slice(text.indexOf(`\n${nameOf(field)}:`), text.indexOf(`.size\t${nameOf(field)},`));
    const found = [...code.matchAll(/\t(shr[lq]|and[lq]|movz[bw]l)\t/g)].map(([, mnemonic]) => mnemonic);
    expect(found.join(" "), nameOf(field)).toBe(field[2]);
  }
  const checks = fields.map(
    (field) => `if (${nameOf(field)}(x) != (x >> ${field[0]} & ${field[1]}ul)) puts("${nameOf(field)}");`,
  );
  writeFileSync(
    path("main.c"),
    `#include <stdio.h>
${fields.map((field) => `unsigned long ${nameOf(field)}(unsigned long);`).join("\n")}
int main(void) {
  unsigned long x = 88172645463325252ul;
  for (int i = 0; i < 1000; i++) {
    x ^= x << 13; x ^= x >> 7; x ^= x << 17;
    ${checks.join("\n    ")}
  }
  puts("done");
}
`,
  );
  const built = await run(["cc", "-no-pie", "-O1", path("main.c"), path("a.s"), "-o", path("main")]);
  expect(built.stderr).toBe("");
  expect((await run([path("main")])).stdout.toString()).toBe("done\n");
});
