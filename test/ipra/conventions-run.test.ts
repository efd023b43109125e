/**
 * Programs whose closed functions pass arguments and return results in registers of their own: compiled from text
 * IR, checked, assembled, run, and compared with what they do under the platform's convention.
 */
import { describe, expect, it } from "vitest";
import { programs } from "./programs.js";

const { compile, run } = programs("ipra-run", "deadargelim,inline");

/** What the assembly says of a function's convention. */
const conventionOf = (assembly: string, fn: string): string =>
  new RegExp(`^# convention: (.*)\n${fn}:$`, "m").exec(assembly)?.[1] ?? "";

const declarations = `
declare i32 @printf(ptr, ...)
@five = private constant [21 x i8] c"%ld %ld %ld %ld %ld\\0A\\00"
@two = private constant [7 x i8] c"%g %g\\0A\\00"
`;
const quint = "{ i64, i64, i64, i64, i64 }";
const pack = (type: string, members: readonly string[]): string =>
  members
    .map((m, i) => `%r${i} = insertvalue ${type} ${i === 0 ? "poison" : `%r${i - 1}`}, ${m}, ${i}\n`)
    .join("");
const unpack = (type: string, value: string, count: number): string =>
  Array.from({ length: count }, (_, i) => `%${value}${i} = extractvalue ${type} %${value}, ${i}\n`).join("");

const makes = `
define internal ${quint} @makes(i64 %a, i64 %b) {
  %c = add i64 %a, %b
  %d = mul i64 %a, %b
  %e = sub i64 %a, %b
  %x = call i32 (ptr, ...) @printf(ptr @five, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e)
  ${pack(quint, ["i64 %a", "i64 %b", "i64 %c", "i64 %d", "i64 %e"])}
  ret ${quint} %r4
}`;
const shows = (call: string): string => `
define i32 @main(i32 %n, ptr %v) {
  %a = sext i32 %n to i64
  %s = ${call}
  ${unpack(quint, "s", 5)}
  %x = call i32 (ptr, ...) @printf(ptr @five, i64 %s4, i64 %s3, i64 %s2, i64 %s1, i64 %s0)
  ret i32 0
}`;

const cases: { title: string; text: string; conventions: Record<string, string> }[] = [
  {
    title: "five integers, handed through a tail call",
    text: `${declarations}${makes}
define internal ${quint} @through(i64 %a, i64 %b) {
  %r = tail call ${quint} @makes(i64 %b, i64 %a)
  ret ${quint} %r
}
${shows(`call ${quint} @through(i64 %a, i64 10)`)}`,
    conventions: {
      makes: "(rdi, rsi) -> (rax, rdx, rcx, rsi, rdi)",
      through: "(rdi, rsi) -> (rax, rdx, rcx, rsi, rdi)",
    },
  },
  {
    title: "results of a visible function, from those of a closed one",
    text: `${declarations}${makes}
define ${quint} @visible(i64 %a) noinline {
  %r = tail call ${quint} @makes(i64 %a, i64 7)
  ret ${quint} %r
}
${shows(`call ${quint} @visible(i64 %a)\n  store ptr @visible, ptr %v`)}`,
    conventions: { makes: "(rdi, rsi) -> (rax, rdx, rcx, rsi, rdi)", visible: "" },
  },
  {
    title: "nine integers of all widths and eight floats",
    text: `${declarations}
define internal { i1, i8, i16, i32, i64, ptr, i64, i64, i33, double, float, double, double, double, double, double, double } @mixed(i64 %a, double %d) {
  %b = trunc i64 %a to i1
  %c = trunc i64 %a to i8
  %w = zext i64 %a to i65
  %t = trunc i65 %w to i33
  %f = fptrunc double %d to float
  ${pack("{ i1, i8, i16, i32, i64, ptr, i64, i64, i33, double, float, double, double, double, double, double, double }", ["i1 %b", "i8 %c", "i16 -3", "i32 -4", "i64 %a", "ptr @two", "i64 7", "i64 8", "i33 %t", "double %d", "float %f", "double 3.0", "double 4.0", "double 5.0", "double 6.0", "double 7.0", "double %d"])}
  ret { i1, i8, i16, i32, i64, ptr, i64, i64, i33, double, float, double, double, double, double, double, double } %r16
}
define i32 @main(i32 %n, ptr %v) {
  %a = sext i32 %n to i64
  %d = sitofp i32 %n to double
  %s = call { i1, i8, i16, i32, i64, ptr, i64, i64, i33, double, float, double, double, double, double, double, double } @mixed(i64 %a, double %d)
  ${unpack("{ i1, i8, i16, i32, i64, ptr, i64, i64, i33, double, float, double, double, double, double, double, double }", "s", 17)}
  %b = zext i1 %s0 to i64
  %c = sext i8 %s1 to i64
  %w = sext i16 %s2 to i64
  %l = sext i32 %s3 to i64
  %t = zext i33 %s8 to i64
  %f = fpext float %s10 to double
  %g = fadd double %s9, %s16
  %x = call i32 (ptr, ...) @printf(ptr @five, i64 %b, i64 %c, i64 %w, i64 %l, i64 %s4)
  %y = call i32 (ptr, ...) @printf(ptr @five, i64 %s6, i64 %s7, i64 %t, i64 0, i64 0)
  %z = call i32 (ptr, ...) @printf(ptr %s5, double %f, double %g)
  %q = call i32 (ptr, ...) @printf(ptr %s5, double %s14, double %s15)
  ret i32 0
}`,
    conventions: {
      mixed:
        "(rdi, xmm0) -> (rax, rdx, rcx, rsi, rdi, r8, r9, r10, r11, xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7)",
    },
  },
  {
    title: "an integer of 256 bits and a vector of eight doubles",
    text: `${declarations}
define internal i256 @wide(i64 %a) {
  %w = zext i64 %a to i256
  %h = shl i256 %w, 200
  %r = or i256 %h, %w
  ret i256 %r
}
define internal <10 x double> @vector(double %d) {
  %v = insertelement <10 x double> zeroinitializer, double %d, i32 9
  ret <10 x double> %v
}
define i32 @main(i32 %n, ptr %v) {
  %a = sext i32 %n to i64
  %s = call i256 @wide(i64 %a)
  %h = lshr i256 %s, 192
  %t = trunc i256 %h to i64
  %u = trunc i256 %s to i64
  %x = call i32 (ptr, ...) @printf(ptr @five, i64 %t, i64 %u, i64 0, i64 0, i64 0)
  %m = call <10 x double> @vector(double 2.5)
  %p = extractelement <10 x double> %m, i32 9
  %q = extractelement <10 x double> %m, i32 3
  %y = call i32 (ptr, ...) @printf(ptr @two, double %p, double %q)
  ret i32 0
}`,
    conventions: { wide: "(rdi) -> (rax, rdx, rcx, rsi)" },
  },
  {
    title: "more arguments than all registers, in and out of a recursion with results",
    text: `${declarations}
define internal ${quint} @deep(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h, i64 %i, i64 %j, i64 %n) {
  %done = icmp eq i64 %n, 0
  br i1 %done, label %stop, label %more
stop:
  ${pack(quint, ["i64 %a", "i64 %c", "i64 %f", "i64 %h", "i64 %j"])}
  ret ${quint} %r4
more:
  %m = sub i64 %n, 1
  %s = call ${quint} @deep(i64 %j, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h, i64 %i, i64 %m)
  ${unpack(quint, "s", 5)}
  %x = call i32 (ptr, ...) @printf(ptr @five, i64 %s0, i64 %s1, i64 %s2, i64 %s3, i64 %s4)
  %k = add i64 %s0, %h
  %t = insertvalue ${quint} %s, i64 %k, 0
  ret ${quint} %t
}
${shows(`call ${quint} @deep(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 %a, i64 4)`)}`,
    conventions: {
      deep: "(rdi, rsi, rdx, rcx, r8, r9, rax, r10, r11, stack, stack) -> (rax, rdx, rcx, rsi, rdi)",
    },
  },
  {
    title: "results nobody wants, and undefined ones",
    text: `${declarations}
define internal ${quint} @partly(i64 %a) {
  %x = call i32 (ptr, ...) @printf(ptr @five, i64 %a, i64 0, i64 0, i64 0, i64 0)
  %1 = insertvalue ${quint} undef, i64 %a, 4
  ret ${quint} %1
}
define i32 @main(i32 %n, ptr %v) {
  %a = sext i32 %n to i64
  %s = call ${quint} @partly(i64 %a)
  %s4 = extractvalue ${quint} %s, 4
  call ${quint} @partly(i64 %s4)
  %b = add i64 %s4, 1
  call ${quint} @partly(i64 %b)
  ret i32 0
}`,
    conventions: {},
  },
];

describe("conventions of closed functions run", () => {
  for (const goal of ["-O2", "-Oz"])
    for (const { title, text, conventions } of cases)
      it(`${title}, ${goal}`, async () => {
        const reference = await compile(text, goal, "--no-ipra");
        expect(reference).not.toContain("# convention");
        const expected = run(reference);
        const assembly = await compile(text, goal);
        expect(run(assembly)).toBe(expected);
        for (const [fn, convention] of Object.entries(conventions))
          expect(conventionOf(assembly, fn)).toBe(convention);
        for (const allocator of ["ssa", "linear", "graph"])
          expect(run(await compile(text, goal, "--regalloc", allocator))).toBe(expected);
      });
});

it("no memory is touched for arguments and results in registers", async () => {
  const assembly = await compile(
    `${declarations}${makes.replace(/%x = .*/, "")}${shows(`call ${quint} @makes(i64 %a, i64 3)`)}`,
    "-Oz",
  );
  const start = assembly.indexOf("\nmakes:\n");
  expect(assembly.slice(start, assembly.indexOf(".size\tmakes", start))).not.toMatch(/mov\w*\t.*\(%r/);
});
