/** Debug information in bitcode that is written: our reader and LLVM's tools find in it what was in the bitcode that was read. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { newestBitcode, oldestBitcode, writeBitcode } from "../../formats/bitcode/index.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import type { Module } from "../../lto/ir/module.js";
import { sameGraph } from "../support/debug-graph.js";
import { fixtureBytes } from "./fixture.js";

const fixtures = ["nodes-15.bc", "nodes-19.bc", "nodes-22.bc"];
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

describe.each(fixtures)("debug information of %s", (name) => {
  it.each([oldestBitcode, newestBitcode])("is there in bitcode for LLVM %i", (version) => {
    const before = read(fixtureBytes(name), name);
    const wanted = places(before);
    expect(wanted.filter((place) => place !== "").length).toBeGreaterThan(10);
    const after = read(writeBitcode(before, version), name);
    expect(places(after)).toEqual(wanted);
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
    expect(after.length).toBeGreaterThan(30);
    expect(nodesOf(given, version).filter((node) => !after.includes(node))).toEqual([]);
  });
});
