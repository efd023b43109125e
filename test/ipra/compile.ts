/**
 * Programs of the IPRA tests: from text IR through the code generator, with a hand in each decision, to assembly
 * with its claims; and from assembly to the checker's report.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClaimCollector, indirectNames } from "../../bin/lto/ipra-claims.js";
import { noReports, type Report, reporter } from "../../bin/lto/reports.js";
import { AsmPrinter, UnwindSharing } from "../../formats/asm/index.js";
import { type CheckReport, checkObject } from "../../formats/code/check.js";
import type { FunctionClaim } from "../../formats/code/claims.js";
import { compiledMentions } from "../../formats/code/mentions.js";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { parseModule } from "../../formats/text/index.js";
import type { IndirectCalls } from "../../lto/analysis/function-pointers/index.js";
import type { MFunction } from "../../lto/codegen/mir.js";
import { type FunctionFacts, setFacts } from "../../lto/codegen/program/facts.js";
import { FunctionCompiler } from "../../lto/codegen/program/function-compiler.js";
import type { Decisions } from "../../lto/codegen/program/function-compilers.js";
import { definedFunctions, type FunctionNumber } from "../../lto/codegen/program/numbering.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import { planProgram } from "../../lto/codegen/program/plan.js";
import { changedByComponent, changesByCallee } from "../../lto/codegen/program/publication.js";
import { decideSaves, executionsOf, localSaves } from "../../lto/codegen/program/saves.js";
import { type RegisterSet, union } from "../../lto/codegen/register-set.js";
import { withHints } from "../../lto/ir/hints.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { finish } from "../../lto/ir/steps.js";
import { defaultLinkOptions, linkModules, type ModuleSummary } from "../../lto/link/index.js";
import { noPassOptions } from "../../lto/pass/options.js";
import { callClobbers } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";
import { sessionPasses } from "../support/lowering.js";

export interface Compiled {
  readonly assembly: string;
  readonly claims: FunctionClaim[];
  readonly moduleAsm?: string;
}

/** Places where a test may tell code generation something wrong. Functions are named. */
export interface Lies {
  readonly facts?: (name: string, facts: FunctionFacts) => FunctionFacts;
  /** Whether unknown code may enter a function. */
  readonly open?: (name: string, open: boolean) => boolean;
  /** What is published of a function: the registers a call may change. */
  readonly published?: (name: string, changed: RegisterSet) => RegisterSet;
  readonly saved?: (name: string, saved: RegisterSet) => RegisterSet;
  readonly indirect?: (known: IndirectCalls, module: Module) => IndirectCalls;
  /** Called with each function after selection. */
  readonly selected?: (mf: MFunction) => void;
  /** Functions taken for definitions that nothing can replace. */
  readonly exact?: readonly string[];
}

export const codegenOptions: CodegenOptions = {
  relocation: "pie",
  level: null,
  allocator: "ssa",
  coalesce: "pereira",
  spillCost: null,
  checkAllocation: true,
  ipra: true,
  shrinkWrap: true,
  baseRegister: true,
  sharedEpilogues: true,
  functionLayout: true,
  boundVariableArguments: true,
  sharedUnwind: true,
  outline: null,
  sizeTime: 1,
  passes: noPassOptions,
  verify: true,
};

export function link(
  text: string,
  output: "executable" | "shared" = "executable",
): {
  module: Module;
  summary: ModuleSummary;
} {
  const input = { kind: "module", module: parseModule(text, "test.ll") } as const;
  const { module, summary, diagnostics } = finish(
    linkModules([input], {
      ...defaultLinkOptions,
      output,
      entry: "main",
    }),
  );
  if (module === null) throw new Error(diagnostics.map((d) => d.message).join("\n"));
  return { module, summary };
}

/** Compiles a linked module as bin/lto does, one component after the other. */
export function compile(
  { module, summary }: { module: Module; summary: ModuleSummary },
  options: Partial<CodegenOptions> = {},
  lies: Lies = {},
): Compiled {
  const collector = new ClaimCollector();
  const observe = reporter({ ...noReports, claims: true }, (report: Report) => {
    if (report.kind === "claim" || report.kind === "undefined") collector.accept(report);
  });
  const all: CodegenOptions = { ...codegenOptions, ...options };
  const replaceable = module.functions.filter((f) => lies.exact?.includes(f.name));
  const linkages = replaceable.map((f) => f.linkage);
  for (const f of replaceable) f.linkage = "external";
  const functions = definedFunctions(module);
  const plan = finish(planProgram(module, summary, all, x64Target, bodyCodec()));
  const { indirect } = plan;
  const told = { ...plan, indirect: lies.indirect?.(indirect, module) ?? indirect };
  if (lies.indirect !== undefined) tellCalls(functions, told.indirect);
  const session = new FunctionCompiler(module, all, told, x64Target, sessionPasses(), (stage, mf) => {
    if (stage === "select") lies.selected?.(mf);
    observe?.(stage, mf);
  });
  replaceable.forEach((f, i) => {
    f.linkage = linkages[i]!;
  });
  const nameOf = (n: number): string => functions[n]!.name;
  const facts: FunctionFacts[] = [];
  const changed = functions.map(() => callClobbers);
  const changedBy = changesByCallee(indirect, changed, callClobbers);
  for (const component of plan.components) {
    for (const n of component) {
      const found = session.allocate(n);
      facts[n] = lies.facts?.(nameOf(n), found) ?? found;
    }
    if (!all.ipra) continue;
    const mask = changedByComponent(component, (n) => facts[n]!, changedBy, callClobbers);
    for (const n of component) changed[n] = lies.published?.(nameOf(n), mask) ?? mask;
    session.publish(component.map((n) => [n, changed[n]!] as const));
  }
  const sets = setFacts(indirect, callClobbers);
  const everything = [...facts, ...sets];
  const open = new Uint8Array(everything.length);
  for (let n = 0; n < functions.length; n++) {
    const really = plan.open[n] === 1;
    open[n] = Number(lies.open?.(nameOf(n), really) ?? really);
  }
  const saves = all.ipra
    ? decideSaves(everything, open, executionsOf(everything, open, null), x64Target.registers)
    : localSaves(everything, x64Target.registers);
  const decisions: Decisions = {
    saved: functions.map((_, n) => lies.saved?.(nameOf(n), saves.saved[n]!) ?? saves.saved[n]!),
    scratch: functions.map((_, n) => union(changed[n]!, saves.changed[n]!)),
    changed: saves.changed,
    aligned: new Uint8Array(everything.length).fill(1),
  };
  const printer = new AsmPrinter(module, { relocation: all.relocation });
  const texts: string[] = [];
  const sharing = new UnwindSharing((text) => texts.push(text));
  functions.forEach((_, n) => {
    session.complete(n as FunctionNumber, decisions);
    sharing.add(printer.functionText(session.layOut(n as FunctionNumber)));
  });
  sharing.close();
  return {
    assembly: [printer.header(), ...texts, printer.data()].join(""),
    claims: collector.claims(
      indirectNames(
        indirect,
        functions.map((fn) => fn.name),
        open,
      ),
    ),
    moduleAsm: module.moduleAsm,
  };
}

/** Lets calls through pointers say of their members what the sets say. */
function tellCalls(functions: readonly Func[], { sets }: IndirectCalls): void {
  for (const fn of functions)
    for (const { insts } of fn.rewrite().blocks)
      for (const inst of insts) {
        const callees = inst.hints?.callees;
        if (callees == null) continue;
        const members = callees.members.map((member) => functions.indexOf(member)).join();
        const set = sets.find((s) => s.members.join() === members);
        inst.hints = withHints(inst.hints, { callees: { ...callees, open: set!.unknown } });
      }
}

/** Bytes of the object that GNU as makes of assembly text. */
export function assemble(text: string): Uint8Array {
  const dir = mkdtempSync(join(tmpdir(), "ipra-"));
  try {
    const object = join(dir, "a.o");
    execFileSync("as", ["--64", "-o", object, "-"], { input: text });
    return readFileSync(object);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

export const check = ({ assembly, claims, moduleAsm = "" }: Compiled, interposable = false): CheckReport =>
  checkObject(assemble(assembly), claims, { interposable, mentions: compiledMentions(assembly, moduleAsm) });
