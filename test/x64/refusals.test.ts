/** Definitions, like calls, of conventions that code generation does not have are refused, not compiled as others. */
import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import { finish } from "../../lto/ir/steps.js";
import { defaultLinkOptions, linkModules } from "../../lto/link/index.js";
import { compile, link } from "../ipra/compile.js";

const message = (text: string): string => {
  try {
    compile(link(text));
    return "";
  } catch (e) {
    return (e as Error).message;
  }
};
const main = "define i64 @main() {\n  ret i64 0\n}\n";

describe("definitions", () => {
  it.each([
    ["x86_vectorcallcc", "x86_vectorcallcc"],
    ["x86_regcallcc", "x86_regcallcc"],
    ["ghccc", "ghccc"],
    ["swiftcc", "swiftcc"],
    ["swifttailcc", "swifttailcc"],
  ])("%s", (convention, name) => {
    expect(
      message(
        `${main}define ${convention} i64 @f(i64 %x) {\n  ret i64 %x\n}\n@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"`,
      ),
    ).toMatch(new RegExp(`unsupported: calling convention \\d+, ${name}.* \\(in function 'f'\\)`));
    expect(
      message(
        `declare ${convention} i64 @g(i64)\ndefine i64 @main(i64 %x) {\n  %r = call ${convention} i64 @g(i64 %x)\n  ret i64 %r\n}`,
      ),
    ).toMatch(new RegExp(`unsupported: calling convention \\d+, ${name}.* \\(in function 'main'\\)`));
  });
  it.each([
    [
      'preserve_allcc i64 @f(i64 %x) nounwind "target-features"="+avx"',
      "calls and functions that preserve vector registers (ms_abi, preserve_all), with AVX",
    ],
    [
      "preserve_mostcc i64 @f(i64 %x)",
      "an ms_abi, preserve_mostcc or preserve_allcc function that may unwind",
    ],
    ["preserve_nonecc i64 @f(i64 %x, ...)", "a preserve_nonecc function with variable arguments"],
    ["preserve_nonecc i64 @f(i64 %x, i128 %y)", "preserve_nonecc argument of 128 bits"],
    ["cc 79 i64 @f(i64 %x, <4 x float> %y) nounwind", "ms_abi argument of type <4 x float> or wider"],
    ["tailcc i64 @f(i64 %x, i64, i64, i64, i64, i64, i64)", "tailcc with arguments on the stack"],
  ])("%s", (signature, what) => {
    const used = `@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"`;
    expect(message(`${main}define ${signature} {\n  ret i64 %x\n}\n${used}`)).toContain(
      `unsupported: ${what}`,
    );
  });
  it.each(["swiftself", "swiftasync", "swifterror"])("%s", (attribute) => {
    expect(message(`define i64 @main(ptr ${attribute} %x) {\n  ret i64 0\n}`)).toBe(
      `unsupported: parameter attribute ${attribute} (in function 'main')`,
    );
  });
  it.each(["no_caller_saved_registers", "no_callee_saved_registers"])("%s", (attribute) => {
    expect(message(`define i64 @main(i64 %x) "${attribute}" {\n  ret i64 0\n}`)).toBe(
      `unsupported: ${attribute} (in function 'main')`,
    );
  });
  it("of the 32-bit machine are the platform's", () => {
    expect(message(`define x86_stdcallcc i64 @main(i64 %x) {\n  ret i64 0\n}`)).toBe("");
  });
});

describe("calls", () => {
  it("that preserve less", () => {
    const text = `declare i64 @g(i64) "no_callee_saved_registers"\ndefine i64 @main(i64 %x) {\n  %r = call i64 @g(i64 %x)\n  ret i64 %r\n}`;
    expect(message(text)).toBe("unsupported: no_callee_saved_registers (in function 'main')");
    expect(message(text.replace("callee_saved", "caller_saved"))).toBe("");
  });
});

it("what nobody uses is not refused", () => {
  const unused = parseModule(`${main}define internal tailcc void @f() {\n  ret void\n}`, "a.ll");
  const { module } = finish(
    linkModules([{ kind: "module", module: unused }], {
      ...defaultLinkOptions,
      entry: "main",
    }),
  );
  expect(module!.functions.map((f) => f.name)).toEqual(["main"]);
});
