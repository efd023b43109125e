/**
 * `--size-report`: gathers what the steps of a link know of its symbols, and makes the report of it
 * (formats/size-report/schema.ts). Loaded for links that want one.
 */
import {
  type DroppedReport,
  type RegistersReport,
  reportFormat,
  reportVersion,
  type SizeReport,
  type SymbolReport,
} from "../../formats/size-report/schema.js";
import { printReport } from "../../formats/size-report/text.js";
import type { CodeSizes } from "../../lto/codegen/late/code-origins.js";
import type { RegisterSet } from "../../lto/codegen/register-set.js";
import { hasRegister, minus } from "../../lto/codegen/register-set.js";
import type { TargetRegisters } from "../../lto/codegen/target.js";
import type { GlobalValue, Module } from "../../lto/ir/module.js";
import type { Origins } from "../../lto/ir/origins.js";
import type { ModuleSummary } from "../../lto/link/index.js";
import type { PassCount } from "../../lto/pass/report.js";
import type { CodeFacts } from "./code-facts.js";
import type { CodegenResult, PlannedModule } from "./codegen.js";
import { type PlacedFunction, settleJumps } from "./jump-sizes.js";
import { placed, ReportOrigins } from "./report-origins.js";

/** Mentions of one global, by the names of what is mentioned. */
interface Mentions {
  readonly calls: readonly string[];
  readonly mentions: readonly string[];
}

/** Shown of those who take a function's address. */
const shownTakers = 3;

export class SizeReportWriter {
  private readonly facts = new Map<string, CodeFacts>();
  private readonly mentions = new Map<string, Mentions>();
  /** Who mentions a function other than by a call. */
  private readonly takers = new Map<string, string[]>();
  private readonly placed: PlacedFunction[] = [];
  /** Sizes of functions that jump to others, as the assembler will have them. */
  private settled: ReadonlyMap<string, CodeSizes> = new Map();
  private readonly origins: ReportOrigins | null;

  /**
   * @param summary of the module when its passes are done, which is not kept
   * @param roots why definitions are not local, by name
   */
  constructor(
    { globals, origins }: Module,
    { symbols }: ModuleSummary,
    private readonly roots: ReadonlyMap<string, readonly string[]>,
  ) {
    this.origins = origins === null ? null : new ReportOrigins(origins);
    symbols.forEach(({ calls, references }, i) => {
      const global = globals[i]!;
      if (global.isDeclaration || (calls.length === 0 && references.length === 0)) return;
      const named = (list: readonly number[]): string[] => list.map((index) => globals[index]!.name);
      const mentions = named(references);
      this.mentions.set(global.name, { calls: named(calls), mentions });
      for (const name of mentions) {
        const list = this.takers.get(name);
        if (list === undefined) this.takers.set(name, [global.name]);
        else list.push(global.name);
      }
    });
  }

  accept(facts: CodeFacts): void {
    this.facts.set(facts.symbol, facts);
  }

  /** Is told of all functions, in the order in which they stand. */
  place(place: PlacedFunction): void {
    this.placed.push(place);
  }

  /** @param file that was linked @param counts of the passes */
  text(...parts: Parameters<SizeReportWriter["report"]>): string {
    return printReport(this.report(...parts));
  }

  private report(
    file: string,
    { module, plan, target }: PlannedModule,
    { usage, saved, statistics }: CodegenResult,
    counts: readonly PassCount[],
  ): SizeReport {
    const globals = new Map(module.globals.map((global) => [global.name, global]));
    this.settled = settleJumps(
      this.placed,
      (name) => this.facts.get(name)?.sizes,
      (name) => isSettled(globals.get(name)),
    );
    const numbers = new Map(usage.map(([name], number) => [name, number]));
    const symbols: SymbolReport[] = [];
    const seen = new Set<string>();
    for (const global of module.globals) {
      if (global.isDeclaration || global.linkage === "available_externally") continue;
      if (global.linkage === "appending") {
        symbols.push({ ...this.symbolOf(module, global), root: [reasonOfList(global.name)] });
        continue;
      }
      seen.add(global.name);
      const number = numbers.get(global.name);
      const isClosed = number === undefined ? global.isLocal : plan.open[number] === 0;
      const registers =
        number === undefined
          ? undefined
          : this.registersOf(global.name, usage[number]![1], saved[number]!, target.registers);
      symbols.push({
        ...this.symbolOf(module, global),
        open: isClosed ? [] : this.whyOpen(global),
        registers,
      });
    }
    // Functions of the steps on machine code are no globals of the module.
    for (const global of module.origins?.allMade() ?? [])
      if (this.facts.has(global.name) && !seen.has(global.name))
        symbols.push({
          ...this.symbolOf(module, global),
          open: [],
          registers: this.registersOfPiece(global.name, target),
        });
    return {
      format: reportFormat,
      version: reportVersion,
      kind: "link",
      file,
      sections: [],
      origins: this.origins?.list ?? [],
      symbols,
      dropped: module.origins === null ? [] : this.dropped(module.origins, symbols),
      decisions: [
        ...Object.entries(statistics).map(([counter, count]) => ({ by: "code generation", counter, count })),
        ...counts.map(({ pass, counter, count }) => ({ by: pass, counter, count })),
      ],
    };
  }

  private symbolOf({ origins, dataLayout }: Module, global: GlobalValue): SymbolReport {
    const { name } = global;
    const facts = this.facts.get(name);
    const sizes = this.settled.get(name) ?? facts?.sizes;
    const made = origins?.madeOf(global) ?? null;
    const absorbed = origins?.absorbedBy(global) ?? [];
    const place = origins?.placeOf(global) ?? null;
    const written = this.origins?.writtenElsewhere(global, sizes?.origins ?? []) ?? [];
    const { calls, mentions } = mergedMentions(this.mentions.get(name), facts);
    const root = this.roots.get(name);
    return {
      name,
      kind: global.kind === "function" || global.kind === "variable" ? global.kind : "alias",
      bytes:
        facts !== undefined && sizes !== undefined
          ? { code: sizes.code, unwind: facts.unwind }
          : global.kind === "variable"
            ? { [useOfVariable(global)]: dataLayout.allocSize(global.valueType) }
            : {},
      local: global.isLocal,
      ...("section" in global && global.section !== "" ? { section: global.section } : {}),
      ...(facts == null || facts.stack === null ? {} : { stack: facts.stack }),
      ...(written.length === 0 ? {} : { origins: written }),
      ...placed(place),
      ...(made === null ? {} : { madeBy: made.by, madeOf: made.of.map((part) => part.name) }),
      ...(absorbed.length === 0 ? {} : { standsFor: absorbed.map((other) => other.name) }),
      ...(root === undefined ? {} : { root }),
      ...(calls.length === 0 ? {} : { calls }),
      ...(mentions.length === 0 ? {} : { mentions }),
    };
  }

  /** What inputs define and is not in the output: first what another definition does for, then what was inlined. */
  private dropped(origins: Origins, symbols: readonly SymbolReport[]): DroppedReport[] {
    const kept = new Set(symbols.map(({ name }) => name));
    const standing = new Map<string, string>();
    for (const { name, standsFor = [] } of symbols) for (const other of standsFor) standing.set(other, name);
    const inlined = new Set(origins.codeOrigins.map(({ fn }) => fn));
    const dropped: DroppedReport[] = [];
    for (const [global, place] of origins.allPlaced()) {
      const { name } = global;
      if (
        kept.has(name) ||
        name.startsWith("llvm.") ||
        (global.linkage === "private" && global.kind === "variable")
      )
        continue;
      const same = standing.get(name);
      const why =
        same !== undefined
          ? `the same as ${same}`
          : inlined.has(global)
            ? "its code is where it was called"
            : "nothing needs it";
      dropped.push({ name, ...placed(place), why });
    }
    return dropped;
  }

  private whyOpen(global: GlobalValue): string[] {
    const reasons = [...(this.roots.get(global.name) ?? [])];
    const takers = this.takers.get(global.name) ?? [];
    if (takers.length > 0) {
      const more = takers.length > shownTakers ? ` and ${takers.length - shownTakers} more` : "";
      reasons.push(
        `its address, or that of a label in it, is taken in ${takers.slice(0, shownTakers).join(", ")}${more}`,
      );
    }
    return reasons.length > 0 ? reasons : ["not local"];
  }

  /** Of code that was taken out of functions: what it changes its callers change. */
  private registersOfPiece(name: string, { registers: { names } }: PlannedModule["target"]): RegistersReport {
    const { own, callsPointers } = this.facts.get(name)!;
    const changes = names.filter((_, number) => hasRegister(own, number));
    const callsUnknown = callsPointers ? ["a pointer"] : [];
    return { changes, own: changes, saves: [], preserves: [], gives: [], callsUnknown };
  }

  private registersOf(
    name: string,
    changes: RegisterSet,
    saves: RegisterSet,
    { names, callClobbers, calleeSaved }: TargetRegisters,
  ): RegistersReport {
    const listed = (set: RegisterSet): string[] => names.filter((_, number) => hasRegister(set, number));
    const facts = this.facts.get(name);
    const own = facts === undefined ? changes : minus(facts.own, minus(facts.own, changes));
    return {
      changes: listed(changes),
      own: listed(own),
      saves: listed(saves),
      preserves: listed(minus(callClobbers, changes)),
      gives: listed(minus(calleeSaved, minus(calleeSaved, changes))),
      callsUnknown: [
        ...(facts?.callsPointers === true ? ["a pointer"] : []),
        ...(facts?.hasAssembly === true ? ["assembly"] : []),
      ],
      ...(facts === undefined || facts.remark === ""
        ? {}
        : { convention: facts.remark.replace(/^convention: /, "") }),
    };
  }
}

/** The assembler knows where a jump leads that names it: what is weak another file may define. */
const isSettled = (global: GlobalValue | undefined): boolean =>
  global === undefined || global.isLocal || global.linkage === "external";

/** Why a list of the linker's is kept. */
function reasonOfList(name: string): string {
  if (name === "llvm.global_ctors") return "run before main";
  return name === "llvm.global_dtors" ? "run after main" : "a list of used symbols";
}

/** What the IR mentions and what the final code does: each has what the other does not show. */
function mergedMentions(ir: Mentions | undefined, code: CodeFacts | undefined): Mentions {
  const calls = [...new Set([...(code?.calls ?? []), ...(ir?.calls ?? [])])].filter(isSymbol);
  const called = new Set(calls);
  const mentions = [...new Set([...(code?.mentions ?? []), ...(ir?.mentions ?? [])])];
  return { calls, mentions: mentions.filter((name) => isSymbol(name) && !called.has(name)) };
}

const isSymbol = (name: string): boolean => !name.startsWith("llvm.");

function useOfVariable(global: GlobalValue & { readonly kind: "variable" }): "zero" | "constants" | "data" {
  if (global.initializer?.valueKind === "zero" && global.section === "") return "zero";
  return global.isConstant ? "constants" : "data";
}
