/** Jumps that speed does without: dispatches and exits are copied, loops rotated, table entries jumped to from memory. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();

async function compile(text: string, ...options: string[]): Promise<string> {
  const source = join(folder, "p.ll");
  writeFileSync(source, `target triple = "x86_64-unknown-linux-gnu"\n${text}`);
  const { code, out, err } = await tscLto(
    [source, "-r", "--check-regalloc", "--check-packing", ...options, "-o", "-"],
    { cwd: folder },
  );
  expect(code, err).toBe(0);
  return out;
}
const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** An interpreter of two operations besides the end, with its state in registers. */
const interpreter = (attributes: string, dispatch = ""): string => `
@table = internal constant [3 x ptr] [ptr blockaddress(@run, %add), ptr blockaddress(@run, %mul), ptr blockaddress(@run, %end)]
define i64 @run(ptr %code, i64 %y) ${attributes} {
entry:
  br label %next
next:
  %pc = phi ptr [ %code, %entry ], [ %after, %add ], [ %after, %mul ]
  %x = phi i64 [ 0, %entry ], [ %sum, %add ], [ %product, %mul ]
  %op = load i8, ptr %pc
  %after = getelementptr i8, ptr %pc, i64 1
  %at = zext i8 %op to i64
  %place = getelementptr ptr, ptr @table, i64 %at
  %target = load ptr, ptr %place
  ${dispatch}
  indirectbr ptr %target, [label %add, label %mul, label %end]
add:
  %sum = add i64 %x, %y
  br label %next
mul:
  %product = mul i64 %x, %y
  br label %next
end:
  ret i64 %x
}`;

describe("dispatches", () => {
  it("stand after each operation", async () => {
    const text = await compile(interpreter(""));
    expect(count(text, /\tjmp\t\*/g)).toBe(3);
    expect(count(text, /\tjmp\t[^*]/g)).toBe(0);
  });
  it("jump to what memory says", async () => {
    expect(await compile(interpreter(""))).toMatch(/\tjmp\t\*[^%\n]*\(,%r\w+,8\)/);
    const thunks = await compile(
      interpreter('"target-features"="+retpoline-indirect-branches,+retpoline-external-thunk"'),
      "--check-ipra",
    );
    expect(thunks).not.toMatch(/\tjmp\t\*/);
  });
  it("stand once where size counts, and where inline assembly may define labels", async () => {
    expect(count(await compile(interpreter("minsize optsize")), /\tjmp\t\*/g)).toBe(1);
    const assembly = interpreter("", 'call void asm sideeffect "unique:", ""()');
    expect(count(await compile(assembly), /^unique:|\tunique:/gm)).toBe(1);
  });
});

describe("exits", () => {
  const many = (attributes: string): string => `
declare i32 @f(i32)
define i32 @g(i32 %x, i32 %y) ${attributes} {
  %c = icmp ult i32 %x, %y
  br i1 %c, label %a, label %b
a:
  %r = call i32 @f(i32 %y)
  %s = add i32 %r, %x
  br label %out
b:
  %t = call i32 @f(i32 %x)
  %u = mul i32 %t, %y
  br label %out
out:
  %v = phi i32 [ %s, %a ], [ %u, %b ]
  ret i32 %v
}`;
  it("are copied for speed, with what brings registers back", async () => {
    const text = await compile(many(""));
    expect(count(text, /\tret/g)).toBe(2);
    expect(count(text, /\tjmp/g)).toBe(0);
  });
  it("stand once where size counts", async () => {
    expect(count(await compile(many("minsize optsize")), /\tret/g)).toBe(1);
  });
});

describe("loops with their condition at the top", () => {
  const loop = `
declare i32 @f()
define void @g(i32 %n) {
  br label %top
top:
  %i = phi i32 [ %n, %0 ], [ %j, %body ]
  %c = icmp eq i32 %i, 0
  br i1 %c, label %out, label %body
body:
  %r = call i32 @f()
  %j = sub i32 %i, %r
  br label %top
out:
  ret void
}`;
  it("end with it", async () => {
    const text = await compile(loop);
    // Nothing between the call and the branch back is a jump without condition.
    expect(text).toMatch(/call\tf(?:\n(?!\tjmp|\.L).*)*(?:\n\.L\w+:)?(?:\n(?!\tjmp).*)*\n\tjne\t/);
  });
});
