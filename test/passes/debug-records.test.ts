/** What is said of source variables by passes that copy code: of which copy. */
import { expect, it } from "vitest";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { parseModule, printFunction } from "../../formats/text/index.js";
import { DebugRecord } from "../../lto/ir/debug-records.js";
import { Op } from "../../lto/ir/instructions.js";
import type { Module } from "../../lto/ir/module.js";
import { finish } from "../../lto/ir/steps.js";
import { loopRotate } from "../../lto/opt/loop-rotate.js";
import { loopUnroll } from "../../lto/opt/loop-unroll/index.js";
import { sroa } from "../../lto/opt/sroa/index.js";
import { onFunctions, runModulePipeline } from "../../lto/pass/module-pipeline.js";
import { noPassOptions } from "../../lto/pass/options.js";
import { type FunctionPass, may } from "../../lto/pass/pass.js";
import { PassRunner } from "../../lto/pass/runner.js";
import { x64Costs } from "../../lto/x64/costs.js";

const source = (rounds: number): string => `
define i32 @f(i32 %x) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %loop ]
  %s = phi i32 [ %x, %entry ], [ %s1, %loop ]
  %s1 = mul i32 %s, 31
  %i1 = add nuw nsw i32 %i, 1
  %more = icmp ult i32 %i1, ${rounds}
  br i1 %more, label %loop, label %end
end:
  ret i32 %s1
}
`;

function run(module: Module, pass: FunctionPass): void {
  const services = { print: printFunction, now: () => 0, costs: x64Costs, thread: 0, log: () => {} };
  const runner = new PassRunner(noPassOptions, services, module);
  finish(runModulePipeline(runner, [onFunctions(may(pass))], module, bodyCodec(), () => "speed"));
}

// Clang stores parameters before it says where they are.
it("what is stored in front of a declaration is the variable's value behind it", () => {
  const text = `
define i32 @f(i32 %x) {
  %a = alloca i32
  store i32 %x, ptr %a
  %v = load i32, ptr %a
  ret i32 %v
}
`;
  const module = parseModule(text, "test.ll");
  const fn = module.functions[0]!;
  const editor = fn.edit();
  const { insts } = editor.body.blocks[0]!;
  editor.addRecords(insts[2]!, [new DebugRecord(0, [], [insts[0]!], true, 0)]);
  run(module, sroa);
  const [ret] = fn.view().blocks[0]!.insts;
  expect(ret!.op).toBe(Op.Ret);
  expect(ret!.debug!.map(({ values, isDeclaration }) => ({ values, isDeclaration }))).toEqual([
    { values: [ret!.operands[0]], isDeclaration: false },
  ]);
});

// Written out whole, and some rounds of it.
it.each([4, 4000])("what is said after a loop of %i rounds is of its last one", (rounds) => {
  const module = parseModule(source(rounds), "test.ll");
  const fn = module.functions[0]!;
  const editor = fn.edit();
  const end = editor.body.blocks[2]!.terminator;
  const sum = end.operands[0]!;
  editor.addRecords(end, [new DebugRecord(0, [], [sum], false, 0)]);
  run(module, loopUnroll);
  const { blocks } = fn.view();
  expect(blocks.flatMap(({ insts }) => insts).filter(({ op }) => op === Op.Mul).length).toBeGreaterThan(1);
  const ret = blocks.flatMap(({ insts }) => insts).find(({ op }) => op === Op.Ret)!;
  expect(ret.operands[0]).not.toBe(sum);
  expect(ret.debug!.map(({ values }) => values)).toEqual([[ret.operands[0]]]);
});

// A loop is entered behind its head, where the head says what its counter is.
it("what the head of a loop says holds in a loop that is entered behind it", () => {
  const text = `
declare void @use(i32)
define void @f() {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %body ]
  %c = icmp ne i32 %i, 61
  br i1 %c, label %body, label %end
body:
  call void @use(i32 %i)
  %j = add i32 %i, 1
  br label %head
end:
  ret void
}
`;
  const module = parseModule(text, "test.ll");
  const fn = module.functions.find(({ isDeclaration }) => !isDeclaration)!;
  const editor = fn.edit();
  const [, head, body] = editor.body.blocks;
  const [counter, condition] = head!.insts;
  editor.addRecords(condition!, [
    new DebugRecord(0, [], [counter!], false, 0),
    new DebugRecord(1, [], [condition!], false, 0),
  ]);
  editor.addRecords(body!.insts[1]!, [new DebugRecord(2, [], [counter!], false, 0)]);
  run(module, loopRotate);
  const call = fn.view().blocks.flatMap(({ insts }) => insts.filter(({ op }) => op === Op.Call))[0]!;
  const [phi] = call.parent!.insts;
  expect(phi!.op).toBe(Op.Phi);
  expect(call.operands[1]).toBe(phi);
  expect(call.debug!.map(({ variable, values }) => ({ variable, values }))).toEqual([
    { variable: 0, values: [phi] },
    { variable: 1, values: [] },
  ]);
  expect(call.parent!.insts[2]!.debug!.map(({ values }) => values)).toEqual([[phi]]);
});
