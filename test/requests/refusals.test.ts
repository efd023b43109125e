/** What a module asks of code generation is done or refused by name; the usual attributes of compilers are neither news nor errors. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { x64Target } from "../../lto/x64/target.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = join(folder, "a.ll");

/** What `tsc-lto` says of a program. */
async function messages(text: string, emit = "asm"): Promise<string> {
  writeFileSync(path, text);
  const { code, err, out } = await tscLto([path, "--emit", emit, "-o", "-"], { cwd: folder, env: {} });
  expect(code).toBe(err.includes("error") ? 1 : 0);
  if (code === 0) expect(out).toContain("main");
  return err.replaceAll(`${folder}/`, "");
}

const program = (attributes: string, flags = ""): string =>
  `define i32 @main() ${attributes} {\n  ret i32 0\n}\n${
    flags === "" ? "" : `!llvm.module.flags = !{!0}\n!0 = !{${flags}}\n`
  }`;

const refusedIn = (table: ReadonlyMap<string, { fate: string }>): string[] =>
  [...table].filter(([, { fate }]) => fate === "refused").map(([name]) => name);

const { attributes, strings, features, flags } = x64Target.requests;
// The reader knows it as an attribute with a value.
const withValue: Readonly<Record<string, string>> = { alignstack: "alignstack(16)" };

describe("refused", () => {
  it.each(refusedIn(attributes))("attribute %s", async (name) => {
    expect(await messages(program(withValue[name] ?? name))).toBe(
      `tsc-lto: error: a.ll: unsupported: attribute ${name} (in function 'main')\n`,
    );
  });
  it.each(refusedIn(strings))("attribute %j", async (name) => {
    expect(await messages(program(`"${name}"="x"`))).toBe(
      `tsc-lto: error: a.ll: unsupported: attribute "${name}"="x" (in function 'main')\n`,
    );
  });
  it.each(refusedIn(features))("target feature %s", async (name) => {
    expect(await messages(program(`"target-features"="+cx8,${name}"`))).toBe(
      `tsc-lto: error: a.ll: unsupported: target feature ${name} (in function 'main')\n`,
    );
  });
  it.each(refusedIn(flags))("module flag %s", async (name) => {
    expect(await messages(program("", `i32 1, !"${name}", i32 9`))).toBe(
      `tsc-lto: error: a.ll: unsupported: module flag "${name}" = 9\n`,
    );
    expect(await messages(program("", `i32 1, !"${name}", i32 0`))).toBe("");
  });
  it("unknown names that speak of protection or instrumentation", async () => {
    expect(await messages(program('"protect-everything"'))).toContain('attribute "protect-everything"');
    expect(await messages(program("", 'i32 1, !"stack-guards", i32 1'))).toContain("stack-guards");
  });
  it("constructs that code generation meets, naming the file of the function", async () => {
    const second = `define i32 @g(i32 %x) noinline {\n  call void @llvm.unheard.of()\n  ret i32 %x\n}\ndeclare void @llvm.unheard.of()\n`;
    writeFileSync(join(folder, "b.ll"), second);
    const first =
      "declare i32 @g(i32)\ndefine i32 @main(i32 %n) {\n  %r = call i32 @g(i32 %n)\n  ret i32 %r\n}\n";
    writeFileSync(path, first);
    for (const jobs of ["-j1", "-j2"]) {
      const options = [path, join(folder, "b.ll"), jobs, "--parallel-threshold", "0", "-o", "-"];
      const { code, err } = await tscLto(options, { cwd: folder, env: {} });
      expect(code).toBe(1);
      expect(err.replaceAll(`${folder}/`, "")).toBe(
        "tsc-lto: error: b.ll: unsupported: intrinsic llvm.unheard.of (in @g)\n",
      );
    }
  });
  it("once for a request, naming the first function that asks", async () => {
    const two = `define internal void @unused() safestack {\n  ret void\n}\ndefine void @f() safestack {\n  ret void\n}\n`;
    writeFileSync(join(folder, "b.ll"), two);
    writeFileSync(
      path,
      "declare void @f()\ndefine i32 @main() safestack {\n  call void @f()\n  ret i32 0\n}\n",
    );
    const { err } = await tscLto([path, join(folder, "b.ll"), "-o", "-"], { cwd: folder, env: {} });
    expect(err.replaceAll(`${folder}/`, "")).toBe(
      "tsc-lto: error: a.ll: unsupported: attribute safestack (in function 'main')\n",
    );
  });
});

describe("not refused", () => {
  it("what compilers write by default", async () => {
    const usual =
      'mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable "frame-pointer"="all" ' +
      '"min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" ' +
      '"target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic"';
    expect(await messages(program(usual, 'i32 8, !"PIC Level", i32 2'))).toBe("");
  });
  it("unknown names that speak of other things", async () => {
    expect(await messages(program('"some-tuning"="7"', 'i32 1, !"some tuning", i32 1'))).toBe("");
  });
  it("values that ask for nothing", async () => {
    expect(await messages(program('"zero-call-used-regs"="skip"'))).toBe("");
    expect(await messages(program("", 'i32 1, !"Code Model", i32 1'))).toBe("");
  });
  it("what nobody uses, and what is not compiled", async () => {
    expect(await messages(`${program("")}define internal void @f() safestack {\n  ret void\n}\n`)).toBe("");
    expect(await messages(program("safestack"), "ir")).toBe("");
  });
});
