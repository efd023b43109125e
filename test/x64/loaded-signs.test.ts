/** Words that are loaded once and used both as they are and extended; and accesses by two indices of a variable. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

const source = `target triple = "x86_64-unknown-linux-gnu"
@table = global [8 x [100 x i32]] zeroinitializer
@word = global i32 0
declare void @take(i32, i32)

define void @both(i64 %i) noinline {
  %x = load i32, ptr @word
  %w = sext i32 %x to i64
  %row = getelementptr [100 x i32], ptr @table, i64 %w
  %at = getelementptr i32, ptr %row, i64 %i
  %v = load i32, ptr %at
  call void @take(i32 %v, i32 %x)
  ret void
}
; Zeros above it are relied on first: it is extended apart.
define i64 @zeros(ptr %p) noinline {
  %x = load i32, ptr %p
  %s = sext i32 %x to i64
  %z = zext i32 %x to i64
  %n = sub i64 %s, %z
  ret i64 %n
}
define i64 @shifted(ptr %p) noinline {
  %x = load i32, ptr %p
  %s = sext i32 %x to i64
  %h = lshr i32 %x, 4
  %z = zext i32 %h to i64
  %n = add i64 %s, %z
  ret i64 %n
}
define i64 @compared(ptr %p, i64 %y) noinline {
  %x = load i32, ptr %p
  %s = sext i32 %x to i64
  %c = icmp slt i64 %s, %y
  %u = icmp ult i32 %x, 7
  %r = select i1 %u, i64 %s, i64 1
  %t = select i1 %c, i64 %r, i64 2
  ret i64 %t
}
define i64 @spilled(ptr %p, ptr %f) noinline {
  %x = load i32, ptr %p
  %s = sext i32 %x to i64
  call void %f()
  call void asm sideeffect "", "~{rax},~{rbx},~{rcx},~{rdx},~{rsi},~{rdi},~{r8},~{r9},~{r10},~{r11},~{r12},~{r13},~{r14},~{r15},~{rbp}"()
  store i32 %x, ptr @word
  ret i64 %s
}
; As a base it is the whole register, too.
define i64 @pointer(ptr %p, ptr %f) noinline {
  %x = load i32, ptr %p
  %s = sext i32 %x to i64
  %q = inttoptr i64 %s to ptr
  call void %f()
  call void asm sideeffect "", "~{rax},~{rbx},~{rcx},~{rdx},~{rsi},~{rdi},~{r8},~{r9},~{r10},~{r11},~{r12},~{r13},~{r14},~{r15},~{rbp}"()
  store i32 %x, ptr @word
  %k = getelementptr i8, ptr %q, i64 5
  %n = ptrtoint ptr %k to i64
  ret i64 %n
}
`;

test.each([
  ["O2", "static"],
  ["Oz", "static"],
  ["Oz", "pic"],
  ["O0", "pic"],
])("at -%s, %s", async (level, relocation) => {
  writeFileSync(path("a.ll"), source);
  const options = ["-r", `-${level}`, "--no-outline", "--verify", "--check-regalloc"];
  const result = await tscLto(
    [path("a.ll"), ...options, `--relocation-model=${relocation}`, "-o", path("a.s")],
    {
      cwd: folder,
    },
  );
  expect(result.err).toBe("");
  const text = readFileSync(path("a.s"), "latin1");
  const codeOf = (name: string): string =>
    text.slice(text.indexOf(`\n${name}:`), text.indexOf(`.size\t${name},`));
  if (level !== "O0") {
    const both = codeOf("both");
    expect(both).toMatch(/movslq\tword(?:@GOTPCREL)?\(%rip\)|movslq\t\(%/);
    expect(both).not.toMatch(/movslq\t%|movq\t%r\w+, %r\w+\n\timul/);
    if (relocation === "static") expect(both).toMatch(/movl\ttable\(%r\w+,%r\w+,4\)/);
  }
  writeFileSync(
    path("main.c"),
    `#include <stdio.h>
extern int table[8][100], word;
void both(long); long zeros(int *), shifted(int *), compared(int *, long), spilled(int *, void (*)(void)), pointer(int *, void (*)(void));
static int taken, given;
void take(int v, int x) { taken = v, given = x; }
static void nothing(void) {}
int main(void) {
  for (int i = 0; i < 8; i++) for (int k = 0; k < 100; k++) table[i][k] = 1000 * i + k;
  for (word = 0; word < 8; word++) {
    both(3 * word);
    if (taken != 1000 * word + 3 * word || given != word) printf("both %d\\n", word);
  }
  static const int values[] = { 0, 1, 6, 7, -1, -7, 2147483647, -2147483647 - 1 };
  for (int i = 0; i < 8; i++) {
    int x = values[i];
    long s = x;
    if (zeros(&x) != s - (long)(unsigned)x) printf("zeros %d\\n", x);
    if (shifted(&x) != s + (long)((unsigned)x >> 4)) printf("shifted %d\\n", x);
    for (int k = 0; k < 8; k++)
      if (compared(&x, values[k]) != (s < values[k] ? ((unsigned)x < 7 ? s : 1) : 2)) printf("compared %d %d\\n", x, k);
    if (pointer(&x, nothing) != s + 5 || word != x) printf("pointer %d\\n", x);
    if (spilled(&x, nothing) != s || word != x) printf("spilled %d\\n", x);
  }
}
`,
  );
  const built = await run(["cc", "-O1", "-no-pie", path("main.c"), path("a.s"), "-o", path("main")]);
  expect(built.stderr).toBe("");
  expect((await run([path("main")])).stdout.toString()).toBe("");
});
