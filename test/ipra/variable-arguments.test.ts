/**
 * Functions with variable arguments: what they save of the argument registers, and whether callers count vector
 * registers for them. Programs are run with and without IPRA and have to print the same.
 */
import { describe, expect, it } from "vitest";
import { programs } from "./programs.js";

const { compile, run } = programs("varargs", "deadargelim,inline,ipsccp");

function bodyOf(assembly: string, fn: string): string {
  const start = assembly.indexOf(`\n${fn}:\n`);
  return assembly.slice(start, assembly.indexOf(`.size\t${fn}`, start));
}
/** The argument registers that a function stores. */
const saved = (assembly: string, fn: string): string[] =>
  [...bodyOf(assembly, fn).matchAll(/mov(?:q|aps)\t%(r[a-z0-9]+|xmm\d), .*\(%r/g)]
    .map((m) => m[1]!)
    .filter((name) => /^(r[ds]i|r[cd]x|r[89]|xmm\d)$/.test(name));
const setsCount = (assembly: string, fn: string): boolean =>
  /(%eax|\$\d+, %al|push\w*\t\$\d+\n\tpop\w*\t%rax)$/m.test(bodyOf(assembly, fn));

const show = (linkage: string, attributes = ""): string => `
declare void @llvm.va_start(ptr)
declare void @llvm.va_end(ptr)
declare i32 @vprintf(ptr, ptr)
@words = internal constant [10 x i8] c"%ld %ld \\0A\\00"
@mixed = internal constant [10 x i8] c"%ld %g %g\\00"
@many = internal constant [28 x i8] c"%d %d %d %d %d %d %d %g %g\\0A\\00"
define ${linkage} void @show(ptr %format, ...) noinline ${attributes} {
  %list = alloca [3 x i64], align 16
  call void @llvm.va_start(ptr %list)
  %n = call i32 @vprintf(ptr %format, ptr %list)
  call void @llvm.va_end(ptr %list)
  ret void
}
`;
const words = "  call void (ptr, ...) @show(ptr @words, i64 3, i64 4)\n";
const mixed = "  call void (ptr, ...) @show(ptr @mixed, i64 3, double 1.5, double 2.5)\n";
const many = `  call void (ptr, ...) @show(ptr @many, ${[1, 2, 3, 4, 5, 6, 7].map((n) => `i32 ${n}`).join(", ")}, double 0.5, double 8.0)\n`;
const main = (calls: string): string => `
define internal void @calls() noinline {
${calls}  ret void
}
define i32 @main() {
  call void @calls()
  ret i32 0
}`;
const throughPointer = `
@pointer = internal global ptr @show
define internal void @sets() noinline {
  store ptr @show, ptr @pointer
  ret void
}`;

interface Program {
  readonly title: string;
  readonly text: string;
  readonly saved: readonly string[];
  readonly setsCount: boolean;
}
const everything = ["rsi", "rdx", "rcx", "r8", "r9", ...[0, 1, 2, 3, 4, 5, 6, 7].map((n) => `xmm${n}`)];
const cases: readonly Program[] = [
  {
    title: "two words at most",
    text: show("internal") + main(words),
    saved: ["rsi", "rdx"],
    setsCount: false,
  },
  {
    title: "the most of several calls, floating point among it",
    text: show("internal") + main(words + mixed),
    saved: ["rsi", "rdx", "xmm0", "xmm1"],
    setsCount: false,
  },
  {
    title: "more than there are registers",
    text: show("internal") + main(many),
    saved: ["rsi", "rdx", "rcx", "r8", "r9", "xmm0", "xmm1"],
    setsCount: false,
  },
  {
    title: "nothing",
    text: `${show("internal").replace("%ld %ld \\0A", "none here\\0A").replace('[10 x i8] c"none', '[11 x i8] c"none')}${main("  call void (ptr, ...) @show(ptr @words)\n")}`,
    saved: [],
    setsCount: false,
  },
  {
    title: "entered by others, too: they may pass everything, but the count is still not read",
    text: `${show("internal")}${main(words)}\n@llvm.used = appending global [1 x ptr] [ptr @show], section "llvm.metadata"`,
    saved: everything,
    setsCount: false,
  },
  {
    title: "through a pointer that is seen everywhere",
    text:
      show("internal") +
      throughPointer +
      main(`  call void @sets()
  %p = load ptr, ptr @pointer
  call void (ptr, ...) %p(ptr @mixed, i64 3, double 1.5, double 2.5)
`),
    saved: ["rsi", "xmm0", "xmm1"],
    setsCount: false,
  },
  {
    title: "its address goes to unknown code",
    text: `${show("internal")}
declare i32 @atexit(ptr)
define internal void @escapes() noinline {
  %r = call i32 @atexit(ptr @nothing)
  %s = call i32 @keep(ptr @show)
  ret void
}
define internal void @nothing() { ret void }
define weak i32 @keep(ptr %p) noinline { ret i32 0 }
${main(`  call void @escapes()\n${words}`)}`,
    saved: everything,
    setsCount: false,
  },
  {
    title: "variable arguments handed on by a jump",
    text: `${show("internal")}
define internal void @thunk(ptr %format, ...) noinline {
  %c = load volatile i64, ptr @clobbers
  %d = add i64 %c, 7
  store volatile i64 %d, ptr @clobbers
  musttail call void (ptr, ...) @show(ptr @many, ...)
  ret void
}
@clobbers = internal global i64 1
${main(many.replace("@show", "@thunk"))}`,
    saved: everything,
    setsCount: true,
  },
];

describe("variable arguments of closed functions", () => {
  for (const goal of ["-O2", "-Oz"])
    for (const program of cases)
      it(`${program.title}, ${goal}`, async () => {
        const reference = await compile(program.text, goal, "--no-ipra");
        expect(saved(reference, "show")).toEqual(everything);
        expect(setsCount(reference, "calls")).toBe(true);
        const assembly = await compile(program.text, goal);
        expect(saved(assembly, "show")).toEqual(program.saved);
        expect(setsCount(assembly, "calls")).toBe(program.setsCount);
        expect(run(assembly)).toBe(run(reference));
      });
});

describe("--no-bound-variable-arguments", () => {
  it("saves all that the platform passes, and counts vector registers", async () => {
    const text = show("internal") + main(words);
    const reference = await compile(text);
    const assembly = await compile(text, "--no-bound-variable-arguments");
    expect([setsCount(reference, "calls"), setsCount(assembly, "calls")]).toEqual([false, true]);
    expect([saved(reference, "show"), saved(assembly, "show")]).toEqual([["rsi", "rdx"], everything]);
    expect(run(assembly)).toBe(run(reference));
  });
});
