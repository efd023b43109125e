/** Debug information in bitcode that is written: our reader and LLVM's tools find in it what was in the bitcode that was read. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { newestBitcode, oldestBitcode, writeBitcode } from "../../formats/bitcode/index.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { DebugRecord, Dw, forEachRecord } from "../../lto/ir/debug-records.js";
import { type BodyView, Op } from "../../lto/ir/instructions.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { constI32, type Value } from "../../lto/ir/values.js";
import { nodesBelow, sameGraph } from "../support/debug-graph.js";
import { fixtureBytes } from "./fixture.js";

const fixtures = ["nodes-15.bc", "nodes-19.bc", "nodes-22.bc", "labels-19.bc", "labels-22.bc"];
const directory = mkdtempSync(join(tmpdir(), "debug-writer-"));
afterAll(() => rmSync(directory, { recursive: true }));

function read(bytes: Uint8Array, name: string): Module {
  const module = readBitcode(bytes, name)[0]!;
  module.loadDebug();
  return module;
}

/** Locations of all instructions that have one. */
const places = (module: Module): string[] =>
  module.functions
    .filter((fn) => !fn.isDeclaration)
    .flatMap((fn) => fn.view().blocks.flatMap(({ insts }) => insts))
    .map(({ origin }) => module.origins!.locationOf(origin))
    .map((at) => (at === null ? "" : `${at.line}:${at.column} ${at.scope?.kind} ${at.inlinedAt?.line}`));

/** What is said of variables in a function, each with the position of its instruction. */
function sayings(fn: Func, module: Module): string[] {
  const body = fn.view();
  const insts = body.blocks.flatMap((block) => block.insts);
  const name = (value: Value): string => {
    if (value.valueKind === "inst") return `%${insts.indexOf(value)}`;
    if (value.valueKind === "argument") return `argument ${value.index}`;
    return value.valueKind === "int" ? String(value.value) : value.valueKind;
  };
  const found: string[] = [];
  forEachRecord(body, (record, anchor) => {
    const { name: variable } = module.origins!.variableOf(record.variable);
    const place = module.origins!.locationOf(record.origin);
    const kind = record.isLabel ? "label" : record.isDeclaration && record.isKnown ? "declare" : "value";
    const inlined = place?.inlinedAt?.line ?? "";
    const values = record.values.map(name).join();
    found.push(
      `${insts.indexOf(anchor)} ${kind} ${variable} ${inlined} [${record.expression.join()}] ${values}`,
    );
  });
  return found;
}
function sayingRecords(body: BodyView): DebugRecord[] {
  const found: DebugRecord[] = [];
  forEachRecord(body, (record) => found.push(record));
  return found;
}
const defined = (module: Module): Func[] => module.functions.filter((fn) => !fn.isDeclaration);

describe.each(fixtures)("debug information of %s", (name) => {
  it.each([oldestBitcode, newestBitcode])("is there in bitcode for LLVM %i", (version) => {
    const before = read(fixtureBytes(name), name);
    const wanted = places(before);
    expect(wanted.filter((place) => place !== "").length).toBeGreaterThan(10);
    const after = read(writeBitcode(before, version), name);
    expect(places(after)).toEqual(wanted);
    const said = defined(before).map((fn) => sayings(fn, before));
    expect(said.flat().length).toBeGreaterThan(5);
    expect(defined(after).map((fn) => sayings(fn, after))).toEqual(said);
    if (version === newestBitcode) expect(sameGraph(before.debugUnits!, after.debugUnits!)).toBe(true);
    for (const [i, global] of before.globals.entries()) {
      const other = after.globals[i]!;
      if (global.kind === "function" && other.kind === "function")
        expect(other.subprogram?.name).toBe(global.subprogram?.name);
      if (global.kind === "variable" && other.kind === "variable")
        expect(other.debug.map((entry) => entry.var?.name)).toEqual(
          global.debug.map((entry) => entry.var?.name),
        );
    }
  });
});

describe("what LLVM would not have", () => {
  const version = 19;
  const main = (module: Module): Func => module.functions.find(({ name }) => name === "main")!;
  /** What comes of an expression for a value of the first parameter, or of no value. */
  function said(
    expression: readonly number[],
    to: number,
    isKnown = true,
    values?: (fn: Func) => readonly Value[],
  ): string[] {
    const module = read(fixtureBytes("nodes-22.bc"), "nodes-22.bc");
    const fn = main(module);
    const body = fn.rewrite();
    const first = body.blocks[0]!.insts[0]!;
    const [parameter] = first.debug!;
    parameter!.expression = expression;
    if (!isKnown) parameter!.values = [];
    if (values !== undefined) parameter!.values = values(fn);
    first.debug = [parameter!];
    const other = read(writeBitcode(module, to), "again.bc");
    return sayings(main(other), other).filter((line) => /^0 /.test(line));
  }

  it("is said otherwise, or not", () => {
    expect(said([], version)).toEqual(["0 value argc  [] argument 0"]);
    // A part that is the whole, and one that is none.
    expect(said([Dw.Fragment, 0, 32], version)).toEqual(["0 value argc  [] argument 0"]);
    expect(said([Dw.Fragment, 16, 32], version)).toEqual([]);
    const half = [Dw.Fragment, 16, 16];
    expect(said(half, version)).toEqual([`0 value argc  [${half}] argument 0`]);
    expect(said(half, version, false)).toEqual([`0 value argc  [${half}] `]);
    const bits = [Dw.ExtractBitsZext, 4, 8, Dw.StackValue];
    expect(said(bits, version)).toEqual([`0 value argc  [${bits}] argument 0`]);
    expect(said(bits, 18)).toEqual(["0 value argc  [] "]);
  });

  it.each([oldestBitcode, newestBitcode])("names several values in bitcode for LLVM %i", (to) => {
    const list = [Dw.Arg, 0, Dw.Convert, 32, 5, Dw.Convert, 64, 5, Dw.Arg, 1, Dw.Plus, Dw.StackValue];
    const both = ({ args }: Func): Value[] => [args[0]!, args[1]!];
    expect(said(list, to, true, both)).toEqual([`0 value argc  [${list}] argument 0,argument 1`]);
    // One that is not there.
    expect(said(list, to, true, ({ args }) => [args[0]!])).toEqual(["0 value argc  [] "]);
    // LLVM puts zero in places of what does not matter for code, and goes on to name it.
    expect(said(list, to, true, ({ args }) => [args[0]!, constI32(0)])).toEqual(["0 value argc  [] "]);
    // A list of one is that value.
    const one = [Dw.Arg, 0, Dw.PlusUconst, 4, Dw.StackValue];
    expect(said(one, to)).toEqual([`0 value argc  [${one.slice(2)}] argument 0`]);
  });

  it.each([
    [17, 0x0d],
    [18, 0x34],
  ])("has static members for LLVM %i under the tag that it knows", (to, tag) => {
    const module = read(fixtureBytes("nodes-22.bc"), "nodes-22.bc");
    const members = (of: Module) =>
      nodesBelow(of.debugUnits!).filter(
        (node) => node.kind === "DIDerivedType" && (node.flags & 0x1000) !== 0,
      );
    expect(members(module)).not.toEqual([]);
    const written = members(read(writeBitcode(module, to), "again.bc"));
    expect(written.map((node) => "tag" in node && node.tag)).toEqual(written.map(() => tag));
    expect(written).toHaveLength(members(module).length);
  });

  it("does not stand in front of what begins a block", () => {
    const module = read(fixtureBytes("nodes-15.bc"), "nodes-15.bc");
    const fn = defined(module).find((each) =>
      each.view().blocks.some((block) => block.insts[0]!.op === Op.Phi),
    );
    const body = fn!.rewrite();
    const block = body.blocks.find(({ insts }) => insts[0]!.op === Op.Phi)!;
    const [record] = sayingRecords(body);
    for (const inst of body.blocks.flatMap(({ insts }) => insts)) inst.debug = null;
    block.insts[0]!.debug = [new DebugRecord(record!.variable, [], [constI32(7)], false, record!.origin)];
    const other = read(writeBitcode(module, version), "again.bc");
    const after = other.functions.find(({ name }) => name === fn!.name)!.view();
    const anchors = after.blocks.flatMap(({ insts }) => insts).filter(({ debug }) => debug !== null);
    expect(anchors.map(({ debug }) => debug![0]!.values.map((value) => "num" in value && value.num))).toEqual(
      [[7]],
    );
    expect(anchors[0]!.op).not.toBe(Op.Phi);
  });
});

const has = (tool: string): boolean => spawnSync(tool, ["--version"]).status === 0;
const versions = [15, 16, 17, 18, 19, 20, 21, 22].filter((n) => has(`opt-${n}`) && has(`llvm-dis-${n}`));

/** What a tool prints; nothing on its other stream. */
function run(tool: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(tool, args, { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

/**
 * Nodes as LLVM prints them, whatever their numbers, each once. Without locations, which those of variables have too, and
 * without groups of statements.
 */
function nodesOf(bitcode: string, version: number): string[] {
  const lines = run(`llvm-dis-${version}`, bitcode, "-o", "-").split("\n");
  const nodes = lines
    .filter((line) => /^!\d+ = .*!DI(?!Location)\w+\(/.test(line))
    .map((line) =>
      line
        .replace(/^!\d+ = /, "")
        .replace(/!\d+/g, "!N")
        .replace(", keyInstructions: true", ""),
    );
  return [...new Set(nodes)].sort();
}

describe.each(versions)("LLVM %i", (version) => {
  const readable = fixtures.filter((name) => Number(/\d+/.exec(name)![0]) <= version);
  it.each(readable)("takes the debug information of %s for valid", (name) => {
    const [given, written] = [join(directory, "given.bc"), join(directory, "written.bc")];
    writeFileSync(given, fixtureBytes(name));
    writeFileSync(written, writeBitcode(read(fixtureBytes(name), name), version));
    // Broken debug information is dropped with a warning.
    run(`opt-${version}`, "-passes=verify", "-disable-output", written);
    const after = nodesOf(written, version);
    expect(after.length).toBeGreaterThan(10);
    expect(nodesOf(given, version).filter((node) => !after.includes(node))).toEqual([]);
    const labels = (file: string): number =>
      run(`llvm-dis-${version}`, file, "-o", "-").match(/^\s+(#dbg_label|call void @llvm\.dbg\.label)\(/gm)
        ?.length ?? 0;
    expect(labels(written)).toBe(labels(given));
    if (name.startsWith("labels")) expect(labels(written)).toBeGreaterThan(1);
  });
});
