/** Addresses that are only known when the program starts, or not at all: of undefined weak and of indirect functions. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();

/** Links modules, assembles, and gives the exit status of the program. */
async function status(model: "static" | "pie", ...modules: string[]): Promise<number> {
  const files = modules.map((text, i) => {
    const file = join(folder, `${i}.ll`);
    writeFileSync(file, text);
    return file;
  });
  const output = join(folder, "a.s");
  const linked = await tscLto([...files, "--verify", "--relocation-model", model, "-o", output], {
    cwd: folder,
  });
  expect(linked.err).toBe("");
  const program = join(folder, "a.out");
  const built = await run(["cc", model === "pie" ? "-pie" : "-no-pie", output, "-o", program]);
  expect(built.stderr).toBe("");
  return (await run([program])).status;
}

describe.each(["static", "pie"] as const)("%s", (model) => {
  it.each(["hidden", "protected", ""])("undefined weak symbols (%s) are at zero", async (visibility) => {
    const text = `
@data = extern_weak ${visibility} global i32
declare extern_weak ${visibility} i32 @code(i32)
@table = global [2 x ptr] [ptr @data, ptr @code]
define i32 @main(i32 %n, ptr %v) {
  %d = icmp ne ptr @data, null
  br i1 %d, label %bad, label %next
next:
  %c = icmp ne ptr @code, null
  br i1 %c, label %call, label %end
call:
  %r = call i32 @code(i32 %n)
  br label %bad
bad:
  %x = phi i32 [ 1, %0 ], [ %r, %call ]
  ret i32 %x
end:
  %t = getelementptr ptr, ptr @table, i32 %n
  %p = load volatile ptr, ptr %t
  %z = icmp eq ptr %p, null
  %s = select i1 %z, i32 42, i32 2
  ret i32 %s
}`;
    expect(await status(model, text)).toBe(42);
  });

  it("an index may be the address of another variable", async () => {
    const text = `
@a = internal global [4 x i8] c"\\01\\02\\2A\\03"
@b = internal global [4 x i8] zeroinitializer
@t = internal thread_local(localexec) global [4 x i8] zeroinitializer
declare ptr @llvm.threadlocal.address.p0(ptr)
define i8 @symbol(i64 %i) noinline {
  %x = ptrtoint ptr @b to i64
  %p = getelementptr i8, ptr @a, i64 %x
  %q = getelementptr i8, ptr %p, i64 %i
  %v = load i8, ptr %q
  ret i8 %v
}
define i8 @thread(i64 %i) noinline {
  %t = call ptr @llvm.threadlocal.address.p0(ptr @t)
  %x = ptrtoint ptr %t to i64
  %p = getelementptr i8, ptr @a, i64 %x
  %q = getelementptr i8, ptr %p, i64 %i
  %v = load i8, ptr %q
  ret i8 %v
}
define i8 @stack(i64 %n, ptr %address) noinline {
  %s = alloca [4 x i8]
  store volatile i8 7, ptr %s
  store volatile ptr %s, ptr %address
  %o = load volatile i64, ptr %address
  %i = sub i64 %n, %o
  %x = ptrtoint ptr %s to i64
  %p = getelementptr i8, ptr @a, i64 %x
  %q = getelementptr i8, ptr %p, i64 %i
  %v = load i8, ptr %q
  ret i8 %v
}
define i32 @main(i32 %n, ptr %argv) {
  %s = alloca i64
  store volatile ptr @b, ptr %s
  %b = load volatile i64, ptr %s
  %i = sub i64 2, %b
  %v = call i8 @symbol(i64 %i)
  %t = call ptr @llvm.threadlocal.address.p0(ptr @t)
  store volatile ptr %t, ptr %s
  %c = load volatile i64, ptr %s
  %j = sub i64 2, %c
  %w = call i8 @thread(i64 %j)
  %u = call i8 @stack(i64 2, ptr %s)
  %d = sub i8 %v, %w
  %e = add i8 %d, %u
  %z = zext i8 %e to i32
  ret i32 %z
}`;
    expect(await status(model, text)).toBe(42);
  });

  it("the address of an indirect function is one in data, code and other files", async () => {
    const one = `
@which = global i32 0
@here = global ptr @f
@f = ifunc i32 (i32), ptr @resolve
define internal ptr @resolve() {
  %w = load volatile i32, ptr @which
  %c = icmp eq i32 %w, 0
  %p = select i1 %c, ptr @first, ptr @second
  ret ptr %p
}
define internal i32 @first(i32 %x) noinline {
  ret i32 %x
}
define internal i32 @second(i32 %x) noinline {
  %r = add i32 %x, 1
  ret i32 %r
}
declare ptr @theirs()
declare i1 @same(ptr)
define i32 @main() {
  %p = load volatile ptr, ptr @here
  %a = icmp eq ptr %p, @f
  %q = call ptr @theirs()
  %b = icmp eq ptr %p, %q
  %c = call i1 @same(ptr @f)
  %d = call i1 @same(ptr %q)
  %ab = and i1 %a, %b
  %cd = and i1 %c, %d
  %abcd = and i1 %ab, %cd
  %n = select i1 %abcd, i32 20, i32 0
  %m = call i32 @f(i32 10)
  %o = call i32 %q(i32 12)
  %mn = add i32 %n, %m
  %r = add i32 %mn, %o
  ret i32 %r
}`;
    const two = `
declare i32 @f(i32)
@there = global ptr @f
define ptr @theirs() noinline {
  ret ptr @f
}
define i1 @same(ptr %p) noinline {
  %q = load volatile ptr, ptr @there
  %a = icmp eq ptr %p, %q
  %b = icmp eq ptr %p, @f
  %r = and i1 %a, %b
  ret i1 %r
}`;
    expect(await status(model, one, two)).toBe(42);
  });
});

it.each(["static", "pie"] as const)(
  "the medium code model reaches large data anywhere: %s",
  async (model) => {
    const text = `
@big = global [300 x i32] zeroinitializer
@local = internal global [300 x i32] [i32 2, ${Array.from({ length: 299 }, () => "i32 0").join(", ")}]
@same = internal alias [300 x i32], ptr @local
@small = internal global i32 20
@table = global [2 x ptr] [ptr @big, ptr @same]
define i32 @main() {
  store volatile i32 20, ptr getelementptr (i8, ptr @big, i64 400)
  %a = load volatile i32, ptr getelementptr (i8, ptr @big, i64 400)
  %b = load volatile i32, ptr @same
  %c = load volatile i32, ptr @small
  %ab = add i32 %a, %b
  %r = add i32 %ab, %c
  ret i32 %r
}
!llvm.module.flags = !{!0, !1}
!0 = !{i32 1, !"Code Model", i32 3}
!1 = !{i32 1, !"Large Data Threshold", i64 1000}`;
    expect(await status(model, text)).toBe(42);
    const assembly = readFileSync(join(folder, "a.s"), "utf8");
    expect(assembly).toMatch(
      /\.lbss,"awl",@nobits[\s\S]*\nbig:[\s\S]*\.ldata,"awl",@progbits[\s\S]*\nlocal:/,
    );
    expect(assembly).not.toMatch(/\b(big|local|same)(\+\d+)?\(%rip\)|\$(big|local|same)/);
    expect(assembly).toMatch(/small\(%rip\)|small,/);
  },
);

it.each(["static", "pie"] as const)(
  "variables that say so are anywhere in the small code model: %s",
  async (model) => {
    const text = `
@big = global [1610612736 x i8] zeroinitializer, code_model "large"
@more = internal global [1610612736 x i8] zeroinitializer, code_model "large"
@placed = global i32 20, section ".ldata"
@empty = internal global i32 0, section ".lbss.x"
@table = internal constant [4 x { ptr, i64 }] [{ ptr, i64 } { ptr @big, i64 1 }, { ptr, i64 } { ptr @more, i64 2 }, { ptr, i64 } { ptr @more, i64 3 }, { ptr, i64 } { ptr @big, i64 4 }]
@small = internal global i32 20, code_model "small"
define i32 @main(i32 %n) minsize {
  %i = zext i32 %n to i64
  store volatile i8 1, ptr getelementptr (i8, ptr @big, i64 1610612735)
  %a = load volatile i8, ptr getelementptr (i8, ptr @big, i64 1610612735)
  %e = getelementptr inbounds { ptr, i64 }, ptr @table, i64 %i
  %p = load ptr, ptr %e
  store volatile i8 1, ptr %p
  %b = load volatile i8, ptr @more
  store volatile i32 0, ptr @empty
  %c = load volatile i32, ptr @placed
  %d = load volatile i32, ptr @small
  %x = zext i8 %a to i32
  %y = zext i8 %b to i32
  %s = add i32 %x, %y
  %t = add i32 %s, %c
  %r = add i32 %t, %d
  ret i32 %r
}`;
    expect(await status(model, text)).toBe(42);
    const assembly = readFileSync(join(folder, "a.s"), "utf8");
    expect(assembly).toMatch(/\.lbss,"awl",@nobits[\s\S]*\nbig:[\s\S]*\nmore:/);
    expect(assembly).toMatch(/\.ldata,"awl",@progbits[\s\S]*\nplaced:/);
    expect(assembly).toMatch(/\.lbss\.x,"awl",@nobits[\s\S]*\nempty:/);
    expect(assembly).not.toMatch(/\b(big|more|placed|empty)([+-]\d+)?\(%rip\)|\$(big|more|placed|empty)/);
    expect(assembly).toMatch(/small\(%rip\)|small,/);
  },
);

it("constructors of data that the module does not define are left out", async () => {
  const text = `
@here = global i32 2
@there = external global i32
@order = global i32 0
@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @a, ptr @here }, { i32, ptr, ptr } { i32 65535, ptr @b, ptr @there }]
define internal void @a() {
  store i32 42, ptr @here
  ret void
}
define internal void @b() {
  store i32 1, ptr @here
  ret void
}
define i32 @main() {
  %r = load i32, ptr @here
  ret i32 %r
}`;
  expect(await status("pie", text)).toBe(42);
});

describe("sibling calls", () => {
  it.each(["", "minsize optsize"])("mutual recursion three million deep (%s)", async (attributes) => {
    const text = `
define internal i32 @even(i32 %n) noinline nounwind ${attributes} {
  switch i32 %n, label %more [ i32 0, label %end
                               i32 7, label %seven ]
seven:
  %s = tail call i32 @odd(i32 6)
  br label %end
more:
  %m = add i32 %n, -1
  %r = tail call i32 @odd(i32 %m)
  br label %end
end:
  %v = phi i32 [ 42, %0 ], [ %s, %seven ], [ %r, %more ]
  ret i32 %v
}
define internal i32 @odd(i32 %n) noinline nounwind ${attributes} {
  %z = icmp eq i32 %n, 0
  br i1 %z, label %end, label %more
more:
  %m = add i32 %n, -1
  %r = tail call i32 @even(i32 %m)
  br label %end
end:
  %v = phi i32 [ 1, %0 ], [ %r, %more ]
  ret i32 %v
}
define i32 @main(i32 %n) ${attributes} {
  %m = add i32 %n, 2999999
  %r = call i32 @even(i32 %m)
  ret i32 %r
}`;
    expect(await status("pie", text)).toBe(42);
  });
});
