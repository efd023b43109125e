/** What commands say of IR without meaning, of faults of their own, and of files that the system refuses. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { attempt, errorOf } from "../../bin/lto/worker-protocol.js";
import { writeObject } from "../../formats/object/index.js";
import { parseModule } from "../../formats/text/index.js";
import { FunctionCompiler } from "../../lto/codegen/program/function-compiler.js";
import { InputError, InternalError } from "../../lto/ir/errors.js";
import { tscLto } from "../support/command.js";

const folder = mkdtempSync(join(tmpdir(), "tsc-lto-faults-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void vi.restoreAllMocks());

const good = "define i64 @main(i64 %n) {\n  ret i64 %n\n}\n";
/** Uses before definitions, of each kind that selection could stumble over. */
const disorders = {
  "a use before its definition": "  %a = add i64 %b, 1\n  %b = add i64 %n, 1\n  ret i64 %a",
  "a value made of itself": "  %a = add i64 %a, 1\n  ret i64 %a",
  "an address made of itself":
    "  %p = getelementptr i8, ptr %p, i64 8\n  %x = load i64, ptr %p\n  ret i64 %x",
  "a definition on another path":
    "  %c = icmp eq i64 %n, 1\n  br i1 %c, label %x, label %y\nx:\n  %v = mul i64 %n, %n\n  br label %y\ny:\n  ret i64 %v",
  "a phi that lacks a predecessor":
    "  %c = icmp eq i64 %n, 1\n  br i1 %c, label %x, label %y\nx:\n  br label %y\ny:\n  %v = phi i64 [ 1, %x ]\n  ret i64 %v",
};
const program = (body: string): string => `define i64 @main(i64 %n) {\n${body}\n}\n`;

async function run(
  contents: string | Uint8Array,
  name: string,
  options: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  writeFileSync(join(folder, name), contents);
  const words = [join(folder, name), "-o", "-", ...options];
  const { code, out, err } = await tscLto(words, { cwd: folder, env });
  return { code, out, err: err.replaceAll(`${folder}/`, "") };
}

describe.each(Object.entries(disorders))("%s", (_, body) => {
  it("in text", async () => {
    const { code, err, out } = await run(program(body), "a.ll");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/^tsc-lto: error: a\.ll: @main: .*(dominate its use|not the predecessors).*\n$/);
  });
  it.each([[["--only-passes=dce"]], [["--no-ipra", "--only-passes=dce"]], [["-O0"]], [["--verify"]]])(
    "in an object %j",
    async (options) => {
      const object = writeObject(parseModule(program(body), "a.c"));
      const { code, err, out } = await run(object, "a.o", options);
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toMatch(/^tsc-lto: error: .*@main: .*(dominate its use|not the predecessors).*\n$/);
    },
  );
});

describe("faults of the program", () => {
  const fails = (message: string): void =>
    void vi
      .spyOn(FunctionCompiler.prototype as unknown as { compile(): void }, "compile")
      .mockImplementation(() => {
        throw new TypeError(message);
      });

  it("name the function, without a stack trace", async () => {
    fails("boom");
    const { code, err, out } = await run(good, "good.ll");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toBe(
      "tsc-lto: error: internal error while compiling function 'main': boom\n" +
        ">>> a fault of tsc-lto, not of the input; the same command with -j1 --stack-trace shows where\n",
    );
  });
  it("show it on demand", async () => {
    fails("boom");
    const { err } = await run(good, "good.ll", ["--stack-trace"]);
    expect(err).toMatch(/TypeError: boom\n {4}at /);
    const asked = await run(good, "good.ll", [], { TSC_LTO_STACK_TRACE: "1" });
    expect(asked.err).toMatch(/TypeError: boom\n {4}at /);
  });
  it("are put down to the input where that is broken", async () => {
    fails("too deep");
    const object = writeObject(parseModule(program(disorders["a value made of itself"]), "a.c"));
    const { code, err } = await run(object, "a.o");
    expect(code).toBe(1);
    expect(err).toMatch(/^tsc-lto: error: a\.[co]: invalid IR: @main: .*dominate its use\n$/);
  });
  it("cross threads", () => {
    const fault = attempt(() => InternalError.in("compiling function", "f", () => [].at(0)!["x"]));
    expect(fault).toMatchObject({ failure: { ofInput: false, where: "while compiling function 'f'" } });
    const error = errorOf((fault as Extract<typeof fault, { failure: unknown }>).failure);
    expect(error).toBeInstanceOf(InternalError);
    const bad = attempt(() =>
      InternalError.in("compiling function", "f", () => {
        throw new InputError("bad", "a.o");
      }),
    );
    expect(errorOf((bad as Extract<typeof bad, { failure: unknown }>).failure)).toMatchObject({
      message: "bad",
      file: "a.o",
    });
  });
});

it("what the system refuses is one line", async () => {
  writeFileSync(join(folder, "good.ll"), good);
  const { code, err } = await tscLto([join(folder, "good.ll"), "-o", "/dev/full"], { cwd: folder, env: {} });
  expect({ code, err }).toEqual({
    code: 1,
    err: "tsc-lto: error: unable to write output file '/dev/full': 'No space left on device'\n",
  });
});
