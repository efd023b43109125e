/** What the pointer analysis finds of a call stays with the call. */
import { expect, it } from "vitest";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { readObject, writeObject } from "../../formats/object/index.js";
import { printModule } from "../../formats/text/printer.js";
import { CalleeSetNumbers } from "../../lto/codegen/program/callee-sets.js";
import { definedFunctions } from "../../lto/codegen/program/numbering.js";
import { planProgram } from "../../lto/codegen/program/plan.js";
import { CloneMap, cloneBlocks } from "../../lto/ir/clone.js";
import { type Body, isIndirectCall } from "../../lto/ir/instructions.js";
import type { Module } from "../../lto/ir/module.js";
import { raw } from "../../lto/ir/raw.js";
import { finish } from "../../lto/ir/steps.js";
import { x64Target } from "../../lto/x64/target.js";
import { codegenOptions, link } from "./compile.js";

const text = `target triple = "x86_64-unknown-linux-gnu"
@unknown = external global ptr
define internal i64 @f(i64 %x) noinline { ret i64 %x }
define internal i64 @g(i64 %x) noinline { ret i64 1 }
define internal i64 @site(ptr %p, ptr %q) noinline {
  %u = load ptr, ptr @unknown
  %a = call i64 %p(i64 1)
  %b = call i64 %u(i64 2)
  %c = call i64 %q(i64 3)
  ret i64 %a
}
define i64 @main() {
  %a = call i64 @site(ptr @f, ptr @g)
  %b = call i64 @site(ptr @f, ptr @f)
  ret i64 %b
}
`;

function planned(): {
  module: Module;
  numbers: (module: Module) => CalleeSetNumbers;
  spell: (body: Body) => string[];
} {
  const { module, summary } = link(text);
  const { indirect } = finish(planProgram(module, summary, codegenOptions, x64Target, bodyCodec()));
  const names = definedFunctions(module).map((fn) => fn.name);
  const spell = (body: Body): string[] =>
    body.blocks.flatMap(({ insts }) =>
      insts.filter(isIndirectCall).map(({ data, operands }) => {
        const set = indirect.sets[data.calleeSet!];
        const last = operands[1]!;
        const which = last.valueKind === "int" ? last.num : 0;
        return `${which}: ${set === undefined ? "?" : set.members.map((m) => names[m]).join(" ")}`;
      }),
    );
  return { module, numbers: (m) => new CalleeSetNumbers(definedFunctions(m), indirect.sets), spell };
}

const siteOf = (module: Module): Module["functions"][number] =>
  module.functions.find((f) => f.name === "site")!;

it("as a hint, in bodies that are encoded", () => {
  const { module, numbers, spell } = planned();
  const site = siteOf(module);
  site.commit(bodyCodec());
  expect(site.isDecoded).toBe(false);
  expect(printModule(module)).toMatch(/call i64 %0\(i64 1\), !callees !0/);
  expect(printModule(module)).toMatch(/^!0 = !\{ptr @f\}$/m);
  const body = site.take();
  numbers(module).resolve(body);
  expect(spell(body)).toEqual(["1: f", "2: ?", "3: f g"]);
});

it("in another process", () => {
  const { module, numbers, spell } = planned();
  const copy = readObject(writeObject(module), "linked");
  const body = siteOf(copy).take();
  numbers(copy).resolve(body);
  expect(spell(body)).toEqual(["1: f", "2: ?", "3: f g"]);
});

it("when calls change places, are copied, and come and go", () => {
  const { module, numbers, spell } = planned();
  const body = siteOf(module).take();
  const block = raw(body.blocks[0]!);
  const [load, a, b, c, ret] = block.insts;
  block.insts = [load!, c!, b!, ret!];
  const [copy] = cloneBlocks(body.blocks, new CloneMap());
  body.blocks.push(copy!);
  raw(body.blocks[0]!).insts.unshift(a!);
  numbers(module).resolve(body);
  expect(spell(body)).toEqual(["1: f", "3: f g", "2: ?", "3: f g", "2: ?"]);
});

it("where a member is gone, not at all", () => {
  const { module, numbers, spell } = planned();
  module.globals.splice(
    module.globals.findIndex((g) => g.name === "g"),
    1,
  );
  for (const fn of module.functions) if (fn.name === "main") fn.dropBody();
  const copy = readObject(writeObject(module), "linked");
  const body = siteOf(copy).take();
  numbers(copy).resolve(body);
  expect(spell(body).slice(1)).toEqual(["2: ?", "3: ?"]);
});
