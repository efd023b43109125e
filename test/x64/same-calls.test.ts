/** Calls are the same only if all that they promise is: a field that comparing forgets would be lost where code is shared. */
import { expect, test } from "vitest";
import { type CallInfo, MBlock, MInst, routineCall } from "../../lto/codegen/mir.js";
import { sameInst } from "../../lto/codegen/same-inst.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { X } from "../../lto/x64/isa/ops.js";

const call = (extra: CallInfo): MInst => {
  const inst = new MInst(X.Call, 8);
  inst.extra = extra;
  return inst;
};

/** Another value of each field. */
const others: { readonly [K in Exclude<keyof CallInfo, "kind">]: CallInfo[K] } = {
  callee: { name: "other" } as GlobalValue,
  calleeSet: 3,
  noReturn: true,
  returnsTwice: true,
  unwind: new MBlock(1),
  noUnwind: false,
  pushed: 8,
  hasStored: true,
};

test("calls that differ in one field are not the same", () => {
  const same = { ...routineCall };
  expect(sameInst(call(routineCall), call(same))).toBe(true);
  for (const [field, value] of Object.entries(others))
    expect(sameInst(call(routineCall), call({ ...routineCall, [field]: value })), field).toBe(false);
  expect(Object.keys(others).sort()).toEqual(
    Object.keys(routineCall)
      .filter((field) => field !== "kind")
      .sort(),
  );
});
