/** Operands of 32 and 64 bytes of inline assembly, and calls that have vectors of 64 bytes in registers, on the stack and as results. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const cpu = readFileSync("/proc/cpuinfo", "utf8");

async function compiled(text: string, level: string): Promise<string> {
  const [from, to] = [join(folder, "a.ll"), join(folder, "a.s")];
  writeFileSync(from, text);
  const { code, err } = await tscLto([level, "--check-regalloc", from, "-o", to], { cwd: folder, env: {} });
  expect(err).toBe("");
  expect(code).toBe(0);
  return readFileSync(to, "utf8");
}

/** The exit code of the program, where the machine has AVX-512. */
function run(): number | null {
  execFileSync("cc", ["-no-pie", join(folder, "a.s"), "-o", join(folder, "a")]);
  if (!/\bavx512f\b/.test(cpu)) return null;
  try {
    execFileSync(join(folder, "a"));
    return 0;
  } catch (e) {
    return (e as { status: number }).status;
  }
}

const numbers = (count: number, from: number): string =>
  `<${Array.from({ length: count }, (_, i) => `i32 ${from + i}`).join(", ")}>`;

describe.each(["-O0", "-O2", "-Oz"])("%s", (level) => {
  test("inline assembly", async () => {
    const text = await compiled(
      `@n = global i32 0
define i32 @main() #0 {
  %i = load volatile i32, ptr @n
  %v = insertelement <16 x i32> ${numbers(16, 1)}, i32 %i, i32 0
  %s = call <16 x i32> asm "vpaddd $1, $2, $0", "=x,x,x"(<16 x i32> %v, <16 x i32> ${numbers(16, 100)})
  %w = insertelement <8 x i32> ${numbers(8, 1)}, i32 %i, i32 0
  %t = call <8 x i32> asm "vpaddd $1, $2, \${0:t}", "=x,x,0,~{ymm1}"(<8 x i32> %w, <8 x i32> ${numbers(8, 10)})
  %a = extractelement <16 x i32> %s, i32 15
  %b = extractelement <8 x i32> %t, i32 7
  %r = add i32 %a, %b
  ret i32 %r
}
attributes #0 = { "target-features"="+avx512f" }
`,
      level,
    );
    expect(text).toMatch(/vpaddd\s%zmm\d+, %zmm\d+, %zmm\d+/);
    expect(text).toMatch(/vpaddd\s%ymm\d+, %ymm\d+, %ymm\d+/);
    expect([null, 131 + 25]).toContain(run());
  });

  test("masks", async () => {
    const text = await compiled(
      `@n = global i16 -3
define i32 @main() #0 {
  %i = load volatile i16, ptr @n
  %m = bitcast i16 %i to <16 x i1>
  %r = call { <16 x i1>, i32 } asm "kshiftlw $$1, $2, %k1\\0A\\09kxnorw %k1, $3, $0\\0A\\09movl $$5, $1", "=k,=&r,k,0,~{k1}"(<16 x i1> %m, <16 x i1> splat (i1 true))
  %a = extractvalue { <16 x i1>, i32 } %r, 0
  %b = extractvalue { <16 x i1>, i32 } %r, 1
  %c = call <16 x i1> asm "knotw $1, $0", "=^Yk,^Yk"(<16 x i1> %a)
  %d = bitcast <16 x i1> %c to i16
  %e = zext i16 %d to i32
  %f = and i32 %e, 31
  %s = add i32 %f, %b
  ret i32 %s
}
attributes #0 = { "target-features"="+avx512f" }
`,
      level,
    );
    expect(text).toMatch(/kmovw\s%\w+, %k[2-7]/);
    // ~(-3 << 1), and 5.
    expect([null, (5 & 31) + 5]).toContain(run());
  });

  // Macros of two numbers, which the tests of headers leave out.
  test("mantissas", async () => {
    await compiled(
      `@n = global double 10.0
declare <8 x double> @llvm.x86.avx512.mask.getmant.pd.512(<8 x double>, i32 immarg, <8 x double>, i8, i32 immarg)
declare <2 x double> @llvm.x86.avx512.mask.getmant.sd(<2 x double>, <2 x double>, i32 immarg, <2 x double>, i8, i32 immarg)
define i32 @main() #0 {
  %n = load volatile double, ptr @n
  %v = insertelement <8 x double> splat (double 7.0), double %n, i32 0
  %r = call <8 x double> @llvm.x86.avx512.mask.getmant.pd.512(<8 x double> %v, i32 0, <8 x double> splat (double 2.0), i8 1, i32 4)
  %m = fneg double %n
  %w = insertelement <2 x double> zeroinitializer, double %m, i32 0
  %s = call <2 x double> @llvm.x86.avx512.mask.getmant.sd(<2 x double> splat (double 3.0), <2 x double> %w, i32 2, <2 x double> zeroinitializer, i8 -1, i32 8)
  %a = extractelement <8 x double> %r, i32 0
  %b = extractelement <8 x double> %r, i32 7
  %c = extractelement <2 x double> %s, i32 0
  %d = extractelement <2 x double> %s, i32 1
  %e = fmul double %a, 8.0
  %f = fadd double %e, %b
  %g = fmul double %c, 16.0
  %h = fsub double %f, %g
  %i = fadd double %h, %d
  %x = fptosi double %i to i32
  ret i32 %x
}
attributes #0 = { "target-features"="+avx512f" }
`,
      level,
    );
    // 1.25 · 8, 2 where the mask is clear, less -0.625 · 16, and 3.
    expect([null, 10 + 2 + 10 + 3]).toContain(run());
  });

  test("arguments and results", async () => {
    const arguments_ = Array.from({ length: 10 }, (_, i) => `<16 x i32> %a${i}`).join(", ");
    const sums = Array.from(
      { length: 9 },
      (_, i) => `  %s${i + 1} = add <16 x i32> %${i === 0 ? "a0" : `s${i}`}, %a${i + 1}`,
    ).join("\n");
    const values = Array.from({ length: 10 }, (_, i) => `<16 x i32> ${i === 9 ? "%v" : numbers(16, i)}`).join(
      ", ",
    );
    await compiled(
      `@n = global i32 7
@f = global ptr @sum
define <16 x i32> @sum(${arguments_}) noinline #0 {
${sums}
  ret <16 x i32> %s9
}
define i32 @main() #0 {
  %i = load volatile i32, ptr @n
  %v = insertelement <16 x i32> zeroinitializer, i32 %i, i32 15
  %f = load volatile ptr, ptr @f
  %r = call <16 x i32> %f(${values})
  %a = extractelement <16 x i32> %r, i32 15
  ret i32 %a
}
attributes #0 = { "target-features"="+avx512f" }
`,
      level,
    );
    // 15 + i of nine vectors, and 7.
    expect([null, 9 * 15 + 36 + 7]).toContain(run());
  });
});
