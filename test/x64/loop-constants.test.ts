/** For speed: constants leave loops that have room for them, and sums that are indexes become part of addresses. Pointers step in place. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const constant = "81985529216486895";

/** Flips bits of the first `n` elements of `%p`, in a loop between these blocks. */
const flip = (before: string, after: string): string => `
loop:
  %i = phi i64 [ 0, %${before} ], [ %i1, %loop ]
  %q = getelementptr i64, ptr %p, i64 %i
  %v = load i64, ptr %q
  %x = xor i64 %v, ${constant}
  store i64 %x, ptr %q
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %${after}`;

const nested = (name: string, between: string): string => `
define void @${name}(ptr %p, i64 %n, i64 %m) {
entry:
  br label %outer
outer:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  br label %loop
${flip("outer", "next")}
next:
  ${between}
  %k1 = add i64 %k, 1
  %again = icmp ult i64 %k1, %m
  br i1 %again, label %outer, label %end
end:
  ret void
}
`;

const loops = `
@there = external global i64
declare i32 @count(i32)
${nested("quiet", "")}
${nested("calling", "call i32 @count(i32 1)")}
${nested("asking", 'call void asm sideeffect "nop", "~{rbx}"()')}
define void @one_after_another(ptr %p, i64 %n, i64 %m) {
entry:
  br label %first
first:
  %k = phi i64 [ 0, %entry ], [ %k1, %back ]
  %f = getelementptr ptr, ptr %p, i64 %k
  %w = load volatile i64, ptr %f
  %c = icmp ult i64 %w, %m
  br i1 %c, label %back, label %second
back:
  %r = getelementptr ptr, ptr %p, i64 %k
  store ptr @there, ptr %r
  %k1 = add i64 %k, 1
  br label %first
second:
  %i = phi i64 [ 0, %first ], [ %i1, %second ]
  %q = getelementptr ptr, ptr %p, i64 %i
  store ptr @there, ptr %q
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %second, label %end
end:
  ret void
}
define void @two_entries(ptr %p, i64 %n, i64 %m) {
entry:
  %c = icmp eq i64 %m, 0
  br i1 %c, label %a, label %b
a:
  %i = phi i64 [ 0, %entry ], [ %i2, %b ]
  %q = getelementptr i64, ptr %p, i64 %i
  %v = load i64, ptr %q
  %x = xor i64 %v, ${constant}
  store i64 %x, ptr %q
  %more = icmp ult i64 %i, %n
  br i1 %more, label %b, label %end
b:
  %i1 = phi i64 [ 1, %entry ], [ %i, %a ]
  %i2 = add i64 %i1, 1
  br label %a
end:
  ret void
}
`;

/** The difference of elements of two arrays at the index that is computed first; %i1 is used by nothing else but `also`. */
const difference = (name: string, index: string, at = "i64 %i1", also = ""): string => `
define i32 @${name}(ptr %p, ptr %r, i64 %i) {
  ${index}
  %a = getelementptr i32, ptr %p, ${at}
  %b = getelementptr i32, ptr %r, ${at}
  %v = load i32, ptr %a
  %w = load i32, ptr %b
  %d = sub i32 %v, %w
  ${also || "ret i32 %d"}
}
`;
const narrow = (add: string, extension: string): string =>
  `%n = trunc i64 %i to i32\n  %n1 = ${add} i32 %n, 3\n  %i1 = ${extension} i32 %n1 to i64`;

const indexes = [
  difference("sum", "%i1 = add i64 %i, 3"),
  difference("less", "%i1 = add i64 %i, -3"),
  difference("disjoint", "%s = shl i64 %i, 2\n  %i1 = or disjoint i64 %s, 3"),
  difference("joint", "%i1 = or i64 %i, 3"),
  difference("signed", narrow("add", "sext")),
  difference("unsigned", narrow("add", "zext")),
  difference("far", "%i1 = add i64 %i, 536870912"),
  difference(
    "also",
    "%i1 = add i64 %i, 3",
    undefined,
    "%t = trunc i64 %i1 to i32\n  %e = add i32 %d, %t\n  ret i32 %e",
  ),
].join("");

async function compile(text: string, level: string): Promise<string> {
  const source = join(folder, "p.ll");
  const output = join(folder, "p.s");
  writeFileSync(
    source,
    `target datalayout = "e-m:e-i64:64-i128:128-f80:128-n8:16:32:64-S128"\ntarget triple = "x86_64-unknown-linux-gnu"\n${text}`,
  );
  const options = ["-r", `-O${level}`, "--relocation-model", "pie", "--check-regalloc", "--verify"];
  const skipped = "--skip-pass=icf,merge-similar-functions,licm";
  expect((await tscLto([source, ...options, skipped, "-o", output], { cwd: folder })).err).toBe("");
  return readFileSync(output, "utf8");
}

const part = (text: string, name: string): string =>
  new RegExp(`^${name}:[\\s\\S]*?^\\t\\.size\\t${name},`, "m").exec(text)?.[0] ?? "";

/** Labels in a function before its `pattern`. */
function labelsBefore(text: string, pattern: string): number {
  expect(text).toContain(pattern);
  return (text.slice(0, text.indexOf(pattern)).match(/^\.L\w+:/gm) ?? []).length;
}

describe("a constant", () => {
  let text: string;
  beforeAll(async () => {
    text = await compile(loops, "2");
  });

  it("is made in front of the outermost loop without calls, assembly being none", () => {
    for (const name of ["quiet", "asking"]) expect(labelsBefore(part(text, name), constant)).toBe(0);
  });
  it("is made in a loop with calls, in front of the inner one", () => {
    expect(labelsBefore(part(text, "calling"), constant)).toBe(1);
  });
  it("is made for both of two loops one of which leads into the other", () => {
    expect(part(text, "one_after_another").match(/there@GOTPCREL/g)).toHaveLength(2);
    expect(labelsBefore(part(text, "one_after_another"), "there@GOTPCREL")).toBe(0);
  });
  it("stays in a loop that control enters at two places", () => {
    expect(labelsBefore(part(text, "two_entries"), constant)).toBeGreaterThan(1);
  });
  it("stays where it is for size", async () => {
    expect(labelsBefore(part(await compile(loops, "z"), "quiet"), constant)).toBeGreaterThan(0);
  });
});

/** So many sums, in a loop, of what is in memory and one vector. */
function vectorSums(name: string, sums: number, features: string): string {
  const each = (text: (k: number) => string): string =>
    Array.from({ length: sums }, (_, k) => text(k)).join("\n  ");
  const odd = `<${[3, 1, 4, 1, 5, 9, 2, 6].map((n) => `i32 ${n}`).join(", ")}>`;
  return `
define void @${name}(ptr %p, i64 %n) "target-features"="${features}" {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  ${each((k) => `%s${k} = phi <8 x i32> [ zeroinitializer, %entry ], [ %t${k}, %loop ]`)}
  ${each((k) => `%q${k} = getelementptr <8 x i32>, ptr %p, i64 ${k}`)}
  ${each((k) => `%v${k} = load volatile <8 x i32>, ptr %q${k}`)}
  ${each((k) => `%x${k} = xor <8 x i32> %v${k}, ${odd}`)}
  ${each((k) => `%t${k} = add <8 x i32> %s${k}, %x${k}`)}
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %end
end:
  ${each((k) => `store <8 x i32> %t${k}, ptr %q${k}`)}
  ret void
}
`;
}

describe("a constant of vectors", () => {
  const all512 = "+avx512f,+avx512vl,+avx512bw,+avx512dq";
  const loop = (text: string, name: string): string =>
    /^(\.L\w+):\n[\s\S]*?\tj\w+\t\1\n/m.exec(part(text, name))![0];
  it("is in a register where the loop has room for it, else read by each operation", async () => {
    const text = await compile(
      vectorSums("few", 6, "+avx2") + vectorSums("many", 15, "+avx2") + vectorSums("wide", 15, all512),
      "2",
    );
    expect(loop(text, "few")).not.toContain("(%rip)");
    expect(loop(text, "many").match(/vxorps|vpxor/g)).toHaveLength(15);
    expect(loop(text, "many").match(/xor.*\(%rip\)/g)).toHaveLength(15);
    expect(loop(text, "wide")).not.toContain("(%rip)");
  });
  it("is read by each operation that would overwrite it, and for size", async () => {
    expect(loop(await compile(vectorSums("few", 6, "+sse2"), "2"), "few")).toContain("(%rip)");
    expect(loop(await compile(vectorSums("few", 6, "+avx2"), "z"), "few")).toContain("(%rip)");
  });
});

describe("a sum that is the index of two addresses", () => {
  it.each(["2", "z"])("is part of them at -O%s where they have room and it cannot wrap", async (level) => {
    const text = await compile(indexes, level);
    for (const name of ["sum", "less", "disjoint"])
      expect(part(text, name), name).toMatch(/-?12\(%\w+,%\w+,4\)[\s\S]*-?12\(%\w+,%\w+,4\)/);
    for (const name of ["joint", "signed", "unsigned", "far"])
      expect(part(text, name), name).not.toMatch(/12\(/);
  });

  it.each(["2", "z"])("is what it was at -O%s", async (level) => {
    await compile(indexes, level);
    const main = join(folder, "main.c");
    const program = join(folder, "program");
    writeFileSync(
      main,
      `#include <stdio.h>
#include <stdint.h>
#define F(f) int f(const int *, const int *, long)
F(sum); F(less); F(disjoint); F(joint); F(also);
F(signed_) __asm__("signed"); F(unsigned_) __asm__("unsigned"); F(far_) __asm__("far");
static int p[40], r[40];
int main(void) {
  int bad = 0;
  for (int i = 0; i < 40; i++) p[i] = i * i * 7, r[i] = 3 * i - 11;
#define D(i) (p[i] - r[i])
#define CHECK(f, i, at, plus) if (f(p, r, i) != D(at) + (plus)) printf(#f " %ld\\n", (long)(i)), bad++
  for (long i = 3; i < 30; i++) {
    CHECK(sum, i, i + 3, 0);
    CHECK(less, i, i - 3, 0);
    if (i < 9) CHECK(disjoint, i, 4 * i + 3, 0);
    CHECK(joint, i, i | 3, 0);
    CHECK(signed_, i, i + 3, 0);
    CHECK(unsigned_, i, i + 3, 0);
    CHECK(also, i, i + 3, (int)(i + 3));
  }
  /* Sums that wrap: of 64 bits at the end of all addresses, of 32 to something else than with a sign. */
  CHECK(sum, -2L, 1, 0);
  CHECK(unsigned_, 0xfffffffeL, 1, 0);
  CHECK(signed_, 0x1fffffffeL, 1, 0);
  if (far_(p - 536870912L, r - 536870912L, 5) != D(5)) printf("far\\n"), bad++;
  printf("%d wrong\\n", bad);
  return bad;
}
`,
    );
    const built = await run(["cc", "-w", "-O0", main, join(folder, "p.s"), "-o", program, "-no-pie"]);
    expect(built.stderr).toBe("");
    expect(String((await run([program])).stdout)).toBe("0 wrong\n");
  });
});

/** Counts backwards from the end of an array; `uses` are of the pointer before the step. */
const backwards = (name: string, uses: string, base = "%p"): string => `
define i32 @${name}(ptr %p, i32 %x) {
entry:
  br label %loop
loop:
  %at = phi ptr [ ${base}, %entry ], [ %before, %next ]
  %n = phi i32 [ 0, %entry ], [ %n1, %next ]
  ${uses}
  %before = getelementptr i32, ptr %at, i64 -1
  %v = load i32, ptr %before
  %n1 = add i32 %n, %v
  %c = icmp eq i32 %v, 0
  br i1 %c, label %end, label %next
next:
  store i32 %x, ptr %before
  br label %loop
end:
  ret i32 %n1
}
`;

describe.each(["3", "z"])("a pointer that steps before it is used (-O%s)", (level) => {
  it("is stepped in place", async () => {
    const text = await compile(backwards("alone", ""), level);
    const code = part(text, "alone");
    expect(code).not.toMatch(/-4\(%r/);
    expect(code).not.toMatch(/movq/);
  });
  it("is not, where the pointer before is wanted, too", async () => {
    const text = await compile(backwards("both", "store volatile i32 1, ptr %at"), level);
    expect(part(text, "both")).toMatch(/-4/);
  });
});
