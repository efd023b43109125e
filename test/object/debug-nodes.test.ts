/** Debug information comes through the object format as it was. */
import { describe, expect, it } from "vitest";
import { readObject, writeObject } from "../../formats/object/index.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { isLocalScope, membersOf, subprogramOf } from "../../lto/ir/debug/nodes.js";
import { Uniquer } from "../../lto/ir/debug/unique.js";
import type { Module } from "../../lto/ir/module.js";
import { fixtureBytes } from "../bitcode/fixture.js";
import { sameGraph } from "../support/debug-graph.js";

function loaded(name: string): Module {
  const module = readBitcode(fixtureBytes(name), name)[0]!;
  module.loadDebug();
  return module;
}

describe.each(["nodes-15.bc", "nodes-19.bc", "nodes-22.bc"])("debug information of %s", (name) => {
  const before = loaded(name);
  const after = readObject(writeObject(before), name);
  after.loadDebug();

  it("is the same in an object", () => {
    expect(after.debugUnits!.length).toBe(before.debugUnits!.length);
    expect(sameGraph(before.debugUnits!, after.debugUnits!)).toBe(true);
    for (const [i, global] of before.globals.entries()) {
      const other = after.globals[i]!;
      if (global.kind === "function" && other.kind === "function")
        expect(sameGraph([global.subprogram], [other.subprogram])).toBe(true);
      if (global.kind === "variable" && other.kind === "variable")
        expect(sameGraph(global.debug, other.debug)).toBe(true);
    }
  });

  it("is found where functions and variables have it", () => {
    const fn = after.functions.find(({ name }) => name === "main")!;
    expect(fn.subprogram?.name).toBe("main");
    const variable = membersOf(fn.subprogram!.retainedNodes).find((node) => node.kind === "DILocalVariable")!;
    expect(isLocalScope(variable.scope) ? subprogramOf(variable.scope) : null).toBe(fn.subprogram);
    const hidden = after.variables.find(({ name }) => name.includes("hidden"))!;
    expect(hidden.debug.map((entry) => entry.var?.name)).toEqual(["hidden"]);
  });
});

describe("debug information of two modules", () => {
  const modules = ["nodes-22.bc", "nodes-19.bc"].map(loaded);
  const uniquer = new Uniquer();
  const [one, other] = modules.map(({ debugUnits }) => uniquer.of(debugUnits![0]!));

  it("has types with identifiers once, and units twice", () => {
    expect(one).not.toBe(other);
    const types = [one!, other!].map((unit) =>
      membersOf(unit.enums).find((node) => node.kind === "DICompositeType" && node.identifier !== ""),
    );
    expect(types[0]).toBeDefined();
    expect(types[0]).toBe(types[1]);
  });
});
