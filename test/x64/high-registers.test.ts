/** Vector registers 16 to 31: used where EVEX encoding is there, never kept by calls, and never named by VEX. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const head = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
`;
const all = "+avx512f,+avx512vl,+avx512bw,+avx512dq";

/** So many values at once. */
const count = 26;
const numbers = Array.from({ length: count }, (_, i) => i);

interface Kind {
  readonly type: string;
  /** Of two values %x and %y, the result in %r. */
  readonly body: (i: number) => string;
}
/** `%rI` from `%vI` and its neighbour `%vJ`. */
const operation =
  (type: string, ...names: string[]) =>
  (i: number): string =>
    `%r${i} = ${names[i % names.length]} ${type} %v${i}, %v${(i + 5) % count}`;
const kinds: Readonly<Record<string, Kind>> = {
  bytes: { type: "<64 x i8>", body: operation("<64 x i8>", "add", "xor", "and", "sub") },
  words: { type: "<16 x i16>", body: operation("<16 x i16>", "mul", "or", "add") },
  doublewords: { type: "<4 x i32>", body: operation("<4 x i32>", "add", "xor", "mul", "and") },
  quadwords: { type: "<4 x i64>", body: operation("<4 x i64>", "add", "xor", "or", "and") },
  floats: { type: "<8 x float>", body: operation("<8 x float>", "fadd", "fmul", "fsub") },
  doubles: { type: "<8 x double>", body: operation("<8 x double>", "fadd", "fmul") },
  scalars: { type: "double", body: operation("double", "fadd", "fmul", "fsub", "fdiv") },
  singles: { type: "float", body: operation("float", "fadd", "fmul") },
  // Comparisons and blends of bytes, horizontal sums and absolute values have no EVEX form here, or another one.
  compared: {
    type: "<16 x i8>",
    body: (i) =>
      `%c${i} = icmp sgt <16 x i8> %v${i}, %v${(i + 5) % count}\n%r${i} = select <16 x i1> %c${i}, <16 x i8> %v${i}, <16 x i8> %v${(i + 9) % count}`,
  },
  shuffled: {
    type: "<8 x i32>",
    body: (i) =>
      `%r${i} = shufflevector <8 x i32> %v${i}, <8 x i32> %v${(i + 7) % count}, <8 x i32> <i32 0, i32 9, i32 2, i32 11, i32 ${i % 8}, i32 13, i32 15, i32 7>`,
  },
  rounded: {
    type: "<4 x float>",
    body: (i) =>
      `%f${i} = call <4 x float> @llvm.floor.v4f32(<4 x float> %v${i})\n%r${i} = fadd <4 x float> %f${i}, %v${(i + 3) % count}`,
  },
  converted: {
    type: "float",
    body: (i) =>
      `%n${i} = fptosi float %v${i} to i32\n%d${i} = sitofp i32 %n${i} to double\n%t${i} = fptrunc double %d${i} to float\n%r${i} = fadd float %t${i}, %v${(i + 3) % count}`,
  },
};

/** All values live at once, twice over, with something in the middle. */
function functionText(name: string, { type, body }: Kind, middle: string, features: string): string {
  const element = (i: number): string => `%p${i} = getelementptr ${type}, ptr %p, i64 ${i}`;
  const loads = numbers.map((i) => `${element(i)}\n%v${i} = load ${type}, ptr %p${i}, align 1`);
  const stores = numbers.map((i) => `store ${type} %r${i}, ptr %p${i}, align 1`);
  return `define void @${name}(ptr %p) "target-features"="${features}" {\n${[...loads, middle, ...numbers.map(body), ...stores].join("\n")}\nret void\n}\n`;
}

const names = Object.keys(kinds);
const call = "call void @outside()";
const moduleText = (features: string, suffix: string): string =>
  `${head}declare void @outside()\ndeclare <4 x float> @llvm.floor.v4f32(<4 x float>)\n${names
    .flatMap((name) => [
      functionText(`${name}${suffix}`, kinds[name]!, "", features),
      functionText(`${name}_call${suffix}`, kinds[name]!, call, features),
    ])
    .join("")}`;

const harness = `#include <stdio.h>
#include <string.h>
void outside(void) {
${Array.from({ length: 16 }, (_, i) => `  __asm__ volatile ("vpternlogd $0xff, %%zmm${i + 16}, %%zmm${i + 16}, %%zmm${i + 16}" ::: "xmm${i + 16}");`).join("\n")}
}
static unsigned char a[${count} * 64], b[sizeof a];
static void fill(int floats) {
  static unsigned x = 12345;
  for (unsigned i = 0; i < sizeof a; i++) a[i] = (x = x * 1103515245 + 12345) >> 16;
  if (floats == 1) for (unsigned i = 0; i < sizeof a / 4; i++) ((float *)a)[i] = a[4 * i] * 0.37f - 7;
  if (floats == 2) for (unsigned i = 0; i < sizeof a / 8; i++) ((double *)a)[i] = a[8 * i] * 0.37 - 7;
  memcpy(b, a, sizeof a);
}
${names
  .flatMap((name) => [name, `${name}_call`])
  .map((f) => `void ${f}(void *), ${f}_plain(void *);\n`)
  .join("")}
int main(void) {
  for (int i = 0; i < 20; i++) {
${names
  .flatMap((name) => [name, `${name}_call`])
  .map((f) => {
    const { type } = kinds[f.replace("_call", "")]!;
    const floats = type.includes("double") ? 2 : type.includes("float") ? 1 : 0;
    return `    fill(${floats}); ${f}(a); ${f}_plain(b); if (memcmp(a, b, sizeof a)) puts("${f}");`;
  })
  .join("\n")}
  }
}
`;

const path = (name: string): string => join(folder, name);
async function compiled(text: string, level: string, name: string): Promise<string> {
  writeFileSync(path("a.ll"), text);
  const options = ["-r", `-${level}`, "--no-outline", "--verify", "--check-regalloc"];
  expect((await tscLto([path("a.ll"), ...options, "-o", path(name)], { cwd: folder })).err).toBe("");
  return readFileSync(path(name), "utf8");
}
const bodyOf = (assembly: string, name: string): string =>
  new RegExp(`^${name}:\\n([\\s\\S]*?)\\n\\t\\.size`, "m").exec(assembly)![1]!;
const high = /%[xyz]mm(1[6-9]|2\d|3[01])\b/;

const cpuinfo = existsSync("/proc/cpuinfo") ? readFileSync("/proc/cpuinfo", "utf8") : "";
const canRun = ["avx512f", "avx512vl", "avx512bw", "avx512dq"].every((flag) => cpuinfo.includes(` ${flag}`));

describe("vector registers 16 to 31", () => {
  test.each(["O0", "O2", "Oz"])("-%s", async (level) => {
    const ours = await compiled(moduleText(all, ""), level, "a.s");
    if (level === "O2")
      for (const name of names) {
        // Of what has no EVEX form nothing is there.
        expect([name, high.test(bodyOf(ours, name))]).toEqual([name, name !== "compared"]);
        // Values across a call are in memory, and so everything else is there, too.
        const before = bodyOf(ours, `${name}_call`).split(/call\toutside/)[0]!;
        const stored = before.split("\n").filter((line) => high.test(line) && !line.includes("("));
        expect([name, stored]).toEqual([name, []]);
      }
    await compiled(moduleText("+sse2", "_plain"), level, "b.s");
    if (!canRun) {
      // All of it assembles.
      expect((await run(["cc", "-c", path("a.s"), "-o", path("a.o")])).stderr).toBe("");
      return;
    }
    writeFileSync(path("h.c"), harness);
    const command = [
      "cc",
      "-w",
      "-O1",
      "-mavx512f",
      "-ffp-contract=off",
      path("h.c"),
      path("a.s"),
      path("b.s"),
    ];
    expect((await run([...command, "-lm", "-no-pie", "-o", path("h")])).stderr).toBe("");
    const { status, stdout } = await run([path("h")]);
    expect(stdout.toString()).toBe("");
    expect(status).toBe(0);
  });

  test("without AVX-512VL they are of 64 bytes and of scalars", async () => {
    const f = "+avx512f";
    const quarter = (i: number): string =>
      `%q${i} = shufflevector <16 x i32> %v${i}, <16 x i32> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
%s${i} = getelementptr <4 x i32>, ptr %p, i64 ${200 + i}
store <4 x i32> %q${i}, ptr %s${i}, align 16
%r${i} = add <16 x i32> %v${i}, %v${(i + 7) % count}`;
    const text = [
      functionText("whole", kinds["doubles"]!, "", f),
      functionText("scalars", kinds["scalars"]!, call, f),
      functionText("parts", { type: "<16 x i32>", body: quarter }, "", f),
      functionText("halves", kinds["floats"]!, "", f),
    ].join("");
    const ours = await compiled(`${head}declare void @outside()\n${text}`, "O2", "a.s");
    for (const name of ["whole", "parts"]) expect(bodyOf(ours, name)).toMatch(high);
    expect(bodyOf(ours, "halves")).not.toMatch(high);
    // What is copied out of one is all of it.
    expect(bodyOf(ours, "parts")).toMatch(/vmovaps\t%zmm(1[6-9]|2\d|3[01]), %zmm\d\n/);
    const only = "-Wa,-march=generic64+avx512f+fma";
    expect((await run(["cc", "-c", only, path("a.s"), "-o", path("a.o")])).stderr).toBe("");
  });

  test("assembly names and changes them", async () => {
    const asm = (constraints: string, features: string): string =>
      `${head}define <16 x i32> @f(<16 x i32> %a) "target-features"="${features}" {
  %r = call <16 x i32> asm "vpaddd $1, $1, $0", "${constraints}"(<16 x i32> %a)
  %s = add <16 x i32> %r, %a
  ret <16 x i32> %s
}`;
    const text = await compiled(asm("={zmm17},{zmm30},~{xmm0},~{xmm1},~{xmm2}", all), "O2", "a.s");
    expect(text).toContain("vpaddd %zmm30, %zmm30, %zmm17");
    // What is not named by a letter of VEX encoding may be anywhere.
    const low = Array.from({ length: 16 }, (_, i) => `~{xmm${i}}`).join(",");
    expect(await compiled(asm(`=v,v,${low}`, all), "O2", "a.s")).toMatch(
      /vpaddd %zmm(1[6-9]|2\d|3[01]), %zmm\d+, %zmm(1[6-9]|2\d|3[01])/,
    );
    writeFileSync(path("a.ll"), asm("={zmm17},{zmm30}", "+avx2"));
    expect((await tscLto([path("a.ll"), "-r", "-o", path("a.s")], { cwd: folder })).code).toBe(1);
  });

  test("are zeroed at exits where that is asked for", async () => {
    const text = functionText("f", kinds["doubles"]!, "", all).replace(
      '"target-features"',
      '"zero-call-used-regs"="used" "target-features"',
    );
    expect(await compiled(head + text, "O2", "a.s")).toMatch(/vpxord\t%xmm(1[6-9]|2\d|3[01])/);
  });
});
