/** What linking tells passes about virtual functions: who may derive from a class, and whether all calls are shown. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { linkerOptions } from "../../bin/host/linker-options.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

async function linked(files: Readonly<Record<string, string>>, ...options: string[]): Promise<string> {
  const inputs = Object.entries(files).map(([name, text]) => {
    writeFileSync(path(name), text);
    return path(name);
  });
  const args = ["-O2", "--skip-pass=inline", ...options, ...inputs, "--emit=ir", "-o", path("out.ll")];
  expect((await tscLto(args, { cwd: folder, env: {} })).err).toBe("");
  return readFileSync(path("out.ll"), "utf8");
}

/** A class and its only table; the class it is derived from is the program's own or not. */
const derived = (base: string): string => `
declare i1 @llvm.public.type.test(ptr, metadata)
declare void @llvm.assume(i1)
declare void @use(ptr)
@_ZTI1B = linkonce_odr constant ptr @_ZTI1A
@_ZTI1A = ${base}
@_ZTV1B = linkonce_odr unnamed_addr constant [3 x ptr] [ptr null, ptr @_ZTI1B, ptr @f], !type !0, !type !1
define linkonce_odr i32 @f(ptr %o) {
  call void @use(ptr %o)
  ret i32 7
}
define i32 @main() {
  %o = alloca ptr
  store ptr getelementptr inbounds (i8, ptr @_ZTV1B, i64 16), ptr %o
  call void @use(ptr %o)
  %v = load ptr, ptr %o
  %is = call i1 @llvm.public.type.test(ptr %v, metadata !"_ZTS1B")
  call void @llvm.assume(i1 %is)
  %f = load ptr, ptr %v
  %r = call i32 %f(ptr %o)
  ret i32 %r
}
!0 = !{i64 16, !"_ZTS1A"}
!1 = !{i64 16, !"_ZTS1B"}
`;

it("classes that only the program derives from, if it says so", async () => {
  const own = { "a.ll": derived("linkonce_odr constant ptr null") };
  const direct = /call .*@f\(/;
  expect(await linked(own)).not.toMatch(direct);
  expect(await linked(own, "--lto-whole-program-visibility")).toMatch(direct);
  // What is visible outside others may derive from.
  const exported = await linked(own, "--lto-whole-program-visibility", "--export=_ZTI1A");
  expect(exported).not.toMatch(direct);
  const foreign = { "a.ll": derived("external constant ptr") };
  expect(await linked(foreign, "--lto-whole-program-visibility")).not.toMatch(direct);
  expect(linkerOptions(["-lto-whole-program-visibility"])).toEqual(["--lto-whole-program-visibility"]);
  expect(linkerOptions(["--whole-program-visibility"])).toEqual(["--lto-whole-program-visibility"]);
});

it("what is linked further decides nothing of tables that others may have", async () => {
  const part = `
declare { ptr, i1 } @llvm.type.checked.load(ptr, i32, metadata)
declare void @llvm.assume(i1)
@table = hidden constant [2 x ptr] [ptr @f, ptr @unasked], !type !0, !vcall_visibility !1
define internal i32 @f(ptr %o) noinline {
  ret i32 7
}
define internal i32 @unasked(ptr %o) {
  ret i32 8
}
define void @makes(ptr %o) {
  store ptr @table, ptr %o
  ret void
}
define i32 @calls(ptr %o) {
  %v = load ptr, ptr %o
  %q = call { ptr, i1 } @llvm.type.checked.load(ptr %v, i32 0, metadata !"type")
  %is = extractvalue { ptr, i1 } %q, 1
  call void @llvm.assume(i1 %is)
  %f = extractvalue { ptr, i1 } %q, 0
  %r = call i32 %f(ptr %o)
  ret i32 %r
}
!0 = !{i64 0, !"type"}
!1 = !{i64 1}
!llvm.module.flags = !{!2}
!2 = !{i32 1, !"Virtual Function Elim", i32 1}
`;
  const shared = await linked({ "part.ll": part }, "--shared", "-e", "");
  const isDecided = /@calls\(.*\n {2}ret i32 7/;
  expect(shared).toMatch(isDecided);
  expect(shared).toContain("[ptr @f, ptr null]");
  const further = await linked({ "part.ll": part }, "-r");
  expect(further).not.toMatch(isDecided);
  expect(further).toContain("[ptr @f, ptr @unasked]");
  // The load says no more which entry it is of.
  expect(further).not.toMatch(/checked.load|Virtual Function Elim/);
  const asks = part.replace("call void @llvm.assume(i1 %is)", "store volatile i1 %is, ptr %o");
  writeFileSync(path("asks.ll"), asks);
  const { err } = await tscLto(["-r", path("asks.ll"), "--emit=ir", "-o", path("out.ll")], {
    cwd: folder,
    env: {},
  });
  expect(err).toContain("unsupported: llvm.type.test in an output that is linked further (in @calls)");
});

it("entries of tables stay where a module does not show its calls", async () => {
  const main = `
declare i32 @other(ptr)
@table = linkonce_odr hidden constant [1 x ptr] [ptr @f], !type !0, !vcall_visibility !1
define linkonce_odr hidden i32 @f(ptr %o) {
  ret i32 7
}
define i32 @main(i32 %argc, ptr %o) {
  store ptr @table, ptr %o
  %r = call i32 @other(ptr %o)
  ret i32 %r
}
!0 = !{i64 0, !"type"}
!1 = !{i64 1}
!llvm.module.flags = !{!2}
!2 = !{i32 1, !"Virtual Function Elim", i32 1}
`;
  const calls = `define i32 @other(ptr %o) {
  %v = load ptr, ptr %o
  %f = load ptr, ptr %v
  %r = call i32 %f(ptr %o)
  ret i32 %r
}
`;
  const callsNothing = `define i32 @other(ptr %o) {
  %r = load i32, ptr %o
  ret i32 %r
}
`;
  expect(await linked({ "main.ll": main, "other.ll": calls })).toMatch(/@table = .*\[ptr @f\]/);
  expect(await linked({ "main.ll": main, "other.ll": callsNothing })).not.toMatch(/@table = .*@f/);
});
