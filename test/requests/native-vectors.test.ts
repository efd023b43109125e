/** Wide vectors that compilers pass each in its own way: refused where native code is on the other side, as they are where none is. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import { x64Target } from "../../lto/x64/target.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = join(folder, "a.ll");

/** What `tsc-lto` says of a program. */
async function messages(text: string, flags: readonly string[] = []): Promise<string> {
  writeFileSync(path, text);
  const { code, err } = await tscLto([path, "-o", join(folder, "a.s"), ...flags], { cwd: folder, env: {} });
  expect(code).toBe(err.includes("error") ? 1 : 0);
  return err.replaceAll(`${folder}/`, "");
}

const avx = '"target-features"="+avx512f,+sse2"';
const main = (body: string, attributes = avx): string =>
  `define i32 @main() ${attributes} {\n${body}\n  ret i32 0\n}\n`;
const refusal = (construct: string, fn = "main"): string =>
  `tsc-lto: error: a.ll: unsupported: ${construct} (in function '${fn}')\n`;
const inCall = (what: string, callee = "'g'"): string =>
  refusal(`${what}, in a call of ${callee}, which may be native code`);
const exported = (what: string): string => refusal(`${what}, of a function that native code may call`, "f");

describe("refused", () => {
  it.each([
    ["<12 x float>"],
    ["<6 x double>"],
    ["<40 x i8>"],
    ["<24 x half>"],
    ["<24 x bfloat>"],
    ["<12 x i32>"],
    ["<64 x i1>"],
    ["<3 x double>"],
    ["<7 x ptr>"],
  ])("calls of native functions: %s", async (type) => {
    expect(
      await messages(`declare void @g(${type})\n${main(`  call void @g(${type} zeroinitializer)`)}`),
    ).toBe(inCall(`argument of type ${type}`));
    expect(await messages(`declare ${type} @g()\n${main(`  %r = call ${type} @g()`)}`)).toBe(
      inCall(`result of type ${type}`),
    );
  });
  it("members of aggregates", async () => {
    const type = "{ i32, [2 x <12 x float>] }";
    expect(await messages(`declare ${type} @g()\n${main(`  %r = call ${type} @g()`)}`)).toBe(
      inCall("result of type <12 x float>"),
    );
  });
  it("each function once", async () => {
    const call = "  %a = call <12 x float> @g()\n  %b = call <6 x double> @h()";
    const text = `declare <12 x float> @g()\ndeclare <6 x double> @h()\n${main(`  call void @f()\n${call}`)}
define void @f() noinline ${avx} {\n${call}\n  ret void\n}`;
    expect((await messages(text)).trimEnd().split("\n")).toEqual([
      inCall("result of type <12 x float>").trimEnd(),
      inCall("result of type <12 x float>").replace("'main'", "'f'").trimEnd(),
    ]);
  });
  it("invokes, aliases and indirect functions", async () => {
    const cleanup = `next:\n  ret i32 0\nelse:\n  %l = landingpad { ptr, i32 } cleanup\n  resume { ptr, i32 } %l\n}`;
    const personality = "personality ptr @__gxx_personality_v0";
    expect(
      await messages(`declare void @g(<12 x float>)\ndeclare i32 @__gxx_personality_v0(...)
define i32 @main() ${avx} ${personality} {
  invoke void @g(<12 x float> zeroinitializer) to label %next unwind label %else
${cleanup}`),
    ).toBe(inCall("argument of type <12 x float>"));
    expect(
      await messages(`@g = ifunc void (<12 x float>), ptr @choose
define ptr @choose() {\n  ret ptr null\n}
${main("  call void @g(<12 x float> zeroinitializer)")}`),
    ).toBe(inCall("argument of type <12 x float>"));
  });
  it("calls through pointers from elsewhere", async () => {
    expect(
      await messages(
        `declare ptr @find()\n${main("  %g = call ptr @find()\n  call void %g(<12 x float> zeroinitializer)")}`,
      ),
    ).toBe(inCall("argument of type <12 x float>", "a pointer"));
  });
  const f = (linkage = ""): string =>
    `define ${linkage} <12 x float> @f(<12 x float> %x) noinline ${avx} {\n  %r = fadd <12 x float> %x, %x\n  ret <12 x float> %r\n}\n`;
  it("functions whose addresses are given away", async () => {
    expect(
      await messages(`declare void @take(ptr)\n${main("  call void @take(ptr @f)")}${f("internal")}`),
    ).toBe(exported("result of type <12 x float>"));
  });
  it("functions that assembly mentions", async () => {
    expect(
      await messages(
        `@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"\n${f()}${main("")}`,
      ),
    ).toBe(exported("result of type <12 x float>"));
  });
  it.each(["--shared", "-r", "--export-dynamic"])("functions that %s exports", async (flag) => {
    expect(await messages(`${f()}${main("")}`, [flag])).toBe(exported("result of type <12 x float>"));
  });
  it("variable arguments, since they are read where the platform has them", async () => {
    expect(
      await messages(
        `declare void @llvm.va_start(ptr)\ndeclare void @use(ptr)
define internal void @f(i32 %n, ...) noinline ${avx} {
  %l = alloca [3 x i64]
  call void @llvm.va_start(ptr %l)
  call void @use(ptr %l)
  ret void\n}\n${main("  call void (i32, ...) @f(i32 1, <12 x float> zeroinitializer)")}`,
      ),
    ).toBe(refusal("variable argument of type <12 x float>"));
  });
});

describe("left as they are", () => {
  const call = `declare void @g(<16 x float>)\n`;
  const body = "  call void @g(<16 x float> zeroinitializer)";
  it.each(["", '"target-features"="+sse4.2"', '"target-cpu"="x86-64-v2"', '"target-features"="+avx2,-avx"'])(
    "without AVX, where LLVM uses pairs of registers, too: %s",
    async (attributes) => {
      expect(await messages(call + main(body, attributes))).toBe("");
    },
  );
  it.each(['"target-features"="+fma"', '"target-cpu"="haswell"', '"target-features"="+avx512f,-avx512f"'])(
    "with AVX, where LLVM uses pairs of wider registers, too: %s",
    async (attributes) => {
      expect(await messages(call + main(body, attributes))).toBe("");
    },
  );
  it.each(['"target-features"="+avx512bw"', '"target-cpu"="x86-64-v4"'])(
    "with AVX-512, where both use the widest registers: %s",
    async (attributes) => {
      expect(await messages(call + main(body, attributes))).toBe("");
    },
  );
  it("but not with a processor that nobody knows", async () => {
    expect(await messages(call + main(body, '"target-cpu"="unheard-of"'))).toBe(
      inCall("argument of type <16 x float>"),
    );
  });
  it.each([
    "<16 x float>",
    "<64 x i8>",
    "<32 x half>",
    "<8 x ptr>",
    "<8 x float>",
    "<4 x i64>",
    "<16 x half>",
    "<4 x float>",
    "<2 x i64>",
    "<16 x i1>",
    "<3 x i8>",
    "<8 x half>",
    "<2 x fp128>",
    "<2 x i128>",
  ])("calls of native functions: %s", async (type) => {
    expect(
      await messages(`declare void @g(${type})\n${main(`  call void @g(${type} zeroinitializer)`)}`),
    ).toBe("");
  });
  it.each(["-O0", "-O2", "-Oz"])(
    "code that only the program calls, directly and by pointers, at %s",
    async (level) => {
      const text = `
@table = internal global [2 x ptr] [ptr @twice, ptr @next]
@index = global i32 1
define internal <8 x i32> @twice(<8 x i32> %x) noinline ${avx} {
  %r = add <8 x i32> %x, %x
  ret <8 x i32> %r
}
define internal <8 x i32> @next(<8 x i32> %x) noinline ${avx} {
  %r = add <8 x i32> %x, <i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8>
  ret <8 x i32> %r
}
define i32 @main() ${avx} {
  %i = load volatile i32, ptr @index
  %p = getelementptr [2 x ptr], ptr @table, i32 0, i32 %i
  %f = load ptr, ptr %p
  %v = insertelement <8 x i32> zeroinitializer, i32 %i, i32 7
  %a = call <8 x i32> %f(<8 x i32> %v)
  %b = call <8 x i32> @twice(<8 x i32> %a)
  %l = extractelement <8 x i32> %b, i32 7
  %m = extractelement <8 x i32> %b, i32 0
  %d = mul i32 %l, 10
  %s = add i32 %d, %m
  ret i32 %s
}`;
      expect(await messages(text, [level])).toBe("");
      execFileSync("cc", ["-no-pie", join(folder, "a.s"), "-o", join(folder, "a")]);
      let status = 0;
      try {
        execFileSync(join(folder, "a"));
      } catch (e) {
        ({ status } = e as { status: number });
      }
      expect(status).toBe(182);
    },
  );
});

it("calls between functions with and without AVX that pass what is wider than 128 bits are refused", async () => {
  const pass = (type: string): string =>
    `@place = global ${type} zeroinitializer
define internal void @f(${type} %x) noinline "target-features"="+avx" {
  store volatile ${type} %x, ptr @place\n  ret void\n}
${main(`  %v = load volatile ${type}, ptr @place\n  call void @f(${type} %v)`, "")}`;
  expect(await messages(pass("<8 x i32>"))).toBe(
    refusal("argument of type <8 x i32>, in a call of 'f', which has other vector registers"),
  );
  expect(await messages(pass("<4 x i32>"))).toBe("");
});

it("those between functions with AVX and AVX-512 where both have registers that are wide enough are not", async () => {
  const pass = (type: string): string =>
    `@place = global ${type} zeroinitializer
define internal void @f(${type} %x) noinline "target-features"="+avx2" {
  store volatile ${type} %x, ptr @place\n  ret void\n}
${main(`  %v = load volatile ${type}, ptr @place\n  call void @f(${type} %v)`)}`;
  expect(await messages(pass("<8 x i32>"))).toBe("");
  expect(await messages(pass("<16 x i32>"))).toBe(
    refusal("argument of type <16 x i32>, in a call of 'f', which has other vector registers"),
  );
});

it("vectors of 128 bits and less, whatever they are promoted to", () => {
  const { disputed } = x64Target.boundary;
  const found = (text: string): boolean => {
    const [fn] = parseModule(`declare void @f(${text})`, "a.ll").functions;
    return disputed(fn!.valueType.parameters[0]!, 0, 1) !== null;
  };
  // As llc 22 passes them with +avx: in an xmm register or element by element; in a ymm register or more.
  for (const narrow of [
    "<6 x i16>",
    "<2 x i48>",
    "<16 x i4>",
    "<4 x i24>",
    "<1 x double>",
    "<1 x i1>",
    "<13 x i1>",
  ])
    expect(found(narrow), narrow).toBe(false);
  for (const wide of [
    "<5 x float>",
    "<9 x half>",
    "<17 x i8>",
    "<9 x i16>",
    "<8 x i24>",
    "<4 x i48>",
    "<32 x i4>",
  ])
    expect(found(wide), wide).toBe(true);
});
