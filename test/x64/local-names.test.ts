/** What a module says is local, in a shared library: linkers refuse to address exported symbols, so code names them otherwise. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

const module = `target triple = "x86_64-unknown-linux-gnu"
$c = comdat any
@v = dso_local global i32 3
@w = weak dso_local global i32 4
@x = common dso_local global i32 0
@e = external dso_local global i32
@fp = global ptr @f
@t = dso_local thread_local global i32 5
@second = dso_local alias i32, ptr @v
define dso_local i32 @f(i32 %n) noinline optnone {
  %r = add i32 %n, 1
  ret i32 %r
}
define weak dso_local i32 @wf(i32 %n) noinline optnone {
  ret i32 %n
}
define dso_local i32 @c(i32 %n) noinline optnone comdat {
  ret i32 %n
}
define dso_local i32 @"odd,name"(i32 %n) noinline optnone {
  ret i32 %n
}
declare dso_local i32 @d(i32)
declare ptr @llvm.threadlocal.address.p0(ptr)
define i32 @use() {
  %p = load ptr, ptr @fp
  %same = icmp eq ptr %p, @f
  %s = zext i1 %same to i32
  %a = call i32 @f(i32 %s)
  %b = call i32 @wf(i32 %a)
  %g = call i32 @c(i32 %b)
  %o = call i32 @"odd,name"(i32 %g)
  %h = call i32 @d(i32 %o)
  %v = load i32, ptr @v
  %w = load i32, ptr @w
  %x = load i32, ptr @x
  %e = load i32, ptr @e
  %z = load i32, ptr @second
  %ta = call ptr @llvm.threadlocal.address.p0(ptr @t)
  %t = load i32, ptr %ta
  %1 = add i32 %h, %v
  %2 = add i32 %1, %w
  %3 = add i32 %2, %x
  %4 = add i32 %3, %e
  %5 = add i32 %4, %z
  %6 = add i32 %5, %t
  ret i32 %6
}
`;

it.each(["-O0", "-O2", "-Oz"])(
  "a library links, and its functions have one address each: %s",
  async (level) => {
    writeFileSync(path("a.ll"), module);
    const args = [path("a.ll"), "--shared", "--relocation-model", "pic", level, "-o", path("a.s")];
    expect(await tscLto(args, { cwd: folder, env: {} })).toEqual({ code: 0, out: "", err: "" });
    const text = readFileSync(path("a.s"), "utf8");
    for (const name of ["f", "v", "second"]) {
      expect(text).toMatch(new RegExp(`\\.Llocal\\.${name}\\b`));
      expect(text).not.toMatch(new RegExp(`\\b${name}@`));
    }
    for (const name of ["w", "wf", "c", "d", "e", "x"]) expect(text).not.toContain(`.Llocal.${name}\n`);
    for (const name of ["w", "e", "x"]) expect(text).toContain(`${name}@GOTPCREL`);
    for (const name of ["wf", "c", "d"]) expect(text).toContain(`${name}@PLT`);
    execFileSync("cc", ["-shared", "-Wl,-z,text", path("a.s"), "-o", path("a.so")]);
    writeFileSync(
      path("m.c"),
      "int use(void), e = 7; int d(int n) { return n; } int main(void) { return use(); }",
    );
    execFileSync("cc", [path("m.c"), path("a.so"), "-o", path("m")]);
    let status = 0;
    try {
      execFileSync(path("m"));
    } catch (e) {
      status = (e as { status: number }).status;
    }
    expect(status).toBe(2 + 3 + 4 + 0 + 7 + 3 + 5);
  },
);

it("short jumps to such a function are sized, however many functions jump to it", async () => {
  const callers = [1, 2, 3, 4].map(
    (n) => `define void @f${n}(i32 %x) minsize optsize {
  store volatile i32 ${n}, ptr @v
  tail call void @g(i32 %x)
  ret void
}
`,
  );
  const g = `define dso_local void @g(i32 %x) noinline minsize optsize {
  store volatile i32 %x, ptr @v
  ret void
}
`;
  writeFileSync(path("jumps.ll"), `@v = global i32 0\n${callers.join("")}${g}`);
  const words = [path("jumps.ll"), "-o", path("jumps.s"), "-Oz", "--shared", "--skip-pass=inline"];
  expect(await tscLto(words, { cwd: folder })).toMatchObject({ code: 0, err: "" });
  const text = readFileSync(path("jumps.s"), "utf8");
  expect(text).toContain("jmp\t.Llocal.g");
  execFileSync("as", ["-o", path("jumps.o"), path("jumps.s")]);
});
