/** Numbers in half precision with F16C: converted and computed with by its instructions, to the library's results. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const at = (name: string): string => join(folder, name);
const operations = ["fadd", "fsub", "fmul", "fdiv"];
const counts = [2, 4, 8, 16];

const functions = (suffix: string): string =>
  counts
    .flatMap((count) =>
      operations.map(
        (op) => `define void @${op}${count}${suffix}(ptr %p, ptr %q, ptr %r) #0 {
  %x = load <${count} x half>, ptr %p, align 2
  %y = load <${count} x half>, ptr %q, align 2
  %z = ${op} <${count} x half> %x, %y
  store <${count} x half> %z, ptr %r, align 2
  ret void
}
`,
      ),
    )
    .join("");
const singles = (suffix: string): string => `define float @extend${suffix}(ptr %p) #0 {
  %x = load half, ptr %p
  %r = fpext half %x to float
  ret float %r
}
define void @round${suffix}(float %x, ptr %p) #0 {
  %r = fptrunc float %x to half
  store half %r, ptr %p
  ret void
}
define double @product${suffix}(half %x, half %y) #0 {
  %z = fmul half %x, %y
  %r = fpext half %z to double
  ret double %r
}
`;
const strict = `declare float @llvm.experimental.constrained.fpext.f32.f16(half, metadata)
define float @strict(half %x) #0 strictfp {
  %r = call float @llvm.experimental.constrained.fpext.f32.f16(half %x, metadata !"fpexcept.strict") strictfp
  ret float %r
}
`;

async function compiled(name: string, text: string, features: string): Promise<string> {
  writeFileSync(
    at(`${name}.ll`),
    `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
${text}attributes #0 = { "target-features"="${features}" }
`,
  );
  const output = at(`${name}.s`);
  expect((await tscLto([at(`${name}.ll`), "-r", "-O2", "--verify", "-o", output], { cwd: folder })).err).toBe(
    "",
  );
  return readFileSync(output, "utf8");
}

const vectors = counts.flatMap((count) => operations.map((op) => `${op}${count}`));
const main = `#include <stdio.h>
#include <string.h>
typedef unsigned short half;
${vectors.map((f) => `void ${f}(half *, half *, half *), ${f}_plain(half *, half *, half *);`).join("\n")}
float extend(half *), extend_plain(half *);
void round_(float, half *) __asm__("round"), round_plain(float, half *);
static half x[16], y[16], r[16], s[16];
int main(void) {
  unsigned state = 1;
  for (int i = 0; i < 65536; i++) {
    x[0] = i;
    float a = extend(x), b = extend_plain(x);
    if (memcmp(&a, &b, 4)) printf("extend %x\\n", i);
    unsigned bits = state = state * 1664525 + 1013904223;
    if (i & 1) bits = (bits & 0x81ffffff) | 0x38000000 | (bits >> 3 & 0x6000000);
    memcpy(&a, &bits, 4);
    if (a != a) continue;
    round_(a, r), round_plain(a, s);
    if (r[0] != s[0]) printf("round %x\\n", bits);
  }
  for (int i = 0; i < 400; i++) {
    for (int k = 0; k < 16; k++) state = state * 1664525 + 1013904223, x[k] = state >> 16, y[k] = state;
${vectors.map((f) => `    memset(r, 0, 32), memset(s, 0, 32), ${f}(x, y, r), ${f}_plain(x, y, s);\n    for (int k = 0; k < 16; k++) if (r[k] != s[k] && ((r[k] & 0x7c00) != 0x7c00 || (s[k] & 0x7c00) != 0x7c00)) printf("${f}\\n");`).join("\n")}
  }
  puts("done");
}
`;

test("conversions and arithmetic", async () => {
  const ours = await compiled("a", functions("") + singles("") + strict, "+avx2,+f16c");
  // Where flags matter, lanes above the number must raise none.
  expect([...ours.matchAll(/(?:call|jmp)\t(__\w+)/g)].map((m) => m[1])).toEqual(["__extendhfsf2"]);
  expect(ours).not.toMatch(/vmovaps\t(%[xy]mm\d+), \1\n/);
  await compiled("b", functions("_plain") + singles("_plain"), "+sse2");
  writeFileSync(at("main.c"), main);
  const command = ["cc", "-w", "-O1", at("main.c"), at("a.s"), at("b.s"), "-lm", "-o", at("main")];
  expect((await run(command)).stderr).toBe("");
  if (!/ f16c .* avx2 /.test(existsSync("/proc/cpuinfo") ? readFileSync("/proc/cpuinfo", "utf8") : ""))
    return;
  expect((await run([at("main")])).stdout.toString()).toBe("done\n");
});

test("what is rounded first has its own type, and so has what is extended first", async () => {
  const rounded = `define i1 @NAME(i16 %x) #0 {
  %h = sitofp i16 %x to half
  %r = fcmp uge half %h, %h
  ret i1 %r
}
`;
  const both = [rounded.replace("NAME", "rounded"), singles("_first"), rounded.replace("NAME", "again")];
  expect(await compiled("c", both.join(""), "+avx2,+f16c")).toContain("vcvtps2ph");
  expect(await compiled("d", both.reverse().join(""), "+avx2,+f16c")).toContain("vcvtps2ph");
});
