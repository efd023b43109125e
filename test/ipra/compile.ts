/**
 * Programs of the IPRA tests: from text IR through the code generator, with a hand in each decision, to assembly
 * with its claims; and from assembly to the checker's report.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClaimCollector, indirectNames } from "../../bin/lto/ipra-claims.js";
import { AsmPrinter } from "../../formats/asm/index.js";
import { type CheckReport, checkObject } from "../../formats/code/check.js";
import type { FunctionClaim } from "../../formats/code/claims.js";
import { parseModule } from "../../formats/text/index.js";
import type { IndirectCalls } from "../../lto/analysis/function-pointers/index.js";
import type { Placement } from "../../lto/codegen/ipra/save-placement.js";
import type { RegMask } from "../../lto/codegen/mir.js";
import type { Module } from "../../lto/ir/module.js";
import { defaultLinkOptions, linkModules, type ModuleSummary } from "../../lto/link/index.js";
import type { CodegenOptions } from "../../lto/pipeline.js";
import {
  CodegenSession,
  changesByCallee,
  decideSaves,
  definedFunctions,
  type FunctionFacts,
  localSaves,
  publishComponent,
  setFacts,
} from "../../lto/program.js";
import { planProgram } from "../../lto/program-plan.js";
import { callClobbers } from "../../lto/x64/isa/registers.js";

export interface Compiled {
  readonly assembly: string;
  readonly claims: FunctionClaim[];
}

/** Places where a test may tell code generation something wrong. Functions are named. */
export interface Lies {
  readonly facts?: (name: string, facts: FunctionFacts) => FunctionFacts;
  /** Whether unknown code may enter a function. */
  readonly open?: (name: string, open: boolean) => boolean;
  /** What is published of a function: the registers a call may change. */
  readonly published?: (name: string, changed: RegMask) => RegMask;
  readonly saves?: (name: string, saves: RegMask) => RegMask;
  readonly indirect?: (known: IndirectCalls, module: Module) => IndirectCalls;
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
  const { module, summary, diagnostics } = linkModules([input], {
    ...defaultLinkOptions,
    output,
    entry: "main",
  });
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
  const all: CodegenOptions = { ...codegenOptions, ...options, observe: collector.observe };
  const replaceable = module.functions.filter((f) => lies.exact?.includes(f.name));
  const linkages = replaceable.map((f) => f.linkage);
  for (const f of replaceable) f.linkage = "external";
  const plan = planProgram(module, summary, all);
  const { indirect } = plan;
  const session = new CodegenSession(
    module,
    all,
    plan.conventions,
    lies.indirect?.(indirect, module) ?? indirect,
  );
  replaceable.forEach((f, i) => {
    f.linkage = linkages[i]!;
  });
  const functions = definedFunctions(module);
  const nameOf = (n: number): string => functions[n]!.name;
  const facts: FunctionFacts[] = [];
  const changed = functions.map(() => callClobbers);
  const changedBy = changesByCallee(indirect, changed);
  for (const component of plan.components) {
    for (const n of component) {
      const found = session.allocate(n);
      facts[n] = lies.facts?.(nameOf(n), found) ?? found;
    }
    if (!all.ipra) continue;
    const mask = publishComponent(component, (n) => facts[n]!, changedBy);
    for (const n of component) changed[n] = lies.published?.(nameOf(n), mask) ?? mask;
    session.publish(component.map((n) => [n, ~changed[n]!] as const));
  }
  const sets = setFacts(indirect);
  const open = new Uint8Array(functions.length + sets.length);
  for (let n = 0; n < functions.length; n++) {
    const really = plan.open[n] === 1;
    open[n] = Number(lies.open?.(nameOf(n), really) ?? really);
  }
  const placement: Placement = all.ipra ? decideSaves([...facts, ...sets], open) : localSaves(facts);
  const printer = new AsmPrinter(module, { relocation: all.relocation });
  const texts = functions.map((_, n) => {
    const saves = lies.saves?.(nameOf(n), placement.saves[n]!) ?? placement.saves[n]!;
    const free = changed[n]! | placement.changes[n]!;
    const { machine } = session.finish(n, saves, free, (callee) => placement.changes[callee]!);
    return printer.functionText(machine);
  });
  return {
    assembly: [printer.header(), ...texts, printer.data()].join(""),
    claims: collector.claims(
      indirectNames(
        indirect,
        functions.map((fn) => fn.name),
      ),
    ),
  };
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

export const check = ({ assembly, claims }: Compiled, interposable = false): CheckReport =>
  checkObject(assemble(assembly), claims, { interposable });
