/** Frame pointers that modules ask for are set in every function, whoever looks at them: profilers, `mcount`. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const input = join(folder, "in.ll");
const output = join(folder, "out.s");

/** Functions that do not use their frames, and one that follows the chain of them. */
const program = (attributes: string): string => `
target triple = "x86_64-unknown-linux-gnu"
@format = private constant [4 x i8] c"%d\\0A\\00"
@depth = global i32 0
declare i32 @printf(ptr, ...)
declare ptr @llvm.frameaddress.p0(i32)
define i32 @walk(ptr %top) noinline ${attributes} {
  %own = call ptr @llvm.frameaddress.p0(i32 0)
  br label %loop
loop:
  %frame = phi ptr [ %own, %0 ], [ %outer, %loop ]
  %n = phi i32 [ 0, %0 ], [ %next, %loop ]
  %outer = load ptr, ptr %frame
  %next = add i32 %n, 1
  %done = icmp eq ptr %outer, %top
  %lost = icmp ugt i32 %next, 20
  %stop = or i1 %done, %lost
  br i1 %stop, label %out, label %loop
out:
  store volatile i32 %next, ptr @depth
  ret i32 %next
}
define i32 @inner(ptr %top, i32 %x) noinline ${attributes} {
  %r = call i32 @walk(ptr %top)
  %s = add i32 %r, %x
  ret i32 %s
}
define i32 @outer(ptr %top, i32 %x) noinline ${attributes} {
  %r = call i32 @inner(ptr %top, i32 %x)
  %s = mul i32 %r, 3
  ret i32 %s
}
define i32 @main() ${attributes} {
  %top = call ptr @llvm.frameaddress.p0(i32 0)
  %r = call i32 @outer(ptr %top, i32 100)
  %n = load volatile i32, ptr @depth
  call i32 (ptr, ...) @printf(ptr @format, i32 %n)
  ret i32 0
}
define i32 @leaf(i32 %x) noinline ${attributes} {
  %r = mul i32 %x, %x
  ret i32 %r
}`;

async function assembly(text: string, ...options: string[]): Promise<string> {
  writeFileSync(input, text);
  const args = ["--skip-pass=inline", "--check-ipra", "--export=leaf", ...options, input, "-o", output];
  const { code, err } = await tscLto(args, { cwd: folder });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return readFileSync(output, "utf8");
}
function run(): string {
  execFileSync("cc", ["-no-pie", output, "-o", "program"], { cwd: folder });
  return execFileSync(join(folder, "program"), { cwd: folder, encoding: "utf8" });
}
const frames = (text: string): number => text.match(/\tmovq\t%rsp, %rbp$/gm)?.length ?? 0;

describe("a frame pointer that is asked for", () => {
  for (const goal of ["", "minsize optsize"])
    for (const options of [[], ["--no-ipra"], ["--no-shrink-wrap"], ["--no-base-register"]])
      it(`leads through all frames: ${goal} ${options.join(" ")}`, async () => {
        const attributes = `${goal} uwtable "frame-pointer"="all"`;
        expect(frames(await assembly(program(attributes), ...options))).toBe(5);
        expect(run()).toBe("3\n");
      });

  it("is set before a call of mcount, which reads the caller's place from it", async () => {
    const attributes = 'minsize optsize "frame-pointer"="all" "instrument-function-entry-inlined"="mcount"';
    const text = await assembly(program(attributes));
    for (const name of ["walk", "inner", "outer", "main", "leaf"])
      expect(text.slice(text.indexOf(`\n${name}:`))).toMatch(
        /^\n.*:\n(?:(?!\tcall|\tret).*\n)*\tmovq\t%rsp, %rbp\n(?:(?!\tret).*\n)*?\tcall\tmcount/,
      );
  });

  it("is not in leaf functions where only others are to have one", async () => {
    expect(frames(await assembly(program('"frame-pointer"="non-leaf"')))).toBe(4);
  });
});
