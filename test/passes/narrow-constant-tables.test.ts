/** `narrow-constant-tables` on inputs too large to be fixtures: work lists hold where recursion would not, and zeros stay zeros. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { main } from "../../bin/lto/main.js";
import { capture, temporaryFolder } from "../support/command.js";

const cwd = temporaryFolder();

/** The program's IR after the pass. */
async function shrunk(text: string): Promise<string> {
  const [input, output] = [join(cwd, "a.ll"), join(cwd, "b.ll")];
  writeFileSync(input, text);
  const options = ["--only-passes=narrow-constant-tables", "--relocation-model=static", "--emit=ir"];
  const { code, err } = await capture(main, [input, "-o", output, ...options], { cwd, workers: false });
  expect(err).toBe("");
  expect(code).toBe(0);
  return readFileSync(output, "utf8");
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
/** Walks from one node to the next until null. @param before what else is done with them */
const walk = (first: string, before = ""): string => `define i64 @main() minsize optsize {
entry:
${before}  br label %loop
loop:
  %p = phi ptr [ ${first}, %entry ], [ %n, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  %v = load i64, ptr %p
  %t = add i64 %s, %v
  %q = getelementptr { i64, ptr }, ptr %p, i64 0, i32 1
  %n = load ptr, ptr %q
  %e = icmp eq ptr %n, null
  br i1 %e, label %done, label %loop
done:
  ret i64 %t
}
`;

it("follows a list with a variable for each node", async () => {
  const count = 4000;
  const nodes = range(count).map((i) => {
    const next = i + 1 < count ? `@n${i + 1}` : "null";
    return `@n${i} = internal constant { i64, ptr } { i64 ${i % 100}, ptr ${next} }\n`;
  });
  const text = await shrunk(nodes.join("") + walk("@n0"));
  expect(text.match(/constant <\{ i8, i32 \}>/g)).toHaveLength(count);
});

it("gives up a list that escapes at one end", async () => {
  const count = 9000;
  const nodes = range(count).map((i) => {
    const next = i + 1 < count ? `@n${i + 1}` : "null";
    return `@n${i} = internal constant { i64, ptr } { i64 ${i % 100}, ptr ${next} }\n`;
  });
  const text = await shrunk(
    `declare void @take(ptr)\n${nodes.join("")}${walk("@n0", "  call void @take(ptr @n0)\n")}`,
  );
  expect(text.match(/constant \{ i64, ptr \}/g)).toHaveLength(count);
});

it("does not write out zeros", async () => {
  const load = (
    name: string,
    type: string,
  ): string => `  %${name}p = getelementptr inbounds ${type}, ptr @${name}, i64 %i
  %${name} = load ${type}, ptr %${name}p\n`;
  const text = await shrunk(`@zeros = internal constant [1000000000 x i32] zeroinitializer
@written = internal global [1000000000 x i32] zeroinitializer
define i32 @main(i64 %i) minsize optsize {
${load("zeros", "i32")}${load("written", "i32")}  store i32 1, ptr @written
  %s = add i32 %zeros, %written
  ret i32 %s
}
`);
  expect(text).toContain("@zeros = internal constant [1000000000 x i8] zeroinitializer");
  expect(text).toContain("@written = internal global [1000000000 x i32] zeroinitializer");
});

it("follows a table down a long chain of calls, and leaves others alone", async () => {
  const depth = 60;
  const functions = range(depth).map((i) => {
    const rest =
      i + 1 < depth
        ? `  %r = call i64 @f${i + 1}(ptr %p, i64 %i)\n  ret i64 %r\n`
        : "  %q = getelementptr inbounds i64, ptr %p, i64 %i\n  %r = load i64, ptr %q\n  ret i64 %r\n";
    return `define internal i64 @f${i}(ptr align 8 %p, i64 %i) minsize optsize {\n${rest}}\n`;
  });
  const text = await shrunk(`@deep = internal constant [16 x i64] [${range(16).map((i) => `i64 ${i}`)}]
@near = internal constant [16 x i64] [${range(16).map((i) => `i64 ${i}`)}]
${functions.join("")}define i64 @main(i64 %i) minsize optsize {
  %a = call i64 @f0(ptr align 8 @deep, i64 %i)
  %p = getelementptr inbounds i64, ptr @near, i64 %i
  %b = load i64, ptr %p
  %c = add i64 %a, %b
  ret i64 %c
}
`);
  expect(text).toContain("@deep = internal constant [16 x i8]");
  expect(text).toContain("@near = internal constant [16 x i8]");
  expect(text).not.toContain("ptr align 8");
});

it("keeps no claim of what a pointer leads to where that has become smaller", async () => {
  const text = await shrunk(`@codes = internal constant [2 x i64] [i64 1, i64 2]
@functions = internal constant [2 x { ptr, ptr }] [{ ptr, ptr } { ptr @codes, ptr @one }, { ptr, ptr } { ptr @codes, ptr @one }]
define internal i64 @one(ptr %p) {
  ret i64 1
}
define i64 @main(i64 %i, ptr %x) minsize optsize {
  %p = getelementptr inbounds { ptr, ptr }, ptr @functions, i64 %i
  %q = getelementptr i8, ptr %p, i64 8
  %f = load ptr, ptr %q
  %t = load ptr, ptr %p, !dereferenceable !0, !align !1, !nonnull !2
  %a = call i64 %f(ptr %x)
  %c = getelementptr inbounds i64, ptr %t, i64 %i
  %b = load i64, ptr %c
  %s = add i64 %a, %b
  ret i64 %s
}
!0 = !{i64 16}
!1 = !{i64 8}
!2 = !{}
!3 = !{i32 1, !"Code Model", i32 3}
!llvm.module.flags = !{!3}
`);
  expect(text).toContain("@codes = internal constant [2 x i8]");
  expect(text).toMatch(/load ptr, ptr %\d+, align \d, !nonnull/);
  expect(text).not.toContain("!dereferenceable");
  expect(text).not.toContain("!align");
});
