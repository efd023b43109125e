/**
 * What few programs have and clang compiles: x87 and 128-bit operands of inline assembly, assembly in Intel syntax,
 * `musttail` with arguments that lie in memory, rounding modes, division of more than 128 bits. By running the code.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const head = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
`;

/** What the C program prints that calls the functions. */
async function output(level: string, text: string, harness: string): Promise<string> {
  const [input, assembly, source, program] = ["a.ll", "a.s", "h.c", "h"].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  writeFileSync(input, head + text);
  writeFileSync(source, `#include <stdio.h>\n${harness}`);
  const options = ["-r", `-${level}`, "--verify", "--check-regalloc"];
  expect((await tscLto([input, ...options, "-o", assembly], { cwd: folder })).err).toBe("");
  expect((await run(["cc", "-w", "-O1", source, assembly, "-no-pie", "-o", program])).stderr).toBe("");
  const { status, stdout } = await run([program]);
  expect(status).toBe(0);
  return stdout.toString();
}

const levels = ["O0", "Oz"] as const;

it.each(levels)("operands of inline assembly at -%s", async (level) => {
  const text = `
@number = global i64 40
define x86_fp80 @arctangent(x86_fp80 %y, x86_fp80 %x) {
  %r = call x86_fp80 asm "fpatan", "={st},0,{st(1)},~{st(1)}"(x86_fp80 %x, x86_fp80 %y)
  ret x86_fp80 %r
}
define double @anywhere(double %x, double %y, float %z) {
  %r = call double asm "fsub $1, $0\\0A\\09fadd $3, $0", "={st},f,0,f"(double %x, double %y, float %z)
  ret double %r
}
define i128 @lower(i128 %x) {
  %r = call i128 asm "incq $0", "=r,0"(i128 %x)
  ret i128 %r
}
define i128 @square(i64 %x) {
  %r = call i128 asm "mulq \${2:q}", "=A,{ax},r"(i64 %x, i64 %x)
  ret i128 %r
}
define i8 @exchange(ptr %p, ptr %old, i64 %low, i64 %high) {
  %o = load i128, ptr %old, align 16
  %r = call { i8, i128 } asm sideeffect "lock cmpxchg16b $1\\0A\\09setz $0", "=q,=*m,=A,{bx},{cx},*m,2,~{cc},~{memory}"(ptr elementtype(i128) %p, i64 %low, i64 %high, ptr elementtype(i128) %p, i128 %o)
  %seen = extractvalue { i8, i128 } %r, 1
  store i128 %seen, ptr %old, align 16
  %ok = extractvalue { i8, i128 } %r, 0
  ret i8 %ok
}
define i64 @intel(i64 %x, ptr %p) {
  %r = call i64 asm sideeffect inteldialect "lea $0, [$1+4*$1]\\0A\\09$(add$|sub$) $0, $2\\0A\\09add $0, qword ptr $3\\0A\\09add qword ptr $4, \${2:c}", "=&r,r,i,*m,*m,~{memory}"(i64 %x, i64 3, ptr elementtype(i64) @number, ptr elementtype(i64) %p)
  ret i64 %r
}
define i64 @address() {
  %r = call i64 asm inteldialect "mov $0, $1", "=r,i"(ptr @number)
  ret i64 %r
}`;
  const harness = `
typedef unsigned __int128 u;
long double arctangent(long double, long double);
double anywhere(double, double, float);
u lower(u), square(unsigned long);
char exchange(u *, u *, long, long);
long intel(long, long *), address(void);
extern long number;
int main() {
  u big = lower((u)2 << 64 | 41), product = square(0xfedcba9876543210), p = (u)1 << 70 | 5, old = p, other = 3;
  printf("%.4Lf %g %lx:%lx %lx:%lx\\n", arctangent(1, 2), anywhere(1, 8, 3), (long)(big >> 64), (long)big, (long)(product >> 64), (long)product);
  int first = exchange(&p, &old, 9, 7), second = exchange(&p, &other, 1, 1);
  printf("%d %d %lx:%lx\\n", first, second, (long)(other >> 64), (long)other);
  long memory[9] = {0, 0, 0, 0, 7};
  long sum = intel(6, memory + 4);
  printf("%ld %ld %d\\n", sum, memory[4], address() == (long)&number);
}`;
  expect(await output(level, text, harness)).toBe(
    "0.4636 10 2:2a fdbac097c8dc5acc:deec6cd7a44a4100\n1 0 7:9\n67 10 1\n",
  );
});

it.each(levels)("musttail with arguments in memory at -%s", async (level) => {
  const text = `
%small = type { [3 x i64] }
%large = type { [12 x i64] }
declare void @result(ptr byval(%small), x86_fp80, ptr byval(%small), x86_fp80, ptr byval(%large))
define void @same(ptr byval(%small) %a, x86_fp80 %x, ptr byval(%small) %b, x86_fp80 %y, ptr byval(%large) %c) {
  store i64 9, ptr %c
  musttail call void @result(ptr byval(%small) %a, x86_fp80 %x, ptr byval(%small) %b, x86_fp80 %y, ptr byval(%large) %c)
  ret void
}
define void @exchanged(ptr byval(%small) %a, x86_fp80 %x, ptr byval(%small) %b, x86_fp80 %y, ptr byval(%large) %c) {
  %d = alloca %large
  store i64 1, ptr %d
  %last = getelementptr %large, ptr %d, i64 0, i32 0, i64 11
  store i64 12, ptr %last
  %z = fadd x86_fp80 %x, %x
  musttail call void @result(ptr byval(%small) %b, x86_fp80 %y, ptr byval(%small) %a, x86_fp80 %z, ptr byval(%large) %d)
  ret void
}`;
  const harness = `
struct small { long a[3]; };
struct large { long a[12]; };
void result(struct small a, long double x, struct small b, long double y, struct large c) {
  printf("%ld%ld%ld %Lg %ld%ld%ld %Lg %ld %ld\\n", a.a[0], a.a[1], a.a[2], x, b.a[0], b.a[1], b.a[2], y, c.a[0], c.a[11]);
}
void same(struct small, long double, struct small, long double, struct large);
void exchanged(struct small, long double, struct small, long double, struct large);
int main() {
  struct small a = {1, 2, 3}, b = {4, 5, 6};
  struct large c = {7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8};
  same(a, 1.5, b, 2.5, c);
  exchanged(a, 1.5, b, 2.5, c);
}`;
  expect(await output(level, text, harness)).toBe("123 1.5 456 2.5 9 8\n456 2.5 123 3 1 12\n");
});

it.each(levels)("rounding modes and long division at -%s", async (level) => {
  const text = `
declare void @llvm.set.rounding(i32)
declare i32 @llvm.get.rounding()
define void @set(i32 %mode) {
  call void @llvm.set.rounding(i32 %mode)
  ret void
}
define i32 @get() {
  %mode = call i32 @llvm.get.rounding()
  ret i32 %mode
}
${["udiv", "sdiv", "urem", "srem"]
  .map(
    (op) => `
define void @${op}(ptr %a, ptr %b, ptr %r) {
  %x = load i192, ptr %a
  %y = load i192, ptr %b
  %z = ${op} i192 %x, %y
  store i192 %z, ptr %r
  ret void
}`,
  )
  .join("")}`;
  const numbers = [
    0x123456789abcdef0123456789abcdefn,
    (1n << 191n) + 12345n,
    (1n << 192n) - 7n,
    3n,
    1n << 130n,
  ];
  const pairs = numbers.flatMap((a) => numbers.map((b) => [a, b] as const));
  const words = (n: bigint): string =>
    [0n, 64n, 128n].map((shift) => `0x${BigInt.asUintN(64, n >> shift).toString(16)}`).join(", ");
  const harness = `
void set(int);
int get(void);
void udiv(long *, long *, long *), sdiv(long *, long *, long *), urem(long *, long *, long *), srem(long *, long *, long *);
long numbers[][2][3] = { ${pairs.map(([a, b]) => `{ { ${words(a)} }, { ${words(b)} } }`).join(", ")} };
int main() {
  volatile double one = 1, three = 3;
  volatile long double ten = 10;
  for (int mode = 0; mode < 4; mode++) {
    set(mode);
    printf("%d %a %La\\n", get(), -one / three, one / ten);
  }
  set(1);
  for (int i = 0; i < ${pairs.length}; i++) {
    void (*all[])(long *, long *, long *) = { udiv, sdiv, urem, srem };
    for (int k = 0; k < 4; k++) {
      long r[3];
      all[k](numbers[i][0], numbers[i][1], r);
      printf("%lx %lx %lx\\n", r[0], r[1], r[2]);
    }
  }
}`;
  const divided = pairs.flatMap(([a, b]) => {
    const [x, y] = [BigInt.asIntN(192, a), BigInt.asIntN(192, b)];
    return [a / b, x / y, a % b, x % y].map(
      (n) => `${[0n, 64n, 128n].map((shift) => BigInt.asUintN(64, n >> shift).toString(16)).join(" ")}\n`,
    );
  });
  expect(await output(level, text, harness)).toBe(
    `0 -0x1.5555555555555p-2 0xc.cccccccccccccccp-7
1 -0x1.5555555555555p-2 0xc.ccccccccccccccdp-7
2 -0x1.5555555555555p-2 0xc.ccccccccccccccdp-7
3 -0x1.5555555555556p-2 0xc.cccccccccccccccp-7
${divided.join("")}`,
  );
});

it.each(levels)("128-bit atomics by cmpxchg16b at -%s", async (level) => {
  const has = '"target-features"="+cx16"';
  const text = `
define i128 @get(ptr %p) ${has} {
  %v = load atomic i128, ptr %p seq_cst, align 16
  ret i128 %v
}
define void @put(ptr %p, i128 %v) ${has} {
  store atomic i128 %v, ptr %p release, align 16
  ret void
}
${["xchg", "add", "nand", "umax"]
  .map(
    (op) => `
define i128 @${op}(ptr %p, i128 %v) ${has} {
  %o = atomicrmw ${op} ptr %p, i128 %v seq_cst, align 16
  ret i128 %o
}`,
  )
  .join("")}
define i1 @change(ptr %p, ptr %old, i128 %v) ${has} {
  %o = load i128, ptr %old, align 16
  %r = cmpxchg ptr %p, i128 %o, i128 %v acq_rel monotonic, align 16
  %seen = extractvalue { i128, i1 } %r, 0
  store i128 %seen, ptr %old, align 16
  %done = extractvalue { i128, i1 } %r, 1
  ret i1 %done
}`;
  const harness = `
#include <pthread.h>
typedef unsigned __int128 u;
u get(u *), xchg(u *, u), add(u *, u), nand(u *, u), umax(u *, u);
void put(u *, u);
_Bool change(u *, u *, u);
u value, sum, old;
static void show(u v) { printf("%lx:%lx\\n", (long)(v >> 64), (long)v); }
static void *work(void *p) { for (int i = 0; i < 20000; i++) add(&sum, (u)1 << 64 | 1); return p; }
int main() {
  put(&value, (u)5 << 64 | 6);
  show(xchg(&value, (u)1 << 64 | 9));
  show(add(&value, ((u)1 << 64) - 1));
  show(nand(&value, 15));
  show(umax(&value, 3));
  show(get(&value));
  printf("%d\\n", change(&value, &old, 4));
  show(old);
  printf("%d\\n", change(&value, &old, 4));
  show(get(&value));
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(threads + i, 0, work, 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  show(get(&sum));
}`;
  expect(await output(level, text, harness)).toBe(
    `5:6
1:9
2:8
ffffffffffffffff:fffffffffffffff7
ffffffffffffffff:fffffffffffffff7
0
ffffffffffffffff:fffffffffffffff7
1
0:4
ea60:ea60
`,
  );
});
