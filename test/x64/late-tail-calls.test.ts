/** Calls before a return that other paths share, where the frame holds nothing. */

import { describe, expect, test } from "vitest";
import { compile, link } from "../ipra/compile.js";

interface Case {
  readonly call?: string;
  readonly before?: string;
  readonly after?: string;
  readonly attributes?: string;
}

/** How `@f` leaves, by calls and jumps to other functions. */
function transfers({
  call = "tail call void @g(i32 %n)",
  before = "",
  after = "",
  attributes = "minsize optsize",
}: Case): string[] {
  const text = `declare void @g(i32)
declare i32 @value(i32)
declare void @many(i32, i32, i32, i32, i32, i32, i32)
declare void @take(ptr)
define void @f(i32 %n, ptr %p) nounwind ${attributes} {
entry:
  ${before}
  %c = icmp eq i32 %n, 0
  br i1 %c, label %then, label %out
then:
  ${call}
  ${after}
  br label %out
out:
  ret void
}
@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"
`;
  const { assembly } = compile(link(text));
  const start = assembly.indexOf("\nf:");
  const code = assembly.slice(start, assembly.indexOf(".size\tf,", start));
  return [...code.matchAll(/^\t(call|jmp)\t(\*?[\w@%()]+)/gm)].map(([, op, to]) => `${op} ${to}`);
}

describe("calls before a shared return", () => {
  test("are jumps for size", () => {
    expect(transfers({})).toEqual(["jmp g@PLT"]);
    expect(transfers({ attributes: "optsize" })).toEqual(["jmp g@PLT"]);
    expect(transfers({ call: "call void @g(i32 %n)" })).toEqual(["jmp g@PLT"]);
  });
  test.each<[string, Case]>([
    ["is no tail call by its mark", { call: "notail call void @g(i32 %n)" }],
    [
      "is no tail call by the function's attribute",
      { attributes: `minsize optsize "disable-tail-calls"="true"` },
    ],
    [
      "has arguments on the stack",
      { call: "tail call void @many(i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7)" },
    ],
    ["is followed by a store", { after: "store i32 1, ptr %p" }],
    ["may see the frame", { before: "%a = alloca i32", call: "call void @take(ptr %a)" }],
    ["comes back twice", { call: "call void @g(i32 %n) returns_twice" }],
    ["is in a function with a frame pointer", { attributes: `minsize optsize "frame-pointer"="all"` }],
  ])("not where one %s", (_, how) => {
    expect(transfers(how).filter((transfer) => !transfer.includes("outlined"))[0]).toMatch(/^call /);
  });
  test("not where registers have to be put back after it", () => {
    const found = transfers({
      before:
        "%v = call i32 @value(i32 3)\n%w = call i32 @value(i32 4)\n%x = add i32 %v, %w\nstore i32 %x, ptr %p",
    });
    expect(found.at(-1)).toBe("call g@PLT");
  });
  test("where that makes the code no longer than it was, with other calls", () => {
    const found = transfers({ before: "call void @g(i32 1)", call: "tail call void @g(i32 2)" });
    expect(found[0]).toBe("call g@PLT");
  });
  test("what is returned is what the callee returns, or nothing", () => {
    const code = (returned: string): string =>
      compile(
        link(`declare i32 @g(i32)
define i32 @f(i32 %n) nounwind minsize optsize {
entry:
  %c = icmp eq i32 %n, 0
  br i1 %c, label %then, label %out
then:
  %v = tail call i32 @g(i32 5)
  br label %out
out:
  %r = phi i32 [ ${returned}, %then ], [ 7, %entry ]
  ret i32 %r
}
@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"
`),
      ).assembly;
    expect(code("%v")).toContain("jmp\tg@PLT");
    expect(code("3")).toContain("call\tg@PLT");
  });
});

describe("jumps by a pointer in memory", () => {
  const code = (body: string, attributes = "minsize optsize"): string[] => {
    const text = `declare i32 @value(i32)
@table = external constant [8 x ptr]
define void @f(ptr %o, i64 %n) nounwind ${attributes} {
${body}
}
@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"
`;
    const { assembly } = compile(link(text));
    const start = assembly.indexOf("\nf:");
    return [
      ...assembly.slice(start, assembly.indexOf(".size\tf,", start)).matchAll(/^\t(\w+\t.*|ret)$/gm),
    ].map(([, line]) => line!.replace("\t", " "));
  };
  const virtual = `%v = load ptr, ptr %o
%s = getelementptr i8, ptr %v, i64 32
%g = load ptr, ptr %s
tail call void %g(ptr %o)
ret void`;
  test.each(["minsize optsize", ""])("load it (%s)", (attributes) => {
    expect(code(virtual, attributes)).toEqual(["movq (%rdi), %rax", "jmp *32(%rax)"]);
  });
  test("after the frame is gone", () => {
    const found = code(`%a = call i32 @value(i32 1)
store i32 %a, ptr %o
${virtual}`);
    expect(found.at(-1)).toBe("jmp *32(%rax)");
    expect(found.at(-2)).toMatch(/^popq? /);
  });
  test("not where the frame's end puts back the register that leads there, nor what is at the stack pointer", () => {
    const found = code(`%a = call i32 @value(i32 1)
%s = getelementptr ptr, ptr %o, i64 %n
%g = load ptr, ptr %s
tail call void %g(ptr %o)
ret void`);
    expect(found.at(-1)).toMatch(/^jmp \*%r(ax|10|11)$/);
  });
});
