/** Profiles steer where blocks, frames and functions lie, and what is outlined. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();

/** Functions with two ways: one of calls, that needs a frame, and one without. Weights are those of these ways. */
const program = (calls: number, leaf: number, entries = "i64 10001"): string => `
declare i32 @g(i32)
define i32 @f(i32 %x, i32 %y) !prof !1 {
  %c = icmp eq i32 %x, 0
  br i1 %c, label %a, label %b, !prof !0
a:
  %r = call i32 @g(i32 %y)
  %s = add i32 %r, %y
  %t = call i32 @g(i32 %s)
  %u = add i32 %t, %s
  ret i32 %u
b:
  %d = mul i32 %x, 5
  ret i32 %d
}
define i32 @loop(i32 %n, i32 %y) !prof !1 {
  br label %head
head:
  %i = phi i32 [ 0, %0 ], [ %j, %next ]
  %c = icmp eq i32 %i, %y
  br i1 %c, label %a, label %next, !prof !0
a:
  %r = call i32 @g(i32 %i)
  br label %next
next:
  %j = add i32 %i, 1
  %e = icmp ult i32 %j, %n
  br i1 %e, label %head, label %out, !prof !2
out:
  ret i32 %j
}
define i32 @idle() !prof !3 { ret i32 1 }
define i32 @warm() hot { ret i32 2 }
define i32 @iced() cold { ret i32 3 }
define i32 @plain() { ret i32 4 }
!0 = !{!"branch_weights", i32 ${calls}, i32 ${leaf}}
!1 = !{!"function_entry_count", ${entries}}
!2 = !{!"branch_weights", i32 1000, i32 1}
!3 = !{!"function_entry_count", i64 0}
`;

async function compile(text: string, ...options: string[]): Promise<string> {
  const source = join(folder, "p.ll");
  writeFileSync(source, `target triple = "x86_64-unknown-linux-gnu"\n${text}`);
  const { code, out, err } = await tscLto(
    [source, "-r", "--check-regalloc", "--check-packing", ...options, "-o", "-"],
    {
      cwd: folder,
    },
  );
  expect(code, err).toBe(0);
  return out;
}

const part = (text: string, name: string): string =>
  new RegExp(`^${name}:[\\s\\S]*?^\\t\\.size\\t${name},`, "m").exec(text)?.[0] ?? "";

describe("a profile", () => {
  it("puts what follows often after the branch", async () => {
    const leaf = part(await compile(program(1, 10000)), "f");
    expect(leaf.indexOf("leal\t(%rdi")).toBeLessThan(leaf.indexOf("call"));
    const calls = part(await compile(program(10000, 1)), "f");
    expect(calls.indexOf("leal\t(%rdi")).toBeGreaterThan(calls.indexOf("call"));
    expect(leaf).toMatch(/\tje\t/);
    expect(calls).toMatch(/\tjne\t/);
  });

  it("moves what is rare in a loop after the function", async () => {
    const rare = part(await compile(program(1, 10000)), "loop");
    expect(rare.indexOf("\tret")).toBeLessThan(rare.indexOf("call"));
    const often = part(await compile(program(10000, 1)), "loop");
    expect(often.indexOf("\tret")).toBeGreaterThan(often.indexOf("call"));
  });

  it("says where functions go, but where size is all", async () => {
    const text = await compile(program(1, 1));
    const section = (name: string): string | undefined =>
      text
        .slice(0, text.indexOf(`\n${name}:`))
        .split("\n")
        .findLast((line) => /^\t\.(?:text|section)/.test(line));
    expect(["f", "idle", "warm", "iced", "plain"].map(section)).toEqual([
      "\t.text",
      '\t.section\t.text.unlikely.,"ax",@progbits',
      '\t.section\t.text.hot.,"ax",@progbits',
      '\t.section\t.text.unlikely.,"ax",@progbits',
      "\t.text",
    ]);
    const apart = await compile(program(1, 1), "--function-sections");
    expect(apart).toContain('.section\t.text.unlikely.iced,"ax"');
    const small = await compile(program(1, 1).replaceAll(/ (hot|cold) \{/g, " $1 minsize {"));
    expect(small.match(/\.text\.\w+\./g)).toEqual([".text.unlikely.", ".text.unlikely."]);
  });

  it("is not what authors expect, where size counts", async () => {
    const expected = program(10000, 1).replaceAll(" !prof !1", "");
    const bare = expected.replaceAll(/, !prof ![02]/g, "");
    expect(part(await compile(expected, "-Os"), "f")).toBe(part(await compile(bare, "-Os"), "f"));
    expect(part(await compile(expected), "f")).not.toBe(part(await compile(bare), "f"));
  });

  it("keeps hot code from being outlined", async () => {
    const body = Array.from({ length: 6 }, (_, i) => `  call void @h(i32 ${i + 100}, i32 ${i + 7})`).join(
      "\n",
    );
    const twins = (attribute: string): string =>
      `declare void @h(i32, i32)\n${["p", "q", "r"]
        .map((name) => `define i32 @${name}(i32 %x) minsize optsize ${attribute} {\n${body}\n  ret i32 %x\n}`)
        .join("\n")}\n`;
    const skip = "--skip-pass=icf,merge-similar-functions";
    const outlined = /OUTLINED_FUNCTION|outlined/;
    expect(await compile(twins(""), skip)).toMatch(outlined);
    expect(await compile(twins("hot"), skip)).not.toMatch(outlined);
  });

  it("is of the kind that the program says to the library that writes it", async () => {
    const source = join(folder, "version.ll");
    writeFileSync(
      source,
      `target triple = "x86_64-unknown-linux-gnu"
$__llvm_profile_raw_version = comdat any
@__llvm_profile_raw_version = hidden constant i64 72057594037927946, comdat
@other = hidden constant i64 1
define i32 @main() { ret i32 0 }`,
    );
    const { out } = await tscLto([source, "-o", "-"], { cwd: folder });
    expect(out).toMatch(/\t\.globl\t__llvm_profile_raw_version\n/);
    expect(out).not.toContain("other");
  });
});
