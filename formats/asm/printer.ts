/**
 * A linked module as one assembly file for GNU as.
 *
 * The file is header, then function texts in any order the caller likes, then `data()`. Function texts are
 * made one at a time, possibly by printers of the same module in other threads: those return their texts and
 * `poolConstants()`, which the printer that writes the file takes with `addPoolConstants`.
 */
import { retainedIn } from "../../lto/analysis/references.js";
import type { GlobalCluster } from "../../lto/codegen/late/global-cluster.js";
import type { MFunction } from "../../lto/codegen/mir.js";
import type { PrintedFunction } from "../../lto/codegen/program/function-compilers.js";
import type { GlobalValue, Module } from "../../lto/ir/module.js";
import { targetOf } from "../../lto/targets.js";
import { dataImage, dependsOnPlace } from "./data-image.js";
import { FallThrough } from "./fall-through.js";
import { functionText } from "./functions.js";
import { quoteText, SymbolNames } from "./names.js";
import type { AsmOptions } from "./options.js";
import { type PoolContents, PoolSet } from "./pool.js";
import { type NamedSections, namedSections } from "./sections.js";
import { sourceFiles } from "./source-files.js";
import { instructionPrinter } from "./targets.js";
import { UnwindSharing } from "./unwind-sharing.js";
import { DataPrinter } from "./variables.js";

export class AsmPrinter {
  private readonly names: SymbolNames;
  private readonly named: NamedSections;
  private readonly pool = new PoolSet();

  private readonly options: AsmOptions;

  constructor(
    private readonly module: Module,
    options: AsmOptions,
  ) {
    this.options = { ...options, retained: retainedIn(module) };
    this.names = new SymbolNames(module, options.relocation === "pic");
    const positionIndependent = options.relocation !== "static";
    this.named = namedSections(
      module,
      (v) =>
        positionIndependent &&
        v.isConstant &&
        v.initializer !== null &&
        dependsOnPlace(dataImage(v.initializer, module.dataLayout)),
    );
  }

  /** File name and module-level assembly. */
  header(): string {
    let out = sourceFiles(this.module, this.names);
    if (this.options.debugFrames === true) out += "\t.cfi_sections\t.debug_frame\n";
    const { moduleAsm } = this.module;
    if (moduleAsm !== "") out += `\t.text\n${moduleAsm}${moduleAsm.endsWith("\n") ? "" : "\n"}`;
    return out;
  }

  /** The name that a global has in the text. */
  symbol(global: GlobalValue): string {
    return this.names.symbol(global);
  }

  /** One finished function. */
  functionText(mf: MFunction): PrintedFunction {
    const { names, named, pool, options, module } = this;
    return functionText(mf, names, named, pool, options, module.dataLayout);
  }

  /** Literal-pool constants and words that the functions printed so far use. */
  poolConstants(): PoolContents {
    return this.pool.contents();
  }
  addPoolConstants(contents: PoolContents): void {
    this.pool.add(contents);
  }

  /**
   * Literal pool, variables, aliases, declarations, and the closing notes: the end of the file.
   * @param cluster variables that code expects to find side by side
   */
  data(cluster: GlobalCluster | null = null): string {
    const variables = new DataPrinter(this.module, this.names, this.named, this.options);
    let out = this.pool.text() + variables.text(cluster);
    out += instructionPrinter(targetOf(this.module)).closing(this.module);
    out += dependentLibraries(this.module.dependentLibraries);
    if (this.options.ident !== undefined) out += `\t.ident\t${quoteText(this.options.ident)}\n`;
    out += '\t.section\t".note.GNU-stack","",@progbits\n';
    return out;
  }
}

/** What `#pragma comment(lib, …)` names, for linkers that know this section: the number is SHT_LLVM_DEPENDENT_LIBRARIES. */
const dependentLibraries = (names: readonly string[]): string =>
  names.length === 0
    ? ""
    : `\t.section\t.deplibs,"MS",@0x6fff4c04,1\n${names.map((name) => `\t.asciz\t${quoteText(name)}\n`).join("")}`;

/** The whole file at once. */
export function printModule(module: Module, functions: Iterable<MFunction>, options: AsmOptions): string {
  const printer = new AsmPrinter(module, options);
  const parts = [printer.header()];
  const texts = new UnwindSharing((text) => parts.push(text));
  const joined = new FallThrough((printed) => texts.add(printed));
  for (const mf of functions) joined.add(printer.functionText(mf));
  joined.close();
  texts.close();
  parts.push(printer.data());
  return parts.join("");
}
