/** Lanes that a mask chooses, next to each other in memory: by instructions of AVX-512, to what lane by lane makes of them. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const at = (name: string): string => join(folder, name);
interface Kind {
  readonly count: number;
  readonly element: string;
  readonly suffix: string;
}
const kinds: readonly Kind[] = [
  { count: 16, element: "i32", suffix: "v16i32" },
  { count: 8, element: "i64", suffix: "v8i64" },
  { count: 8, element: "float", suffix: "v8f32" },
  { count: 2, element: "double", suffix: "v2f64" },
  // Of lanes that want VBMI2: lane by lane. So is what takes two registers.
  { count: 8, element: "i16", suffix: "v8i16" },
];

const functions = (side: string): string =>
  kinds
    .map(({ count, element, suffix }) => {
      const [type, mask] = [`<${count} x ${element}>`, `<${count} x i1>`];
      const head = `  %w = trunc i64 %bits to i${count}
  %m = bitcast i${count} %w to ${mask}
  %x = load ${type}, ptr %p, align 1`;
      const expand = (rest: string): string => `${head}
  %r = call ${type} @llvm.masked.expandload.${suffix}(ptr %q, ${mask} %m, ${type} ${rest})
  store ${type} %r, ptr %p, align 1
  ret void
}
`;
      return `declare void @llvm.masked.compressstore.${suffix}(${type}, ptr, ${mask})
declare ${type} @llvm.masked.expandload.${suffix}(ptr, ${mask}, ${type})
define void @compress_${suffix}${side}(ptr %p, ptr %q, i64 %bits) #0 {
${head}
  call void @llvm.masked.compressstore.${suffix}(${type} %x, ptr %q, ${mask} %m)
  ret void
}
define void @expand_${suffix}${side}(ptr %p, ptr %q, i64 %bits) #0 {
${expand("%x")}define void @zeros_${suffix}${side}(ptr %p, ptr %q, i64 %bits) #0 {
${expand("zeroinitializer")}`;
    })
    .join("");

async function compiled(name: string, features: string): Promise<string> {
  const layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";
  writeFileSync(
    at(`${name}.ll`),
    `target datalayout = "${layout}"\ntarget triple = "x86_64-unknown-linux-gnu"\n${functions(name)}attributes #0 = { "target-features"="${features}" }\n`,
  );
  const output = at(`${name}.s`);
  const options = ["-r", "-O2", "--verify", "--check-regalloc", "-o", output];
  expect((await tscLto([at(`${name}.ll`), ...options], { cwd: folder })).err).toBe("");
  return readFileSync(output, "utf8");
}

const names = kinds.flatMap(({ suffix }) => ["compress", "expand", "zeros"].map((n) => `${n}_${suffix}`));
const main = `#include <stdio.h>
#include <string.h>
${names.map((f) => `void ${f}a(void *, void *, unsigned long), ${f}b(void *, void *, unsigned long);`).join("\n")}
static unsigned char p[256], q[256], r[256], s[256];
int main(void) {
  unsigned state = 1;
  for (int i = 0; i < 200; i++) {
    for (int k = 0; k < 256; k++) state = state * 1664525 + 1013904223, p[k] = state >> 24, q[k] = state >> 16;
    unsigned long bits = i == 0 ? 0 : i == 1 ? -1ul : state ^ state >> 15;
${names.map((f) => `    memcpy(r, p, 256), memcpy(s, q, 256), ${f}a(p, q, bits), ${f}b(r, s, bits); if (memcmp(p, r, 256) || memcmp(q, s, 256)) puts("${f}");`).join("\n")}
  }
  puts("done");
}
`;

test("compressed and expanded", async () => {
  const ours = await compiled("a", "+avx512f,+avx512vl,+avx512bw,+avx512dq");
  expect(ours.match(/vpcompress[dq]/g)).toHaveLength(4);
  expect(ours.match(/vpexpand[dq]/g)).toHaveLength(8);
  expect(await compiled("b", "+avx2")).not.toMatch(/vp(?:compress|expand)/);
  writeFileSync(at("main.c"), main);
  const command = ["cc", "-w", "-O1", at("main.c"), at("a.s"), at("b.s"), "-o", at("main")];
  expect((await run(command)).stderr).toBe("");
  const cpuinfo = existsSync("/proc/cpuinfo") ? readFileSync("/proc/cpuinfo", "utf8") : "";
  if (!["avx512vl", "avx512bw", "avx512dq"].every((flag) => cpuinfo.includes(` ${flag}`))) return;
  expect((await run([at("main")])).stdout.toString()).toBe("done\n");
});
