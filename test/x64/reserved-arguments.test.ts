/** Room in the frame for arguments that calls store: where it is, what goes on beside it, and that unwinding finds its way. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

const source = (uwtable: string): string => `target triple = "x86_64-unknown-linux-gnu"
%s = type { [12 x i64] }
@kept = internal global i64 0
declare i64 @sum(ptr byval(%s) align 8, i64)
declare i64 @many(i64, i64, i64, i64, i64, i64, i64, i64, i64)
declare i64 @mixed(x86_fp80, i64, ptr byval(%s) align 8, double)
declare i32 @__gxx_personality_v0(...)

; Three calls with room, slots beside it, and one call whose arguments are pushed.
define i64 @calls(ptr %p, i64 %n) ${uwtable} {
  %x = alloca i64
  %y = alloca [4 x i64]
  store i64 %n, ptr %x
  store i64 7, ptr %y
  %a = call i64 @sum(ptr byval(%s) align 8 %p, i64 %n)
  %b = call i64 @sum(ptr byval(%s) align 8 %p, i64 %a)
  %c = call i64 @many(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 %a, i64 %b, i64 %n)
  %d = call i64 @mixed(x86_fp80 0xK4000C000000000000000, i64 %c, ptr byval(%s) align 8 %p, double 5.0)
  %e = call i64 @take(ptr %x, ptr %y)
  %f = add i64 %d, %e
  ret i64 %f
}
define internal i64 @take(ptr %x, ptr %y) noinline ${uwtable} {
  %a = load i64, ptr %x
  %b = load i64, ptr %y
  %c = mul i64 %a, %b
  ret i64 %c
}
; The calls are the same in each: what is outlined must leave them the arguments where they are.
${["one", "two", "three", "four"]
  .map(
    (name, k) => `define i64 @${name}(ptr %p) ${uwtable} {
  %a = call i64 @sum(ptr byval(%s) align 8 %p, i64 ${10 * k + 1})
  %a1 = mul i64 %a, 77
  %a2 = xor i64 %a1, 12345
  store volatile i64 %a2, ptr @kept
  %b = call i64 @sum(ptr byval(%s) align 8 %p, i64 ${10 * k + 2})
  %b1 = mul i64 %b, 77
  %b2 = xor i64 %b1, 12345
  store volatile i64 %b2, ptr @kept
  %c = call i64 @sum(ptr byval(%s) align 8 %p, i64 ${10 * k + 3})
  %c1 = mul i64 %c, 77
  %c2 = xor i64 %c1, 12345
  store volatile i64 %c2, ptr @kept
  %r = add i64 %c2, %a2
  ret i64 %r
}`,
  )
  .join("\n")}
; Its arguments are taken off by who catches.
define i64 @caught(ptr %p, i64 %n) ${uwtable} personality ptr @__gxx_personality_v0 {
  %x = alloca i64
  store volatile i64 %n, ptr %x
  %a = invoke i64 @sum(ptr byval(%s) align 8 %p, i64 %n) to label %more unwind label %pad
more:
  %b = invoke i64 @sum(ptr byval(%s) align 8 %p, i64 %a) to label %done unwind label %pad
done:
  ret i64 %b
pad:
  %l = landingpad { ptr, i32 } catch ptr null
  %o = extractvalue { ptr, i32 } %l, 0
  %q = call ptr @__cxa_begin_catch(ptr %o)
  call void @__cxa_end_catch()
  %c = call i64 @sum(ptr byval(%s) align 8 %p, i64 2)
  %v = load volatile i64, ptr %x
  %r = add i64 %c, %v
  ret i64 %r
}
declare ptr @__cxa_begin_catch(ptr)
declare void @__cxa_end_catch()
; Where the frame has no fixed size each call makes its room.
define i64 @moving(ptr %p, i64 %n) ${uwtable} {
  %m = alloca i8, i64 %n
  store volatile i8 1, ptr %m
  %a = call i64 @sum(ptr byval(%s) align 8 %p, i64 %n)
  %b = call i64 @sum(ptr byval(%s) align 8 %p, i64 %a)
  ret i64 %b
}
; By value, and read in a few places: the accesses name it.
define i64 @read(ptr byval(%s) align 8 %p, i64 %i) ${uwtable} {
  %k = and i64 %i, 7
  %q = getelementptr i64, ptr %p, i64 %k
  %a = load i64, ptr %q
  %t = getelementptr i64, ptr %p, i64 11
  %b = load i64, ptr %t
  store i64 9, ptr %t
  %c = load i64, ptr %p
  %d = sub i64 %a, %b
  %e = add i64 %d, %c
  ret i64 %e
}
`;

const main = `#include <cstdio>
struct S { long v[12]; };
extern "C" {
long one(S *), two(S *), three(S *), four(S *);
long calls(S *, long), caught(S *, long), moving(S *, long), read(S, long);
long sum(S s, long n) {
  if ((long)__builtin_frame_address(0) & 15) std::printf("not aligned\\n");
  if (n < 0) throw n;
  long r = n;
  for (long &v : s.v) r += v, v = -1;
  return r;
}
long many(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
long mixed(long double x, long n, S s, double y) { return x * 2 + n + s.v[11] + y; }
}
int main() {
  S s;
  for (int i = 0; i < 12; i++) s.v[i] = i * i;
  std::printf("%ld %ld %ld %ld\\n", one(&s), two(&s), three(&s), four(&s));
  std::printf("%ld %ld %ld %ld %ld\\n", calls(&s, 3), caught(&s, 4), caught(&s, -5), moving(&s, 40), read(s, 3));
}
`;

test.each(
  [
    ["O0", ""],
    ["O2", "uwtable"],
    ["O2", "nounwind"],
    ["Oz", "uwtable"],
    ["Oz", "uwtable(sync)"],
    ["Oz", ""],
    ["Oz", '"probe-stack"="inline-asm"'],
    ["Oz", '"frame-pointer"="all"'],
  ].flatMap(([level, attributes]) =>
    ["--no-outline", "outlining"].map((outline) => [level!, attributes!, outline] as const),
  ),
)("at -%s, %s, %s", async (level, attributes, outline) => {
  writeFileSync(path("a.ll"), source(attributes));
  writeFileSync(path("main.cpp"), main);
  const options = [
    "-r",
    `-${level}`,
    ...(outline === "outlining" ? [] : [outline]),
    "--verify",
    "--check-regalloc",
  ];
  const result = await tscLto([path("a.ll"), ...options, "-o", path("a.s")], { cwd: folder });
  expect(result.err).toBe("");
  const built = await run(["c++", "-O1", "-no-pie", path("main.cpp"), path("a.s"), "-o", path("main")]);
  expect(built.stderr).toBe("");
  const out = (await run([path("main")])).stdout.toString();
  const sum = 506;
  const step = (n: number): number => ((n + sum) * 77) ^ 12345;
  const a = 3 + sum;
  const b = a + sum;
  const c = 91 + 7 * a + 8 * b + 9 * 3;
  const repeated = [0, 1, 2, 3].map((k) => step(10 * k + 1) + step(10 * k + 3)).join(" ");
  expect(out).toBe(
    `${repeated}\n${6 + c + 121 + 5 + 21} ${4 + 2 * sum} ${2 + sum - 5} ${40 + 2 * sum} ${9 - 121}\n`,
  );
  const text = readFileSync(path("a.s"), "latin1");
  const movesOf = (name: string): number => {
    const code = text.slice(text.indexOf(`\n${name}:`), text.indexOf(`.size\t${name},`));
    return code.match(/(subq|addq)\t\$-?\d+, %rsp|leaq\t-?\d+\(%rsp\), %rsp/g)?.length ?? 0;
  };
  if (level === "O0" || outline === "outlining" || attributes.includes("frame-pointer")) return;
  // The frame is made once; what is pushed is taken off.
  expect(movesOf("calls")).toBeLessThanOrEqual(4);
  expect(movesOf("moving")).toBeGreaterThanOrEqual(4);
  expect(text.slice(text.indexOf("\nread:"), text.indexOf(".size\tread,"))).toMatch(/\d+\(%rsp,%r\w+,8\)/);
});
