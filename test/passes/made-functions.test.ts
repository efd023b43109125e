/**
 * Functions that passes make of code of others, in modules that ask for one thing at a time, and in one that asks for
 * nothing: what is asked of the code is asked of the made function, nothing else is, and where that cannot be, none is made.
 */
import { describe, expect, it } from "vitest";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { parseModule, printFunction } from "../../formats/text/index.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { finish } from "../../lto/ir/steps.js";
import { onModule, runModulePipeline } from "../../lto/pass/module-pipeline.js";
import { noPassOptions } from "../../lto/pass/options.js";
import { may } from "../../lto/pass/pass.js";
import { PassRunner } from "../../lto/pass/runner.js";
import { passes } from "../../lto/pipeline/registry.js";
import { x64Costs } from "../../lto/x64/costs.js";

const numbers = [1, 2, 3, 4, 5, 6];

const declarations = `
declare void @effect(i32)
declare i32 @value(i32)
declare void @wide(i32, i64)
`;
/** @param asked of the functions whose code is made functions of, before the body */
type Source = (asked: string) => string;

const calls = Array.from({ length: 8 }, (_, i) => `  call void @effect(i32 ${100_001 + i})\n`).join("");
const pieces: Source = (asked) =>
  declarations +
  numbers
    .map((n) => `define void @f${n}() ${asked} {\n${calls}  call void @effect(i32 ${n})\n  ret void\n}\n`)
    .join("");
const regions: Source = (asked) =>
  declarations +
  numbers
    .map(
      (n) => `define void @f${n}(i32 %x) ${asked} {
  call void @effect(i32 ${n})
  %c = icmp sgt i32 %x, 1234567
  br i1 %c, label %a, label %b
a:
${calls}  br label %c1
b:
${calls.replaceAll("@effect(i32 1", "@effect(i32 2")}  br label %c1
c1:
  call void @effect(i32 %x)
  ret void
}
`,
    )
    .join("");
const constants: Source = (asked) =>
  declarations +
  numbers
    .map(
      (n) => `define void @f${n}(i32 %v) ${asked} {
  call void @wide(i32 %v, i64 81985529216486895)
  call void @effect(i32 ${n})
  ret void
}
`,
    )
    .join("");
const copies: Source = (asked) =>
  declarations +
  numbers
    .map(
      (n) => `define internal i32 @f${n}(i32 %x) ${asked} {
  %1 = call i32 @value(i32 %x)
  call void @effect(i32 ${n})
  %2 = mul i32 %1, %x
  call void @effect(i32 %2)
  %3 = xor i32 %2, %1
  call void @effect(i32 %3)
  call void @effect(i32 %x)
  ret i32 %3
}
define i32 @g${n}(i32 %x) {
  %1 = call i32 @f${n}(i32 %x)
  ret i32 %1
}
`,
    )
    .join("");

/** What becomes of a request: the made function has it, or does not, or is not made. */
type Fate = "has" | "not" | "none";
interface Maker {
  readonly pass: string;
  readonly source: Source;
  /** What made functions say by themselves. */
  readonly own: string;
  /** Of each request, in the order of the columns below. */
  readonly column: number;
}
const made = "minsize noinline optsize";
const makers: readonly Maker[] = [
  { pass: "ir-outline", source: pieces, own: made, column: 0 },
  { pass: "ir-outline-early", source: pieces, own: made, column: 0 },
  { pass: "ir-outline", source: regions, own: made, column: 0 },
  { pass: "constant-argument-thunks", source: constants, own: made, column: 1 },
  { pass: "merge-similar-functions", source: copies, own: "", column: 2 },
];

const requests: readonly (readonly [asked: string, ...fates: readonly Fate[]])[] = [
  // Code where it is now: pieces, jumps, whole functions.
  ["uwtable", "has", "has", "has"],
  ["uwtable(sync)", "has", "has", "has"],
  ["nounwind", "has", "has", "has"],
  ["null_pointer_is_valid", "has", "has", "has"],
  ["noredzone", "has", "has", "has"],
  ["nocf_check", "has", "has", "has"],
  ["fn_ret_thunk_extern", "has", "has", "has"],
  ['"target-cpu"="x86-64-v3"', "has", "has", "has"],
  ['"target-features"="+avx2,+bmi"', "has", "has", "has"],
  ['"target-features"="+retpoline-indirect-branches,+retpoline-indirect-calls"', "has", "has", "has"],
  ['"target-features"="+harden-sls-ret,+harden-sls-ijmp"', "has", "has", "has"],
  ['"min-legal-vector-width"="256"', "has", "has", "has"],
  ['"no-builtins"', "has", "has", "has"],
  ['"no-trapping-math"="true"', "has", "has", "has"],
  ['"no-jump-tables"="true"', "has", "has", "has"],
  ['"denormal-fp-math"="preserve-sign,preserve-sign"', "has", "has", "has"],
  ['"probe-stack"="inline-asm" "stack-probe-size"="8192"', "has", "has", "has"],
  ['"disable-tail-calls"="true"', "has", "none", "has"],
  ["cold", "has", "has", "has"],
  // Frames and returns, which a jump has none of.
  ["ssp", "has", "not", "has"],
  ["sspstrong", "has", "not", "has"],
  ["sspreq", "has", "not", "has"],
  ['"frame-pointer"="all"', "has", "not", "has"],
  ['"stackrealign"', "has", "not", "has"],
  ['"zero-call-used-regs"="used-gpr"', "has", "not", "has"],
  // Said of the body or of calls of it as a whole.
  ["mustprogress", "not", "not", "has"],
  ["nosync", "not", "not", "has"],
  ["norecurse", "not", "not", "has"],
  // Somebody counts on each instruction, or on each function.
  ["strictfp", "none", "none", "has"],
  ["sanitize_address", "none", "none", "has"],
  ["sanitize_thread", "none", "none", "has"],
  ["optnone noinline", "none", "none", "none"],
  ["presplitcoroutine", "none", "none", "none"],
  ["returns_twice", "none", "none", "none"],
  ["hot", "none", "none", "none"],
  ["nooutline", "none", "none", "has"],
  ['"noipa"', "none", "none", "none"],
  ['"fentry-call"="true"', "none", "none", "none"],
  ['"patchable-function-entry"="5"', "none", "none", "none"],
  ['"instrument-function-entry"="__cyg_profile_func_enter"', "none", "none", "none"],
  ['section ".init.text"', "none", "none", "not"],
  ['gc "statepoint-example"', "none", "none", "not"],
  ["prefix i32 7", "not", "not", "none"],
  ["prologue i32 7", "none", "none", "none"],
];

/** @returns the functions that it made */
function run(text: string, name: string): Func[] {
  const module = parseModule(text, "made.ll");
  const before = new Set(module.functions.map((fn) => fn.name));
  runPass(module, name);
  return module.functions.filter((fn) => !before.has(fn.name) && !fn.isDeclaration);
}

function runPass(module: Module, name: string): void {
  const services = { print: printFunction, now: () => 0, costs: x64Costs, thread: 0, log: () => {} };
  const runner = new PassRunner({ ...noPassOptions, verifyEach: true, enabled: [name] }, services, module);
  const pass = passes.find((p) => p.name === name)!;
  if (pass.level !== "module") throw new Error(`${name} is not of modules`);
  finish(
    runModulePipeline(runner, [onModule(may(pass))], module, bodyCodec(), () => "minsize", null, "anywhere"),
  );
}

/** Attributes of a function, sorted. */
function attributesOf({ attributes: { fn } }: Func): string[] {
  const kinds = [...fn.kinds].map(([kind, value]) =>
    kind === "uwtable" ? (value === 1 ? "uwtable(sync)" : "uwtable") : kind,
  );
  const strings = [...fn.strings].map(([key, value]) => `"${key}"${value === "" ? "" : `="${value}"`}`);
  return [...kinds, ...strings].sort();
}
const words = (text: string): string[] =>
  text === "" ? [] : [...new Set(text.match(/"[^"]*"(?:="[^"]*")?|[^\s"]+/g))].sort();

for (const { pass, source, own, column } of makers)
  describe(`${pass}, ${source === regions ? "with branches" : "straight"}`, () => {
    it("makes functions that ask for nothing if nobody does", () => {
      const functions = run(source(""), pass);
      expect(functions.length).toBeGreaterThan(0);
      for (const fn of functions) expect(attributesOf(fn)).toEqual(words(own));
    });
    it.each(requests)("%s", (asked, ...fates) => {
      const functions = run(source(asked), pass);
      if (fates[column] === "none") return expect(functions.map((fn) => fn.name)).toEqual([]);
      expect(functions.length).toBeGreaterThan(0);
      for (const fn of functions)
        expect(attributesOf(fn)).toEqual(words(fates[column] === "has" ? `${own} ${asked}` : own));
    });
  });

it("functions that were merged keep their section and their collector", () => {
  const functions = run(copies('section ".init.text" gc "statepoint-example"'), "merge-similar-functions");
  expect(functions.map((fn) => [fn.section, fn.gc, fn.comdat, fn.linkage])).toEqual([
    [".init.text", "statepoint-example", null, "internal"],
  ]);
});

describe("icf", () => {
  /** Twice the same, which nobody knows the address of. */
  const twice = (asked: string): string => copies(asked).replaceAll("@effect(i32 2)", "@effect(i32 1)");
  const left = (asked: string): string[] => {
    const module = parseModule(twice(asked), "folded.ll");
    runPass(module, "icf");
    return module.functions.filter((fn) => fn.isLocal && /^f[12]$/.test(fn.name)).map((fn) => fn.name);
  };
  it("makes copies one", () => expect(left("")).toHaveLength(1));
  it.each([
    '"fentry-call"="true"',
    '"patchable-function-entry"="5"',
    '"instrument-function-entry"="__cyg_profile_func_enter"',
    '"noipa"',
  ])("keeps both with %s", (asked) => expect(left(asked)).toHaveLength(2));
});
