/**
 * Exception tables beside clang's: for every call of every function of the C++ fixtures, whether an exception that
 * leaves it ends the program, passes, or enters a landing pad, and for which types. Both come from the same bitcode,
 * without optimisation, so that calls can be told by what they call. (Left out is what clang still inlines then.)
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Action, readCallSites } from "../../formats/code/call-sites.js";
import { type FrameInfo, readFrameInfo } from "../../formats/code/frame-info.js";
import { type CodeObject, readCodeObject } from "../../formats/code/object.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { isCall } from "../../lto/ir/instructions.js";
import { temporaryFolder, tscLto } from "../support/command.js";
import { hasCxxLibrary, listFixtures } from "../tools/fixtures.js";
import { findClang } from "../tools/toolchain.js";

const clang = findClang();
const scratch = temporaryFolder();
const fixtures = listFixtures(join(import.meta.dirname, "..", "..", "fixtures", "cpp")).filter(
  ({ sources, name }) => sources.length === 1 && name !== "library" && name !== "coroutines",
);

function show(action: Action): string {
  switch (action.kind) {
    case "cleanup":
      return "cleanup";
    case "catch":
      return `catch ${action.type || "all"}`;
    case "filter":
      return `filter(${action.types.join(",")})`;
  }
}

/** What happens to exceptions at each direct call of a function: sorted, as calls may stand in another order. */
function callsOf(object: CodeObject, info: FrameInfo): string[] {
  const entries = info.table === null ? null : readCallSites(object, info.table.section, info.table.offset);
  const { relocations, bytes } = object.sections[info.section]!;
  const calls: string[] = [];
  for (const { offset, symbol, type } of relocations) {
    if (offset < info.start || offset >= info.start + info.size) continue;
    // call rel32: PC32 or PLT32 after 0xe8.
    if ((type !== 2 && type !== 4) || bytes[offset - 1] !== 0xe8) continue;
    const place = offset + 3 - info.start;
    const entry = entries?.find(({ start, end }) => start <= place && place < end);
    const outcome =
      entries === null
        ? "passes"
        : entry === undefined
          ? "ends"
          : entry.pad < 0
            ? "passes"
            : entry.actions.map(show).join("; ");
    calls.push(`${symbol.name}: ${outcome}`);
  }
  return calls.sort();
}

function tablesOf(file: string): Map<string, string[]> {
  const object = readCodeObject(readFileSync(file));
  const names = new Map<string, string>();
  for (const { kind, section, value, name } of object.symbols)
    if (kind === "function") names.set(`${section}:${value}`, name);
  const found = new Map<string, string[]>();
  for (const info of readFrameInfo(object)) {
    const name = names.get(`${info.section}:${info.start}`);
    if (name !== undefined && info.table !== null) found.set(name, callsOf(object, info));
  }
  return found;
}

/** By function: callees of calls that cannot throw. */
function nounwindCalls(file: string): Map<string, Set<string>> {
  const [module] = readBitcode(readFileSync(file), file);
  const found = new Map<string, Set<string>>();
  for (const fn of module!.functions) {
    if (fn.isDeclaration) continue;
    const callees = new Set<string>();
    for (const { insts } of fn.view().blocks)
      for (const inst of insts) {
        if (!isCall(inst)) continue;
        const callee = inst.operands[0]!;
        if (callee.valueKind !== "global" || callee.kind !== "function") continue;
        if (inst.data.attributes.fn.has("nounwind") || callee.attributes.fn.has("nounwind"))
          callees.add(callee.name);
      }
    found.set(fn.name, callees);
  }
  return found;
}

/** Calls of the run-time library that no IR names. */
const runtime = /^(memcpy|memset|memmove):/;

describe.skipIf(clang === undefined || !hasCxxLibrary())("exception tables say what clang's say", () => {
  for (const model of ["static", "pic"] as const)
    for (const fixture of fixtures)
      it(`${fixture.name}, ${model}`, async () => {
        const at = (suffix: string): string => join(scratch, `${fixture.name}-${model}.${suffix}`);
        const pic = model === "static" ? "-fno-pic" : "-fPIC";
        const compile = [...fixture.flags, "-w", "-O0", pic, "-c"];
        execFileSync(clang!, [...compile, "-emit-llvm", fixture.sources[0]!, "-o", at("bc")]);
        execFileSync(clang!, ["-w", "-O0", pic, "-c", at("bc"), "-o", at("clang.o")]);
        const options = ["-r", "--no-ipra", "-O0", "--relocation-model", model];
        const { code, err } = await tscLto([at("bc"), ...options, "-o", at("s")], { cwd: scratch });
        expect(err).toBe("");
        expect(code).toBe(0);
        execFileSync("as", ["-o", at("o"), at("s")]);
        const ours = tablesOf(at("o"));
        const theirs = tablesOf(at("clang.o"));
        expect(theirs.size).toBeGreaterThan(0);
        const quiet = nounwindCalls(at("bc"));
        const differences: string[] = [];
        for (const [name, calls] of theirs) {
          const own = ours.get(name);
          // Of what cannot throw an entry may say anything.
          const said = (list: readonly string[]): string =>
            list
              .filter((call) => !runtime.test(call) && quiet.get(name)?.has(call.split(": ")[0]!) !== true)
              .join("\n");
          if (own === undefined || said(own) !== said(calls))
            differences.push(
              `${name}\n-- clang\n${said(calls)}\n-- ours\n${own === undefined ? "none" : said(own)}`,
            );
        }
        if (differences.length > 0) writeFileSync(at("differences"), differences.join("\n\n"));
        expect(differences.slice(0, 3).join("\n\n")).toBe("");
      });
});
