/** The stack protector in machine code: order of the slots, where the guard's value comes from, and what happens when it changes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();

async function assembly(text: string, ...options: string[]): Promise<string> {
  writeFileSync(join(folder, "a.ll"), text);
  const words = [
    join(folder, "a.ll"),
    "-r",
    "--verify",
    "--check-regalloc",
    "--check-packing",
    "-o",
    "-",
    ...options,
  ];
  const { code, err, out } = await tscLto(words, { cwd: folder });
  expect(err).toBe("");
  expect(code).toBe(0);
  return out;
}

const variables = (attributes: string, flags = ""): string => `
declare void @sink(ptr, ptr, ptr, ptr)
define void @f(i32 %x) ${attributes} {
  %small = alloca [1 x i32]
  %plain = alloca i64
  %large = alloca [40 x i8]
  %other = alloca [9 x i8], align 4
  call void @sink(ptr %small, ptr %plain, ptr %large, ptr %other)
  ret void
}
${flags}`;

/** Offsets from the stack pointer of what is passed, and of the guard. */
function offsets(text: string): { guard: number; passed: number[] } {
  const at = (register: string): number =>
    new RegExp(`movq\\t%rsp, %${register}\\n`).test(text)
      ? 0
      : Number(new RegExp(`leaq\\t(-?\\d+)\\(%r[sb]p\\), %${register}\\n`).exec(text)?.[1]);
  const guard = Number(/movq\t%\w+, (-?\d+)\(%r[sb]p\)/.exec(text)?.[1]);
  return { guard, passed: ["rdi", "rsi", "rdx", "rcx"].map(at) };
}

describe("order of the slots", () => {
  it.each(["sspstrong", "sspstrong optsize minsize"])("%s", async (attributes) => {
    const { guard, passed } = offsets(await assembly(variables(attributes)));
    const [small, plain, large, other] = passed as [number, number, number, number];
    expect(guard).toBeGreaterThan(Math.max(large, other));
    expect(Math.min(large, other)).toBeGreaterThan(small);
    expect(small).toBeGreaterThan(plain);
  });
  it("with a frame pointer", async () => {
    const text = await assembly(variables('sspstrong "frame-pointer"="all"'));
    const at = (pattern: RegExp): number => Number(pattern.exec(text)?.[1]);
    const guard = at(/movq\t%\w+, (-\d+)\(%rbp\)/);
    const large = at(/leaq\t(-\d+)\(%rbp\), %rdx/);
    const plain = at(/leaq\t(-\d+)\(%rbp\), %rsi/);
    expect(guard).toBeGreaterThan(large);
    expect(large).toBeGreaterThan(plain);
  });
});

describe("the guard's value", () => {
  it("is the thread's", async () => {
    const text = await assembly(variables("ssp"));
    expect(text.match(/%fs:40/g)).toHaveLength(2);
    expect(text).toContain("call\t__stack_chk_fail");
    expect(text).not.toContain("jmp\tsink");
  });
  it("is where flags say", async () => {
    const flags =
      '!llvm.module.flags = !{!0, !1}\n!0 = !{i32 1, !"stack-protector-guard-reg", !"gs"}\n!1 = !{i32 1, !"stack-protector-guard-offset", i32 80}';
    expect((await assembly(variables("ssp", flags))).match(/%gs:80/g)).toHaveLength(2);
    const global = '!llvm.module.flags = !{!0}\n!0 = !{i32 1, !"stack-protector-guard", !"global"}';
    const text = await assembly(variables("ssp", global));
    expect(text.match(/__stack_chk_guard/g)).toHaveLength(2);
    expect(text).not.toContain("%fs");
  });
});

it("an overflow ends the program", async () => {
  const text = await assembly(
    `
declare i32 @puts(ptr)
@text = constant [3 x i8] c"ok\\00"
define internal void @fill(ptr %p, i64 %n) noinline {
  call void @llvm.memset.p0.i64(ptr %p, i8 65, i64 %n, i1 false)
  ret void
}
define internal void @work(i64 %n) noinline sspstrong {
  %a = alloca [16 x i8]
  call void @fill(ptr %a, i64 %n)
  %read = load volatile i8, ptr %a
  ret void
}
define i32 @main(i32 %argc, ptr %argv) {
  %more = sub i32 %argc, 1
  %scaled = mul i32 %more, 24
  %wide = zext i32 %scaled to i64
  %n = add i64 %wide, 16
  call void @work(i64 %n)
  %r = call i32 @puts(ptr @text)
  ret i32 0
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
`,
    "--check-ipra",
  );
  const [source, program] = [join(folder, "run.s"), join(folder, "run")];
  writeFileSync(source, text);
  const built = await run(["cc", "-no-pie", source, "-o", program]);
  expect(built.stderr).toBe("");
  expect((await run([program])).status).toBe(0);
  const broken = await run([program, "more"]);
  expect(broken.status).not.toBe(0);
  expect(broken.stderr).toContain("stack smashing detected");
});
