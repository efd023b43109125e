/**
 * global-ctors: constructors of the program that do nothing, or store what can be known now, are gone before it starts.
 *
 *     static std::atomic<int> next = first();        @next = internal global i32 7
 *
 * Method: the list in the order in which it runs. An entry whose function does nothing goes wherever it stands. An entry is
 * run at link time (`evaluate.ts`) if all before it are gone: what it stores becomes the variables' initialisers, all of it or
 * nothing. The first one that cannot be known ends that, since those after may see what it did. Linear in what is run.
 *
 * Why here: variables that only constructors write are constants afterwards; dead functions go right after.
 *
 * Proof obligations: those of `evaluate.ts`; the order of entries of equal priority stays, and so do entries that remain;
 * nothing is evaluated where the program puts functions into sections of its own that run at the start, perhaps before.
 *
 * Variables that were zero take room in the file then: for one entry no more bytes than `mostBytes`.
 */
import type { GlobalValue, Module } from "../ir/module.js";
import { belongsElsewhere, GlobalVariable } from "../ir/module.js";
import { arrayType } from "../ir/types.js";
import { ConstAggregate, type Constant } from "../ir/values.js";
import type { ModulePass, ProgramContext } from "../pass/pass.js";
import { doesNothing, Evaluator } from "./evaluate.js";

/** Sections of addresses of functions that run before `main`. */
const startSection = /^\.(?:preinit_array|init_array|ctors)\b/;
/** Bytes of zeros that one constructor may turn into contents. */
const mostBytes = 1024;

interface Entry {
  /** Position in the list. */
  readonly index: number;
  readonly priority: number;
  readonly called: Constant;
  /** It belongs to data of another module, and is none of this program's. */
  readonly isElsewhere: boolean;
}

function entriesOf({ initializer }: GlobalVariable): Entry[] | null {
  if (initializer === null || initializer.valueKind !== "aggregate") return null;
  const entries: Entry[] = [];
  for (const [index, element] of initializer.elements.entries()) {
    if (element.valueKind !== "aggregate") return null;
    const [priority, called, associated] = element.elements;
    if (priority?.valueKind !== "int" && priority?.valueKind !== "zero") return null;
    entries.push({
      index,
      priority: priority.valueKind === "int" ? priority.num : 0,
      called: called!,
      isElsewhere: belongsElsewhere(associated),
    });
  }
  return entries.sort((a, b) => a.priority - b.priority || a.index - b.index);
}

class Starter {
  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
  ) {}

  /** Positions of entries that can go. @param evaluates those that do something may be run now */
  removable(entries: readonly Entry[], evaluates: boolean): Set<number> {
    const gone = new Set<number>();
    let isFirst = evaluates;
    for (const { index, called, isElsewhere } of entries) {
      if (isElsewhere) gone.add(index);
      else if (called.valueKind !== "global" || called.kind !== "function") isFirst = false;
      else if (doesNothing(called)) {
        gone.add(index);
        this.context.count("idle");
      } else if (isFirst && this.evaluate(called)) {
        gone.add(index);
        this.context.count("evaluated");
      } else isFirst = false;
    }
    return gone;
  }

  private evaluate(fn: Extract<GlobalValue, { kind: "function" }>): boolean {
    const { module } = this;
    const written = new Evaluator(module, module.dataLayout).run(fn);
    if (written === null) return false;
    let bytes = 0;
    for (const [variable, contents] of written)
      if (isZero(variable.initializer!) && !isZero(contents))
        bytes += module.dataLayout.allocSize(variable.valueType);
    if (bytes > mostBytes) return false;
    for (const [variable, contents] of written) variable.initializer = contents;
    return true;
  }

  /** Puts a list without some entries in the place of another. */
  shorten(list: GlobalVariable, gone: ReadonlySet<number>): void {
    const { globals } = this.module;
    const { elements } = list.initializer as ConstAggregate;
    const kept = elements.filter((_, index) => !gone.has(index));
    const at = globals.indexOf(list);
    if (kept.length === 0) {
      globals.splice(at, 1);
      return;
    }
    const type = arrayType(kept.length, list.valueType.element);
    const shorter = new GlobalVariable(list.name, type, list.type);
    shorter.linkage = list.linkage;
    shorter.section = list.section;
    shorter.align = list.align;
    shorter.initializer = new ConstAggregate(type, kept);
    globals[at] = shorter;
  }
}
const isZero = (constant: Constant): boolean =>
  constant.valueKind === "zero" ||
  (constant.valueKind === "int" && constant.value === 0n) ||
  (constant.valueKind === "float" && constant.bits === 0n);

export const globalCtors: ModulePass = {
  name: "global-ctors",
  level: "module",
  description:
    "runs constructors of the program at link time as far as that can be known, and removes those that do nothing",
  counters: {
    idle: "constructors and destructors that do nothing",
    evaluated: "constructors run at link time",
  },
  requires: [],
  preserves: [],
  run(module, context) {
    let changed = false;
    const hasOthers = module.globals.some((g) => g.kind === "variable" && startSection.test(g.section));
    for (const name of ["llvm.global_ctors", "llvm.global_dtors"]) {
      const list = module.globals.find((global) => global.name === name);
      if (list?.kind !== "variable") continue;
      const entries = entriesOf(list);
      if (entries === null) continue;
      const starter = new Starter(module, context);
      const gone = starter.removable(entries, name === "llvm.global_ctors" && !hasOthers);
      if (gone.size === 0) continue;
      starter.shorten(list, gone);
      changed = true;
    }
    return changed;
  },
};
