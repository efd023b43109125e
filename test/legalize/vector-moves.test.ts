/** Intrinsics that move whole lanes, or say little of which: what a program with them prints is computed here, too. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const head =
  'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"\n' +
  'target triple = "x86_64-unknown-linux-gnu"\n';
const program = `declare void @show(ptr, i32)
declare i32 @llvm.experimental.vector.extract.last.active.v4i32(<4 x i32>, <4 x i1>, i32)
declare { <4 x i32>, <4 x i32>, <4 x i32> } @llvm.vector.deinterleave3.v12i32(<12 x i32>)
declare <12 x i32> @llvm.vector.interleave3.v12i32(<4 x i32>, <4 x i32>, <4 x i32>)
declare <4 x i32> @llvm.vector.partial.reduce.add.v4i32.v8i32(<4 x i32>, <8 x i32>)
declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>)
declare <4 x i32> @llvm.vector.splice.left.v4i32(<4 x i32>, <4 x i32>, i32 immarg)
declare <4 x i32> @llvm.vector.splice.right.v4i32(<4 x i32>, <4 x i32>, i32 immarg)
define i32 @extract(<4 x i32> %a, <4 x i1> %m, i32 %d) noinline {
  %r = call i32 @llvm.experimental.vector.extract.last.active.v4i32(<4 x i32> %a, <4 x i1> %m, i32 %d)
  ret i32 %r
}
define void @go(<4 x i32> %a, <4 x i32> %b, ptr %wp) {
  %w = load <8 x i32>, ptr %wp, align 4
  %p = alloca [16 x i32], align 64
  %1 = call <4 x i32> @llvm.vector.splice.left.v4i32(<4 x i32> %a, <4 x i32> %b, i32 1)
  store <4 x i32> %1, ptr %p
  call void @show(ptr %p, i32 4)
  %2 = call <4 x i32> @llvm.vector.splice.right.v4i32(<4 x i32> %a, <4 x i32> %b, i32 1)
  store <4 x i32> %2, ptr %p
  call void @show(ptr %p, i32 4)
  %3 = call <12 x i32> @llvm.vector.interleave3.v12i32(<4 x i32> %a, <4 x i32> %b, <4 x i32> %1)
  store <12 x i32> %3, ptr %p
  call void @show(ptr %p, i32 12)
  %4 = call {<4 x i32>, <4 x i32>, <4 x i32>} @llvm.vector.deinterleave3.v12i32(<12 x i32> %3)
  %5 = extractvalue {<4 x i32>, <4 x i32>, <4 x i32>} %4, 1
  store <4 x i32> %5, ptr %p
  call void @show(ptr %p, i32 4)
  %6 = call <4 x i32> @llvm.vector.partial.reduce.add.v4i32.v8i32(<4 x i32> %a, <8 x i32> %w)
  %7 = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %6)
  store i32 %7, ptr %p
  %c = icmp sgt <4 x i32> %a, <i32 10, i32 10, i32 10, i32 30>
  %8 = call i32 @extract(<4 x i32> %a, <4 x i1> %c, i32 77)
  %q = getelementptr i32, ptr %p, i32 1
  store i32 %8, ptr %q
  call void @show(ptr %p, i32 2)
  ; A mask in two registers of which the second is another, and the first the same.
  %h = bitcast <8 x i32> %w to <16 x i16>
  %hh = shufflevector <16 x i16> %h, <16 x i16> %h, <32 x i32> <${Array.from({ length: 32 }, (_, i) => `i32 ${i}`).join(", ")}>
  %m = icmp sgt <32 x i16> %hh, zeroinitializer
  %m1 = insertelement <32 x i1> %m, i1 false, i64 18
  %m2 = insertelement <32 x i1> %m1, i1 true, i64 21
  %9 = sext <32 x i1> %m2 to <32 x i16>
  %10 = shufflevector <32 x i16> %9, <32 x i16> %9, <8 x i32> <${Array.from({ length: 8 }, (_, i) => `i32 ${16 + i}`).join(", ")}>
  store <8 x i16> %10, ptr %p
  call void @show(ptr %p, i32 4)
  ret void
}
`;
const a = [10, 20, 30, 25];
const b = [5, 6, 7, 8];
const wide = [1, 2, 3, 4, 5, 6, 7, 8];
const caller = `#include <stdio.h>
void show(int *p, int n) { for (int i = 0; i < n; i++) printf("%d ", p[i]); puts(""); }
typedef int v4 __attribute__((vector_size(16)));
void go(v4, v4, void *);
int main(void) { go((v4){${a.join(", ")}}, (v4){${b.join(", ")}}, &(int[8]){${wide.join(", ")}}); return 0; }
`;

test.each(["O0", "O2", "Oz"])("vectors by lanes at -%s", async (level) => {
  const folder = temporaryFolder();
  const file = (name: string): string => join(folder, name);
  writeFileSync(file("a.ll"), head + program);
  writeFileSync(file("main.c"), caller);
  const { err } = await tscLto(["--verify", "-r", `-${level}`, file("a.ll"), "-o", file("a.s")], {
    cwd: folder,
  });
  expect(err).toBe("");
  execFileSync("cc", ["-w", "-no-pie", file("main.c"), file("a.s"), "-o", file("p")]);
  const left = [...a.slice(1), b[0]!];
  const sum = [...a, ...wide].reduce((x, y) => x + y);
  const lines = [
    left,
    [a[3]!, ...b.slice(0, 3)],
    a.flatMap((x, i) => [x, b[i]!, left[i]!]),
    b,
    [sum, a.filter((x, i) => x > (i < 3 ? 10 : 30)).at(-1)!],
    [0xffff, 0, -1, 0xffff],
  ];
  expect(execFileSync(file("p"), { encoding: "utf8" })).toBe(lines.map((l) => `${l.join(" ")} \n`).join(""));
});
