/** A summary is brought up to date after edits, without another look at what did not change. */
import { expect, it } from "vitest";
import { readObjectContents, writeObject } from "../../formats/object/index.js";
import { parseModule } from "../../formats/text/index.js";
import { type ModuleSummary, summarizeModule, updatedSummary } from "../../lto/analysis/summary.js";
import { Op } from "../../lto/ir/instructions.js";

const source = `@x = global ptr @f
define void @f() {
  call void @g()
  ret void
}
define void @h() {
  call void @f()
  call void @f()
  ret void
}
declare void @g()
`;
const plain = (summary: ModuleSummary): unknown => summary.symbols.map(({ hash: _, ...rest }) => rest);

it("an updated summary equals a new one", () => {
  const { module, summary } = readObjectContents(writeObject(parseModule(source, "a.ll")), "a.o");
  const [f, h, g] = module.functions;
  expect(plain(updatedSummary(module, summary))).toEqual(plain(summarizeModule(module)));
  const before = [...module.globals];
  const editor = h!.edit();
  for (const call of editor.body.blocks[0]!.insts) if (call.op === Op.Call) editor.setOperand(call, 0, g!);
  // The list of globals changes as well.
  module.globals.reverse();
  f!.release();
  module.pinned.add(before[1]!);
  const updated = updatedSummary(module, summary, before);
  expect(f!.isDecoded).toBe(false);
  expect(plain(updated)).toEqual(plain(summarizeModule(module)));
  expect(updated.pinned).toEqual([module.globals.indexOf(before[1]!)]);
  expect(updated.symbols[module.globals.indexOf(h!)]!.calls).toEqual([module.globals.indexOf(g!)]);
});
