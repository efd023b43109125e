/** What is said of source variables by passes that copy code: of which copy. */
import { expect, it } from "vitest";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { parseModule, printFunction } from "../../formats/text/index.js";
import { DebugRecord } from "../../lto/ir/debug-records.js";
import { Op } from "../../lto/ir/instructions.js";
import { finish } from "../../lto/ir/steps.js";
import { loopUnroll } from "../../lto/opt/loop-unroll/index.js";
import { onFunctions, runModulePipeline } from "../../lto/pass/module-pipeline.js";
import { noPassOptions } from "../../lto/pass/options.js";
import { may } from "../../lto/pass/pass.js";
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

// Written out whole, and some rounds of it.
it.each([4, 4000])("what is said after a loop of %i rounds is of its last one", (rounds) => {
  const module = parseModule(source(rounds), "test.ll");
  const fn = module.functions[0]!;
  const editor = fn.edit();
  const end = editor.body.blocks[2]!.terminator;
  const sum = end.operands[0]!;
  editor.addRecords(end, [new DebugRecord(0, [], [sum], false, 0)]);
  const services = { print: printFunction, now: () => 0, costs: x64Costs, thread: 0, log: () => {} };
  const runner = new PassRunner(noPassOptions, services, module);
  finish(runModulePipeline(runner, [onFunctions(may(loopUnroll))], module, bodyCodec(), () => "speed"));
  const { blocks } = fn.view();
  expect(blocks.flatMap(({ insts }) => insts).filter(({ op }) => op === Op.Mul).length).toBeGreaterThan(1);
  const ret = blocks.flatMap(({ insts }) => insts).find(({ op }) => op === Op.Ret)!;
  expect(ret.operands[0]).not.toBe(sum);
  expect(ret.debug!.map(({ values }) => values)).toEqual([[ret.operands[0]]]);
});
